package pass_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/githash"
	"github.com/furrow-dev/furrow/internal/core/health"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/pass"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/test/golden"
)

const (
	eastDir  = "planted/east/web/tier-00/"
	eastFile = eastDir + "configmap.c.yaml"
)

// proposed is a fleet on which the seed web is proposed on the cluster east.
func proposed(t testing.TB) *fleet {
	f := one(t)
	f.seed("web", configMap("c", 1, on("east")))
	f.step()
	return f
}

// released is a fleet on which it is released.
func released(t testing.TB) *fleet { return planted(one(t), web(configMap("c", 1, on("east")))) }

// amended is a fleet on which a person changed it in its proposal before merging.
func amended(t testing.TB) *fleet {
	f := proposed(t)
	f.merge("web/east/00", map[string]string{eastDir + "more.yaml": configMap("more", 1)})
	f.sync()
	return f
}

// moved is a fleet on which base has changed elsewhere since the cluster applied it.
func moved(f *fleet, files map[string]string) *fleet {
	f.repos["a"].write("main", files)
	return f
}

func TestWhatBaseHas(t *testing.T) {
	cases{
		"what others put at a tier's paths is not overwritten": {
			fleet: one(t),
			arrange: func(f *fleet) {
				f.repos["a"].write("main", map[string]string{eastDir + "theirs.yaml": configMap("theirs", 1)})
				f.seed("web", configMap("c", 1, on("east")))
			},
			wantStates:  []string{"web/east/00 Held ForeignContent"},
			wantActions: []string{"a: PushPlan plan/web 1"},
		},
		"what others put there is replaced once a person asks for a retry": {
			fleet: one(t),
			arrange: func(f *fleet) {
				f.repos["a"].write("main", map[string]string{eastDir + "theirs.yaml": configMap("theirs", 1)})
				f.seed("web", configMap("c", 1, on("east")))
				f.step()
				f.mark("a", layout.RetryBranch, "web")
			},
			wantStates:  []string{"web/east/00 Queued Proposing"},
			wantActions: []string{"a: Propose tier/web/east/00 Plant", "a: Drop retry/web"},
		},
		"a retry of an earlier plan asks for nothing": {
			fleet: one(t),
			arrange: func(f *fleet) {
				f.repos["a"].write("main", map[string]string{eastDir + "theirs.yaml": configMap("theirs", 1)})
				f.seed("web", configMap("c", 1, on("east")))
				f.step()
				f.mark("a", layout.RetryBranch, "web", f.repos["a"].refs["main"])
			},
			wantStates:  []string{"web/east/00 Held ForeignContent"},
			wantActions: []string{"a: Drop retry/web"},
		},
		"what a person changed in its proposal before merging counts as planted": {
			fleet: amended(t), arrange: func(*fleet) {},
			wantStates:  []string{"web/east/00 Released Healthy"},
			wantActions: []string{"a: Drop tier/web/east/00"},
		},
		"what a person changed in an earlier proposal is replaced by the next plan": {
			fleet: amended(t), arrange: func(f *fleet) { f.seed("web", configMap("c", 2, on("east"))) },
			wantStates:  []string{"web/east/00 Queued Proposing"},
			wantActions: []string{"a: PushPlan plan/web 2", "a: Propose tier/web/east/00 Update"},
		},
		"what a person changed is replaced once they ask for a retry": {
			fleet: amended(t), arrange: func(f *fleet) { f.mark("a", layout.RetryBranch, "web") },
			wantStates:  []string{"web/east/00 Queued Proposing"},
			wantActions: []string{"a: Propose tier/web/east/00 Update", "a: Drop retry/web"},
		},
		"what a person changed after merging is not overwritten": {
			fleet: released(t), arrange: func(f *fleet) {
				f.repos["a"].write("main", map[string]string{eastFile: configMap("c", 7)})
			},
			wantStates:  []string{"web/east/00 Held ForeignContent"},
			wantActions: []string{},
		},
		"what an earlier plan put there is updated": {
			fleet: released(t), arrange: func(f *fleet) { f.seed("web", configMap("c", 2, on("east"))) },
			wantStates:  []string{"web/east/00 Queued Proposing"},
			wantActions: []string{"a: PushPlan plan/web 2", "a: Propose tier/web/east/00 Update"},
		},
		"what a person reverted after merging is not proposed again": {
			fleet: released(t), arrange: func(f *fleet) {
				f.repos["a"].write("main", map[string]string{eastFile: "", "clusters/east/furrow/web/tier-00.yaml": ""})
			},
			wantStates:  []string{"web/east/00 Reverted Reverted"},
			wantActions: []string{},
		},
		"what a person reverted is proposed again once they ask for a retry": {
			fleet: released(t), arrange: func(f *fleet) {
				f.repos["a"].write("main", map[string]string{eastFile: "", "clusters/east/furrow/web/tier-00.yaml": ""})
				f.mark("a", layout.RetryBranch, "web")
			},
			wantStates:  []string{"web/east/00 Queued Proposing"},
			wantActions: []string{"a: Propose tier/web/east/00 Plant", "a: Drop retry/web"},
		},
		"a merge that is not part of base any more was not reverted": {
			fleet: released(t), arrange: func(f *fleet) {
				r := f.repos["a"]
				for !r.commits[r.refs["main"]].parent.IsZero() {
					r.refs["main"] = r.commits[r.refs["main"]].parent
				}
				r.closed = map[string]closed{}
			},
			wantStates:  []string{"web/east/00 Queued Proposing"},
			wantActions: []string{"a: Propose tier/web/east/00 Plant"},
		},
		"nothing is concluded from closed proposals that cannot be read": {
			fleet: one(t),
			arrange: func(f *fleet) {
				f.seed("web", configMap("c", 1, on("east")))
				d := f.decide()
				tier := layout.Tier{Seed: "web", Cluster: "east"}
				f.repos["a"].closed[pass.ClosedKey(tier, d.Seeds["web"].Plan.Tiers[0].Digest())] = closed{failure: down()}
			},
			wantStates:  []string{"web/east/00 Queued Proposing", "web/east/00 failed"},
			wantActions: []string{"a: PushPlan plan/web 1"},
		},
		"nothing is concluded from an answer about closed proposals that has no outcome": {
			fleet: one(t),
			arrange: func(f *fleet) {
				f.seed("web", configMap("c", 1, on("east")))
				d := f.decide()
				tier := layout.Tier{Seed: "web", Cluster: "east"}
				f.repos["a"].closed[pass.ClosedKey(tier, d.Seeds["web"].Plan.Tiers[0].Digest())] = closed{unsaid: true}
			},
			wantStates:  []string{"web/east/00 Queued Proposing", "web/east/00 failed"},
			wantActions: []string{"a: PushPlan plan/web 1"},
		},
		"nothing is decided about what base has while closed proposals cannot be read that may explain it": {
			fleet: released(t), arrange: func(f *fleet) {
				f.repos["a"].write("main", map[string]string{eastFile: configMap("c", 7)})
				for key := range f.repos["a"].closed {
					f.repos["a"].closed[key] = closed{failure: down()}
				}
			},
			wantStates:  []string{"web stalled RepositoryBroken"},
			wantActions: []string{},
		},
	}.run(t)
}

