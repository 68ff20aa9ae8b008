package odb_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"

	"github.com/furrow-dev/furrow/internal/git/odb"
)

// Whoever may push can push a commit or a directory that is as large as memory.
func TestTooLargeCommitsAndDirectoriesAreNotRead(t *testing.T) {
	dir := t.TempDir()
	git := func(input []byte, args ...string) odb.Hash {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
		cmd.Stdin, cmd.Stderr = bytes.NewReader(input), os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		if len(out) == 0 {
			return odb.Hash{}
		}
		hash, err := odb.ParseHash(string(bytes.TrimSpace(out)))
		if err != nil {
			t.Fatal(err)
		}
		return hash
	}
	db := open(t, dir, odb.Options{})
	empty := git(nil, "hash-object", "-w", "-t", "tree", "--stdin")
	message := bytes.Repeat([]byte("0123456789abcde\n"), 1<<19)
	commit := git(message, "-c", "user.name=Eve", "-c", "user.email=eve@example.com", "commit-tree", empty.String())
	var entries bytes.Buffer
	for i := range 1 << 20 {
		fmt.Fprintf(&entries, "100644 %08d\x00%s", i, empty[:])
	}
	tree := git(entries.Bytes(), "hash-object", "-w", "-t", "tree", "--stdin", "--literally")
	holder := git(nil, "-c", "user.name=Eve", "-c", "user.email=eve@example.com", "commit-tree", "-m", "x", tree.String())
	for what, read := range map[string]func() error{
		"a commit":                func() error { _, err := db.Commit(commit); return err },
		"a commit with signature": func() error { _, err := db.RawCommit(commit); return err },
		"a directory":             func() error { _, _, err := db.Entry(holder, "a/b"); return err },
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := read()
		runtime.ReadMemStats(&after)
		if !odb.IsTooLarge(err) {
			t.Errorf("%s: %v", what, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20 {
			t.Errorf("%s: it took %d bytes to find that it is too large", what, took)
		}
	}
}
