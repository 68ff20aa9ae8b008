package pass_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/pass"
	"github.com/furrow-dev/furrow/internal/core/plan"
)

// kinds are those of the last decision's questions, by round.
func (f *fleet) kinds() [][]pass.Kind {
	var out [][]pass.Kind
	for _, round := range f.rounds {
		var kinds []pass.Kind
		for _, q := range round {
			kinds = append(kinds, q.Kind)
		}
		out = append(out, kinds)
	}
	return out
}

// chain is a seed of two tiers on a cluster.
func chain(version int, cluster string) []string {
	return []string{configMap("first", version, on(cluster)), configMap("second", version, on(cluster), after("first"))}
}

func TestASeedIsPlannedProposedAndReleasedTierByTier(t *testing.T) {
	f := one(t)
	for _, step := range []struct {
		when            string
		arrange         func()
		states, actions []string
		questions       [][]pass.Kind
	}{
		{
			"the seed is new", func() { f.seed("web", chain(1, "east")...) },
			[]string{"web/east/00 Queued Proposing", "web/east/01 Blocked WaitingForTier"},
			[]string{"a: PushPlan plan/web 1", "a: Propose tier/web/east/00 Plant"},
			[][]pass.Kind{{pass.AskEntries}, {pass.AskEntries, pass.AskHealth}, {pass.AskRootDir}, {pass.AskClosed}},
		},
		{
			"the first tier is proposed", func() {},
			[]string{"web/east/00 Proposed ProposalOpen", "web/east/01 Blocked WaitingForTier"},
			[]string{"a: Gate tier/web/east/00 open"},
			[][]pass.Kind{{pass.AskEntries}, {pass.AskEntries}, {pass.AskHealth}},
		},
		{
			"it is merged", f.mergeAll,
			[]string{"web/east/00 Merged ReconcilerMissing", "web/east/01 Blocked WaitingForTier"},
			[]string{"a: Drop tier/web/east/00"},
			[][]pass.Kind{{pass.AskEntries}, {pass.AskBlob, pass.AskHealth}, {pass.AskHealth}},
		},
		{
			"its cluster has it", f.sync,
			[]string{"web/east/00 Released Healthy", "web/east/01 Queued Proposing"},
			[]string{"a: Propose tier/web/east/01 Plant"},
			[][]pass.Kind{{pass.AskEntries}, {pass.AskBlob, pass.AskHealth}, {pass.AskSince}, {pass.AskEntries, pass.AskHealth}, {pass.AskRootDir}, {pass.AskClosed}},
		},
		{
			"all is merged, and the cluster has it", func() { f.mergeAll(); f.sync() },
			[]string{"web/east/00 Released Healthy", "web/east/01 Released Healthy"},
			[]string{"a: Drop tier/web/east/01"},
			[][]pass.Kind{{pass.AskEntries}, {pass.AskBlob, pass.AskBlob, pass.AskHealth}, {pass.AskSince}},
		},
		{
			"nothing is left to do", func() {},
			[]string{"web/east/00 Released Healthy", "web/east/01 Released Healthy"}, []string{},
			[][]pass.Kind{{pass.AskEntries}, {pass.AskBlob, pass.AskBlob, pass.AskHealth}, {pass.AskSince}},
		},
		{
			"the seed has changed", func() { f.seed("web", chain(2, "east")...) },
			[]string{"web/east/00 Queued Proposing", "web/east/01 Blocked WaitingForTier"},
			[]string{"a: PushPlan plan/web 2", "a: Propose tier/web/east/00 Update"},
			[][]pass.Kind{{pass.AskEntries}, {pass.AskBlob, pass.AskBlob, pass.AskHealth}, {pass.AskSince}, {pass.AskPast}, {pass.AskEntries, pass.AskHealth}, {pass.AskRootDir}, {pass.AskClosed}, {pass.AskFiles}, {pass.AskBlob}},
		},
	} {
		step.arrange()
		d := f.step()
		if diff := cmp.Diff(step.states, states(d)); diff != "" {
			t.Errorf("when %s, the states (-want +got):\n%s", step.when, diff)
		}
		if diff := cmp.Diff(step.actions, actions(d)); diff != "" {
			t.Errorf("when %s, the actions (-want +got):\n%s", step.when, diff)
		}
		if diff := cmp.Diff(step.questions, f.kinds()); diff != "" {
			t.Errorf("when %s, the questions by round (-want +got):\n%s", step.when, diff)
		}
	}
}

