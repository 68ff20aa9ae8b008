package manifest

import (
	_ "embed"
	"fmt"

	"sigs.k8s.io/yaml"
)

//go:embed served.yaml
var servedYAML []byte

// servedGroups are the groups of served.yaml.
var servedGroups = func() map[string]bool {
	var groups []string
	if err := yaml.UnmarshalStrict(servedYAML, &groups); err != nil {
		panic(fmt.Sprintf("served.yaml: %v", err))
	}
	table := make(map[string]bool, len(groups))
	for _, g := range groups {
		table[g] = true
	}
	return table
}()

// ServedByKubernetes reports whether every API server knows the kind by itself.
func ServedByKubernetes(kind GroupKind) bool { return servedGroups[kind.Group] }
