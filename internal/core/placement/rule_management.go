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
// these; Except are those that belong to the clusters that are managed. Family are the groups whose
// objects go with those of the row, and For those whose objects the row's go with. Onto is the kind of
// what makes a control plane for the row, and Namespaces those of its operators.
type managementRow struct {
	Group  string   `json:"group"`
	Kinds  []string `json:"kinds,omitempty"`
	Except []string `json:"except,omitempty"`
	Family string   `json:"family,omitempty"`
	For    []string `json:"for,omitempty"`
	Onto   string   `json:"onto,omitempty"`

	Namespaces []string `json:"namespaces,omitempty"`

	Why string `json:"why"`
}

//go:embed management.yaml
var managementYAML []byte

var managementRows = mustRows[managementRow]("management.yaml", managementYAML)

// managementDomains are the rows by their group without *., because every object is asked about.
var managementDomains = func() map[string][]int {
	rows := map[string][]int{}
	for i, r := range managementRows {
		domain := strings.TrimPrefix(r.Group, "*.")
		rows[domain] = append(rows[domain], i)
	}
	return rows
}()

func mustRows[T any](name string, data []byte) []T {
	var rows []T
	if err := yaml.UnmarshalStrict(data, &rows); err != nil {
		panic(fmt.Sprintf("%s: %v", name, err))
	}
	return rows
}

// inGroup reports whether the row is about an API group.
func (r managementRow) inGroup(group string) bool { return matchesGroup(r.Group, group) }

// matchesGroup reports whether a group is a pattern, or below it where that is *.domain.
func matchesGroup(pattern, group string) bool {
	suffix, wild := strings.CutPrefix(pattern, "*.")
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
	first := -1
	for domain, more := gk.Group, true; more; _, domain, more = strings.Cut(domain, ".") {
		for _, i := range managementDomains[domain] {
			if (first < 0 || i < first) && managementRows[i].holds(gk) {
				first = i
			}
		}
	}
	if first < 0 {
		return managementRow{}, false
	}
	return managementRows[first], true
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
	Doc:  "An object of an API that belongs to management clusters goes to the seed's management cluster, or onto the control plane that the seed makes for it.",
	match: func(s *placer, n *node) (decision, error) {
		o, row := n.object, n.kind.management
		if row == nil {
			return decision{}, nil
		}
		if len(row.For) > 0 {
			if users := s.crossplane().users; len(users) > 0 {
				return decision{follows: users, format: "it is of the Crossplane that serves %s"}, nil
			}
		}
		if made := s.madeBy(row.Onto); len(made) > 0 {
			return decision{clusters: made, why: fmt.Sprintf("%s is for the control plane that a %s makes", o.ID.GroupKind(), row.Onto)}, nil
		}
		name, err := s.management(o)
		return decision{clusters: []string{name}, why: fmt.Sprintf("%s belongs to management clusters (%s)", o.ID.GroupKind(), row.Why)}, err
	},
}

// madeBy returns the clusters that objects of a kind make: those of the seed, else the only one of the
// fleet.
func (s *placer) madeBy(kind string) []string {
	if kind == "" {
		return nil
	}
	var own, others []string
	for _, name := range s.inventory.Names() {
		switch made := s.inventory.Clusters[name].CreatedBy; {
		case made == nil || made.Object.GroupKind().String() != kind:
		case made.Seed == s.seed.Name:
			own = append(own, name)
		default:
			others = append(others, name)
		}
	}
	if len(own) == 0 && len(others) == 1 {
		return others
	}
	return own
}
