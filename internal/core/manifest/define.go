package manifest

// Definition is a kind that an object adds to an API server.
type Definition struct {
	Kind  GroupKind
	Scope Scope
}

// definers have what the objects of a kind define.
var definers = map[GroupKind]func(Object) []Definition{
	{"apiextensions.k8s.io", "CustomResourceDefinition"}: func(o Object) []Definition {
		if kind, scope, ok := DefinedScope(o); ok {
			return []Definition{{kind, scope}}
		}
		return nil
	},
	{"apiextensions.crossplane.io", "CompositeResourceDefinition"}: compositeDefinitions,
	{"templates.gatekeeper.sh", "ConstraintTemplate"}: func(o Object) []Definition {
		return define("constraints.gatekeeper.sh", o.Text("spec", "crd", "spec", "names", "kind"), ClusterScoped)
	},
	{"kro.run", "ResourceGraphDefinition"}: func(o Object) []Definition {
		group, scope := o.Text("spec", "schema", "group"), Namespaced
		if group == "" {
			group = "kro.run"
		}
		if Scope(o.Text("spec", "schema", "scope")) == ClusterScoped {
			scope = ClusterScoped
		}
		return define(group, o.Text("spec", "schema", "kind"), scope)
	},
}

// Defines returns the kinds that an object defines: a CustomResourceDefinition, and what
// controllers make one of.
func Defines(o Object) []Definition {
	if definer := definers[o.ID.GroupKind()]; definer != nil {
		return definer(o)
	}
	return nil
}

// compositeDefinitions returns the kinds of a Crossplane definition: of the composite, which was
// always cluster-scoped before apiextensions.crossplane.io/v2, and of its claim.
func compositeDefinitions(o Object) []Definition {
	scope := ClusterScoped
	if given := o.Text("spec", "scope"); o.Version == "v2" && given != "Cluster" && given != "LegacyCluster" {
		scope = Namespaced
	}
	group := o.Text("spec", "group")
	return append(define(group, o.Text("spec", "names", "kind"), scope), define(group, o.Text("spec", "claimNames", "kind"), Namespaced)...)
}

func define(group, kind string, scope Scope) []Definition {
	if group == "" || kind == "" {
		return nil
	}
	return []Definition{{GroupKind{group, kind}, scope}}
}