func TestProposalsOfATier(t *testing.T) {
	cases{
		"an open proposal of an earlier plan is updated": {
			fleet: proposed(t), arrange: func(f *fleet) { f.seed("web", configMap("c", 2, on("east"))) },
			wantStates:  []string{"web/east/00 Outdated ProposalOutdated"},
			wantActions: []string{"a: PushPlan plan/web 2", "a: Propose tier/web/east/00 Plant"},
		},
		"a stale proposal is shut until it is grafted anew": {
			fleet: proposed(t), arrange: func(f *fleet) {
				f.change("web/east/00", func(p *pass.Proposal) { p.Stale = true })
			},
			wantStates:  []string{"web/east/00 Proposed ProposalStale"},
			wantActions: []string{"a: Gate tier/web/east/00 shut", "a: Propose tier/web/east/00 Plant"},
		},
		"a proposal that follows base is grafted anew when base moves": {
			fleet: proposed(t), arrange: func(f *fleet) {
				f.put("repos/a.yaml", document("GitOpsRepo", "a", "url: https://git.example.com/a, update: WhenBehind"))
				moved(f, map[string]string{"README.md": "more"})
			},
			wantStates:  []string{"web/east/00 Proposed ProposalOutdated"},
			wantActions: []string{"a: Propose tier/web/east/00 Plant"},
		},
		"a proposal that does not follow base stays": {
			fleet: proposed(t), arrange: func(f *fleet) { moved(f, map[string]string{"README.md": "more"}) },
			wantStates:  []string{"web/east/00 Proposed ProposalOpen"},
			wantActions: []string{"a: Gate tier/web/east/00 open"},
		},
		"a proposal whose entries base has already is withdrawn": {
			fleet: proposed(t), arrange: func(f *fleet) {
				r := f.repos["a"]
				r.refs["main"] = r.commit(r.refs["main"], r.graft(r.refs["main"], r.entries["furrow/main/tier/web/east/00"]))
			},
			wantStates:  []string{"web/east/00 Merged ReconcilerMissing"},
			wantActions: []string{"a: Supersede tier/web/east/00", "a: Drop tier/web/east/00"},
		},
		"an edited proposal that changes more than its tier is shut": {
			fleet: proposed(t), arrange: func(f *fleet) {
				f.change("web/east/00", func(p *pass.Proposal) {
					p.Edited, p.Paths = true, []string{"README.md", strings.TrimSuffix(eastDir, "/")}
				})
			},
			wantStates:  []string{"web/east/00 Proposed ProposalTooWide"},
			wantActions: []string{"a: Gate tier/web/east/00 shut"},
		},
		"an edited proposal that changes its tier alone may be merged": {
			fleet: proposed(t), arrange: func(f *fleet) {
				f.change("web/east/00", func(p *pass.Proposal) { p.Edited, p.Paths = true, []string{eastFile} })
			},
			wantStates:  []string{"web/east/00 Proposed EditedByPerson"},
			wantActions: []string{"a: Gate tier/web/east/00 open"},
		},
		"an edited proposal that changes a directory above its tier is shut where others are changed": {
			fleet: proposed(t), arrange: func(f *fleet) {
				f.repos["a"].write("furrow/main/tier/web/east/00", map[string]string{"planted/east/other/c.yaml": "more"})
				f.change("web/east/00", func(p *pass.Proposal) {
					p.Edited, p.Paths, p.Head = true, []string{"planted/east"}, f.repos["a"].refs["furrow/main/tier/web/east/00"]
				})
			},
			wantStates:  []string{"web/east/00 Proposed ProposalTooWide"},
			wantActions: []string{"a: Gate tier/web/east/00 shut"},
		},
		"an edited proposal that creates a directory above its tier may be merged": {
			fleet: proposed(t), arrange: func(f *fleet) {
				f.change("web/east/00", func(p *pass.Proposal) { p.Edited, p.Paths = true, []string{"planted/east", "clusters/east/furrow"} })
			},
			wantStates:  []string{"web/east/00 Proposed EditedByPerson"},
			wantActions: []string{"a: Gate tier/web/east/00 open"},
		},
		"a rejected proposal stays rejected": {
			fleet: proposed(t), arrange: func(f *fleet) { f.change("web/east/00", func(p *pass.Proposal) { p.Rejected = true }) },
			wantStates:  []string{"web/east/00 Rejected Rejected"},
			wantActions: []string{},
		},
		"a closed proposal stays rejected": {
			fleet: proposed(t), arrange: func(f *fleet) { f.reject("web/east/00") },
			wantStates:  []string{"web/east/00 Rejected Rejected"},
			wantActions: []string{},
		},
		"a closed proposal is opened again once a person asks for a retry": {
			fleet: proposed(t), arrange: func(f *fleet) {
				f.reject("web/east/00")
				f.mark("a", layout.RetryBranch, "web")
			},
			wantStates:  []string{"web/east/00 Queued Proposing"},
			wantActions: []string{"a: Propose tier/web/east/00 Plant", "a: Drop retry/web"},
		},
		"a proposal of a seed that is proposed no more after its first tier was lost is withdrawn": {
			fleet: planted(one(t), web(chain(1, "east")...)), arrange: func(f *fleet) {
				f.seed("web", chain(2, "east")...)
				f.step()
				f.merge("web/east/00")
				f.sync()
				f.step()
				f.seed("web", chain(3, "east")...)
			},
			wantStates:  []string{"web/east/00 Queued Proposing", "web/east/01 Blocked WaitingForTier"},
			wantActions: []string{"a: PushPlan plan/web 3", "a: Propose tier/web/east/00 Update", "a: Supersede tier/web/east/01", "a: Drop tier/web/east/01"},
		},
		"a proposal that replaces what others put there is held when it is stale": {
			fleet: one(t),
			arrange: func(f *fleet) {
				f.repos["a"].write("main", map[string]string{eastDir + "theirs.yaml": configMap("theirs", 1)})
				f.seed("web", configMap("c", 1, on("east")))
				f.step()
				f.mark("a", layout.RetryBranch, "web")
				f.step()
				f.change("web/east/00", func(p *pass.Proposal) { p.Stale = true })
			},
			wantStates:  []string{"web/east/00 Held ForeignContent"},
			wantActions: []string{"a: Gate tier/web/east/00 shut"},
		},
		"a proposal that follows base stays while base does": {
			fleet: proposed(t),
			arrange: func(f *fleet) {
				f.put("repos/a.yaml", document("GitOpsRepo", "a", "url: https://git.example.com/a, update: WhenBehind"))
			},
			wantStates:  []string{"web/east/00 Proposed ProposalOpen"},
			wantActions: []string{"a: Gate tier/web/east/00 open"},
		},
		"an edited proposal whose entries base has already is left to the person": {
			fleet: proposed(t), arrange: func(f *fleet) {
				r := f.repos["a"]
				r.refs["main"] = r.commit(r.refs["main"], r.graft(r.refs["main"], r.entries["furrow/main/tier/web/east/00"]))
				f.change("web/east/00", func(p *pass.Proposal) { p.Edited = true })
			},
			wantStates:  []string{"web/east/00 Merged ReconcilerMissing"},
			wantActions: []string{"a: Gate tier/web/east/00 open"},
		},
		"an edited and stale proposal is shut because it is stale": {
			fleet: proposed(t),
			arrange: func(f *fleet) {
				f.change("web/east/00", func(p *pass.Proposal) { p.Edited, p.Stale, p.Paths = true, true, []string{"README.md"} })
			},
			wantStates:  []string{"web/east/00 Proposed EditedAndStale"},
			wantActions: []string{"a: Gate tier/web/east/00 shut"},
		},
	}.run(t)
}

