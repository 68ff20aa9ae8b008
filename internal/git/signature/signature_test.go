package signature_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"github.com/furrow-dev/furrow/internal/git/signature"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const commit = "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nauthor Furrow <f@example.com> 1772366400 +0000\ncommitter Furrow <f@example.com> 1772366400 +0000\n\nPlan seed web\n"

// newPGP makes an OpenPGP key that is valid for a time from now on; for ever if that is zero.
func newPGP(t *testing.T, lifetime time.Duration) []byte {
	t.Helper()
	config := &packet.Config{Time: func() time.Time { return now }, Algorithm: packet.PubKeyAlgoEdDSA, KeyLifetimeSecs: uint32(lifetime.Seconds())}
	e, err := openpgp.NewEntity("Furrow", "", "furrow@example.com", config)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w, err := armor.Encode(&out, openpgp.PrivateKeyType, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.SerializePrivate(w, config); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func newSSH(t *testing.T) []byte {
	t.Helper()
	key, err := signature.Generate()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func signerOf(t *testing.T, private []byte) *signature.Signer {
	t.Helper()
	s, err := signature.NewSigner(private, nil, now)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func ringOf(t *testing.T, signers ...*signature.Signer) signature.Keyring {
	t.Helper()
	var ring signature.Keyring
	for _, s := range signers {
		text, err := s.Key().Public()
		if err != nil {
			t.Fatal(err)
		}
		keys, err := signature.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		ring = append(ring, keys...)
	}
	return ring
}

func signed(t *testing.T, s *signature.Signer, content string) []byte {
	t.Helper()
	text, err := s.Sign([]byte(content), now)
	if err != nil {
		t.Fatal(err)
	}
	out, err := signature.Add([]byte(content), text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestVerdictOfACommit(t *testing.T) {
	ours, other := signerOf(t, newSSH(t)), signerOf(t, newSSH(t))
	pgp, short := signerOf(t, newPGP(t, 0)), signerOf(t, newPGP(t, time.Hour))
	public, err := ours.Key().Public()
	if err != nil {
		t.Fatal(err)
	}
	bounded, err := signature.Parse(`ann@example.com namespaces="git",valid-before="20260101" ` + public)
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		commit []byte
		ring   signature.Keyring
		when   time.Time
		want   signature.State
	}{
		"no signature":                                  {[]byte(commit), ringOf(t, ours), now, signature.Unsigned},
		"an SSH key of the ring":                        {signed(t, ours, commit), ringOf(t, other, ours), now, signature.Good},
		"an SSH key that the ring lacks":                {signed(t, ours, commit), ringOf(t, other), now, signature.UnknownKey},
		"an OpenPGP key of the ring":                    {signed(t, pgp, commit), ringOf(t, ours, pgp), now, signature.Good},
		"an OpenPGP key that the ring lacks":            {signed(t, pgp, commit), ringOf(t, ours), now, signature.UnknownKey},
		"an OpenPGP key that had expired":               {signed(t, short, commit), ringOf(t, short), now.Add(2 * time.Hour), signature.Expired},
		"an SSH key after its last day":                 {signed(t, ours, commit), bounded, now, signature.Expired},
		"an SSH key before its last day":                {signed(t, ours, commit), bounded, now.AddDate(-1, 0, 0), signature.Good},
		"a tree that was changed after it was signed":   {bytes.Replace(signed(t, ours, commit), []byte("tree 4b8"), []byte("tree 5b8"), 1), ringOf(t, ours), now, signature.Bad},
		"the same with OpenPGP":                         {bytes.Replace(signed(t, pgp, commit), []byte("tree 4b8"), []byte("tree 5b8"), 1), ringOf(t, pgp), now, signature.Bad},
		"two signatures":                                {signed(t, other, string(signed(t, ours, commit))), ringOf(t, ours, other), now, signature.Bad},
		"a signature that cannot be read":               {[]byte(strings.Replace(commit, "\n\n", "\ngpgsig hello\n\n", 1)), ringOf(t, ours), now, signature.Bad},
		"a signature in the message, not in the header": {[]byte(commit + "\ngpgsig " + "-----BEGIN SSH SIGNATURE-----"), ringOf(t, ours), now, signature.Unsigned},
		"an empty ring":                                 {signed(t, ours, commit), nil, now, signature.UnknownKey},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			payload, text := signature.Split(c.commit)
			if got := c.ring.Verify(payload, text, c.when); got.State != c.want {
				t.Errorf("got %+v, want %s", got, c.want)
			}
		})
	}
}

func TestEqualCommitsGetEqualSignatures(t *testing.T) {
	for name, private := range map[string][]byte{"SSH": newSSH(t), "OpenPGP": newPGP(t, 0)} {
		s := signerOf(t, private)
		if a, b := signed(t, s, commit), signed(t, s, commit); !bytes.Equal(a, b) {
			t.Errorf("%s: two signatures of one commit differ", name)
		}
	}
}

func TestKeysThatCannotSignAreRefusedWithoutShowingThem(t *testing.T) {
	public, _ := signerOf(t, newSSH(t)).Key().Public()
	dir := t.TempDir()
	run(t, dir, "ssh-keygen", "-q", "-t", "ed25519", "-N", "secret phrase", "-f", "locked")
	run(t, dir, "ssh-keygen", "-q", "-t", "rsa", "-N", "", "-f", "rsa")
	locked, rsa := read(t, filepath.Join(dir, "locked")), read(t, filepath.Join(dir, "rsa"))
	cases := map[string]struct {
		private    []byte
		passphrase string
		now        time.Time
		want       string
	}{
		"nothing":                      {nil, "", now, "is empty"},
		"a public key":                 {[]byte(public), "", now, "it is a public key"},
		"a text":                       {[]byte("c2VjcmV0"), "", now, "neither a private key"},
		"a cut key":                    {newSSH(t)[:120], "", now, "neither a private key"},
		"a key with a passphrase":      {locked, "", now, "has a passphrase"},
		"a wrong passphrase":           {locked, "wrong phrase", now, "does not open"},
		"an RSA key":                   {rsa, "", now, "ssh-ed25519 only"},
		"an OpenPGP key that expired":  {newPGP(t, time.Hour), "", now.Add(2 * time.Hour), "it has expired"},
		"an OpenPGP key without a key": {[]byte("-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nc2VjcmV0\n-----END PGP PRIVATE KEY BLOCK-----\n"), "", now, "cannot be read"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := signature.NewSigner(c.private, []byte(c.passphrase), c.now)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			if strings.Contains(err.Error(), "c2VjcmV0") || strings.Contains(err.Error(), "phrase") && strings.Contains(err.Error(), "wrong phrase") {
				t.Errorf("the error shows what it must not: %v", err)
			}
		})
	}
	if s, err := signature.NewSigner(locked, []byte("secret phrase"), now); err != nil || strings.Contains(fmt.Sprintf("%v %+v %#v", s, s, s), "phrase") {
		t.Errorf("a key with its passphrase: %v, %v", s, err)
	}
}

func TestPublicKeysAreReadInTheFormsThatPeopleHave(t *testing.T) {
	public, _ := signerOf(t, newSSH(t)).Key().Public()
	pgp, _ := signerOf(t, newPGP(t, 0)).Key().Public()
	private := string(newSSH(t))
	cases := map[string]struct {
		text  string
		names []string
		err   string
	}{
		"a line of allowed signers":      {"ann@example.com " + public, []string{"ann@example.com"}, ""},
		"with options":                   {`"ann@example.com,a@b" namespaces="git,file",valid-after="20250101Z" ` + public + " laptop", []string{"ann@example.com,a@b"}, ""},
		"a line of authorized_keys":      {public + " ann@laptop", []string{"ann@laptop"}, ""},
		"comments and tabs":              {"# people\n\nann@example.com\t" + public + "\r\n", []string{"ann@example.com"}, ""},
		"an OpenPGP key beside a line":   {"ann@example.com " + public + "\n" + pgp, []string{"ann@example.com", "furrow@example.com"}, ""},
		"an indented OpenPGP key":        {strings.ReplaceAll(pgp, "\n", "\n  "), []string{"furrow@example.com"}, ""},
		"a private key":                  {"# keys\n" + private, nil, "line 2: it is a private key"},
		"a key for something else":       {`ann@example.com namespaces="file" ` + public, nil, "holds no public key"},
		"an authority":                   {"ann@example.com cert-authority " + public, nil, "certificate authorities are not supported"},
		"an unknown option":              {"ann@example.com touch-required " + public, nil, `the option "touch-required" is unknown`},
		"a time that is none":            {`ann@example.com valid-after="soon" ` + public, nil, `"soon" is not a time`},
		"a broken key":                   {"ann@example.com ssh-ed25519 AAAA", nil, "line 1: the key cannot be read"},
		"an old kind of key":             {"ann@example.com ssh-dss AAAA", nil, "it is not a public key"},
		"an OpenPGP key without its end": {strings.TrimSuffix(pgp, "-----END PGP PUBLIC KEY BLOCK-----"), nil, "has no end"},
		"nothing":                        {"", nil, "holds no public key"},
		"a text":                         {"hello", nil, "it is not a public key"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			ring, err := signature.Parse(c.text)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("got %v, want %q", err, c.err)
				}
				return
			}
			var names []string
			for _, key := range ring {
				names = append(names, key.Name())
			}
			if err != nil || fmt.Sprint(names) != fmt.Sprint(c.names) {
				t.Errorf("got %v, %v, want %v", names, err, c.names)
			}
		})
	}
}

