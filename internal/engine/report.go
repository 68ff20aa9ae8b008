package engine

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/pass"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/git"
)

// ReportKind is what status.yaml has in kind.
const ReportKind = "Status"

// StatusFile is the report's file on the status branch.
const StatusFile = "status.yaml"

// Report is what a pass has observed and done, for people. As it is published it holds no
// time of its own, so that the report of a pass in which nothing happened is the same.
type Report struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Owner      string `json:"owner"`
	// Origin is the digest of where the control plane is kept.
	Origin string `json:"origin,omitempty"`
	// Revision of the control-plane repository that was read.
	Revision string `json:"revision"`
	// Interval is how often at least passes report, as in 1m0s; empty when they are made by hand.
	Interval string `json:"interval,omitempty"`
	// LastPass is when the pass was made that reported last. Readers take it from the
	// commit that has the status.
	LastPass time.Time `json:"lastPass,omitzero"`
	// Problems are those of the control plane and of repositories as a whole.
	Problems manifest.Problems `json:"problems,omitempty"`
	// Stale is what cannot be read now, so that what the report says of it is of before.
	Stale []StaleReport `json:"stale,omitempty"`
	// Warnings name what is not read of the control plane, outside of seeds.
	Warnings manifest.Problems `json:"warnings,omitempty"`
	Seeds    []SeedReport      `json:"seeds"`
	// Changed says that the pass pushed something. It is not part of the status.
	Changed bool `json:"-"`
	// Rounds is how often the decision's questions were answered. It is not part of the status.
	Rounds int `json:"-"`
	// Raced says that another engine was faster, so that it is worth looking again
	// soon. It is not part of the status.
	Raced bool `json:"-"`
	// RetryAfter is how long the control plane's server asked to wait. It is not part of the status.
	RetryAfter time.Duration `json:"-"`
	// Plans are the plans in force, by seed. They are not part of the status.
	Plans map[string]*plan.Plan `json:"-"`
	// ReadErr says that the control plane could not be read anew. It is not part of the status.
	ReadErr error `json:"-"`
	// Repos are the GitOps repositories, by name. They are not part of the status.
	Repos map[string]RepoReport `json:"-"`
	// Catalog is what the control plane declares, and Settings the version of those that
	// it was read with. They are not part of the status.
	Catalog  *catalog.Catalog `json:"-"`
	Settings string           `json:"-"`
}

// StaleReport is what cannot be read, and since when.
type StaleReport struct {
	// Repo is a GitOps repository; empty for the control plane.
	Repo  string    `json:"repo,omitempty"`
	Since time.Time `json:"since"`
}

// RepoReport is how a GitOps repository was found.
type RepoReport struct {
	// URL of the repository, without credentials.
	URL string
	// Head of the base branch; zero when it is not known.
	Head git.Hash
	// Proposals counts the open ones of the engine's seeds.
	Proposals int
	// Err says why it cannot be used.
	Err error
}

// SeedReport is the state of one seed.
type SeedReport struct {
	Name string `json:"name"`
	// State sums the tiers up: Stalled, or the least advanced of the tiers'.
	State string `json:"state"`
	// Reason and Message say why a seed is Stalled; Problems are all that is wrong, with what each is about.
	Reason   v1alpha1.Reason   `json:"reason,omitempty"`
	Message  string            `json:"message,omitempty"`
	Problems manifest.Problems `json:"problems,omitempty"`
	Removal  bool              `json:"removal,omitempty"`
	// Unconfirmed is what is removed once a person confirms it, for people: whatever says
	// so in a message has it here too.
	Unconfirmed []string     `json:"unconfirmed,omitempty"`
	Tiers       []TierReport `json:"tiers,omitempty"`
	// Warnings are the plan's, and name the files that are not read.
	Warnings manifest.Problems `json:"warnings,omitempty"`
}

