package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/githash"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/placement"
	"github.com/furrow-dev/furrow/internal/core/validate"
)

const (
	// maxMismatches is how many findings of a seed are listed.
	maxMismatches = 20
	// maxValidated is how many objects of a seed are compared with schemas that say more than types and fields: that
	// costs about a millisecond each.
	maxValidated = 5000
	// maxSchemas and maxFindings bound what a Memo has of them.
	maxSchemas, maxFindings = 500, 50_000
)

// schemaKey is a version in a CustomResourceDefinition of a content.
type schemaKey struct {
	definition githash.Hash
	version    string
}

// findingKey is a content that was compared with a schema.
type findingKey struct {
	schema *validate.Schema
	object githash.Hash
}

// schemaMemo remembers schemas of CustomResourceDefinitions, and what was found.
type schemaMemo struct {
	schemas  map[schemaKey]*validate.Schema
	findings map[findingKey][]validate.Finding
}

// schemaCheck compares the objects of seeds with the schemas of their kinds.
type schemaCheck struct {
	*schemaMemo
	inventory *catalog.Inventory
	// defined are the CustomResourceDefinitions of seeds, by the kind that they define.
	defined map[manifest.GroupKind][]placedDefinition
	// releases are those of lists of clusters, by the first of a list: placements share them.
	releases map[clusterList][]int
}

type clusterList struct {
	first  *string
	length int
}

// placedDefinition is a CustomResourceDefinition on clusters.
type placedDefinition struct {
	object   *manifest.Object
	hash     githash.Hash
	clusters map[string]bool
}

// checkSchemas warns of fields that do not fit the schemas of their kinds, or fails their seeds.
func (c *computation) checkSchemas() {
	check := c.newSchemaCheck()
	for _, s := range c.alive() {
		found := check.problems(s)
		if len(found) > 0 && (c.in.Strict || c.in.Catalog.Enforces()) {
			c.fail(s.seed.Name, found)
			continue
		}
		for _, p := range found {
			s.warnings = append(s.warnings, warningAt(p))
		}
	}
}

func (c *computation) newSchemaCheck() *schemaCheck {
	check := &schemaCheck{schemaMemo: &schemaMemo{}, inventory: c.inventory, defined: map[manifest.GroupKind][]placedDefinition{}, releases: map[clusterList][]int{}}
	if c.in.Memo != nil {
		check.schemaMemo = &c.in.Memo.schemas
	}
	if check.schemas == nil || len(check.schemas) > maxSchemas {
		check.schemas = map[schemaKey]*validate.Schema{}
	}
	if check.findings == nil || len(check.findings) > maxFindings {
		check.findings = map[findingKey][]validate.Finding{}
	}
	for _, s := range c.alive() {
		for _, p := range s.placements {
			if p.Object.GroupKind() == customDefinition {
				check.define(s, p)
			}
		}
	}
	return check
}

var customDefinition = manifest.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}

// define takes in a CustomResourceDefinition of a seed.
func (k *schemaCheck) define(s *seedState, p placement.Placement) {
	for _, content := range s.contents.Of(p.Object) {
		defined, _, ok := manifest.DefinedScope(*content.Object)
		data, err := content.Object.Bytes()
		if !ok || err != nil {
			continue
		}
		d := placedDefinition{object: content.Object, hash: githash.Blob(data), clusters: map[string]bool{}}
		for _, cluster := range p.Clusters {
			if s.contents.On(p.Object, cluster) == content {
				d.clusters[cluster] = true
			}
		}
		k.defined[defined] = append(k.defined[defined], d)
	}
}

