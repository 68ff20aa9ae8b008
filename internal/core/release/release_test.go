package release_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/githash"
	"github.com/furrow-dev/furrow/internal/core/health"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/test/golden"
)

// fixture is a plan of three tiers, each with the one before as prerequisite:
// the first on mgmt, the others on edge. The tests change what they are about.
type fixture struct {
	plan  *plan.Plan
	facts release.Facts
}

var (
	mgmt0 = layout.Tier{Seed: "app", Cluster: "mgmt", Ordinal: 0}
	edge0 = layout.Tier{Seed: "app", Cluster: "edge", Ordinal: 0}
	edge1 = layout.Tier{Seed: "app", Cluster: "edge", Ordinal: 1}
)

func makeTier(t layout.Tier, name string, needs ...plan.Prerequisite) plan.Tier {
	hash := hashOf(name)
	return plan.Tier{Cluster: t.Cluster, Ordinal: t.Ordinal, Contents: "c1", Prerequisites: needs, Entries: []plan.Entry{
		{Path: t.Dir(""), Mode: plan.ModeTree, Hash: hash},
		{Path: t.ReconcilerFile("", "clusters/"+t.Cluster, false), Mode: plan.ModeFile, Hash: hash},
	}}
}

// hashOf is the id of something that has this name.
func hashOf(name string) layout.Hash { return githash.Blob([]byte(name)) }

func makePlan() *fixture {
	f := &fixture{plan: &plan.Plan{Seed: "app", Tiers: []plan.Tier{
		makeTier(edge0, "e0", plan.Prerequisite{Cluster: "mgmt", Ordinal: 0, Why: "the cluster"}),
		makeTier(edge1, "e1", plan.Prerequisite{Cluster: "edge", Ordinal: 0, Why: "the namespace"}),
		makeTier(mgmt0, "m0"),
	}, Contents: []plan.Contents{{ID: "c1", Objects: []plan.Object{{File: "a.yaml"}}}}}}
	f.facts.Tiers = map[layout.Tier]release.TierFacts{}
	for _, t := range []layout.Tier{mgmt0, edge0, edge1} {
		f.facts.Tiers[t] = release.TierFacts{Base: release.BaseNothing, Closed: release.ClosedNone}
	}
	return f
}

// on changes the facts of a tier.
func (f *fixture) on(t layout.Tier, change func(*release.TierFacts)) *fixture {
	facts := f.facts.Tiers[t]
	change(&facts)
	f.facts.Tiers[t] = facts
	return f
}

func (f *fixture) tier(t layout.Tier) *plan.Tier {
	found, _ := f.plan.Find(t.Cluster, t.Ordinal)
	return found
}

// merged puts the plan's entries on base, with a verdict of this phase.
func (f *fixture) merged(t layout.Tier, phase health.Phase) *fixture {
	return f.on(t, func(facts *release.TierFacts) {
		facts.Base, facts.Health = release.BaseEntries, verdict(phase)
	})
}

// verdict is one of a phase, with some reason for it.
func verdict(phase health.Phase) health.Verdict {
	reasons := map[health.Phase]v1alpha1.Reason{
		health.Unknown: v1alpha1.ReasonClusterSilent, health.Absent: v1alpha1.ReasonReconcilerMissing, health.Behind: v1alpha1.ReasonRevisionBehind,
		health.Progressing: v1alpha1.ReasonNotReady, health.Failed: v1alpha1.ReasonHealthCheckFailed, health.Ready: v1alpha1.ReasonHealthy,
	}
	return health.Verdict{Phase: phase, Reason: reasons[phase], Message: string(phase)}
}

func (f *fixture) base(t layout.Tier, b release.Base) *fixture {
	return f.on(t, func(facts *release.TierFacts) {
		facts.Base, facts.BaseDetail = b, "planted/x holds what Furrow did not put there"
	})
}

func (f *fixture) proposal(t layout.Tier, p release.Proposal) *fixture {
	if p.Digest == "" {
		p.Digest = f.tier(t).Digest()
	}
	return f.on(t, func(facts *release.TierFacts) { facts.Proposal = &p })
}

// removal makes the plan one by which the seed leaves.
func (f *fixture) removal() *fixture {
	last := *f.plan
	f.plan = plan.Remove(&last, "")
	return f
}

// orphaning gives tiers of a removal the entries that come before they go.
func (f *fixture) orphaning(tiers ...layout.Tier) *fixture {
	for _, name := range tiers {
		t := f.tier(name)
		t.Object.Cluster, t.Orphan = "mgmt", &plan.Orphan{Entries: []plan.Entry{{Path: t.Dir(), Mode: plan.ModeTree, Hash: hashOf("o")}, {Path: t.ReconcilerFile(), Mode: plan.ModeFile, Hash: hashOf("o")}}}
		*t = t.Orphaning()
	}
	return f
}

// givenUp is the verdict on a tier that should be gone from an abandoned cluster which is silent.
func givenUp() health.Verdict {
	return health.Judge(health.Verdict{}, health.Reconciler{}, nil, health.Want{Gone: true, Reconciler: health.Cluster{Cluster: "edge", Abandoned: true}})
}

