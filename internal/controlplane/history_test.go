package controlplane

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/furrow-dev/furrow/internal/core/review"
	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/test/gitcmd"
)

// TestTheCauseIsTheCommitThatChangedIt makes a history in which commits change seeds and documents, by
// themselves and in one file, and a merge brings one.
func TestTheCauseIsTheCommitThatChangedIt(t *testing.T) {
	dir := t.TempDir()
	run := func(args ...string) string { t.Helper(); return gitcmd.Run(t, dir, args...) }
	commit := func(subject string, files map[string]string) {
		t.Helper()
		for file, content := range files {
			at := filepath.Join(dir, file)
			if content == "" {
				run("rm", "--quiet", file)
			} else if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(content), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		run("add", ".")
		run("commit", "--quiet", "--message", subject+"\n\nIt has a body.")
	}
	doc := func(kind, name, spec string) string {
		return "apiVersion: furrow.dev/v1alpha1\nkind: " + kind + "\nmetadata: {name: " + name + "}\nspec: {" + spec + "}\n---\n"
	}
	run("init", "--quiet", "--initial-branch=main")
	commit("Plant web", map[string]string{"seeds/web.yaml": "1", "fleet/all.yaml": doc("Cluster", "east", "") + doc("Cluster", "west", ""), "fleet/south.yaml": doc("Cluster", "south", "")})
	commit("Plant shop", map[string]string{"seeds/shop.yaml": "1"})
	run("checkout", "--quiet", "-b", "feature")
	commit("Scale web", map[string]string{"seeds/web.yaml": "2"})
	run("checkout", "--quiet", "main")
	commit("Declare a policy", map[string]string{"policy.yaml": doc("RolloutPolicy", "slow", "")})
	run("merge", "--quiet", "--no-ff", "--message", "Merge feature", "feature")
	commit("Move west", map[string]string{"fleet/all.yaml": doc("Cluster", "east", "") + doc("Cluster", "west", "type: metro")})
	commit("Explain east", map[string]string{"fleet/all.yaml": "# The first one.\n" + doc("Cluster", "east", "") + doc("Cluster", "west", "type: metro")})
	commit("Add north", map[string]string{"north.yaml": doc("Cluster", "north", "")})
	commit("Drop south", map[string]string{"fleet/south.yaml": ""})
	commit("Say what this is", map[string]string{"README.md": "A fleet."})

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
	for name, tt := range map[string]struct{ causes, want string }{
		"a seed that a merge brought":            {"seeds/web.yaml", "Scale web"},
		"a seed of the first commit's directory": {"seeds/shop.yaml", "Plant shop"},
		"a cluster in a file of its own":         {"document Cluster/north north.yaml\nseeds/web.yaml", "Add north"},
		"one of several clusters in a file":      {"document Cluster/west fleet/all.yaml\nseeds/web.yaml", "Move west"},
		"another one, that only gets a comment":  {"document Cluster/east fleet/all.yaml\nseeds/web.yaml", "Scale web"},
		"a cluster that is declared no more":     {"document Cluster/south\nseeds/web.yaml", "Drop south"},
		"a policy":                               {"document RolloutPolicy/slow policy.yaml\nseeds/shop.yaml", "Declare a policy"},
		"a cluster of the first commit":          {"document Cluster/east fleet/all.yaml", "Plant web"},
		"a directory":                            {"seeds", "Scale web"},
		"nothing that any commit changed":        {"seeds/none.yaml\ndocument Cluster/none", ""},
	} {
		for range 2 { // searched, and remembered
			got := s.commitOf(t.Context(), revision, review.Causes(tt.causes))
			switch {
			case got == nil && tt.want == "":
			case got == nil || got.Subject != tt.want || got.Author != "Ann" || got.URL != "" || len(got.ID) != 40:
				t.Errorf("%s: the cause is %+v, want %q", name, got, tt.want)
			}
		}
	}
	if got := s.commitOf(t.Context(), "the files on disk", "seeds"); got != nil {
		t.Errorf("files on disk come from %+v", got)
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
