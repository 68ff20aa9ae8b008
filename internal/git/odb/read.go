package odb

import (
	"container/heap"
	"fmt"
	"iter"
	"path"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// CommitInfo is a commit. It is shared between callers, who must not change it.
type CommitInfo struct {
	Hash      Hash
	Tree      Hash
	Parents   []Hash
	Author    Person
	Committer Person
	Message   string
}

// Commit reads a commit, from the cache where it can; IsUnknown reports that the database does not
// have it. The parents are shared and must not be changed.
func (o *Objects) Commit(hash Hash) (CommitInfo, error) {
	size := func(info CommitInfo) int { return infoSize + len(info.Message) + len(info.Parents)*len(hash) }
	return o.store.infos.of(hash, size, func() (CommitInfo, error) { return o.readCommit(hash) })
}

// readCommit reads and parses a commit without the memo. A hash of another type is unknown as a
// commit, and content that cannot be parsed is corrupt: the two have different remedies.
func (o *Objects) readCommit(hash Hash) (CommitInfo, error) {
	if err := o.checkSize(hash, maxCommit, "commit"); err != nil {
		return CommitInfo{}, err
	}
	typ, content, err := o.read(hash)
	if err != nil {
		return CommitInfo{}, err
	}
	if typ != plumbing.CommitObject {
		return CommitInfo{}, unknown(hash, "is a "+typ.String()+", not a commit")
	}
	var encoded plumbing.MemoryObject
	encoded.SetType(plumbing.CommitObject)
	_, _ = encoded.Write(content)
	var c object.Commit
	if err := c.Decode(&encoded); err != nil {
		return CommitInfo{}, corrupt(hash, err.Error())
	}
	info := CommitInfo{Hash: hash, Tree: Hash(c.TreeHash), Author: person(c.Author), Committer: person(c.Committer), Message: c.Message}
	for _, parent := range c.ParentHashes {
		info.Parents = append(info.Parents, Hash(parent))
	}
	return info, nil
}

// RawCommit returns the bytes of a commit, which its signature is made of. They belong to the caller.
func (o *Objects) RawCommit(hash Hash) ([]byte, error) {
	if err := o.checkSize(hash, maxCommit, "commit"); err != nil {
		return nil, err
	}
	typ, content, err := o.read(hash)
	if err == nil && typ != plumbing.CommitObject {
		err = unknown(hash, "is a "+typ.String()+", not a commit")
	}
	return content, err
}

func person(s object.Signature) Person { return Person{Name: s.Name, Email: s.Email, When: s.When} }

// Entry looks a path up in the tree of commit; the path "." is the root. If there is nothing at the
// path, or a file where a directory should be, ok is false and err is nil.
func (o *Objects) Entry(commit Hash, name string) (entry Entry, ok bool, err error) {
	info, err := o.Commit(commit)
	if err != nil {
		return Entry{}, false, err
	}
	return o.lookup(info.Tree, name)
}

// Entries looks many paths up at once and returns those that are there, by the paths as they were
// given.
func (o *Objects) Entries(commit Hash, paths []string) (map[string]Entry, error) {
	info, err := o.Commit(commit)
	if err != nil {
		return nil, err
	}
	found := make(map[string]Entry, len(paths))
	for _, name := range paths {
		entry, ok, err := o.lookup(info.Tree, name)
		if err != nil {
			return nil, err
		}
		if ok {
			found[name] = entry
		}
	}
	return found, nil
}

// lookup finds a path below the tree root.
func (o *Objects) lookup(root Hash, name string) (Entry, bool, error) {
	at := Entry{Hash: root, Mode: ModeDir}
	name = path.Clean(name)
	if name == "." {
		return at, true, nil
	}
	for part := range strings.SplitSeq(name, "/") {
		if at.Mode != ModeDir {
			return Entry{}, false, nil
		}
		t, err := o.tree(at.Hash)
		if err != nil {
			return Entry{}, false, fmt.Errorf("look up %s: %w", name, err)
		}
		var ok bool
		if at, ok = t.find(part); !ok {
			return Entry{}, false, nil
		}
	}
	return at, true, nil
}

// commitNode is what a walk needs of a commit. There is a cache of its own for these, because they
// are small: a walk visits far more commits than fit into the cache of whole ones.
type commitNode struct {
	hash    Hash
	parents []Hash
	when    time.Time
}

func (o *Objects) node(hash Hash) (commitNode, error) {
	return o.store.commits.of(hash, one, func() (commitNode, error) {
		info, err := o.Commit(hash)
		return commitNode{hash, info.Parents, info.Committer.When}, err
	})
}

// one returns the size of each commitNode: the cache counts them.
func one(commitNode) int { return 1 }

// newest is a heap of commits, the newest first.
type newest []commitNode

func (q newest) Len() int           { return len(q) }
func (q newest) Less(i, j int) bool { return q[i].when.After(q[j].when) }
func (q newest) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *newest) Push(x any)        { *q = append(*q, x.(commitNode)) }
func (q *newest) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

