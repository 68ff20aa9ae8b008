package manifest

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"
)

// Scope determines whether the objects of a kind live in namespaces.
type Scope string

// The scopes, in the words of a CustomResourceDefinition.
const (
	ClusterScoped Scope = "Cluster"
	Namespaced    Scope = "Namespaced"
)

//go:embed scopes.yaml
var scopesYAML []byte

// builtinScopes returns the table of scopes.yaml, which is read when it is needed first.
var builtinScopes = sync.OnceValue(func() map[GroupKind]Scope {
	scopes, err := readScopes(scopesYAML)
	if err != nil {
		panic("scopes.yaml: " + err.Error())
	}
	return scopes
})

// readScopes reads scopes.yaml: for each group, the scope of its kinds. The kind "*" of a group
// *.domain is any other kind of the groups below that domain, and of its own.
func readScopes(text []byte) (map[GroupKind]Scope, error) {
	var groups map[string]map[string]Scope
	if err := yaml.UnmarshalStrict(text, &groups); err != nil {
		return nil, err
	}
	scopes := map[GroupKind]Scope{}
	for group, kinds := range groups {
		for kind, scope := range kinds {
			if scope != ClusterScoped && scope != Namespaced {
				return nil, fmt.Errorf("%s: %s has the scope %q, which is neither %s nor %s", group, kind, scope, ClusterScoped, Namespaced)
			}
			scopes[GroupKind{Group: group, Kind: kind}] = scope
		}
	}
	return scopes, nil
}

// BuiltinScope returns the scope of a kind that Kubernetes or a well-known
// project defines, false for any other.
func BuiltinScope(kind GroupKind) (Scope, bool) {
	if row, ok := Served(kind); ok {
		return row.Scope, true
	}
	scopes := builtinScopes()
	scope, ok := scopes[kind]
	for domain := kind.Group; !ok && domain != ""; {
		scope, ok = scopes[GroupKind{Group: "*." + domain, Kind: "*"}]
		_, domain, _ = strings.Cut(domain, ".")
	}
	return scope, ok
}

// DefinedVersions returns the versions that a CustomResourceDefinition serves, in its order; false
// where it lists none at all.
func DefinedVersions(o Object) (served []string, known bool) {
	for _, item := range o.Slice("spec", "versions") {
		version, _ := item.(map[string]any)
		name, _ := version["name"].(string)
		known = known || name != ""
		if on, _ := version["served"].(bool); on && name != "" {
			served = append(served, name)
		}
	}
	if version := o.Text("spec", "version"); !known && version != "" {
		return []string{version}, true // of v1beta1
	}
	return served, known
}

// DefinedScope returns the kind that a CustomResourceDefinition defines and its
// scope, false if the object is not such a definition.
func DefinedScope(o Object) (GroupKind, Scope, bool) {
	if o.ID.GroupKind() != (GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}) {
		return GroupKind{}, "", false
	}
	kind := GroupKind{Group: o.Text("spec", "group"), Kind: o.Text("spec", "names", "kind")}
	scope := Scope(o.Text("spec", "scope"))
	known := scope == ClusterScoped || scope == Namespaced
	return kind, scope, known && kind.Group != "" && kind.Kind != ""
}
