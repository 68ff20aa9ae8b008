package odb

import (
	"bytes"
	"testing"

	"github.com/go-git/go-git/v5/plumbing/format/packfile"
)

func FuzzDelta(f *testing.F) {
	f.Add([]byte("metadata:\n  name: a\n"), []byte("metadata:\n  name: b\n"))
	f.Add([]byte("old"), []byte("new"))
	f.Add(bytes.Repeat([]byte("abc"), 40_000), append(bytes.Repeat([]byte("abc"), 39_000), bytes.Repeat([]byte("xyz"), 100)...))
	f.Fuzz(func(t *testing.T, before, after []byte) {
		for name, ops := range map[string][]byte{"one change": deltaOps(before, after), "several": smallDelta(before, after)} {
			if len(ops) >= len(after) { // and is never written
				continue
			}
			got, err := packfile.PatchDelta(before, ops)
			if err != nil || !bytes.Equal(got, after) {
				t.Errorf("%s: got %q, %v, want %q", name, got, err, after)
			}
		}
	})
}

func FuzzParseTree(f *testing.F) {
	f.Add(encodeTree([]treeEntry{{"a", Entry{Hash{1}, ModeFile}}, {"b", Entry{Hash{2}, ModeDir}}}))
	f.Add([]byte("100644 a"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		tree, err := parseTree(string(raw))
		if err != nil {
			return
		}
		again, err := parseTree(string(encodeTree(tree.entries)))
		if err != nil || len(again.entries) != len(tree.entries) {
			t.Fatalf("%q is read again as %v, %v", raw, again, err)
		}
		for i, entry := range tree.entries {
			if again.entries[i] != entry {
				t.Errorf("entry %d is %v, want %v", i, again.entries[i], entry)
			}
		}
	})
}
