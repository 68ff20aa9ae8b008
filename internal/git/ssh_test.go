package git_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/binary"
	"encoding/pem"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/test/gitcmd"
)

// sshServer serves the repositories of a directory to the user git with one key.
type sshServer struct {
	t      *testing.T
	dir    string
	addr   string
	config *ssh.ServerConfig
	// hostKey is a line of known_hosts.
	hostKey  string
	identity []byte
}

func newKey(t *testing.T, passphrase string) (ssh.Signer, []byte) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	var block *pem.Block
	if passphrase == "" {
		block, err = ssh.MarshalPrivateKey(key, "")
	} else {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(key, "", []byte(passphrase))
	}
	if err != nil {
		t.Fatal(err)
	}
	return signer, pem.EncodeToMemory(block)
}

func serveSSH(t *testing.T, dir, passphrase string) *sshServer {
	t.Helper()
	host, _ := newKey(t, "")
	user, identity := newKey(t, passphrase)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	s := &sshServer{t: t, dir: dir, addr: listener.Addr().String(), identity: identity}
	s.hostKey = knownhosts.Line([]string{knownhosts.Normalize(s.addr)}, host.PublicKey())
	s.config = &ssh.ServerConfig{PublicKeyCallback: func(c ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if c.User() == "git" && string(key.Marshal()) == string(user.PublicKey().Marshal()) {
			return &ssh.Permissions{}, nil
		}
		return nil, ssh.ErrNoAuth
	}}
	s.config.AddHostKey(host)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader) // servers have several
	if err != nil {
		t.Fatal(err)
	}
	other, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	s.config.AddHostKey(other)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go s.serve(conn)
		}
	}()
	return s
}

func (s *sshServer) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	_, channels, requests, err := ssh.NewServerConn(conn, s.config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for offered := range channels {
		channel, requests, err := offered.Accept()
		if err != nil {
			return
		}
		for r := range requests {
			if r.Type != "exec" {
				_ = r.Reply(false, nil)
				continue
			}
			_ = r.Reply(true, nil)
			go s.run(channel, string(r.Payload[4:]))
		}
	}
}

// run runs "git-upload-pack '/fleet.git'".
func (s *sshServer) run(channel ssh.Channel, command string) {
	program, path, _ := strings.Cut(command, " ")
	run := exec.Command("git", strings.TrimPrefix(program, "git-"), filepath.Join(s.dir, strings.Trim(path, "'")))
	run.Stdout, run.Stderr = channel, channel.Stderr()
	input, err := run.StdinPipe()
	if err != nil {
		s.t.Error(err)
		return
	}
	go func() { _, _ = io.Copy(input, channel) }() // the client may send nothing, and wait
	var code [4]byte
	if err := run.Run(); err != nil {
		binary.BigEndian.PutUint32(code[:], 128)
	}
	_, _ = channel.SendRequest("exit-status", false, code[:])
	_ = channel.Close()
}

func (s *sshServer) remote(bare string) git.Remote {
	return git.Remote{URL: "ssh://git@" + s.addr + "/" + filepath.Base(bare), Identity: s.identity, KnownHosts: []byte(s.hostKey)}
}

