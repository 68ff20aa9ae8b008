package odb_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/furrow-dev/furrow/internal/git/odb"
	"github.com/furrow-dev/furrow/test/gitcmd"
)

// The tests compare with the git that is installed; no configuration of the host takes part.
func TestMain(m *testing.M) { gitcmd.Main(m) }

func message(text string) odb.CommitMeta {
	return odb.CommitMeta{Author: odb.Person{Name: "Ann", Email: "ann@example.com", When: time.Unix(1_800_000_000, 0).UTC()}, Message: text}
}

// fsck checks every object of a repository as strictly as git can.
func fsck(t testing.TB, dir string) {
	t.Helper()
	if out, err := gitcmd.Try(dir, "fsck", "--strict", "--full", "--no-dangling"); err != nil || out != "" {
		t.Errorf("git fsck: %v %s", err, out)
	}
}

func open(t testing.TB, dir string, options odb.Options) *odb.DB {
	t.Helper()
	db, err := odb.Open(t.Context(), dir, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func newDB(t testing.TB, options odb.Options) (*odb.DB, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "db")
	return open(t, dir, options), dir
}

// objects is what builds commits: a database or a batch.
type objects interface {
	WriteTree(files map[string][]byte) (odb.Tree, error)
	Graft(base odb.Hash, edits []odb.Edit, meta odb.CommitMeta) (odb.Grafted, error)
}

// commit puts one file on top of a commit; without content, it removes the file.
func commit(t testing.TB, o objects, base odb.Hash, path, content string) odb.Hash {
	t.Helper()
	grafted, err := tryCommit(o, base, path, content)
	if err != nil {
		t.Fatal(err)
	}
	return grafted
}

func tryCommit(o objects, base odb.Hash, path, content string) (odb.Hash, error) {
	edit := odb.Edit{Path: path}
	if content != "" {
		tree, err := o.WriteTree(map[string][]byte{"f": []byte(content)})
		if err != nil {
			return odb.Hash{}, err
		}
		edit.Hash, edit.Mode = tree.Objects[0], odb.ModeFile
	}
	meta := message("Change " + path)
	meta.AllowEmpty = true
	grafted, err := o.Graft(base, []odb.Edit{edit}, meta)
	return grafted.Commit, err
}

func begin(t testing.TB, db *odb.DB) *odb.Batch {
	t.Helper()
	batch, err := db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(batch.Discard)
	return batch
}
