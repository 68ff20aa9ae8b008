package pass_test

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/pass"
)

// hub is a fleet on which a seed is released on a cluster that a hub reconciles, and is removed.
func hub(t testing.TB) *fleet {
	f := planted(hosted(t), web(configMap("c", 1, on("edge"))))
	f.remove("web")
	return f
}

func TestAbandonedClusters(t *testing.T) {
	cases{
		"what goes from a cluster that answers is not orphaned": {
			fleet: hub(t), arrange: func(*fleet) {},
			wantStates:  []string{"web/edge/00 Queued Proposing"},
			wantActions: []string{"a: PushPlan plan/web removal 2", "a: Propose tier/web/edge/00 Remove"},
		},
		"what goes from an abandoned cluster of a hub is orphaned first": {
			fleet: hub(t), arrange: func(f *fleet) { f.abandon("a", "edge") },
			wantStates:  []string{"web/edge/00 Queued Proposing"},
			wantActions: []string{"a: PushPlan plan/web removal 2", "a: Propose tier/web/edge/00 Orphan"},
		},
		"it is orphaned as well where its removal was planned before": {
			fleet: hub(t), arrange: func(f *fleet) {
				f.step()
				f.abandon("a", "edge")
			},
			wantStates:  []string{"web/edge/00 Outdated ProposalOutdated"},
			wantActions: []string{"a: PushPlan plan/web removal 3", "a: Propose tier/web/edge/00 Orphan"},
		},
		"its plan is pushed with what orphans again where a repository lacks it": {
			fleet: hub(t), arrange: func(f *fleet) {
				f.abandon("a", "edge")
				had := f.repos["a"].refs["furrow/main/plan/web"]
				f.step()
				f.repos["a"].refs["furrow/main/plan/web"] = had
			},
			wantStates:  []string{"web/edge/00 Proposed OrphanOpen"},
			wantActions: []string{"a: PushPlan plan/web removal 2", "a: Gate tier/web/edge/00 open"},
		},
		"what orphans is merged, and the hub has still to take it": {
			fleet: hub(t), arrange: func(f *fleet) {
				f.abandon("a", "edge")
				f.step()
				f.mergeAll()
			},
			wantStates:  []string{"web/edge/00 Merged OrphanPending"},
			wantActions: []string{"a: Drop tier/web/edge/00"},
		},
		"what is orphaned goes": {
			fleet: hub(t), arrange: func(f *fleet) {
				f.abandon("a", "edge")
				f.step()
				f.mergeAll()
				f.sync()
			},
			wantStates:  []string{"web/edge/00 Queued Proposing"},
			wantActions: []string{"a: Propose tier/web/edge/00 Remove"},
		},
		"what orphans is not needed where the hub does not have the object": {
			fleet: hub(t), arrange: func(f *fleet) {
				f.abandon("a", "edge")
				clear(f.live)
			},
			wantStates:  []string{"web/edge/00 Queued Proposing"},
			wantActions: []string{"a: PushPlan plan/web removal 2", "a: Propose tier/web/edge/00 Remove"},
		},
		"what orphans is needed while nothing is known of the hub": {
			fleet: hub(t), arrange: func(f *fleet) {
				f.abandon("a", "edge")
				f.silent["hub"] = true
			},
			wantStates:  []string{"web/edge/00 Queued RootUnknown"},
			wantActions: []string{"a: PushPlan plan/web removal 2"},
		},
		"what orphans is needed while the health channel fails": {
			fleet: hub(t), arrange: func(f *fleet) {
				f.abandon("a", "edge")
				f.health.Failure = pass.Fail(errors.New("forbidden"), true)
			},
			wantStates:  []string{"web/edge/00 Queued Proposing"},
			wantActions: []string{"a: PushPlan plan/web removal 2", "a: Propose tier/web/edge/00 Orphan"},
		},
		"what orphans is not needed where the hub is abandoned as well": {
			fleet: hub(t), arrange: func(f *fleet) {
				f.abandon("a", "edge")
				f.abandon("a", "hub")
				f.silent["hub"] = true
			},
			wantStates:  []string{"web/edge/00 Queued Proposing"},
			wantActions: []string{"a: PushPlan plan/web removal 2", "a: Propose tier/web/edge/00 Remove"},
		},
		"a removal that is proposed stays so when the hub falls silent": {
			fleet: hub(t), arrange: func(f *fleet) {
				f.abandon("a", "edge")
				f.step()
				f.mergeAll()
				f.sync()
				f.step()
				f.silent["hub"] = true
			},
			wantStates:  []string{"web/edge/00 Proposed RemovalOpen"},
			wantActions: []string{"a: Gate tier/web/edge/00 open"},
		},
		"what goes from an abandoned cluster that reconciles itself goes at once": {
			fleet: released(t), arrange: func(f *fleet) {
				f.remove("web")
				f.abandon("a", "east")
				f.silent["east"] = true
			},
			wantStates:  []string{"web/east/00 Queued Proposing"},
			wantActions: []string{"a: PushPlan plan/web removal 2", "a: Propose tier/web/east/00 Remove"},
		},
		"what went from an abandoned cluster that does not answer is given up": {
			fleet: released(t), arrange: func(f *fleet) {
				f.remove("web")
				f.abandon("a", "east")
				f.silent["east"] = true
				f.step()
				f.mergeAll()
			},
			wantStates:  []string{"web/east/00 Gone GivenUp"},
			wantActions: []string{"a: Drop tier/web/east/00"},
		},
		"what stays on an abandoned cluster waits for a person": {
			fleet: released(t), arrange: func(f *fleet) {
				f.abandon("a", "east")
				f.silent["east"] = true
			},
			wantStates:  []string{"web/east/00 Merged ClusterAbandoned"},
			wantActions: []string{},
		},
		"a tier is not orphaned any more when the cluster is kept": {
			fleet: hub(t), arrange: func(f *fleet) {
				f.abandon("a", "edge")
				f.step()
				delete(f.repos["a"].refs, layout.AbandonBranch("main", pass.MarkerScope(f.self), "edge"))
			},
			wantStates:  []string{"web/edge/00 Outdated ProposalOutdated"},
			wantActions: []string{"a: Propose tier/web/edge/00 Remove"},
		},
		"a tier that base does not have, now or as its hub applied it, cannot be orphaned": {
			fleet: hub(t), arrange: func(f *fleet) {
				f.step()
				f.abandon("a", "edge")
				f.mergeAll()
				for key, live := range f.live {
					live.Revision = "main@sha1:" + strings.Repeat("0", 40)
					f.live[key] = live
				}
			},
			wantStates:  []string{"web stalled PlanLost", "web/edge/00 Progressing StillPresent"},
			wantActions: []string{"a: Drop tier/web/edge/00"},
		},
		"nothing is orphaned of a seed that stays as it is": {
			fleet: hub(t), arrange: func(f *fleet) {
				f.abandon("a", "edge")
				f.put("clusters/edge.yaml", document("Cluster", "edge", "gitOpsRepo: a, unknown: field"))
			},
			wantStates:  []string{"web stalled RemovalOnHold", "web/edge/00 Released Healthy"},
			wantActions: []string{},
		},
		"a confirmation of what leaves goes along where only what orphans is added": {
			fleet: func() *fleet {
				f := planted(hosted(t), web(namespace("shop", on("edge")), configMap("c", 1, on("hub"))))
				f.seed("web", configMap("c", 1, on("hub")))
				f.step()
				f.step()
				return f
			}(),
			arrange: func(f *fleet) {
				f.mark("a", layout.ConfirmLeavingBranch, "web")
				f.abandon("a", "edge")
			},
			wantStates:  []string{"web/edge/00 Queued Proposing", "web/hub/00 Released Healthy"},
			wantActions: []string{"a: PushPlan plan/web 4", "a: Propose tier/web/edge/00 Orphan", "a: MoveToPlan confirm-leaving/web"},
		},
		"nothing is orphaned while the removal is on hold": {
			fleet: hub(t),
			arrange: func(f *fleet) {
				f.step()
				f.abandon("a", "edge")
				f.put("clusters/edge.yaml", document("Cluster", "edge", "gitOpsRepo: a, unknown: field"))
			},
			wantStates:  []string{"web stalled RemovalOnHold", "web/edge/00 Held RemovalOnHold"},
			wantActions: []string{"a: Supersede tier/web/edge/00", "a: Drop tier/web/edge/00"},
		},
		"a repository that lacks the plan gets it with what orphans": {
			fleet: planted(newFleet(t, map[string][]string{"a": {"hub", "edge@hub"}, "b": {"west"}}), web(configMap("c", 1, on("edge,west")))),
			arrange: func(f *fleet) {
				f.remove("web")
				f.abandon("a", "edge")
				had := f.repos["a"].refs["furrow/main/plan/web"]
				f.step()
				f.repos["a"].refs["furrow/main/plan/web"] = had
			},
			wantStates:  []string{"web/edge/00 Proposed OrphanOpen", "web/west/00 Proposed RemovalOpen"},
			wantActions: []string{"a: PushPlan plan/web removal 2", "a: Gate tier/web/edge/00 open", "b: Gate tier/web/west/00 open"},
		},
		"what goes from an abandoned cluster that answers itself is not orphaned": {
			fleet: released(t),
			arrange: func(f *fleet) {
				f.remove("web")
				f.abandon("a", "east")
			},
			wantStates:  []string{"web/east/00 Queued Proposing"},
			wantActions: []string{"a: PushPlan plan/web removal 2", "a: Propose tier/web/east/00 Remove"},
		},
		"a tier that is to stay on an abandoned cluster of a hub is not orphaned": {
			fleet:       planted(hosted(t), web(configMap("c", 1, on("edge")))),
			arrange:     func(f *fleet) { f.abandon("a", "edge") },
			wantStates:  []string{"web/edge/00 Released Healthy"},
			wantActions: []string{},
		},
		"what orphans is needed while the health channel fails, also where the hub is abandoned": {
			fleet: hub(t),
			arrange: func(f *fleet) {
				f.abandon("a", "edge")
				f.abandon("a", "hub")
				f.health.Failure = pass.Fail(errors.New("forbidden"), true)
			},
			wantStates:  []string{"web/edge/00 Queued Proposing"},
			wantActions: []string{"a: PushPlan plan/web removal 2", "a: Propose tier/web/edge/00 Orphan"},
		},
		"what a person changed in the proposal that orphans counts as orphaned": {
			fleet: hub(t),
			arrange: func(f *fleet) {
				f.abandon("a", "edge")
				f.step()
				f.merge("web/edge/00", map[string]string{"planted/edge/web/tier-00/more.yaml": configMap("more", 1)})
				f.sync()
			},
			wantStates:  []string{"web/edge/00 Queued Proposing"},
			wantActions: []string{"a: Propose tier/web/edge/00 Remove"},
		},
		"a removal that a person changed, of what was orphaned, was reverted": {
			fleet: hub(t),
			arrange: func(f *fleet) {
				f.abandon("a", "edge")
				f.step()
				f.mergeAll()
				f.sync()
				f.step()
				f.merge("web/edge/00", map[string]string{"planted/edge/web/tier-00/kept.yaml": configMap("kept", 1)})
				f.sync()
			},
			wantStates:  []string{"web/edge/00 Reverted Reverted"},
			wantActions: []string{},
		},
	}.run(t)
}

