package git_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/test/gitcmd"
)

func TestAPlanAndATierArePushedInOneRequest(t *testing.T) {
	bare := newBare(t)
	base := commitFiles(t, bare, "main", map[string]string{"README.md": "hi\n", "planted/edge/other/tier-00/a.yaml": "a: 1\n"})
	m := openLocal(t, bare)
	refs := fetch(t, m)
	if refs["main"] != base {
		t.Fatalf("main is at %s, want %s", refs["main"], base)
	}
	plan, err := m.WriteTree(map[string][]byte{
		"plan.yaml":                              []byte("kind: Plan\n"),
		"planted/edge/seed/tier-00/x.yaml":       []byte("x: 1\n"),
		"clusters/edge/furrow/seed/tier-00.yaml": []byte("kind: Kustomization\n"),
	})
	if err != nil {
		t.Fatal(err)
	}
	planCommit, err := m.CommitTree(plan.Hash, nil, message("Plan seed"))
	if err != nil {
		t.Fatal(err)
	}
	entries, err := m.Entries(planCommit, []string{"planted/edge/seed/tier-00", "clusters/edge/furrow/seed/tier-00.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	var edits []git.Edit
	for path, entry := range entries {
		edits = append(edits, git.Edit{Path: path, Hash: entry.Hash, Mode: entry.Mode})
	}
	tier, err := m.Graft(refs["main"], edits, message("Plant seed"))
	if err != nil {
		t.Fatal(err)
	}
	err = m.Push(t.Context(), []git.Update{
		{Ref: "furrow/main/plan/seed", New: planCommit, Objects: append(plan.Objects, planCommit)},
		{Ref: "furrow/main/tier/seed/edge/00", New: tier.Commit, Objects: tier.Objects},
	})
	if err != nil {
		t.Fatal(err)
	}
	fsck(t, bare)
	got := strings.Split(gitcmd.Run(t, bare, "ls-tree", "-r", "--name-only", "furrow/main/tier/seed/edge/00"), "\n")
	want := []string{"README.md", "clusters/edge/furrow/seed/tier-00.yaml", "planted/edge/other/tier-00/a.yaml", "planted/edge/seed/tier-00/x.yaml"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files of the tier branch (-want +got):\n%s", diff)
	}
	wantRefs := git.Refs{"main": base, "furrow/main/plan/seed": planCommit, "furrow/main/tier/seed/edge/00": tier.Commit}
	if diff := cmp.Diff(wantRefs, fetch(t, m)); diff != "" {
		t.Errorf("refs (-want +got):\n%s", diff)
	}
}

func TestAGraftAppliesItsEditsAndNothingElse(t *testing.T) {
	base := map[string]string{"keep": "k\n", "d/a": "a\n", "d/b": "b\n", "d/deep/x": "x\n", "d-e": "1\n", "d.e": "2\n", "d0": "3\n", "lone/only": "o\n"}
	put := func(path, kind string) edit { return edit{path, kind} }
	cases := map[string]struct {
		edits         []edit
		want          string
		wantUnchanged bool
		wantError     string
	}{
		"a new file is added":    {edits: []edit{put("new/dir/f", "file")}, want: "+new/dir/f"},
		"a file is replaced":     {edits: []edit{put("d/a", "file")}, want: "~d/a"},
		"a tree is added":        {edits: []edit{put("d/tree", "tree")}, want: "+d/tree/f"},
		"a tree replaces a tree": {edits: []edit{put("d", "tree")}, want: "-d/a -d/b -d/deep/x +d/f"},
		"a tree replaces a file": {edits: []edit{put("d0", "tree")}, want: "-d0 +d0/f"},
		"a file replaces a tree": {edits: []edit{put("d", "file")}, want: "+d -d/a -d/b -d/deep/x"},
		"a file is removed":      {edits: []edit{put("d/a", "")}, want: "-d/a"},
		"directories that become empty go with the last file": {edits: []edit{put("lone/only", "")}, want: "-lone/only"},
		"a directory is removed":                              {edits: []edit{put("d", "")}, want: "-d/a -d/b -d/deep/x"},
		"a directory is replaced by removal and new content":  {edits: []edit{put("d", ""), put("d/new", "file")}, want: "-d/a -d/b -d/deep/x +d/new"},
		"removing what is not there changes nothing":          {edits: []edit{put("none/at/all", ""), put("keep/below", "")}, wantUnchanged: true},
		"putting what is there changes nothing":               {edits: []edit{put("keep", "same")}, wantUnchanged: true},
		"no edits change nothing":                             {wantUnchanged: true},
		"directories sort as if they ended with a slash":      {edits: []edit{put("d.e", ""), put("d-e", "tree"), put("d00", "tree"), put("d!", "file")}, want: "+d! -d-e +d-e/f -d.e +d00/f"},
		"an executable and a link keep their modes":           {edits: []edit{put("run", "exec"), put("ln", "link")}, want: "+ln +run"},
		"nothing can be put below a file":                     {edits: []edit{put("keep/f", "file")}, wantError: "is a file"},
		"one path cannot be edited twice":                     {edits: []edit{put("a", "file"), put("a", "file")}, wantError: "twice"},
		"a put tree cannot be edited inside":                  {edits: []edit{put("a", "tree"), put("a/b", "file")}, wantError: "at once"},
		"a mode that git does not know is refused":            {edits: []edit{put("a", "odd")}, wantError: "mode"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			bare := newBare(t)
			head := commitFiles(t, bare, "main", base)
			m := openLocal(t, bare)
			fetch(t, m)
			edits, objects := toEdits(t, m, head, tc.edits)
			got, err := m.Graft(head, edits, message("Graft"))
			if tc.wantError != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantError) {
					t.Fatalf("got %v, want an error with %q", err, tc.wantError)
				}
				return
			}
			if err != nil || got.Unchanged != tc.wantUnchanged {
				t.Fatalf("got %+v, %v", got, err)
			}
			if tc.wantUnchanged {
				if got.Commit != head || len(got.Objects) != 0 {
					t.Errorf("an unchanged graft gives %+v", got)
				}
				return
			}
			if err := m.Push(t.Context(), []git.Update{{Ref: "furrow/g", New: got.Commit, Objects: append(objects, got.Objects...)}}); err != nil {
				t.Fatal(err)
			}
			fsck(t, bare)
			if diff := cmp.Diff(tc.want, difference(t, bare)); diff != "" {
				t.Errorf("difference (-want +got):\n%s", diff)
			}
		})
	}
}

