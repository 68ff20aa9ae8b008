package engine_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"testing/fstest"
	"time"

	"github.com/furrow-dev/furrow/internal/core/githash"
	"github.com/furrow-dev/furrow/internal/git"
)

// memory is a repository in memory, server and mirror in one: as strict about
// leases as a real one, and without the packs. internal/git is tested on real
// ones.
type memory struct {
	mu      sync.Mutex
	refs    git.Refs
	blobs   map[git.Hash][]byte
	trees   map[git.Hash]map[string]git.Hash // flat: path → blob
	commits map[git.Hash]git.CommitInfo
	// pushes counts the requests that changed something.
	pushes int
	// forwardOnly refuses to move a branch to a commit that does not follow the one it is at.
	forwardOnly bool
	keys        git.Keys
}

func newMemory() *memory {
	return &memory{refs: git.Refs{}, blobs: map[git.Hash][]byte{}, trees: map[git.Hash]map[string]git.Hash{}, commits: map[git.Hash]git.CommitInfo{}}
}

// emptyTree is the directory without files, which is 4b825dc642cb6eb9a060e54bf8d69288fbee4904.
var emptyTree = git.Hash(sha1.Sum([]byte("tree 0\x00"))) //nolint:gosec // G401: Git names its objects by SHA-1

func orEmptyTree(h git.Hash) git.Hash { return cmp.Or(h, emptyTree) }

func (m *memory) Fetch(ctx context.Context, _ string) (git.Refs, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.refs), ctx.Err()
}

func (m *memory) FS(_ context.Context, commit git.Hash) (fs.FS, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	tree := fstest.MapFS{}
	for p, blob := range m.trees[m.commits[commit].Tree] {
		tree[p] = fileOf(m.blobs[blob])
	}
	return tree, nil
}

// fileOf is a file of a text; "-> target" is a link, and "submodule" and "pipe" are those.
func fileOf(text []byte) *fstest.MapFile {
	target, link := bytes.CutPrefix(text, []byte("-> "))
	switch {
	case link:
		return &fstest.MapFile{Data: target, Mode: fs.ModeSymlink}
	case string(text) == "submodule":
		return &fstest.MapFile{Mode: fs.ModeIrregular}
	case string(text) == "pipe":
		return &fstest.MapFile{Mode: fs.ModeNamedPipe}
	}
	return &fstest.MapFile{Data: text}
}

func (m *memory) Blob(_ context.Context, hash git.Hash) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	data, ok := m.blobs[hash]
	if !ok {
		return nil, fmt.Errorf("there is no blob %s", hash)
	}
	return data, nil
}

func (m *memory) BlobUpTo(ctx context.Context, hash git.Hash, limit int64) ([]byte, error) {
	data, err := m.Blob(ctx, hash)
	if int64(len(data)) > limit {
		return nil, tooLarge(hash)
	}
	return data, err
}

// tooLarge is what a mirror says of a blob over the limit.
type tooLarge git.Hash

func (h tooLarge) Error() string { return fmt.Sprintf("blob %s is too large", git.Hash(h)) }

func (tooLarge) Failure() (kind string, wait time.Duration) { return "too large", 0 }

// unknown is what a mirror says of a commit that it does not have.
type unknown git.Hash

func (u unknown) Error() string { return "there is no commit " + git.Hash(u).String() }

func (unknown) Failure() (kind string, wait time.Duration) { return "unknown", 0 }

func (m *memory) Prefetch(context.Context, git.Hash, ...string) error { return nil }

func (m *memory) PrefetchBlobs(context.Context, []git.Hash) error { return nil }

func (m *memory) Commit(hash git.Hash) (git.CommitInfo, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, ok := m.commits[hash]
	if !ok {
		return c, unknown(hash)
	}
	return c, nil
}

func (m *memory) Entry(commit git.Hash, name string) (git.Entry, bool, error) {
	found, err := m.Entries(commit, []string{name})
	e, ok := found[name]
	return e, ok, err
}

func (m *memory) Entries(commit git.Hash, paths []string) (map[string]git.Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, ok := m.commits[commit]
	if !ok {
		return nil, fmt.Errorf("there is no commit %s", commit)
	}
	flat := m.trees[c.Tree]
	out := map[string]git.Entry{}
	for _, p := range paths {
		if blob, ok := flat[p]; ok {
			out[p] = git.Entry{Hash: blob, Mode: git.ModeFile}
		} else if below := under(flat, p); len(below) > 0 {
			out[p] = git.Entry{Hash: m.treeOf(below), Mode: git.ModeDir}
		}
	}
	return out, nil
}

func under(flat map[string]git.Hash, dir string) map[string]git.Hash {
	out := map[string]git.Hash{}
	for p, blob := range flat {
		if rest, ok := strings.CutPrefix(p, dir+"/"); ok {
			out[rest] = blob
		}
	}
	return out
}

