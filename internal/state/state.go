// Package state owns the one published model of a control plane: what every pass observed and did,
// for people and for programs. The engine writes it; 'furrow status', 'kubectl furrow', the
// statuses of custom resources and every other view are renderings of it. No view parses a message:
// what it compares or acts on is a field.
//
// Of core it uses two types, instead of copies that would have to be converted: manifest.Problem,
// which is how every problem is reported, and release.State, the list of what a tier can be.
//
// Nothing here reads or writes; a State is a plain value.
package state

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/release"
)

const (
	// Kind is what a published state has in kind.
	Kind = "Status"
	// File is its file on the status branch.
	File = "status.yaml"
)

// Current is the version of the model. A minor version adds fields; a major one changes what a
// field means.
var Current = manifest.Version{Major: 1, Minor: 0}

// State is what a pass has observed and done. As it is published it holds no time of its own pass,
// to let the state of a pass in which nothing happened be the same. Lists are in order, so
// equal states have equal bytes.
type State struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Version, Owner and Origin mean the same in every version, to let any Furrow read whose state
	// it is.
	Version manifest.Version `json:"version"`
	Owner   string           `json:"owner"`
	// Origin is the digest of where the control plane is kept.
	Origin string `json:"origin,omitempty"`
	// Revision of the control-plane repository that was read.
	Revision string `json:"revision"`
	// Interval is how often at least passes report, as in 1m0s; empty when they are made by hand.
	Interval string `json:"interval,omitempty"`
	// LastPass is when the pass was made that reported last. Readers take it from the
	// commit that has the state.
	LastPass time.Time `json:"lastPass,omitzero"`
	// Writer is the process that reported last, if it says so. Readers take it from the commit, too.
	Writer string `json:"writer,omitempty"`
	// Refused are the processes that did nothing lately, because another commit was planned last.
	Refused []Refused `json:"refused,omitempty"`
	// Problems are those of the control plane and of repositories as a whole.
	Problems manifest.Problems `json:"problems,omitempty"`
	// Stale is what cannot be read now, which is shown as it was read last.
	Stale []Stale `json:"stale,omitempty"`
	// Warnings name what is not read of the control plane, outside of seeds, and what proposals in a
	// repository lack.
	Warnings     manifest.Problems `json:"warnings,omitempty"`
	Repositories []Repository      `json:"repositories,omitempty"`
	Clusters     []Cluster         `json:"clusters,omitempty"`
	Seeds        []Seed            `json:"seeds"`
	// Notes are signs that all of this is out of date, for people.
	Notes []string `json:"notes,omitempty"`
}

// New returns an empty state of the version that this Furrow writes.
func New(owner, origin, revision string) State {
	return State{APIVersion: v1alpha1.APIVersion, Kind: Kind, Version: Current, Owner: owner, Origin: origin, Revision: revision, Seeds: []Seed{}}
}

// Decode reads a published state: also one of a newer minor version, leaving out what it does not
// know. Of a newer major version it returns the owner and the origin alone, and a version error.
func Decode(data []byte) (*State, error) {
	var envelope struct {
		Version manifest.Version `json:"version"`
		Owner   string           `json:"owner"`
		Origin  string           `json:"origin"`
	}
	data, err := yaml.YAMLToJSON(data) // once: parsing YAML is nearly all that decoding costs
	if err != nil {
		return nil, errUnreadable(err)
	}
	if err := json.Unmarshal(data, &envelope); err != nil {
		return nil, errUnreadable(err)
	}
	if err := Current.Reads(envelope.Version); err != nil {
		return &State{Version: envelope.Version, Owner: envelope.Owner, Origin: envelope.Origin}, err
	}
	out := &State{}
	if err := json.Unmarshal(data, out); err != nil {
		return nil, errUnreadable(err)
	}
	return out, nil
}

// errUnreadable says what to do about a file that holds no state.
func errUnreadable(err error) error {
	return manifest.Problem{Reason: v1alpha1.ReasonInvalidYAML, Path: File, Message: fmt.Sprintf("%s cannot be read: %v", File, err), Next: "Delete the branch: the next pass writes it again"}
}

