// Package plan computes the plan of a seed: what goes where in which tier, frozen with the files
// that will land.
//
// Compute puts catalog, placement, dependency, template and layout together for all seeds at once,
// because they may wait for each other:
//
//	collect      the seeds that could be read, with the plans that they have
//	place        implied clusters, then every object
//	share        what several seeds want on one cluster
//	findHeirs    renamed seeds
//	findLeaving  what is planted and no longer wanted
//	order        the graph, and tiers from it, without the seeds that cannot be ordered; moves
//	outcomes     tiers, files and the inputs digest of each seed
//
// It is a pure function: the same input gives the same bytes, in whatever order documents and seeds
// come. A seed that fails keeps the plan that it has, and others fail with it only if they need it.
//
// Invariants of a plan:
//   - Every prerequisite is a tier of a plan.
//   - Tiers are in order of cluster and ordinal.
//   - An object keeps the tier that it has in the plan being replaced, or moves in three releases: see
//     move.go.
//   - What left the seed stays in its tier until everything else is released.
//
// A Plan is read-only once it is made: WithTiers and Remove return others.
package plan

import (
	"cmp"
	"encoding/json"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/dependency"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// Kind is what plan.yaml has in kind.
const Kind = "Plan"

// Current is the version of plan.yaml. A minor version adds fields; a major one changes what a
// field means.
var Current = manifest.Version{Major: 1, Minor: 0}

// Plan is what plan.yaml holds, in the order of its fields. Tiers are in order of cluster and
// ordinal.
type Plan struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	// Version is that of the file; one without it is of version 1.0.
	Version manifest.Version `yaml:"version"`
	Seed    string           `yaml:"seed"`
	// Owner is <control-plane id>/<environment>; another owner's plan is never overwritten.
	Owner string `yaml:"owner"`
	// Origin is the digest of where the control plane is kept; a plan of another origin is never
	// overwritten either.
	Origin string `yaml:"origin,omitempty"`
	// Revision of the control-plane repository, for people.
	Revision string `yaml:"revision,omitempty"`
	// MovedFrom is the newer or unrelated revision that the plan before was made from, where the
	// branch of the control plane was moved, or a person took over; for people.
	MovedFrom string `yaml:"movedFrom,omitempty" json:"MovedFrom,omitempty"`
	// From is the path of the seed in that repository, for people.
	From string `yaml:"from,omitempty"`
	// Generation counts the plans of the seed, so the newest is known where
	// repositories have different ones.
	Generation int `yaml:"generation"`
	// Inputs is the digest of all that the plan was made from.
	Inputs string `yaml:"inputs"`
	// Rules is the version of the rules by which it was rendered: by others, the same inputs give
	// another plan.
	Rules string `yaml:"rules,omitempty" json:"Rules,omitempty"`
	// Removal reports whether the seed is gone and everything of it leaves.
	Removal bool `yaml:"removal,omitempty"`
	// DisabledRules are the dependency rules that the seed switches off, in order.
	DisabledRules []string `yaml:"disabledRules,omitempty" json:"DisabledRules,omitempty"`
	// GroupBy says which tiers are proposed together, also once the seed is gone; empty
	// where each is proposed alone.
	GroupBy v1alpha1.GroupBy `yaml:"groupBy,omitempty" json:"GroupBy,omitempty"`
	// Rollout is the pace of the seed; nil where its tiers are proposed as soon as they may be.
	Rollout  *Rollout   `yaml:"rollout,omitempty" json:"Rollout,omitempty"`
	Tiers    []Tier     `yaml:"tiers"`
	Contents []Contents `yaml:"contents,omitempty"`
	// Moves are the objects that go to other tiers.
	Moves []Move `yaml:"moves,omitempty" json:"Moves,omitempty"`
	// Awaits are the objects that other seeds still have planted.
	Awaits []Await `yaml:"awaits,omitempty" json:",omitempty"`
	// Variants are the clusters that get each variant of the seed; none where all get the same.
	Variants []Variant `yaml:"variants,omitempty"`
	// Overrides are what the overrides of the seed change, in their order.
	Overrides []Override `yaml:"overrides,omitempty" json:"Overrides,omitempty"`
	// Plugins are those that made objects of the seed what they are, in the order in which they ran.
	Plugins      []catalog.RanPlugin `yaml:"plugins,omitempty" json:"Plugins,omitempty"`
	Placements   []Placement         `yaml:"placements,omitempty"`
	Dependencies []Dependency        `yaml:"dependencies,omitempty"`
	Warnings     []Warning           `yaml:"warnings,omitempty"`
	// Parts are the files that hold the tiers and dependencies of a plan that is
	// too large for one file.
	Parts []string `yaml:"parts,omitempty"`
}

