// Package makes knows what objects make on their cluster beside themselves, as an operator makes a Secret
// for a database. It is a table, makes.yaml, and annotations by which controllers copy objects.
package makes

import (
	_ "embed"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"

	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/placement"
)

//go:embed makes.yaml
var makesYAML []byte

// Kinds of things beside those of objects.
const (
	// Resource is an extended resource of nodes.
	Resource = placement.Resource
	// Scheduler is the scheduler of that name.
	Scheduler = placement.Scheduler
	// Address is what gives Services of type LoadBalancer their address.
	Address = "Address"
	// Network is the pod network of a cluster.
	Network = "Network"
	// Cloud is what sets the cloud provider of nodes.
	Cloud = "Cloud"
)

// inNamespaces are the kinds of things that are in a namespace.
var inNamespaces = map[string]bool{"Secret": true, "ConfigMap": true, "NetworkAttachmentDefinition": true}

// Thing is what an object makes. Where Like, its name and namespace are patterns in which "*" is any text.
type Thing struct {
	Kind, Namespace, Name string
	Like                  bool
	// Fills reports whether it is made also where there is such an object already.
	Fills bool
	// Guessed reports whether any kind may make such a thing.
	Guessed bool
}

// Is reports whether a thing has a name.
func (t Thing) Is(namespace, name string) bool {
	return matches(t.Namespace, namespace) && matches(t.Name, name)
}

func matches(pattern, text string) bool {
	if pattern == "*" || pattern == text {
		return true
	}
	if !strings.Contains(pattern, "*") {
		return false
	}
	// Names of resources have slashes, which path.Match would treat as borders.
	ok, err := path.Match(strings.ReplaceAll(pattern, "/", "|"), strings.ReplaceAll(text, "/", "|"))
	return ok && err == nil
}

// row is one row of makes.yaml.
type row struct {
	Group string   `json:"group"`
	Kind  string   `json:"kind"`
	Chart string   `json:"chart"`
	Makes string   `json:"makes"`
	Names []string `json:"names"`
	In    []string `json:"in"`
	Fills bool     `json:"fills"`
	// names and in are those patterns, in parts.
	names, in []pattern
}

// rows are what the table says of a kind or a chart.
type rows []row

// table has the rows by what they are about.
type table struct {
	byKind  map[manifest.GroupKind]rows // the kind may be "*"
	below   map[string]rows             // groups below one
	byChart map[string]rows
	any     rows
}

// read returns makes.yaml, which is read when it is needed first.
var read = sync.OnceValue(func() *table {
	t, err := parse(makesYAML)
	if err != nil {
		panic("makes.yaml: " + err.Error())
	}
	return t
})

func parse(text []byte) (*table, error) {
	var list rows
	if err := yaml.UnmarshalStrict(text, &list); err != nil {
		return nil, err
	}
	t := &table{byKind: map[manifest.GroupKind]rows{}, below: map[string]rows{}, byChart: map[string]rows{}}
	for _, r := range list {
		if r.Makes == "" || len(r.Names) == 0 || (r.Kind == "") == (r.Chart == "") {
			return nil, fmt.Errorf("a row needs a kind or a chart, what it makes, and names: %+v", r)
		}
		r.names, r.in = patternsOf(r.Names), patternsOf(r.In)
		below, isBelow := strings.CutPrefix(r.Group, "*.")
		switch {
		case r.Chart != "":
			t.byChart[r.Chart] = append(t.byChart[r.Chart], r)
		case isBelow:
			t.below[below] = append(t.below[below], r)
		case r.Group == "":
			t.any = append(t.any, r)
		default:
			kind := manifest.GroupKind{Group: r.Group, Kind: r.Kind}
			t.byKind[kind] = append(t.byKind[kind], r)
		}
	}
	return t, nil
}

// rowsOf returns what the table says of a custom kind.
func rowsOf(kind manifest.GroupKind) rows {
	t := read()
	found := slices.Clip(t.any) // most kinds have no rows of their own
	found = append(append(found, t.byKind[kind]...), t.byKind[manifest.GroupKind{Group: kind.Group, Kind: "*"}]...)
	for parent := kind.Group; parent != ""; {
		_, parent, _ = strings.Cut(parent, ".")
		for _, r := range t.below[parent] {
			if r.Kind == "*" || r.Kind == kind.Kind {
				found = append(found, r)
			}
		}
	}
	return found
}

// fieldsOfSpec returns the fields of a spec without which rows find no names, and whether they find some elsewhere.
func (list rows) fieldsOfSpec() (fields []string, elsewhere bool) {
	for i := range list {
		for _, p := range list[i].names {
			if len(p.paths) == 0 || len(p.paths[0]) < 2 || p.paths[0][0] != "spec" || p.paths[0][1] == "*" {
				return nil, true
			}
			if field := p.paths[0][1]; !slices.Contains(fields, field) {
				fields = append(fields, field)
			}
		}
	}
	return fields, false
}

// IsKnown reports whether the table has rows for a kind of its own.
func IsKnown(kind manifest.GroupKind) bool { return len(rowsOf(kind)) > len(read().any) }

// of returns what an object makes by some rows.
func (list rows) of(o *manifest.Object) []Thing {
	var out []Thing
	for i := range list {
		r := &list[i]
		var names []string
		for _, p := range r.names {
			names = append(names, p.of(o)...)
		}
		if len(names) == 0 {
			continue
		}
		for _, namespace := range r.namespaces(o) {
			for _, name := range names {
				t := newThing(r.Makes, namespace, name, r.Fills)
				t.Guessed = r.Group == "" && r.Chart == ""
				out = append(out, t)
			}
		}
	}
	return out
}

func newThing(kind, namespace, name string, fills bool) Thing {
	return Thing{Kind: kind, Namespace: namespace, Name: name, Fills: fills, Like: strings.Contains(namespace+name, "*")}
}

// namespaces returns where an object makes things.
func (r *row) namespaces(o *manifest.Object) []string {
	if !inNamespaces[r.Makes] {
		return []string{""}
	}
	var out []string
	for _, p := range r.in {
		out = append(out, p.of(o)...)
	}
	if len(out) == 0 {
		out = []string{o.ID.Namespace}
	}
	return out
}

// pattern is a text with the strings at some paths of an object in it: texts and paths take turns, and a
// text comes first.
type pattern struct {
	texts []string
	paths [][]string
}

func patternsOf(list []string) []pattern {
	var out []pattern
	for _, text := range list {
		var p pattern
		for {
			before, rest, more := strings.Cut(text, "{")
			p.texts = append(p.texts, before)
			if !more {
				break
			}
			field, after, _ := strings.Cut(rest, "}")
			p.paths, text = append(p.paths, strings.Split(field, ".")), after
		}
		out = append(out, p)
	}
	return out
}

// of returns the texts that a pattern has for an object; none if a path leads nowhere.
func (p pattern) of(o *manifest.Object) []string {
	out := []string{p.texts[0]}
	for i, at := range p.paths {
		var next []string
		for _, value := range valuesAt(o, at) {
			for _, before := range out {
				next = append(next, before+value+p.texts[i+1])
			}
		}
		out = next
	}
	return out
}

// valuesAt returns the texts at a path. One with a character that patterns have is the name of nothing: an object
// must not say that it makes what others make.
func valuesAt(o *manifest.Object, at []string) []string {
	if len(at) == 2 && at[0] == "metadata" && at[1] == "name" {
		return []string{o.ID.Name}
	}
	return slices.DeleteFunc(o.Texts(at...), func(text string) bool { return strings.ContainsAny(text, `*?[\`) })
}
