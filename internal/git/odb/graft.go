package odb

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// Person is the author or committer of a commit.
type Person struct {
	Name  string
	Email string
	When  time.Time
}

// CommitMeta is what a commit says besides its tree and parents.
type CommitMeta struct {
	Author Person
	// Committer is Author where it is zero.
	Committer Person
	// Message ends with its trailers, if any.
	Message string
	// AllowEmpty makes Graft write a commit although nothing changed.
	AllowEmpty bool
}

// Tree is a tree that was written, with every object in it: what a server that knows nothing of it
// must be sent.
type Tree struct {
	Hash    Hash
	Objects []Hash
}

// Edit puts the existing object Hash at Path, and replaces whatever is there. A zero Hash removes
// what is at Path, and the directories that become empty by it: Git has no empty directories. A
// removal of what is not there changes nothing.
type Edit struct {
	Path string
	Hash Hash
	Mode Mode
}

// Grafted is the outcome of a graft. Objects are those that the graft made, the commit last: what a
// server that has the base must be sent, besides the objects that the edits name. If Unchanged,
// Commit is the base and there are no Objects.
type Grafted struct {
	Commit    Hash
	Tree      Hash
	Objects   []Hash
	Unchanged bool
}

// node is a name on the path of an edit. It has an edit, or names below it, or both: what is at a
// path may be removed and other things put below it at once.
type node struct {
	edit *Edit
	kids map[string]*node
}

// WriteTree writes files, by path, as blobs and trees, and returns the tree with all objects that
// it takes, whether they were new or not. No files make an empty tree. Paths are applied in order,
// so equal files make equal trees and nothing depends on the map.
func (o *Objects) WriteTree(files map[string][]byte) (Tree, error) {
	edits := make([]Edit, 0, len(files))
	objects := newObjectList()
	for _, path := range slices.Sorted(maps.Keys(files)) {
		hash, err := o.put(plumbing.BlobObject, files[path])
		if err != nil {
			return Tree{}, err
		}
		objects.add(hash)
		edits = append(edits, Edit{Path: path, Hash: hash, Mode: ModeFile})
	}
	root, err := plant(edits)
	if err != nil {
		return Tree{}, err
	}
	hash, err := o.rewrite(Hash{}, root, "", objects)
	if err != nil {
		return Tree{}, err
	}
	if hash.IsZero() {
		if hash, err = o.emptyTree(objects); err != nil {
			return Tree{}, err
		}
	}
	return Tree{Hash: hash, Objects: objects.list}, nil
}

// Graft applies edits to the tree of the commit base and commits the outcome on top of it. With a
// zero base it starts from nothing, and the commit has no parent. The order of edits does not
// matter: removals are applied before the rest, and contradictory edits fail.
//
// Only the trees on the edited paths are read and written, and no blob is. So the cost follows the
// size of the directories on those paths, not that of the repository: a tier goes into a branch of
// 100,000 files without a checkout and without an index. All other entries are copied hash by hash,
// and what a reader of them would find is exactly what base has.
func (o *Objects) Graft(base Hash, edits []Edit, meta CommitMeta) (Grafted, error) {
	var parents []Hash
	var old Hash
	if !base.IsZero() {
		commit, err := o.Commit(base)
		if err != nil {
			return Grafted{}, err
		}
		parents, old = []Hash{base}, commit.Tree
	}
	root, err := plant(edits)
	if err != nil {
		return Grafted{}, err
	}
	objects := newObjectList()
	tree, err := o.rewrite(old, root, "", objects)
	if err != nil {
		return Grafted{}, err
	}
	if tree.IsZero() {
		if tree, err = o.emptyTree(objects); err != nil {
			return Grafted{}, err
		}
	}
	if tree == old && !meta.AllowEmpty {
		return Grafted{Commit: base, Tree: old, Unchanged: true}, nil
	}
	commit, err := o.CommitTree(tree, parents, meta)
	if err != nil {
		return Grafted{}, err
	}
	objects.add(commit)
	return Grafted{Commit: commit, Tree: tree, Objects: objects.list}, nil
}

