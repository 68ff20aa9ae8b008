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
// objects go with those of the row that name them, and For those whose objects the row's go with.
type managementRow struct {
	Group  string   `json:"group"`
	Kinds  []string `json:"kinds,omitempty"`
	Except []string `json:"except,omitempty"`
	Family string   `json:"family,omitempty"`
	For    []string `json:"for,omitempty"`
	Why    string   `json:"why"`
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
	Doc:  "An object of an API that belongs to management clusters goes to the seed's management cluster.",
	match: func(s *placer, n *node) (decision, error) {
		o, row := n.object, n.kind.management
		if row == nil {
			return decision{}, nil
		}
		if served := s.servedBy(row, o); len(served) > 0 {
			return decision{follows: served, format: "it is for %s"}, nil
		}
		name, err := s.management(o)
		return decision{clusters: []string{name}, why: fmt.Sprintf("%s belongs to management clusters (%s)", o.ID.GroupKind(), row.Why)}, err
	},
}

// servedBy returns the resources that an object makes work, as the row of its kind says: those of a
// kind that it defines or composes, and of the groups that its kind is for.
func (s *placer) servedBy(row *managementRow, o *manifest.Object) []*node {
	if len(row.For) == 0 {
		return nil
	}
	var served []*node
	for _, kind := range composed(o) {
		served = append(served, s.resourcesOf(kind)...)
	}
	if o.ID.Group != crossplaneGroup {
		for _, n := range s.all {
			if slices.ContainsFunc(row.For, func(pattern string) bool { return matchesGroup(pattern, n.object.ID.Group) }) {
				served = append(served, n)
			}
		}
	}
	return served
}

// crossplaneGroup has the kinds that define and compose others.
const crossplaneGroup = "apiextensions.crossplane.io"

// composed returns the kinds that an object of Crossplane defines or composes.
func composed(o *manifest.Object) []manifest.GroupKind {
	if o.ID.Group != crossplaneGroup {
		return nil
	}
	group, _, _ := strings.Cut(o.Text("spec", "compositeTypeRef", "apiVersion"), "/")
	kinds := []manifest.GroupKind{
		{Group: o.Text("spec", "group"), Kind: o.Text("spec", "names", "kind")},
		{Group: o.Text("spec", "group"), Kind: o.Text("spec", "claimNames", "kind")},
		{Group: group, Kind: o.Text("spec", "compositeTypeRef", "kind")},
	}
	return slices.DeleteFunc(kinds, func(kind manifest.GroupKind) bool { return kind.Group == "" || kind.Kind == "" })
}