// TestGitVerifiesOurSignaturesAndWeVerifyGits compares both directions to git itself, with ssh-keygen
// and with gpg.
func TestGitVerifiesOurSignaturesAndWeVerifyGits(t *testing.T) {
	for _, kind := range []string{"ssh", "openpgp"} {
		t.Run(kind, func(t *testing.T) {
			tool := map[string]string{"ssh": "ssh-keygen", "openpgp": "gpg"}[kind]
			if _, err := exec.LookPath(tool); err != nil {
				t.Skipf("SKIPPED: signatures are not compared with those of %s, which is not installed", tool)
			}
			dir, home := t.TempDir(), gpgHome(t)
			private := newSSH(t)
			if kind == "openpgp" {
				private = newPGP(t, 0)
			}
			signer := signerOf(t, private)
			public, err := signer.Key().Public()
			if err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, "key"), string(private))
			write(t, filepath.Join(dir, "allowed"), "furrow@example.com "+public+"\n")
			env := []string{"GNUPGHOME=" + home, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null"}
			git := func(args ...string) string { return runEnv(t, dir, env, "git", args...) }
			git("init", "-q", ".")
			for key, value := range map[string]string{"user.name": "Ann", "user.email": "ann@example.com", "gpg.format": kind, "gpg.ssh.allowedSignersFile": filepath.Join(dir, "allowed")} {
				git("config", key, value)
			}
			git("config", "user.signingkey", filepath.Join(dir, "key"))
			if kind == "openpgp" {
				runEnv(t, dir, env, "gpg", "--batch", "--quiet", "--import", "key")
				git("config", "user.signingkey", signer.Key().ID())
			}

			tree := strings.TrimSpace(git("mktree"))
			content := strings.Replace(commit, "4b825dc642cb6eb9a060e54bf8d69288fbee4904", tree, 1)
			write(t, filepath.Join(dir, "ours"), string(signed(t, signer, content)))
			git("verify-commit", strings.TrimSpace(git("hash-object", "-t", "commit", "-w", "ours")))

			theirs := strings.TrimSpace(git("commit-tree", "-S", "-m", "theirs", tree))
			payload, text := signature.Split([]byte(git("cat-file", "commit", theirs)))
			if got := ringOf(t, signer).Verify(payload, text, time.Now()); got.State != signature.Good {
				t.Errorf("of git's own signature: %+v", got)
			}
		})
	}
}

// gpgHome is short, because the socket of gpg's agent is below it.
func gpgHome(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "g")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = exec.Command("gpgconf", "--homedir", dir, "--kill", "all").Run()
		_ = os.RemoveAll(dir)
	})
	return dir
}

func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	return runEnv(t, dir, nil, name, args...)
}

func runEnv(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var out, failed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &failed
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, failed.String())
	}
	return out.String()
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
