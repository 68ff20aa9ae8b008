package forgetest

import (
	"slices"
	"time"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
)

// mallory may push, and is not Furrow.
var mallory = git.Person{Name: "Mallory", Email: "mallory@example.com", When: epoch.Add(2 * time.Hour)}

// strangersFile is what a stranger brings beside a tier.
const strangersFile = "evil.yaml"

// forged makes a commit that says it is Furrow's proposal p, by somebody else: on its parents it has a
// file of theirs, and another object in the tier.
func (w *world) forged(p forge.Proposal, by git.Person, parents ...git.Hash) git.Hash {
	w.Helper()
	ours, err := w.Mirror.Commit(p.Head)
	w.must(err)
	theirs, err := w.Mirror.WriteTree(map[string][]byte{"dir/object.yaml": []byte("theirs\n"), "file": []byte("evil\n")})
	w.must(err)
	source, err := w.Mirror.CommitTree(theirs.Hash, nil, git.CommitMeta{Author: by, Message: "theirs"})
	w.must(err)
	found, err := w.Mirror.Entries(source, []string{"dir", "file"})
	w.must(err)
	meta := git.CommitMeta{Author: by, Message: ours.Message}
	grafted, err := w.Mirror.Graft(parents[0], []git.Edit{
		{Path: p.Tiers[0].Tier.Dir(""), Hash: found["dir"].Hash, Mode: git.ModeDir}, {Path: strangersFile, Hash: found["file"].Hash, Mode: git.ModeFile},
	}, meta)
	w.must(err)
	commit, err := w.Mirror.CommitTree(grafted.Tree, parents, meta)
	w.must(err)
	w.move(p.Branch, commit, append(append(theirs.Objects, grafted.Objects...), commit))
	return commit
}

// move has somebody move a branch, by force.
func (w *world) move(branch string, to git.Hash, objects []git.Hash) {
	w.Helper()
	w.must(w.Mirror.Push(w.Context(), []git.Update{{Ref: branch, Old: w.fetch()[branch], New: to, Objects: objects}}))
}

// wantNothingForeign checks that base has nothing of a stranger's.
func (w *world) wantNothingForeign() {
	w.Helper()
	w.wantFile(strangersFile, "")
	w.wantFile(objectFile(tier("a")), "")
}

// strangersCommit says all that callers need to compare a commit with the plan, whatever name is on
// it. What they find to be different is not merged.
func strangersCommit(w *world) {
	for _, by := range []git.Person{mallory, furrow} {
		ours := w.propose(tier("a"), "w1")
		at := w.forged(ours, by, w.fetch()[w.Base])
		p := w.find(tier("a"))
		if w.wantState(p, "w1"); p.Own != at || p.Author != by.Name+" <"+by.Email+">" || p.Amended {
			w.Errorf("the commit is %s by %q, amended: %t; want %s by %s", p.Own, p.Author, p.Amended, at, by.Name)
		}
		if want := []string{strangersFile, tier("a").Dir("")}; !containsAll(p.Paths, want) {
			w.Errorf("it changes %v, want %v", p.Paths, want)
		}
		p.Differs = "it changes " + strangersFile
		w.must(w.Forge.Gate(w.Context(), p, forge.Gate{Shut: p.Differs}))
		w.wantGate(p, p.Differs)
		if err := w.Forge.Merge(w.Context(), p, bob); !forge.IsDiffers(err) {
			w.Errorf("got %v, want ErrDiffers", err)
		}
		w.wantNothingForeign()
	}
}

func containsAll(have, want []string) bool {
	return !slices.ContainsFunc(want, func(s string) bool {
		return !slices.ContainsFunc(have, func(at string) bool { return at == s || len(s) > len(at) && s[:len(at)+1] == at+"/" })
	})
}

// strangerMeanwhile moves a branch between the listing and the merge.
func strangerMeanwhile(w *world) {
	listed := w.propose(tier("a"), "w1")
	w.forged(listed, furrow, w.fetch()[w.Base])
	if err := w.Forge.Merge(w.Context(), listed, bob); !forge.IsGone(err) {
		w.Errorf("got %v, want ErrGone", err)
	}
	w.wantNothingForeign()
}

// strangersHistory puts a commit that says it is Furrow's on top of one that base does not have: any
// way to merge could bring that, too.
func strangersHistory(w *world) {
	ours := w.propose(tier("a"), "w1")
	below := w.forged(ours, mallory, w.fetch()[w.Base])
	w.forged(ours, furrow, below)
	p := w.find(tier("a"))
	if !p.Stale {
		w.Errorf("it is %q, want it stale", stateOf(p))
	}
	if err := w.Forge.Merge(w.Context(), p, bob); !forge.IsConflict(err) {
		w.Errorf("got %v, want ErrConflict", err)
	}
	w.wantNothingForeign()
}

// strangersMerge makes a merge commit that says it is Furrow's: it would bring the history of another
// branch.
func strangersMerge(w *world) {
	ours, base := w.propose(tier("a"), "w1"), w.fetch()[w.Base]
	other := w.forged(ours, mallory, base)
	w.forged(ours, furrow, base, other)
	p := w.find(tier("a"))
	w.wantState(p, " edited")
	if err := w.Forge.Merge(w.Context(), p, bob); !forge.IsForeign(err) {
		w.Errorf("got %v, want ErrForeign", err)
	}
	w.wantNothingForeign()
}

// copiedCommit puts Furrow's commit of one tier on the branch of another.
func copiedCommit(w *world) {
	a := w.propose(tier("a"), "w1")
	w.propose(tier("b"), "w1")
	w.move(w.branch(tier("b")), a.Head, nil)
	p := w.find(tier("b"))
	w.wantState(p, " edited")
	if err := w.Forge.Merge(w.Context(), p, bob); !forge.IsForeign(err) {
		w.Errorf("got %v, want ErrForeign", err)
	}
	w.wantNothingForeign()
}

// strangersMember has a stranger add a tier of another seed to a proposal of several.
func strangersMember(w *world) {
	request := w.pushGroup("level-00", "g1", east("w1"), west("w2"))
	_, err := w.Forge.Propose(w.Context(), request)
	w.must(err)
	w.pushGroup("level-00", "g1", east("w1"), layout.Member{Tier: tier("other"), Digest: "w1"})
	for _, p := range w.list() {
		if p.Branch == request.Branch && p.Digest != "" {
			w.Errorf("it carries %v, want nothing that Furrow has", p.Tiers)
		}
	}
}