// walk visits the commits that can be reached from one, each once, by the times of their
// committers, the newest first. It reads a commit only when it is next or beside what is next, so a
// visit that ends early costs no more than what it has visited.
func (o *Objects) walk(from Hash, visit func(commitNode) (more bool)) error {
	first, err := o.node(from)
	if err != nil {
		return err
	}
	queue, seen := newest{first}, map[Hash]bool{from: true}
	for len(queue) > 0 {
		at := heap.Pop(&queue).(commitNode)
		if !visit(at) {
			return nil
		}
		for _, parent := range at.parents {
			if seen[parent] {
				continue
			}
			seen[parent] = true
			next, err := o.node(parent)
			if err != nil {
				return err
			}
			heap.Push(&queue, next)
		}
	}
	return nil
}

// IsAncestor reports whether the commit ancestor is of, or can be reached from it. Both must be in
// the database. A true answer costs the commits that are newer than ancestor, a false one the whole
// history: times may be wrong, so a commit that is older than ancestor may still lead to it.
func (o *Objects) IsAncestor(ancestor, of Hash) (bool, error) {
	if _, err := o.node(ancestor); err != nil {
		return false, err
	}
	found := false
	err := o.walk(of, func(c commitNode) bool {
		found = c.hash == ancestor
		return !found
	})
	return found, err
}

// Log returns the commits that can be reached from one but not from stop, newest first; a zero stop
// leaves nothing out. It ends with the first error, which comes with an empty commit.
func (o *Objects) Log(from, stop Hash) iter.Seq2[CommitInfo, error] {
	return func(yield func(CommitInfo, error) bool) {
		show := func(c commitNode) bool {
			info, err := o.Commit(c.hash)
			return yield(info, err) && err == nil
		}
		if err := o.walkBetween(from, stop, show); err != nil {
			yield(CommitInfo{}, err)
		}
	}
}

// walkBetween visits what from reaches and stop does not. Which commits those are is known only
// when painting has ended, so nothing is visited before.
func (o *Objects) walkBetween(from, stop Hash, visit func(commitNode) (more bool)) error {
	if stop.IsZero() {
		return o.walk(from, visit)
	}
	p := &painting{hidden: map[Hash]bool{}, queued: map[Hash]bool{}, nodes: map[Hash]commitNode{}}
	shown, err := p.paint(o, from, stop)
	if err != nil {
		return err
	}
	for _, c := range shown {
		if !p.hidden[c.hash] && !visit(c) {
			return nil
		}
	}
	return nil
}

// slop is how many commits are read on after nothing is left that could be shown, in case clocks
// were wrong: a commit with a time before that of its parent is visited too late to hide the parent
// in time. Git has such a number too (limit_list in its revision.c).
const slop = 256

// painting walks down from two commits at once, newest first, and hides what the second one
// reaches. It stops soon after nothing that is still queued can be shown, so the long history that
// both share is not read: the cost follows what differs between the two.
//
// Invariants: nodes has every commit that was queued so far; a hidden commit's parents are hidden
// as soon as the commit has left the queue; open counts the queued commits that are not hidden, so
// a walk with open at 0 can find nothing more to show unless a clock was wrong.
type painting struct {
	queue  newest
	queued map[Hash]bool
	hidden map[Hash]bool
	nodes  map[Hash]commitNode
	open   int // queued and not hidden
}

// paint returns the commits that from reaches and stop does not, newest first. A commit may leave
// the queue before it is known that stop reaches it, so the caller leaves out those that are hidden
// in the end.
func (p *painting) paint(o *Objects, from, stop Hash) (shown []commitNode, err error) {
	p.hide(stop)
	for _, start := range []Hash{from, stop} {
		if err := p.push(o, start); err != nil {
			return nil, err
		}
	}
	for spare := slop; len(p.queue) > 0 && spare > 0; spare-- {
		if p.open > 0 {
			spare = slop
		}
		at := heap.Pop(&p.queue).(commitNode)
		delete(p.queued, at.hash)
		if !p.hidden[at.hash] {
			p.open--
			shown = append(shown, at)
		}
		for _, parent := range at.parents {
			if p.hidden[at.hash] {
				p.hide(parent)
			}
			if err := p.push(o, parent); err != nil {
				return nil, err
			}
		}
	}
	return shown, nil
}

// push queues a commit, once.
func (p *painting) push(o *Objects, hash Hash) error {
	if _, seen := p.nodes[hash]; seen {
		return nil
	}
	n, err := o.node(hash)
	if err != nil {
		return err
	}
	p.nodes[hash], p.queued[hash] = n, true
	if !p.hidden[hash] {
		p.open++
	}
	heap.Push(&p.queue, n)
	return nil
}

// hide hides a commit and everything below it that has already left the queue. What is still queued
// hides its parents itself, when its turn comes.
func (p *painting) hide(hash Hash) {
	for todo := []Hash{hash}; len(todo) > 0; {
		hash, todo = todo[0], todo[1:]
		if p.hidden[hash] {
			continue
		}
		p.hidden[hash] = true
		if p.queued[hash] {
			p.open--
			continue
		}
		todo = append(todo, p.nodes[hash].parents...)
	}
}
