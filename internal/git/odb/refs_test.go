package odb_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/git/odb"
	"github.com/furrow-dev/furrow/test/gitcmd"
)

func TestBranchesMoveTogetherOrNotAtAll(t *testing.T) {
	cases := map[string]struct {
		moves func(old, next odb.Hash) []odb.Move
		// want are the branches that are at the next commit; nil: nothing moved.
		want      []string
		wantStale []string
		wantError string
	}{
		"all move": {
			moves: func(old, next odb.Hash) []odb.Move {
				return []odb.Move{{Ref: "a", Old: old, New: next}, {Ref: "b", Old: old, New: next}, {Ref: "c", New: next}}
			},
			want: []string{"a", "b", "c"},
		},
		"one that is elsewhere holds up all": {
			moves: func(old, next odb.Hash) []odb.Move {
				return []odb.Move{{Ref: "a", Old: old, New: next}, {Ref: "b", Old: next, New: old}}
			},
			wantStale: []string{"b"},
		},
		"one that exists holds up all": {
			moves:     func(old, next odb.Hash) []odb.Move { return []odb.Move{{Ref: "c", New: next}, {Ref: "a", New: next}} },
			wantStale: []string{"a"},
		},
		"one that does not exist cannot be deleted": {
			moves:     func(old, next odb.Hash) []odb.Move { return []odb.Move{{Ref: "c", Old: old}} },
			wantStale: []string{"c"},
		},
		"a deleted branch makes room for one below its name": {
			moves: func(old, next odb.Hash) []odb.Move { return []odb.Move{{Ref: "a", Old: old}, {Ref: "a/x", New: next}} },
			want:  []string{"a/x"},
		},
		"a branch below another is refused": {
			moves:     func(old, next odb.Hash) []odb.Move { return []odb.Move{{Ref: "a/x", New: next}} },
			wantError: "delete one of them",
		},
		"a branch above another is refused": {
			moves:     func(old, next odb.Hash) []odb.Move { return []odb.Move{{Ref: "d", New: next}} },
			wantError: "delete one of them",
		},
		"no branch moves twice": {
			moves: func(old, next odb.Hash) []odb.Move {
				return []odb.Move{{Ref: "a", Old: old, New: next}, {Ref: "a", Old: next, New: old}}
			},
			wantError: "twice",
		},
		"a commit that is not there is refused": {
			moves:     func(old, next odb.Hash) []odb.Move { return []odb.Move{{Ref: "a", Old: old, New: odb.Hash{1}}} },
			wantError: "does not have this object",
		},
		"a name that Git does not allow is refused": {
			moves:     func(old, next odb.Hash) []odb.Move { return []odb.Move{{Ref: "a..b", New: next}} },
			wantError: "two dots",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			db, dir := newDB(t, odb.Options{})
			old := commit(t, db, odb.Hash{}, "x", "1")
			before := odb.Refs{"a": old, "b": old, "d/e": old}
			if err := db.Update(t.Context(), odb.Move{Ref: "a", New: old}, odb.Move{Ref: "b", New: old}, odb.Move{Ref: "d/e", New: old}); err != nil {
				t.Fatal(err)
			}
			next := commit(t, db, old, "x", "2")
			err := db.Update(t.Context(), tc.moves(old, next)...)
			var stale *odb.StaleError
			switch {
			case tc.wantStale != nil:
				if !odb.IsStale(err) || !errors.As(err, &stale) || !cmp.Equal(stale.Refs, tc.wantStale) {
					t.Errorf("got %v, want %v to be stale", err, tc.wantStale)
				}
			case tc.wantError != "":
				if err == nil || odb.IsStale(err) || !strings.Contains(err.Error(), tc.wantError) {
					t.Errorf("got %v, want %q", err, tc.wantError)
				}
			case err != nil:
				t.Fatal(err)
			}
			refs, err := db.Refs()
			if err != nil {
				t.Fatal(err)
			}
			if tc.want == nil {
				if diff := cmp.Diff(before, refs); diff != "" {
					t.Errorf("branches moved (-want +got):\n%s", diff)
				}
			}
			for _, branch := range tc.want {
				if refs[branch] != next || gitcmd.Run(t, dir, "rev-parse", "refs/heads/"+branch) != next.String() {
					t.Errorf("branch %s is at %s, want %s", branch, refs[branch], next)
				}
			}
			fsck(t, dir)
		})
	}
}

