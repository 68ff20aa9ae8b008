package controlplane

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/test/gitcmd"
)

// TestACommitIsFoundForEachPath makes a history in which commits change other paths, and a merge brings one.
func TestACommitIsFoundForEachPath(t *testing.T) {
	dir := t.TempDir()
	run := func(args ...string) string { t.Helper(); return gitcmd.Run(t, dir, args...) }
	commit := func(file, subject string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755), os.WriteFile(filepath.Join(dir, file), []byte(subject), 0o644)); err != nil {
			t.Fatal(err)
		}
		run("add", ".")
		run("commit", "--quiet", "--message", subject+"\n\nIt has a body.")
	}
	run("init", "--quiet", "--initial-branch=main")
	commit("seeds/web.yaml", "Plant web")
	commit("seeds/shop.yaml", "Plant shop")
	run("checkout", "--quiet", "-b", "feature")
	commit("seeds/web.yaml", "Scale web")
	run("checkout", "--quiet", "main")
	commit("fleet.yaml", "Declare a fleet")
	run("merge", "--quiet", "--no-ff", "--message", "Merge feature", "feature")
	commit("README.md", "Say what this is")

	s, err := Open(t.Context(), Options{ControlPlane: dir, Cache: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, _, err := s.Tree(t.Context()); err != nil {
		t.Fatal(err)
	}
	revision := "main@sha1:" + run("rev-parse", "main")
	for path, want := range map[string]string{"seeds/web.yaml": "Scale web", "seeds/shop.yaml": "Plant shop", "seeds": "Scale web", "seeds/none.yaml": "Say what this is"} {
		got := s.LastCommit(revision, path)
		if got == nil || got.Subject != want || got.Author != "Ann" || got.URL != "" || len(got.ID) != 40 {
			t.Errorf("%s was changed last by %+v, want %q", path, got, want)
		}
	}
	if got := s.LastCommit("the files on disk", "seeds"); got != nil {
		t.Errorf("files on disk come of %+v", got)
	}
}

func TestACommitHasAPageOnAServer(t *testing.T) {
	for url, want := range map[string]string{
		"https://git.example.com/acme/fleet.git":             "https://git.example.com/acme/fleet/commit/0123456789012345678901234567890123456789",
		"https://ada:secret@git.example.com/acme/fleet.git/": "https://git.example.com/acme/fleet/commit/0123456789012345678901234567890123456789",
		"/srv/git/fleet.git":                                 "",
	} {
		s := &Session{options: Options{ControlPlane: url}}
		hash, err := git.ParseHash("0123456789012345678901234567890123456789")
		if err != nil {
			t.Fatal(err)
		}
		if got := s.commitURL(hash); got != want {
			t.Errorf("%s: got %q, want %q", url, got, want)
		}
	}
}
