package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/forge"
)

// seedDecision is what is to become of one seed.
type seedDecision struct {
	name string
	// plan is the one in force; nil when there is none.
	plan *plan.Plan
	// record is the plan as it stands on its branches, or is to: with the entries that
	// tiers of an abandoned cluster may have before they go beside those in force.
	record *plan.Plan
	// files of a plan that is not on its branches yet.
	files map[string]map[string]plan.File
	// planned is what is on the branches.
	planned *plannedSeed
	facts   release.Facts
	result  release.Result
	// err says why the seed could not be planned or looked at anew; a plan that
	// is there goes on.
	err error
	// suspended is the seed's spec.suspend.
	suspended bool
	// gone says that the seed is no longer in the control plane.
	gone bool
	// broken are the clusters that stay as they were last planned, and why.
	broken map[string]string
	// unconfirmed is what is removed, of the seed as a whole, once a person confirms it.
	unconfirmed []string
	// held is how many plantings would go then.
	held int
	// retryLater says, by repository, that a person's wish to retry is not done with.
	retryLater map[string]bool
	// problems of acting, by tier.
	problems map[layout.Tier]error
}

// computeMemo remembers the last computation of plans, which is the same for
// the same control-plane revision and the same plans before.
type computeMemo struct {
	key      string
	outcomes map[string]*plan.Outcome
	// unsure says that something could not be read, so that the outcomes count
	// for this pass only.
	unsure bool
}

func (p *pass) decide(ctx context.Context) {
	before := p.lookAtPlans(ctx)
	outcomes := p.compute(before)
	for _, name := range p.seedNames() {
		p.seeds[name] = p.choose(name, outcomes[name], before[name])
	}
	p.holdRemovals(outcomes)
	p.guardRemovals()
	p.next(ctx)
}

