package seed

import (
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/controllers/condition"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/state"
)

// view is the result of a pass, from which statuses are made.
type view struct {
	now time.Time
	// report is nil if nothing could be observed; err has the cause.
	report *engine.Report
	err    error
}

// seedStatus returns the status of a Seed after a pass. Fields that could not be observed keep
// their last values.
func seedStatus(seed *v1alpha1.Seed, v view) v1alpha1.SeedStatus {
	s := *seed.Status.DeepCopy()
	c := condition.Of(&s.CommonStatus, seed.Generation, v.now)
	if v.report == nil {
		message := state.Cut(v.err.Error())
		reason := sourceReason(v.err)
		c.Set(v1alpha1.ConditionSourceReady, metav1.ConditionFalse, reason, message)
		c.Unknown(reason, message, needsPerson(v.err))
		s.WaitingFor = message
		return s
	}
	s.Revision = v.report.Revision
	if err := v.report.ReadErr; err != nil {
		c.Set(v1alpha1.ConditionSourceReady, metav1.ConditionFalse, sourceReason(err), state.Cut(fmt.Sprintf("%v; what was read last stays in force", err)))
	} else {
		c.Set(v1alpha1.ConditionSourceReady, metav1.ConditionTrue, v1alpha1.ReasonSucceeded, "read "+v.report.Revision)
	}
	found, ok := v.report.Seed(seed.Name)
	if !ok {
		showAbsent(seed, &s, c, v.report)
		return s
	}
	s.Plan = planSummary(found, v.report)
	found.ToStatus(&s)
	if err := v.report.ReadErr; err != nil && (s.WaitingFor == "" || needsPerson(err)) {
		s.WaitingFor = state.Cut(fmt.Sprintf("the control plane cannot be read: %v", err))
	}
	planned(c, found, s.Plan)
	showStages(c, found.Tiers)
	sumUp(c, verdictOf(seed, found, v.report, s))
	return s
}

// duplicateStatus returns the status of a Seed that another Seed plants already.
func duplicateStatus(seed *v1alpha1.Seed, by string, now time.Time) v1alpha1.SeedStatus {
	s := v1alpha1.SeedStatus{CommonStatus: *seed.Status.CommonStatus.DeepCopy(), State: state.Stalled, Handled: seed.Status.Handled}
	s.WaitingFor = state.Cut(fmt.Sprintf("Seed %s plants the same seed of the same tree already. Delete one of the two", by))
	condition.Of(&s.CommonStatus, seed.Generation, now).NotReady(v1alpha1.ReasonDuplicate, s.WaitingFor, true)
	return s
}

// showAbsent sets the status of a Seed that is not in the report: the tree has no such seed, and
// nothing of it is planted, or its repositories cannot be read.
func showAbsent(seed *v1alpha1.Seed, s *v1alpha1.SeedStatus, c condition.Writer, report *engine.Report) {
	for _, name := range slices.Sorted(maps.Keys(report.Repos)) {
		if r := report.Repos[name]; r.Err != nil {
			s.WaitingFor = state.Cut(r.Err.Error())
			c.Unknown(manifest.ReasonOf(manifest.About(manifest.Problem{Reason: v1alpha1.ReasonUnreachable}, r.Err)), s.WaitingFor, needsPerson(r.Err))
			return
		}
	}
	s.State, s.Progress, s.Tiers, s.Proposals, s.Blockers, s.Warnings = state.Stalled, "", nil, 0, nil, 0
	s.Unconfirmed, s.OmittedUnconfirmed = nil, 0
	s.WaitingFor = state.Cut(fmt.Sprintf("%s has no seed %q. Commit its package below seeds/, or delete this Seed", report.Revision, seed.Name))
	reason := v1alpha1.ReasonSeedNotFound
	switch { // keep a lost plan, so the next pass does not treat it as removed
	case !lost(s.Plan, report):
		s.Plan = nil
	case !seed.DeletionTimestamp.IsZero():
		reason = v1alpha1.ReasonPlanLost
		s.WaitingFor = state.Cut(fmt.Sprintf("no GitOps repository that is declared has the plan of seed %q any more. Declare the one that has it again, or set spec.deletionPolicy to Orphan", seed.Name))
	}
	c.Set(v1alpha1.ConditionPlanned, metav1.ConditionFalse, reason, s.WaitingFor)
	for _, stage := range stages {
		c.Set(stage.condition, metav1.ConditionFalse, reason, "there is no plan")
	}
	c.NotReady(reason, s.WaitingFor, true)
}

