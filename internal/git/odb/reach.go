package odb

import (
	"context"
	"errors"
	"maps"
	"slices"
)

// live are objects that refs reach, in the order in which they are packed.
type live struct {
	seen map[Hash]bool
	// versions are lists of objects that are likely much alike, the newest first: all commits, and
	// what is at one path.
	versions [][]Hash
	// paths says which list is that of a path.
	paths map[uint64]int
}

// commits is the list of commits.
const commits = 0

func newLive() *live {
	return &live{seen: map[Hash]bool{}, versions: make([][]Hash, 1), paths: map[uint64]int{}}
}

func (l *live) add(hash Hash, list int) {
	l.seen[hash] = true
	l.versions[list] = append(l.versions[list], hash)
}

// list returns the list of a path.
func (l *live) list(path uint64) int {
	list, ok := l.paths[path]
	if !ok {
		list = len(l.versions)
		l.versions = append(l.versions, nil)
		l.paths[path] = list
	}
	return list
}

func (l *live) remove(hashes map[Hash]bool) {
	for i := range l.versions {
		l.versions[i] = slices.DeleteFunc(l.versions[i], func(hash Hash) bool { return hashes[hash] })
	}
	maps.DeleteFunc(l.seen, func(hash Hash, _ bool) bool { return hashes[hash] })
}

// below returns the path of a name in a directory, as a number (FNV-1a): a repository has many
// paths, and only equality is needed. If two paths collide, two files share a list of versions,
// which costs a few bytes in the pack.
func below(dir uint64, name string) uint64 {
	for _, c := range []byte("/" + name) {
		dir = (dir ^ uint64(c)) * 1099511628211
	}
	return dir
}

// reaching is a search for what refs reach. Everything that is in neither seen nor elsewhere has
// not been visited yet.
type reaching struct {
	*live
	db         *DB
	candidates map[Hash]bool
	elsewhere  map[Hash]bool
}

// reachable lists those of the candidates that the refs reach. Any other object is in a complete
// pack, and so is what it reaches, but for files that came later; see addFiles. So the walk stops
// at the first other object, and costs what the candidates cost, not the history.
//
// Commits come first, from new to old, and then the trees of each commit in that order. So each
// list of versions begins with the version at the head of a branch.
func (db *DB) reachable(ctx context.Context, refs Refs, candidates map[Hash]bool) (*live, error) {
	r := &reaching{newLive(), db, candidates, map[Hash]bool{}}
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		if err := r.commit(refs[name]); err != nil {
			return nil, err
		}
	}
	for i := 0; i < len(r.versions[commits]); i++ {
		info, err := db.Commit(r.versions[commits][i])
		if err != nil {
			return nil, err
		}
		for _, parent := range info.Parents {
			if err := r.commit(parent); err != nil {
				return nil, err
			}
		}
	}
	for _, hash := range r.versions[commits] {
		info, err := db.Commit(hash)
		if err == nil {
			err = r.entry(Entry{info.Tree, ModeDir}, below(0, ""))
		}
		if err := errors.Join(err, ctx.Err()); err != nil {
			return nil, err
		}
	}
	return r.live, nil
}

// commit adds a commit if it is new. Its parents follow when the list of commits reaches it.
func (r *reaching) commit(hash Hash) error {
	isNew, err := r.isNew(Entry{Hash: hash})
	if isNew {
		r.add(hash, commits)
	}
	return err
}

// entry adds what a tree names, and what is below it, if it is new. An object at several paths is
// in the list of the first one.
func (r *reaching) entry(e Entry, path uint64) error {
	isNew, err := r.isNew(e)
	if !isNew || err != nil {
		return err
	}
	r.add(e.Hash, r.list(path))
	if e.Mode != ModeDir {
		return nil
	}
	t, err := r.db.tree(e.Hash)
	if err != nil {
		return err
	}
	for _, entry := range t.entries {
		if err := r.entry(entry.Entry, below(path, entry.name)); err != nil {
			return err
		}
	}
	return nil
}

// isNew reports whether an object is a candidate that was not visited yet; a commit has no mode. A
// commit or tree that is nowhere is an error, since what it reaches would be removed for good. A
// missing file is not: a copy has only the files that were read.
func (r *reaching) isNew(e Entry) (bool, error) {
	switch {
	case r.seen[e.Hash] || r.elsewhere[e.Hash] || e.Mode == ModeSubmodule:
	case r.candidates[e.Hash]:
		return true, nil
	case (e.Mode == ModeDir || e.Mode == 0) && !r.db.Has(e.Hash):
		return false, unknown(e.Hash, lacking)
	default:
		r.elsewhere[e.Hash] = true
	}
	return false, nil
}

// addFiles adds those of the candidates that are files at the branches' heads, whatever pack their
// directories are in: files that were fetched one by one are not in the pack of the trees that name
// them, so reachable does not get to them. Files of earlier commits are fetched again when they are
// read. Each is a list of its own, since its other versions are not known here.
func (db *DB) addFiles(ctx context.Context, refs Refs, candidates map[Hash]bool, l *live) error {
	walked := map[Hash]bool{}
	var next []Entry
	for _, commit := range refs {
		next = append(next, Entry{Hash: commit})
	}
	for len(next) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		e := next[len(next)-1]
		next = next[:len(next)-1]
		if walked[e.Hash] {
			continue
		}
		walked[e.Hash] = true
		held, err := db.references(e)
		if err != nil {
			return err
		}
		for _, entry := range held {
			switch {
			case entry.Mode == ModeDir:
				next = append(next, entry)
			case entry.Mode != 0 && candidates[entry.Hash] && !l.seen[entry.Hash]:
				l.versions = append(l.versions, nil)
				l.add(entry.Hash, len(l.versions)-1)
			}
		}
	}
	return nil
}

// references lists what a tree or a commit names.
func (db *DB) references(e Entry) (out []Entry, err error) {
	if e.Mode == ModeDir {
		t, err := db.tree(e.Hash)
		if err != nil {
			return nil, err
		}
		for _, entry := range t.entries {
			out = append(out, entry.Entry)
		}
		return out, nil
	}
	commit, err := db.Commit(e.Hash)
	if err != nil {
		return nil, err
	}
	out = append(out, Entry{commit.Tree, ModeDir})
	for _, parent := range commit.Parents {
		out = append(out, Entry{Hash: parent})
	}
	return out, nil
}
