package override

import (
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/schema"
)

// schemaOf returns how patches are merged into a kind of Kubernetes itself; nil for all other kinds.
func schemaOf(o manifest.Object) strategicpatch.LookupPatchMeta {
	typed := schema.Object(o.ID.Group, o.Version, o.ID.Kind)
	if typed == nil {
		return nil
	}
	meta, err := strategicpatch.NewPatchMetaFromStruct(typed)
	if err != nil {
		return nil
	}
	return meta
}