func TestOrphansFirst(t *testing.T) {
	tests := map[string]struct {
		base, live release.DeletionEffect
		removing   bool
		want       bool
	}{
		"while Git and the hub have the tier's own object":                 {base: release.EffectPrunes, live: release.EffectPrunes, want: true},
		"while the hub has it, though its removal is proposed":             {base: release.EffectPrunes, live: release.EffectPrunes, removing: true, want: true},
		"until the hub has what is merged":                                 {base: release.EffectOrphans, live: release.EffectPrunes, want: true},
		"no longer when the hub has it":                                    {base: release.EffectOrphans, live: release.EffectOrphans},
		"once more when somebody undid it in Git":                          {base: release.EffectPrunes, live: release.EffectOrphans, want: true},
		"when the object is gone from Git, and its deletion hangs":         {base: release.EffectNone, live: release.EffectPrunes, want: true},
		"not when the object goes by itself":                               {base: release.EffectNone, live: release.EffectOrphans},
		"not when the hub has no such object":                              {base: release.EffectPrunes, live: release.EffectNone},
		"not when all is gone":                                             {base: release.EffectNone, live: release.EffectNone},
		"while the hub is silent":                                          {base: release.EffectPrunes, live: release.EffectUnknown, want: true},
		"while the hub is silent, and may not have it yet":                 {base: release.EffectOrphans, live: release.EffectUnknown, want: true},
		"not again when the hub had it, and fell silent since":             {base: release.EffectOrphans, live: release.EffectUnknown, removing: true},
		"not when nothing is in Git and the hub is silent: it may be gone": {base: release.EffectNone, live: release.EffectUnknown},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := release.OrphansFirst(tc.base, tc.live, tc.removing); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestNext(t *testing.T) {
	type want struct {
		State  release.State
		Reason v1alpha1.Reason
		Act    release.Act
		Waits  []release.State
		Gate   v1alpha1.Reason
		Lookup bool
	}
	tests := map[string]struct {
		given *fixture
		tier  layout.Tier
		want  want
	}{
		"a tier without prerequisites is proposed": {
			makePlan(), mgmt0, want{State: release.Queued, Reason: v1alpha1.ReasonProposing, Act: release.ActPropose},
		},
		"before a tier is proposed its closed proposals are read": {
			makePlan().on(mgmt0, func(f *release.TierFacts) { f.Closed = release.ClosedNotAsked }), mgmt0,
			want{State: release.Queued, Reason: v1alpha1.ReasonProposing, Lookup: true},
		},
		"closed proposals of a blocked tier are not read": {
			makePlan().on(edge0, func(f *release.TierFacts) { f.Closed = release.ClosedNotAsked }), edge0,
			want{State: release.Blocked, Reason: v1alpha1.ReasonWaitingForTier, Waits: []release.State{release.Queued}},
		},
		"Blocked while a prerequisite is not on base": {
			makePlan(), edge0, want{State: release.Blocked, Reason: v1alpha1.ReasonWaitingForTier, Waits: []release.State{release.Queued}},
		},
		"Blocked while a prerequisite is merged only": {
			makePlan().merged(mgmt0, health.Behind), edge0, want{State: release.Blocked, Reason: v1alpha1.ReasonWaitingForTier, Waits: []release.State{release.Merged}},
		},
		"Blocked while a prerequisite is progressing": {
			makePlan().merged(mgmt0, health.Progressing), edge0, want{State: release.Blocked, Reason: v1alpha1.ReasonWaitingForTier, Waits: []release.State{release.Progressing}},
		},
		"Blocked while a prerequisite has failed": {
			makePlan().merged(mgmt0, health.Failed), edge0, want{State: release.Blocked, Reason: v1alpha1.ReasonWaitingForTier, Waits: []release.State{release.Failed}},
		},
		"Blocked while nothing is known of a prerequisite": {
			makePlan().merged(mgmt0, health.Unknown), edge0, want{State: release.Blocked, Reason: v1alpha1.ReasonWaitingForTier, Waits: []release.State{release.Merged}},
		},
		"Blocked while base has a prerequisite's earlier entries, healthy as they are": {
			makePlan().merged(mgmt0, health.Ready).base(mgmt0, release.BaseEarlier), edge0,
			want{State: release.Blocked, Reason: v1alpha1.ReasonWaitingForTier, Waits: []release.State{release.Queued}},
		},
		"proposed once the prerequisite is Released": {
			makePlan().merged(mgmt0, health.Ready), edge0, want{State: release.Queued, Reason: v1alpha1.ReasonProposing, Act: release.ActPropose},
		},
		"Blocked while a prerequisite of a prerequisite is not Released": {
			makePlan().merged(mgmt0, health.Failed).merged(edge0, health.Ready), edge1,
			want{State: release.Blocked, Reason: v1alpha1.ReasonWaitingForTier, Waits: []release.State{release.Failed}},
		},
		"Queued while the seed is suspended": {
			func() *fixture { f := makePlan(); f.facts.Suspended = true; return f }(), mgmt0, want{State: release.Queued, Reason: v1alpha1.ReasonSuspended},
		},
		"Proposed when an open proposal has the entries": {
			makePlan().proposal(mgmt0, release.Proposal{}), mgmt0, want{State: release.Proposed, Reason: v1alpha1.ReasonProposalOpen},
		},
		"Proposed although a person has edited it": {
			makePlan().proposal(mgmt0, release.Proposal{Edited: true}), mgmt0, want{State: release.Proposed, Reason: v1alpha1.ReasonEditedByPerson},
		},
		"Proposed, and grafted anew when base changed under it": {
			makePlan().proposal(mgmt0, release.Proposal{Stale: true}), mgmt0, want{State: release.Proposed, Reason: v1alpha1.ReasonProposalStale, Act: release.ActUpdate, Gate: v1alpha1.ReasonProposalStale},
		},
		"grafted anew when base changed under it, although its gate is shut": {
			makePlan().merged(mgmt0, health.Failed).proposal(edge0, release.Proposal{Stale: true}), edge0,
			want{State: release.Proposed, Reason: v1alpha1.ReasonWaitingForTier, Act: release.ActUpdate, Waits: []release.State{release.Failed}, Gate: v1alpha1.ReasonWaitingForTier},
		},
		"grafted anew when base changed under it, although the reconciler would leave what it applied": {
			makePlan().removal().base(edge1, release.BaseEarlier).proposal(edge1, release.Proposal{Stale: true}).
				on(edge1, func(f *release.TierFacts) {
					f.LeftBehind = &manifest.Problem{Reason: v1alpha1.ReasonReconcilerSuspended, Message: "it is suspended"}
				}), edge1,
			want{State: release.Proposed, Reason: v1alpha1.ReasonReconcilerSuspended, Act: release.ActUpdate, Gate: v1alpha1.ReasonReconcilerSuspended},
		},
		"not updated with base while its gate is shut": {
			makePlan().merged(mgmt0, health.Failed).proposal(edge0, release.Proposal{Behind: true}), edge0,
			want{State: release.Proposed, Reason: v1alpha1.ReasonWaitingForTier, Waits: []release.State{release.Failed}, Gate: v1alpha1.ReasonWaitingForTier},
		},
		"a proposal that a person edited has a failing gate when base changed under it": {
			makePlan().proposal(mgmt0, release.Proposal{Edited: true, Stale: true}), mgmt0, want{State: release.Proposed, Reason: v1alpha1.ReasonEditedAndStale, Gate: v1alpha1.ReasonEditedAndStale},
		},
		"a proposal that a person edited has a failing gate when it changes more than the tier": {
			makePlan().proposal(mgmt0, release.Proposal{Edited: true, Outside: "notes.md"}), mgmt0, want{State: release.Proposed, Reason: v1alpha1.ReasonProposalTooWide, Gate: v1alpha1.ReasonProposalTooWide},
		},
		"an edited proposal of an earlier plan has a failing gate when base changed under it": {
			makePlan().proposal(mgmt0, release.Proposal{Digest: "other", Edited: true, Stale: true}), mgmt0, want{State: release.Held, Reason: v1alpha1.ReasonEditedAndUnmergeable, Gate: v1alpha1.ReasonEditedAndStale},
		},
		"a proposal that foreign content holds has a failing gate": {
			makePlan().base(mgmt0, release.BaseForeign).proposal(mgmt0, release.Proposal{Stale: true}), mgmt0, want{State: release.Held, Reason: v1alpha1.ReasonForeignContent, Gate: v1alpha1.ReasonForeignContent},
		},
		"an edited removal has a failing gate while the seed cannot be planned": {
			func() *fixture {
				f := makePlan().removal().base(edge1, release.BaseEarlier).proposal(edge1, release.Proposal{Edited: true})
				f.facts.KeepAll = true
				return f
			}(), edge1, want{State: release.Held, Reason: v1alpha1.ReasonRemovalOnHold, Gate: v1alpha1.ReasonRemovalOnHold},
		},
		"Proposed with a failing gate when a prerequisite regresses": {
			makePlan().merged(mgmt0, health.Failed).proposal(edge0, release.Proposal{}), edge0,
			want{State: release.Proposed, Reason: v1alpha1.ReasonWaitingForTier, Waits: []release.State{release.Failed}, Gate: v1alpha1.ReasonWaitingForTier},
		},
		"Outdated when an open proposal has other entries": {
			makePlan().proposal(mgmt0, release.Proposal{Digest: "other"}), mgmt0, want{State: release.Outdated, Reason: v1alpha1.ReasonProposalOutdated, Act: release.ActUpdate},
		},
		"Outdated and left alone while the seed is suspended": {
			func() *fixture {
				f := makePlan().proposal(mgmt0, release.Proposal{Digest: "other"})
				f.facts.Suspended = true
				return f
			}(), mgmt0, want{State: release.Outdated, Reason: v1alpha1.ReasonSuspended, Gate: v1alpha1.ReasonSuspended},
		},
		"an outdated proposal is withdrawn while its prerequisites are not Released": {
			makePlan().proposal(edge0, release.Proposal{Digest: "other"}), edge0,
			want{State: release.Blocked, Reason: v1alpha1.ReasonWaitingForTier, Act: release.ActSupersede, Waits: []release.State{release.Queued}},
		},
		"Held when a person edited the open proposal and the plan changed since": {
			makePlan().proposal(mgmt0, release.Proposal{Branch: "furrow/main/tier/edge/mgmt/00", Digest: "other", Edited: true}), mgmt0, want{State: release.Held, Reason: v1alpha1.ReasonEditedAndOutdated},
		},
		"Held when a person edited and rejected it, and the plan changed since": {
			makePlan().proposal(mgmt0, release.Proposal{Branch: "furrow/main/tier/edge/mgmt/00", Digest: "other", Edited: true, Rejected: true}), mgmt0, want{State: release.Held, Reason: v1alpha1.ReasonEditedAndRejected},
		},
		"Rejected when a person edited and rejected it, and its branch stays as it is": {
			makePlan().proposal(mgmt0, release.Proposal{Branch: "furrow/main/tier/edge/mgmt/00", Edited: true, Rejected: true}), mgmt0, want{State: release.Rejected, Reason: v1alpha1.ReasonRejected},
		},
		"nothing leaves while the seed cannot be planned": {
			func() *fixture {
				f := makePlan().removal().base(edge1, release.BaseEarlier).proposal(edge1, release.Proposal{})
				f.facts.KeepAll = true
				return f
			}(), edge1, want{State: release.Held, Reason: v1alpha1.ReasonRemovalOnHold, Act: release.ActSupersede},
		},
		"Held when foreign content lies on the path": {
			makePlan().base(mgmt0, release.BaseForeign), mgmt0, want{State: release.Held, Reason: v1alpha1.ReasonForeignContent},
		},
		"Proposed over foreign content when a person asked for it": {
			makePlan().base(mgmt0, release.BaseForeign).proposal(mgmt0, release.Proposal{}), mgmt0, want{State: release.Proposed, Reason: v1alpha1.ReasonProposalOpen},
		},
		"Held while the root is not fit": {
			makePlan().on(mgmt0, func(f *release.TierFacts) {
				f.RootUnfit = &manifest.Problem{Reason: v1alpha1.ReasonRootUnbuildable, Cluster: "mgmt", Object: "root", Path: "clusters/mgmt", Message: "kustomization.yaml"}
			}), mgmt0, want{State: release.Held, Reason: v1alpha1.ReasonRootUnbuildable},
		},
		"Rejected when the rejected proposal is still there": {
			makePlan().proposal(mgmt0, release.Proposal{Rejected: true, Reason: "not now"}), mgmt0, want{State: release.Rejected, Reason: v1alpha1.ReasonRejected},
		},
		"Rejected when the newest closed proposal is unmerged": {
			makePlan().on(mgmt0, func(f *release.TierFacts) { f.Closed = release.ClosedRejected }), mgmt0, want{State: release.Rejected, Reason: v1alpha1.ReasonRejected},
		},
		"a rejected proposal of other entries is replaced": {
			makePlan().proposal(mgmt0, release.Proposal{Digest: "other", Rejected: true}), mgmt0,
			want{State: release.Outdated, Reason: v1alpha1.ReasonProposalOutdated, Act: release.ActUpdate},
		},
		"Reverted when it was merged and base no longer has it": {
			makePlan().on(mgmt0, func(f *release.TierFacts) { f.Closed = release.ClosedMerged }), mgmt0, want{State: release.Reverted, Reason: v1alpha1.ReasonReverted},
		},
		"Merged while the reconciler is behind": {
			makePlan().merged(mgmt0, health.Behind), mgmt0, want{State: release.Merged, Reason: v1alpha1.ReasonRevisionBehind},
		},
		"Merged while the reconciler object is not there": {
			makePlan().merged(mgmt0, health.Absent), mgmt0, want{State: release.Merged, Reason: v1alpha1.ReasonReconcilerMissing},
		},
		"Merged while nothing is known": {
			makePlan().merged(mgmt0, health.Unknown), mgmt0, want{State: release.Merged, Reason: v1alpha1.ReasonClusterSilent},
		},
		"a tier on base is never blocked, whatever its prerequisites do": {
			makePlan().merged(mgmt0, health.Failed).merged(edge0, health.Ready), edge0, want{State: release.Released, Reason: v1alpha1.ReasonHealthy},
		},
		"Progressing": {makePlan().merged(mgmt0, health.Progressing), mgmt0, want{State: release.Progressing, Reason: v1alpha1.ReasonNotReady}},
		"Failed":      {makePlan().merged(mgmt0, health.Failed), mgmt0, want{State: release.Failed, Reason: v1alpha1.ReasonHealthCheckFailed}},
		"Released":    {makePlan().merged(mgmt0, health.Ready), mgmt0, want{State: release.Released, Reason: v1alpha1.ReasonHealthy}},
		"an open proposal of what base has already is withdrawn": {
			makePlan().merged(mgmt0, health.Ready).proposal(mgmt0, release.Proposal{}), mgmt0,
			want{State: release.Released, Reason: v1alpha1.ReasonHealthy, Act: release.ActSupersede},
		},
		"an update is proposed when the prerequisites are Released at their new entries": {
			makePlan().merged(mgmt0, health.Ready).base(edge0, release.BaseEarlier), edge0, want{State: release.Queued, Reason: v1alpha1.ReasonProposing, Act: release.ActPropose},
		},
		"an update that breaks a tier keeps the next tier's update back": {
			makePlan().merged(mgmt0, health.Ready).merged(edge0, health.Failed).base(edge1, release.BaseEarlier), edge1,
			want{State: release.Blocked, Reason: v1alpha1.ReasonWaitingForTier, Waits: []release.State{release.Failed}},
		},
		"a removed seed's last tier leaves first": {
			makePlan().removal().base(mgmt0, release.BaseEarlier).base(edge0, release.BaseEarlier).base(edge1, release.BaseEarlier), edge1,
			want{State: release.Queued, Reason: v1alpha1.ReasonProposing, Act: release.ActPropose},
		},
		"a removed seed's first tier waits for those that needed it": {
			makePlan().removal().base(mgmt0, release.BaseEarlier).base(edge0, release.BaseEarlier), mgmt0,
			want{State: release.Blocked, Reason: v1alpha1.ReasonWaitingForRemoval, Waits: []release.State{release.Blocked}},
		},
		"a tier that leaves is Progressing until its reconciler object is gone": {
			makePlan().removal().on(edge1, func(f *release.TierFacts) { f.Health = verdict(health.Progressing) }), edge1, want{State: release.Progressing, Reason: v1alpha1.ReasonNotReady},
		},
		"a silent cluster blocks the removal of what it needed": {
			makePlan().removal().on(edge1, func(f *release.TierFacts) { f.Health = verdict(health.Unknown) }).base(edge0, release.BaseEarlier), edge0,
			want{State: release.Blocked, Reason: v1alpha1.ReasonWaitingForRemoval, Waits: []release.State{release.Progressing}},
		},
		"Gone when nothing is left": {
			makePlan().removal().on(edge1, func(f *release.TierFacts) { f.Health = verdict(health.Absent) }), edge1, want{State: release.Gone, Reason: v1alpha1.ReasonReconcilerMissing},
		},
		"Gone when what is not known of it was given up": {
			makePlan().removal().on(edge1, func(f *release.TierFacts) { f.Health = givenUp() }), edge1, want{State: release.Gone, Reason: v1alpha1.ReasonGivenUp},
		},
		"what leaves next goes once the rest was given up": {
			makePlan().removal().on(edge1, func(f *release.TierFacts) { f.Health = givenUp() }).base(edge0, release.BaseEarlier), edge0,
			want{State: release.Queued, Reason: v1alpha1.ReasonProposing, Act: release.ActPropose},
		},
		"what is on an abandoned cluster of a hub is orphaned first": {
			makePlan().removal().orphaning(edge1).base(edge1, release.BaseEarlier), edge1, want{State: release.Queued, Reason: v1alpha1.ReasonProposing, Act: release.ActPropose},
		},
		"it is orphaned in the order of the removal": {
			makePlan().removal().orphaning(edge0, edge1).base(edge0, release.BaseEarlier).base(edge1, release.BaseEarlier), edge0,
			want{State: release.Blocked, Reason: v1alpha1.ReasonWaitingForRemoval, Waits: []release.State{release.Queued}},
		},
		"it is orphaned again when its deletion hangs, and needs no prerequisite for it": {
			makePlan().removal().orphaning(edge1).base(mgmt0, release.BaseEarlier).base(edge0, release.BaseEarlier), edge1,
			want{State: release.Queued, Reason: v1alpha1.ReasonProposing, Act: release.ActPropose},
		},
		"an open removal becomes an orphaning": {
			makePlan().removal().base(edge1, release.BaseEarlier).proposal(edge1, release.Proposal{}).orphaning(edge1), edge1,
			want{State: release.Outdated, Reason: v1alpha1.ReasonProposalOutdated, Act: release.ActUpdate},
		},
		"a merged orphaning is not a release, however healthy": {
			makePlan().removal().orphaning(edge1).merged(edge1, health.Ready), edge1, want{State: release.Merged, Reason: v1alpha1.ReasonOrphanPending},
		},
		"what leaves next waits for a tier that is orphaned and not gone": {
			makePlan().removal().orphaning(edge1).merged(edge1, health.Ready).base(edge0, release.BaseEarlier), edge0,
			want{State: release.Blocked, Reason: v1alpha1.ReasonWaitingForRemoval, Waits: []release.State{release.Merged}},
		},
		"a tier that another seed still needs is not orphaned": {
			func() *fixture {
				f := makePlan().removal().orphaning(edge1).base(edge1, release.BaseEarlier)
				f.facts.Needed = map[layout.Tier][]layout.Tier{edge1: {{Seed: "other", Cluster: "edge"}}}
				return f
			}(), edge1, want{State: release.Blocked, Reason: v1alpha1.ReasonNeededBySeed, Waits: []release.State{release.Merged}},
		},
		"a tier that another seed still needs does not leave": {
			func() *fixture {
				f := makePlan().removal().base(edge1, release.BaseEarlier)
				f.facts.Needed = map[layout.Tier][]layout.Tier{edge1: {{Seed: "other", Cluster: "edge"}}}
				return f
			}(), edge1, want{State: release.Blocked, Reason: v1alpha1.ReasonNeededBySeed, Waits: []release.State{release.Merged}},
		},
		"Blocked while another seed's tier is not planned": {
			makePlan().needs("other", release.State("")), mgmt0, want{State: release.Blocked, Reason: v1alpha1.ReasonWaitingForTier, Waits: []release.State{release.Blocked}},
		},
		"Blocked while another seed's tier is not Released": {
			makePlan().needs("other", release.Progressing), mgmt0, want{State: release.Blocked, Reason: v1alpha1.ReasonWaitingForTier, Waits: []release.State{release.Progressing}},
		},
		"proposed once another seed's tier is Released": {
			makePlan().needs("other", release.Released), mgmt0, want{State: release.Queued, Reason: v1alpha1.ReasonProposing, Act: release.ActPropose},
		},
		"Blocked while what another seed's Released tier waits for is not Released": {
			makePlan().needs("other", release.Released).behind("other", release.Failed), mgmt0,
			want{State: release.Blocked, Reason: v1alpha1.ReasonWaitingForTier, Waits: []release.State{release.Failed}},
		},
		"Blocked while what another seed's Released tier waits for in a third one is not planned": {
			makePlan().needs("other", release.Released).behind("third", ""), mgmt0,
			want{State: release.Blocked, Reason: v1alpha1.ReasonWaitingForTier, Waits: []release.State{release.Blocked}},
		},
		"an open proposal has a failing gate while what another seed's Released tier waits for is not Released": {
			makePlan().needs("other", release.Released).behind("other", release.Progressing).proposal(mgmt0, release.Proposal{}), mgmt0,
			want{State: release.Proposed, Reason: v1alpha1.ReasonWaitingForTier, Waits: []release.State{release.Progressing}, Gate: v1alpha1.ReasonWaitingForTier},
		},
		"proposed once all that another seed's tier waits for is Released": {
			makePlan().needs("other", release.Released).behind("third", release.Released), mgmt0,
			want{State: release.Queued, Reason: v1alpha1.ReasonProposing, Act: release.ActPropose},
		},
		"what leaves waits for what leaves before a tier that has left": {
			makePlan().removal().base(edge1, release.BaseEarlier).base(mgmt0, release.BaseEarlier).
				on(edge0, func(f *release.TierFacts) { f.Health = verdict(health.Absent) }), mgmt0,
			want{State: release.Blocked, Reason: v1alpha1.ReasonWaitingForRemoval, Waits: []release.State{release.Queued}},
		},
		"what leaves a tier goes after what needed it elsewhere": {
			makePlan().leaving().base(mgmt0, release.BaseEarlier).base(edge0, release.BaseEarlier), mgmt0,
			want{State: release.Blocked, Reason: v1alpha1.ReasonWaitingForRemoval, Waits: []release.State{release.Queued}},
		},
		"what leaves a tier goes although its prerequisite is being changed too": {
			makePlan().leaving().base(mgmt0, release.BaseEarlier).base(edge0, release.BaseEarlier), edge0,
			want{State: release.Queued, Reason: v1alpha1.ReasonProposing, Act: release.ActPropose},
		},
	}
	texts := golden.Of(t)
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			result := release.Next(tc.given.plan, tc.given.facts)
			s, ok := result.Find(tc.tier)
			if !ok {
				t.Fatalf("no status of %s", tc.tier)
			}
			got := want{State: s.State, Act: s.Act, Reason: s.Reason, Gate: s.ShutReason(), Lookup: s.NeedsClosed}
			for _, w := range s.Waits {
				got.Waits = append(got.Waits, w.State)
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			texts.Add(name, s.Message)
			texts.Add(name+": gate", s.Shut())
			if (s.Shut() == "") != (s.ShutReason() == "") {
				t.Errorf("the gate is %q, and its reason %q", s.Shut(), s.ShutReason())
			}
		})
	}
}