// edit is a path and what to put there; nothing removes it.
type edit struct{ path, kind string }

func toEdits(t *testing.T, m *git.Mirror, base git.Hash, edits []edit) (out []git.Edit, objects []git.Hash) {
	t.Helper()
	tree, err := m.WriteTree(map[string][]byte{"f": []byte("new\n")})
	if err != nil {
		t.Fatal(err)
	}
	keep, _, err := m.Entry(base, "keep")
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]git.Entry{
		"": {}, "tree": {Hash: tree.Hash, Mode: git.ModeDir}, "file": {Hash: tree.Objects[0], Mode: git.ModeFile}, "same": keep,
		"exec": {Hash: tree.Objects[0], Mode: git.ModeExecutable}, "link": {Hash: tree.Objects[0], Mode: git.ModeSymlink}, "odd": {Hash: tree.Hash, Mode: 0o1},
	}
	for _, e := range edits {
		out = append(out, git.Edit{Path: e.path, Hash: kinds[e.kind].Hash, Mode: kinds[e.kind].Mode})
	}
	return out, tree.Objects
}

// difference lists what furrow/g adds (+), removes (-) and changes (~).
func difference(t *testing.T, bare string) string {
	t.Helper()
	var out []string
	for change := range strings.Lines(gitcmd.Run(t, bare, "diff-tree", "-r", "--no-renames", "--name-status", "main", "furrow/g")) {
		status, path, _ := strings.Cut(strings.TrimSpace(change), "\t")
		out = append(out, map[string]string{"A": "+", "D": "-", "M": "~", "T": "~"}[status]+path)
	}
	return strings.Join(out, " ")
}

func TestPathsThatDoNotBelongInATreeAreRefused(t *testing.T) {
	m := openLocal(t, newBare(t))
	for _, path := range []string{"", "/a", "a/", "a//b", ".", "..", "a/../b", "./a", ".git", "a/.git/b", ".GIT", ".git.", ".git ", "git~1", ".git:x",
		"a\nb", "a\x00b", "a\x7f", "a\\b", "a\u200cb", ".g\u200cit", "a\xff"} {
		if _, err := m.WriteTree(map[string][]byte{path: nil}); err == nil {
			t.Errorf("%q is accepted", path)
		}
		if _, err := m.Graft(git.Hash{}, []git.Edit{{Path: path}}, message("x")); err == nil {
			t.Errorf("%q is accepted as an edit", path)
		}
	}
	if _, err := m.WriteTree(map[string][]byte{".gitignore": nil, "a b/ü.yaml": nil, ".github/x": nil, "...": nil}); err != nil {
		t.Errorf("good paths: %v", err)
	}
}

