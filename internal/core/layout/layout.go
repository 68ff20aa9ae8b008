// Package layout decides where everything lies in a GitOps repository: paths, branch names, and the
// names of reconciler objects.
//
//	<root path>/furrow/<seed>/tier-00.yaml                   a tier's reconciler object
//	<hub's root path>/furrow/<seed>/<cluster>/tier-00.yaml   the same behind a hub
//	planted/<cluster>/<seed>/tier-00/                        its objects, a file each
//	furrow/<base>/plan/<seed>                                branch of the plan
//	furrow/<base>/tier/<seed>/<cluster>/00                   branch of a tier's proposal
//	furrow/<base>/group/<seed>/<name>                        branch of a proposal of several tiers
//	furrow/<base>/{retry,confirm,confirm-leaving}/<seed>     markers: what people ask for
//	furrow/<base>/abandon/<owner>/<cluster>                  the same for a cluster
//	furrow/<base>/rollout/<seed>                             record of the seed's rollout
//	furrow/<base>/status/<owner>                             branch of the published state
//
// These names are an interface: plans and proposals of earlier versions are found by them, so they
// never change.
//
// Everything here is a pure function of names. Paths are relative to the repository's root and
// never leave it, because names were checked to be DNS labels and prefixes to be clean when they
// were read. Each function that makes a branch has an inverse that accepts only what the function
// makes.
package layout

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/githash"
)

// PlantedDir holds the objects of all tiers.
const PlantedDir = "planted"

// ownDir is the directory below a root path that is Furrow's.
const ownDir = "furrow"

// PlanFile is the plan in a plan commit's tree. It never lands on a base branch.
const PlanFile = "plan.yaml"

// Hash is the Git object id of a file or directory; zero means absent.
type Hash = githash.Hash

// Tier names one tier.
type Tier struct {
	Seed    string
	Cluster string
	Ordinal int
}

// Number returns the ordinal as names and paths have it: 00, 01, …
func (t Tier) Number() string { return fmt.Sprintf("%02d", t.Ordinal) }

// Name returns what people call the tier within its seed, as in "edge-1 tier 01".
func (t Tier) Name() string { return t.Cluster + " " + NameOnCluster(t.Ordinal) }

// NameOnCluster returns what people call a tier where the cluster is clear, as in "tier 01".
func NameOnCluster(ordinal int) string { return "tier " + Tier{Ordinal: ordinal}.Number() }

// NameIn returns what people call the tier where they speak of a seed, which may be another one.
func (t Tier) NameIn(seed string) string {
	if t.Seed == seed {
		return t.Name()
	}
	return "seed " + t.Seed + " on " + t.Name()
}

// String returns the tier's name in records, as in "web/edge-1/tier-01".
func (t Tier) String() string { return t.Seed + "/" + t.Cluster + "/tier-" + t.Number() }

// MarshalText makes a tier usable as a key in JSON and YAML.
func (t Tier) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (t *Tier) UnmarshalText(text []byte) error {
	parts := strings.Split(string(text), "/")
	if len(parts) == 3 {
		if number, ok := strings.CutPrefix(parts[2], "tier-"); ok {
			ordinal, err := strconv.Atoi(number)
			*t = Tier{Seed: parts[0], Cluster: parts[1], Ordinal: ordinal}
			return err
		}
	}
	return fmt.Errorf("%q is not a tier: write <seed>/<cluster>/tier-<number>", text)
}

// Compare orders tiers by seed, cluster and ordinal.
func (t Tier) Compare(other Tier) int {
	return cmp.Or(cmp.Compare(t.Seed, other.Seed), cmp.Compare(t.Cluster, other.Cluster), cmp.Compare(t.Ordinal, other.Ordinal))
}

// Member is a tier that a proposal carries, and the digest of its entries there.
type Member struct {
	Tier   Tier   `json:"tier"`
	Digest string `json:"digest,omitempty"`
}

// Dir returns the directory of the tier's objects.
func (t Tier) Dir(prefix string) string {
	return path.Join(prefix, PlantedDir, t.Cluster, t.Seed, "tier-"+t.Number())
}

// ReconcilerFile returns the file of the tier's reconciler object. root is the root path of the
// cluster that reconciles the tier; ofHub means that it is another one.
func (t Tier) ReconcilerFile(prefix, root string, ofHub bool) string {
	dir := path.Join(prefix, root, ownDir, t.Seed)
	if ofHub {
		dir = path.Join(dir, t.Cluster)
	}
	return path.Join(dir, "tier-"+t.Number()+".yaml")
}