// needs makes the first tier wait for a tier of another seed, which is planned when it has a state.
func (f *fixture) needs(seed string, state release.State) *fixture {
	t := f.tier(mgmt0)
	t.Prerequisites = append(t.Prerequisites, plan.Prerequisite{Seed: seed, Cluster: "mgmt", Ordinal: 3, Why: "its CRD"})
	f.facts.Fleet = release.Fleet{}
	if state != "" {
		f.facts.Fleet[layout.Tier{Seed: seed, Cluster: "mgmt", Ordinal: 3}] = release.Node{BaseState: state}
	}
	return f
}

// behind makes the other seed's tier wait for one of a seed, which is planned when it has a state.
func (f *fixture) behind(seed string, state release.State) *fixture {
	other := layout.Tier{Seed: "other", Cluster: "mgmt", Ordinal: 3}
	node := f.facts.Fleet[other]
	pre := plan.Prerequisite{Cluster: "west", Ordinal: 1, Why: "its Issuer"}
	if seed != other.Seed {
		pre.Seed = seed
	}
	node.Prerequisites = append(node.Prerequisites, pre)
	f.facts.Fleet[other] = node
	if state != "" {
		f.facts.Fleet[layout.Tier{Seed: seed, Cluster: "west", Ordinal: 1}] = release.Node{BaseState: state}
	}
	return f
}

