// Package installs knows what objects install on a cluster besides themselves: charts, packages and
// providers, with the APIs that they bring. It is a table, provides.yaml, and the annotation by which
// people add to it.
package installs

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

//go:embed provides.yaml
var providesYAML []byte

// installer is a kind of object that installs something, as in provides.yaml.
type installer struct {
	Group      string   `json:"group"`
	Kind       string   `json:"kind"`
	NameFields []string `json:"nameFields"`
	Table      string   `json:"table"`
	apis       map[string][]API
}

// installers returns those of provides.yaml, which is read when it is needed first.
var installers = sync.OnceValue(func() map[manifest.GroupKind]installer {
	table, err := readInstallers(providesYAML)
	if err != nil {
		panic("provides.yaml: " + err.Error())
	}
	return table
})

func readInstallers(text []byte) (map[manifest.GroupKind]installer, error) {
	var doc struct {
		Installers []installer                    `json:"installers"`
		Tables     map[string]map[string][]string `json:"tables"`
	}
	if err := yaml.UnmarshalStrict(text, &doc); err != nil {
		return nil, err
	}
	table := make(map[manifest.GroupKind]installer, len(doc.Installers))
	for _, i := range doc.Installers {
		rows, ok := doc.Tables[i.Table]
		if i.Table != "" && !ok {
			return nil, fmt.Errorf("%s: there is no table %s", i.Kind, i.Table)
		}
		i.apis = make(map[string][]API, len(rows))
		for name, texts := range rows {
			for _, text := range texts {
				a, ok := ParseAPI(text)
				if !ok {
					return nil, fmt.Errorf("%s: %q is not an API", name, text)
				}
				i.apis[name] = append(i.apis[name], a)
			}
		}
		table[manifest.GroupKind{Group: i.Group, Kind: i.Kind}] = i
	}
	return table, nil
}

// named returns what a name installs: that of its row, else of the row with the longest beginning of
// it; none where there is no row.
func (i installer) named(name string) []API {
	if found, ok := i.apis[name]; ok {
		return found
	}
	best := ""
	for row := range i.apis {
		if prefix, pattern := strings.CutSuffix(row, "*"); pattern && strings.HasPrefix(name, prefix) && len(row) > len(best) {
			best = row
		}
	}
	return i.apis[best]
}

// API is kinds that API servers serve: all of a group, or of all groups below it, or those of a
// group by their name or its beginning.
type API struct {
	group       string
	below       bool
	kind        string // empty for all
	beginning   bool   // whether kind is that of a name
	description string
}

// ParseAPI reads "cert-manager.io", "*.upbound.io", "Issuer.cert-manager.io", and
// "AWS*.infrastructure.cluster.x-k8s.io".
func ParseAPI(text string) (API, bool) {
	a := API{description: text}
	if group, below := strings.CutPrefix(text, "*."); below {
		a.group, a.below = group, true
	} else if text != "" && text[0] >= 'A' && text[0] <= 'Z' {
		a.kind, a.group, _ = strings.Cut(text, ".")
		a.kind, a.beginning = strings.CutSuffix(a.kind, "*")
		if a.kind == "" || !manifest.IsAPIVersion(strings.ToLower(a.kind)) {
			return API{}, false
		}
	} else {
		a.group = text
	}
	return a, strings.Contains(a.group, ".") && manifest.IsAPIVersion(a.group+"/v1")
}

// Has reports whether a kind is among them.
func (a API) Has(kind manifest.GroupKind) bool {
	switch {
	case a.below:
		return strings.HasSuffix(kind.Group, "."+a.group)
	case kind.Group != a.group:
		return false
	case a.beginning:
		return strings.HasPrefix(kind.Kind, a.kind)
	}
	return a.kind == "" || a.kind == kind.Kind
}

// IsInstaller reports whether objects of a kind install something.
func IsInstaller(kind manifest.GroupKind) bool {
	_, ok := installers()[kind]
	return ok
}

// IsKnown reports whether the tables have what installs a kind.
func IsKnown(kind manifest.GroupKind) bool {
	for _, i := range installers() {
		for _, apis := range i.apis {
			if slices.ContainsFunc(apis, func(a API) bool { return a.Has(kind) }) {
				return true
			}
		}
	}
	return false
}

// Package is what an object installs.
type Package struct {
	// Name is how the tables call it; empty where an annotation lists its APIs.
	Name string
	APIs []API
}

// Annotated returns the APIs that the annotation of an object lists; wrong is a part of it that is not
// an API.
func Annotated(o *manifest.Object) (apis []API, wrong string) {
	for item := range strings.SplitSeq(o.Annotation(v1alpha1.AnnotationProvides), ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		a, ok := ParseAPI(item)
		if !ok {
			return nil, item
		}
		apis = append(apis, a)
	}
	return apis, ""
}

// Packages returns what the tables say of an object. source returns an object that it names as its
// source, nil where there is none.
func Packages(o *manifest.Object, source func(manifest.ID) *manifest.Object) []Package {
	i, ok := installers()[o.ID.GroupKind()]
	if !ok {
		return nil
	}
	var all []Package
	for _, name := range i.names(o, source) {
		all = append(all, Package{name, i.named(name)})
	}
	return all
}

// names returns what an object installs, by the names in the tables.
func (i installer) names(o *manifest.Object, source func(manifest.ID) *manifest.Object) []string {
	if i.Table != "" && len(i.NameFields) == 0 {
		return []string{o.ID.Name}
	}
	var out []string
	for _, field := range i.NameFields {
		for _, text := range o.Texts(strings.Split(field, ".")...) {
			out = append(out, plainName(text))
		}
	}
	if ref := o.Map("spec", "chartRef"); ref != nil {
		text := func(key string) string { s, _ := ref[key].(string); return s }
		id := manifest.ID{Group: "source.toolkit.fluxcd.io", Kind: text("kind"), Namespace: cmp.Or(text("namespace"), o.ID.Namespace), Name: text("name")}
		if from := source(id); from != nil {
			for _, field := range []string{"url", "chart"} {
				if text := from.Text("spec", field); text != "" {
					out = append(out, plainName(text))
				}
			}
		}
	}
	return out
}

// plainName returns the last element of a path or URL, without a tag or digest.
func plainName(text string) string {
	text, _, _ = strings.Cut(strings.TrimRight(text, "/"), "@")
	text = text[strings.LastIndexByte(text, '/')+1:]
	text, _, _ = strings.Cut(text, ":")
	return strings.TrimSuffix(text, ".tgz")
}

// Of returns the API of one kind.
func Of(kind manifest.GroupKind) API {
	return API{group: kind.Group, kind: kind.Kind, description: kind.String()}
}

// Kind returns the group, or that below which all groups are, and the kind, empty where it is all of them.
func (a API) Kind() manifest.GroupKind { return manifest.GroupKind{Group: a.group, Kind: a.kind} }

// String returns the API as people write it.
func (a API) String() string { return a.description }