func TestMarkersOfAbandonedClusters(t *testing.T) {
	cases{
		"what a person made of the removal of an orphaned tier is not of others, also where the hub holds it again": {
			fleet: hub(t), arrange: func(f *fleet) {
				f.abandon("a", "edge")
				held := maps.Clone(f.live)
				f.step()
				f.mergeAll()
				f.sync()
				f.step()
				f.merge("web/edge/00", map[string]string{"planted/edge/web/tier-00/kept.yaml": configMap("kept", 1)})
				f.live = held
			},
			wantStates:  []string{"web/edge/00 Reverted Reverted"},
			wantActions: []string{},
		},
		"a marker goes when no plan has anything on its cluster": {
			fleet: released(t), arrange: func(f *fleet) { f.abandon("a", "west") },
			wantStates:  []string{"web/east/00 Released Healthy"},
			wantActions: []string{"a: Drop abandon/acme/test/west"},
		},
		"a marker stays while a plan has something on its cluster": {
			fleet: released(t), arrange: func(f *fleet) { f.abandon("a", "east") },
			wantStates:  []string{"web/east/00 Released Healthy"},
			wantActions: []string{},
		},
		"a marker stays while a plan has something that its cluster reconciles": {
			fleet: planted(hosted(t), web(configMap("c", 1, on("edge")))), arrange: func(f *fleet) { f.abandon("a", "hub") },
			wantStates:  []string{"web/edge/00 Released Healthy"},
			wantActions: []string{},
		},
		"a marker stays while a repository cannot be used": {
			fleet: planted(two(t), web(configMap("c", 1, on("east")))), arrange: func(f *fleet) {
				f.abandon("a", "west")
				f.repos["b"].failure = down()
			},
			wantStates:  []string{"web/east/00 Released Healthy"},
			wantActions: []string{},
		},
		"a marker stays while a plan cannot be read": {
			fleet: released(t), arrange: func(f *fleet) {
				f.abandon("a", "west")
				f.repos["a"].write("furrow/main/plan/other", map[string]string{"plan.yaml": "broken"})
			},
			wantStates:  []string{"other stalled InvalidPlan", "web/east/00 Released Healthy"},
			wantActions: []string{},
		},
		"a marker stays when a plan is about to have something on its cluster": {
			fleet: released(t), arrange: func(f *fleet) {
				f.abandon("a", "west")
				f.seed("api", configMap("d", 1, on("west")))
			},
			wantStates:  []string{"api/west/00 Queued Proposing", "web/east/00 Released Healthy"},
			wantActions: []string{"a: PushPlan plan/api 1", "a: Propose tier/api/west/00 Plant"},
		},
		"a marker of another owner is left alone": {
			fleet: released(t), arrange: func(f *fleet) {
				f.abandon("a", "west")
				f.remove("web")
				f.self.Owner = "other/test"
			},
			wantStates:  []string{},
			wantActions: []string{},
		},
		"a plan of another owner keeps no marker": {
			fleet: released(t), arrange: func(f *fleet) {
				f.remove("web")
				f.self.Owner = "other/test"
				f.abandon("a", "east")
			},
			wantStates:  []string{},
			wantActions: []string{"a: Drop abandon/other/test/east"},
		},
	}.run(t)
}