// verdict is the summary of the conditions.
type verdict struct {
	reason  v1alpha1.Reason
	message string
	// stalled means that a person is needed.
	ready, stalled bool
}

// verdictOf sums a Seed up; the first case that applies counts. What a person has to do comes
// before what merely takes time.
func verdictOf(seed *v1alpha1.Seed, r *state.Seed, report *engine.Report, s v1alpha1.SeedStatus) verdict {
	removing := !seed.DeletionTimestamp.IsZero() || r.Removal
	done := !slices.ContainsFunc(r.Tiers, func(t state.Tier) bool { return !t.IsComplete() })
	switch {
	case r.State == state.Stalled:
		return verdict{reason: r.Reason, message: r.Message, stalled: true}
	case r.State == state.Unknown:
		return verdict{reason: r.Reason, message: r.Message}
	case slices.ContainsFunc(r.Tiers, func(t state.Tier) bool { return t.NeedsDecision() }):
		return verdict{reason: reasonOf(r.Tiers), message: s.WaitingFor, stalled: true}
	case report.ReadErr != nil && (done || needsPerson(report.ReadErr)):
		message := fmt.Sprintf("%s tiers are released, and the control plane cannot be read anew: %v", s.Progress, report.ReadErr)
		return verdict{reason: sourceReason(report.ReadErr), message: state.Cut(message), stalled: needsPerson(report.ReadErr)}
	case removing:
		return verdict{reason: v1alpha1.ReasonRemoving, message: state.Cut("what is planted is being removed: " + s.Progress + " tiers are gone; " + s.WaitingFor)}
	case done:
		return verdict{reason: v1alpha1.ReasonSucceeded, message: fmt.Sprintf("all tiers of %s are released: %s", report.Revision, s.Progress), ready: true}
	case seed.Spec.Suspend:
		return verdict{reason: v1alpha1.ReasonSuspended, message: state.Cut("new proposals are held, as spec.suspend says; " + s.Progress + " tiers are released")}
	}
	return verdict{reason: reasonOf(r.Tiers), message: state.Cut(fmt.Sprintf("%s tiers are released; waiting for %s", s.Progress, s.WaitingFor))}
}

// sourceReason returns why a control plane cannot be read.
func sourceReason(err error) v1alpha1.Reason {
	return manifest.ReasonOf(manifest.About(manifest.Problem{Reason: v1alpha1.ReasonSourceFailed}, err))
}

// reasonOf returns the reason of the most urgent tier.
func reasonOf(tiers []state.Tier) v1alpha1.Reason {
	if t := state.MostUrgent(tiers); t != nil {
		return t.Reason
	}
	return v1alpha1.ReasonProgressing
}

// planSummary returns the plan in force in numbers, nil if there is none.
func planSummary(r *state.Seed, report *engine.Report) *v1alpha1.PlanSummary {
	p := report.Plans[r.Name]
	if p == nil {
		return nil
	}
	clusters := map[string]bool{}
	out := &v1alpha1.PlanSummary{Revision: p.Revision, Inputs: p.Inputs, Removal: p.Removal, Tiers: state.Count(len(r.Tiers))}
	for _, t := range r.Tiers {
		clusters[t.Cluster] = true
		out.Objects += state.Count(t.Objects)
	}
	out.Clusters = state.Count(len(clusters))
	if repos := p.Repos(); len(repos) > 0 {
		out.Repos = repos[:min(len(repos), v1alpha1.MaxRepos)]
		out.Branch = layout.PlanBranch(report.Catalog.Repos[repos[0]].Spec.BranchOrDefault(), p.Seed)
	}
	return out
}

// sumUp writes the summary conditions.
func sumUp(c condition.Writer, v verdict) {
	if v.ready {
		c.Ready(v.reason, state.Cut(v.message))
		return
	}
	c.NotReady(v.reason, state.Cut(v.message), v.stalled)
}