func TestSSH(t *testing.T) {
	bare := newBare(t)
	base := commitFiles(t, bare, "main", map[string]string{"README.md": "hi\n"})
	s := serveSSH(t, filepath.Dir(bare), "")
	locked := serveSSH(t, filepath.Dir(bare), "open sesame")
	other, _ := newKey(t, "")
	_, stranger := newKey(t, "")
	cases := map[string]struct {
		change func(*git.Remote)
		is     func(error) bool
		says   string
	}{
		"a key lets in":                       {change: func(*git.Remote) {}},
		"a user is not needed":                {change: func(r *git.Remote) { r.URL = strings.Replace(r.URL, "git@", "", 1) }},
		"a key with a password lets in":       {change: func(r *git.Remote) { *r = locked.remote(bare); r.Password = "open sesame" }},
		"a wrong password":                    {func(r *git.Remote) { *r = locked.remote(bare); r.Password = "open" }, git.IsAuth, "its password is wrong"},
		"no key":                              {func(r *git.Remote) { r.Identity = nil }, git.IsAuth, "the credentials have no identity"},
		"a key that is something else":        {func(r *git.Remote) { r.Identity = []byte("x") }, git.IsAuth, "the identity is not a private key"},
		"a key that the server does not know": {func(r *git.Remote) { r.Identity = stranger }, git.IsAuth, "the server does not accept the identity: add its public key"},
		"another user":                        {func(r *git.Remote) { r.URL = strings.Replace(r.URL, "git@", "root@", 1) }, git.IsAuth, "the server does not accept the identity"},
		"no host keys":                        {func(r *git.Remote) { r.KnownHosts = nil }, git.IsAuth, "the credentials have no known_hosts"},
		"host keys that are something else":   {func(r *git.Remote) { r.KnownHosts = []byte("x y z") }, git.IsAuth, "known_hosts is not valid"},
		"an unknown host": {func(r *git.Remote) {
			r.KnownHosts = []byte(knownhosts.Line([]string{"git.example.com"}, other.PublicKey()))
		}, git.IsUntrusted, "the server's host key is not in known_hosts"},
		"another host": {func(r *git.Remote) {
			r.KnownHosts = []byte(knownhosts.Line([]string{knownhosts.Normalize(s.addr)}, other.PublicKey()))
		}, git.IsUntrusted, "the server's host key is not the one in known_hosts"},
		"no repository":      {func(r *git.Remote) { r.URL += "x" }, git.IsNotFound, "the repository does not exist"},
		"nobody who listens": {func(r *git.Remote) { r.URL = "ssh://git@127.0.0.1:1/x.git" }, git.IsTransient, "refused"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			remote := s.remote(bare)
			tc.change(&remote)
			m, err := git.Open(t.Context(), filepath.Join(t.TempDir(), "mirror"), remote)
			var refs git.Refs
			if err == nil {
				t.Cleanup(func() { _ = m.Close() })
				refs, err = m.Fetch(t.Context(), "main")
			}
			switch {
			case tc.is == nil && (err != nil || refs["main"] != base):
				t.Errorf("got %v, %v, want main at %s", refs, err, base)
			case tc.is != nil && (err == nil || !tc.is(err) || !strings.Contains(err.Error(), tc.says) || !strings.Contains(err.Error(), "ssh://127.0.0.1:")):
				t.Errorf("got %v, want %q", err, tc.says)
			}
		})
	}
}

func TestPushesBySSH(t *testing.T) {
	bare := newBare(t)
	base := commitFiles(t, bare, "main", map[string]string{"README.md": "hi\n"})
	s := serveSSH(t, filepath.Dir(bare), "")
	m := open(t, s.remote(bare))
	if _, err := m.Fetch(t.Context(), "main"); err != nil {
		t.Fatal(err)
	}
	if err := m.Push(t.Context(), []git.Update{{Ref: "furrow/main/plan/a", New: base}}); err != nil {
		t.Fatal(err)
	}
	if got := gitcmd.Run(t, bare, "rev-parse", "refs/heads/furrow/main/plan/a"); got != base.String() {
		t.Errorf("the branch is at %s, want %s", got, base)
	}
	refs, err := m.Fetch(t.Context(), "main")
	if err != nil || refs["furrow/main/plan/a"] != base {
		t.Errorf("got %v, %v", refs, err)
	}
}

// TestASilentServerOfSSHIsGivenUp has a server that accepts connections and sends nothing. Nothing is
// left of an attempt: neither its connection nor what waits for it.
func TestASilentServerOfSSHIsGivenUp(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	var connections atomic.Int32
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			go func() {
				_, _ = io.Copy(io.Discard, conn)
				_ = conn.Close()
				connections.Add(-1)
			}()
		}
	}()
	_, identity := newKey(t, "")
	host, _ := newKey(t, "")
	m := open(t, git.Remote{
		URL: "ssh://" + listener.Addr().String() + "/fleet.git", Identity: identity, Silence: 50 * time.Millisecond,
		KnownHosts: []byte(knownhosts.Line([]string{knownhosts.Normalize(listener.Addr().String())}, host.PublicKey())),
	})
	for range 5 {
		if _, err := m.Fetch(t.Context(), "main"); !git.IsTransient(err) || !strings.Contains(err.Error(), "the server said nothing for 50ms") {
			t.Errorf("got %v", err)
		}
	}
	handshakes := func() int {
		stacks := make([]byte, 1<<20)
		return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "ssh.NewClientConn(")
	}
	for deadline := time.Now().Add(20 * time.Second); connections.Load() > 0 || handshakes() > 0; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d connections are open, and %d goroutines wait for the server", connections.Load(), handshakes())
		}
	}
}