// Tier is the objects of the seed on one cluster that may be declared together.
type Tier struct {
	Cluster string `yaml:"cluster"`
	Ordinal int    `yaml:"ordinal"`
	// Level orders the tiers of all seeds: every tier has a higher one than those it waits for.
	Level int `yaml:"level"`
	// Reconciler says which kind of reconciler applies the tier to its cluster.
	Reconciler    string         `yaml:"reconciler"`
	Prerequisites []Prerequisite `yaml:"prerequisites,omitempty"`
	// Repo names the GitOps repository of the entries.
	Repo string `yaml:"repo"`
	// Entries are what the tier has on the base branch: the directory of its objects, and
	// the file of its reconciler object. Those of a tier that leaves have no hash.
	Entries []Entry `yaml:"entries"`
	// Object is the reconciler object.
	Object ReconcilerObject `yaml:"object"`
	// Contents refers to Plan.Contents.
	Contents string `yaml:"contents,omitempty"`
	// Creates lists the clusters that objects of the tier create.
	Creates []Creates `yaml:"creates,omitempty"`
	// Leaving is what goes with this plan.
	Leaving *Leaving `yaml:"leaving,omitempty"`
	// Orphan is set of a tier that goes from a cluster that was abandoned.
	Orphan *Orphan `yaml:"orphan,omitempty"`
}

// Prerequisite is a tier that must be released before this one is proposed.
type Prerequisite struct {
	// Seed is set where it is another seed's.
	Seed    string `yaml:"seed,omitempty"`
	Cluster string `yaml:"cluster"`
	Ordinal int    `yaml:"ordinal"`
	// Ready are CEL expressions that must all be true of the objects that are waited for.
	Ready []string `yaml:"ready,omitempty"`
	Why   string   `yaml:"why"`
}

// ReconcilerObject names a tier's reconciler object and what it was rendered to.
type ReconcilerObject struct {
	// Cluster that the object is on: the tier's, or its hub.
	Cluster   string `yaml:"cluster"`
	Namespace string `yaml:"namespace"`
	Name      string `yaml:"name"`
	// Rendered is the value of its annotation furrow.dev/rendered.
	Rendered string `yaml:"rendered,omitempty"`
}

// Creates is a cluster that an object creates.
type Creates struct {
	Cluster string      `yaml:"cluster"`
	Object  manifest.ID `yaml:"object"`
	// KubeConfig is the Secret through which the new cluster is reached.
	KubeConfig KubeConfig `yaml:"kubeConfig,omitempty"`
	// Declared reports whether the cluster has a document outside the seed.
	Declared bool `yaml:"declared,omitempty"`
}

// KubeConfig names a Secret that holds a kubeconfig under the key value.
type KubeConfig struct {
	// Cluster that the Secret is on: the new cluster's hub, or that of its creator.
	Cluster   string `yaml:"cluster"`
	Namespace string `yaml:"namespace"`
	Name      string `yaml:"name"`
}

// Leaving is what a tier loses with this plan, and the tiers that must lose theirs before.
type Leaving struct {
	Objects []Object    `yaml:"objects"`
	After   []Reference `yaml:"after,omitempty"`
	// Why says why the seed leaves the cluster; empty if it does not, or if the seed itself is gone.
	Why string `yaml:"why,omitempty"`
}

// Reference names a tier of the same seed.
type Reference struct {
	Cluster string `yaml:"cluster"`
	Ordinal int    `yaml:"ordinal"`
	Why     string `yaml:"why"`
}

// Contents lists the objects of a tier; equal tiers of many clusters share one.
type Contents struct {
	ID      string   `yaml:"id"`
	Objects []Object `yaml:"objects"`
}

// Object is one object of a tier.
type Object struct {
	ID   manifest.ID `yaml:"id"`
	File string      `yaml:"file"`
	// Hash is the Git blob id of the file.
	Hash layout.Hash `yaml:"hash,omitempty"`
	// From is the document's position, file:line.
	From string `yaml:"from,omitempty"`
	// Leaving reports whether the seed no longer has the object: it goes once all else is released.
	Leaving bool `yaml:"leaving,omitempty"`
	// Kept reports whether the reconciler keeps the object on its cluster when it leaves.
	Kept bool `yaml:"kept,omitempty"`
	// HandedTo is the seed that gets the object when it leaves; it is kept for that alone.
	HandedTo string `yaml:"handedTo,omitempty" json:",omitempty"`
}

