package git

import "github.com/furrow-dev/furrow/internal/git/odb"

// CollectAt has a mirror collected when it has more than these; growth is in bytes.
func (m *Mirror) CollectAt(loose, packs int, growth int64) {
	m.db.Limits = odb.Limits{Loose: loose, Packs: packs, Growth: growth}
}

// OnFiles has the mirror write to files around its own.
func (m *Mirror) OnFiles(wrap func(odb.Files) odb.Files) { m.db.OnFiles(wrap) }
