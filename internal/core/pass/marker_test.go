package pass_test

import (
	"fmt"
	"testing"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/release"
)

// shrinking is a fleet on which a Namespace leaves a seed that stays, up to the plan that takes it away.
func shrinking(t testing.TB) *fleet {
	f := planted(one(t), map[string][]string{"web": {namespace("shop", on("east")), configMap("c", 1, on("east"))}})
	f.seed("web", configMap("c", 1, on("east")))
	f.step()
	f.step()
	return f
}

// reverted is a fleet on which a person took the second of two tiers back, and the first does not answer.
func reverted(t testing.TB) *fleet {
	f := planted(one(t), web(chain(1, "east")...))
	f.repos["a"].write("main", map[string]string{"planted/east/web/tier-01/configmap.second.yaml": "", "clusters/east/furrow/web/tier-01.yaml": ""})
	f.silent["east"] = true
	return f
}

// revertedBehind is a fleet on which a person reverted what the second of two waves has, and the
// first does not answer.
func revertedBehind(t testing.TB) *fleet {
	f := one(t)
	for _, cluster := range []string{"east", "west"} {
		f.put("clusters/"+cluster+".yaml", fmt.Sprintf("apiVersion: %s\nkind: Cluster\nmetadata: {name: %s, labels: {name: %s}}\nspec: {gitOpsRepo: a}\n", v1alpha1.APIVersion, cluster, cluster))
	}
	f.seed("alpha", configMap("c", 1), inTurn("alpha", "east", "west"))
	f.releaseAll()
	f.repos["a"].write("main", map[string]string{"planted/west/alpha/tier-00/configmap.c.yaml": "", "clusters/west/furrow/alpha/tier-00.yaml": ""})
	f.silent["east"] = true
	return f
}

