package pass_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/pass"
	"github.com/furrow-dev/furrow/internal/core/plan"
)

// several is a fleet with seeds of one ConfigMap each on the cluster east.
func several(t testing.TB, names ...string) *fleet {
	seeds := map[string][]string{}
	for _, name := range names {
		seeds[name] = []string{configMap(name, 1, on("east"))}
	}
	f := planted(one(t), seeds)
	f.guard = 20
	return f
}

// remove takes seeds out of the control plane.
func (f *fleet) remove(names ...string) {
	for _, name := range names {
		f.put("seeds/"+name+".yaml", "")
	}
}

// killedBetweenPushes is a pass that ends once the first repository has the new plan of the seed web.
func (f *fleet) killedBetweenPushes() {
	f.t.Helper()
	d := f.decide()
	d.Actions = slices.DeleteFunc(d.Actions, func(a pass.Action) bool { return a.Verb != pass.PushPlan || a.Seed != "web" || a.Repo != "a" })
	if len(d.Actions) == 0 {
		f.t.Fatal("there is no new plan")
	}
	f.act(d)
}

var guarded = map[string][]string{"web": {namespace("shop", on("east"))}}

// keptClaim is a claim that Helm would keep.
const keptClaim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, namespace: default, annotations: {furrow.dev/cluster: east, helm.sh/resource-policy: keep}}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n"