func TestAGraftOnNothingMakesARootCommit(t *testing.T) {
	bare := newBare(t)
	m := openLocal(t, bare)
	tree, err := m.WriteTree(map[string][]byte{"f": []byte("x\n")})
	if err != nil {
		t.Fatal(err)
	}
	meta := message("Start\n\nFurrow-Seed: edge\n\n\n")
	meta.Author.Name, meta.Committer = "A <b>\nc", git.Person{Name: "C", Email: "c@d", When: furrow.When}
	first, err := m.Graft(git.Hash{}, []git.Edit{{Path: "d", Hash: tree.Hash, Mode: git.ModeDir}}, meta)
	if err != nil {
		t.Fatal(err)
	}
	meta.AllowEmpty = true
	second, err := m.Graft(first.Commit, nil, meta)
	if err != nil || second.Unchanged || second.Tree != first.Tree || second.Commit == first.Commit {
		t.Fatalf("an empty commit that is asked for: %+v, %v", second, err)
	}
	third, err := m.Graft(second.Commit, []git.Edit{{Path: "d"}}, meta)
	if err != nil {
		t.Fatal(err)
	}
	var objects []git.Hash
	for _, list := range [][]git.Hash{tree.Objects, first.Objects, second.Objects, third.Objects} {
		objects = append(objects, list...)
	}
	if err := m.Push(t.Context(), []git.Update{{Ref: "main", New: third.Commit, Objects: objects}}); err != nil {
		t.Fatal(err)
	}
	fsck(t, bare)
	if got := gitcmd.Run(t, bare, "log", "-1", "--format=%an|%cn|%(trailers:key=Furrow-Seed,valueonly)|%T", "main~2"); got != "A bc|C|edge\n|"+first.Tree.String() {
		t.Errorf("the commit reads %q", got)
	}
	if got := gitcmd.Run(t, bare, "ls-tree", "-r", "main"); got != "" {
		t.Errorf("the tree that was emptied has %q", got)
	}
	if _, err := m.Graft(git.Hash{}, nil, git.CommitMeta{Message: "x"}); err == nil {
		t.Error("a commit without an author is accepted")
	}
}

func TestLargeTreesAreSentAsDifferences(t *testing.T) {
	bare := newBare(t)
	files := map[string]string{}
	for i := range 3000 {
		files[fmt.Sprintf("planted/cluster-%04d/f", i)] = fmt.Sprint(i)
	}
	commitFiles(t, bare, "main", files)
	m := openLocal(t, bare)
	base := fetch(t, m)["main"]
	var updates []git.Update
	for i := range 40 {
		commit, objects := graftFile(t, m, base, fmt.Sprintf("planted/cluster-%04d/%s", i*71, strings.Repeat("long-", i)+"name"), "y\n")
		updates = append(updates, git.Update{Ref: fmt.Sprintf("furrow/main/%d", i), New: commit, Objects: objects})
	}
	if err := m.Push(t.Context(), updates); err != nil {
		t.Fatal(err)
	}
	fsck(t, bare)
	for i, update := range updates {
		if got := strings.Count(gitcmd.Run(t, bare, "ls-tree", "-r", update.Ref), "\n") + 1; got != 3001 {
			t.Errorf("branch %d has %d files", i, got)
		}
	}
}

func TestAPlanThatReplacesAnotherIsPushedWithItsNewObjectsOnly(t *testing.T) {
	bare := newBare(t)
	m := openLocal(t, bare)
	files := map[string][]byte{}
	for i := range 50 {
		files[fmt.Sprintf("planted/c%d/s/tier-00/f", i)] = fmt.Appendf(nil, "%d", i)
	}
	var parents []git.Hash
	var head git.Hash
	for round := range 3 {
		files["planted/c7/s/tier-00/f"] = fmt.Appendf(nil, "round %d", round)
		tree, err := m.WriteTree(files)
		if err != nil {
			t.Fatal(err)
		}
		objects, err := m.NewObjects(tree.Hash, parents...)
		if err != nil {
			t.Fatal(err)
		}
		if want := map[bool]int{true: len(tree.Objects), false: 6}[round == 0]; len(objects) != want {
			t.Errorf("round %d: %d objects are new, want %d", round, len(objects), want)
		}
		commit, err := m.CommitTree(tree.Hash, parents, message("Plan"))
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Push(t.Context(), []git.Update{{Ref: "furrow/p", Old: head, New: commit, Objects: append(objects, commit)}}); err != nil {
			t.Fatal(err)
		}
		head, parents = commit, []git.Hash{commit}
	}
	fsck(t, bare)
}
