package catalog

import (
	_ "embed"
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// CreatorKind is a kind whose objects create a cluster.
type CreatorKind struct {
	Group string `json:"group"`
	Kind  string `json:"kind"`
	// Version is the served version that health checks name.
	Version string `json:"version"`
	// Current is the CEL expression that is true once the cluster is expected
	// to be there; empty where the created API server alone is asked.
	Current string `json:"current,omitempty"`
}

//go:embed creators.yaml
var creatorsYAML []byte

// creators is the table of creators.yaml. Nobody changes it.
var creators = mustCreators(creatorsYAML)

func mustCreators(data []byte) map[manifest.GroupKind]CreatorKind {
	var rows []CreatorKind
	if err := yaml.UnmarshalStrict(data, &rows); err != nil {
		panic(fmt.Sprintf("creators.yaml: %v", err))
	}
	table := make(map[manifest.GroupKind]CreatorKind, len(rows))
	for _, row := range rows {
		table[manifest.GroupKind{Group: row.Group, Kind: row.Kind}] = row
	}
	return table
}

// Creator returns the kind's entry in the list of kinds that create clusters.
func Creator(gk manifest.GroupKind) (CreatorKind, bool) {
	row, ok := creators[gk]
	return row, ok
}

// IsCreator reports whether objects of the kind create clusters.
func IsCreator(gk manifest.GroupKind) bool {
	_, ok := creators[gk]
	return ok
}
