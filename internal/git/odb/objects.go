package odb

import (
	"bytes"
	"fmt"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

// Objects reads objects by their hashes, and builds new ones. It is safe for several goroutines.
type Objects struct {
	store *store
	// batch holds what is not written yet; nil where each object is written at once.
	batch *pending
	// sign returns a commit with its signature; nil to leave commits unsigned.
	sign Sign
}

// Sign returns a commit, which was made at a time, with its signature.
type Sign func(commit []byte, when time.Time) ([]byte, error)

// SignWith has all commits signed that are built from now on. It must not be called while anything is
// built.
func (o *Objects) SignWith(sign Sign) { o.sign = sign }

// pending are the objects of a batch that are not on disk yet, in the order in which they were
// built. That order matters: a graft builds the trees of a commit on those of the one before, so a
// tree comes after the one that its delta is based on.
type pending struct {
	mu     sync.Mutex
	order  []Hash
	byHash map[Hash]encoded
}

// encoded is an object as Git stores it.
type encoded struct {
	typ     plumbing.ObjectType
	content []byte
}

func (p *pending) find(hash Hash) (encoded, bool) {
	if p == nil {
		return encoded{}, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	object, ok := p.byHash[hash]
	return object, ok
}

func (p *pending) add(hash Hash, object encoded) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.byHash[hash]; !known {
		p.order = append(p.order, hash)
		p.byHash[hash] = object
	}
}

// Has reports whether the object is here. Packs that another process has added are known after
// Refresh.
func (o *Objects) Has(hash Hash) bool {
	_, ok := o.batch.find(hash)
	return ok || o.store.has(hash)
}

// Refresh takes up the packs of other processes, and reports whether there were any.
func (o *Objects) Refresh() bool { return o.store.refresh() }

func (o *Objects) read(hash Hash) (plumbing.ObjectType, []byte, error) {
	if object, ok := o.batch.find(hash); ok {
		return object.typ, object.content, nil
	}
	return o.store.read(hash)
}

// The largest commit and tree that are read, far above what people and Furrow write: whoever may push can
// make one that is as large as memory.
const maxCommit, maxTree = 4 << 20, 32 << 20

// checkSize refuses an object of more than limit bytes without reading it. The caller that reads it then
// reports why a size is not known.
func (o *Objects) checkSize(hash Hash, limit int64, what string) error {
	if size, err := o.size(hash); err == nil && size > limit {
		return &Error{op: "read", object: hash.String(), kind: kindTooLarge, text: fmt.Sprintf("it has %d bytes, and Furrow reads at most %d of such a %s", size, limit, what)}
	}
	return nil
}

func (o *Objects) size(hash Hash) (int64, error) {
	if object, ok := o.batch.find(hash); ok {
		return int64(len(object.content)), nil
	}
	return o.store.size(hash)
}

// put adds an object, unless it is here, and returns its hash.
func (o *Objects) put(typ plumbing.ObjectType, content []byte) (Hash, error) {
	hash := hashOf(typ, content)
	switch {
	case o.batch == nil:
		return hash, o.store.put(hash, typ, content)
	case !o.store.kept(hash):
		o.batch.add(hash, encoded{typ, bytes.Clone(content)}) // the caller may change it
	}
	return hash, nil
}