// reject lets a person close the proposal of a tier.
func (f *fleet) reject(tier string) {
	repo, branch := f.find(tier)
	r := f.repos[repo]
	p := r.proposals[branch]
	for _, m := range p.Tiers {
		r.closed[pass.ClosedKey(m.Tier, m.Digest)] = closed{outcome: release.ClosedRejected}
	}
	delete(r.proposals, branch)
	delete(r.refs, branch)
}

func TestRoots(t *testing.T) {
	fresh := func(f *fleet) { f.seed("web", configMap("c", 1, on("east"))) }
	cases{
		"a tier is not proposed below a root that base does not have": {
			fleet: one(t), arrange: func(f *fleet) {
				fresh(f)
				f.repos["a"].write("main", map[string]string{"clusters/east/README.md": ""})
			},
			wantStates:  []string{"web/east/00 Held RootMissing"},
			wantActions: []string{"a: PushPlan plan/web 1"},
		},
		"a tier is not proposed where .sourceignore keeps its files out": {
			fleet: one(t), arrange: func(f *fleet) {
				fresh(f)
				f.repos["a"].write("main", map[string]string{".sourceignore": "planted/east"})
			},
			wantStates:  []string{"web/east/00 Held RootIgnores"},
			wantActions: []string{"a: PushPlan plan/web 1"},
		},
		"a tier is not proposed where its source keeps its files out": {
			fleet: one(t), arrange: func(f *fleet) {
				fresh(f)
				f.onRoot = func(r *health.Root) { r.Ignore = "clusters/east" }
			},
			wantStates:  []string{"web/east/00 Held RootIgnores"},
			wantActions: []string{"a: PushPlan plan/web 1"},
		},
		"a tier is proposed where only others are ignored": {
			fleet: one(t), arrange: func(f *fleet) {
				fresh(f)
				f.repos["a"].write("main", map[string]string{".sourceignore": "planted/west"})
			},
			wantStates:  []string{"web/east/00 Queued Proposing"},
			wantActions: []string{"a: PushPlan plan/web 1", "a: Propose tier/web/east/00 Plant"},
		},
		"a tier is not proposed where a kustomization of others hides its file": {
			fleet: one(t), arrange: func(f *fleet) {
				fresh(f)
				f.repos["a"].write("main", map[string]string{"clusters/east/kustomization.yaml": "resources: []"})
			},
			wantStates:  []string{"web/east/00 Held RootUnbuildable"},
			wantActions: []string{"a: PushPlan plan/web 1"},
		},
		"a tier is not proposed where others have an object of its reconciler's name": {
			fleet: one(t), arrange: func(f *fleet) {
				fresh(f)
				f.repos["a"].write("main", map[string]string{"clusters/east/k.yaml": "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: web.east.00, namespace: flux-system}\nspec: {}\n"})
			},
			wantStates:  []string{"web/east/00 Held RootUnbuildable"},
			wantActions: []string{"a: PushPlan plan/web 1"},
		},
		"a tier waits for a root that is not known": {
			fleet: one(t), arrange: func(f *fleet) { fresh(f); f.silent["east"] = true },
			wantStates:  []string{"web/east/00 Queued RootUnknown"},
			wantActions: []string{"a: PushPlan plan/web 1"},
		},
		"a tier is not proposed below a root that cannot build": {
			fleet: one(t), arrange: func(f *fleet) { fresh(f); f.onRoot = func(r *health.Root) { r.Ready = "False" } },
			wantStates:  []string{"web/east/00 Held RootFailed"},
			wantActions: []string{"a: PushPlan plan/web 1"},
		},
		"an update is proposed below a root that cannot build, which it may repair": {
			fleet: released(t), arrange: func(f *fleet) {
				f.seed("web", configMap("c", 2, on("east")))
				f.onRoot = func(r *health.Root) { r.Ready = "False" }
			},
			wantStates:  []string{"web/east/00 Queued Proposing"},
			wantActions: []string{"a: PushPlan plan/web 2", "a: Propose tier/web/east/00 Update"},
		},
		"an update is not proposed below a root that is suspended": {
			fleet: released(t), arrange: func(f *fleet) {
				f.seed("web", configMap("c", 2, on("east")))
				f.onRoot = func(r *health.Root) { r.Suspended = true }
			},
			wantStates:  []string{"web/east/00 Held RootSuspended"},
			wantActions: []string{"a: PushPlan plan/web 2"},
		},
		"a tier is proposed without a health channel, whatever the root": {
			fleet: one(t), arrange: func(f *fleet) { fresh(f); f.health.None = true },
			wantStates:  []string{"web/east/00 Queued Proposing"},
			wantActions: []string{"a: PushPlan plan/web 1", "a: Propose tier/web/east/00 Plant"},
		},
		"a tier waits for its root while the health channel fails": {
			fleet: one(t), arrange: func(f *fleet) {
				fresh(f)
				f.health.Failure = pass.Fail(errors.New("forbidden"), true)
				f.silent["east"] = true
			},
			wantStates:  []string{"web/east/00 Queued RootUnknown"},
			wantActions: []string{"a: PushPlan plan/web 1"},
		},
	}.run(t)
}

