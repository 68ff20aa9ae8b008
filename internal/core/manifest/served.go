package manifest

import (
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/version"
	"sigs.k8s.io/yaml"

	"github.com/furrow-dev/furrow/api/v1alpha1"
)

//go:embed served.yaml
var servedYAML []byte

// Releases is a range of releases of Kubernetes by their minor versions, both ends included.
type Releases struct{ First, Last int }

// Release is the range of one release.
func Release(minor int) Releases { return Releases{minor, minor} }

// Overlaps reports whether a release is in both ranges.
func (r Releases) Overlaps(other Releases) bool {
	return r.First <= other.Last && other.First <= r.Last
}

// Includes reports whether all releases of another range are in this one.
func (r Releases) Includes(other Releases) bool {
	return r.First <= other.First && other.Last <= r.Last
}

// ServedKind is a kind that API servers of Kubernetes serve by themselves.
type ServedKind struct {
	// Plural is the name of its resource.
	Plural string
	Scope  Scope
	// Applied reports whether its objects can be applied, and are not only created or read.
	Applied bool
	// Versions has the releases that serve each version. A range that has no end in the table has
	// none here.
	Versions map[string]Releases
}

// Newest returns the version to write for a range of releases: of those that all of them serve, the
// most stable one, and then the newest; "" where there is none.
func (k ServedKind) Newest(in Releases) string {
	best := ""
	for version, releases := range k.Versions {
		if releases.Includes(in) && (best == "" || CompareVersions(version, best) > 0) {
			best = version
		}
	}
	return best
}

// servedTable is served.yaml.
type servedTable struct {
	supported Releases
	groups    map[string]map[string]ServedKind
}

// served returns the table, which is read when it is needed first.
var served = sync.OnceValue(func() servedTable {
	table, err := readServed(servedYAML)
	if err != nil {
		panic("served.yaml: " + err.Error())
	}
	return table
})

// readServed reads served.yaml.
func readServed(text []byte) (servedTable, error) {
	var rows struct {
		Supported string `json:"supported"`
		Groups    map[string]map[string]struct {
			Plural   string            `json:"plural"`
			Scope    Scope             `json:"scope"`
			Applied  *bool             `json:"applied"`
			Versions map[string]string `json:"versions"`
		} `json:"groups"`
	}
	if err := yaml.UnmarshalStrict(text, &rows); err != nil {
		return servedTable{}, err
	}
	table := servedTable{groups: make(map[string]map[string]ServedKind, len(rows.Groups))}
	var err error
	if table.supported, err = readReleases(rows.Supported); err != nil {
		return servedTable{}, err
	}
	for group, kinds := range rows.Groups {
		if group == CoreGroup {
			group = ""
		}
		table.groups[group] = make(map[string]ServedKind, len(kinds))
		for name, row := range kinds {
			kind := ServedKind{Plural: row.Plural, Scope: row.Scope, Applied: row.Applied == nil || *row.Applied, Versions: make(map[string]Releases, len(row.Versions))}
			for version, releases := range row.Versions {
				if kind.Versions[version], err = readReleases(releases); err != nil {
					return servedTable{}, fmt.Errorf("%s/%s %s: %w", group, version, name, err)
				}
			}
			table.groups[group][name] = kind
		}
	}
	return table, nil
}

// readReleases reads "1.26..1.31"; both ends may be missing.
func readReleases(text string) (Releases, error) {
	first, last, ok := strings.Cut(text, "..")
	r := Releases{0, math.MaxInt}
	if !ok {
		return r, fmt.Errorf("%q is not a range of releases", text)
	}
	for _, end := range []struct {
		text string
		into *int
	}{{first, &r.First}, {last, &r.Last}} {
		if end.text == "" {
			continue
		}
		var known bool
		if *end.into, known = ParseRelease(end.text); !known {
			return r, fmt.Errorf("%q is not a release", end.text)
		}
	}
	return r, nil
}

// ParseRelease returns the minor version of a release of Kubernetes 1, which may have a patch
// version and what distributions add: 31 of "v1.31.4+k3s1".
func ParseRelease(text string) (int, bool) {
	major, rest, _ := strings.Cut(strings.TrimPrefix(text, "v"), ".")
	end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(rest)
	}
	minor, err := strconv.Atoi(rest[:end])
	return minor, err == nil && major == "1" && (end == len(rest) || strings.IndexByte(".+-", rest[end]) >= 0)
}

