package odb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/gitname"
)

// HeadsPrefix starts the full name of a branch.
const HeadsPrefix = "refs/heads/"

// Refs maps branch names, without refs/heads/, to the commits they are at.
type Refs map[string]Hash

// CheckRef says why name cannot be a branch, by the rules of git check-ref-format.
func CheckRef(name string) error {
	fault := gitname.BranchFault(name)
	if fault == "" {
		return nil
	}
	return fmt.Errorf("branch name %q %s", name, fault)
}

// Refs reads the branches. They are in packed-refs only, so they change all at once.
func (db *DB) Refs() (Refs, error) {
	refs := Refs{}
	raw, err := os.ReadFile(filepath.Join(db.dir, packedRefsName))
	if os.IsNotExist(err) {
		return refs, nil
	}
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(raw)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		hex, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		branch, ok := strings.CutPrefix(name, HeadsPrefix)
		hash, err := ParseHash(hex)
		if err != nil || !ok {
			return nil, fmt.Errorf("%s has a malformed line %q", packedRefsName, line)
		}
		refs[branch] = hash
	}
	return refs, nil
}

// SetRefs replaces all branches. It compares nothing, so the caller holds the lock and has read the
// branches under it. The rename of the file is the moment at which all of them move. The cost is
// that of all branches, about 60 bytes each, however few of them move.
func (db *DB) SetRefs(refs Refs) error {
	var text bytes.Buffer
	text.WriteString("# pack-refs with: sorted\n")
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		fmt.Fprintf(&text, "%s %s%s\n", refs[name], HeadsPrefix, name)
	}
	return db.store.disk.replace(packedRefsName, text.Bytes())
}

// Move moves one branch.
type Move struct {
	// Ref is the branch, without refs/heads/.
	Ref string
	// Old is where the branch must be; zero: it must not exist.
	Old Hash
	// New is where the branch shall be; zero: delete it.
	New Hash
}

// Update moves branches: all of them, or none if one is not at Old, which IsStale reports. Every
// New must be a commit of the database, with all that it reaches: Update checks only that the
// commit is here, since builders write trees before commits. Processes and goroutines may call it
// at once.
func (db *DB) Update(ctx context.Context, moves ...Move) error {
	unlock, err := db.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	refs, err := db.Refs()
	if err != nil {
		return err
	}
	if refs, err = refs.after(moves); err != nil {
		return err
	}
	for _, m := range moves {
		if m.New.IsZero() {
			continue
		}
		if !db.Has(m.New) {
			return unknown(m.New, lacking)
		}
		if _, err := db.Commit(m.New); err != nil {
			return err
		}
	}
	return db.SetRefs(refs)
}

// after returns the branches as moves leave them. It changes nothing and fails for all reasons that
// do not need the objects, so a batch can call it before it writes. All stale branches are named,
// not the first only. r stays as it is.
func (r Refs) after(moves []Move) (Refs, error) {
	after, stale, moved := maps.Clone(r), &StaleError{}, map[string]bool{}
	for _, m := range moves {
		if err := CheckRef(m.Ref); err != nil {
			return nil, err
		}
		if moved[m.Ref] {
			return nil, fmt.Errorf("branch %s is moved twice at once", m.Ref)
		}
		moved[m.Ref] = true
		if r[m.Ref] != m.Old {
			stale.Refs = append(stale.Refs, m.Ref)
		}
		if m.New.IsZero() {
			delete(after, m.Ref)
		} else {
			after[m.Ref] = m.New
		}
	}
	if len(stale.Refs) > 0 {
		return nil, stale
	}
	return after, after.nested()
}

// nested fails if a branch is a directory of others ("a" and "a/b"), which Git does not allow
// because branches can be files. Each name is compared with its own prefixes, so the cost follows
// the length of the names, not the pairs of them.
func (r Refs) nested() error {
	for name := range r {
		for i, c := range []byte(name) {
			if _, taken := r[name[:i]]; taken && c == '/' {
				return fmt.Errorf("branches %s and %s cannot exist at the same time: delete one of them", name[:i], name)
			}
		}
	}
	return nil
}

// StaleError says which branches were not where the caller expected them. Nothing was moved.
type StaleError struct{ Refs []string }

// Error names the branches.
func (e *StaleError) Error() string {
	return "moved by another writer: branch " + strings.Join(e.Refs, ", ")
}

// IsStale reports whether another writer has moved a branch: read the branches again and start
// over.
func IsStale(err error) bool {
	var stale *StaleError
	return errors.As(err, &stale)
}
