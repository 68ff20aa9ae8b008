package git

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
)

// mostWants bounds one request for blobs.
const mostWants = 20_000

// Blob gives a blob's content, and fetches it if the mirror has been filled without blobs.
func (m *Mirror) Blob(ctx context.Context, hash Hash) ([]byte, error) {
	typ, content, err := m.store.read(hash)
	if IsUnknown(err) {
		if err := m.fetchBlobs(ctx, []Hash{hash}); err != nil {
			return nil, err
		}
		typ, content, err = m.store.read(hash)
	}
	if err != nil {
		return nil, err
	}
	if typ != plumbing.BlobObject {
		return nil, &Error{op: "read", remote: hash.String(), kind: kindUnknown, text: "is a " + typ.String() + ", not a blob"}
	}
	return content, nil
}

// Prefetch fetches, in one request, all blobs below dirs that the mirror lacks, those of links too. No dirs means the whole tree; absent
// ones are skipped.
func (m *Mirror) Prefetch(ctx context.Context, commit Hash, dirs ...string) error {
	if len(dirs) == 0 {
		dirs = []string{"."}
	}
	found, err := m.Entries(commit, dirs)
	if err != nil {
		return err
	}
	m.store.refresh()
	lacking, walked := newObjectList(), map[Hash]bool{}
	for _, dir := range dirs {
		if err := m.collectLacking(found[dir], lacking, walked); err != nil {
			return err
		}
	}
	return m.fetchBlobs(ctx, lacking.list)
}

func (m *Mirror) collectLacking(e Entry, lacking *objectList, walked map[Hash]bool) error {
	if e.Mode != ModeDir {
		if (e.Mode.IsFile() || e.Mode == ModeSymlink) && !m.store.has(e.Hash) {
			lacking.add(e.Hash)
		}
		return nil
	}
	if walked[e.Hash] {
		return nil
	}
	walked[e.Hash] = true
	t, err := m.store.tree(e.Hash)
	if err != nil {
		return err
	}
	for _, entry := range t.entries {
		if err := m.collectLacking(entry.Entry, lacking, walked); err != nil {
			return err
		}
	}
	return nil
}

func (m *Mirror) fetchBlobs(ctx context.Context, blobs []Hash) error {
	ctx, cancel := withDeadline(ctx)
	defer cancel()
	for batch := range slices.Chunk(blobs, mostWants) {
		if err := m.fetchBatch(ctx, batch); err != nil {
			return m.remote.translate(ctx, fmt.Sprintf("fetch %d file(s) from", len(batch)), err)
		}
	}
	return nil
}

func (m *Mirror) fetchBatch(ctx context.Context, blobs []Hash) error {
	if err := m.hold(ctx); err != nil {
		return err
	}
	unlock, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	m.store.refresh()
	blobs = slices.DeleteFunc(slices.Clone(blobs), m.store.has)
	if len(blobs) == 0 {
		return nil
	}
	l, err := m.list(ctx)
	if err != nil {
		return err
	}
	defer hangUp(ctx, &l.turns, l.session)
	if !l.blobless() {
		return &Error{op: "read", remote: blobs[0].String(), kind: kindUnknown, text: "neither the mirror nor the server can give this file"}
	}
	if known := m.store.settled(); !known.Partial {
		known.Partial = true
		if err := m.store.settle(known); err != nil {
			return err
		}
	}
	return m.download(ctx, l, blobs, nil, false)
}