// problems returns what of a seed does not fit, in the order of files.
func (k *schemaCheck) problems(s *seedState) manifest.Problems {
	var found manifest.Problems
	validated, left := 0, 0
	for _, p := range s.placements {
		contents := s.contents.Of(p.Object)
		for _, content := range contents {
			clusters := p.Clusters
			if len(contents) > 1 {
				clusters = slices.DeleteFunc(slices.Clone(clusters), func(name string) bool { return s.contents.On(p.Object, name) != content })
			}
			if content.Object.Encrypted() || len(clusters) == 0 {
				continue
			}
			for _, by := range k.schemasOf(content.Object, clusters) {
				if by.Fits(content.Object.Body) {
					continue
				}
				if validated++; validated > maxValidated {
					left++
					continue
				}
				found = append(found, k.compare(s.seed, content.Object, by)...)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b manifest.Problem) int {
		return cmp.Or(a.Source.Compare(b.Source), cmp.Compare(a.Field, b.Field))
	})
	found = slices.CompactFunc(found, func(a, b manifest.Problem) bool {
		return a.Source == b.Source && a.Object == b.Object && a.Message == b.Message
	})
	if more := len(found) - maxMismatches; more > 0 {
		found = append(found[:maxMismatches:maxMismatches], manifest.OfSeed(v1alpha1.ReasonSchemaMismatch, s.seed.Name, fmt.Sprintf("%d more fields do not fit the schemas of their kinds", more), "Correct those above first."))
	}
	if left > 0 {
		found = append(found, manifest.OfSeed(v1alpha1.ReasonSchemaMismatch, s.seed.Name, fmt.Sprintf("%d objects were not compared with the schemas of their kinds: at most %d of a seed are, where a schema has bounds or rules", left, maxValidated), "Divide the seed."))
	}
	return found
}

// namedSchema is a schema, and where it comes from.
type namedSchema struct {
	*validate.Schema
	of string
}

// schemasOf returns the schemas that an object has to fit on some clusters.
func (k *schemaCheck) schemasOf(o *manifest.Object, clusters []string) []namedSchema {
	var out []namedSchema
	add := func(s *validate.Schema, of string) {
		if s != nil && !slices.ContainsFunc(out, func(other namedSchema) bool { return other.Schema == s }) {
			out = append(out, namedSchema{s, of})
		}
	}
	if manifest.ServedByKubernetes(o.ID.GroupKind()) {
		for _, minor := range k.releasesOf(clusters) {
			add(validate.BuiltIn(minor, o.ID.Group, o.Version, o.ID.Kind), fmt.Sprintf("of Kubernetes 1.%d", minor))
		}
		return out
	}
	for _, d := range k.defined[o.ID.GroupKind()] {
		if slices.ContainsFunc(clusters, func(name string) bool { return d.clusters[name] }) {
			add(k.schema(d, o.Version), "in "+d.object.Title())
		}
	}
	return out
}

// schema returns that of a version of a definition; nil where it has none, or none that can be used.
func (k *schemaCheck) schema(d placedDefinition, version string) *validate.Schema {
	key := schemaKey{d.hash, version}
	known, ok := k.schemas[key]
	if !ok {
		known, _ = validate.Custom(d.object.Body, version) // an API server reports its mistakes at the definition
		k.schemas[key] = known
	}
	return known
}

// releasesOf returns the minor releases of some clusters, each once.
func (k *schemaCheck) releasesOf(clusters []string) []int {
	key := clusterList{&clusters[0], len(clusters)}
	if known, ok := k.releases[key]; ok {
		return known
	}
	supported := manifest.SupportedReleases()
	var out []int
	for _, name := range clusters {
		minor, known := manifest.ParseRelease(k.inventory.Clusters[name].Provides.KubernetesVersion)
		if !known {
			minor = validate.Assumed
		}
		if minor = min(max(minor, supported.First), supported.Last); !slices.Contains(out, minor) {
			out = append(out, minor)
		}
	}
	slices.Sort(out)
	k.releases[key] = out
	return out
}

// compare returns what of an object does not fit a schema, but for what reading it has found already.
func (k *schemaCheck) compare(seed *catalog.Seed, o *manifest.Object, by namedSchema) manifest.Problems {
	data, err := o.Bytes()
	if err != nil {
		return nil
	}
	key := findingKey{by.Schema, githash.Blob(data)}
	findings, known := k.findings[key]
	if !known {
		findings = by.Check(o.Body)
		k.findings[key] = findings
	}
	var out manifest.Problems
	for _, f := range findings {
		if slices.ContainsFunc(o.Warnings(), func(w manifest.Problem) bool { return w.Field == f.Field }) {
			continue
		}
		p := o.Problem(v1alpha1.ReasonSchemaMismatch, manifest.Printable(f.Field+" "+f.Message)+", by the schema "+by.of, "Correct it.")
		if f.Unknown {
			p.Message, p.Next = fmt.Sprintf("the schema %s has no field %s", by.of, manifest.Printable(f.Field)), "Remove it, or correct its name."
		}
		p.Field, p.Seed = f.Field, seed.Name
		p.Source = seed.FieldAt(o.Source, f.Field)
		out = append(out, p)
	}
	return out
}