// leaving makes objects leave from mgmt and edge, the latter having needed the former.
func (f *fixture) leaving() *fixture {
	f.tier(edge0).Leaving = &plan.Leaving{Objects: []plan.Object{{File: "b.yaml"}}}
	f.tier(mgmt0).Leaving = &plan.Leaving{Objects: []plan.Object{{File: "b.yaml"}}, After: []plan.Reference{{Cluster: "edge", Ordinal: 0, Why: "b needs b"}}}
	return f
}

// moving has an object move from the first tier of edge to the second one.
func (f *fixture) moving(stage plan.Stage) *fixture {
	f.plan.Moves = []plan.Move{{Object: manifest.ID{Kind: "ConfigMap", Name: "a"}, Clusters: []string{"edge"}, From: 0, To: 1, Stage: stage, File: "a.yaml"}}
	return f
}

func TestMoves(t *testing.T) {
	unprotected := func(reason v1alpha1.Reason) func(*release.TierFacts) {
		return func(f *release.TierFacts) { f.Unprotected = &manifest.Problem{Reason: reason} }
	}
	onlyMoves := func(f *release.TierFacts) { f.OnlyMoves = true }
	// held is the plan with the tier of mgmt waiting for one of edge, where objects move.
	held := func(stage plan.Stage) *fixture {
		f := makePlan().moving(stage)
		f.tier(edge0).Prerequisites = nil
		f.tier(mgmt0).Prerequisites = []plan.Prerequisite{{Cluster: "edge", Ordinal: 0, Why: "its CRD"}}
		return f
	}
	tests := map[string]struct {
		given  *fixture
		tier   layout.Tier
		state  release.State
		reason v1alpha1.Reason
		gate   v1alpha1.Reason
	}{
		"a tier waits for nothing while all that it changes is the annotation": {
			makePlan().moving(plan.StageProtect).base(edge0, release.BaseEarlier).on(edge0, onlyMoves), edge0, release.Queued, v1alpha1.ReasonProposing, "",
		},
		"one that has something else to release waits as ever": {
			makePlan().moving(plan.StageProtect).base(edge0, release.BaseEarlier), edge0, release.Blocked, v1alpha1.ReasonWaitingForTier, "",
		},
		"one from which an object goes waits for nothing": {
			makePlan().moving(plan.StageMove).base(edge0, release.BaseEarlier), edge0, release.Queued, v1alpha1.ReasonProposing, "",
		},
		"nor does a new one that has only objects that move": {
			makePlan().moving(plan.StageMove).on(edge1, onlyMoves), edge1, release.Queued, v1alpha1.ReasonProposing, "",
		},
		"one that loses its files meanwhile waits as ever": {
			makePlan().moving(plan.StageMove), edge0, release.Blocked, v1alpha1.ReasonWaitingForTier, "",
		},
		"what is behind a tier that does not wait waits for all before it": {
			makePlan().moving(plan.StageProtect).on(edge0, onlyMoves).merged(edge0, health.Ready), edge1, release.Blocked, v1alpha1.ReasonWaitingForTier, "",
		},
		"with the third release tiers wait as ever": {
			makePlan().moving(plan.StageUnprotect).base(edge0, release.BaseEarlier), edge0, release.Blocked, v1alpha1.ReasonWaitingForTier, "",
		},
		"a tier of another cluster waits for the move, though its prerequisite is Released": {
			held(plan.StageMove).merged(edge0, health.Ready), mgmt0, release.Blocked, v1alpha1.ReasonWaitingForMove, "",
		},
		"and no longer with the third release": {
			held(plan.StageUnprotect).merged(edge0, health.Ready), mgmt0, release.Queued, v1alpha1.ReasonProposing, "",
		},
		"a tier keeps an object that could be deleted": {
			makePlan().moving(plan.StageMove).base(edge0, release.BaseEarlier).on(edge0, unprotected(v1alpha1.ReasonMoveUnprotected)), edge0, release.Held, v1alpha1.ReasonMoveUnprotected, "",
		},
		"until the annotation is live": {
			makePlan().moving(plan.StageMove).base(edge0, release.BaseEarlier).on(edge0, unprotected(v1alpha1.ReasonMovePending)), edge0, release.Queued, v1alpha1.ReasonMovePending, "",
		},
		"the gate of its proposal is shut meanwhile": {
			makePlan().moving(plan.StageMove).base(edge0, release.BaseEarlier).proposal(edge0, release.Proposal{}).on(edge0, unprotected(v1alpha1.ReasonMoveUnprotected)), edge0,
			release.Held, v1alpha1.ReasonMoveUnprotected, v1alpha1.ReasonMoveUnprotected,
		},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			got, _ := release.Next(c.given.plan, c.given.facts).Find(c.tier)
			if got.State != c.state || got.Reason != c.reason || c.gate != "" && got.ShutReason() != c.gate {
				t.Errorf("got %s (%s), gate %s: %s", got.State, got.Reason, got.ShutReason(), got.Message)
			}
		})
	}
}

