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
// these; Except are those that belong to the clusters that are managed.
type managementRow struct {
	Group  string   `json:"group"`
	Kinds  []string `json:"kinds,omitempty"`
	Except []string `json:"except,omitempty"`
	Why    string   `json:"why"`
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

// inGroup reports whether the row is about an API group.
func (r managementRow) inGroup(group string) bool {
	suffix, wild := strings.CutPrefix(r.Group, "*.")
	return group == suffix || wild && strings.HasSuffix(group, "."+suffix)
}

func (r managementRow) holds(gk manifest.GroupKind) bool {
	return r.inGroup(gk.Group) && (len(r.Kinds) == 0 || slices.Contains(r.Kinds, gk.Kind)) && !slices.Contains(r.Except, gk.Kind)
}

// resource returns the first resource of a group that the row holds, as clusters.cluster.x-k8s.io;
// empty where it holds none. Rules of webhooks and roles name resources, not kinds, so these are
// compared with the plurals of the row's kinds.
func (r managementRow) resource(group string, resources []string) string {
	if !r.inGroup(group) {
		return ""
	}
	for _, resource := range resources {
		resource, _, _ = strings.Cut(resource, "/")
		if resource == "*" {
			return group
		}
		named := func(kind string) bool { return plural(kind) == resource }
		if (len(r.Kinds) == 0 || slices.ContainsFunc(r.Kinds, named)) && !slices.ContainsFunc(r.Except, named) {
			return resource + "." + group
		}
	}
	return ""
}

// plural returns the usual name of the resource of a kind.
func plural(kind string) string {
	name := strings.ToLower(kind)
	switch {
	case strings.HasSuffix(name, "s"), strings.HasSuffix(name, "x"), strings.HasSuffix(name, "ch"):
		return name + "es"
	case strings.HasSuffix(name, "y") && !strings.HasSuffix(name, "ay") && !strings.HasSuffix(name, "ey"):
		return strings.TrimSuffix(name, "y") + "ies"
	}
	return name + "s"
}

// managementKind returns the row of a kind whose objects belong on a management cluster.
func managementKind(gk manifest.GroupKind) (managementRow, bool) {
	i := slices.IndexFunc(managementRows, func(r managementRow) bool { return r.holds(gk) })
	if i < 0 {
		return managementRow{}, false
	}
	return managementRows[i], true
}

func isManagementKind(gk manifest.GroupKind) bool {
	_, ok := managementKind(gk)
	return ok
}

// managedKind returns the row that says of a kind that its objects belong on managed clusters.
func managedKind(gk manifest.GroupKind) (managementRow, bool) {
	i := slices.IndexFunc(managementRows, func(r managementRow) bool { return r.inGroup(gk.Group) && slices.Contains(r.Except, gk.Kind) })
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
		return decision{clusters: []string{name}, why: fmt.Sprintf("%s belongs to management clusters (%s)", o.ID.GroupKind(), row.Why)}, err
	},
}