// Refused is a process that replaces no plans: what was planned last was made from a newer or
// unrelated commit of the control plane.
type Refused struct {
	// Process is its name, for people, and Revision what it reads.
	Process  string          `json:"process"`
	Revision string          `json:"revision"`
	Reason   v1alpha1.Reason `json:"reason"`
	Message  string          `json:"message"`
	// At is when it said so.
	At time.Time `json:"at"`
}

// Stale is what cannot be read, and since when.
type Stale struct {
	// Repo is a GitOps repository; empty for the control plane.
	Repo  string    `json:"repo,omitempty"`
	Since time.Time `json:"since"`
}

// Repository is a GitOps repository.
type Repository struct {
	Name string `json:"name"`
	// URL without credentials.
	URL string `json:"url"`
	// Branch is the base branch.
	Branch string `json:"branch"`
	// Proposals counts the open ones.
	Proposals int `json:"proposals,omitempty"`
	// Limit says what waits for the forge to allow more requests; nil where nothing does.
	Limit *Limit `json:"limit,omitempty"`
	// MergeBy are the ways to merge that leave a signature which reconcilers accept, as the forge names
	// them; any will do if there are none.
	MergeBy []string `json:"mergeBy,omitempty"`
}

// Limit is why nothing more is asked of a forge, and until when. Nobody has to do anything.
type Limit struct {
	Reason  v1alpha1.Reason `json:"reason"`
	Message string          `json:"message"`
	Until   time.Time       `json:"until"`
}