func TestRemovals(t *testing.T) {
	cases{
		"a seed that is gone is planned to go, and its tiers are proposed to go": {
			fleet: released(t), arrange: func(f *fleet) { f.remove("web") },
			wantStates:  []string{"web/east/00 Queued Proposing"},
			wantActions: []string{"a: PushPlan plan/web removal 2", "a: Propose tier/web/east/00 Remove"},
		},
		"a removal that not every repository has is pushed there": {
			fleet: planted(two(t), web(configMap("c", 1))),
			arrange: func(f *fleet) {
				had := f.repos["b"].refs["furrow/main/plan/web"]
				f.remove("web")
				f.step()
				f.repos["b"].refs["furrow/main/plan/web"] = had
			},
			wantStates:  []string{"web/east/00 Proposed RemovalOpen", "web/west/00 Proposed RemovalOpen"},
			wantActions: []string{"a: Gate tier/web/east/00 open", "b: PushPlan plan/web removal 2", "b: Gate tier/web/west/00 open"},
		},
		"a seed that is renamed is annotated in every repository, also after a kill between two pushes": {
			fleet: planted(two(t), web(configMap("c", 1))),
			arrange: func(f *fleet) {
				f.remove("web")
				f.seed("shop", configMap("c", 1))
				f.killedBetweenPushes()
			},
			wantStates:  []string{"web stalled RemovalOnHold", "web/east/00 Queued Proposing", "web/west/00 Queued Proposing"},
			wantActions: []string{"a: PushPlan plan/web 3", "a: Propose tier/web/east/00 Update", "b: PushPlan plan/web 3", "b: Propose tier/web/west/00 Update"},
		},
		"as is what moves in it": {
			fleet: planted(two(t), web(configMap("c", 1), configMap("d", 1))),
			arrange: func(f *fleet) {
				f.seed("web", configMap("c", 1), configMap("d", 1, after("c")))
				f.step()
				f.remove("web")
				f.killedBetweenPushes()
			},
			wantStates: []string{"web stalled RemovalOnHold", "web/east/00 Released Healthy", "web/west/00 Released Healthy"},
			wantActions: []string{
				"a: PushPlan plan/web 4", "a: Supersede tier/web/east/00", "a: Drop tier/web/east/00",
				"b: PushPlan plan/web 4", "b: Supersede tier/web/west/00", "b: Drop tier/web/west/00",
			},
		},
		"and also where an update came to one repository only": {
			fleet: planted(two(t), web(configMap("c", 1))),
			arrange: func(f *fleet) {
				f.seed("web", configMap("c", 2))
				f.killedBetweenPushes()
				f.remove("web")
				f.seed("shop", configMap("c", 2))
			},
			wantStates:  []string{"web stalled RemovalOnHold", "web/east/00 Queued Proposing", "web/west/00 Queued Proposing"},
			wantActions: []string{"a: PushPlan plan/web 3", "a: Propose tier/web/east/00 Update", "b: PushPlan plan/web 3", "b: Propose tier/web/west/00 Update"},
		},
		"what holds others goes only once a person confirms it": {
			fleet: planted(one(t), guarded), arrange: func(f *fleet) { f.remove("web") },
			wantStates:  []string{"web stalled DeletionGuard", "web/east/00 Released Healthy"},
			wantActions: []string{},
		},
		"a claim that stays on its cluster goes without asking anybody": {
			fleet: planted(one(t), map[string][]string{"web": {keptClaim}}), arrange: func(f *fleet) { f.remove("web") },
			wantStates:  []string{"web/east/00 Queued Proposing"},
			wantActions: []string{"a: PushPlan plan/web removal 2", "a: Propose tier/web/east/00 Remove"},
		},
		"a claim that leaves a seed and stays on its cluster goes without asking anybody": {
			fleet: planted(one(t), map[string][]string{"web": {keptClaim, configMap("c", 1, on("east"))}}),
			arrange: func(f *fleet) {
				f.seed("web", configMap("c", 1, on("east")))
				f.step()
				f.step()
			},
			wantStates:  []string{"web/east/00 Proposed ProposalOpen"},
			wantActions: []string{"a: Gate tier/web/east/00 open"},
		},
		"a claim whose mark the reconciler has not applied yet is held": {
			fleet: planted(one(t), map[string][]string{"web": {strings.Replace(keptClaim, ", helm.sh/resource-policy: keep", "", 1)}}),
			arrange: func(f *fleet) {
				f.seed("web", keptClaim)
				f.step()
				f.mergeAll()
				f.remove("web")
			},
			wantStates:  []string{"web stalled DeletionGuard", "web/east/00 Merged RevisionBehind"},
			wantActions: []string{"a: Drop tier/web/east/00"},
		},
		"what holds others goes when a person has confirmed it, and the marker goes along": {
			fleet: planted(one(t), guarded),
			arrange: func(f *fleet) {
				f.remove("web")
				f.mark("a", layout.ConfirmBranch, "web")
			},
			wantStates:  []string{"web/east/00 Queued Proposing"},
			wantActions: []string{"a: PushPlan plan/web removal 2", "a: Propose tier/web/east/00 Remove", "a: MoveToPlan confirm/web"},
		},
		"a confirmation of an earlier plan counts for nothing": {
			fleet: planted(one(t), guarded),
			arrange: func(f *fleet) {
				f.remove("web")
				f.mark("a", layout.ConfirmBranch, "web", f.repos["a"].refs["main"])
			},
			wantStates:  []string{"web stalled DeletionGuard", "web/east/00 Released Healthy"},
			wantActions: []string{"a: Drop confirm/web"},
		},
		"what holds others goes from a seed that stays only once a person confirms it": {
			fleet: planted(one(t), map[string][]string{"web": {namespace("shop", on("east")), configMap("c", 1, on("east"))}}),
			arrange: func(f *fleet) {
				f.seed("web", configMap("c", 1, on("east")))
				f.step()
				f.step()
			},
			wantStates:  []string{"web/east/00 Held DeletionGuard"},
			wantActions: []string{},
		},
		"what holds others goes from a seed when a person has confirmed that": {
			fleet: planted(one(t), map[string][]string{"web": {namespace("shop", on("east")), configMap("c", 1, on("east"))}}),
			arrange: func(f *fleet) {
				f.seed("web", configMap("c", 1, on("east")))
				f.step()
				f.step()
				f.mark("a", layout.ConfirmLeavingBranch, "web")
			},
			wantStates:  []string{"web/east/00 Queued Proposing"},
			wantActions: []string{"a: Propose tier/web/east/00 Update"},
		},
		"a seed whose objects a new one has hands them over first": {
			fleet: released(t),
			arrange: func(f *fleet) {
				f.remove("web")
				f.seed("shop", configMap("c", 1, on("east")))
			},
			wantStates:  []string{"web stalled RemovalOnHold", "web/east/00 Queued Proposing"},
			wantActions: []string{"a: PushPlan plan/web 2", "a: Propose tier/web/east/00 Update"},
		},
		"two of five plantings may go at once": {
			fleet: several(t, "a", "b", "c", "d", "e"), arrange: func(f *fleet) { f.remove("a", "b") },
			wantStates:  []string{"a/east/00 Queued Proposing", "b/east/00 Queued Proposing", "c/east/00 Released Healthy", "d/east/00 Released Healthy", "e/east/00 Released Healthy"},
			wantActions: []string{"a: PushPlan plan/a removal 2", "a: Propose tier/a/east/00 Remove", "a: PushPlan plan/b removal 2", "a: Propose tier/b/east/00 Remove"},
		},
		"three of five plantings may not go at once": {
			fleet: several(t, "a", "b", "c", "d", "e"), arrange: func(f *fleet) { f.remove("a", "b", "c") },
			wantStates:  []string{"a stalled DeletionGuard", "a/east/00 Released Healthy", "b stalled DeletionGuard", "b/east/00 Released Healthy", "c stalled DeletionGuard", "c/east/00 Released Healthy", "d/east/00 Released Healthy", "e/east/00 Released Healthy"},
			wantActions: []string{},
		},
		"a removal that is confirmed does not count against others": {
			fleet: several(t, "a", "b", "c", "d", "e"),
			arrange: func(f *fleet) {
				f.remove("a", "b", "c")
				f.mark("a", layout.ConfirmBranch, "c")
			},
			wantStates:  []string{"a/east/00 Queued Proposing", "b/east/00 Queued Proposing", "c/east/00 Queued Proposing", "d/east/00 Released Healthy", "e/east/00 Released Healthy"},
			wantActions: []string{"a: PushPlan plan/a removal 2", "a: Propose tier/a/east/00 Remove", "a: PushPlan plan/b removal 2", "a: Propose tier/b/east/00 Remove", "a: PushPlan plan/c removal 2", "a: Propose tier/c/east/00 Remove", "a: MoveToPlan confirm/c"},
		},
		"removals that go one by one count together": {
			fleet: several(t, "a", "b", "c", "d", "e"),
			arrange: func(f *fleet) {
				f.remove("a", "b")
				f.step()
				f.remove("c")
			},
			wantStates:  []string{"a/east/00 Proposed RemovalOpen", "b/east/00 Proposed RemovalOpen", "c stalled DeletionGuard", "c/east/00 Released Healthy", "d/east/00 Released Healthy", "e/east/00 Released Healthy"},
			wantActions: []string{"a: Gate tier/a/east/00 open", "a: Gate tier/b/east/00 open"},
		},
		"what is held for another reason counts as well": {
			fleet: func() *fleet {
				f := planted(one(t), map[string][]string{"a": {namespace("shop", on("east"))}, "b": {configMap("b", 1, on("east"))}, "c": {configMap("c", 1, on("east"))}})
				f.guard = 20
				return f
			}(),
			arrange:     func(f *fleet) { f.remove("a", "b", "c") },
			wantStates:  []string{"a stalled DeletionGuard", "a/east/00 Released Healthy", "b stalled DeletionGuard", "b/east/00 Released Healthy", "c stalled DeletionGuard", "c/east/00 Released Healthy"},
			wantActions: []string{},
		},
		"a seed that may be at a file which cannot be read stays": {
			fleet: released(t), arrange: func(f *fleet) { f.put("seeds/web.yaml", "kind: {") },
			wantStates:  []string{"web stalled InvalidYAML", "web/east/00 Released Healthy"},
			wantActions: []string{},
		},
		"a seed stays while the document of its cluster is broken": {
			fleet: released(t),
			arrange: func(f *fleet) {
				f.remove("web")
				f.put("clusters/east.yaml", document("Cluster", "east", "gitOpsRepo: a, unknown: field"))
			},
			wantStates:  []string{"web stalled RemovalOnHold", "web/east/00 Released Healthy"},
			wantActions: []string{},
		},
		"a removal stays on hold for a broken document while the control plane cannot be read": {
			fleet: released(t),
			arrange: func(f *fleet) {
				f.remove("web")
				f.step()
				f.put("clusters/east.yaml", document("Cluster", "east", "gitOpsRepo: a, unknown: field"))
				f.step()
				f.unread = "no answer"
			},
			wantStates:  []string{"web stalled RemovalOnHold", "web/east/00 Held RemovalOnHold"},
			wantActions: []string{},
		},
		"what leaves a seed stays on hold for a broken document while the control plane cannot be read": {
			fleet: planted(one(t), web(configMap("c", 1, on("east")), configMap("d", 1))),
			arrange: func(f *fleet) {
				f.seed("web", configMap("d", 1))
				f.step()
				f.step()
				f.put("clusters/east.yaml", document("Cluster", "east", "gitOpsRepo: a, unknown: field"))
				f.step()
				f.unread = "no answer"
			},
			wantStates:  []string{"web stalled RemovalOnHold", "web/east/00 Held RemovalOnHold", "web/west/00 Released Healthy"},
			wantActions: []string{},
		},
		"what leaves one cluster goes on while the control plane cannot be read, whatever the document of another one": {
			fleet: planted(one(t), web(configMap("c", 1, on("east")), configMap("d", 1))),
			arrange: func(f *fleet) {
				f.seed("web", configMap("d", 1))
				f.step()
				f.step()
				f.put("clusters/west.yaml", document("Cluster", "west", "gitOpsRepo: a, unknown: field"))
				f.unread = "no answer"
			},
			wantStates:  []string{"web/east/00 Proposed ProposalOpen", "web/west/00 Released Healthy"},
			wantActions: []string{"a: Gate tier/web/east/00 open"},
		},
		"a tier does not go while its reconciler would leave everything": {
			fleet: released(t),
			arrange: func(f *fleet) {
				f.remove("web")
				f.onLive(suspended)
			},
			wantStates:  []string{"web/east/00 Held ReconcilerSuspended"},
			wantActions: []string{"a: PushPlan plan/web removal 2"},
		},
		"a tier whose reconciler is being deleted is not gone yet": {
			fleet: released(t),
			arrange: func(f *fleet) {
				f.remove("web")
				f.step()
				f.mergeAll()
				f.onLive(deleting)
			},
			wantStates:  []string{"web/east/00 Progressing Pruning"},
			wantActions: []string{"a: Drop tier/web/east/00"},
		},
		"the branches of tiers of a seed that is gone go first": {
			fleet: released(t),
			arrange: func(f *fleet) {
				f.remove("web")
				f.step()
				f.mergeAll()
				f.sync()
			},
			wantStates:  []string{"web/east/00 Gone Gone"},
			wantActions: []string{"a: Drop tier/web/east/00"},
		},
		"the plan and all markers of a seed that is gone go last": {
			fleet: released(t),
			arrange: func(f *fleet) {
				f.gone("web")
				f.mark("a", layout.RetryBranch, "web")
				f.mark("a", layout.ConfirmBranch, "web")
				f.mark("a", layout.ConfirmLeavingBranch, "web")
			},
			wantStates:  []string{"web/east/00 Gone Gone"},
			wantActions: []string{"a: Drop plan/web", "a: Drop retry/web", "a: Drop confirm/web", "a: Drop confirm-leaving/web"},
		},
		"an open proposal of a seed that is gone is withdrawn": {
			fleet: released(t),
			arrange: func(f *fleet) {
				f.gone("web")
				f.leave("web/west/03", pass.Proposal{})
			},
			wantStates:  []string{"web/east/00 Gone Gone"},
			wantActions: []string{"a: Supersede tier/web/west/03", "a: Drop tier/web/west/03"},
		},
		"a rejected proposal of a seed that is gone is dropped": {
			fleet: released(t),
			arrange: func(f *fleet) {
				f.gone("web")
				f.leave("web/west/03", pass.Proposal{Rejected: true})
			},
			wantStates:  []string{"web/east/00 Gone Gone"},
			wantActions: []string{"a: Drop tier/web/west/03"},
		},
		"an edited proposal of a seed that is gone stays, and the plan with it": {
			fleet: released(t),
			arrange: func(f *fleet) {
				f.gone("web")
				f.leave("web/west/03", pass.Proposal{Edited: true})
			},
			wantStates:  []string{"web stalled EditedByPerson", "web/east/00 Gone Gone"},
			wantActions: []string{},
		},
		"an edited proposal of a seed that is gone keeps no other one": {
			fleet: released(t),
			arrange: func(f *fleet) {
				f.gone("web")
				f.leave("web/west/03", pass.Proposal{Edited: true})
				f.leave("web/west/04", pass.Proposal{})
			},
			wantStates:  []string{"web/east/00 Gone Gone"},
			wantActions: []string{"a: Supersede tier/web/west/04", "a: Drop tier/web/west/04"},
		},
		"nothing of a seed that is gone is forgotten while a repository stops answering that has an older plan": {
			fleet: planted(two(t), map[string][]string{"web": {configMap("c", 1, on("east"))}, "api": {configMap("d", 1, on("west"))}}),
			arrange: func(f *fleet) {
				older := f.decide().Seeds["web"].Plan
				f.remove("web")
				f.step()
				f.mergeAll()
				f.sync()
				f.pushPlan(f.repos["b"], pass.Action{Repo: "b", Seed: "web", Branch: layout.PlanBranch("main", "web"), Plan: older})
				f.failing = map[string]pass.Kind{"b": pass.AskSince}
			},
			wantStates:  []string{"api stalled RepositoryBroken", "web/east/00 Gone Gone"},
			wantActions: []string{},
		},
		"nothing of a seed that is gone is forgotten while a repository cannot be used": {
			fleet: planted(two(t), web(configMap("c", 1))),
			arrange: func(f *fleet) {
				f.gone("web")
				f.repos["b"].failure = down()
			},
			wantStates:  []string{"web stalled RepositoryBroken"},
			wantActions: []string{},
		},
		"a removal that has begun is not held as a whole again": {
			fleet: planted(one(t), guarded),
			arrange: func(f *fleet) {
				f.remove("web")
				f.mark("a", layout.ConfirmBranch, "web")
				f.step()
				delete(f.repos["a"].refs, layout.ConfirmBranch("main", "web"))
			},
			wantStates:  []string{"web/east/00 Held DeletionGuard"},
			wantActions: []string{"a: Supersede tier/web/east/00", "a: Drop tier/web/east/00"},
		},
		"what is going counts among all there is": {
			fleet: several(t, "a", "b", "c", "d", "e"),
			arrange: func(f *fleet) {
				f.guard = 70
				f.remove("a", "b")
				f.step()
				f.remove("c")
			},
			wantStates:  []string{"a/east/00 Proposed RemovalOpen", "b/east/00 Proposed RemovalOpen", "c/east/00 Queued Proposing", "d/east/00 Released Healthy", "e/east/00 Released Healthy"},
			wantActions: []string{"a: Gate tier/a/east/00 open", "a: Gate tier/b/east/00 open", "a: PushPlan plan/c removal 2", "a: Propose tier/c/east/00 Remove"},
		},
		"the control plane says how many may go at once": {
			fleet: several(t, "a", "b", "c", "d", "e"),
			arrange: func(f *fleet) {
				f.put("control-plane.yaml", document("ControlPlane", "acme", "deletionGuard: 60"))
				f.remove("a", "b", "c")
			},
			wantStates:  []string{"a/east/00 Queued Proposing", "b/east/00 Queued Proposing", "c/east/00 Queued Proposing", "d/east/00 Released Healthy", "e/east/00 Released Healthy"},
			wantActions: []string{"a: PushPlan plan/a removal 2", "a: Propose tier/a/east/00 Remove", "a: PushPlan plan/b removal 2", "a: Propose tier/b/east/00 Remove", "a: PushPlan plan/c removal 2", "a: Propose tier/c/east/00 Remove"},
		},
		"what was never merged is not a planting that goes": {
			fleet: several(t, "a", "b", "c"),
			arrange: func(f *fleet) {
				f.seed("d", configMap("d", 1, on("east")))
				f.seed("e", configMap("e", 1, on("east")))
				f.step()
				f.remove("c", "d", "e")
			},
			wantStates:  []string{"a/east/00 Released Healthy", "b/east/00 Released Healthy", "c/east/00 Queued Proposing", "d/east/00 Gone Gone", "e/east/00 Gone Gone"},
			wantActions: []string{"a: PushPlan plan/c removal 2", "a: Propose tier/c/east/00 Remove", "a: Supersede tier/d/east/00", "a: Drop tier/d/east/00", "a: Supersede tier/e/east/00", "a: Drop tier/e/east/00"},
		},
		"what was never merged does not count among all there is": {
			fleet: several(t, "a", "b", "c"),
			arrange: func(f *fleet) {
				f.guard = 70
				f.seed("d", configMap("d", 1, on("east")))
				f.seed("e", configMap("e", 1, on("east")))
				f.step()
				f.remove("a", "b", "c")
			},
			wantStates: []string{"a stalled DeletionGuard", "a/east/00 Released Healthy", "b stalled DeletionGuard", "b/east/00 Released Healthy", "c stalled DeletionGuard", "c/east/00 Released Healthy",
				"d/east/00 Proposed ProposalOpen", "e/east/00 Proposed ProposalOpen"},
			wantActions: []string{"a: Gate tier/d/east/00 open", "a: Gate tier/e/east/00 open"},
		},
		"the plan of another owner does not count among all there is": {
			fleet: several(t, "a", "b", "c", "d"),
			arrange: func(f *fleet) {
				f.guard = 70
				f.ofOthers("a", "web")
				f.seed("web", configMap("x", 1, on("west")))
				f.remove("a", "b", "c")
			},
			wantStates:  []string{"a stalled DeletionGuard", "a/east/00 Released Healthy", "b stalled DeletionGuard", "b/east/00 Released Healthy", "c stalled DeletionGuard", "c/east/00 Released Healthy", "d/east/00 Released Healthy", "web stalled ForeignOwner"},
			wantActions: []string{},
		},
		"what leaves a seed waits while the guard holds the whole seed": {
			fleet: planted(one(t), map[string][]string{"web": {namespace("shop", on("east")), configMap("c", 1, on("east"))}}),
			arrange: func(f *fleet) {
				f.seed("web", namespace("shop", on("east")))
				f.step()
				f.step()
				f.remove("web")
			},
			wantStates:  []string{"web stalled DeletionGuard", "web/east/00 Held DeletionGuard"},
			wantActions: []string{"a: Supersede tier/web/east/00", "a: Drop tier/web/east/00"},
		},
		"a removal that a person changed before merging it was reverted": {
			fleet: released(t),
			arrange: func(f *fleet) {
				f.remove("web")
				f.step()
				f.merge("web/east/00", map[string]string{eastDir + "kept.yaml": configMap("kept", 1)})
				f.sync()
			},
			wantStates:  []string{"web/east/00 Reverted Reverted"},
			wantActions: []string{},
		},
		"a tier goes from an abandoned cluster though its reconciler would leave everything": {
			fleet: released(t),
			arrange: func(f *fleet) {
				f.remove("web")
				f.abandon("a", "east")
				f.onLive(suspended)
			},
			wantStates:  []string{"web/east/00 Queued Proposing"},
			wantActions: []string{"a: PushPlan plan/web removal 2", "a: Propose tier/web/east/00 Remove"},
		},
		"a seed stays while a file of its name cannot be read that seems to configure others": {
			fleet: released(t),
			arrange: func(f *fleet) {
				f.put("seeds/web.yaml", document("Seed", "other", "suspend: true")+"---\nkind: {\n")
			},
			wantStates:  []string{"other stalled MisplacedDocument", "web stalled RemovalOnHold", "web/east/00 Released Healthy"},
			wantActions: []string{},
		},
	}.run(t)
}