// TestOnlyWhatTheDecisionNeedsIsAsked counts what is asked of clusters and forges.
func TestOnlyWhatTheDecisionNeedsIsAsked(t *testing.T) {
	type asked struct{ Reconcilers, Roots, RootDirs, Closed int }
	for name, tc := range map[string]struct {
		fleet   *fleet
		arrange func(*fleet)
		want    asked
	}{
		"of a new seed the root of the tier that is free, and whether it was rejected": {
			one(t), func(f *fleet) { f.seed("web", chain(1, "east")...) }, asked{Roots: 1, RootDirs: 1, Closed: 1},
		},
		"of tiers that are proposed their root, and of what waits for them nothing": {
			one(t), func(f *fleet) { f.seed("web", chain(1, "east")...); f.step() }, asked{Roots: 1},
		},
		"of a proposal of an earlier plan its root": {
			proposed(t), func(f *fleet) { f.seed("web", configMap("c", 2, on("east"))) }, asked{Roots: 1},
		},
		"of a proposal that a person rejected nothing": {
			proposed(t), func(f *fleet) { f.change("web/east/00", func(p *pass.Proposal) { p.Rejected = true }) }, asked{},
		},
		"of a tier that was merged its reconciler object, and the root that has to apply it": {
			proposed(t), func(f *fleet) { f.mergeAll() }, asked{Reconcilers: 1, Roots: 1},
		},
		"of tiers that are released their reconciler objects": {
			planted(one(t), web(chain(1, "east")...)), func(*fleet) {}, asked{Reconcilers: 2},
		},
		"of what others put at a tier's paths nothing but whether it was merged": {
			released(t), func(f *fleet) { f.repos["a"].write("main", map[string]string{eastFile: configMap("c", 7)}) }, asked{Closed: 1},
		},
		"of an update its root, but not that of the tier that waits for it": {
			planted(one(t), web(chain(1, "east")...)), func(f *fleet) { f.seed("web", chain(2, "east")...) }, asked{Reconcilers: 2, Roots: 1, RootDirs: 1, Closed: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.fleet.t = t
			tc.arrange(tc.fleet)
			tc.fleet.decide()
			var got asked
			for _, q := range slices.Concat(tc.fleet.rounds...) {
				got.Reconcilers += len(q.Reconcilers)
				got.Roots += len(q.Roots)
				switch q.Kind {
				case pass.AskRootDir:
					got.RootDirs++
				case pass.AskClosed:
					got.Closed++
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
		})
	}
}

// planted is a fleet on which seeds are released.
func planted(f *fleet, seeds map[string][]string) *fleet {
	for name, objects := range seeds {
		f.seed(name, objects...)
	}
	return f.releaseAll()
}

func web(objects ...string) map[string][]string { return map[string][]string{"web": objects} }

func TestDecide(t *testing.T) {
	cases{
		"a new seed is planned in every repository before it is proposed": {
			fleet:       two(t),
			arrange:     func(f *fleet) { f.seed("web", configMap("c", 1)) },
			wantStates:  []string{"web/east/00 Queued Proposing", "web/west/00 Queued Proposing"},
			wantActions: []string{"a: PushPlan plan/web 1", "a: Propose tier/web/east/00 Plant", "b: PushPlan plan/web 1", "b: Propose tier/web/west/00 Plant"},
		},
		"of two seeds that of a broken repository fails, and the other goes on": {
			fleet: planted(two(t), map[string][]string{"web": {configMap("c", 1, on("east"))}, "api": {configMap("d", 1, on("west"))}}),
			arrange: func(f *fleet) {
				f.seed("web", configMap("c", 2, on("east")))
				f.seed("api", configMap("d", 2, on("west")))
				f.repos["b"].failure = down()
			},
			wantStates:  []string{"api stalled RepositoryBroken", "web/east/00 Queued Proposing"},
			wantActions: []string{"a: PushPlan plan/web 2", "a: Propose tier/web/east/00 Update"},
		},
		"a seed in two repositories is held while one of them cannot be used": {
			fleet: planted(two(t), web(configMap("c", 1))),
			arrange: func(f *fleet) {
				f.seed("web", configMap("c", 2))
				f.repos["b"].failure = down()
			},
			wantStates:  []string{"web stalled RepositoryBroken"},
			wantActions: []string{},
		},
		"of two seeds the one goes on when the repository of the other stops answering": {
			fleet: planted(two(t), map[string][]string{"web": {configMap("c", 1, on("east"))}, "api": {configMap("d", 1, on("west"))}}),
			arrange: func(f *fleet) {
				f.seed("web", configMap("c", 2, on("east")))
				f.seed("api", configMap("d", 2, on("west")))
				f.failing = map[string]pass.Kind{"b": pass.AskSince}
			},
			wantStates:  []string{"api stalled RepositoryBroken", "web/east/00 Queued Proposing"},
			wantActions: []string{"a: PushPlan plan/web 2", "a: Propose tier/web/east/00 Update"},
		},
		"a repository that lacks the plan gets it again, and the other keeps it": {
			fleet: two(t),
			arrange: func(f *fleet) {
				f.seed("web", configMap("c", 1))
				f.step()
				delete(f.repos["b"].refs, "furrow/main/plan/web")
			},
			wantStates:  []string{"web/east/00 Proposed ProposalOpen", "web/west/00 Proposed ProposalOpen"},
			wantActions: []string{"a: Gate tier/web/east/00 open", "b: PushPlan plan/web 1", "b: Gate tier/web/west/00 open"},
		},
		"a repository with an earlier plan gets the present one": {
			fleet: planted(two(t), web(configMap("c", 1))),
			arrange: func(f *fleet) {
				had := f.repos["b"].refs["furrow/main/plan/web"]
				f.seed("web", configMap("c", 2))
				f.step()
				f.repos["b"].refs["furrow/main/plan/web"] = had
			},
			wantStates:  []string{"web/east/00 Proposed ProposalOpen", "web/west/00 Proposed ProposalOpen"},
			wantActions: []string{"a: Gate tier/web/east/00 open", "b: PushPlan plan/web 2", "b: Gate tier/web/west/00 open"},
		},
		"a plan that cannot be read stops its seed, and shuts its stale proposals": {
			fleet: one(t),
			arrange: func(f *fleet) {
				f.seed("web", configMap("c", 1, on("east")))
				f.step()
				f.repos["a"].write("furrow/main/plan/web", map[string]string{"plan.yaml": "broken"})
				f.change("web/east/00", func(p *pass.Proposal) { p.Stale = true })
			},
			wantStates:  []string{"web stalled InvalidPlan"},
			wantActions: []string{"a: Gate tier/web/east/00 shut"},
		},
		"stale proposals of a seed of another owner are left alone while the control plane cannot be read": {
			fleet: proposed(t),
			arrange: func(f *fleet) {
				f.change("web/east/00", func(p *pass.Proposal) { p.Stale = true })
				f.self.Owner = "other/test"
				f.unread = "no answer"
			},
			wantStates:  []string{},
			wantActions: []string{},
		},
		"the plan of another owner is left alone": {
			fleet: planted(one(t), web(configMap("c", 1))),
			arrange: func(f *fleet) {
				f.self.Owner = "other/test"
				f.seed("web", configMap("c", 2))
			},
			wantStates:  []string{"web stalled ForeignOwner"},
			wantActions: []string{},
		},
		"a seed that another engine is responsible for is not reported": {
			fleet: planted(one(t), web(configMap("c", 1))),
			arrange: func(f *fleet) {
				f.put("seeds/web.yaml", "")
				f.scope = map[string]bool{}
			},
			wantStates:  []string{},
			wantActions: []string{},
		},
		"nothing is done as an owner that may be the wrong one": {
			fleet: planted(originated(one(t)), web(configMap("c", 1))),
			arrange: func(f *fleet) {
				f.self.Owner = "renamed/test"
				f.put("control-plane.yaml", "apiVersion: furrow.dev/v1alpha1\nkind: ControlPlane\nmetadata: {name\n")
			},
			wantStates:  []string{"refused OwnerUnknown"},
			wantActions: []string{},
		},
		"a control plane that cannot be read keeps everything": {
			fleet: planted(one(t), web(configMap("c", 1))),
			arrange: func(f *fleet) {
				f.put("seeds/web.yaml", "")
				f.seed("new", configMap("d", 1))
				f.unread = "no answer"
			},
			wantStates:  []string{"web/east/00 Released Healthy", "web/west/00 Released Healthy"},
			wantActions: []string{},
		},
		"a suspended seed is planned and not proposed": {
			fleet: one(t),
			arrange: func(f *fleet) {
				f.put("seeds/web/seed.yaml", document("Seed", "web", "suspend: true"))
				f.put("seeds/web/objects.yaml", configMap("c", 1, on("east")))
			},
			wantStates:  []string{"web/east/00 Queued Suspended"},
			wantActions: []string{"a: PushPlan plan/web 1"},
		},
		"a merged tier waits for its cluster": {
			fleet: one(t),
			arrange: func(f *fleet) {
				f.seed("web", chain(1, "east")...)
				f.step()
				f.mergeAll()
			},
			wantStates:  []string{"web/east/00 Merged ReconcilerMissing", "web/east/01 Blocked WaitingForTier"},
			wantActions: []string{"a: Drop tier/web/east/00"},
		},
		"without a health channel nothing is released": {
			fleet:       planted(one(t), web(chain(1, "east")...)),
			arrange:     func(f *fleet) { f.health.None = true },
			wantStates:  []string{"web/east/00 Merged NoChannel", "web/east/01 Merged NoChannel"},
			wantActions: []string{},
		},
		"with a health channel that fails nothing is released, and no update is reverted": {
			fleet: planted(one(t), web(chain(1, "east")...)),
			arrange: func(f *fleet) {
				f.seed("web", chain(2, "east")...)
				f.step()
				f.health.Failure = pass.Fail(errors.New("forbidden"), true)
			},
			wantStates:  []string{"web/east/00 Proposed ProposalOpen", "web/east/01 Blocked WaitingForTier"},
			wantActions: []string{"a: Gate tier/web/east/00 open"},
		},
		"a cluster that does not answer is unknown": {
			fleet:       planted(one(t), web(chain(1, "east")...)),
			arrange:     func(f *fleet) { f.silent["east"] = true },
			wantStates:  []string{"web/east/00 Merged ClusterSilent", "web/east/01 Merged ClusterSilent"},
			wantActions: []string{},
		},
		"a repository in which the next plan has nothing loses the plan": {
			fleet: planted(two(t), web(configMap("c", 1))),
			arrange: func(f *fleet) {
				f.seed("web", configMap("c", 1, on("east")))
				f.releaseAll()
				f.seed("web", configMap("c", 2, on("east")))
			},
			wantStates:  []string{"web/east/00 Queued Proposing"},
			wantActions: []string{"a: PushPlan plan/web 4", "a: Propose tier/web/east/00 Update", "b: Drop plan/web"},
		},
		"a seed does not spread to a repository in which another owner has a plan of it": {
			fleet: planted(two(t), web(configMap("c", 1, on("east")))),
			arrange: func(f *fleet) {
				f.ofOthers("b", "web")
				f.seed("web", configMap("c", 1))
			},
			wantStates:  []string{"web stalled ForeignOwner", "web/east/00 Released Healthy"},
			wantActions: []string{},
		},
		"of a control plane that cannot be read, the plans of others are not kept": {
			fleet: released(t),
			arrange: func(f *fleet) {
				f.self.Owner = "other/test"
				f.unread = "no answer"
			},
			wantStates:  []string{},
			wantActions: []string{},
		},
		"the plan of another control plane does not make the owner uncertain": {
			fleet: planted(originated(one(t)), web(configMap("c", 1))),
			arrange: func(f *fleet) {
				f.self = plan.Identity{Owner: "renamed/test", Origin: "sha256:fedcba9876543210"}
				f.put("control-plane.yaml", "apiVersion: furrow.dev/v1alpha1\nkind: ControlPlane\nmetadata: {name\n")
			},
			wantStates:  []string{"web stalled ForeignOwner"},
			wantActions: []string{},
		},
		"what left a seed goes only once all else is released": {
			fleet: planted(one(t), web(configMap("c", 1, on("east")), configMap("d", 1, on("east")))),
			arrange: func(f *fleet) {
				f.seed("web", configMap("c", 2, on("east")))
				f.step()
			},
			wantStates:  []string{"web/east/00 Proposed ProposalOpen"},
			wantActions: []string{"a: Gate tier/web/east/00 open"},
		},
		"a seed waits for what it needs of another one": {
			fleet: one(t),
			arrange: func(f *fleet) {
				f.seed("web", configMap("first", 1, on("east")))
				f.seed("api", configMap("d", 1, on("east"), after("first")))
			},
			wantStates:  []string{"api/east/00 Blocked WaitingForTier", "web/east/00 Queued Proposing"},
			wantActions: []string{"a: PushPlan plan/api 1", "a: PushPlan plan/web 1", "a: Propose tier/web/east/00 Plant"},
		},
	}.run(t)
}

// originated is a fleet whose control plane is kept somewhere.
func originated(f *fleet) *fleet {
	f.self.Origin = "sha256:0123456789abcdef"
	return f
}

func TestNothingIsAskedAboutPlansOfOthers(t *testing.T) {
	f := released(t)
	f.self.Owner = "other/test"
	f.decide()
	if len(f.rounds) > 0 {
		t.Errorf("asked %v", f.rounds)
	}
}

func TestWaitsHaveTheStateOfTiersOfOtherSeeds(t *testing.T) {
	f := one(t)
	f.seed("web", configMap("first", 1, on("east")))
	f.seed("api", configMap("d", 1, on("east"), after("first")))
	f.step()
	waits := func(d *pass.Decision) string { return string(d.Seeds["api"].Result.Tiers[0].Waits[0].State) }
	d := f.decide()
	if got := waits(d); got != "Proposed" {
		t.Errorf("api waits for a tier that is %s", got)
	}
	f = one(t)
	f.seed("web", configMap("first", 1, on("east")))
	f.seed("api", configMap("d", 1, on("east"), after("first")))
	d = f.decide()
	if d.Proposed(layout.Tier{Seed: "web", Cluster: "east"}); waits(d) != "Proposed" || d.Seeds["web"].Result.Tiers[0].State != "Proposed" {
		t.Errorf("after it was proposed, api waits for a tier that is %s", waits(d))
	}
}
