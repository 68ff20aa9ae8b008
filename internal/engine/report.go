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
	"github.com/furrow-dev/furrow/internal/state"
)

// Report is the state that a pass publishes, and what only this process needs of the pass.
type Report struct {
	state.State
	// Changed reports whether the pass pushed something.
	Changed bool
	// Rounds is how often the decision's questions were answered.
	Rounds int
	// Raced reports whether another engine was faster, so the next pass should come soon.
	Raced bool
	// Until is when a window, a soak or the limits of a forge let something go on; zero where none
	// does.
	Until time.Time
	// Now is when the pass observed.
	Now time.Time
	// Rival is another process that reports for this control plane, too; nil where none does.
	Rival *pass.Writer
	// RetryAfter is how long the control plane's server asked to wait.
	RetryAfter time.Duration
	// Plans are the plans in force, by seed, and Previous those that were on their branches when the pass began.
	Plans, Previous map[string]*plan.Plan
	// ReadErr is why the control plane could not be read anew; nil if it was.
	ReadErr error
	// Repos are the GitOps repositories, by name.
	Repos map[string]RepoReport
	// Catalog is what the control plane declares, and Settings the version of those that
	// it was read with.
	Catalog  *catalog.Catalog
	Settings string
}

// RepoReport is how a GitOps repository was found.
type RepoReport struct {
	// URL of the repository, without credentials.
	URL string
	// SigningKey is the public key that commits are signed with; empty if they are not.
	SigningKey string
	// Head of the base branch; zero when it is not known.
	Head git.Hash
	// Proposals counts the open ones of the engine's seeds.
	Proposals int
	// Err says why it cannot be used.
	Err error
	// Limit says what waits for the forge to allow more requests; nil where nothing does.
	Limit *state.Limit
	// Warnings are what people should know of its proposals and that holds nothing.
	Warnings manifest.Problems
}

// report returns what a pass has observed, decided and done; before it acts, with an empty outcome.
// It reads nothing and changes nothing but the notes since when something is unread.
func (o *observation) report(d *pass.Decision, done *outcome) *Report {
	out := &Report{
		State:   state.New(o.engine.self.Owner, o.engine.self.Origin, o.engine.tree.Revision),
		Changed: o.changed || done.unfinished, Raced: o.raced, Rounds: o.rounds, Plans: map[string]*plan.Plan{}, Previous: map[string]*plan.Plan{},
		Now: o.facts.Now, Rival: o.rival(), ReadErr: o.readErr, Repos: map[string]RepoReport{}, Catalog: o.engine.loaded,
	}
	if o.engine.config.Interval > 0 {
		out.Interval = o.engine.heartbeat().String()
	}
	if o.engine.tree.Settings != nil {
		out.Settings = o.engine.tree.Settings.Version
	}
	out.Problems = append(out.Problems, o.notSigned()...)
	if o.tree.Refused != nil {
		out.Problems = append(out.Problems, manifest.AsProblem(o.tree.Refused))
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
		err := cmp.Or(r.facts.Failure.AsError(), r.err, r.unready)
		if err != nil {
			out.Problems = append(out.Problems, manifest.AsProblem(err))
		}
		repo := RepoReport{SigningKey: r.signingKey(), URL: git.Remote{URL: o.engine.loaded.Repos[name].Spec.URL}.String(), Head: r.head, Proposals: o.countProposals(d, r), Err: err}
		if repo.Limit = o.limitOf(r); repo.Limit != nil {
			out.goOn(repo.Limit.Until)
		}
		repo.Warnings = r.warnings(d)
		out.Warnings = append(out.Warnings, repo.Warnings...)
		out.Repos[name] = repo
		out.Repositories = append(out.Repositories, state.Repository{Name: name, URL: repo.URL, Branch: r.facts.Base, Limit: repo.Limit, MergeBy: d.MergeBy[name].Ways})
	}
	out.Problems = append(out.Problems, done.problemsOf("")...)
	for _, name := range slices.Sorted(maps.Keys(d.Seeds)) {
		if s := d.Seeds[name]; !s.Foreign() || done.seeds[name] != nil {
			out.Seeds = append(out.Seeds, reportSeed(o.facts, s, done))
			out.Plans[name] = s.Plan
			out.goOn(s.Result.Rollout.Until())
			if p := d.Previous[name]; p != nil {
				out.Previous[name] = p.Plan
			}
		}
	}
	out.Clusters = o.clusters(&out.State)
	for i := range out.Seeds {
		out.Seeds[i].NoteAbandoned(out.Clusters)
	}
	out.CountProposals()
	if o.engine.last != nil {
		out.KeepSince(o.engine.last)
	}
	out.Date(o.engine.config.Now())
	return out
}

// goOn notes a time at which something goes on by itself; zero for none.
func (r *Report) goOn(at time.Time) {
	if !at.IsZero() && (r.Until.IsZero() || at.Before(r.Until)) {
		r.Until = at
	}
}