// gone removes a seed wholly, up to its plan.
func (f *fleet) gone(name string) {
	f.remove(name)
	f.step()
	f.mergeAll()
	f.sync()
	f.step()
}

// leave leaves an open proposal on the branch of a tier, of a plan that is not in force any more.
func (f *fleet) leave(tier string, p pass.Proposal) {
	branch, r := "furrow/main/tier/"+tier, f.repos["a"]
	left, _ := layout.TierOfBranch("main", branch)
	m := layout.Member{Tier: left, Digest: "earlier"}
	p.Seed, p.Tiers, p.Head, p.Own = left.Seed, []layout.Member{m}, r.refs["main"], r.refs["main"]
	if r.planned == nil {
		r.planned = map[layout.Member][]plan.Entry{}
	}
	r.planned[m] = []plan.Entry{}
	r.refs[branch], r.proposals[branch] = p.Head, p
}

func TestWhatWaitsToBeConfirmedIsNamed(t *testing.T) {
	f := planted(one(t), guarded)
	f.remove("web")
	if diff := cmp.Diff([]string{"1 object from east", "including Namespace shop on east"}, f.decide().Seeds["web"].Waiting()); diff != "" {
		t.Errorf("of a seed that is gone (-want +got):\n%s", diff)
	}
	f = planted(one(t), map[string][]string{"web": {namespace("shop", on("east")), configMap("c", 1, on("east"))}})
	f.seed("web", configMap("c", 1, on("east")))
	f.step()
	f.step()
	if diff := cmp.Diff([]string{"Namespace shop on east"}, f.decide().Seeds["web"].Waiting()); diff != "" {
		t.Errorf("of a seed that stays (-want +got):\n%s", diff)
	}
}