// TierReport is the state of one tier.
type TierReport struct {
	Cluster string `json:"cluster"`
	Ordinal int    `json:"ordinal"`
	// Level orders the tiers of all clusters: those of a lower level come first.
	Level int           `json:"level"`
	State release.State `json:"state"`
	// Reason is why it is in that state; On, Object and Path are the cluster, the object there and the path that this
	// is about, where it is about others than the tier itself.
	Reason  v1alpha1.Reason `json:"reason,omitempty"`
	On      string          `json:"on,omitempty"`
	Object  string          `json:"object,omitempty"`
	Path    string          `json:"path,omitempty"`
	Message string          `json:"message,omitempty"`
	Since   string          `json:"since,omitempty"`
	// Waits are the tiers that it waits for, and why.
	Waits []WaitReport `json:"waits,omitempty"`
	// Amended says how to see what a person changed before merging.
	Amended string `json:"amended,omitempty"`
	// Retry says that a person's retry has the tier proposed again.
	Retry bool `json:"retry,omitempty"`
	// Foreign are files at the tier's paths on the base branch that others put there: the
	// tier's proposal, once a person retries it, deletes or replaces them.
	Foreign []string `json:"foreign,omitempty"`
	// Proposal is the open proposal, or the rejected one.
	Proposal *ProposalReport `json:"proposal,omitempty"`
	Objects  int             `json:"objects"`
	// Wants is the digest of the tier's entries. It is not part of the status.
	Wants string `json:"-"`
}

// Shut says that the tier has an open proposal that must not be merged now.
func (t *TierReport) Shut() bool { return t.Proposal != nil && t.Proposal.Gate != "" }

// WaitsForReview says that a person is to merge the tier's proposal, or to reject it.
func (t *TierReport) WaitsForReview() bool {
	return t.State == release.Proposed && t.Proposal != nil && !t.Shut() && t.Reason != v1alpha1.ReasonEditedOnPlainGit
}

// OnePerProposal leaves out tiers whose proposal an earlier one has already, and those without
// a proposal: several tiers may share one.
func OnePerProposal(tiers []TierReport) []TierReport {
	seen := map[string]bool{"": true}
	return slices.DeleteFunc(slices.Clone(tiers), func(t TierReport) bool {
		key := ""
		if t.Proposal != nil {
			key = t.Proposal.Repo + " " + t.Proposal.Branch + " " + t.Proposal.URL
		}
		had := seen[key]
		seen[key] = true
		return had
	})
}

// ForReview are the tiers whose proposals wait for a person, one for each proposal.
func ForReview(tiers []TierReport) []TierReport {
	return slices.DeleteFunc(OnePerProposal(tiers), func(t TierReport) bool { return !t.WaitsForReview() })
}

// ManyProposals says that so many proposals wait for a person that grouping is suggested; nil
// where it is not.
func (s *SeedReport) ManyProposals() *manifest.Problem {
	i := slices.IndexFunc(s.Warnings, func(w manifest.Problem) bool { return w.Reason == v1alpha1.ReasonManyProposals })
	if i < 0 {
		return nil
	}
	return &s.Warnings[i]
}

// maxForReview is how many proposals of a seed may wait for a person before grouping is suggested.
const maxForReview = 20

// suggestGrouping warns of more proposals than a person likes to read one by one.
func (s *SeedReport) suggestGrouping(by v1alpha1.GroupBy) {
	open := len(ForReview(s.Tiers))
	if open <= maxForReview || by != "" {
		return
	}
	s.Warnings = append(s.Warnings, manifest.Problem{
		Reason: v1alpha1.ReasonManyProposals, Seed: s.Name, Field: "spec.rollout.groupBy", Message: fmt.Sprintf("%d proposals wait for review", open),
		Next: "To have tiers proposed together, set spec.rollout.groupBy of the Seed to Level, Cluster or Seed.",
	})
}

// UrgentAs is the state as which the tier counts for what is to be done: a proposal that
// waits for other tiers is nothing for a person to do.
func (t *TierReport) UrgentAs() release.State {
	if t.State == release.Proposed && t.Shut() && len(t.Waits) > 0 {
		return release.Blocked
	}
	return t.State
}

// WaitReport is one thing that a tier waits for.
type WaitReport struct {
	Tier   string          `json:"tier"`
	State  release.State   `json:"state"`
	Reason v1alpha1.Reason `json:"reason,omitempty"`
	Why    string          `json:"why"`
}