// limitOf returns what waits for the forge of a repository to allow more requests.
func (o *observation) limitOf(r *repoState) *state.Limit {
	if r.openRepo == nil {
		return nil
	}
	at, what := r.Forge.Budget().Closed(o.engine.began), "what people do to pull requests is noticed then"
	if at.IsZero() || !r.resumes.IsZero() && r.resumes.Before(at) {
		at, what = r.resumes, "what waits to be proposed is proposed then, in turn"
	}
	if at.IsZero() {
		return nil
	}
	at = at.UTC().Truncate(time.Second)
	return &state.Limit{Reason: v1alpha1.ReasonRateLimited, Until: at, Message: fmt.Sprintf("the forge allows no more requests until %s; %s", at.Format("15:04:05 MST"), what)}
}

// warnings returns what people should know of the repository's proposals.
func (r *repoState) warnings(d *pass.Decision) (out manifest.Problems) {
	if r.openRepo == nil {
		return nil
	}
	for _, w := range append(r.Forge.Warnings(), d.MergeBy[r.name].Warnings...) {
		w.Repo, w.Object = r.name, fmt.Sprintf("GitOpsRepo %q", r.name)
		out = append(out, w)
	}
	return out
}

// clusters returns those that are declared, others that tiers are on, and those that were given up,
// sorted by name.
func (o *observation) clusters(of *state.State) []state.Cluster {
	out := map[string]state.Cluster{}
	for name, c := range o.engine.loaded.Inventory.Clusters {
		out[name] = state.Cluster{Name: name, Role: string(c.Role), Type: c.Type, Labels: c.Labels, Repo: c.Repo, Hub: c.Hub}
	}
	for i := range of.Seeds {
		for j := range of.Seeds[i].Tiers {
			if name := of.Seeds[i].Tiers[j].Cluster; out[name].Name == "" {
				out[name] = state.Cluster{Name: name}
			}
		}
	}
	for _, r := range o.repos {
		for branch := range r.refs {
			if name, ok := layout.AbandonedCluster(r.facts.Base, pass.MarkerScope(o.engine.self), branch); ok && !r.facts.Asked(branch).IsZero() {
				c := out[name]
				c.Name, c.Abandoned = name, true
				if by := o.facts.AbandonedBy(name); by != nil {
					c.AbandonedBy = by.String()
				}
				out[name] = c
			}
		}
	}
	return slices.SortedFunc(maps.Values(out), func(a, b state.Cluster) int { return cmp.Compare(a.Name, b.Name) })
}

// stale returns what cannot be read in this pass, and since when that has been so.
func (o *observation) stale() []state.Stale {
	unread := map[string]bool{"": o.readErr != nil}
	for name, r := range o.repos {
		unread[name] = r.err != nil || r.facts.Failure != nil
	}
	var out []state.Stale
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
		out = append(out, state.Stale{Repo: name, Since: since})
	}
	return out
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

// reportSeed returns the state of a seed: of its tiers, or Stalled if anything of the seed as a
// whole is wrong. Its tiers keep their states even so: they are as true as without the fault.
func reportSeed(f *pass.Facts, s *pass.Seed, done *outcome) state.Seed {
	out := state.Seed{Name: s.Name, Unconfirmed: s.Waiting()}
	if by := f.ConfirmedBy(s); by != nil {
		out.Confirmed = by.String()
	}
	if s.Plan != nil {
		out.Removal, out.Revision = s.Plan.Removal, s.Plan.Revision
		for i := range s.Plan.Tiers {
			out.Tiers = append(out.Tiers, reportTier(f, s, &s.Plan.Tiers[i], s.Result.Tiers[i], done))
		}
		if s.Plan.MovedFrom != "" {
			out.Warnings = append(out.Warnings, pass.MovedWarning(s.Plan))
		}
		for _, w := range s.Plan.Warnings {
			out.Warnings = append(out.Warnings, w.Problem())
		}
		for _, cluster := range slices.Sorted(maps.Keys(s.Broken)) {
			out.Warnings = append(out.Warnings, manifest.Problem{Reason: v1alpha1.ReasonClusterKept, Cluster: cluster,
				Message: fmt.Sprintf("cluster %s stays as it was last planned: %s", cluster, s.Broken[cluster])})
		}
		out.State = state.Summary(out.Tiers)
		if n := len(s.Plan.Awaits); n > 0 && out.State == string(release.Released) {
			out.State, out.Reason, out.Message = string(release.Blocked), v1alpha1.ReasonHandedOver, s.Plan.Awaits[0].String()
			if n > 1 {
				out.Message += fmt.Sprintf(", and %d more", n-1)
			}
		}
		out.Rollout = reportRollout(s.Result.Rollout)
	}
	out.Warnings = append(out.Warnings, s.Warnings...)
	if seed, ok := f.ControlPlane.Catalog.Seed(s.Name); ok {
		for _, skipped := range seed.Skipped { // since the plan was made, or by a seed that has none
			if !slices.ContainsFunc(out.Warnings, func(w manifest.Problem) bool { return w.Error() == skipped.Error() }) {
				out.Warnings = append(out.Warnings, skipped)
			}
		}
	}
	if s.Plan != nil {
		out.SuggestGrouping(s.Plan.GroupBy)
	}
	errs := []error{s.Failure.AsError(), done.seeds[s.Name]}
	for _, p := range done.problemsOf(s.Name) {
		errs = append(errs, p)
	}
	for _, err := range errs {
		out.Problems = append(out.Problems, manifest.ProblemsOf(err)...)
	}
	if err := errors.Join(errs...); err != nil {
		out.State, out.Message, out.Reason = state.Stalled, err.Error(), out.Problems[0].Reason
		if limit := limitedIn(f, out.Problems); limit != nil {
			out.State, out.Message, out.Reason = state.Unknown, limit.Message, v1alpha1.ReasonRateLimited
		}
	}
	return out
}