// TestAClusterThatIsDeclaredNoMoreIsHeld: a document that was renamed or commented out is not a decision, however
// little its cluster has.
func TestAClusterThatIsDeclaredNoMoreIsHeld(t *testing.T) {
	lose := func(f *fleet) { f.put("clusters/west.yaml", "") }
	fleetOf := func() *fleet { return planted(two(t), web(configMap("c", 1))) }
	cases{
		"its objects stay until a person confirms": {
			fleet: fleetOf(), arrange: lose,
			wantStates:  []string{"web stalled DeletionGuard", "web/east/00 Released Healthy", "web/west/00 Released Healthy"},
			wantActions: []string{},
		},
	}.run(t)
}

// TestARenameEndsAfterAKill: all repositories come to have the new seed, and nothing is left of the first.
func TestARenameEndsAfterAKill(t *testing.T) {
	f := planted(two(t), web(configMap("c", 1)))
	f.remove("web")
	f.seed("shop", configMap("c", 2))
	f.killedBetweenPushes()
	f.releaseAll()
	if diff := cmp.Diff([]string{"shop/east/00 Released Healthy", "shop/west/00 Released Healthy"}, states(f.decide())); diff != "" {
		t.Errorf("the states (-want +got):\n%s", diff)
	}
}

// TestAnObjectThatMovesToAnotherSeedIsNotDeleted: the first seed would delete what the second one creates.
func TestAnObjectThatMovesToAnotherSeedIsNotDeleted(t *testing.T) {
	const keep = plan.Protection + ": disabled"
	encrypted := func(text string) string {
		return text + "sops: {mac: \"ENC[AES256_GCM,data:eA==,iv:eA==,tag:eA==,type:str]\", version: 3.9.0}\n"
	}
	as := func(text string) string { return text }
	split := func(as func(string) string, annotations ...string) func(f *fleet) {
		return func(f *fleet) {
			f.seed("web", configMap("c", 1, on("east")))
			f.seed("api", as(configMap("moves", 1, append(annotations, on("east"))...)))
			f.step()
		}
	}
	both := func(as func(string) string, annotations ...string) *fleet {
		return planted(one(t), web(configMap("c", 1, on("east")), as(configMap("moves", 1, append(annotations, on("east"))...))))
	}
	cases{
		"its seed annotates it first": {
			fleet: both(as), arrange: split(as),
			wantStates:  []string{"web/east/00 Proposed ProposalOpen"},
			wantActions: []string{"a: Gate tier/web/east/00 open"},
		},
		"and keeps it until that is live": {
			fleet: both(as), arrange: func(f *fleet) {
				split(as)(f)
				f.mergeAll()
			},
			wantStates:  []string{"web/east/00 Merged RevisionBehind"},
			wantActions: []string{"a: Drop tier/web/east/00"},
		},
		"and gives it up then": {
			fleet: both(as), arrange: func(f *fleet) {
				split(as)(f)
				f.mergeAll()
				f.sync()
			},
			wantStates:  []string{"web/east/00 Queued Proposing"},
			wantActions: []string{"a: PushPlan plan/web 3", "a: Propose tier/web/east/00 Update"},
		},
		"and the new one has it as soon as it has left": {
			fleet: both(as), arrange: func(f *fleet) {
				split(as)(f)
				f.mergeAll()
				f.sync()
				f.step()
				f.mergeAll()
			},
			wantStates:  []string{"api/east/00 Queued Proposing", "web/east/00 Merged RevisionBehind"},
			wantActions: []string{"a: PushPlan plan/api 1", "a: Propose tier/api/east/00 Plant", "a: Drop tier/web/east/00"},
		},
		"it leaves at once if it is annotated": {
			fleet: both(as, keep), arrange: split(as, keep),
			wantStates:  []string{"web/east/00 Queued Proposing"},
			wantActions: []string{"a: PushPlan plan/web 3", "a: Propose tier/web/east/00 Update"},
		},
		"what is encrypted cannot be annotated, and a person confirms that it is deleted": {
			fleet: both(encrypted), arrange: split(encrypted),
			wantStates:  []string{"api stalled StillPlanted", "web stalled MovedToSeed", "web/east/00 Released Healthy"},
			wantActions: []string{},
		},
		"which may be": {
			fleet: both(encrypted),
			arrange: func(f *fleet) {
				split(encrypted)(f)
				f.mark("a", layout.ConfirmBranch, "web")
			},
			wantStates:  []string{"api stalled StillPlanted", "web/east/00 Queued Proposing"},
			wantActions: []string{"a: PushPlan plan/web 3", "a: Propose tier/web/east/00 Update", "a: Drop confirm/web"},
		},
	}.run(t)
}