// CommitTree writes a commit of tree, signed if SignWith says so. Equal arguments make the same
// commit, so a caller that fixes the time can build it again and compare hashes.
func (o *Objects) CommitTree(tree Hash, parents []Hash, meta CommitMeta) (Hash, error) {
	author, err := signature(meta.Author)
	if err != nil {
		return Hash{}, fmt.Errorf("author: %w", err)
	}
	signed, err := signature(cmp.Or(meta.Committer, meta.Author))
	if err != nil {
		return Hash{}, fmt.Errorf("committer: %w", err)
	}
	if strings.ContainsRune(meta.Message, 0) {
		return Hash{}, errors.New("commit message has a NUL character")
	}
	commit := object.Commit{Author: author, Committer: signed, TreeHash: plumbing.Hash(tree), Message: strings.TrimRight(meta.Message, "\n") + "\n"}
	for _, parent := range parents {
		commit.ParentHashes = append(commit.ParentHashes, plumbing.Hash(parent))
	}
	var encoded plumbing.MemoryObject
	if err := commit.Encode(&encoded); err != nil {
		return Hash{}, err
	}
	content := contentOf(&encoded)
	if o.sign != nil {
		if content, err = o.sign(content, signed.When); err != nil {
			return Hash{}, err
		}
	}
	return o.put(plumbing.CommitObject, content)
}

func contentOf(o *plumbing.MemoryObject) []byte {
	reader, _ := o.Reader()
	content := make([]byte, o.Size())
	_, _ = reader.Read(content)
	return content
}

// signature cleans a name and an address of what would end them early in the header of a commit.
// Text from others gets here, such as the name of the person who retried a tier.
func signature(p Person) (object.Signature, error) {
	clean := func(s string) string {
		return strings.TrimSpace(strings.Map(func(r rune) rune {
			if r == '<' || r == '>' || r < ' ' {
				return -1
			}
			return r
		}, s))
	}
	out := object.Signature{Name: clean(p.Name), Email: clean(p.Email), When: p.When}
	if out.Name == "" || out.Email == "" || p.When.Unix() < 0 {
		return out, errors.New("a commit needs a name, an email address and a time")
	}
	return out, nil
}

// NewObjects returns the objects of tree that none of the known commits has at the same path: what
// a server that has those commits must be sent. A plan that replaces another is pushed with these
// rather than with all that WriteTree lists. An object that a known commit has at another path is
// sent once more, which is harmless: finding it would take a walk of the whole commit.
func (o *Objects) NewObjects(tree Hash, known ...Hash) ([]Hash, error) {
	var roots []Hash
	for _, commit := range known {
		info, err := o.Commit(commit)
		if err != nil {
			return nil, err
		}
		roots = append(roots, info.Tree)
	}
	objects := newObjectList()
	err := o.collectNew(Entry{Hash: tree, Mode: ModeDir}, roots, objects)
	return objects.list, err
}

// collectNew adds e and what is below it, except what the known trees have at the same path. An
// equal hash means that all below is equal, so the walk enters only what differs. An object that
// moved to another path is collected again: to find it there would take a walk of the whole known
// tree.
func (o *Objects) collectNew(e Entry, known []Hash, objects *objectList) error {
	if slices.Contains(known, e.Hash) || objects.seen[e.Hash] || e.Mode == ModeSubmodule {
		return nil
	}
	objects.add(e.Hash)
	if e.Mode != ModeDir {
		return nil
	}
	t, err := o.tree(e.Hash)
	if err != nil {
		return err
	}
	var others []*tree
	for _, hash := range known {
		if other, err := o.tree(hash); err == nil {
			others = append(others, other)
		}
	}
	for _, entry := range t.entries {
		var below []Hash
		for _, other := range others {
			if same, ok := other.find(entry.name); ok {
				below = append(below, same.Hash)
			}
		}
		if err := o.collectNew(entry.Entry, below, objects); err != nil {
			return err
		}
	}
	return nil
}

// plant sorts edits into a tree of nodes, so each directory is rewritten once, however many
// edits are in it.
func plant(edits []Edit) (*node, error) {
	root := &node{}
	for i := range edits {
		edit := &edits[i]
		if !edit.Hash.IsZero() && !edit.Mode.writable() {
			return nil, fmt.Errorf("path %q: mode %o is none of Git's", edit.Path, edit.Mode)
		}
		parts, err := splitPath(edit.Path)
		if err != nil {
			return nil, err
		}
		at := root
		for _, part := range parts {
			at = at.kid(part)
		}
		if at.edit != nil {
			return nil, fmt.Errorf("path %q is edited twice", edit.Path)
		}
		at.edit = edit
	}
	return root, root.check()
}