// live changes the reconciler object of the seed web on the cluster east.
func (f *fleet) onLive(change func(*health.Reconciler)) {
	key := health.ReconcilerKey{Cluster: "east", Namespace: "flux-system", Name: "web.east.00"}
	r := f.live[key]
	change(&r)
	f.live[key] = r
}

func suspended(r *health.Reconciler) { r.Suspended = true }
func deleting(r *health.Reconciler)  { r.Deleting = true }

// at makes the reconciler report another revision.
func at(revision any) func(*health.Reconciler) {
	return func(r *health.Reconciler) {
		r.Revision = fmt.Sprint("main@sha1:", revision)
		r.AttemptedRevision = r.Revision
	}
}

func TestRevisions(t *testing.T) {
	cases{
		"a reconciler at an earlier state of base that has the tier is healthy": {
			fleet: released(t), arrange: func(f *fleet) { moved(f, map[string]string{"README.md": "more"}) },
			wantStates:  []string{"web/east/00 Released Healthy"},
			wantActions: []string{},
		},
		"a reconciler at a state of base before the tier is behind": {
			fleet: released(t), arrange: func(f *fleet) {
				r := f.repos["a"]
				f.onLive(at(r.commits[r.refs["main"]].parent))
			},
			wantStates:  []string{"web/east/00 Merged RevisionBehind"},
			wantActions: []string{},
		},
		"a reconciler at a commit that nobody knows is unknown": {
			fleet: released(t), arrange: func(f *fleet) { f.onLive(at(githash.Blob([]byte("elsewhere")))) },
			wantStates:  []string{"web/east/00 Merged RevisionUnknown"},
			wantActions: []string{},
		},
		"a reconciler at no commit is unknown": {
			fleet: released(t), arrange: func(f *fleet) { f.onLive(at("latest")) },
			wantStates:  []string{"web/east/00 Merged RevisionUnknown"},
			wantActions: []string{},
		},
		"a reconciler at a commit beside base that has the tier is healthy": {
			fleet: released(t), arrange: func(f *fleet) {
				r := f.repos["a"]
				f.onLive(at(r.commit(layout.Hash{}, r.commits[r.refs["main"]].files)))
			},
			wantStates:  []string{"web/east/00 Released Healthy"},
			wantActions: []string{},
		},
		"a reconciler at a commit beside base that lacks the tier is behind": {
			fleet: released(t), arrange: func(f *fleet) { f.onLive(at(f.repos["a"].commit(layout.Hash{}, nil))) },
			wantStates:  []string{"web/east/00 Merged RevisionBehind"},
			wantActions: []string{},
		},
		"content that was replaced and came back is not what the reconciler has": {
			fleet: released(t), arrange: func(f *fleet) {
				r := f.repos["a"]
				text := string(r.blobs[r.at(r.refs["main"], eastFile)])
				f.onLive(at(r.refs["main"]))
				r.write("main", map[string]string{eastFile: "else"})
				r.write("main", map[string]string{eastFile: text})
			},
			wantStates:  []string{"web/east/00 Merged RevisionBehind"},
			wantActions: []string{},
		},
		"a reconciler object that a person amended to be suspended is not healthy": {
			fleet: proposed(t), arrange: func(f *fleet) {
				const file = "clusters/east/furrow/web/tier-00.yaml"
				r := f.repos["a"]
				text := string(r.blobs[r.at(r.refs["furrow/main/tier/web/east/00"], file)])
				f.merge("web/east/00", map[string]string{file: strings.Replace(text, "prune: true", "prune: true\n  suspend: true", 1)})
				f.sync()
			},
			wantStates:  []string{"web/east/00 Merged ReconcilerEdited"},
			wantActions: []string{"a: Drop tier/web/east/00"},
		},
		"a reconciler object of another rendering is behind": {
			fleet: released(t), arrange: func(f *fleet) { f.onLive(func(r *health.Reconciler) { r.Rendered = "sha256:else" }) },
			wantStates:  []string{"web/east/00 Merged ReconcilerOutdated"},
			wantActions: []string{},
		},
		"a reconciler object with another spec is behind": {
			fleet: released(t), arrange: func(f *fleet) {
				f.onLive(func(r *health.Reconciler) { r.Spec = map[string]any{"path": "./else"} })
			},
			wantStates:  []string{"web/east/00 Merged ReconcilerOutdated"},
			wantActions: []string{},
		},
	}.run(t)
}

