package immutable

import (
	"maps"
	"slices"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// Kinds returns the kinds with something that does not change.
func Kinds() []manifest.GroupKind { return slices.Collect(maps.Keys(kinds)) }
