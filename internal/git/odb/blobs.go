package odb

import (
	"github.com/go-git/go-git/v5/plumbing"
)

// Blob returns a blob's content.
func (o *Objects) Blob(hash Hash) ([]byte, error) {
	typ, content, err := o.read(hash)
	if err != nil {
		return nil, err
	}
	if typ != plumbing.BlobObject {
		return nil, unknown(hash, "is a "+typ.String()+", not a blob")
	}
	return content, nil
}

// Lacking lists the blobs below dirs of a commit that are not here, each once, those of symbolic
// links too. Absent directories are skipped. A copy has all trees, but of the blobs only those that
// were read; the result is what to fetch, in one request, before the directories are read.
func (o *Objects) Lacking(commit Hash, dirs []string) ([]Hash, error) {
	found, err := o.Entries(commit, dirs)
	if err != nil {
		return nil, err
	}
	o.Refresh()
	lacking, walked := newObjectList(), map[Hash]bool{}
	for _, dir := range dirs {
		if err := o.collectLacking(found[dir], lacking, walked); err != nil {
			return nil, err
		}
	}
	return lacking.list, nil
}

// collectLacking walks each tree once, however many directories have it.
func (o *Objects) collectLacking(e Entry, lacking *objectList, walked map[Hash]bool) error {
	if e.Mode != ModeDir {
		if (e.Mode.IsFile() || e.Mode == ModeSymlink) && !o.Has(e.Hash) {
			lacking.add(e.Hash)
		}
		return nil
	}
	if walked[e.Hash] {
		return nil
	}
	walked[e.Hash] = true
	t, err := o.tree(e.Hash)
	if err != nil {
		return err
	}
	for _, entry := range t.entries {
		if err := o.collectLacking(entry.Entry, lacking, walked); err != nil {
			return err
		}
	}
	return nil
}

// BlobUpTo returns a blob's content unless it has more than limit bytes; IsTooLarge reports that.
func (o *Objects) BlobUpTo(hash Hash, limit int64) ([]byte, error) {
	if err := o.checkSize(hash, limit, "file"); err != nil {
		return nil, err
	}
	return o.Blob(hash)
}