// Cluster is a cluster that the control plane declares, or that a seed creates.
type Cluster struct {
	Name string `json:"name"`
	// Role is Management or Workload, Type its ClusterType, Labels those of its document, Repo the
	// GitOps repository that has its path, and Hub the cluster whose reconciler acts for it; all empty
	// of a cluster that a seed creates without a document.
	Role   string            `json:"role,omitempty"`
	Type   string            `json:"type,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
	Repo   string            `json:"repo,omitempty"`
	Hub    string            `json:"hub,omitempty"`
	// Abandoned reports whether a person gave it up.
	Abandoned bool `json:"abandoned,omitempty"`
	// AbandonedBy says who, and when: "by Ada at 2026-11-23 09:00 UTC".
	AbandonedBy string `json:"abandonedBy,omitempty"`
}

// Seed is the state of one seed.
type Seed struct {
	// Namespace of its resource; empty where there are no custom resources.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Revision of the control-plane repository that its plan was made of.
	Revision string `json:"revision,omitempty"`
	// State summarizes the tiers: Stalled, or the state of the tier that most needs attention.
	State string `json:"state"`
	// Reason and Message say why a seed is Stalled; Problems are all that is wrong, with what each
	// is about.
	Reason   v1alpha1.Reason   `json:"reason,omitempty"`
	Message  string            `json:"message,omitempty"`
	Problems manifest.Problems `json:"problems,omitempty"`
	Removal  bool              `json:"removal,omitempty"`
	// Suspended reports whether nothing new is proposed.
	Suspended bool `json:"suspended,omitempty"`
	// Unconfirmed is what is removed once a person confirms it, for people: whatever says
	// so in a message has it here too.
	Unconfirmed []string `json:"unconfirmed,omitempty"`
	// Confirmed says who confirmed what the deletion guard held of it, and when; empty where nobody did,
	// or it is done.
	Confirmed string `json:"confirmed,omitempty"`
	// Abandoned are the clusters that it is on and that were abandoned.
	Abandoned []Abandonment `json:"abandoned,omitempty"`
	// Rollout is the pace of the seed; nil where it has none.
	Rollout *Rollout `json:"rollout,omitempty"`
	Tiers   []Tier   `json:"tiers,omitempty"`
	// Omitted counts tiers that resources have no room for.
	Omitted int `json:"omittedTiers,omitempty"`
	// Warnings are the plan's, and name the files that are not read.
	Warnings manifest.Problems `json:"warnings,omitempty"`
	// OmittedWarnings counts those that resources have no room for.
	OmittedWarnings int `json:"omittedWarnings,omitempty"`
	// Notes are signs that this is out of date or not whole, for people.
	Notes []string `json:"notes,omitempty"`
}

// Tier is the state of one tier.
type Tier struct {
	Cluster string `json:"cluster"`
	Ordinal int    `json:"ordinal"`
	// Level orders the tiers of all clusters: those of a lower level come first.
	Level int `json:"level"`
	// Wave is the name of the wave of the rollout that it goes in; empty where there are none.
	Wave  string        `json:"wave,omitempty"`
	State release.State `json:"state"`
	// Reason is why it is in that state; On, Object and Path are the cluster, the object there and
	// the path that this is about, where it is about others than the tier itself.
	Reason  v1alpha1.Reason `json:"reason,omitempty"`
	On      string          `json:"on,omitempty"`
	Object  string          `json:"object,omitempty"`
	Path    string          `json:"path,omitempty"`
	Message string          `json:"message,omitempty"`
	// Since is when the tier was first seen in this state.
	Since time.Time `json:"since,omitzero"`
	// Waits are the edges to tiers that are not Released, and After those to the ones that are:
	// together all that it depends on.
	Waits []Edge `json:"waits,omitempty"`
	After []Edge `json:"after,omitempty"`
	// Amended says how to show what a person changed before merging.
	Amended string `json:"amended,omitempty"`
	// Retry reports whether a person's retry has the tier proposed again.
	Retry bool `json:"retry,omitempty"`
	// Foreign are files at the tier's paths on the base branch that others put there: the
	// tier's proposal, once a person retries it, deletes or replaces them.
	Foreign []string `json:"foreign,omitempty"`
	// OmittedForeign counts files that a resource has no room for.
	OmittedForeign int `json:"omittedForeign,omitempty"`
	// Proposal is the open proposal, or the rejected one.
	Proposal *Proposal `json:"proposal,omitempty"`
	Objects  int       `json:"objects"`
	// Digest is the digest of the tier's entries. It is not published.
	Digest string `json:"-"`
}

// Rollout is how far the waves of a seed are, and what people asked for.
type Rollout struct {
	// Waves in the order in which they go.
	Waves []Wave `json:"waves,omitempty"`
	// Paused says who paused the rollout, and Unpaced who asked for everything to be proposed at
	// once; empty where nobody did.
	Paused  string `json:"paused,omitempty"`
	Unpaced string `json:"unpaced,omitempty"`
}

// Wave is how far a wave of a rollout is.
type Wave struct {
	Name  string            `json:"name"`
	State release.WaveState `json:"state"`
	// Leaving reports whether it is about what leaves the clusters.
	Leaving bool `json:"leaving,omitempty"`
	// Clusters counts those of the wave, Done those whose tiers are all where they should be.
	Clusters int `json:"clusters"`
	Done     int `json:"done"`
	// Reason and Message say what it waits for; empty where nothing holds it.
	Reason  v1alpha1.Reason `json:"reason,omitempty"`
	Message string          `json:"message,omitempty"`
	// Until is when it goes on by itself.
	Until time.Time `json:"until,omitzero"`
}

// Edge is a tier that another one depends on, and why.
type Edge struct {
	Tier   string          `json:"tier"`
	State  release.State   `json:"state,omitempty"`
	Reason v1alpha1.Reason `json:"reason,omitempty"`
	Why    string          `json:"why"`
}

// Proposal says where people find a proposal.
type Proposal struct {
	Repo   string `json:"repo"`
	Branch string `json:"branch"`
	Title  string `json:"title,omitempty"`
	URL    string `json:"url,omitempty"`
	// Gate says why the proposal must not be merged now; empty when it may be.
	Gate string `json:"gate,omitempty"`
	// GateReason is the reason of that.
	GateReason v1alpha1.Reason `json:"gateReason,omitempty"`
}

// Stalled is the state of a seed that a person has to deal with.
const Stalled = "Stalled"

// Unknown is the state of a seed that no pass has reported yet.
const Unknown = "Unknown"

// staleAfter is how many intervals may go by without a report before its run seems to have ended.
const staleAfter = 3

// Outdated reports whether nobody keeps the state current, and how often passes should report. A state
// without an interval, as of passes that are made by hand, is never outdated.
func (s *State) Outdated(now time.Time) (interval time.Duration, outdated bool) {
	interval, err := time.ParseDuration(s.Interval)
	return interval, err == nil && !s.LastPass.IsZero() && now.Sub(s.LastPass) > staleAfter*interval
}

// Done reports whether every tier of every seed is where it should be.
func (s *State) Done() bool {
	return len(s.Problems) == 0 && !slices.ContainsFunc(s.Seeds, func(one Seed) bool {
		return one.State != string(release.Released) && one.State != string(release.Gone)
	})
}

// Seed returns one seed.
func (s *State) Seed(name string) (*Seed, bool) {
	i := slices.IndexFunc(s.Seeds, func(one Seed) bool { return one.Name == name })
	if i < 0 {
		return nil, false
	}
	return &s.Seeds[i], true
}

// Abandonment is a cluster that was given up.
type Abandonment struct {
	Cluster string `json:"cluster"`
	// By says who, and when: "by Ada at 2026-11-23 09:00 UTC".
	By string `json:"by,omitempty"`
}

// NoteAbandoned notes which of the clusters that the seed is on were abandoned, and by whom.
func (s *Seed) NoteAbandoned(clusters []Cluster) {
	s.Abandoned = nil
	for _, c := range clusters {
		if c.Abandoned && slices.ContainsFunc(s.Tiers, func(t Tier) bool { return t.Cluster == c.Name }) {
			s.Abandoned = append(s.Abandoned, Abandonment{c.Name, c.AbandonedBy})
		}
	}
}

// KeepSince copies times from an earlier state: what cannot be read still, and tiers that are in
// the same state, keep the time since when that is so. It is called before Date, which fills in the
// rest.
func (s *State) KeepSince(had *State) {
	for i := range s.Stale {
		for _, before := range had.Stale {
			if before.Repo == s.Stale[i].Repo {
				s.Stale[i].Since = earlier(s.Stale[i].Since, before.Since)
			}
		}
	}
	for i := range s.Seeds {
		if before, ok := had.Seed(s.Seeds[i].Name); ok {
			s.Seeds[i].KeepSince(before)
		}
	}
}

// KeepSince is State.KeepSince for one seed.
func (s *Seed) KeepSince(had *Seed) {
	for i := range s.Tiers {
		t := &s.Tiers[i]
		if was := had.tier(t.Cluster, t.Ordinal, i); was != nil && was.State == t.State {
			t.Since = earlier(t.Since, was.Since)
		}
	}
}

// CountProposals notes how many proposals are open in each repository.
func (s *State) CountProposals() {
	open := map[string]int{}
	for i := range s.Seeds {
		for _, t := range openProposals(s.Seeds[i].Tiers) {
			open[t.Proposal.Repo]++
		}
	}
	for i := range s.Repositories {
		s.Repositories[i].Proposals = open[s.Repositories[i].Name]
	}
}

// Date has the tiers whose state is new be in it since now.
func (s *State) Date(now time.Time) {
	for i := range s.Seeds {
		s.Seeds[i].Date(now)
	}
}

// Date is State.Date for one seed.
func (s *Seed) Date(now time.Time) {
	for i := range s.Tiers {
		if t := &s.Tiers[i]; t.Since.IsZero() {
			t.Since = now.UTC().Truncate(time.Second)
		}
	}
}

// earlier returns the earlier of two times; one may be unknown.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// tier finds a tier, which is likely the one at a position.
func (s *Seed) tier(cluster string, ordinal, likely int) *Tier {
	is := func(t Tier) bool { return t.Cluster == cluster && t.Ordinal == ordinal }
	if likely < len(s.Tiers) && is(s.Tiers[likely]) {
		return &s.Tiers[likely]
	}
	if i := slices.IndexFunc(s.Tiers, is); i >= 0 {
		return &s.Tiers[i]
	}
	return nil
}

// Shut reports whether the tier has an open proposal that must not be merged now.
func (t *Tier) Shut() bool { return t.Proposal != nil && t.Proposal.Gate != "" }

// WaitsForReview reports whether a person is to merge the tier's proposal, or to reject it.
func (t *Tier) WaitsForReview() bool {
	switch t.Reason {
	case v1alpha1.ReasonEditedOnPlainGit, v1alpha1.ReasonAutoMerging, v1alpha1.ReasonWaitingForChecks:
		return false
	}
	return t.State == release.Proposed && t.Proposal != nil && !t.Shut()
}

// IsComplete reports whether the tier is where it should be.
func (t *Tier) IsComplete() bool { return t.State.Done() }

// NeedsDecision reports whether the tier waits for a person to do something else than to review.
func (t *Tier) NeedsDecision() bool {
	return t.State == release.Held || t.State == release.Rejected || t.State == release.Reverted
}

// Finished counts the tiers that are where they should be.
func (s *Seed) Finished() int {
	n := 0
	for i := range s.Tiers {
		if s.Tiers[i].IsComplete() {
			n++
		}
	}
	return n
}

// UrgentAs returns the state that decides how urgent the tier is: a proposal that waits for other
// tiers is nothing for a person to do, and counts as Blocked.
func (t *Tier) UrgentAs() release.State {
	if t.State == release.Proposed && t.Shut() && len(t.Waits) > 0 {
		return release.Blocked
	}
	return t.State
}

// openProposals returns the tiers that have an open proposal, one for each.
func openProposals(tiers []Tier) []Tier {
	return onePerProposal(slices.DeleteFunc(slices.Clone(tiers), func(t Tier) bool { return t.State == release.Rejected }))
}

// onePerProposal leaves out tiers whose proposal an earlier one has already, and those without
// a proposal: several tiers may share one.
func onePerProposal(tiers []Tier) []Tier {
	seen := map[string]bool{"": true}
	return slices.DeleteFunc(slices.Clone(tiers), func(t Tier) bool {
		key := ""
		if t.Proposal != nil {
			key = t.Proposal.Repo + " " + t.Proposal.Branch + " " + t.Proposal.URL
		}
		had := seen[key]
		seen[key] = true
		return had
	})
}

// ForReview returns the tiers whose proposals wait for a person, one for each proposal.
func ForReview(tiers []Tier) []Tier {
	return slices.DeleteFunc(onePerProposal(tiers), func(t Tier) bool { return !t.WaitsForReview() })
}

// ManyProposals returns the warning that so many proposals wait for a person that grouping is
// suggested; nil if it is not.
func (s *Seed) ManyProposals() *manifest.Problem {
	i := slices.IndexFunc(s.Warnings, func(w manifest.Problem) bool { return w.Reason == v1alpha1.ReasonManyProposals })
	if i < 0 {
		return nil
	}
	return &s.Warnings[i]
}

// maxForReview is how many proposals of a seed may wait for a person before grouping is suggested.
const maxForReview = 20

// SuggestGrouping warns of more proposals than a person likes to read one by one.
func (s *Seed) SuggestGrouping(by v1alpha1.GroupBy) {
	open := len(ForReview(s.Tiers))
	if open <= maxForReview || by != "" {
		return
	}
	s.Warnings = append(s.Warnings, manifest.Problem{
		Reason: v1alpha1.ReasonManyProposals, Seed: s.Name, Field: "spec.rollout.groupBy", Message: fmt.Sprintf("%d proposals wait for review", open),
		Next: "To have tiers proposed together, set spec.rollout.groupBy of the Seed to Level, Cluster or Seed.",
	})
}

// urgency has the states by how much attention they need: those that need a person first, then what
// is under way.
var urgency = []release.State{
	release.Held, release.Failed, release.Rejected, release.Reverted, release.Outdated, release.Proposed, release.Queued,
	release.Merged, release.Progressing, release.Blocked, release.Released, release.Gone,
}

// MostUrgent returns the tier that most needs attention, the first of those that say the same; nil
// of none.
func MostUrgent(tiers []Tier) *Tier {
	for _, s := range urgency {
		if i := slices.IndexFunc(tiers, func(t Tier) bool { return t.UrgentAs() == s }); i >= 0 {
			return &tiers[i]
		}
	}
	return nil
}

// Urgency orders states of tiers and seeds: what needs a person first, what nothing
// is known of right after.
func Urgency(state string) int {
	if state == Stalled {
		return -2
	}
	return slices.Index(urgency, release.State(state))
}

// Summary returns the state of a seed or planting with these tiers.
func Summary(tiers []Tier) string {
	if t := MostUrgent(tiers); t != nil {
		return string(t.State)
	}
	return string(release.Released) // of no tiers: other seeds have all that it wants
}

// Compare orders tiers as they are released.
func (t Tier) Compare(other Tier) int {
	return cmp.Or(cmp.Compare(t.Level, other.Level), cmp.Compare(t.Cluster, other.Cluster), cmp.Compare(t.Ordinal, other.Ordinal))
}

// Name returns the tier's name within its seed, for people.
func (t Tier) Name() string { return layout.Tier{Cluster: t.Cluster, Ordinal: t.Ordinal}.Name() }