// kid returns the node of a name below n, and makes it where it is missing.
func (n *node) kid(name string) *node {
	if n.kids == nil {
		n.kids = map[string]*node{}
	}
	if n.kids[name] == nil {
		n.kids[name] = &node{}
	}
	return n.kids[name]
}

// check refuses edits inside a directory that is itself replaced.
func (n *node) check() error {
	if n.edit != nil && !n.edit.Hash.IsZero() && len(n.kids) > 0 {
		return fmt.Errorf("path %q is replaced and edited inside at once", n.edit.Path)
	}
	for _, kid := range n.kids {
		if err := kid.check(); err != nil {
			return err
		}
	}
	return nil
}

// rewrite applies the edits of n to the tree old, which may be zero, and returns the new tree's
// hash; zero means a tree without entries, which the caller leaves out. Trees are written from the
// leaves up, so each is on disk before one that names it.
func (o *Objects) rewrite(old Hash, n *node, path string, objects *objectList) (Hash, error) {
	before := &tree{}
	if !old.IsZero() {
		var err error
		if before, err = o.tree(old); err != nil {
			return Hash{}, err
		}
	}
	var puts []treeEntry
	for _, name := range slices.Sorted(maps.Keys(n.kids)) {
		entry, err := o.rewriteEntry(before, name, n.kids[name], path+name, objects)
		if err != nil {
			return Hash{}, err
		}
		if !entry.Hash.IsZero() {
			puts = append(puts, treeEntry{name, entry})
		}
	}
	slices.SortFunc(puts, compareEntries)
	entries := merge(before.entries, n.kids, puts)
	if len(entries) == 0 {
		return Hash{}, nil
	}
	return o.putTree(entries, old, before, objects)
}

// rewriteEntry returns what is at name after the edits; a zero Hash means nothing.
func (o *Objects) rewriteEntry(before *tree, name string, n *node, path string, objects *objectList) (Entry, error) {
	if n.edit != nil && !n.edit.Hash.IsZero() {
		return Entry{Hash: n.edit.Hash, Mode: n.edit.Mode}, nil
	}
	current, ok := before.find(name)
	if n.edit != nil || !ok {
		current = Entry{Mode: ModeDir}
	}
	if len(n.kids) == 0 {
		return Entry{}, nil
	}
	if current.Mode != ModeDir {
		if !n.puts() {
			return current, nil
		}
		return Entry{}, fmt.Errorf("path %q is a file: nothing can be put below it", path)
	}
	hash, err := o.rewrite(current.Hash, n, path+"/", objects)
	return Entry{Hash: hash, Mode: ModeDir}, err
}

// puts reports whether an object is put at n or below.
func (n *node) puts() bool {
	if n.edit != nil && !n.edit.Hash.IsZero() {
		return true
	}
	for _, kid := range n.kids {
		if kid.puts() {
			return true
		}
	}
	return false
}

// merge returns the entries of before that are not edited, and puts, in a tree's order.
func merge(before []treeEntry, edited map[string]*node, puts []treeEntry) []treeEntry {
	out := make([]treeEntry, 0, len(before)+len(puts))
	for _, entry := range before {
		if _, gone := edited[entry.name]; gone {
			continue
		}
		for len(puts) > 0 && compareEntries(puts[0], entry) < 0 {
			out, puts = append(out, puts[0]), puts[1:]
		}
		out = append(out, entry)
	}
	return append(out, puts...)
}

// putTree writes a tree, and keeps how it differs from the one before for the next push.
func (o *Objects) putTree(entries []treeEntry, old Hash, before *tree, objects *objectList) (Hash, error) {
	raw := encodeTree(entries)
	hash, err := o.put(plumbing.TreeObject, raw)
	if err != nil || hash == old {
		return hash, err
	}
	if !old.IsZero() {
		o.store.keepDelta(hash, old, before.raw, string(raw))
	}
	objects.add(hash)
	return hash, nil
}

func (o *Objects) emptyTree(objects *objectList) (Hash, error) {
	hash, err := o.put(plumbing.TreeObject, nil)
	objects.add(hash)
	return hash, err
}

// objectList collects hashes, each once.
type objectList struct {
	seen map[Hash]bool
	list []Hash
}

func newObjectList() *objectList { return &objectList{seen: map[Hash]bool{}} }

func (l *objectList) add(hash Hash) {
	if !l.seen[hash] {
		l.seen[hash] = true
		l.list = append(l.list, hash)
	}
}
