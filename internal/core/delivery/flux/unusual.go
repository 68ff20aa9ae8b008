package flux

import (
	"cmp"
	"encoding/json"
	"path"
	"slices"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"

	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/template"
	"github.com/furrow-dev/furrow/internal/core/truncate"
)

// usual are the fields of a reconciler object's spec that the built-in template sets. Those with a
// value have that one.
var usual = map[string]any{
	"interval": nil, "retryInterval": nil, "timeout": nil, "path": nil, "prune": true, "wait": nil, fieldDeletionPolicy: kustomizev1.DeletionPolicyWaitForTermination,
	"sourceRef": nil, "dependsOn": nil, "kubeConfig": nil, "healthChecks": nil, "healthCheckExprs": nil, "decryption": nil,
}

const (
	// maxUnusual is how many fields are named, maxUnusualValue how long a value is.
	maxUnusual, maxUnusualValue = 8, 80
)

// Unusual returns the fields of the reconciler object in a file that the built-in template would not
// set, or would set to something else, such as another account; dir is the directory that it applies.
// People have to read these: they change what applies an object, and with which rights.
func (Kind) Unusual(file, dir string, data []byte) []template.Field {
	objects, err := manifest.Parse(file, data)
	if err != nil || len(objects) != 1 {
		return []template.Field{{Path: "spec", Is: "cannot be read"}}
	}
	spec := objects[0].Map("spec")
	var out []template.Field
	for name, want := range usual {
		if _, there := spec[name]; want != nil && !there {
			out = append(out, template.Field{Path: name, Is: "left out"})
		}
	}
	for name := range spec {
		want, known := usual[name]
		at, _ := spec[name].(string)
		if known && (want == nil || want == spec[name]) && (name != "path" || path.Clean(at) == dir) {
			continue
		}
		value, _ := json.Marshal(spec[name]) //nolint:errchkjson // it was YAML
		out = append(out, template.Field{Path: name, Is: truncate.Line(string(value), maxUnusualValue)})
	}
	slices.SortFunc(out, func(a, b template.Field) int { return cmp.Compare(a.Path, b.Path) })
	return out[:min(len(out), maxUnusual)]
}
