package controlplane

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/git/signature"
	"github.com/furrow-dev/furrow/test/signingkey"
)

// signedRepo is a repository whose commits are made with git, by people with keys.
type signedRepo struct {
	t   *testing.T
	dir string
	// keys are files with private keys, public their public keys.
	keys, public map[string]string
}

func newSignedRepo(t *testing.T, dir string, people ...string) *signedRepo {
	t.Helper()
	r := &signedRepo{t, dir, map[string]string{}, map[string]string{}}
	at := t.TempDir()
	for _, name := range people {
		key := signingkey.New(t)
		r.keys[name], r.public[name] = filepath.Join(at, name), name+"@example.com "+key.Public
		if err := os.WriteFile(r.keys[name], key.Private, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r.git("init", "-q", "-b", "main", dir)
	return r
}

func (r *signedRepo) git(args ...string) string {
	r.t.Helper()
	return gitIn(r.t, r.dir, args...)
}

func gitIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	if _, err := os.Stat(dir); err == nil {
		cmd.Dir = dir
	}
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=C", "GIT_COMMITTER_EMAIL=c@example.com", "GIT_AUTHOR_NAME=Author")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// verifying returns a control plane whose commits must be signed by some people; by anybody without any.
func (r *signedRepo) verifying(people ...string) string {
	doc := "apiVersion: furrow.dev/v1alpha1\nkind: ControlPlane\nmetadata: {name: acme}\n"
	if len(people) > 0 {
		doc += "spec:\n  verify:\n    signers:\n"
	}
	for _, name := range people {
		doc += fmt.Sprintf("    - %q\n", r.public[name])
	}
	return doc
}

// commit writes the ControlPlane document, unless it is empty, and commits; by nobody it is not signed.
func (r *signedRepo) commit(by, doc string) string {
	r.t.Helper()
	if doc != "" {
		if err := os.WriteFile(filepath.Join(r.dir, "control-plane.yaml"), []byte(doc), 0o600); err != nil {
			r.t.Fatal(err)
		}
	}
	r.git("add", "-A")
	args := []string{"commit", "-q", "--allow-empty", "-m", "by " + by}
	if by != "" {
		args = append([]string{"-c", "gpg.format=ssh", "-c", "user.signingkey=" + r.keys[by]}, append(args, "-S")...)
	}
	r.git(args...)
	return r.git("rev-parse", "HEAD")
}

// planned returns the commit that a session plans, and why it does not plan the tip.
func planned(t *testing.T, s *Session) (commit string, refused error) {
	t.Helper()
	tree, err := s.read(t.Context())
	if err != nil {
		return "", err
	}
	_, commit, _ = strings.Cut(tree.Revision, "@sha1:")
	return commit, tree.Refused
}

func openAt(t *testing.T, o Options) *Session {
	t.Helper()
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// TestOnlyVerifiedCommitsAreInForce: each step is a commit. One session reads them one by one, another
// all at once after the first, and a third after it was started anew in between.
func TestOnlyVerifiedCommitsAreInForce(t *testing.T) {
	type step struct {
		by, verify string // who signs; whose keys the document names: "-" leaves it, "" is none
		inForce    int    // index of the step that is in force then
	}
	cases := map[string][]step{
		"a commit that is not signed":                {{"ann", "ann", 0}, {"", "-", 0}},
		"a commit by another key":                    {{"ann", "ann", 0}, {"eve", "-", 0}},
		"a signed commit on top of a refused one":    {{"ann", "ann", 0}, {"", "-", 0}, {"ann", "-", 2}},
		"a commit that lets itself in":               {{"ann", "ann", 0}, {"eve", "eve", 0}},
		"a commit that ends verification":            {{"ann", "ann", 0}, {"", "", 0}},
		"a key that a verified commit adds":          {{"ann", "ann", 0}, {"ann", "ann ben", 1}, {"ben", "-", 2}},
		"a key that a verified commit takes away":    {{"ann", "ann ben", 0}, {"ann", "ann", 1}, {"ben", "-", 1}},
		"verification that a verified commit ends":   {{"ann", "ann", 0}, {"ann", "", 1}, {"", "-", 2}},
		"verification that begins":                   {{"", "", 0}, {"", "ann", 1}, {"", "-", 1}, {"ann", "-", 3}},
		"what follows the beginning is not signed":   {{"", "", 0}, {"ann", "ann", 1}, {"", "-", 1}, {"eve", "-", 1}},
		"a verified commit between two refused":      {{"ann", "ann", 0}, {"eve", "eve", 0}, {"ann", "ann", 2}, {"eve", "-", 2}},
		"no verification":                            {{"", "", 0}, {"eve", "-", 1}},
		"a key that cannot be read stays without it": {{"ann", "ann", 0}, {"ann", "bad", 0}, {"ann", "ann", 2}},
	}
	for name, steps := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			r := newSignedRepo(t, filepath.Join(dir, "control"), "ann", "ben", "eve")
			r.public["bad"] = "bad@example.com ssh-ed25519 AAAA"
			options := Options{ControlPlane: r.dir, Cache: filepath.Join(dir, "cache")}
			var commits []string
			var onlooker *Session
			for i, s := range steps {
				doc := ""
				if s.verify != "-" {
					doc = r.verifying(strings.Fields(s.verify)...)
				}
				commits = append(commits, r.commit(s.by, doc))
				if i == 0 {
					onlooker = openAt(t, Options{ControlPlane: r.dir, Cache: filepath.Join(dir, "first")})
					planned(t, onlooker)
				}
				anew := openAt(t, options)
				for range 2 {
					got, refused := planned(t, anew)
					if at := slices.Index(commits, got); at != s.inForce {
						t.Fatalf("after step %d, step %d is in force (%v), want %d", i, at, refused, s.inForce)
					}
					if (refused != nil) != (s.inForce != i) {
						t.Fatalf("after step %d it is refused: %v", i, refused)
					}
					if refused != nil && manifest.ReasonOf(refused) == v1alpha1.ReasonCommitNotVerified && !strings.Contains(refused.Error(), "by Author <a@example.com>") {
						t.Errorf("the reason does not name the author: %v", refused)
					}
					if _, err := anew.Anchor(t.Context(), nil, true); err != nil {
						t.Fatal(err)
					}
				}
			}
			last := steps[len(steps)-1].inForce
			if got, refused := planned(t, onlooker); slices.Index(commits, got) != last {
				t.Errorf("a reader of the first commit alone plans step %d (%v), want %d", slices.Index(commits, got), refused, last)
			}
		})
	}
}

