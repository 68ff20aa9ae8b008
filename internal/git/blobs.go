package git

import (
	"context"
	"fmt"
	"slices"

	"github.com/furrow-dev/furrow/internal/git/odb"
)

// mostWants bounds one request for blobs. Each is a line of the request.
const mostWants = 20_000

// Blob returns a blob's content, and fetches it if the mirror has been filled without blobs. One
// request for each file is slow: whoever reads many calls Prefetch first.
func (m *Mirror) Blob(ctx context.Context, hash Hash) ([]byte, error) {
	content, err := m.Objects.Blob(hash)
	if !odb.IsUnknown(err) || m.Has(hash) {
		return content, err
	}
	if err := m.fetchBlobs(ctx, []Hash{hash}); err != nil {
		return nil, err
	}
	return m.Objects.Blob(hash)
}

// BlobUpTo is Blob for one of up to limit bytes; IsTooLarge reports that it is larger. What has to be
// fetched goes to the disk, and only what is within the limit to memory.
func (m *Mirror) BlobUpTo(ctx context.Context, hash Hash, limit int64) ([]byte, error) {
	if !m.Has(hash) {
		if err := m.PrefetchBlobs(ctx, []Hash{hash}); err != nil {
			return nil, err
		}
	}
	return m.Objects.BlobUpTo(hash, limit)
}

// Prefetch fetches, in one request, all blobs below dirs that the mirror lacks, those of symbolic
// links too. No dirs means the whole tree; absent ones are skipped. If nothing is missing, the
// server is not contacted.
func (m *Mirror) Prefetch(ctx context.Context, commit Hash, dirs ...string) error {
	if len(dirs) == 0 {
		dirs = []string{"."}
	}
	lacking, err := m.Lacking(commit, dirs)
	if err != nil {
		return err
	}
	return m.fetchBlobs(ctx, lacking)
}

// PrefetchBlobs fetches, in one request, those of some blobs that the mirror lacks.
func (m *Mirror) PrefetchBlobs(ctx context.Context, blobs []Hash) error {
	lacking := slices.DeleteFunc(slices.Clone(blobs), m.Has)
	if len(lacking) == 0 {
		return nil
	}
	return m.fetchBlobs(ctx, lacking)
}

// fetchBlobs fetches blobs in batches that servers take in one request.
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

// fetchBatch fetches what is still missing once it has the lock: several goroutines, or processes,
// often want the same files at the same time.
func (m *Mirror) fetchBatch(ctx context.Context, blobs []Hash) error {
	if err := m.hold(ctx); err != nil {
		return err
	}
	unlock, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	m.Refresh()
	blobs = slices.DeleteFunc(slices.Clone(blobs), m.Has)
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
	return m.download(ctx, l, blobs, nil, odb.Blobs)
}
