package odb

import "strings"

// TreeMerge is how a change goes into another tree.
type TreeMerge struct {
	// Edits bring the change in; Graft applies them. There are none where the tree has it all.
	Edits []Edit
	// Conflicts are the paths at which the tree is neither as it was before the change nor as it is
	// after.
	Conflicts []string
}

// MergeTrees returns how what changed from one commit to another goes into the tree of a third: a
// three-way merge with from as the base. It writes nothing and reads no blob.
//
// Trees are compared from the top and entered only where all three differ. So a whole new directory
// is one edit, the cost follows what differs, and the third tree is not read where the first two
// are equal. At each name there are four cases: the third tree has the change already; it is as it
// was before, and takes the change; it differs from both and all three are directories or nothing,
// which are entered; or it is a conflict. Two changes of one file are always a conflict: merging
// lines of YAML can give a document that neither side wrote. So is a name that is a file in one
// tree and a directory in another.
//
// A directory for which whole is true is never entered, and conflicts like a file; whole may be
// nil. It serves directories whose files belong together, where half of one side and half of the
// other would be something that nobody reviewed.
func (o *Objects) MergeTrees(from, to, into Hash, whole func(path string) bool) (TreeMerge, error) {
	w := &treeMerging{objects: o, whole: whole}
	var roots [3]Entry
	for i, commit := range []Hash{from, to, into} {
		info, err := o.Commit(commit)
		if err != nil {
			return TreeMerge{}, err
		}
		roots[i] = Entry{Hash: info.Tree, Mode: ModeDir}
	}
	err := w.enter("", roots[0], roots[1], roots[2])
	return w.out, err
}

// Changes returns the paths that differ between two commits, in order. A directory is one path
// where only one of them has it, and one that both have is listed by what differs in it.
func (o *Objects) Changes(from, to Hash) (paths []string, err error) {
	var roots [2]Entry
	for i, commit := range []Hash{from, to} {
		info, err := o.Commit(commit)
		if err != nil {
			return nil, err
		}
		roots[i] = Entry{Hash: info.Tree, Mode: ModeDir}
	}
	return o.changes(nil, "", roots[0], roots[1])
}

// changes adds what differs between two directories; path ends with a slash unless it is empty.
func (o *Objects) changes(paths []string, path string, from, to Entry) ([]string, error) {
	differences, err := o.differences(from, to)
	if err != nil {
		return nil, err
	}
	for _, d := range differences {
		if d.from.Mode != ModeDir || d.to.Mode != ModeDir {
			paths = append(paths, path+d.name)
			continue
		}
		if paths, err = o.changes(paths, path+d.name+"/", d.from, d.to); err != nil {
			return nil, err
		}
	}
	return paths, nil
}

// treeMerging is a merge of trees in progress. A zero Entry means nothing, which is entered like an
// empty directory.
type treeMerging struct {
	objects *Objects
	whole   func(path string) bool
	out     TreeMerge
}

// enter merges what is in three directories, or nothing; path ends with a slash unless it is empty.
// Only names that differ between from and to are read in into.
func (w *treeMerging) enter(path string, from, to, into Entry) error {
	if from == to || into == to {
		return nil
	}
	differences, err := w.objects.differences(from, to)
	if err != nil {
		return err
	}
	have, err := w.objects.directory(into)
	if err != nil {
		return err
	}
	for _, d := range differences {
		current, _ := have.find(d.name)
		if err := w.merge(path+d.name, d, current); err != nil {
			return err
		}
	}
	return nil
}

// merge decides what becomes of one name; see MergeTrees for the cases.
func (w *treeMerging) merge(path string, d difference, current Entry) error {
	switch {
	case current == d.to:
	case current == d.from:
		w.out.Edits = append(w.out.Edits, Edit{Path: path, Hash: d.to.Hash, Mode: d.to.Mode})
	case w.whole != nil && w.whole(path), !d.from.enterable(), !d.to.enterable(), !current.enterable():
		w.out.Conflicts = append(w.out.Conflicts, path)
	default:
		return w.enter(path+"/", d.from, d.to, current)
	}
	return nil
}

// enterable reports whether e is a directory, or nothing.
func (e Entry) enterable() bool { return e == (Entry{}) || e.Mode == ModeDir }

// directory reads the tree of e; nothing is an empty directory.
func (o *Objects) directory(e Entry) (*tree, error) {
	if e == (Entry{}) {
		return &tree{}, nil
	}
	return o.tree(e.Hash)
}

// differences compares two directories, which may be nothing, and caches the result by their
// hashes. The trees themselves do not all fit into their cache: a thousand proposals have as many
// large directories, which differ from that of base in a name or two, and every pass compares all
// of them. The result is shared: it must not be changed.
func (o *Objects) differences(from, to Entry) ([]difference, error) {
	size := func(found []difference) int { return 1 + len(found) }
	return o.store.differences.of([2]Hash{from.Hash, to.Hash}, size, func() ([]difference, error) {
		before, err := o.directory(from)
		if err != nil {
			return nil, err
		}
		after, err := o.directory(to)
		if err != nil {
			return nil, err
		}
		found := differences(before, after)
		for i := range found {
			found[i].name = strings.Clone(found[i].name) // which points into a tree
		}
		return found, nil
	})
}

// difference is a name that is different things in two trees.
type difference struct {
	name     string
	from, to Entry
}

// differences walks two trees side by side, in linear time. What is a directory in one and a file
// in the other has two positions in their order (see compareEntries). It is listed once: at its
// position in from, with what find has in to; at its position in to, it is skipped because from has
// the name.
func differences(from, to *tree) []difference {
	var out []difference
	a, b := from.entries, to.entries
	for len(a) > 0 || len(b) > 0 {
		order := 0
		switch {
		case len(a) == 0:
			order = 1
		case len(b) == 0:
			order = -1
		default:
			order = compareEntries(a[0], b[0])
		}
		switch {
		case order < 0:
			other, _ := to.find(a[0].name)
			out, a = append(out, difference{a[0].name, a[0].Entry, other}), a[1:]
		case order > 0:
			if _, listed := from.find(b[0].name); !listed {
				out = append(out, difference{b[0].name, Entry{}, b[0].Entry})
			}
			b = b[1:]
		default:
			if a[0].Entry != b[0].Entry {
				out = append(out, difference{a[0].name, a[0].Entry, b[0].Entry})
			}
			a, b = a[1:], b[1:]
		}
	}
	return out
}