func TestMarkers(t *testing.T) {
	cases{
		"a retry stays while what it asks for is blocked": {
			fleet: reverted(t), arrange: func(f *fleet) { f.mark("a", layout.RetryBranch, "web") },
			wantStates:  []string{"web/east/00 Merged ClusterSilent", "web/east/01 Blocked WaitingForTier"},
			wantActions: []string{},
		},
		"a retry stays while it cannot be read whether what is blocked asks for it": {
			fleet: reverted(t), arrange: func(f *fleet) {
				f.mark("a", layout.RetryBranch, "web")
				for key := range f.repos["a"].closed {
					f.repos["a"].closed[key] = closed{failure: down()}
				}
			},
			wantStates:  []string{"web/east/00 Merged ClusterSilent", "web/east/01 Blocked WaitingForTier"},
			wantActions: []string{},
		},
		"a retry stays while what it asks for waits for its wave": {
			fleet: revertedBehind(t), arrange: func(f *fleet) { f.mark("a", layout.RetryBranch, "alpha") },
			wantStates:  []string{"alpha/east/00 Merged ClusterSilent", "alpha/west/00 Queued WaitingForWave"},
			wantActions: []string{},
		},
		"a retry stays while the rollout is paused": {
			fleet: revertedBehind(t), arrange: func(f *fleet) {
				delete(f.silent, "east")
				f.record("alpha", release.Record{Paused: &release.Request{By: "Ada"}})
				f.mark("a", layout.RetryBranch, "alpha")
			},
			wantStates:  []string{"alpha/east/00 Released Healthy", "alpha/west/00 Queued RolloutPaused"},
			wantActions: []string{},
		},
		"a retry goes once what waited for its wave is proposed": {
			fleet: revertedBehind(t), arrange: func(f *fleet) {
				f.mark("a", layout.RetryBranch, "alpha")
				f.step()
				delete(f.silent, "east")
			},
			wantStates:  []string{"alpha/east/00 Released Healthy", "alpha/west/00 Queued Proposing"},
			wantActions: []string{"a: Propose tier/alpha/west/00 Plant", "a: Drop retry/alpha"},
		},
		"a retry of what is blocked goes when nothing asks for it": {
			fleet: reverted(t), arrange: func(f *fleet) {
				f.mark("a", layout.RetryBranch, "web")
				clear(f.repos["a"].closed)
			},
			wantStates:  []string{"web/east/00 Merged ClusterSilent", "web/east/01 Blocked WaitingForTier"},
			wantActions: []string{"a: Drop retry/web"},
		},
		"a retry of an earlier plan goes, whatever is blocked": {
			fleet: reverted(t), arrange: func(f *fleet) { f.mark("a", layout.RetryBranch, "web", f.repos["a"].refs["main"]) },
			wantStates:  []string{"web/east/00 Merged ClusterSilent", "web/east/01 Blocked WaitingForTier"},
			wantActions: []string{"a: Drop retry/web"},
		},
		"a retry goes with the next plan, whatever is blocked": {
			fleet: reverted(t), arrange: func(f *fleet) {
				f.mark("a", layout.RetryBranch, "web")
				f.seed("web", configMap("first", 1, on("east")), configMap("second", 2, on("east"), after("first")))
			},
			wantStates:  []string{"web/east/00 Merged ClusterSilent", "web/east/01 Blocked WaitingForTier"},
			wantActions: []string{"a: PushPlan plan/web 2", "a: Drop retry/web"},
		},
		"a confirmed removal stays confirmed while it is under way": {
			fleet: planted(one(t), guarded),
			arrange: func(f *fleet) {
				f.remove("web")
				f.mark("a", layout.ConfirmBranch, "web")
				f.step()
			},
			wantStates:  []string{"web/east/00 Proposed RemovalOpen"},
			wantActions: []string{"a: Gate tier/web/east/00 open"},
		},
		"a confirmation stays while the control plane cannot be read": {
			fleet: planted(one(t), guarded),
			arrange: func(f *fleet) {
				f.mark("a", layout.ConfirmBranch, "web")
				f.unread = "no answer"
			},
			wantStates:  []string{"web/east/00 Released Healthy"},
			wantActions: []string{},
		},
		"a confirmation of what leaves stays while the control plane cannot be read, also where nothing leaves": {
			fleet: planted(one(t), guarded),
			arrange: func(f *fleet) {
				f.mark("a", layout.ConfirmLeavingBranch, "web")
				f.unread = "no answer"
			},
			wantStates:  []string{"web/east/00 Released Healthy"},
			wantActions: []string{},
		},
		"a confirmation stays while the seed cannot be planned": {
			fleet: planted(one(t), guarded),
			arrange: func(f *fleet) {
				f.mark("a", layout.ConfirmBranch, "web")
				f.put("seeds/web.yaml", "kind: {")
			},
			wantStates:  []string{"web stalled InvalidYAML", "web/east/00 Released Healthy"},
			wantActions: []string{},
		},
		"a confirmation of a seed that is back goes": {
			fleet: planted(one(t), guarded), arrange: func(f *fleet) { f.mark("a", layout.ConfirmBranch, "web") },
			wantStates:  []string{"web/east/00 Released Healthy"},
			wantActions: []string{"a: Drop confirm/web"},
		},
		"what leaves a seed stays confirmed while it is under way": {
			fleet: shrinking(t),
			arrange: func(f *fleet) {
				f.mark("a", layout.ConfirmLeavingBranch, "web")
				f.step()
			},
			wantStates:  []string{"web/east/00 Proposed ProposalOpen"},
			wantActions: []string{"a: Gate tier/web/east/00 open"},
		},
		"what leaves a seed is not confirmed any more once it has left": {
			fleet: shrinking(t),
			arrange: func(f *fleet) {
				f.mark("a", layout.ConfirmLeavingBranch, "web")
				f.step()
				f.mergeAll()
				f.sync()
			},
			wantStates:  []string{"web/east/00 Released Healthy"},
			wantActions: []string{"a: Drop tier/web/east/00", "a: Drop confirm-leaving/web"},
		},
		"what leaves a seed is not confirmed with another plan": {
			fleet: shrinking(t),
			arrange: func(f *fleet) {
				f.mark("a", layout.ConfirmLeavingBranch, "web")
				f.seed("web", configMap("c", 2, on("east")))
			},
			wantStates:  []string{"web/east/00 Queued Proposing"},
			wantActions: []string{"a: PushPlan plan/web 4", "a: Propose tier/web/east/00 Update", "a: Drop confirm-leaving/web"},
		},
		"what leaves a seed stays confirmed while the control plane cannot be read": {
			fleet: shrinking(t),
			arrange: func(f *fleet) {
				f.mark("a", layout.ConfirmLeavingBranch, "web")
				f.unread = "no answer"
			},
			wantStates:  []string{"web/east/00 Queued Proposing"},
			wantActions: []string{"a: Propose tier/web/east/00 Update"},
		},
		"a confirmation of what leaves counts for nothing at another commit": {
			fleet: shrinking(t), arrange: func(f *fleet) { f.mark("a", layout.ConfirmLeavingBranch, "web", f.repos["a"].refs["main"]) },
			wantStates:  []string{"web/east/00 Held DeletionGuard"},
			wantActions: []string{"a: Drop confirm-leaving/web"},
		},
		"so many plantings do not leave a seed that stays": {
			fleet: wide(t), arrange: func(*fleet) {},
			wantStates:  []string{"web stalled DeletionGuard", "web/c1/00 Released Healthy", "web/c2/00 Released Healthy", "web/c3/00 Released Healthy", "web/c4/00 Released Healthy", "web/c5/00 Released Healthy"},
			wantActions: []string{"a: Drop tier/web/c1/00"},
		},
		"so many plantings are confirmed together with what only a person may let go": {
			fleet: wide(t), arrange: func(f *fleet) { f.mark("a", layout.ConfirmBranch, "web") },
			wantStates:  []string{"web/c1/00 Released Healthy", "web/c2/00 Held DeletionGuard", "web/c3/00 Held DeletionGuard", "web/c4/00 Held DeletionGuard", "web/c5/00 Held DeletionGuard"},
			wantActions: []string{"a: PushPlan plan/web 3", "a: Drop tier/web/c1/00", "a: MoveToPlan confirm-leaving/web", "a: Drop confirm/web"},
		},
		"a retry stays while foreign content is at what is blocked": {
			fleet: one(t),
			arrange: func(f *fleet) {
				f.repos["a"].write("main", map[string]string{"planted/east/web/tier-01/theirs.yaml": "theirs"})
				f.seed("web", chain(1, "east")...)
				f.step()
				f.mark("a", layout.RetryBranch, "web")
			},
			wantStates:  []string{"web/east/00 Proposed ProposalOpen", "web/east/01 Blocked WaitingForTier"},
			wantActions: []string{"a: Gate tier/web/east/00 open"},
		},
		"what leaves is not confirmed by a marker that was there before it left": {
			fleet: planted(one(t), map[string][]string{"web": {namespace("shop", on("east")), configMap("c", 1, on("east"))}}),
			arrange: func(f *fleet) {
				f.seed("web", configMap("c", 1, on("east")))
				f.step()
				f.mark("a", layout.ConfirmLeavingBranch, "web")
			},
			wantStates:  []string{"web/east/00 Held DeletionGuard"},
			wantActions: []string{"a: PushPlan plan/web 3", "a: Drop confirm-leaving/web"},
		},
		"a confirmation of what leaves goes when the whole seed goes": {
			fleet: planted(one(t), guarded),
			arrange: func(f *fleet) {
				f.remove("web")
				f.mark("a", layout.ConfirmBranch, "web")
				f.step()
				f.mark("a", layout.ConfirmLeavingBranch, "web")
			},
			wantStates:  []string{"web/east/00 Proposed RemovalOpen"},
			wantActions: []string{"a: Gate tier/web/east/00 open", "a: Drop confirm-leaving/web"},
		},
	}.run(t)
}

// wide is a fleet on which a Namespace is about to leave four of five clusters.
func wide(t testing.TB) *fleet {
	f := planted(newFleet(t, map[string][]string{"a": {"c1", "c2", "c3", "c4", "c5"}}), web(namespace("shop")))
	f.guard = 20
	f.seed("web", namespace("shop", on("c1")))
	f.step()
	f.mergeAll()
	f.sync()
	return f
}