// keep keeps a tree with all that is in it and returns its id.
func (m *memory) keep(flat map[string]git.Hash) git.Hash {
	dirs := map[string]bool{}
	for p := range flat {
		for dir := path.Dir(p); dir != "." && !dirs[dir]; dir = path.Dir(dir) {
			dirs[dir] = true
			m.treeOf(under(flat, dir))
		}
	}
	return m.treeOf(flat)
}

// treeOf keeps a tree and returns its id.
func (m *memory) treeOf(flat map[string]git.Hash) git.Hash {
	id := orEmptyTree(githash.Tree(flat))
	m.trees[id] = flat
	return id
}

func (m *memory) Log(from, stop git.Hash) iter.Seq2[git.CommitInfo, error] {
	return func(yield func(git.CommitInfo, error) bool) {
		hidden := m.reach(stop)
		queue, seen := []git.Hash{from}, map[git.Hash]bool{}
		for len(queue) > 0 {
			at := queue[0]
			queue = queue[1:]
			if at.IsZero() || seen[at] || hidden[at] {
				continue
			}
			seen[at] = true
			c, err := m.Commit(at)
			if !yield(c, err) || err != nil {
				return
			}
			queue = append(queue, c.Parents...)
		}
	}
}

func (m *memory) reach(from git.Hash) map[git.Hash]bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	seen := map[git.Hash]bool{}
	queue := []git.Hash{from}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		if !at.IsZero() && !seen[at] {
			seen[at] = true
			queue = append(queue, m.commits[at].Parents...)
		}
	}
	return seen
}

func (m *memory) IsAncestor(ancestor, of git.Hash) (bool, error) { return m.reach(of)[ancestor], nil }

func (m *memory) NewObjects(git.Hash, ...git.Hash) ([]git.Hash, error) { return nil, nil }

func (m *memory) WriteTree(files map[string][]byte) (git.Tree, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	flat := map[string]git.Hash{}
	var objects []git.Hash
	for _, p := range slices.Sorted(maps.Keys(files)) {
		blob := githash.Blob(files[p])
		m.blobs[blob] = bytes.Clone(files[p])
		flat[p], objects = blob, append(objects, blob)
	}
	tree := m.keep(flat)
	return git.Tree{Hash: tree, Objects: append(objects, tree)}, nil
}

func (m *memory) CommitTree(tree git.Hash, parents []git.Hash, meta git.CommitMeta) (git.Hash, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.commit(tree, parents, meta), nil
}

func (m *memory) commit(tree git.Hash, parents []git.Hash, meta git.CommitMeta) git.Hash {
	text := fmt.Sprintf("%s %v %s %s %s %d", tree, parents, meta.Author.Name, meta.Author.Email, meta.Message, meta.Author.When.UnixNano())
	id := githash.Blob([]byte("commit " + text))
	m.commits[id] = git.CommitInfo{Hash: id, Tree: tree, Parents: slices.Clone(parents), Author: meta.Author, Committer: meta.Author, Message: meta.Message}
	return id
}

func (m *memory) Graft(base git.Hash, edits []git.Edit, meta git.CommitMeta) (git.Grafted, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	had := m.trees[m.commits[base].Tree]
	flat := maps.Clone(had)
	if flat == nil {
		flat = map[string]git.Hash{}
	}
	for _, e := range edits {
		maps.DeleteFunc(flat, func(p string, _ git.Hash) bool { return p == e.Path || strings.HasPrefix(p, e.Path+"/") })
	}
	for _, e := range edits {
		switch {
		case e.Hash.IsZero():
		case e.Mode == git.ModeDir:
			tree, ok := m.trees[e.Hash]
			if !ok {
				return git.Grafted{}, fmt.Errorf("there is no tree %s", e.Hash)
			}
			for p, blob := range tree {
				flat[e.Path+"/"+p] = blob
			}
		default:
			flat[e.Path] = e.Hash
		}
	}
	tree := m.keep(flat)
	if maps.Equal(flat, had) && !meta.AllowEmpty {
		return git.Grafted{Commit: base, Tree: tree, Unchanged: true}, nil
	}
	var parents []git.Hash
	if !base.IsZero() {
		parents = append(parents, base)
	}
	commit := m.commit(tree, parents, meta)
	return git.Grafted{Commit: commit, Tree: tree, Objects: []git.Hash{tree, commit}}, nil
}

func (m *memory) Identify(git.Hash) (git.Identified, error) { return git.Identified{Own: true}, nil }

func (m *memory) Keys() git.Keys { return m.keys }

