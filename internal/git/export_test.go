package git

import (
	"time"

	"github.com/furrow-dev/furrow/internal/git/odb"
)

// CollectAt has a mirror collected when it has more than these; growth is in bytes.
func (m *Mirror) CollectAt(loose, packs int, growth int64) {
	m.db.Limits = odb.Limits{Loose: loose, Packs: packs, Growth: growth}
}

// OnFiles has the mirror write to files around its own.
func (m *Mirror) OnFiles(wrap func(odb.Files) odb.Files) { m.db.OnFiles(wrap) }

// CloseWithin has Close collect for no longer than this.
func (m *Mirror) CloseWithin(limit time.Duration) { m.closeLimit = limit }