func TestThePlansRevisionIsTheAnchorOfARunThatStartsAnew(t *testing.T) {
	dir := t.TempDir()
	r := newSignedRepo(t, filepath.Join(dir, "control"), "ann", "eve")
	first := r.commit("ann", r.verifying("ann"))
	hostile := r.commit("eve", r.verifying("eve"))
	s := openAt(t, Options{ControlPlane: r.dir, Cache: filepath.Join(dir, "cache")})
	if got, _ := planned(t, s); got != hostile {
		t.Fatalf("without an anchor, %s is in force", got)
	}
	again, err := s.Anchor(t.Context(), []string{"main@sha1:" + first}, true)
	if err != nil || !again {
		t.Fatalf("the plan's revision changes nothing: %t, %v", again, err)
	}
	if got, refused := planned(t, s); got != first || manifest.ReasonOf(refused) != v1alpha1.ReasonCommitNotVerified {
		t.Errorf("%s is in force, and the tip is refused: %v", got, refused)
	}
}

func TestAHistoryThatWasWrittenAnewIsJudgedByTheKeysOfTheLastVerifiedCommit(t *testing.T) {
	dir := t.TempDir()
	r := newSignedRepo(t, filepath.Join(dir, "control"), "ann", "eve")
	first := r.commit("ann", r.verifying("ann"))
	options := Options{ControlPlane: r.dir, Cache: filepath.Join(dir, "cache")}
	s := openAt(t, options)
	planned(t, s)
	if _, err := s.Anchor(t.Context(), nil, true); err != nil {
		t.Fatal(err)
	}
	r.git("checkout", "-q", "--orphan", "other")
	r.commit("eve", r.verifying("eve"))
	r.git("branch", "-f", "main", "other")
	if got, refused := planned(t, s); got != first || refused == nil {
		t.Errorf("%s is in force, and the tip is refused: %v", got, refused)
	}
	if got, refused := planned(t, openAt(t, options)); got != first && got != "" || refused == nil {
		t.Errorf("after a restart, %s is in force, and the tip is refused: %v", got, refused)
	}
	own := r.commit("ann", r.verifying("ann"))
	r.git("branch", "-f", "main", "other")
	if got, refused := planned(t, s); got != own || refused != nil {
		t.Errorf("of a signed history, %s is in force: %v", got, refused)
	}
}

