package pass_test

import (
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/pass"
	"github.com/furrow-dev/furrow/internal/core/plan"
)

const eastBranch = "furrow/main/tier/web/east/00"

// forgeCommit replaces the commit on the branch of web's tier by a stranger's: base with some files, and
// with the tiers that the proposal has but for what change does to it.
func (f *fleet) forgeCommit(branch string, files map[string]string, change func(*pass.Proposal)) {
	f.t.Helper()
	r := f.repos["a"]
	p := r.proposals[branch]
	head := r.refs["main"]
	r.refs[branch] = r.commit(head, r.graft(head, r.entries[branch]))
	r.write(branch, files)
	at := r.refs[branch]
	r.commits[at] = commit{head, r.commits[at].files}
	p.Head, p.Own, p.Author = at, at, "Mallory <mallory@example.com>"
	change(&p)
	r.proposals[branch] = p
}

func asItWas(*pass.Proposal) {}

// TestAStrangersCommitWithOurTrailers has a stranger copy the trailers of Furrow's commit, and its
// author.
func TestAStrangersCommitWithOurTrailers(t *testing.T) {
	held, shut := []string{"web/east/00 Held ProposalDiffers"}, []string{"a: Gate tier/web/east/00 shut"}
	cases{
		"with another object is held": {
			fleet: proposed(t), arrange: func(f *fleet) {
				f.forgeCommit(eastBranch, map[string]string{eastFile: configMap("c", 666)}, asItWas)
			},
			wantStates: held, wantActions: shut,
		},
		"with one more object is held": {
			fleet: proposed(t), arrange: func(f *fleet) {
				f.forgeCommit(eastBranch, map[string]string{eastDir + "more.yaml": configMap("more", 1)}, asItWas)
			},
			wantStates: held, wantActions: shut,
		},
		"without an object is held": {
			fleet: proposed(t), arrange: func(f *fleet) {
				f.forgeCommit(eastBranch, map[string]string{eastFile: ""}, asItWas)
			},
			wantStates: held, wantActions: shut,
		},
		"with a file elsewhere is held": {
			fleet: proposed(t), arrange: func(f *fleet) {
				f.forgeCommit(eastBranch, map[string]string{"clusters/east/evil.yaml": configMap("evil", 1)}, func(p *pass.Proposal) {
					p.Paths = []string{"clusters/east/evil.yaml", strings.TrimSuffix(eastDir, "/")}
				})
			},
			wantStates: held, wantActions: shut,
		},
		"with a file elsewhere is held although base has changed under it": {
			fleet: proposed(t), arrange: func(f *fleet) {
				f.forgeCommit(eastBranch, map[string]string{"clusters/east/evil.yaml": configMap("evil", 1)}, func(p *pass.Proposal) {
					p.Stale, p.Paths = true, []string{"clusters/east/evil.yaml"}
				})
			},
			wantStates: held, wantActions: shut,
		},
		"with a file in a new directory above the tier is held": {
			fleet: proposed(t), arrange: func(f *fleet) {
				f.forgeCommit(eastBranch, map[string]string{"planted/east/evil/c.yaml": configMap("evil", 1)}, func(p *pass.Proposal) {
					p.Paths = []string{"planted"}
				})
			},
			wantStates: held, wantActions: shut,
		},
		"with a digest that no plan has is held": {
			fleet: proposed(t), arrange: func(f *fleet) {
				f.forgeCommit(eastBranch, map[string]string{eastFile: configMap("c", 666)}, func(p *pass.Proposal) {
					p.Tiers = []layout.Member{{Tier: p.Tiers[0].Tier, Digest: plan.EntriesDigest(map[string]layout.Hash{})}}
				})
			},
			wantStates: held, wantActions: shut,
		},
		"that people have committed on top of is held": {
			fleet: proposed(t), arrange: func(f *fleet) {
				f.forgeCommit(eastBranch, map[string]string{eastFile: configMap("c", 666)}, func(p *pass.Proposal) { p.Edited = true })
			},
			wantStates: held, wantActions: shut,
		},
		"is held although the plan has changed since": {
			fleet: proposed(t), arrange: func(f *fleet) {
				f.forgeCommit(eastBranch, map[string]string{eastFile: configMap("c", 666)}, asItWas)
				f.seed("web", configMap("c", 2, on("east")))
			},
			wantStates: held, wantActions: []string{"a: PushPlan plan/web 2", "a: Gate tier/web/east/00 shut"},
		},
		"is not superseded where base has the entries already": {
			fleet: proposed(t), arrange: func(f *fleet) {
				r := f.repos["a"]
				r.refs["main"] = r.commit(r.refs["main"], r.graft(r.refs["main"], r.entries[eastBranch]))
				f.forgeCommit(eastBranch, map[string]string{eastFile: configMap("c", 666)}, asItWas)
			},
			wantStates: []string{"web/east/00 Merged ReconcilerMissing"}, wantActions: shut,
		},
		"does not have what others put on base replaced": {
			fleet: one(t), arrange: func(f *fleet) {
				f.seed("web", configMap("c", 1, on("east")))
				f.step()
				f.repos["a"].write("main", map[string]string{eastDir + "theirs.yaml": configMap("theirs", 1)})
				f.forgeCommit(eastBranch, map[string]string{eastFile: configMap("c", 666)}, asItWas)
			},
			wantStates: []string{"web/east/00 Held ForeignContent"}, wantActions: shut,
		},
		"that says nothing of Furrow is held": {
			fleet: proposed(t), arrange: func(f *fleet) {
				f.forgeCommit(eastBranch, map[string]string{eastFile: configMap("c", 666)}, func(p *pass.Proposal) {
					p.Edited, p.Own, p.Tiers = true, layout.Hash{}, []layout.Member{{Tier: p.Tiers[0].Tier}}
				})
			},
			wantStates: held, wantActions: shut,
		},
		"with exactly what the plan says is Furrow's": {
			fleet: proposed(t), arrange: func(f *fleet) {
				f.forgeCommit(eastBranch, nil, func(p *pass.Proposal) { p.Paths = []string{"planted", "clusters/east/furrow"} })
			},
			wantStates: []string{"web/east/00 Proposed ProposalOpen"}, wantActions: []string{"a: Gate tier/web/east/00 open"},
		},
		"with exactly what an earlier plan says is updated": {
			fleet: proposed(t), arrange: func(f *fleet) {
				f.forgeCommit(eastBranch, nil, asItWas)
				f.seed("web", configMap("c", 2, on("east")))
				f.act(f.decide())
				f.repos["a"].proposals[eastBranch] = earlier(f)
				f.repos["a"].refs[eastBranch] = f.repos["a"].proposals[eastBranch].Head
			},
			wantStates: []string{"web/east/00 Outdated ProposalOutdated"}, wantActions: []string{"a: Propose tier/web/east/00 Plant"},
		},
	}.run(t)
}