// Await is an object that the seed has once another one has given it up.
type Await struct {
	Object   manifest.ID `yaml:"object"`
	Seed     string      `yaml:"seed"`
	Clusters []string    `yaml:"clusters,flow"`
}

// Override is what an override of the seed changes on some clusters.
type Override struct {
	Name string `yaml:"name"`
	// From is the position of the override, file:line.
	From     string             `yaml:"from,omitempty"`
	Clusters []string           `yaml:"clusters,flow"`
	Objects  []OverriddenObject `yaml:"objects"`
}

// OverriddenObject is an object that an override changes.
type OverriddenObject struct {
	ID manifest.ID `yaml:"id"`
	// Changes are the fields that change, as in "replicas 3 → 5"; none of a Secret.
	Changes []string `yaml:"changes,omitempty"`
}

// Variant is what a renderer, or overrides, make of the seed for some clusters.
type Variant struct {
	Name     string   `yaml:"name"`
	Clusters []string `yaml:"clusters,flow"`
}

// Placement says where an object goes and why.
type Placement struct {
	Object   manifest.ID `yaml:"object"`
	Clusters []string    `yaml:"clusters,flow"`
	Rule     string      `yaml:"rule"`
	Why      string      `yaml:"why"`
}

// Dependency says what an object waits for and why.
type Dependency struct {
	From DependencyFrom  `yaml:"from"`
	To   DependencyTo    `yaml:"to"`
	Kind dependency.Kind `yaml:"kind"`
	Rule string          `yaml:"rule"`
	// Field is the path of the field that the dependency comes from, of either object.
	Field string `yaml:"field,omitempty"`
	Why   string `yaml:"why"`
	// Ready is a CEL expression that must be true of the object that is waited for.
	Ready string `yaml:"ready,omitempty"`
	// Beside is an object that a controller makes on the cluster of the one that is waited for, and
	// that must exist as well.
	Beside manifest.ID `yaml:"beside,omitempty" json:",omitzero"`
}

// dependencyOf returns what is said of an edge, without its ends.
func dependencyOf(r dependency.Reason) Dependency {
	return Dependency{Kind: r.Kind, Rule: r.Rule, Field: r.Field, Why: r.Why, Ready: r.Ready, Beside: r.Beside}
}

// reason is the reverse of dependencyOf.
func (d Dependency) reason() dependency.Reason {
	return dependency.Reason{Kind: d.Kind, Rule: d.Rule, Field: d.Field, Why: d.Why, Ready: d.Ready, Beside: d.Beside}
}

// DependencyFrom is the object that waits, on the clusters where it does so.
type DependencyFrom struct {
	Object   manifest.ID `yaml:"object"`
	Clusters []string    `yaml:"clusters,flow"`
}

// DependencyTo is the object that is waited for.
type DependencyTo struct {
	// Seed is set where it is another seed's.
	Seed   string      `yaml:"seed,omitempty"`
	Object manifest.ID `yaml:"object"`
	// Cluster is empty where each waits for the object on its own cluster.
	Cluster string `yaml:"cluster,omitempty"`
}

// Warning is something that people should know and that holds nothing.
type Warning struct {
	Reason  v1alpha1.Reason `yaml:"reason,omitempty"`
	Object  string          `yaml:"object,omitempty"`
	Message string          `yaml:"message"`
	// From is the document's position, file:line, if the message is about one.
	From string `yaml:"from,omitempty"`
}

// String returns the warning for people.
func (w Warning) String() string { return w.Problem().Error() }

// Problem returns the warning with what it is about.
func (w Warning) Problem() manifest.Problem {
	return manifest.Problem{Reason: w.Reason, Source: manifest.ParseSource(w.From), Object: w.Object, Message: w.Message}
}

// Files are files of a plan's tree by path, or directories with files of their own.
type Files map[string]File

// File is one file of a plan's tree, or a directory.
type File struct {
	// Data is nil for a file that is taken unchanged from the plan or base.
	Data []byte
	Hash layout.Hash
	// Dir reports whether it is a directory, taken over whole unless it has Files.
	Dir bool
	// Files are those of a directory by name; equal tiers share them.
	Files Files `json:",omitempty"`
}

// Find returns the file at a path, which may be below a directory; zero where there is none.
func (f Files) Find(at string) File {
	if one, ok := f[at]; ok {
		return one
	}
	dir, name := path.Split(at)
	return f[path.Clean(dir)].Files[name]
}

// Flat returns the files with each file of a directory by its own path.
func (f Files) Flat() Files {
	out := make(Files, len(f))
	for at, one := range f {
		if one.Files == nil {
			out[at] = one
		}
		for name, below := range one.Files {
			out[path.Join(at, name)] = below
		}
	}
	return out
}

