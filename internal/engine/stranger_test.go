package engine_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/githash"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
)

// strangersMark is in all content that a stranger makes.
const strangersMark = "made by a stranger"

// stranger may push to furrow/**, and to nothing else.
type stranger struct {
	*world
	r *rand.Rand
	// offered are the proposals that the last pass said may be merged, as they were then.
	offered []forge.Proposal
	n       int
	// lost reports whether a plan branch lacks commits of Furrow.
	lost bool
}

// TestRandomHistoriesWithAStranger has somebody push anything to furrow/** between passes and merges, as
// Furrow or in their own name, while proposals merge themselves and people merge what the status
// offers. Nothing of theirs reaches base, and no proposal with it is said to be fit to be merged. Once
// they stop and people delete their branches, all is planted, unless a plan branch has lost what it had:
// a person has to restore that one.
func TestRandomHistoriesWithAStranger(t *testing.T) {
	eachHistory(t, historyWithAStranger)
}

func historyWithAStranger(t *testing.T, seed int64) {
	r := rand.New(rand.NewPCG(uint64(seed), 2))
	w := newWorld(t, fleet{seed: seed, workload: []string{"east", "west"}})
	checks := &forge.Checks{State: forge.ChecksPassed}
	w.onForge = func(f forge.Forge) forge.Forge { return checked{f, checks} }
	w.restart()
	s := &stranger{world: w, r: r}
	all := randomMaps(r, []string{"alpha", "beta"}, []string{"mgmt", "east", "west"})
	s.commit(all)
	for range 40 {
		switch n := r.IntN(10); {
		case n < 3:
			if r.IntN(4) == 0 { // nothing that was verified is remembered
				w.restart()
			}
			s.pass()
		case n < 4:
			w.tick()
		case n < 6 && len(s.offered) > 0:
			s.merge(s.offered[r.IntN(len(s.offered))])
		case n < 7:
			all[r.IntN(len(all))].version++
			s.commit(all)
		default:
			s.push()
		}
		s.mustHaveNothingForeign()
	}
	s.leave()
	for range convergeLimit {
		s.pass()
		w.letRolloutsGoOn()
		for _, p := range s.offered {
			s.merge(p)
		}
		w.tick()
		s.mustHaveNothingForeign()
		if !w.report.Changed && len(w.open()) == 0 && w.report.Done() {
			return
		}
	}
	if s.lost {
		return
	}
	t.Errorf("it was not planted in the end:\n%s\n%s", strings.Join(w.history, "\n"), w.describe())
}

// commit changes the seeds, and how they are rolled out.
func (s *stranger) commit(all []*chained) {
	seeds := map[string]string{}
	for _, m := range all {
		seeds["seeds/"+m.seed+".yaml"] += dependent(m.name, m.cluster, m.after, fmt.Sprint(m.version))
	}
	for _, at := range slices.Sorted(maps.Keys(seeds)) {
		by := []v1alpha1.GroupBy{v1alpha1.GroupByTier, v1alpha1.GroupByLevel, v1alpha1.GroupBySeed}[s.r.IntN(3)]
		merges := []string{"Never", "WhenGreen"}[s.r.IntN(2)]
		name := strings.TrimSuffix(strings.TrimPrefix(at, "seeds/"), ".yaml")
		seeds[at] += "---\n" + document("Seed", name, fmt.Sprintf("spec: {rollout: {groupBy: %s, autoMerge: %s}}", by, merges))
	}
	s.control.put("main", "change", seeds)
}