// limitedIn returns why the repositories of some problems cannot be read, if that is only because
// their forges allow no more requests now: nobody has to do anything then.
func limitedIn(f *pass.Facts, problems manifest.Problems) (limit *pass.Failure) {
	for _, p := range problems {
		r := f.Repos[p.Repo]
		if r == nil || r.Failure == nil || r.Failure.Problem().Reason != v1alpha1.ReasonRateLimited {
			return nil
		}
		limit = r.Failure
	}
	return limit
}

// reportRollout returns how far the waves of a seed are; nil where there is nothing to say.
func reportRollout(r *release.RolloutStatus) *state.Rollout {
	if r == nil || len(r.Waves) == 0 && r.Paused == nil && r.Unpaced == nil {
		return nil
	}
	out := &state.Rollout{}
	if r.Paused != nil {
		out.Paused = r.Paused.String()
	}
	if r.Unpaced != nil {
		out.Unpaced = r.Unpaced.String()
	}
	for _, w := range r.Waves {
		out.Waves = append(out.Waves, state.Wave{Name: w.Name, State: w.State, Leaving: w.Leaving, Clusters: w.Clusters, Done: w.Done, Reason: w.Reason, Message: w.Message, Until: w.Until})
	}
	return out
}

// withMoves adds to the message of a tier that objects move to or from it, or to another seed, unless that is over.
func withMoves(message string, p *plan.Plan, t *plan.Tier, is release.State) string {
	var moves []string
	for _, m := range p.MovesOn(t) {
		if m.Stage != plan.StageUnprotect || m.To == t.Ordinal && !is.Done() {
			moves = append(moves, m.Summary())
		}
	}
	if !is.Done() {
		for _, h := range p.HandedOver(t) {
			moves = append(moves, h.String())
		}
	}
	if len(moves) > 1 {
		moves[0] += fmt.Sprintf(", and %d more", len(moves)-1)
	}
	if len(moves) == 0 {
		return message
	}
	return message + "; " + moves[0]
}

// reportTier returns the state of a tier as it was decided, corrected by what failed when it was
// acted upon. A failure that passes by itself changes only the message; any other one holds the
// tier until a person acts.
func reportTier(f *pass.Facts, d *pass.Seed, t *plan.Tier, s release.TierStatus, done *outcome) state.Tier {
	facts := d.Tiers[s.Tier]
	out := state.Tier{Cluster: t.Cluster, Ordinal: t.Ordinal, Level: t.Level, Wave: s.Wave, State: s.State, Reason: s.Reason, On: s.On, Object: s.Object, Path: s.Path, Message: s.Message, Amended: s.Amended, Objects: len(d.Plan.Objects(t)), Digest: t.Digest()}
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
	out.Message = withMoves(out.Message, d.Plan, t, s.State)
	waits := map[layout.Tier]bool{}
	for _, w := range s.Waits {
		waits[w.Tier] = true
		out.Waits = append(out.Waits, state.Edge{Tier: tierName(d.Name, w.Tier), State: w.State, Reason: w.Reason, Why: w.Why})
	}
	for _, pre := range t.Prerequisites {
		if name := (layout.Tier{Seed: cmp.Or(pre.Seed, d.Name), Cluster: pre.Cluster, Ordinal: pre.Ordinal}); !waits[name] {
			out.After = append(out.After, state.Edge{Tier: tierName(d.Name, name), Why: pre.Why})
		}
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
		out.Proposal = &state.Proposal{Repo: t.Repo, Branch: branch, Title: manifest.Printable(proposal.Title), URL: proposal.URL, Gate: s.Shut(), GateReason: s.ShutReason()}
	}
	return out
}

// tierName returns a tier's name within its seed, for people.
func tierName(of string, t layout.Tier) string {
	if t.Seed != of {
		return t.Seed + " on " + t.Name()
	}
	return t.Name()
}