// OwnDir returns the directory of Furrow's below the root path of a cluster.
func OwnDir(prefix, root string) string { return path.Join(prefix, root, ownDir) }

// maxLabel is the longest value of a label: reconcilers put the name of their object into one.
const maxLabel = 63

// ReconcilerName returns the name of the tier's reconciler object. Seed and cluster are labels, so
// the dots make it unambiguous; a name that is too long for a label is cut and gets 8 hex digits of
// its SHA-256.
func (t Tier) ReconcilerName() string {
	name := t.Seed + "." + t.Cluster + "." + t.Number()
	if len(name) <= maxLabel {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	suffix := "-" + hex.EncodeToString(sum[:4])
	return strings.TrimRight(name[:maxLabel-len(suffix)], ".-") + suffix
}

// Branches of Furrow's lie below furrow/<base>/.
const branchPrefix = "furrow/"

// PlanBranch holds the plan of a seed.
func PlanBranch(base, seed string) string { return branchPrefix + base + "/plan/" + seed }

// StatusBranch holds the last report of an owner.
func StatusBranch(base, owner string) string { return branchPrefix + base + "/status/" + owner }

// IsStatusBranch reports whether a branch holds the last report of some owner.
func IsStatusBranch(base, branch string) bool {
	return strings.HasPrefix(branch, StatusBranch(base, ""))
}

// RecordsBranch holds what an owner keeps of its pull requests.
func RecordsBranch(base, owner string) string { return branchPrefix + base + "/pulls/" + owner }

// IsRecordsBranch reports whether a branch holds what some owner keeps of its pull requests.
func IsRecordsBranch(base, branch string) bool {
	return strings.HasPrefix(branch, RecordsBranch(base, ""))
}

// ProposalPath returns a path for what is kept of the proposals of a branch; ok is false for a
// branch that holds none.
func ProposalPath(base, branch string) (path string, ok bool) {
	if _, ok = SeedOfBranch(base, branch); !ok {
		return "", false
	}
	return strings.TrimPrefix(branch, branchPrefix+base+"/") + recordSuffix, true
}

// ProposalBranch is the inverse of ProposalPath.
func ProposalBranch(base, path string) (branch string, ok bool) {
	name, ok := strings.CutSuffix(path, recordSuffix)
	branch = branchPrefix + base + "/" + name
	_, proposes := SeedOfBranch(base, branch)
	return branch, ok && proposes
}

const recordSuffix = ".yaml"

// RetryBranch marks that a person wants a seed's plan proposed again, rejected,
// reverted or foreign content as there may be. It is at the plan's commit.
func RetryBranch(base, seed string) string { return branchPrefix + base + "/retry/" + seed }

// RetryTierBranch marks the same of one tier. Its name begins differently, because Git has no branch
// below another one.
func RetryTierBranch(base string, t Tier) string {
	return branchPrefix + base + "/retry-tier/" + t.Seed + "/" + t.Cluster + "/" + t.Number()
}

// RetriedTier is the inverse of RetryTierBranch.
func RetriedTier(base, branch string) (t Tier, ok bool) {
	rest, ok := strings.CutPrefix(branch, branchPrefix+base+"/retry-tier/")
	if !ok {
		return Tier{}, false
	}
	return TierOfBranch(base, branchPrefix+base+"/tier/"+rest)
}

// ParseTier reads a tier of a seed as people write it, as in "edge-1/01".
func ParseTier(seed, text string) (Tier, error) {
	cluster, number, ok := strings.Cut(text, "/")
	ordinal, err := strconv.Atoi(number)
	if !ok || err != nil || ordinal < 0 || cluster == "" {
		return Tier{}, fmt.Errorf("%q is not a tier: write <cluster>/<number>, as in edge-1/01", text)
	}
	return Tier{Seed: seed, Cluster: cluster, Ordinal: ordinal}, nil
}

// ConfirmBranch marks that a person wants a seed removed which the deletion
// guard holds. It is at the commit of the seed's plan.
func ConfirmBranch(base, seed string) string { return branchPrefix + base + "/confirm/" + seed }

// ConfirmLeavingBranch marks that a person wants what leaves a seed removed, where the
// deletion guard holds it. It is at the commit of the seed's plan.
func ConfirmLeavingBranch(base, seed string) string {
	return branchPrefix + base + "/confirm-leaving/" + seed
}

// RolloutBranch holds the record of a seed's rollout: what people asked for, and since when waves have
// been released.
func RolloutBranch(base, seed string) string { return branchPrefix + base + "/rollout/" + seed }

// DeleteCommand returns the command that deletes a branch on the server, for a clone of its repository.
func DeleteCommand(branch string) string { return "git push origin --delete " + branch }

// AbandonBranch marks that a person has given a cluster up, for the plans of one
// owner. The commit that it points to does not matter.
func AbandonBranch(base, owner, cluster string) string { return abandonPrefix(base, owner) + cluster }

func abandonPrefix(base, owner string) string { return branchPrefix + base + "/abandon/" + owner + "/" }

// AbandonedCluster is the inverse of AbandonBranch.
func AbandonedCluster(base, owner, branch string) (cluster string, ok bool) {
	cluster, ok = strings.CutPrefix(branch, abandonPrefix(base, owner))
	return cluster, ok && cluster != "" && !strings.Contains(cluster, "/")
}

// BranchKind is what a branch of Furrow's holds, as far as it matters who wrote it.
type BranchKind int

// The kinds of branches. A marker asks for something, a record is read and written again.
const (
	OtherBranch BranchKind = iota
	PlanOrRecordBranch
	MarkerBranch
)

// KindOfBranch returns what kind of branch it is.
func KindOfBranch(base, branch string) BranchKind {
	rest, ok := strings.CutPrefix(branch, branchPrefix+base+"/")
	kind, _, _ := strings.Cut(rest, "/")
	switch {
	case !ok:
		return OtherBranch
	case kind == "plan" || kind == "rollout":
		return PlanOrRecordBranch
	case kind == "retry" || kind == "retry-tier" || kind == "confirm" || kind == "confirm-leaving" || kind == "abandon":
		return MarkerBranch
	}
	return OtherBranch
}

// TierBranch holds the proposal of a tier.
func TierBranch(base string, t Tier) string {
	return branchPrefix + base + "/tier/" + t.Seed + "/" + t.Cluster + "/" + t.Number()
}

// PlanSeed is the inverse of PlanBranch.
func PlanSeed(base, branch string) (seed string, ok bool) {
	seed, ok = strings.CutPrefix(branch, branchPrefix+base+"/plan/")
	return seed, ok && seed != "" && !strings.Contains(seed, "/")
}

// TierOfBranch is the inverse of TierBranch.
func TierOfBranch(base, branch string) (Tier, bool) {
	rest, ok := strings.CutPrefix(branch, branchPrefix+base+"/tier/")
	parts := strings.Split(rest, "/")
	if !ok || len(parts) != 3 || parts[0] == "" || parts[1] == "" {
		return Tier{}, false
	}
	t := Tier{Seed: parts[0], Cluster: parts[1]}
	if _, err := fmt.Sscanf(parts[2], "%d", &t.Ordinal); err != nil || t.Ordinal < 0 || t.Number() != parts[2] {
		return Tier{}, false
	}
	return t, true
}

// GroupBranch holds a proposal of several tiers of a seed.
func GroupBranch(base, seed, name string) string {
	return branchPrefix + base + "/group/" + seed + "/" + name
}

// GroupOfBranch is the inverse of GroupBranch.
func GroupOfBranch(base, branch string) (seed, name string, ok bool) {
	rest, ok := strings.CutPrefix(branch, branchPrefix+base+"/group/")
	seed, name, parts := strings.Cut(rest, "/")
	if !ok || !parts || seed == "" || name == "" || strings.Contains(name, "/") {
		return "", "", false
	}
	return seed, name, true
}

// SeedOfBranch returns the seed whose proposal a branch holds, of one tier or of several.
func SeedOfBranch(base, branch string) (seed string, ok bool) {
	if t, ok := TierOfBranch(base, branch); ok {
		return t.Seed, true
	}
	seed, _, ok = GroupOfBranch(base, branch)
	return seed, ok
}

// ProposalName returns what people call the proposal of a branch: <seed>/<cluster>/<tier>, or
// <seed>/<group>.
func ProposalName(base, branch string) string {
	for _, kind := range []string{"/tier/", "/group/"} {
		if name, ok := strings.CutPrefix(branch, branchPrefix+base+kind); ok {
			return name
		}
	}
	return branch
}