// seedNames are all seeds there are: in the control plane or on a plan branch.
func (p *pass) seedNames() []string {
	names := map[string]bool{}
	for i := range p.catalog.Seeds {
		names[p.catalog.Seeds[i].Name] = true
	}
	for name, s := range p.previous {
		if !s.foreign {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// lookedAt is what became of a plan that is on its branches.
type lookedAt struct {
	settled bool
	err     error
}

func (p *pass) lookAtPlans(ctx context.Context) map[string]*lookedAt {
	out := map[string]*lookedAt{}
	for name, s := range p.previous {
		l := &lookedAt{err: s.err}
		out[name] = l
		if l.err != nil || s.plan == nil || s.foreign {
			continue
		}
		if s.facts, l.err = p.tierFacts(ctx, s.plan, s); l.err == nil {
			l.settled = release.Next(s.plan, release.Facts{Tiers: s.facts}).Settled
		}
	}
	return out
}

// compute plans all seeds. What it gives depends on nothing but the control
// plane, the plans before, whether they are settled and, while something
// leaves, the base branches.
//
// While the control plane cannot be read, the plans that are there stay: another
// engine may see more, and have planned anew.
func (p *pass) compute(before map[string]*lookedAt) map[string]*plan.Outcome {
	if p.readErr != nil {
		return p.keepAll()
	}
	previous := map[string]*plan.Previous{}
	key := []string{p.engine.tree.version()}
	for _, name := range slices.Sorted(maps.Keys(p.previous)) {
		s := p.previous[name]
		if s.plan == nil || s.err != nil || before[name].err != nil {
			key = append(key, name+" is not known")
			continue
		}
		previous[name] = &plan.Previous{Plan: s.plan, Others: s.others, Partial: s.partial, Released: before[name].settled}
		key = append(key, fmt.Sprint(name, s.commits, s.others, s.partial, before[name].settled))
		for i := range s.plan.Tiers {
			if t := &s.plan.Tiers[i]; t.Leaving != nil {
				key = append(key, fmt.Sprint(p.repos[t.Repo].head))
			}
		}
	}
	memo := &p.engine.computed
	if k := strings.Join(key, "\n"); memo.key != k || memo.unsure {
		memo.key, memo.unsure = k, false
		for _, s := range previous {
			s.Base = p.baseAt(s.Plan.BasePaths())
		}
		memo.outcomes = plan.Compute(plan.Input{Catalog: p.catalog, Owner: p.engine.self.Owner, Origin: p.engine.self.Origin, Revision: p.tree.Revision, Previous: previous, Strict: p.catalog.Strict(p.engine.config.Strict)})
	}
	return memo.outcomes
}

func (p *pass) keepAll() map[string]*plan.Outcome {
	out := map[string]*plan.Outcome{}
	for name, s := range p.previous {
		if s.plan != nil && !s.foreign {
			out[name] = &plan.Outcome{Plan: s.plan, Kept: true}
		}
	}
	return out
}

// baseAt is what the base branches have at some paths.
func (p *pass) baseAt(paths map[string][]string) map[string]map[string]layout.Hash {
	out := map[string]map[string]layout.Hash{}
	for repo, at := range paths {
		r, ok := p.repos[repo]
		if !ok || r.err != nil {
			continue
		}
		have, err := r.at(r.head, at...)
		if err != nil {
			// What cannot be read is not gone: nothing is done in this repository now.
			r.err = fmt.Errorf("GitOpsRepo %q: %w", repo, err)
			p.engine.computed.unsure = true
			continue
		}
		out[repo] = have
	}
	return out
}

// choose picks the plan that is in force for a seed.
func (p *pass) choose(name string, outcome *plan.Outcome, before *lookedAt) *seedDecision {
	d := &seedDecision{name: name, planned: p.previous[name], problems: map[layout.Tier]error{}, retryLater: map[string]bool{}}
	if seed, ok := p.catalog.Seed(name); ok {
		d.suspended = seed.Spec.Suspend
	}
	if d.planned != nil && d.planned.foreign {
		d.planned, before = nil, nil
	}
	switch {
	case before != nil && before.err != nil:
		d.err = before.err
	case outcome != nil:
		d.plan, d.files, d.err, d.broken = outcome.Plan, outcome.Files, outcome.Err, outcome.Broken
	case d.planned != nil && d.planned.plan != nil:
		p.chooseRemoval(d)
	}
	return d
}

// chooseRemoval decides about a seed that has a plan and is not in the control
// plane. Only a control plane that was read, and that is not empty, says that a
// seed was deleted. Nothing leaves a cluster whose document cannot be used.
func (p *pass) chooseRemoval(d *seedDecision) {
	last := d.planned.plan
	d.plan = last
	at, unread := p.catalog.Unread[d.name]
	cluster, why := p.brokenCluster(last)
	switch {
	case p.readErr != nil:
		d.err = fmt.Errorf("seed %q is not in the control-plane repository, which could not be read; it stays as it is", d.name)
	case unread:
		d.err = fmt.Errorf("seed %q may be at %s, which cannot be read; it stays as it is. Correct that file", d.name, at)
	case why != "":
		d.err = fmt.Errorf("seed %q is not in the control-plane repository, and is planted on cluster %s: %s. Correct that document; until then the seed stays as it is", d.name, cluster, why)
	default:
		d.gone = true
		if last.Removal && !d.planned.partial {
			return
		}
		if !last.Removal {
			d.plan = plan.Remove(last, p.tree.Revision)
		}
		d.files = map[string]map[string]plan.File{}
		for _, repo := range last.Repos() {
			d.files[repo] = map[string]plan.File{}
		}
	}
}

// brokenCluster is the first cluster of a plan whose document cannot be used, and
// what is wrong with it. What seeds create needs no document.
func (p *pass) brokenCluster(pl *plan.Plan) (cluster, why string) {
	created := map[string]bool{}
	for _, s := range p.previous {
		if s.plan != nil {
			for _, name := range s.plan.Implied() {
				created[name] = true
			}
		}
	}
	for i := range pl.Tiers {
		for _, name := range []string{pl.Tiers[i].Cluster, pl.Tiers[i].Object.Cluster} {
			if why := p.catalog.Inventory.BrokenOrLost(name); why != "" && !created[name] {
				return name, why
			}
		}
	}
	return "", ""
}

// holdRemovals holds the removal of whole seeds that take what only a person may let
// go, or whose objects a new seed has: that looks like a rename.
func (p *pass) holdRemovals(outcomes map[string]*plan.Outcome) {
	heirs := map[string]map[string][]plan.Removed{}
	for heir, o := range outcomes {
		for from, vertices := range o.Inherits {
			if heirs[from] == nil {
				heirs[from] = map[string][]plan.Removed{}
			}
			for _, v := range vertices {
				heirs[from][heir] = append(heirs[from][heir], plan.Removed{Object: v.Object, Cluster: v.Cluster})
			}
		}
	}
	for name, d := range p.seeds {
		if !d.gone || p.confirmed(d) {
			continue
		}
		hold := release.Hold{Heirs: heirs[name]}
		begins := !d.planned.plan.Removal
		if begins {
			hold.Guarded = release.GuardedRemoval(d.plan, d.planned.facts)
		}
		if !hold.Held() {
			continue
		}
		d.unconfirmed, d.err = hold.Unconfirmed(d.planned.plan, d.plan), errors.New(hold.Message(name))
		if begins {
			d.held = len(release.Clusters(d.planned.plan))
			d.plan, d.files, d.gone = d.planned.plan, nil, false
		}
	}
}

// guardRemovals holds all new removals when there are too many. Those that were
// proposed in earlier passes, and that nobody confirmed or rejected, count as well:
// seeds and clusters may go one by one, each in a pass of its own.
func (p *pass) guardRemovals() {
	all, removing := 0, 0
	var names []string
	for _, name := range slices.Sorted(maps.Keys(p.seeds)) {
		d := p.seeds[name]
		if d.planned == nil || d.planned.plan == nil {
			continue
		}
		had, has := len(release.Clusters(d.planned.plan)), len(release.Clusters(d.plan))
		going := release.Going(d.planned.plan, d.plan, d.planned.facts)
		all += had + going
		if p.confirmed(d) {
			continue
		}
		removing += going + d.held
		if d.plan != nil && d.files != nil {
			if n := had - has; n > 0 {
				removing += n
				names = append(names, name)
			}
		}
	}
	if !release.HoldsRemovals(removing, all, p.catalog.DeletionGuard(p.engine.config.DeletionGuard)) {
		return
	}
	for _, name := range names {
		d := p.seeds[name]
		d.unconfirmed = release.Lost(d.planned.plan, d.plan)
		d.plan, d.files, d.gone = d.planned.plan, nil, false
		d.err = fmt.Errorf("seed %[1]q: blocked by the deletion guard: %[2]d of %[3]d plantings would be removed at once (more than %[4]d %%). Run 'furrow confirm %[1]s' to remove those of this seed, or restore them", name, removing, all, p.catalog.DeletionGuard(p.engine.config.DeletionGuard))
	}
}

// next derives the states of all tiers of all plans in force.
func (p *pass) next(ctx context.Context) {
	for _, d := range p.seeds {
		if d.plan == nil {
			continue
		}
		if err := p.orphan(ctx, d); err != nil {
			d.err = err
		}
		facts, err := p.factsInForce(ctx, d)
		if err != nil {
			d.plan, d.files = nil, nil
			d.err = err
			continue
		}
		d.facts = release.Facts{Tiers: facts, Suspended: d.suspended, KeepAll: d.err != nil, Guarded: d.unconfirmed != nil, Confirmed: p.confirmedLeaving(d)}
	}
	fleet := p.fleet()
	needed := fleet.Needed()
	for _, name := range slices.Sorted(maps.Keys(p.seeds)) {
		d := p.seeds[name]
		if d.plan == nil {
			continue
		}
		d.facts.Fleet, d.facts.Needed = fleet, needed
		d.result = release.Next(d.plan, d.facts)
		if p.lookUpClosed(ctx, d) {
			d.result = release.Next(d.plan, d.facts)
		}
		p.noteRetryLater(ctx, d)
	}
	p.nameWaits()
}

// nameWaits gives what tiers wait for in other seeds the state that it was found to have there.
func (p *pass) nameWaits() {
	states := map[layout.Tier]release.State{}
	for _, d := range p.seeds {
		for _, t := range d.result.Tiers {
			states[t.Tier] = t.State
		}
	}
	for _, d := range p.seeds {
		d.result.NameWaits(states)
	}
}

// factsInForce are those of the plan in force: mostly the one that was looked at already.
func (p *pass) factsInForce(ctx context.Context, d *seedDecision) (map[layout.Tier]release.TierFacts, error) {
	unusable := func(repo string) bool { r, ok := p.repos[repo]; return !ok || r.err != nil }
	if d.planned == nil || d.planned.facts == nil || d.plan != d.planned.plan || slices.ContainsFunc(d.plan.Repos(), unusable) {
		return p.tierFacts(ctx, d.plan, d.planned)
	}
	return d.planned.facts, nil
}

// fleet has the tiers of all plans in force.
func (p *pass) fleet() release.Fleet {
	fleet := release.Fleet{}
	for _, d := range p.seeds {
		if d.plan != nil {
			fleet.Add(d.plan, d.facts.Tiers)
		}
	}
	return fleet
}

// closedOf translates what a forge says of closed proposals.
var closedOf = map[forge.Outcome]release.Closed{
	forge.OutcomeNone: release.ClosedNone, forge.OutcomeSuperseded: release.ClosedNone,
	forge.OutcomeMerged: release.ClosedMerged, forge.OutcomeRejected: release.ClosedRejected,
}

// lookUpClosed asks for the closed proposals of tiers that are about to be proposed.
func (p *pass) lookUpClosed(ctx context.Context, d *seedDecision) bool {
	asked := false
	for i, s := range d.result.Tiers {
		if !s.NeedsClosed {
			continue
		}
		t := &d.plan.Tiers[i]
		r := p.repos[t.Repo]
		if r.retries(d.planned, d.name) {
			d.close(s.Tier, release.ClosedNone)
			asked = true
			continue
		}
		if r.err != nil {
			continue
		}
		closed, err := r.Forge.Closed(ctx, r.refs, s.Tier, t.Wants())
		if err != nil {
			if p.heard(r, err); !forge.IsGone(err) {
				d.problems[s.Tier] = fmt.Errorf("looking up closed proposals: %w", err)
			}
			continue
		}
		d.close(s.Tier, closedOf[closed.Outcome])
		asked = true
	}
	return asked
}

func (d *seedDecision) close(tier layout.Tier, closed release.Closed) {
	facts := d.facts.Tiers[tier]
	facts.Closed = closed
	d.facts.Tiers[tier] = facts
}