// Each of eight writers adds to a counter of its own and to one that all share, in one commit each, on two branches at once, while
// collections go on, and the database and git are read.
func TestEightWritersLoseNothing(t *testing.T) {
	const writers, each = 8, 8
	db, dir := newDB(t, odb.Options{Limits: odb.Limits{Loose: 5, Packs: 5, Growth: 1}})
	first := commit(t, db, odb.Hash{}, "start", "0")
	if err := db.Update(t.Context(), odb.Move{Ref: "main", New: first}, odb.Move{Ref: "mirror", New: first}); err != nil {
		t.Fatal(err)
	}
	var writing, others sync.WaitGroup
	var races atomic.Int64
	done := make(chan struct{})
	for w := range writers {
		writing.Go(func() {
			for i := range each {
				for {
					err := addTo(t, db, fmt.Sprintf("writer-%d/%d", w, i), w%2 == 0)
					if err == nil {
						break
					}
					if !odb.IsStale(err) {
						t.Error(err)
						return
					}
					races.Add(1)
				}
			}
		})
	}
	repeat := func(do func(n int) error) {
		others.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				default:
				}
				if err := do(n); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	repeat(func(n int) error {
		if n%5 == 0 {
			return db.Collect(t.Context())
		}
		return db.CollectIfDue(t.Context())
	})
	repeat(func(int) error { return readAll(db) })
	repeat(func(int) error { return gitReads(dir) })
	writing.Wait()
	close(done)
	others.Wait()
	if races.Load() == 0 {
		t.Log("no two writers met")
	}
	fsck(t, dir)
	for _, branch := range []string{"main", "mirror"} {
		files := strings.Fields(gitcmd.Run(t, dir, "ls-tree", "-r", "--name-only", branch))
		if want := 1 + writers*each; len(files) != want {
			t.Errorf("%s has %d files, want %d", branch, len(files), want)
		}
		if got, want := gitcmd.Run(t, dir, "rev-list", "--count", branch), fmt.Sprint(1+writers*each); got != want {
			t.Errorf("%s has %s commits, want %s", branch, got, want)
		}
	}
}

// addTo adds a file to two branches at once, in a batch or without one.
func addTo(t *testing.T, db *odb.DB, path string, inBatch bool) error {
	batch, err := db.Begin(t.Context()) // which also keeps what is built without it
	if err != nil {
		return err
	}
	defer batch.Discard()
	var o objects = db
	update := db.Update
	if inBatch {
		o, update = batch, batch.Commit
	}
	refs, err := db.Refs()
	if err != nil {
		return err
	}
	main, err := tryCommit(o, refs["main"], path, path)
	if err != nil {
		return err
	}
	mirror, err := tryCommit(o, refs["mirror"], path, path)
	if err != nil {
		return err
	}
	return update(t.Context(), odb.Move{Ref: "main", Old: refs["main"], New: main}, odb.Move{Ref: "mirror", Old: refs["mirror"], New: mirror})
}

// readAll reads all commits of main, and their trees.
func readAll(db *odb.DB) error {
	refs, err := db.Refs()
	if err != nil {
		return err
	}
	for info, err := range db.Log(refs["main"], odb.Hash{}) {
		if err != nil {
			return err
		}
		entry, ok, err := db.Entry(info.Hash, "start")
		if err != nil || !ok {
			return fmt.Errorf("commit %s: %w", info.Hash, err)
		}
		if content, err := db.Blob(entry.Hash); err != nil || string(content) != "0" {
			return fmt.Errorf("commit %s has %q, %w", info.Hash, content, err)
		}
	}
	return nil
}

// gitReads has git read two branches that move together, with all that they reach.
func gitReads(dir string) error {
	out, err := gitcmd.Try(dir, "for-each-ref", "--format=%(objectname)")
	if err != nil {
		return err
	}
	var counts []string
	for _, head := range strings.Fields(out) {
		if _, err := gitcmd.Try(dir, "rev-list", "--objects", "--quiet", head); err != nil {
			return err
		}
		count, err := gitcmd.Try(dir, "rev-list", "--count", head)
		if err != nil {
			return err
		}
		counts = append(counts, count)
	}
	if len(counts) != 2 || counts[0] != counts[1] {
		return fmt.Errorf("the branches have %v commits, want two equal numbers", counts)
	}
	return nil
}

// TestOpeningWaitsForALockAsLongAsItsContext: another process holds the lock, and this one was asked to stop.
func TestOpeningWaitsForALockAsLongAsItsContext(t *testing.T) {
	first, dir := newDB(t, odb.Options{CopyOf: "there"})
	unlock, err := first.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	stopped, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	if _, err := odb.Open(stopped, dir, odb.Options{CopyOf: "there"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it was opened with the error %v", err)
	}
}

func TestRefusedToOpen(t *testing.T) {
	db, dir := newDB(t, odb.Options{})
	if _, err := odb.Open(t.Context(), dir, odb.Options{}); err == nil || !strings.Contains(err.Error(), "open already") {
		t.Errorf("a database that is open: %v", err)
	}
	if _, err := odb.Open(t.Context(), dir, odb.Options{CopyOf: "elsewhere"}); !odb.IsForeign(err) {
		t.Errorf("a database that is not a copy: %v", err)
	}
	head := commit(t, db, odb.Hash{}, "x", "1")
	if err := db.Update(t.Context(), odb.Move{Ref: "main", New: head}); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	gitcmd.Run(t, dir, "update-ref", "refs/heads/other", head.String())
	if _, err := odb.Open(t.Context(), dir, odb.Options{}); err == nil || !strings.Contains(err.Error(), "pack-refs") {
		t.Errorf("a branch that git has written: %v", err)
	}
	gitcmd.Run(t, dir, "pack-refs", "--all", "--prune")
	again := open(t, dir, odb.Options{})
	if refs, err := again.Refs(); err != nil || refs["other"] != head || refs["main"] != head {
		t.Errorf("got %v, %v", refs, err)
	}
}
