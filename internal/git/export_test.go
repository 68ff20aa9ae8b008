package git

import (
	"github.com/go-git/go-billy/v5"
)

// CollectAt has a mirror collected when it has more than these; growth is in bytes.
func (m *Mirror) CollectAt(loose, packs int, growth int64) { m.limits = limits{loose, packs, growth} }

// OnFiles has the mirror's collections work on a file system around its own.
func (m *Mirror) OnFiles(wrap func(billy.Filesystem) billy.Filesystem) {
	m.store.files = wrap(m.store.files)
	m.store.objects = newObjects(m.store.files)
}

// Has says that the mirror has the object.
func (m *Mirror) Has(hash Hash) bool {
	return m.store.has(hash) || (m.store.refresh() && m.store.has(hash))
}
