package odb_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/git/odb"
	"github.com/furrow-dev/furrow/test/gitcmd"
)

// files are those of a tree, by path: the plain reference of what trees do.
type files map[string]string

// taken reports whether a path, or a directory of it, is a file.
func (f files) taken(path string) bool {
	for dir := path; dir != "."; dir = filepath.Dir(dir) {
		if _, ok := f[dir]; ok && dir != path {
			return true
		}
	}
	return false
}

// remove removes a file or a directory.
func (f files) remove(path string) {
	maps.DeleteFunc(f, func(name, _ string) bool { return name == path || strings.HasPrefix(name, path+"/") })
}

func (f files) bytes() map[string][]byte {
	out := map[string][]byte{}
	for path, content := range f {
		out[path] = []byte(content)
	}
	return out
}

// names sort differently as files and as directories.
var names = []string{"a", "a.b", "a-b", "a0", "b"}

// changes are edits that do not contradict each other.
func changes(data []byte) (out files, rest []byte) {
	out = files{}
	for n := 0; len(data) >= 2 && n < 4; n++ {
		path := names[int(data[0])%5]
		if data[0]&0x40 > 0 {
			path += "/" + names[int(data[0]/5)%5]
		}
		if data[0]&0x80 > 0 {
			path += "/" + names[int(data[1]/5)%5]
		}
		content := fmt.Sprintf("%x\n", sha256.Sum256(fmt.Append(nil, path, data[1]%7)))
		if data[1]%7 == 0 {
			content = ""
		}
		if inside := slices.ContainsFunc(slices.Collect(maps.Keys(out)), func(other string) bool {
			return strings.HasPrefix(other+"/", path+"/") || strings.HasPrefix(path+"/", other+"/")
		}); !inside {
			out[path] = content
		}
		data = data[2:]
	}
	return out, data
}

// apply gives the files after changes; ok is false if something would be below a file.
func (f files) apply(c files) (after files, ok bool) {
	after = maps.Clone(f)
	for path, content := range c {
		if content == "" {
			after.remove(path)
		}
	}
	for path, content := range c {
		switch {
		case content == "":
		case after.taken(path):
			return f, false
		default:
			after.remove(path)
			after[path] = content
		}
	}
	return after, true
}

func edits(t testing.TB, o objects, c files) (out []odb.Edit) {
	t.Helper()
	for path, content := range c {
		edit := odb.Edit{Path: path}
		if content != "" {
			tree, err := o.WriteTree(map[string][]byte{"f": []byte(content)})
			if err != nil {
				t.Fatal(err)
			}
			edit.Hash, edit.Mode = tree.Objects[0], odb.ModeFile
		}
		out = append(out, edit)
	}
	return out
}

