package plan

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/githash"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

const (
	// maxFile is the size above which a plan is split.
	maxFile = 10 << 20
	// clustersPerPart is how many clusters one part then holds.
	clustersPerPart = 500
)

// What is read of a plan: the bytes of one file and of all, and the lines and list items of one file, which
// cost far more memory than their bytes. A plan of 100,000 objects has 40 MB and 400,000 lines.
const (
	MaxFileSize = 64 << 20
	MaxSize     = 128 << 20
	maxItems    = 1_000_000
)

// part is a file that holds the tiers and dependencies of some clusters.
type part struct {
	Tiers        []Tier       `yaml:"tiers"`
	Dependencies []Dependency `yaml:"dependencies,omitempty"`
}

// Encode returns the plan's own files, by name: plan.yaml and, where that would be larger than 10
// MB, one part for 500 clusters each. A plan that could not be read again is an error.
func (p *Plan) Encode() (map[string][]byte, error) {
	files, err := p.encode(maxFile)
	if err != nil {
		return nil, err
	}
	size := 0
	for _, name := range sortedKeys(files) {
		size += len(files[name])
		if len(files[name]) > MaxFileSize || size > MaxSize || items(files[name]) > maxItems {
			return nil, manifest.OfSeed(v1alpha1.ReasonPlanTooLarge, p.Seed, fmt.Sprintf("the plan of seed %q is too large: Furrow reads up to %d MiB of a plan, %d MiB and %d lines of one file, and %s exceeds that", p.Seed, MaxSize>>20, MaxFileSize>>20, maxItems, name), "Split the seed")
		}
	}
	return files, nil
}

// Document returns the whole plan as one document, however large.
func (p *Plan) Document() ([]byte, error) { return marshal(p) }

// encode writes the plan as one file, or, if that is larger than limit, as a head and parts of some
// clusters each: servers and people open small files only, and Git stores a part that has not
// changed once. All that belongs to one cluster is in one part.
func (p *Plan) encode(limit int) (map[string][]byte, error) {
	whole, err := marshalUpTo(p, limit)
	if !errors.Is(err, errTooLarge) {
		return map[string][]byte{layout.PlanFile: whole}, err
	}
	files := map[string][]byte{}
	head := *p
	head.Tiers, head.Dependencies, head.Parts = nil, nil, nil
	for i, some := range p.parts() {
		name := fmt.Sprintf("plan-%03d.yaml", i+1)
		if files[name], err = marshal(some); err != nil {
			return nil, err
		}
		head.Parts = append(head.Parts, name)
	}
	files[layout.PlanFile], err = marshal(&head)
	return files, err
}

// clusters returns the clusters that the parts are made of, sorted, those that only dependencies
// name included.
func (p *Plan) clusters() []string {
	seen := map[string]bool{}
	for _, t := range p.Tiers {
		seen[t.Cluster] = true
	}
	for _, d := range p.Dependencies {
		for _, c := range d.From.Clusters {
			seen[c] = true
		}
	}
	return sortedKeys(seen)
}

// parts returns the tiers and dependencies of the plan by the clusters that they are about.
func (p *Plan) parts() []part {
	number := map[string]int{}
	for i, cluster := range p.clusters() {
		number[cluster] = i / clustersPerPart
	}
	out := make([]part, (len(number)+clustersPerPart-1)/clustersPerPart)
	for _, t := range p.Tiers {
		some := &out[number[t.Cluster]]
		some.Tiers = append(some.Tiers, t)
	}
	for _, d := range p.Dependencies {
		in := make([][]string, len(out))
		for _, cluster := range d.From.Clusters {
			n := number[cluster]
			in[n] = append(in[n], cluster)
		}
		for n, clusters := range in {
			if d.From.Clusters = clusters; len(clusters) > 0 {
				out[n].Dependencies = append(out[n].Dependencies, d)
			}
		}
	}
	return out
}

// Decode reads the plan of a plan branch's tree, and checks it. A plan of a newer minor version is
// read, without fields that this version does not know; one of a newer major version, or with values that this
// version does not know, is an error with reason UnsupportedVersion.
func Decode(tree fs.FS) (*Plan, error) {
	p, err := decode(tree)
	if manifest.ReasonOf(err) != v1alpha1.ReasonInvalidPlan {
		return p, err
	}
	// It may be of another version, for which only this is certain.
	head := struct {
		Version manifest.Version `yaml:"version"`
	}{Current}
	if decodeFile(tree, layout.PlanFile, &head) != nil {
		return nil, err
	}
	message := fmt.Sprintf("%s: it is of version %s, and this Furrow reads version %s", layout.PlanFile, head.Version, Current)
	switch {
	case head.Version.Major == Current.Major && !head.Version.Newer(Current):
		return nil, err
	case head.Version.Major == Current.Major:
		message = fmt.Sprintf("%s: %s", message, strings.TrimPrefix(err.Error(), layout.PlanFile+": "))
	}
	return nil, manifest.Problem{Reason: v1alpha1.ReasonUnsupportedVersion, Path: layout.PlanFile, Message: message, Next: "Use the version of Furrow that wrote it"}
}