// MergeTrees merges unit by unit: a unit is a file, or a directory that is taken whole.
func (m *memory) MergeTrees(from, to, into git.Hash, whole func(string) bool) (git.TreeMerge, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var sides [3]map[string]git.Entry
	units := map[string]bool{}
	for i, commit := range []git.Hash{from, to, into} {
		sides[i] = m.unitsOf(m.trees[m.commits[commit].Tree], whole)
		for unit := range sides[i] {
			units[unit] = true
		}
	}
	var out git.TreeMerge
	for _, unit := range slices.Sorted(maps.Keys(units)) {
		before, after, have := sides[0][unit], sides[1][unit], sides[2][unit]
		switch {
		case before == after, have == after:
		case have == before:
			out.Edits = append(out.Edits, git.Edit{Path: unit, Hash: after.Hash, Mode: after.Mode})
		default:
			out.Conflicts = append(out.Conflicts, unit)
		}
	}
	return out, nil
}

// Changes reports a directory that only one of the commits has as one path, as *git.Mirror does.
func (m *memory) Changes(from, to git.Hash) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before, after := m.trees[m.commits[from].Tree], m.trees[m.commits[to].Tree]
	changed := map[string]bool{}
	for _, sides := range [][2]map[string]git.Hash{{before, after}, {after, before}} {
		for p, blob := range sides[0] {
			if sides[1][p] == blob {
				continue
			}
			highest := p
			for dir := path.Dir(p); dir != "." && len(under(sides[1], dir)) == 0; dir = path.Dir(dir) {
				highest = dir
			}
			changed[highest] = true
		}
	}
	return slices.Sorted(maps.Keys(changed)), nil
}

func (m *memory) unitsOf(flat map[string]git.Hash, whole func(string) bool) map[string]git.Entry {
	out := map[string]git.Entry{}
	for p, blob := range flat {
		unit := p
		for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
			if whole != nil && whole(dir) {
				unit = dir
			}
		}
		if unit == p {
			out[p] = git.Entry{Hash: blob, Mode: git.ModeFile}
		} else if _, done := out[unit]; !done {
			out[unit] = git.Entry{Hash: m.treeOf(under(flat, unit)), Mode: git.ModeDir}
		}
	}
	return out
}

func (m *memory) String() string { return "a repository in memory" }

// leaseRefused is the answer to a push when a branch is not where it should be.
type leaseRefused struct{ ref string }

func (e leaseRefused) Error() string { return "branch " + e.ref + " was moved by somebody else" }

func (leaseRefused) Reason() string { return "Raced" }

func (m *memory) Push(ctx context.Context, updates []git.Update) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, u := range updates {
		if m.refs[u.Ref] != u.Old {
			return leaseRefused{u.Ref}
		}
		if _, ok := m.commits[u.New]; !ok && !u.New.IsZero() {
			return fmt.Errorf("there is no commit %s", hex.EncodeToString(u.New[:]))
		}
		if m.forwardOnly && !u.Old.IsZero() && !u.New.IsZero() && !slices.Contains(m.commits[u.New].Parents, u.Old) {
			return &git.PushError{Refs: map[string]string{u.Ref: "non-fast-forward"}}
		}
	}
	for _, u := range updates {
		if u.New.IsZero() {
			delete(m.refs, u.Ref)
		} else {
			m.refs[u.Ref] = u.New
		}
	}
	if len(updates) > 0 {
		m.pushes++
	}
	return nil
}

// put commits files to a branch as a person; nil data removes a file.
func (m *memory) put(branch, message string, files map[string]string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	base := m.refs[branch]
	flat := maps.Clone(m.trees[m.commits[base].Tree])
	if flat == nil {
		flat = map[string]git.Hash{}
	}
	for p, text := range files {
		if text == "" {
			delete(flat, p)
			continue
		}
		blob := githash.Blob([]byte(text))
		m.blobs[blob] = []byte(text)
		flat[p] = blob
	}
	var parents []git.Hash
	if !base.IsZero() {
		parents = append(parents, base)
	}
	m.refs[branch] = m.commit(m.treeOf(flat), parents, git.CommitMeta{Author: git.Person{Name: "person", Email: "p@example.com", When: time.Unix(int64(len(m.commits)), 0)}, Message: message})
}

// mergeInto merges a branch into another one as a person; what both changed is the latter's.
func (m *memory) mergeInto(branch, from string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	ours, theirs := m.refs[branch], m.refs[from]
	flat := maps.Clone(m.trees[m.commits[theirs].Tree])
	maps.Copy(flat, m.trees[m.commits[ours].Tree])
	m.refs[branch] = m.commit(m.keep(flat), []git.Hash{ours, theirs}, git.CommitMeta{Author: git.Person{Name: "person", Email: "p@example.com", When: time.Unix(int64(len(m.commits)), 0)}, Message: "Merge " + from})
}

// files are those of a repository's main branch.
func (m *memory) files() map[string]string { return m.filesAt(m.refs["main"]) }

func (m *memory) filesAt(commit git.Hash) map[string]string {
	out := map[string]string{}
	for p, blob := range m.trees[m.commits[commit].Tree] {
		out[p] = string(m.blobs[blob])
	}
	return out
}

// treeOf is a file system of texts.
func treeOf(texts map[string]string) fstest.MapFS {
	tree := fstest.MapFS{}
	for name, text := range texts {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return tree
}
