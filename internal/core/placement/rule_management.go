package placement

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// managementRow is one row of management.yaml: an API group, or all groups below a domain as
// *.domain, whose objects belong on management clusters. Kinds, where there are any, narrow it to
// these.
type managementRow struct {
	Group string   `json:"group"`
	Kinds []string `json:"kinds,omitempty"`
	Why   string   `json:"why"`
}

//go:embed management.yaml
var managementYAML []byte

var managementRows = mustRows[managementRow]("management.yaml", managementYAML)

func mustRows[T any](name string, data []byte) []T {
	var rows []T
	if err := yaml.UnmarshalStrict(data, &rows); err != nil {
		panic(fmt.Sprintf("%s: %v", name, err))
	}
	return rows
}

func (r managementRow) holds(gk manifest.GroupKind) bool {
	suffix, wild := strings.CutPrefix(r.Group, "*.")
	in := gk.Group == suffix || wild && strings.HasSuffix(gk.Group, "."+suffix)
	return in && (len(r.Kinds) == 0 || slices.Contains(r.Kinds, gk.Kind))
}

// managementKind returns the row of a kind whose objects belong on a management cluster.
func managementKind(gk manifest.GroupKind) (managementRow, bool) {
	i := slices.IndexFunc(managementRows, func(r managementRow) bool { return r.holds(gk) })
	if i < 0 {
		return managementRow{}, false
	}
	return managementRows[i], true
}

var managementAPI = Rule{
	Name: "management-api",
	Doc:  "An object of an API that belongs to management clusters goes to the seed's management cluster.",
	match: func(s *placer, o *manifest.Object) (decision, error) {
		row, ok := managementKind(o.ID.GroupKind())
		if !ok {
			return decision{}, nil
		}
		name, err := s.management(o)
		return decision{[]string{name}, fmt.Sprintf("%s belongs to management clusters (%s)", o.ID.GroupKind(), row.Why)}, err
	},
}