// decode reads and checks a plan that this version could have written. Errors of what it holds are of reason
// InvalidPlan.
func decode(tree fs.FS) (*Plan, error) {
	p := Plan{Version: Current}
	if err := decodeFile(tree, layout.PlanFile, &p); err != nil {
		return nil, err
	}
	if p.Version.Major != Current.Major || p.APIVersion != v1alpha1.APIVersion || p.Kind != Kind {
		return nil, invalid("%s: it is %s %s, not %s %s", layout.PlanFile, p.APIVersion, p.Kind, v1alpha1.APIVersion, Kind)
	}
	for _, name := range p.Parts {
		var some part
		if err := decodeFile(tree, name, &some); err != nil {
			return nil, err
		}
		p.Tiers = append(p.Tiers, some.Tiers...)
		p.Dependencies = append(p.Dependencies, some.Dependencies...)
	}
	p.Parts = nil
	slices.SortFunc(p.Tiers, compareTiers)
	return &p, p.check()
}

// check refuses a plan that nobody but a person could have written: one whose tiers would touch
// what is not the seed's, or whose contents are not those of its tiers. Whoever can push to the
// plan branch could otherwise have paths of others replaced by a proposal in the name of Furrow.
func (p *Plan) check() error {
	trees, err := p.trees()
	if err != nil {
		return err
	}
	seen := map[layout.Tier]bool{}
	for i := range p.Tiers {
		t := &p.Tiers[i]
		name := p.Name(t)
		if seen[name] {
			return invalid("%s: it has %s twice", layout.PlanFile, t)
		}
		seen[name] = true
		if err := p.checkTier(t); err != nil {
			return err
		}
		if tree, known := trees[t.Contents]; !known && t.Contents != "" {
			return invalid("%s: %s has the contents %q, which are not in the plan", layout.PlanFile, t, t.Contents)
		} else if tree != t.DirHash() {
			return invalid("%s: %s has contents that are not those of %s", layout.PlanFile, t, t.Dir())
		}
	}
	return nil
}

// trees returns the Git tree ids of the contents, by id.
func (p *Plan) trees() (map[string]layout.Hash, error) {
	trees := map[string]layout.Hash{}
	for _, c := range p.Contents {
		if _, twice := trees[c.ID]; twice {
			return nil, invalid("%s: it has the contents %q twice", layout.PlanFile, c.ID)
		}
		hashes := map[string]layout.Hash{}
		for _, o := range c.Objects {
			if o.Hash.IsZero() {
				return nil, invalid("%s: object %s has no hash", layout.PlanFile, o.ID)
			}
			if !fs.ValidPath(o.File) || o.File == "." || path.Dir(o.File) != "." {
				return nil, invalid("%s: object %s has the file %q, which is not its own", layout.PlanFile, o.ID, o.File)
			}
			hashes[o.File] = o.Hash
		}
		trees[c.ID] = githash.Tree(hashes)
	}
	return trees, nil
}

// invalid returns the error for a tree that holds no plan that can be read.
func invalid(format string, args ...any) error {
	return manifest.Problem{Reason: v1alpha1.ReasonInvalidPlan, Path: layout.PlanFile, Message: fmt.Sprintf(format, args...)}
}

// decodeFile reads one file of a plan. Fields that this version does not know are ignored.
func decodeFile(tree fs.FS, name string, into any) error {
	data, err := fs.ReadFile(tree, name)
	if err != nil {
		return fmt.Errorf("reading %s: %w", name, manifest.About(manifest.Problem{Reason: v1alpha1.ReasonInvalidPlan, Path: name}, err))
	}
	if n := items(data); n > maxItems {
		return invalid("%s: it has %d lines and list items, and at most %d are read", name, n, maxItems)
	}
	if err := yaml.NewDecoder(bytes.NewReader(data)).Decode(into); err != nil {
		return invalid("%s: %v", name, err)
	}
	return nil
}

// items counts what may begin a value in YAML, and the few commas of texts.
func items(data []byte) int {
	return bytes.Count(data, []byte("\n")) + bytes.Count(data, []byte(",")) + bytes.Count(data, []byte("[")) + bytes.Count(data, []byte("{"))
}