// What grafts make of a tree is what writing its files anew makes, and what git reads.
func FuzzGraft(f *testing.F) {
	f.Add([]byte("\x00\x01\x41\x02\x82\x03\xc3\x04\x00\x00\x45\x06\x86\x01"))
	f.Add([]byte("\xff\xfe\x40\x40\xc0\x0c\x10\x07\x41\x0e\x01\x08\x3c\x3d\x99\x98\x97\x96\x95\x94"))
	db, dir := newDB(f, odb.Options{})
	f.Fuzz(func(t *testing.T, data []byte) {
		batch := begin(t, db)
		var head odb.Hash
		model := files{}
		for len(data) >= 2 {
			var c files
			c, data = changes(data)
			after, ok := model.apply(c)
			meta := message("Graft")
			meta.AllowEmpty = true
			grafted, err := batch.Graft(head, edits(t, batch, c), meta)
			if (err == nil) != ok {
				t.Fatalf("%v onto %v: %v", c, model, err)
			}
			if !ok {
				continue
			}
			head, model = grafted.Commit, after
			if whole, err := batch.WriteTree(model.bytes()); err != nil || whole.Hash != grafted.Tree {
				t.Fatalf("%v: the tree is %s, want %s (%v)", c, grafted.Tree, whole.Hash, err)
			}
		}
		if head.IsZero() {
			return
		}
		refs, err := db.Refs()
		if err != nil {
			t.Fatal(err)
		}
		if err := batch.Commit(t.Context(), odb.Move{Ref: "main", Old: refs["main"], New: head}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(model, read(t, db, head)); diff != "" {
			t.Errorf("files (-want +got):\n%s", diff)
		}
		fsck(t, dir)
		got := strings.Fields(gitcmd.Run(t, dir, "ls-tree", "-r", "--name-only", head.String()))
		if diff := cmp.Diff(slices.Sorted(maps.Keys(model)), slices.Sorted(slices.Values(got))); diff != "" {
			t.Errorf("files that git reads (-want +got):\n%s", diff)
		}
		if err := db.CollectIfDue(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// read reads all files of a commit.
func read(t testing.TB, db *odb.DB, commit odb.Hash) files {
	t.Helper()
	tree, err := db.FS(t.Context(), commit, nil)
	if err != nil {
		t.Fatal(err)
	}
	out := files{}
	err = fs.WalkDir(tree, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(tree, path)
		out[path] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// mixed reports whether path is a file in one tree and a directory in another.
func mixed(trees []files, path string) bool {
	file, dir := false, false
	for _, tree := range trees {
		for name := range tree {
			file = file || name == path
			dir = dir || strings.HasPrefix(name, path+"/")
		}
	}
	return file && dir
}

// Every file has one line, so git, too, cannot merge inside a file. Where a name is a file in one
// tree and a directory in another, git may find no conflict, because it merges the files of the
// directory one by one; a merge of trees does not read it.
func FuzzMerge(f *testing.F) {
	f.Add([]byte("\x00\x01\x41\x02\x82\x03\xc3\x04"), []byte("\x00\x00\x45\x06"), []byte("\x86\x01\x41\x00"))
	f.Add([]byte("\x40\x01\x41\x02\x42\x03"), []byte("\x40\x02\x01\x05"), []byte("\x40\x00\x07\x01"))
	// A directory that one side makes a file and the other removes.
	f.Add([]byte("\x4c\x01"), []byte("\x01\x01"), []byte("\x01\x00"))
	db, dir := newDB(f, odb.Options{})
	f.Fuzz(func(t *testing.T, base, theirs, ours []byte) {
		var commits [3]odb.Hash
		var models [3]files
		batch := begin(t, db)
		for i, data := range [][]byte{base, theirs, ours} {
			models[i] = files{"keep": "1\n"}
			if i > 0 {
				models[i] = models[0]
			}
			for len(data) >= 2 {
				var c files
				c, data = changes(data)
				models[i], _ = models[i].apply(c)
			}
			tree, err := batch.WriteTree(models[i].bytes())
			if err != nil {
				t.Fatal(err)
			}
			var parents []odb.Hash
			if i > 0 {
				parents = commits[:1]
			}
			if commits[i], err = batch.CommitTree(tree.Hash, parents, message(fmt.Sprint(i))); err != nil {
				t.Fatal(err)
			}
		}
		if err := batch.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		merged, err := db.MergeTrees(commits[0], commits[1], commits[2], nil)
		if err != nil {
			t.Fatal(err)
		}
		want, conflicts := gitMerge(t, dir, commits[2], commits[1])
		if conflicts != (len(merged.Conflicts) > 0) {
			if !conflicts && !slices.ContainsFunc(merged.Conflicts, func(path string) bool { return !mixed(models[:], path) }) {
				return
			}
			t.Fatalf("conflicts %v, git says %v:\n%v\n%v\n%v", merged.Conflicts, conflicts, models[0], models[1], models[2])
		}
		if conflicts {
			return
		}
		meta := message("Merge")
		meta.AllowEmpty = true
		if grafted, err := db.Graft(commits[2], merged.Edits, meta); err != nil || grafted.Tree.String() != want {
			t.Errorf("the tree is %s, git has %s (%v)", grafted.Tree, want, err)
		}
	})
}

// gitMerge merges two commits.
func gitMerge(t testing.TB, dir string, ours, theirs odb.Hash) (tree string, conflicts bool) {
	t.Helper()
	out, err := gitcmd.Try(dir, "-c", "merge.renames=false", "merge-tree", "--write-tree", "--no-messages", ours.String(), theirs.String())
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		return "", true
	}
	if err != nil {
		t.Fatal(err)
	}
	return out, false
}

// Whatever happens to a database, its branches have the files that they should.
func TestRandomHistoriesOfBranchesLoseNothing(t *testing.T) {
	for seed := range uint64(3) {
		random := rand.New(rand.NewPCG(seed, 0))
		dir := filepath.Join(t.TempDir(), "db")
		options := odb.Options{Limits: odb.Limits{Loose: 10 * int(seed), Packs: 1 + 3*int(seed), Growth: 1 << 12}}
		db := open(t, dir, options)
		model := map[string]files{}
		for step := range 80 {
			switch random.IntN(8) {
			case 0:
				if err := db.Collect(t.Context()); err != nil {
					t.Fatal(err)
				}
			case 1:
				if err := db.CollectIfDue(t.Context()); err != nil {
					t.Fatal(err)
				}
			case 2:
				if err := db.Close(); err != nil {
					t.Fatal(err)
				}
				db = open(t, dir, options)
			case 3: // what is never committed
				batch := begin(t, db)
				commit(t, batch, odb.Hash{}, "never", "there")
				commit(t, db, odb.Hash{}, "nowhere", fmt.Sprint(step))
				batch.Discard()
			default:
				randomMoves(t, db, random, model, step)
			}
			if step%8 == 7 {
				checkBranches(t, db, dir, model)
			}
			if t.Failed() {
				t.Fatalf("seed %d, step %d", seed, step)
			}
		}
	}
}

// randomMoves changes some branches at once.
func randomMoves(t *testing.T, db *odb.DB, random *rand.Rand, model map[string]files, step int) {
	t.Helper()
	batch := begin(t, db)
	defer batch.Discard()
	var o objects = batch
	update := batch.Commit
	if random.IntN(3) == 0 {
		o, update = db, db.Update
	}
	refs, err := db.Refs()
	if err != nil {
		t.Fatal(err)
	}
	var moves []odb.Move
	after := maps.Clone(model)
	for _, i := range random.Perm(4)[:1+random.IntN(3)] {
		branch := fmt.Sprintf("b%d", i)
		if !refs[branch].IsZero() && random.IntN(6) == 0 {
			moves = append(moves, odb.Move{Ref: branch, Old: refs[branch]})
			delete(after, branch)
			continue
		}
		base, content := refs[branch], maps.Clone(model[branch])
		if content == nil {
			content = files{}
		}
		for range 1 + random.IntN(3) {
			path := fmt.Sprintf("d%d/f%d", random.IntN(3), random.IntN(4))
			content[path] = fmt.Sprintf("step %d", step)
			base = commit(t, o, base, path, content[path])
		}
		moves = append(moves, odb.Move{Ref: branch, Old: refs[branch], New: base})
		after[branch] = content
	}
	if random.IntN(4) == 0 { // one that holds up all
		moves = append(moves, odb.Move{Ref: "elsewhere", Old: odb.Hash{1}, New: moves[0].New})
		if err := update(t.Context(), moves...); !odb.IsStale(err) {
			t.Fatalf("got %v", err)
		}
		return
	}
	if err := update(t.Context(), moves...); err != nil {
		t.Fatal(err)
	}
	clear(model)
	maps.Copy(model, after)
}

func checkBranches(t *testing.T, db *odb.DB, dir string, model map[string]files) {
	t.Helper()
	fsck(t, dir)
	refs, err := db.Refs()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(model)), slices.Sorted(maps.Keys(refs))); diff != "" {
		t.Fatalf("branches (-want +got):\n%s", diff)
	}
	for branch, want := range model {
		if diff := cmp.Diff(want, read(t, db, refs[branch])); diff != "" {
			t.Errorf("files of %s (-want +got):\n%s", branch, diff)
		}
		got := strings.Fields(gitcmd.Run(t, dir, "ls-tree", "-r", "--name-only", branch))
		if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), got); diff != "" {
			t.Errorf("files of %s that git reads (-want +got):\n%s", branch, diff)
		}
	}
}
