package plan

import (
	"cmp"

	"github.com/furrow-dev/furrow/internal/core/dependency"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// Definitions finds the CustomResourceDefinitions of custom resources in plans, by what the resources wait for. It is
// for one goroutine, and for as long as the plans stay.
type Definitions struct {
	plans map[string]*Plan
	// waits are the dependencies on definitions, by the object that waits.
	waits map[*Plan]map[manifest.ID][]*Dependency
	found map[definedOn]*Definition
}

// definedOn is a CustomResourceDefinition that the plan of a seed has on a cluster.
type definedOn struct {
	seed, cluster string
	id            manifest.ID
}

// Definition is a CustomResourceDefinition as a plan has it.
type Definition struct {
	Seed   string
	Tier   *Tier
	Object Object
}

// NewDefinitions returns what finds definitions in plans, given by seed.
func NewDefinitions(plans map[string]*Plan) *Definitions {
	return &Definitions{plans: plans, waits: map[*Plan]map[manifest.ID][]*Dependency{}, found: map[definedOn]*Definition{}}
}

// Of returns the definition of an object that a plan has on a cluster; nil where no plan has it there, as for the kinds
// of Kubernetes.
func (d *Definitions) Of(p *Plan, cluster string, object manifest.ID) *Definition {
	if p == nil || manifest.ServedByKubernetes(object.GroupKind()) {
		return nil
	}
	for _, w := range d.waitsOf(p)[object] {
		// Several seeds may have it, each on clusters of its own.
		if found := d.find(definedOn{cmp.Or(w.To.Seed, p.Seed), cluster, w.To.Object}); found != nil {
			return found
		}
	}
	return nil
}

// DefiningSeeds returns the other seeds that have definitions of a plan's objects, in order.
func (p *Plan) DefiningSeeds() []string {
	seeds := map[string]bool{}
	for _, w := range p.Dependencies {
		if w.Rule == dependency.CRD && w.To.Seed != "" {
			seeds[w.To.Seed] = true
		}
	}
	return sortedKeys(seeds)
}

// waitsOf returns the dependencies of a plan on definitions.
func (d *Definitions) waitsOf(p *Plan) map[manifest.ID][]*Dependency {
	known, ok := d.waits[p]
	if !ok {
		known = map[manifest.ID][]*Dependency{}
		for i := range p.Dependencies {
			if w := &p.Dependencies[i]; w.Rule == dependency.CRD {
				known[w.From.Object] = append(known[w.From.Object], w)
			}
		}
		d.waits[p] = known
	}
	return known
}

func (d *Definitions) find(at definedOn) *Definition {
	known, ok := d.found[at]
	if !ok {
		known = at.in(d.plans[at.seed])
		d.found[at] = known
	}
	return known
}

// in returns the definition as a plan has it; nil where it does not.
func (at definedOn) in(p *Plan) *Definition {
	if p == nil {
		return nil
	}
	tiers := p.On(at.cluster)
	for i := range tiers {
		for _, o := range p.Objects(&tiers[i]) {
			if o.ID == at.id {
				return &Definition{p.Seed, &tiers[i], o}
			}
		}
	}
	return nil
}