// pass makes one, and takes note of what it offers people to merge.
func (s *stranger) pass() {
	report, err := s.engine.Pass(context.Background())
	if err != nil {
		s.t.Fatalf("pass: %v", err)
	}
	s.report, s.offered = report, nil
	shut := map[string]string{}
	for _, seed := range report.Seeds {
		for _, t := range seed.Tiers {
			if p := t.Proposal; p != nil {
				shut[p.Branch] += p.Gate
				if t.State == release.Proposed && p.Gate == "" && t.Reason != v1alpha1.ReasonEditedOnPlainGit && s.holdsForeign(s.gitops.refs[p.Branch]) {
					s.t.Errorf("%s tier %d is said to be Furrow's:\n%s\n%s", t.Cluster, t.Ordinal, strings.Join(s.history, "\n"), s.describe())
				}
			}
		}
	}
	for _, p := range s.open() {
		if gate, reported := shut[p.Branch]; reported && gate == "" && !p.Edited {
			s.offered = append(s.offered, p)
		}
	}
}

// merge accepts a proposal as it was offered, unless somebody has moved its branch since.
func (s *stranger) merge(p forge.Proposal) {
	s.now = s.now.Add(time.Second)
	err := s.forge.Merge(context.Background(), p, git.Person{Name: "person", Email: "p@example.com", When: s.now})
	s.say("merged %s: %v", p.Branch, err)
}

// holdsForeign reports whether a commit has content of a stranger.
func (s *stranger) holdsForeign(commit git.Hash) bool {
	for _, text := range s.gitops.filesAt(commit) {
		if strings.Contains(text, strangersMark) {
			return true
		}
	}
	return false
}

func (s *stranger) mustHaveNothingForeign() {
	if s.holdsForeign(s.gitops.refs["main"]) {
		s.t.Fatalf("base has what a stranger made:\n%s\n%s", strings.Join(s.history, "\n"), s.describe())
	}
}

// leave has people delete all that the stranger may have pushed.
func (s *stranger) leave() {
	s.say("the stranger left")
	for branch := range s.gitops.refs {
		if branch != "main" && !strings.HasPrefix(branch, "furrow/main/plan/") {
			delete(s.gitops.refs, branch)
		}
	}
}

// push pushes one thing.
func (s *stranger) push() {
	s.n++
	pushes := []func(){s.forgeProposal, s.forgeProposal, s.forgeProposal, s.copyProposal, s.edit, s.reject, s.mark, s.pushJunk, s.forgePlan, s.forgePlan}
	pushes[s.r.IntN(len(pushes))]()
}

// by is whom the stranger says that they are.
func (s *stranger) by() git.Person {
	s.now = s.now.Add(time.Second)
	if s.r.IntN(2) == 0 {
		return git.Person{Name: "Furrow", Email: "furrow@example.com", When: s.now}
	}
	return git.Person{Name: "Mallory", Email: "mallory@example.com", When: s.now}
}

// proposalBranches are the branches of proposals that there are.
func (s *stranger) proposalBranches() []string {
	var out []string
	for branch := range s.gitops.refs {
		if _, ok := layout.SeedOfBranch("main", branch); ok {
			out = append(out, branch)
		}
	}
	slices.Sort(out)
	return out
}

// anyProposal returns one of them, with its commit and files.
func (s *stranger) anyProposal() (branch string, c git.CommitInfo, flat map[string]git.Hash, ok bool) {
	branches := s.proposalBranches()
	if len(branches) == 0 {
		return "", c, nil, false
	}
	branch = branches[s.r.IntN(len(branches))]
	c = s.gitops.commits[s.gitops.refs[branch]]
	return branch, c, maps.Clone(s.gitops.trees[c.Tree]), true
}

// file returns a file of the stranger's.
func (s *stranger) file() git.Hash {
	text := fmt.Appendf(nil, "# %s, %d\n", strangersMark, s.n)
	blob := githash.Blob(text)
	s.gitops.blobs[blob] = text
	return blob
}