// theirs gives a repository a plan of another owner, with a Namespace on the cluster east.
func (f *fleet) theirs(repo, seed string) {
	f.t.Helper()
	other := plan.Compute(plan.Input{Catalog: f.catalog(fstest.MapFS{
		"repos/" + repo + ".yaml": f.tree["repos/"+repo+".yaml"], "clusters/east.yaml": {Data: []byte(document("Cluster", "east", "gitOpsRepo: "+repo))},
		"seeds/" + seed + ".yaml": {Data: []byte(namespace("shop") + "---\n" + configMap("theirs", 1))},
	}), Owner: "other/test"})[seed]
	f.pushPlan(f.repos[repo], pass.Action{Repo: repo, Seed: seed, Branch: layout.PlanBranch("main", seed), Plan: other.Plan, Files: other.Files[repo]})
}

func TestASharedNamespaceIsNotDeleted(t *testing.T) {
	alone := func() *fleet { return planted(one(t), guarded) }
	cases{
		"by the first of two control planes that leaves": {
			fleet: alone(), arrange: func(f *fleet) {
				f.theirs("a", "api")
				f.remove("web")
			},
			wantStates: []string{"web stalled ObjectShared", "web/east/00 Released Healthy"}, wantActions: []string{},
		},
		"although a person has confirmed the removal": {
			fleet: alone(), arrange: func(f *fleet) {
				f.theirs("a", "api")
				f.remove("web")
				f.mark("a", layout.ConfirmBranch, "web")
			},
			wantStates: []string{"web stalled ObjectShared", "web/east/00 Released Healthy"}, wantActions: []string{},
		},
		"and what is marked as not to be pruned may leave once a person has confirmed it": {
			fleet: alone(), arrange: func(f *fleet) {
				f.theirs("a", "api")
				f.releaseAll()
				f.remove("web")
				f.mark("a", layout.ConfirmBranch, "web")
			},
			wantStates:  []string{"web/east/00 Queued Proposing"},
			wantActions: []string{"a: PushPlan plan/web removal 3", "a: Propose tier/web/east/00 Remove", "a: MoveToPlan confirm/web"},
		},
		"where another seed of the control plane gets it in the same commit": {
			fleet: alone(), arrange: func(f *fleet) {
				f.remove("web")
				f.seed("api", namespace("shop", on("east")))
			},
			wantStates:  []string{"api/east/00 Queued Proposing", "web stalled RemovalOnHold", "web/east/00 Queued Proposing"},
			wantActions: []string{"a: PushPlan plan/api 1", "a: Propose tier/api/east/00 Plant", "a: PushPlan plan/web 2", "a: Propose tier/web/east/00 Update"},
		},
	}.run(t)
}
