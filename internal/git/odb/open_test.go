package odb_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/furrow-dev/furrow/internal/git/odb"
)

// paused are files whose first rename waits.
type paused struct {
	odb.Files
	once    sync.Once
	waiting chan struct{}
	resume  chan struct{}
}

func (p *paused) Rename(from, to string) error {
	p.once.Do(func() {
		close(p.waiting)
		<-p.resume
	})
	return p.Files.Rename(from, to)
}

// A directory that has the temporary file of a database which is being made is not somebody else's.
func TestACopyIsOpenedWhileAnotherProcessMakesIt(t *testing.T) {
	dir := t.TempDir()
	files := &paused{Files: odb.OSFiles(dir), waiting: make(chan struct{}), resume: make(chan struct{})}
	first := make(chan error, 1)
	go func() {
		db, err := odb.OpenOn(t.Context(), files, dir, odb.Options{CopyOf: "there"})
		if err == nil {
			err = db.Close()
		}
		first <- err
	}()
	<-files.waiting
	if entries, err := filepath.Glob(filepath.Join(dir, "tmp_*")); err != nil || len(entries) != 1 {
		t.Fatalf("there is no temporary file: %v, %v", entries, err)
	}
	soon, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := odb.Open(soon, dir, odb.Options{CopyOf: "there"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it did not wait for the lock: %v", err)
	}
	close(files.resume)
	if err := <-first; err != nil {
		t.Errorf("first: %v", err)
	}
	open(t, dir, odb.Options{CopyOf: "there"})
}

func TestManyOpenACopyInAnEmptyDirectoryAtOnce(t *testing.T) {
	for range 20 {
		dir := filepath.Join(t.TempDir(), "cache")
		var opening sync.WaitGroup
		begin := make(chan struct{})
		for range 12 {
			opening.Go(func() {
				<-begin
				db, err := odb.Open(t.Context(), dir, odb.Options{CopyOf: "there"})
				if err != nil {
					t.Error(err)
					return
				}
				if err := db.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		close(begin)
		opening.Wait()
		if t.Failed() {
			return
		}
	}
}

func TestWhatAnInterruptedOpenLeavesIsOpened(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"furrow.use", "furrow.lock", "tmp_LMNOP"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	open(t, dir, odb.Options{CopyOf: "there"})
}

// The check under the lock refuses what the check before it left open.
func TestFilesOfOthersBesideOurLocksAreRefused(t *testing.T) {
	for name, file := range map[string]string{"a file": "notes.txt", "a file that begins like a temporary one": "tmp"} {
		dir := t.TempDir()
		for _, name := range []string{"furrow.use", "furrow.lock", file} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("mine"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := odb.Open(t.Context(), dir, odb.Options{CopyOf: "there"}); !odb.IsForeign(err) {
			t.Errorf("%s: %v", name, err)
		}
		if content, err := os.ReadFile(filepath.Join(dir, file)); err != nil || string(content) != "mine" {
			t.Errorf("%s: it was touched: %q, %v", name, content, err)
		}
	}
}