func TestAllReleasedLeavesOutTiersWithOnlyLeavingObjects(t *testing.T) {
	f := makePlan().merged(mgmt0, health.Ready).merged(edge0, health.Ready).merged(edge1, health.Unknown)
	if release.AllReleased(f.plan, f.facts.Tiers) {
		t.Error("all is released although a tier is not Released")
	}
	f.tier(edge1).Contents = "c2"
	f.plan.Contents = append(f.plan.Contents, plan.Contents{ID: "c2", Objects: []plan.Object{{File: "a.yaml", Leaving: true}}})
	if !release.AllReleased(f.plan, f.facts.Tiers) {
		t.Error("not all is released although only leaving objects remain in the last tier")
	}
}

func TestATierSaysWhatOfItIsToLeave(t *testing.T) {
	objects := func(leaving ...bool) []plan.Object {
		var out []plan.Object
		for i, leaves := range leaving {
			out = append(out, plan.Object{File: fmt.Sprintf("%d.yaml", i), Leaving: leaves})
		}
		return out
	}
	for sentence, c := range map[string]struct {
		objects []plan.Object
		lost    bool
		want    string
	}{
		"nothing":                     {objects(false, false), false, ""},
		"one object":                  {objects(true, false, false), false, "1 of 3 objects leaves once the rest of the seed is released"},
		"several":                     {objects(true, true, false), false, "2 of 3 objects leave once the rest of the seed is released"},
		"everything":                  {objects(true, true), false, "all of it leaves once the rest of the seed is released"},
		"the document of the cluster": {objects(false), true, "no document declares cluster edge any more, so all of it is to leave: restore the document, or run 'furrow abandon edge' if the cluster is gone for good"},
	} {
		f := makePlan().merged(mgmt0, health.Ready).merged(edge0, health.Ready)
		f.tier(edge0).Contents = "c2"
		f.plan.Contents = append(f.plan.Contents, plan.Contents{ID: "c2", Objects: c.objects})
		if f.facts.Lost = nil; c.lost {
			f.facts.Lost = map[string]bool{"edge": true}
		}
		got, _ := release.Next(f.plan, f.facts).Find(edge0)
		if _, note, _ := strings.Cut(got.Message, "; "); got.State != release.Released || note != c.want {
			t.Errorf("%s: %s %q, want %q", sentence, got.State, got.Message, c.want)
		}
	}
}