// Old commits of a signer have no keys, and so have those of other repositories. Whoever may rewrite the
// branch can bring them back, and must not end verification by that.
func TestAHistoryWithoutKeysDoesNotEndVerification(t *testing.T) {
	dir := t.TempDir()
	r := newSignedRepo(t, filepath.Join(dir, "control"), "ann", "eve")
	old := r.commit("ann", r.verifying())
	older := r.commit("ann", "")
	r.commit("ann", r.verifying("ann"))
	options := Options{ControlPlane: r.dir, Cache: filepath.Join(dir, "cache")}
	running := openAt(t, options)
	check := func(step, want string) {
		t.Helper()
		for name, s := range map[string]*Session{"running": running, "started anew": openAt(t, options)} {
			if got, refused := planned(t, s); got != want {
				t.Fatalf("%s: to a session that is %s, %s is in force (%v), want %s", step, name, got, refused, want)
			}
			if _, err := s.Anchor(t.Context(), nil, true); err != nil {
				t.Fatal(err)
			}
		}
	}
	check("at first", r.git("rev-parse", "HEAD"))
	r.git("reset", "-q", "--hard", old)
	check("after a rollback", old)
	r.git("reset", "-q", "--hard", older)
	check("one commit later", older)
	r.commit("eve", r.verifying("eve"))
	check("a stranger's commit on it", older)
	r.git("reset", "-q", "--hard", older)
	check("that was removed", older)
	check("keys are named again", r.commit("ann", r.verifying("ann")))
	check("verification ends", r.commit("ann", r.verifying()))
	check("nothing is asked any more", r.commit("", ""))
}

func TestTheCacheDoesNotOutweighTheKeysThatTheFrontEndNames(t *testing.T) {
	dir := t.TempDir()
	r := newSignedRepo(t, filepath.Join(dir, "control"), "ann", "eve")
	ring, err := signature.Parse(r.public["ann"])
	if err != nil {
		t.Fatal(err)
	}
	hostile := r.commit("eve", r.verifying("eve"))
	options := Options{ControlPlane: r.dir, Cache: filepath.Join(dir, "cache")}
	s := openAt(t, options)
	if got, _ := planned(t, s); got != hostile {
		t.Fatalf("on first use, %s is in force", got)
	}
	if _, err := s.Anchor(t.Context(), nil, true); err != nil {
		t.Fatal(err)
	}
	options.VerifyWith = ring
	if got, err := planned(t, openAt(t, options)); got != "" || manifest.ReasonOf(err) != v1alpha1.ReasonCommitNotVerified {
		t.Errorf("%s is in force: %v", got, err)
	}
	signed := r.commit("ann", "")
	if got, err := planned(t, openAt(t, options)); got != signed || err != nil {
		t.Errorf("%s is in force: %v", got, err)
	}
}

func TestKeysThatTheFrontEndNamesOutweighTheDocument(t *testing.T) {
	dir := t.TempDir()
	r := newSignedRepo(t, filepath.Join(dir, "control"), "ann", "eve")
	ring, err := signature.Parse(r.public["ann"])
	if err != nil {
		t.Fatal(err)
	}
	r.commit("eve", r.verifying("eve"))
	open := func(cache string) *Session {
		return openAt(t, Options{ControlPlane: r.dir, Cache: filepath.Join(dir, cache), VerifyWith: ring})
	}
	if got, err := planned(t, open("a")); got != "" || manifest.ReasonOf(err) != v1alpha1.ReasonCommitNotVerified {
		t.Fatalf("%s is in force: %v", got, err)
	}
	signed := r.commit("ann", "")
	r.commit("", r.verifying())
	for _, cache := range []string{"a", "b"} {
		if got, refused := planned(t, open(cache)); got != signed || refused == nil {
			t.Errorf("%s is in force, and the tip is refused: %v", got, refused)
		}
	}
}

func TestWhatTheForgeMergedCountsWhereItsKeyIsNamed(t *testing.T) {
	dir := t.TempDir()
	r := newSignedRepo(t, filepath.Join(dir, "control"), "ann", "forge")
	r.commit("ann", r.verifying("ann")+fmt.Sprintf("    forge: [%q]\n", r.public["forge"]))
	merged := r.commit("forge", "")
	if got, refused := planned(t, openAt(t, Options{ControlPlane: r.dir, Cache: filepath.Join(dir, "cache")})); got != merged || refused != nil {
		t.Errorf("%s is in force: %v", got, refused)
	}
}