// MarshalJSON writes them flat.
func (f Files) MarshalJSON() ([]byte, error) { return json.Marshal(map[string]File(f.Flat())) }

// Name names the tier of this plan.
func (p *Plan) Name(t *Tier) layout.Tier {
	return layout.Tier{Seed: p.Seed, Cluster: t.Cluster, Ordinal: t.Ordinal}
}

// Find returns the tier of a cluster by its ordinal.
func (p *Plan) Find(cluster string, ordinal int) (*Tier, bool) {
	i, found := p.position(cluster, ordinal)
	if !found {
		return nil, false
	}
	return &p.Tiers[i], true
}

// position returns the index of a tier, or the one at which it belongs.
func (p *Plan) position(cluster string, ordinal int) (int, bool) {
	return slices.BinarySearchFunc(p.Tiers, Tier{Cluster: cluster, Ordinal: ordinal}, compareTiers)
}

// compareTiers is the order of a plan's tiers.
func compareTiers(a, b Tier) int {
	return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Ordinal, b.Ordinal))
}

// On returns the tiers on a cluster.
func (p *Plan) On(cluster string) []Tier {
	from, _ := p.position(cluster, math.MinInt)
	to, _ := p.position(cluster, math.MaxInt)
	return p.Tiers[from:to]
}

// Waiting lists, for each tier of the plan, its other tiers that have it as prerequisite.
func (p *Plan) Waiting() map[layout.Tier][]Reference {
	out := map[layout.Tier][]Reference{}
	for i := range p.Tiers {
		t := &p.Tiers[i]
		for _, pre := range t.Prerequisites {
			if pre.Seed == "" {
				name := layout.Tier{Seed: p.Seed, Cluster: pre.Cluster, Ordinal: pre.Ordinal}
				out[name] = append(out[name], Reference{t.Cluster, t.Ordinal, pre.Why})
			}
		}
	}
	return out
}

// InOrder lists the tiers as they are released: by level, cluster and ordinal.
func (p *Plan) InOrder() []*Tier {
	out := make([]*Tier, len(p.Tiers))
	for i := range p.Tiers {
		out[i] = &p.Tiers[i]
	}
	slices.SortStableFunc(out, func(a, b *Tier) int {
		return cmp.Or(cmp.Compare(a.Level, b.Level), cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Ordinal, b.Ordinal))
	})
	return out
}

// Objects lists the objects of a tier.
func (p *Plan) Objects(t *Tier) []Object {
	// Contents are numbered from c1 in their order.
	if n, err := strconv.Atoi(strings.TrimPrefix(t.Contents, "c")); err == nil && 0 < n && n <= len(p.Contents) && p.Contents[n-1].ID == t.Contents {
		return p.Contents[n-1].Objects
	}
	i := slices.IndexFunc(p.Contents, func(c Contents) bool { return c.ID == t.Contents })
	if i < 0 {
		return nil
	}
	return p.Contents[i].Objects
}

// Repos returns the names of the GitOps repositories that the plan writes to, in order; the first
// is the seed's home.
func (p *Plan) Repos() []string {
	seen := map[string]bool{}
	for _, t := range p.Tiers {
		seen[t.Repo] = true
	}
	return sortedKeys(seen)
}

// ReposWith returns the repositories of the tiers that need a cluster.
func (p *Plan) ReposWith(cluster string) []string {
	repos := map[string]bool{}
	for i := range p.Tiers {
		if t := &p.Tiers[i]; t.Cluster == cluster || t.Object.Cluster == cluster {
			repos[t.Repo] = true
		}
	}
	return sortedKeys(repos)
}

// Implied returns the clusters that the plan creates and that no document declares.
func (p *Plan) Implied() []string {
	var names []string
	for i := range p.Tiers {
		for _, c := range p.Tiers[i].Creates {
			if !c.Declared {
				names = append(names, c.Cluster)
			}
		}
	}
	return names
}

// String names the tier for people, as in "edge-1 tier 01".
func (t *Tier) String() string { return Reference{Cluster: t.Cluster, Ordinal: t.Ordinal}.String() }

// String names the tier for people.
func (r Reference) String() string { return layout.Tier{Cluster: r.Cluster, Ordinal: r.Ordinal}.Name() }

// String names the tier for people, with its seed where that is another one.
func (p Prerequisite) String() string {
	return layout.Tier{Seed: p.Seed, Cluster: p.Cluster, Ordinal: p.Ordinal}.NameIn("")
}