func TestHoldsRemovals(t *testing.T) {
	tests := map[string]struct {
		removing, all int
		want          bool
	}{
		"two of two pass, for small fleets":       {2, 2, false},
		"three of three are held":                 {3, 3, true},
		"three of fifteen are a fifth and pass":   {3, 15, false},
		"three of fourteen are more and are held": {3, 14, true},
		"none of none pass":                       {0, 0, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := release.HoldsRemovals(tc.removing, tc.all, release.DefaultDeletionGuard); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestGoing(t *testing.T) {
	entries := []plan.Entry{{Path: "a", Mode: plan.ModeTree, Hash: hashOf("b")}}
	there, gone := plan.Tier{Cluster: "a", Entries: entries}, plan.Tier{Cluster: "a"}
	elsewhere := plan.Tier{Cluster: "b", Ordinal: 1}
	of := func(tiers ...plan.Tier) *plan.Plan { return &plan.Plan{Seed: "s", Tiers: tiers} }
	onBase := release.TierFacts{Base: release.BaseEarlier}
	rejected := release.TierFacts{Base: release.BaseEarlier, Proposal: &release.Proposal{Rejected: true}}
	tests := map[string]struct {
		before, now *plan.Plan
		facts       []release.TierFacts // of the tiers before, in order; fewer if the rest was not observed
		want        int
	}{
		"what stays does not go":                         {of(there), of(there), []release.TierFacts{onBase}, 0},
		"what leaves goes while base has it":             {of(gone), of(gone), []release.TierFacts{onBase}, 1},
		"each cluster counts once":                       {of(gone, elsewhere, plan.Tier{Cluster: "a", Ordinal: 2}), of(), []release.TierFacts{onBase, onBase, onBase}, 2},
		"what is off base has gone":                      {of(gone), of(gone), []release.TierFacts{{Base: release.BaseNothing}}, 0},
		"what a person rejected does not go":             {of(gone), of(gone), []release.TierFacts{rejected}, 0},
		"what the plan in force uses again does not go":  {of(gone), of(there), []release.TierFacts{onBase}, 0},
		"a cluster that keeps another tier does not go":  {of(gone, plan.Tier{Cluster: "a", Ordinal: 1, Entries: entries}), of(), []release.TierFacts{onBase, onBase}, 0},
		"what could not be observed is not counted":      {of(gone), of(gone), nil, 0},
		"where no plan is in force, that before decides": {of(gone), nil, []release.TierFacts{onBase}, 1},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			facts := map[layout.Tier]release.TierFacts{}
			for i, f := range tc.facts {
				facts[tc.before.Name(&tc.before.Tiers[i])] = f
			}
			if got := release.Going(tc.before, tc.now, facts); got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
		})
	}
}

// TestNeededThroughTiersThatAreNotThere: what a planted tier needs stays needed where the
// tier in between is gone from base.
func TestNeededThroughTiersThatAreNotThere(t *testing.T) {
	tier := func(seed string, n int) layout.Tier { return layout.Tier{Seed: seed, Cluster: "edge", Ordinal: n} }
	needs := func(seed string, n int) []plan.Prerequisite {
		return []plan.Prerequisite{{Seed: seed, Cluster: "edge", Ordinal: n}}
	}
	fleet := release.Fleet{
		tier("certs", 1): {Present: true},
		tier("certs", 2): {Present: true, Prerequisites: needs("", 1)},
		tier("shop", 2):  {Prerequisites: needs("certs", 2)},
		tier("shop", 3):  {Present: true, Prerequisites: needs("", 2)},
		tier("blog", 0):  {Present: true, Prerequisites: needs("certs", 2)},
		tier("wiki", 0):  {Prerequisites: needs("certs", 1)},
	}
	want := map[layout.Tier][]layout.Tier{tier("certs", 2): {tier("blog", 0), tier("shop", 3)}}
	if diff := cmp.Diff(want, fleet.Needed()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestWhatMustNotBeMergedSaysSo: the message of a proposal whose gate is shut never asks
// for its merge, and what was grafted anew keeps the gate that it had.
func TestWhatMustNotBeMergedSaysSo(t *testing.T) {
	f := makePlan().merged(mgmt0, health.Failed).proposal(edge0, release.Proposal{Stale: true})
	result := release.Next(f.plan, f.facts)
	texts := golden.Of(t)
	before, _ := result.Find(edge0)
	texts.Add("before", before.Message)
	if before.Reason != v1alpha1.ReasonWaitingForTier || before.Waits[0].Tier != mgmt0 {
		t.Errorf("got %+v", before)
	}
	result.Proposed(edge0)
	if s, _ := result.Find(edge0); s.Message != before.Message || s.Reason != before.Reason || s.ShutReason() != v1alpha1.ReasonWaitingForTier {
		t.Errorf("grafted anew: got %+v", s)
	}
	f = makePlan().proposal(mgmt0, release.Proposal{Stale: true})
	result = release.Next(f.plan, f.facts)
	result.Proposed(mgmt0)
	if s, _ := result.Find(mgmt0); s.Reason != v1alpha1.ReasonProposalOpen || s.Shut() != "" {
		t.Errorf("grafted anew with nothing to wait for: got %+v", s)
	}
}

// TestMessagesOfRemovalsSayWhatHolds: what a pass proposes itself says at once that it removes the tier, and what the
// deletion guard holds is not put down to the seed.
func TestMessagesOfRemovalsSayWhatHolds(t *testing.T) {
	f := makePlan().removal().base(edge1, release.BaseEarlier)
	result := release.Next(f.plan, f.facts)
	result.Proposed(edge1)
	texts := golden.Of(t)
	s, _ := result.Find(edge1)
	texts.Add("just proposed", s.Message)
	if s.Reason != v1alpha1.ReasonRemovalOpen {
		t.Errorf("just proposed: got %+v", s)
	}
	f.facts.KeepAll, f.facts.Guarded = true, true
	result = release.Next(f.plan, f.facts)
	s, _ = result.Find(edge1)
	texts.Add("held by the guard", s.Message)
	if s.Reason != v1alpha1.ReasonDeletionGuard {
		t.Errorf("held by the guard: got %+v", s)
	}
}