// SupportedReleases are those that clusters may run, to the newest that is known.
func SupportedReleases() Releases { return served().supported }

// ServedByKubernetes reports whether every API server knows the group of the kind by itself.
func ServedByKubernetes(kind GroupKind) bool {
	_, ok := served().groups[kind.Group]
	return ok
}

// Served returns a kind of Kubernetes itself, also one that no release serves any longer.
func Served(kind GroupKind) (ServedKind, bool) {
	row, ok := served().groups[kind.Group][kind.Kind]
	return row, ok
}

// ServedElsewhere returns the groups other than its own in which a range of releases serves a kind
// of that name, in order.
func ServedElsewhere(kind GroupKind, in Releases) []string {
	var groups []string
	for group, kinds := range served().groups {
		if row, ok := kinds[kind.Kind]; ok && group != kind.Group && row.Newest(in) != "" {
			groups = append(groups, group)
		}
	}
	slices.Sort(groups)
	return groups
}

// UnknownKind returns the problem of objects of a kind that its group of Kubernetes does not have.
func UnknownKind(kind GroupKind) Problem {
	return Problem{Reason: v1alpha1.ReasonUnknownKind, Message: fmt.Sprintf("Kubernetes has no kind %s in API group %s", kind.Kind, cmp.Or(kind.Group, CoreGroup)), Next: nextForKind(kind)}
}

// nextForKind returns what to write instead of a kind that its API group does not have: a similar
// one of the group, the same one of another group, or the most similar one of all.
func nextForKind(kind GroupKind) string {
	group := slices.Sorted(maps.Keys(served().groups[kind.Group]))
	var here []string
	for _, known := range group {
		if strings.EqualFold(known, kind.Kind) || Distance(strings.ToLower(known), strings.ToLower(kind.Kind)) <= 2 {
			here = append(here, known)
		}
	}
	elsewhere := groupsWith(kind.Kind)
	near := Nearest(kind.Kind, group)[0]
	switch {
	case len(here) > 0:
		return "Write kind: " + Nearest(kind.Kind, here)[0] + "."
	case len(elsewhere) > 0:
		return "That kind is in API group " + strings.Join(elsewhere, " or ") + ": correct apiVersion."
	case kind.Group == "":
		return "Correct apiVersion or kind; the most similar kind is " + near + "."
	}
	return fmt.Sprintf("Correct apiVersion or kind (the most similar kind is %s), or set spec.provides.kubernetesVersion of the Cluster if it runs a newer Kubernetes than 1.%d.", near, SupportedReleases().Last)
}

// groupsWith returns the API groups of Kubernetes and of well-known projects that have a kind of a
// name now, whatever its case, in order.
func groupsWith(name string) []string {
	var groups []string
	for group, kinds := range served().groups {
		for known, row := range kinds {
			if strings.EqualFold(known, name) && row.Newest(Release(SupportedReleases().Last)) != "" {
				groups = append(groups, cmp.Or(group, CoreGroup))
			}
		}
	}
	for kind := range builtinScopes() {
		if strings.EqualFold(kind.Kind, name) {
			groups = append(groups, kind.Group)
		}
	}
	slices.Sort(groups)
	return groups
}

// ServedGroups returns the groups of Kubernetes itself, in order.
func ServedGroups() []string { return slices.Sorted(maps.Keys(served().groups)) }

// ServedIn returns the names of the kinds of a group, in order.
func ServedIn(group string) []string { return slices.Sorted(maps.Keys(served().groups[group])) }

// Prerelease returns "alpha" or "beta" of such a version, else "".
func Prerelease(version string) string {
	for _, stage := range []string{"alpha", "beta"} {
		if strings.Contains(version, stage) {
			return stage
		}
	}
	return ""
}

// CompareVersions orders versions of an API as Kubernetes does: v2 after v1 after v1beta1 after v1alpha2.
func CompareVersions(a, b string) int { return version.CompareKubeAwareVersionStrings(a, b) }