// change adds something of the stranger's to files: in a tier, beside it, or in the place of one of its
// files.
func (s *stranger) change(flat map[string]git.Hash, tiers []layout.Member) {
	for range 1 + s.r.IntN(2) {
		at := []string{"evil.yaml", "clusters/east/evil.yaml", "planted/west/evil/tier-00/c.yaml"}[s.r.IntN(3)]
		if len(tiers) > 0 && s.r.IntN(3) > 0 {
			t := tiers[s.r.IntN(len(tiers))].Tier
			own := []string{t.Dir("") + "/evil.yaml", t.ReconcilerFile("", "clusters/"+t.Cluster, false)}
			for file := range flat {
				if strings.HasPrefix(file, t.Dir("")+"/") {
					own = append(own, file)
				}
			}
			slices.Sort(own)
			at = own[s.r.IntN(len(own))]
		}
		flat[at] = s.file()
	}
}

// forgeProposal makes a commit with the trailers of a proposal: on base, on the proposal, on a commit of
// the stranger's own, or as a merge; with the digest that was proposed, or with that of what it holds.
func (s *stranger) forgeProposal() {
	branch, c, flat, ok := s.anyProposal()
	if !ok {
		return
	}
	carried := forge.CarriedBy(c.Message)
	s.change(flat, carried.Tiers)
	message := c.Message
	if s.r.IntN(3) == 0 && len(carried.Tiers) > 0 {
		message = forge.AddTrailers("Plant it\n\nbody", s.claimed(carried, flat).Trailers())
	}
	base, own := s.gitops.refs["main"], git.CommitMeta{Author: s.by(), Message: "mine"}
	tree := s.gitops.keep(flat)
	parents := [][]git.Hash{{base}, {base}, {c.Hash}, {s.gitops.commit(tree, []git.Hash{base}, own)}, {base, s.gitops.commit(tree, []git.Hash{base}, own)}, nil}[s.r.IntN(6)]
	if s.r.IntN(4) == 0 { // where Furrow has not proposed anything
		branch = []string{layout.TierBranch("main", layout.Tier{Seed: "alpha", Cluster: "east", Ordinal: s.r.IntN(3)}), layout.GroupBranch("main", "alpha", "seed"), layout.GroupBranch("main", "beta", "level-00")}[s.r.IntN(3)]
	}
	s.gitops.refs[branch] = s.gitops.commit(tree, parents, git.CommitMeta{Author: s.by(), Message: message})
	s.say("a stranger forged %s", branch)
}

// claimed returns what a commit would carry if its files were what is planned.
func (s *stranger) claimed(of forge.Carried, flat map[string]git.Hash) forge.Carried {
	out := forge.Carried{}
	all := map[string]layout.Hash{}
	for _, m := range of.Tiers {
		dir, file := m.Tier.Dir(""), m.Tier.ReconcilerFile("", "clusters/"+m.Tier.Cluster, false)
		have := map[string]layout.Hash{dir: s.gitops.treeOf(under(flat, dir)), file: flat[file]}
		maps.Copy(all, have)
		out.Tiers = append(out.Tiers, layout.Member{Tier: m.Tier, Digest: plan.EntriesDigest(have)})
	}
	if out.Digest = plan.EntriesDigest(all); len(out.Tiers) == 1 {
		out.Digest = out.Tiers[0].Digest
	}
	return out
}

// copyProposal puts the commit of a proposal on the branch of another.
func (s *stranger) copyProposal() {
	_, c, _, ok := s.anyProposal()
	if !ok {
		return
	}
	to := s.proposalBranches()
	branch := to[s.r.IntN(len(to))]
	s.gitops.refs[branch] = c.Hash
	s.say("a stranger copied %s to %s", c.Hash, branch)
}

// edit commits on top of a proposal, as a person does.
func (s *stranger) edit() {
	if branch, c, flat, ok := s.anyProposal(); ok {
		s.change(flat, forge.CarriedBy(c.Message).Tiers)
		s.gitops.refs[branch] = s.gitops.commit(s.gitops.keep(flat), []git.Hash{c.Hash}, git.CommitMeta{Author: s.by(), Message: "Edit"})
		s.say("a stranger edited %s", branch)
	}
}