func TestAMergedTierNamesWhatKeepsItsRootFromApplyingIt(t *testing.T) {
	f := proposed(t)
	f.mergeAll()
	f.onRoot = func(r *health.Root) { r.Suspended = true }
	tier := f.decide().Seeds["web"].Result.Tiers[0]
	if tier.Reason != v1alpha1.ReasonReconcilerMissing || tier.On != "east" || !strings.Contains(tier.Message, "flux-system/flux-system") {
		t.Errorf("the tier is %s on %s: %s", tier.Reason, tier.On, tier.Message)
	}
	golden.Of(t).Add("the tier", tier.Message)
}

// TestOfSeveralMergesTheFirstIsNamedThatBaseStillHas: each of several proposals with the same
// entries was merged with the same changes, and the newest is asked for first.
func TestOfSeveralMergesTheFirstIsNamedThatBaseStillHas(t *testing.T) {
	for name, tc := range map[string]struct {
		// merges are those of the commits old, on the way, lost and head, newest first.
		merges []string
		want   string
	}{
		"the first one": {[]string{"head", "old"}, "old"},
		"the newest one where the others are lost":          {[]string{"head", "lost"}, "head"},
		"the first one that is on base":                     {[]string{"head", "old", "lost"}, "old"},
		"the newest one, though base has lost it":           {[]string{"lost"}, "lost"},
		"the one after which nothing else was at the paths": {[]string{"head", "other", "old"}, "head"},
	} {
		t.Run(name, func(t *testing.T) {
			f := amended(t)
			r := f.repos["a"]
			commits := map[string]layout.Hash{"old": r.refs["main"]}
			commits["other"] = r.commit(layout.Hash{}, map[string]layout.Hash{})
			commits["lost"] = r.commit(layout.Hash{}, r.commits[r.refs["main"]].files)
			r.write("main", map[string]string{"README.md": "more"})
			commits["head"] = r.refs["main"]
			for key, c := range r.closed {
				c.merges = nil
				for _, merge := range tc.merges {
					c.merges = append(c.merges, commits[merge])
				}
				r.closed[key] = c
			}
			got := f.decide().Seeds["web"].Result.Tiers[0].Amended
			if want := "https://git.example.com/" + commits[tc.want].String()[:7]; !strings.Contains(got, want) {
				t.Errorf("the tier says %q, want %s", got, want)
			}
		})
	}
}