// planned sets the condition Planned: of a stalled seed it is false with the seed's reason.
func planned(c condition.Writer, r *state.Seed, p *v1alpha1.PlanSummary) {
	switch {
	case r.State == state.Stalled:
		c.Set(v1alpha1.ConditionPlanned, metav1.ConditionFalse, r.Reason, state.Cut(r.Message))
	case p != nil:
		c.Set(v1alpha1.ConditionPlanned, metav1.ConditionTrue, v1alpha1.ReasonSucceeded,
			fmt.Sprintf("%d objects in %d tiers on %d clusters, of %s", p.Objects, p.Tiers, p.Clusters, p.Revision))
	}
}

// stage is a positive condition and the states in which a tier has reached it.
type stage struct {
	condition, done string
	reached         []release.State
}

// stages are in order: a tier that has reached one has reached those before it.
var stages = []stage{
	{v1alpha1.ConditionProposed, "proposed", []release.State{
		release.Proposed, release.Outdated, release.Merged, release.Progressing, release.Failed, release.Released, release.Gone,
	}},
	{v1alpha1.ConditionMerged, "merged", []release.State{release.Merged, release.Progressing, release.Failed, release.Released, release.Gone}},
	{v1alpha1.ConditionReleased, "released", []release.State{release.Released, release.Gone}},
}

// showStages writes how many tiers have reached each stage.
func showStages(c condition.Writer, tiers []state.Tier) {
	for _, stage := range stages {
		n := 0
		for _, t := range tiers {
			if slices.Contains(stage.reached, t.State) {
				n++
			}
		}
		message := fmt.Sprintf("%d of %d tiers are %s", n, len(tiers), stage.done)
		if n == len(tiers) {
			c.Set(stage.condition, metav1.ConditionTrue, v1alpha1.ReasonSucceeded, message)
		} else {
			c.Set(stage.condition, metav1.ConditionFalse, v1alpha1.ReasonProgressing, message)
		}
	}
}

// plantingStatus returns the status of one Planting; tiers are the tiers of its cluster.
func plantingStatus(had *v1alpha1.Planting, tiers []state.Tier, now time.Time) v1alpha1.PlantingStatus {
	s := v1alpha1.PlantingStatus{CommonStatus: *had.Status.CommonStatus.DeepCopy()}
	of := state.Seed{Tiers: tiers}
	s.Progress, s.WaitingFor = of.Progress(), of.WaitingFor()
	if t := state.MostUrgent(tiers); t != nil {
		s.State, s.Current = string(t.State), fmt.Sprintf("%02d", t.Ordinal)
		if t.Proposal != nil && !t.Shut() {
			s.Proposal = t.Proposal.URL
		}
	}
	shown := state.Seed{Tiers: slices.Clone(tiers)}
	shown.KeepSince(&state.Seed{Tiers: state.FromPlanting(had)})
	shown.Date(now)
	state.ToPlanting(shown.Tiers, &s)
	c := condition.Of(&s.CommonStatus, had.Generation, now)
	showStages(c, tiers)
	sumUp(c, plantingVerdict(tiers, s))
	return s
}

// plantingVerdict sums a Planting up, by its tiers alone.
func plantingVerdict(tiers []state.Tier, s v1alpha1.PlantingStatus) verdict {
	switch {
	case s.WaitingFor == "":
		return verdict{reason: v1alpha1.ReasonSucceeded, message: "all tiers are where they should be: " + s.Progress, ready: true}
	case slices.ContainsFunc(tiers, func(t state.Tier) bool { return t.NeedsDecision() }):
		return verdict{reason: reasonOf(tiers), message: s.WaitingFor, stalled: true}
	}
	return verdict{reason: reasonOf(tiers), message: "waiting for " + s.WaitingFor}
}

// byCluster returns the tiers of each cluster.
func byCluster(tiers []state.Tier) map[string][]state.Tier {
	out := map[string][]state.Tier{}
	for _, t := range tiers {
		out[t.Cluster] = append(out[t.Cluster], t)
	}
	return out
}
