package e2e

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// report has the fields of furrow's status that stories read.
type report struct {
	Revision string            `json:"revision"`
	Problems manifest.Problems `json:"problems"`
	Seeds    []seedReport      `json:"seeds"`
}

type seedReport struct {
	Name    string          `json:"name"`
	State   string          `json:"state"`
	Message string          `json:"message"`
	Reason  v1alpha1.Reason `json:"reason"`
	Removal bool            `json:"removal"`
	Tiers   []tierReport    `json:"tiers"`
}

type tierReport struct {
	Cluster  string `json:"cluster"`
	Ordinal  int    `json:"ordinal"`
	State    string `json:"state"`
	Reason   string `json:"reason"`
	Message  string `json:"message"`
	Amended  string `json:"amended"`
	Proposal *struct {
		Branch string `json:"branch"`
		URL    string `json:"url"`
	} `json:"proposal"`
}

func (r *report) seed(name string) seedReport {
	for _, s := range r.Seeds {
		if s.Name == name {
			return s
		}
	}
	return seedReport{}
}

// allReleased reports whether a number of seeds are Released, and there are no others; else one that is not.
func (r *report) allReleased(seeds int) (ok bool, detail string) {
	for _, seed := range r.Seeds {
		if seed.State != "Released" {
			return false, fmt.Sprintf("seed %s is %s: %s", seed.Name, seed.State, seed.Message)
		}
	}
	return len(r.Seeds) == seeds, fmt.Sprintf("there are %d seeds", len(r.Seeds))
}

// tier finds a tier by seed/cluster/number; its state is empty if there is none.
func (r *report) tier(name string) tierReport {
	for _, s := range r.Seeds {
		for _, t := range s.Tiers {
			if tierName(s.Name, t.Cluster, t.Ordinal) == name {
				return t
			}
		}
	}
	return tierReport{}
}

func tierName(seed, cluster string, ordinal int) string {
	return fmt.Sprintf("%s/%s/%02d", seed, cluster, ordinal)
}

// planned has the fields of plan.yaml that the observer reads.
type planned struct {
	Removal  bool          `json:"removal"`
	Tiers    []plannedTier `json:"tiers"`
	Contents []struct {
		ID      string          `json:"id"`
		Objects []plannedObject `json:"objects"`
	} `json:"contents"`
	Moves []plannedMove `json:"moves"`
}

type plannedObject struct {
	ID   string `json:"id"`
	File string `json:"file"`
	Hash string `json:"hash"`
}

type plannedMove struct {
	Object   string   `json:"object"`
	Clusters []string `json:"clusters"`
	From     int      `json:"from"`
	To       int      `json:"to"`
	Stage    string   `json:"stage"`
	Content  string   `json:"content"`
}

// held reports whether the tiers of a cluster have what they had, because objects move there.
func (p *planned) held(cluster string) bool {
	for _, m := range p.Moves {
		if m.Stage != "Unprotect" && slices.Contains(m.Clusters, cluster) {
			return true
		}
	}
	return false
}

// move finds how an object moves on a cluster.
func (p *planned) move(cluster, object string) (plannedMove, bool) {
	for _, m := range p.Moves {
		if m.Object == object && slices.Contains(m.Clusters, cluster) {
			return m, true
		}
	}
	return plannedMove{}, false
}

type plannedTier struct {
	Cluster       string         `json:"cluster"`
	Ordinal       int            `json:"ordinal"`
	Prerequisites []prerequisite `json:"prerequisites"`
	Entries       []plannedEntry `json:"entries"`
	Object        struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
	} `json:"object"`
	Contents string `json:"contents"`
}

type prerequisite struct {
	Seed    string `json:"seed"`
	Cluster string `json:"cluster"`
	Ordinal int    `json:"ordinal"`
}

type plannedEntry struct {
	Path string `json:"path"`
	Mode string `json:"mode"`
	Hash string `json:"hash"`
}

// entry returns the tier's entry of a mode: tree for its directory, file for its reconciler object.
func (t plannedTier) entry(mode string) plannedEntry {
	for _, e := range t.Entries {
		if e.Mode == mode {
			return e
		}
	}
	return plannedEntry{}
}

// gone reports whether the plan removes the tier.
func (t plannedTier) gone() bool { return t.entry("tree").Hash == "" }

func (p *planned) tier(cluster string, ordinal int) (plannedTier, bool) {
	for _, t := range p.Tiers {
		if t.Cluster == cluster && t.Ordinal == ordinal {
			return t, true
		}
	}
	return plannedTier{}, false
}

// dependents returns the tiers that have this one as a prerequisite.
func (p *planned) dependents(cluster string, ordinal int) []plannedTier {
	var out []plannedTier
	for _, t := range p.Tiers {
		for _, pre := range t.Prerequisites {
			if pre.Seed == "" && pre.Cluster == cluster && pre.Ordinal == ordinal {
				out = append(out, t)
			}
		}
	}
	return out
}

// objects returns the ids of a tier's objects.
func (p *planned) objects(t plannedTier) []string {
	var ids []string
	for _, o := range p.contents(t) {
		ids = append(ids, o.ID)
	}
	return ids
}

// contents returns the objects of a tier.
func (p *planned) contents(t plannedTier) []plannedObject {
	for _, c := range p.Contents {
		if c.ID == t.Contents {
			return c.Objects
		}
	}
	return nil
}

// plan reads a seed's plan from its fetched branch; nil if there is none.
func (s *story) plan(seed string) *planned {
	content := s.gitops.read("furrow/main/plan/"+seed, "plan.yaml")
	if content == "" {
		return nil
	}
	var p planned
	if err := yaml.Unmarshal([]byte(content), &p); err != nil {
		return nil
	}
	return &p
}

// status reads furrow's last status from its branch; it is empty if there is none yet.
func (s *story) status() report {
	var r report
	content, _, err := s.asPerson.GetRawFile(s.gitops.owner, s.gitops.name, "status.yaml", s.statusBranch())
	if err == nil {
		_ = yaml.Unmarshal(content, &r)
	}
	return r
}

// statusBranch is the status branch of the default owner.
func (s *story) statusBranch() string {
	return "furrow/main/status/" + s.controlPlane.name + "/default"
}

// recordsBranch has the records of pull requests of the default owner.
func (s *story) recordsBranch() string {
	return "furrow/main/pulls/" + s.controlPlane.name + "/default"
}

// state returns the state of a tier in furrow's status.
func (s *story) state(tier string) string {
	r := s.status()
	return r.tier(tier).State
}

// splitID splits an object's id: group/Kind/namespace/name, or group/Kind/name.
func splitID(id string) (group, kind, namespace, name string) {
	parts := strings.Split(id, "/")
	if len(parts) < 3 {
		return "", "", "", ""
	}
	group, kind, name = parts[0], parts[1], parts[len(parts)-1]
	if group == "core" {
		group = ""
	}
	if len(parts) == 4 {
		namespace = parts[2]
	}
	return group, kind, namespace, name
}