// reject puts a rejection on top of a branch.
func (s *stranger) reject() {
	if branch, c, _, ok := s.anyProposal(); ok {
		p := forge.Proposal{Branch: branch, Carried: forge.CarriedBy(c.Message)}
		s.gitops.refs[branch] = s.gitops.commit(c.Tree, []git.Hash{c.Hash}, git.CommitMeta{Author: s.by(), Message: forge.RejectionMessage(p, "no")})
		s.say("a stranger rejected %s", branch)
	}
}

// forgePlan changes a plan on its branch: a file that it names, with all hashes, the text of the plan, or
// the commit that the branch is at.
func (s *stranger) forgePlan() {
	seed := []string{"alpha", "beta"}[s.r.IntN(2)]
	branch := layout.PlanBranch("main", seed)
	at, planned := s.gitops.refs[branch]
	if !planned {
		return
	}
	c := s.gitops.commits[at]
	flat := maps.Clone(s.gitops.trees[c.Tree])
	text := string(s.gitops.blobs[flat[layout.PlanFile]])
	parents := []git.Hash{at}
	switch n := s.r.IntN(12); {
	case n < 2:
		text = "# " + strangersMark
	case n < 3:
		text = strings.Replace(text, "\nseed: ", "\nremoval: true\nseed: ", 1)
	case n < 4:
		text = strings.Replace(text, "\ngeneration: ", "\ngeneration: 9", 1)
	case n < 5:
		parents, s.lost = []git.Hash{s.gitops.refs["main"]}, true
	case n < 6:
		if len(c.Parents) > 0 {
			s.gitops.refs[branch], s.lost = c.Parents[0], true
			s.say("a stranger took a plan back: %s", branch)
		}
		return
	default:
		files := slices.DeleteFunc(slices.Sorted(maps.Keys(flat)), func(at string) bool { return at == layout.PlanFile })
		file := files[s.r.IntN(len(files))]
		blob, dir := flat[file], path.Dir(file)
		tree := githash.Tree(under(flat, dir))
		evil := append(slices.Clone(s.gitops.blobs[blob]), "# "+strangersMark+"\n"...)
		flat[file] = githash.Blob(evil)
		s.gitops.blobs[flat[file]] = evil
		text = strings.NewReplacer(blob.String(), flat[file].String(), tree.String(), githash.Tree(under(flat, dir)).String()).Replace(text)
	}
	flat[layout.PlanFile] = githash.Blob([]byte(text))
	s.gitops.blobs[flat[layout.PlanFile]] = []byte(text)
	s.gitops.refs[branch] = s.gitops.commit(s.gitops.keep(flat), parents, git.CommitMeta{Author: s.by(), Message: c.Message})
	s.say("a stranger forged %s", branch)
}

// mark asks for something by a marker.
func (s *stranger) mark() {
	seed := []string{"alpha", "beta"}[s.r.IntN(2)]
	at, planned := s.gitops.refs[layout.PlanBranch("main", seed)]
	if !planned {
		return
	}
	marker := []func(base, seed string) string{layout.RetryBranch, layout.ConfirmBranch, layout.ConfirmLeavingBranch}[s.r.IntN(3)]
	s.gitops.refs[marker("main", seed)] = at
	s.say("a stranger marked %s", marker("main", seed))
}

// pushJunk pushes a tree of nonsense where a record or a status would be.
func (s *stranger) pushJunk() {
	branch := []string{layout.RolloutBranch("main", "alpha"), layout.StatusBranch("main", "acme/test"), layout.RecordsBranch("main", "acme/test"), "furrow/main/tier/evil/east/00"}[s.r.IntN(4)]
	tree := s.gitops.keep(map[string]git.Hash{"evil.yaml": s.file()})
	s.gitops.refs[branch] = s.gitops.commit(tree, nil, git.CommitMeta{Author: s.by(), Message: "junk"})
	s.say("a stranger pushed %s", branch)
}