// TestWhatAPersonMadeOfARemovalIsOfAnEarlierPlan: it is not amended, because the removal has no
// content.
func TestWhatAPersonMadeOfARemovalIsOfAnEarlierPlan(t *testing.T) {
	f := released(t)
	f.remove("web")
	f.step()
	f.merge("web/east/00", map[string]string{eastDir + "kept.yaml": configMap("kept", 1)})
	facts := f.decide().Seeds["web"].Tiers[layout.Tier{Seed: "web", Cluster: "east"}]
	if facts.Base != release.BaseEarlier || facts.BaseDetail != "" || len(facts.Foreign) > 0 {
		t.Errorf("base has %s, %q, and of others %v", facts.Base, facts.BaseDetail, facts.Foreign)
	}
}

// TestUnansweredPathsOfBaseAreAskedAgain: base may have changed at the path without an answer.
func TestUnansweredPathsOfBaseAreAskedAgain(t *testing.T) {
	f := released(t)
	facts := f.facts()
	for {
		d, questions := pass.Decide(facts)
		if d != nil {
			t.Fatal("nothing was asked about base")
		}
		at := slices.IndexFunc(questions, func(q pass.Question) bool { return q.Kind == pass.AskSince })
		if at < 0 {
			for _, q := range questions {
				f.answer(facts, q)
			}
			continue
		}
		q := questions[at]
		if len(q.Paths) != 2 {
			t.Fatalf("asked about %v", q.Paths)
		}
		rest := q.Paths[1:]
		q.Paths = q.Paths[:1]
		f.answer(facts, q)
		d, questions = pass.Decide(facts)
		if d != nil || len(questions) != 1 || questions[0].Kind != pass.AskSince || !slices.Equal(questions[0].Paths, rest) {
			t.Errorf("after half an answer there is a decision: %v, and the questions are %+v", d != nil, questions)
		}
		return
	}
}

func TestAnAmendedTierNamesTheProposalThatWasChanged(t *testing.T) {
	f := amended(t)
	page := "https://git.example.com/" + f.repos["a"].refs["main"].String()[:7]
	if got := f.decide().Seeds["web"].Result.Tiers[0].Amended; !strings.Contains(got, page) {
		t.Errorf("the tier says %q, without %s", got, page)
	}
}