// ProposalReport says where people find a proposal.
type ProposalReport struct {
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

// Done says that every tier of every seed is where it should be.
func (r *Report) Done() bool {
	for _, s := range r.Seeds {
		if s.State != string(release.Released) && s.State != string(release.Gone) {
			return false
		}
	}
	return len(r.Problems) == 0
}

// Seed returns the report of one seed.
func (r *Report) Seed(name string) (*SeedReport, bool) {
	for i := range r.Seeds {
		if r.Seeds[i].Name == name {
			return &r.Seeds[i], true
		}
	}
	return nil, false
}

// report is what a pass has observed, decided and done.
func (o *observation) report(d *pass.Decision, done *outcome) *Report {
	out := &Report{
		APIVersion: v1alpha1.APIVersion, Kind: ReportKind, Owner: o.engine.self.Owner, Origin: o.engine.self.Origin, Revision: o.engine.tree.Revision,
		Changed: o.changed || done.unfinished, Raced: o.raced, Rounds: o.rounds, Plans: map[string]*plan.Plan{}, Seeds: []SeedReport{},
		ReadErr: o.readErr, Repos: map[string]RepoReport{}, Catalog: o.engine.loaded,
	}
	if o.engine.config.Interval > 0 {
		out.Interval = o.engine.heartbeat().String()
	}
	if o.engine.tree.Settings != nil {
		out.Settings = o.engine.tree.Settings.Version
	}
	if o.readErr != nil {
		out.Problems = append(out.Problems, manifest.AsProblem(fmt.Errorf("the control-plane repository cannot be read: %w; what was read last stays in force", unreadSource(o.readErr))))
		out.RetryAfter, _ = git.RetryAfter(o.readErr)
	}
	out.Stale = o.stale()
	out.Problems = append(out.Problems, o.engine.loaded.Problems...)
	out.Warnings = append(out.Warnings, o.engine.loaded.Skipped...)
	for _, name := range slices.Sorted(maps.Keys(o.repos)) {
		r := o.repos[name]
		err := cmp.Or(r.facts.Failure.AsError(), r.err)
		if err != nil {
			out.Problems = append(out.Problems, manifest.AsProblem(err))
		}
		out.Repos[name] = RepoReport{URL: git.Remote{URL: o.engine.loaded.Repos[name].Spec.URL}.String(), Head: r.head, Proposals: o.countProposals(d, r), Err: err}
	}
	out.Problems = append(out.Problems, done.problemsOf("")...)
	for _, name := range slices.Sorted(maps.Keys(d.Seeds)) {
		if s := d.Seeds[name]; !s.Foreign() || done.seeds[name] != nil {
			out.Seeds = append(out.Seeds, reportSeed(o.facts, s, done))
			out.Plans[name] = s.Plan
		}
	}
	return out
}

// stale is what cannot be read in this pass, and since when that has been so.
func (o *observation) stale() []StaleReport {
	unread := map[string]bool{"": o.readErr != nil}
	for name, r := range o.repos {
		unread[name] = r.err != nil || r.facts.Failure != nil
	}
	var out []StaleReport
	for _, name := range slices.Sorted(maps.Keys(unread)) {
		since, known := o.engine.unread[name]
		switch {
		case !unread[name]:
			delete(o.engine.unread, name)
			continue
		case !known:
			since = o.engine.config.Now().UTC().Truncate(time.Second)
			o.engine.unread[name] = since
		}
		out = append(out, StaleReport{name, since})
	}
	return out
}

// keepSince lets what was stale already when another run reported it be so since then.
func (r *Report) keepSince(had *Report) {
	r.Stale = slices.Clone(r.Stale)
	for i := range r.Stale {
		for _, before := range had.Stale {
			if before.Repo == r.Stale[i].Repo && before.Since.Before(r.Stale[i].Since) {
				r.Stale[i].Since = before.Since
			}
		}
	}
}

// countProposals counts the open proposals of the seeds that the engine cares for.
func (o *observation) countProposals(d *pass.Decision, r *repoState) int {
	count := 0
	for _, proposal := range r.proposals {
		if _, ours := d.Seeds[proposal.Seed]; ours && !proposal.Rejected {
			count++
		}
	}
	return count
}

func reportSeed(f *pass.Facts, s *pass.Seed, done *outcome) SeedReport {
	out := SeedReport{Name: s.Name, Unconfirmed: s.Waiting()}
	if s.Plan != nil {
		out.Removal = s.Plan.Removal
		for i := range s.Plan.Tiers {
			out.Tiers = append(out.Tiers, reportTier(f, s, &s.Plan.Tiers[i], s.Result.Tiers[i], done))
		}
		for _, w := range s.Plan.Warnings {
			out.Warnings = append(out.Warnings, w.Problem())
		}
		for _, cluster := range slices.Sorted(maps.Keys(s.Broken)) {
			out.Warnings = append(out.Warnings, manifest.Problem{Reason: v1alpha1.ReasonClusterKept, Cluster: cluster,
				Message: fmt.Sprintf("cluster %s stays as it was last planned: %s", cluster, s.Broken[cluster])})
		}
		out.State = summary(out.Tiers)
	}
	if seed, ok := f.ControlPlane.Catalog.Seed(s.Name); ok {
		for _, skipped := range seed.Skipped { // since the plan was made, or by a seed that has none
			if !slices.ContainsFunc(out.Warnings, func(w manifest.Problem) bool { return w.Error() == skipped.Error() }) {
				out.Warnings = append(out.Warnings, skipped)
			}
		}
	}
	if s.Plan != nil {
		out.suggestGrouping(s.Plan.GroupBy)
	}
	errs := []error{s.Failure.AsError(), done.seeds[s.Name]}
	for _, p := range done.problemsOf(s.Name) {
		errs = append(errs, p)
	}
	for _, err := range errs {
		out.Problems = append(out.Problems, manifest.ProblemsOf(err)...)
	}
	if err := errors.Join(errs...); err != nil {
		out.State, out.Message, out.Reason = Stalled, err.Error(), out.Problems[0].Reason
	}
	return out
}

// urgency has the states by how much they say about what is to be done: those that
// need a person first, then what is under way.
var urgency = []release.State{
	release.Held, release.Failed, release.Rejected, release.Reverted, release.Outdated, release.Proposed, release.Queued,
	release.Merged, release.Progressing, release.Blocked, release.Released, release.Gone,
}

// MostUrgent is the tier that says most about what is to be done, the first of
// those that say the same; nil of none.
func MostUrgent(tiers []TierReport) *TierReport {
	for _, s := range urgency {
		if i := slices.IndexFunc(tiers, func(t TierReport) bool { return t.UrgentAs() == s }); i >= 0 {
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

func summary(tiers []TierReport) string {
	if t := MostUrgent(tiers); t != nil {
		return string(t.State)
	}
	return string(release.Released) // of no tiers: other seeds have all that it wants
}

func reportTier(f *pass.Facts, d *pass.Seed, t *plan.Tier, s release.TierStatus, done *outcome) TierReport {
	facts := d.Tiers[s.Tier]
	out := TierReport{Cluster: t.Cluster, Ordinal: t.Ordinal, Level: t.Level, State: s.State, Reason: s.Reason, On: s.On, Object: s.Object, Path: s.Path, Message: s.Message, Since: s.Since, Amended: s.Amended, Objects: len(d.Plan.Objects(t)), Wants: t.Wants()}
	out.Retry, out.Foreign = release.Retriable(s, facts), facts.Foreign
	if err := cmp.Or(done.tiers[s.Tier], d.Failures[s.Tier].AsError()); err != nil {
		failure, isFailure := errors.AsType[*pass.Failure](err)
		switch {
		case !git.IsTransient(err) && !(isFailure && failure.Transient):
			out.State, out.Reason, out.Message = release.Held, manifest.ReasonOf(err), err.Error()
		case out.State != release.Held: // it is done as soon as the servers answer
			out.Reason, out.Message = manifest.ReasonOf(err), err.Error()
		}
	}
	for _, w := range s.Waits {
		out.Waits = append(out.Waits, WaitReport{tierName(d.Name, w.Tier), w.State, w.Reason, w.Why})
	}
	branch := layout.TierBranch(f.Repos[t.Repo].Base, s.Tier)
	if s.Group != "" {
		branch = layout.GroupBranch(f.Repos[t.Repo].Base, d.Name, s.Group)
	}
	proposal, open := done.opened[t.Repo+" "+branch]
	if !open {
		proposal, open = f.Repos[t.Repo].Proposals[branch]
	}
	if open && proposal.Has(s.Tier) && s.Act != release.ActSupersede {
		out.Proposal = &ProposalReport{Repo: t.Repo, Branch: branch, Title: manifest.Printable(proposal.Title), URL: proposal.URL, Gate: s.Shut(), GateReason: s.ShutReason()}
	}
	return out
}

// tierName is a tier's name within its seed, for people.
func tierName(of string, t layout.Tier) string {
	name := fmt.Sprintf("%s tier %s", t.Cluster, t.Number())
	if t.Seed != of {
		name = t.Seed + " on " + name
	}
	return name
}