// earlier is a proposal of the tier as the first of two plans has it.
func earlier(f *fleet) pass.Proposal {
	r := f.repos["a"]
	first := r.plans[r.commits[r.refs["furrow/main/plan/web"]].parent]
	t := &first.Tiers[0]
	p := r.proposals[eastBranch]
	p.Tiers = []layout.Member{{Tier: first.Name(t), Digest: t.Digest()}}
	p.Head = r.commit(r.refs["main"], r.graft(r.refs["main"], t.Entries))
	p.Own = p.Head
	return p
}

func TestAStrangersCommitOnTheBranchOfAGroup(t *testing.T) {
	const branch = "furrow/main/group/web/level-00"
	proposed := func() *fleet {
		f := grouped(t, 1)
		f.step()
		return f
	}
	cases{
		"is shut, and its tiers are proposed on another branch": {
			fleet: proposed(), arrange: func(f *fleet) {
				f.forgeCommit(branch, map[string]string{eastFile: configMap("c", 666)}, asItWas)
			},
			wantStates:  []string{"web/east/00 Queued Proposing", "web/west/00 Queued Proposing"},
			wantActions: []string{"a: Gate group/web/level-00 shut", "a: Propose group/web/level-00.2 Plant"},
		},
		"that carries a tier of no plan is shut": {
			fleet: proposed(), arrange: func(f *fleet) {
				f.forgeCommit(branch, nil, func(p *pass.Proposal) {
					p.Tiers = append([]layout.Member{{Tier: layout.Tier{Seed: "web", Cluster: "north"}, Digest: "sha256:1"}}, p.Tiers...)
				})
			},
			wantStates:  []string{"web/east/00 Queued Proposing", "web/west/00 Queued Proposing"},
			wantActions: []string{"a: Gate group/web/level-00 shut", "a: Propose group/web/level-00.2 Plant"},
		},
		"that carries a tier of another seed is shut": {
			fleet: proposed(), arrange: func(f *fleet) {
				f.forgeCommit(branch, nil, func(p *pass.Proposal) {
					p.Tiers = append([]layout.Member{{Tier: layout.Tier{Seed: "other", Cluster: "east"}, Digest: "sha256:1"}}, p.Tiers...)
				})
			},
			wantStates:  []string{"web/east/00 Queued Proposing", "web/west/00 Queued Proposing"},
			wantActions: []string{"a: Gate group/web/level-00 shut", "a: Propose group/web/level-00.2 Plant"},
		},
		"does not take a tier out of the proposal that it is in": {
			fleet: proposed(), arrange: func(f *fleet) {
				r := f.repos["a"]
				r.proposals["furrow/main/group/web/other"], r.entries["furrow/main/group/web/other"] = r.proposals[branch], r.entries[branch]
				f.forgeCommit("furrow/main/group/web/other", map[string]string{eastFile: configMap("c", 666)}, asItWas)
			},
			wantStates:  []string{"web/east/00 Proposed ProposalOpen", "web/west/00 Proposed ProposalOpen"},
			wantActions: []string{"a: Gate group/web/level-00 open", "a: Gate group/web/other shut"},
		},
	}.run(t)
}

func TestWhatDiffersNamesCommitAuthorAndPath(t *testing.T) {
	f := proposed(t)
	f.forgeCommit(eastBranch, map[string]string{eastFile: configMap("c", 666)}, asItWas)
	d := f.decide()
	got, at := d.Seeds["web"].Result.Tiers[0].Message, f.repos["a"].refs[eastBranch].String()
	for _, want := range []string{at[:7], "Mallory <mallory@example.com>", strings.TrimSuffix(eastDir, "/"), "Delete its branch to have it proposed again: git push origin --delete " + eastBranch} {
		if !strings.Contains(got, want) {
			t.Errorf("%q does not name %q", got, want)
		}
	}
}
