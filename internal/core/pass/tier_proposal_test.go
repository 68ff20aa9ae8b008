package pass_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/furrow-dev/furrow/internal/core/pass"
)

// grouped is a fleet on which the tiers of a level of the seed web are proposed together.
func grouped(t testing.TB, version int) *fleet {
	f := one(t)
	f.group("Level", version)
	return f
}

func (f *fleet) group(by string, version int) {
	f.put("seeds/web/seed.yaml", document("Seed", "web", "rollout: {groupBy: "+by+"}"))
	f.put("seeds/web/objects.yaml", configMap("c", version))
}

// onGroup changes the only proposal of several tiers.
func (f *fleet) onGroup(change func(*pass.Proposal)) {
	f.t.Helper()
	r := f.repos["a"]
	for _, branch := range slices.Sorted(maps.Keys(r.proposals)) {
		if p := r.proposals[branch]; len(p.Tiers) > 1 {
			change(&p)
			r.proposals[branch] = p
			return
		}
	}
	f.t.Fatal("no proposal has several tiers")
}

func TestProposalsOfSeveralTiers(t *testing.T) {
	proposed := func() *fleet {
		f := grouped(t, 1)
		f.step()
		return f
	}
	cases{
		"the tiers of a level are proposed together": {
			fleet: grouped(t, 1), arrange: func(*fleet) {},
			wantStates:  []string{"web/east/00 Queued Proposing", "web/west/00 Queued Proposing"},
			wantActions: []string{"a: PushPlan plan/web 1", "a: Propose group/web/level-00 Plant"},
		},
		"an open proposal of a level stays": {
			fleet: proposed(), arrange: func(*fleet) {},
			wantStates:  []string{"web/east/00 Proposed ProposalOpen", "web/west/00 Proposed ProposalOpen"},
			wantActions: []string{"a: Gate group/web/level-00 open"},
		},
		"an open proposal of a level is updated with the plan": {
			fleet: proposed(), arrange: func(f *fleet) { f.group("Level", 2) },
			wantStates:  []string{"web/east/00 Outdated ProposalOutdated", "web/west/00 Outdated ProposalOutdated"},
			wantActions: []string{"a: PushPlan plan/web 2", "a: Propose group/web/level-00 Plant"},
		},
		"a stale proposal of a level is shut until it is grafted anew": {
			fleet: proposed(), arrange: func(f *fleet) { f.onGroup(func(p *pass.Proposal) { p.Stale = true }) },
			wantStates:  []string{"web/east/00 Proposed ProposalStale", "web/west/00 Proposed ProposalStale"},
			wantActions: []string{"a: Gate group/web/level-00 shut", "a: Propose group/web/level-00 Plant"},
		},
		"the branch of a proposal of a level that was merged goes": {
			fleet: proposed(), arrange: func(f *fleet) { f.mergeAll() },
			wantStates:  []string{"web/east/00 Merged ReconcilerMissing", "web/west/00 Merged ReconcilerMissing"},
			wantActions: []string{"a: Drop group/web/level-00"},
		},
		"what was proposed together is proposed one by one when people want that": {
			fleet: proposed(), arrange: func(f *fleet) { f.group("Tier", 1) },
			wantStates:  []string{"web/east/00 Queued Proposing", "web/west/00 Queued Proposing"},
			wantActions: []string{"a: PushPlan plan/web 2", "a: Propose tier/web/east/00 Plant", "a: Propose tier/web/west/00 Plant", "a: Supersede group/web/level-00", "a: Drop group/web/level-00"},
		},
		"what was proposed one by one is proposed together when people want that": {
			fleet: one(t),
			arrange: func(f *fleet) {
				f.group("Tier", 1)
				f.step()
				f.group("Level", 1)
			},
			wantStates:  []string{"web/east/00 Queued Proposing", "web/west/00 Queued Proposing"},
			wantActions: []string{"a: PushPlan plan/web 2", "a: Supersede tier/web/east/00", "a: Drop tier/web/east/00", "a: Supersede tier/web/west/00", "a: Drop tier/web/west/00", "a: Propose group/web/level-00 Plant"},
		},
		"an edited proposal of a level stays when people want another grouping": {
			fleet: proposed(),
			arrange: func(f *fleet) {
				f.onGroup(func(p *pass.Proposal) { p.Edited = true })
				f.group("Tier", 1)
			},
			wantStates:  []string{"web/east/00 Proposed EditedByPerson", "web/west/00 Proposed EditedByPerson"},
			wantActions: []string{"a: PushPlan plan/web 2", "a: Gate group/web/level-00 open"},
		},
		"a rejected proposal of a level counts no more with the next plan": {
			fleet: proposed(),
			arrange: func(f *fleet) {
				f.onGroup(func(p *pass.Proposal) { p.Rejected = true })
				f.group("Level", 2)
			},
			wantStates:  []string{"web/east/00 Queued Proposing", "web/west/00 Queued Proposing"},
			wantActions: []string{"a: PushPlan plan/web 2", "a: Supersede group/web/level-00", "a: Drop group/web/level-00", "a: Propose group/web/level-00.2 Plant"},
		},
		"a rejected proposal of a level stays rejected": {
			fleet: proposed(), arrange: func(f *fleet) { f.onGroup(func(p *pass.Proposal) { p.Rejected = true }) },
			wantStates:  []string{"web/east/00 Rejected Rejected", "web/west/00 Rejected Rejected"},
			wantActions: []string{},
		},
	}.run(t)
}
