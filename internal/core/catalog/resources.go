package catalog

import (
	"cmp"
	"reflect"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// Resources are what the custom resources of a cluster say beside, and about, a
// control-plane tree.
type Resources struct {
	// Documents are resources of the kinds that the tree may have outside of seeds, each
	// with a unique Source. A document of the tree with the same kind and name overrides
	// them.
	Documents []manifest.Object
	// Seeds are the seeds of the tree that are wanted. What they set comes before the
	// Seed document of the tree.
	Seeds map[string]v1alpha1.SeedSpec
	// Faults are what is wrong with those resources, by seed.
	Faults map[string]manifest.Problems
}

// Apply takes in resources. A resource that is not valid is a problem of the inventory like any
// document. Only the seeds that they want stay. Which kubeconfigs may be read is up to the
// resources alone: whoever may write to the repository need not be allowed to read Secrets of the
// cluster.
func (p *Packages) Apply(r Resources) {
	docs := p.docs
	docs.grants = map[string][]string{} // the tree's own do not count: its authors do not run the cluster
	count := docs.count
	for _, o := range r.Documents {
		docs.takeResource(o)
	}
	docs.count = count
	for name, pkg := range p.seeds {
		settings, wanted := r.Seeds[name]
		if !wanted {
			delete(p.seeds, name)
			continue
		}
		pkg.override(settings)
		pkg.problems = append(pkg.problems, r.Faults[name]...)
	}
}

// takeResource adds a resource, unless the tree has a document of that name: the
// same one, as where the tree is applied to the cluster as well, or another one.
func (d *documents) takeResource(o manifest.Object) {
	first, declared := d.positions[o.ID.Kind+"/"+o.ID.Name]
	if doc, err := decode[v1alpha1.Cluster](o); o.ID.Kind == "Cluster" && err == nil {
		d.grants[doc.Name] = doc.Spec.KubeConfigNamespaces
	}
	switch {
	case !declared:
		d.problems = appendProblem(d.problems, o.Source, d.take(o))
	case !d.declares(o):
		if d.overridden == nil {
			d.overridden = map[manifest.Source]manifest.Source{}
		}
		d.overridden[o.Source] = first
	}
}

// declares reports whether the tree's document of that kind and name says the same, as where the
// tree is applied to the cluster as well.
func (d *documents) declares(o manifest.Object) bool {
	switch o.ID.Kind {
	case "Cluster":
		doc, err := decode[v1alpha1.Cluster](o)
		if err != nil {
			return false
		}
		for _, c := range d.clusters {
			if c.doc.Name == doc.Name {
				return reflect.DeepEqual(c.doc.Spec, doc.Spec) && hasAll(doc.Labels, c.doc.Labels)
			}
		}
	case "ClusterType":
		doc, err := decode[v1alpha1.ClusterType](o)
		return err == nil && reflect.DeepEqual(d.types[doc.Name].Spec, doc.Spec)
	case "GitOpsRepo":
		doc, err := decode[v1alpha1.GitOpsRepo](o)
		return err == nil && reflect.DeepEqual(d.repos[doc.Name].Spec, doc.Spec)
	case "RolloutPolicy":
		doc, err := decode[v1alpha1.RolloutPolicy](o)
		return err == nil && reflect.DeepEqual(d.policies[doc.Name].Spec, doc.Spec)
	case "Template":
		doc, err := decode[v1alpha1.Template](o)
		return err == nil && d.templates[doc.Name].Spec == doc.Spec
	}
	return false
}

// hasAll reports whether labels hold all that are wanted: tools that apply a document may
// add some.
func hasAll(labels, wanted map[string]string) bool {
	for key, value := range wanted {
		if labels[key] != value {
			return false
		}
	}
	return true
}

// override lets settings come before those of the package, field by field. Only Suspend is joined:
// a seed that is suspended in either is.
func (p *Package) override(settings v1alpha1.SeedSpec) {
	spec := v1alpha1.SeedSpec{}
	if p.spec != nil {
		spec = *p.spec
	}
	spec.Namespace = cmp.Or(settings.Namespace, spec.Namespace)
	spec.Role = cmp.Or(settings.Role, spec.Role)
	spec.ClusterSelector = cmp.Or(settings.ClusterSelector, spec.ClusterSelector)
	spec.ManagementCluster = cmp.Or(settings.ManagementCluster, spec.ManagementCluster)
	if settings.Tolerations != nil {
		spec.Tolerations = settings.Tolerations
	}
	if settings.Placement != nil {
		spec.Placement, p.lines = settings.Placement, p.lines.Without("spec.placement")
	}
	if settings.Overrides != nil {
		spec.Overrides, p.lines = settings.Overrides, p.lines.Without("spec.overrides")
	}
	if settings.DisabledRules != nil {
		spec.DisabledRules = settings.DisabledRules
	}
	spec.Tiers = cmp.Or(settings.Tiers, spec.Tiers)
	spec.Health = cmp.Or(settings.Health, spec.Health)
	if settings.Readiness != nil {
		spec.Readiness, p.lines = settings.Readiness, p.lines.Without("spec.readiness")
	}
	spec.PlainSecrets = cmp.Or(settings.PlainSecrets, spec.PlainSecrets)
	spec.Render = cmp.Or(settings.Render, spec.Render)
	spec.Rollout = cmp.Or(settings.Rollout, spec.Rollout)
	if settings.Plugins != nil {
		spec.Plugins = settings.Plugins
	}
	spec.Suspend = spec.Suspend || settings.Suspend
	p.spec = &spec
}

// checkDocument refuses what only a Seed resource may say.
func checkDocument(o manifest.Object, spec v1alpha1.SeedSpec) error {
	field, instead := "", "Remove the field; a seed is removed by deleting its package."
	switch {
	case spec.Source != nil:
		field, instead = "source", "Remove the field; the package is here."
	case spec.DeletionPolicy != "":
		field = "deletionPolicy"
	case spec.DeletionTimeout != nil:
		field = "deletionTimeout"
	default:
		return nil
	}
	return o.Problem(v1alpha1.ReasonMisplacedKey, "spec."+field+" is for Seed resources in a cluster, and has no meaning in a control-plane repository", instead).WithField("spec." + field)
}
