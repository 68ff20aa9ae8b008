package forgetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
)

// mergedByPerson moves base on before each merge, so no other method ends as a fast-forward.
func mergedByPerson(w *world) {
	for i, method := range slices.Sorted(maps.Keys(w.MergeMethods)) {
		t := tier(string(rune('a' + i)))
		p := w.propose(t, "w1")
		if method != FastForward {
			w.Person.Commit(w.T, w.Base, map[string]string{"notes.md": string(method)})
		}
		w.Person.Merge(w.T, p, method)
		w.wantFile(objectFile(t), "digest: w1\n")
		if row, ok := w.listed(t); ok {
			w.Errorf("after %s the proposal is still listed: %s", method, stateOf(row))
		}
		if w.MergeMethods[method] {
			w.wantOutcome(t, "w1", forge.OutcomeMerged)
		} else {
			w.wantOutcome(t, "w1", forge.OutcomeMerged, forge.OutcomeNone)
		}
		w.wantOutcome(t, "w2", forge.OutcomeNone)
	}
}

// mergeIsReported has a person edit the proposals, but for a fast-forward: the commit by which one
// landed is then not the one that Furrow pushed. It counts also after what it brought was removed.
func mergeIsReported(w *world) {
	if !w.ReportsMerge {
		w.Skip("the forge does not know")
	}
	for i, method := range slices.Sorted(maps.Keys(w.MergeMethods)) {
		t := tier(string(rune('a' + i)))
		p := w.propose(t, "w1")
		if method != FastForward {
			w.Person.Commit(w.T, p.Branch, map[string]string{objectFile(t): "mine\n"})
			w.Person.Commit(w.T, w.Base, map[string]string{"notes.md": string(method)})
		}
		w.Person.Merge(w.T, w.find(t), method)
		w.wantMerge(t)
		w.Person.Commit(w.T, w.Base, map[string]string{objectFile(t): ""})
		w.wantMerge(t)
	}
	w.land(tier("through"))
	w.wantMerge(tier("through"))
}

// mergedAreListed has one merged by its button and one through Furrow, beside an open and a rejected one.
func mergedAreListed(w *world) {
	w.propose(tier("open"), "w1")
	rejected := w.propose(tier("rejected"), "w1")
	w.must(w.Forge.Reject(w.Context(), rejected, bob, "no"))
	want := map[string]string{} // what is on base, by branch
	for _, method := range []MergeMethod{MergeCommit, Squash} {
		if _, can := w.MergeMethods[method]; !can {
			continue
		}
		t := tier(map[MergeMethod]string{MergeCommit: "merged", Squash: "squashed"}[method])
		p := w.propose(t, "w1")
		w.Person.Commit(w.T, w.Base, map[string]string{"notes.md": string(method)})
		w.Person.Merge(w.T, p, method)
		if w.MergeMethods[method] || w.ReportsMerge {
			want[p.Branch] = objectFile(t)
		}
	}
	p := w.propose(tier("through"), "w1")
	w.must(w.Forge.Merge(w.Context(), p, bob))
	want[p.Branch] = objectFile(tier("through"))
	refs := w.fetch()
	_, err := w.Forge.List(w.Context(), refs)
	w.must(err)
	list, err := w.Forge.Merged(w.Context(), refs)
	w.must(err)
	for _, m := range list {
		at := want[m.Branch]
		if delete(want, m.Branch); at == "" {
			w.Errorf("%s is listed as merged", m.Branch)
		} else if brought, err := w.Mirror.Entries(m.Merge, []string{at}); err != nil || brought[at].Hash.IsZero() {
			w.Errorf("%s is merged as %s, which does not have %s: %v", m.Branch, m.Merge, at, err)
		}
	}
	if len(want) > 0 {
		w.Errorf("%v are not listed as merged", slices.Sorted(maps.Keys(want)))
	}
}

// wantMerge checks that what is reported of a merge is a commit on base that brought the tier.
func (w *world) wantMerge(t layout.Tier) {
	w.Helper()
	w.wantUnlisted(t)
	refs := w.fetch()
	c, err := w.Forge.Closed(w.Context(), refs, t, "w1")
	w.must(err)
	if c.Outcome != forge.OutcomeMerged || c.URL == "" || len(c.Landings) != 1 || c.Landings[0].URL != c.URL {
		w.Errorf("got %+v of %s, want how it was merged", c, t)
		return
	}
	merge := c.Landings[0].Merge
	on, err := w.Mirror.IsAncestor(merge, refs[w.Base])
	w.must(err)
	_, there, err := w.Mirror.Entry(merge, objectFile(t))
	w.must(err)
	if !on || !there {
		w.Errorf("%s did not bring %s to base", merge, t)
	}
}

// mergesAreReported: each of several merges with the same digest is known by its commit and page.
func mergesAreReported(w *world) {
	if !w.ReportsMerge {
		w.Skip("the forge does not know")
	}
	var pages []string
	for range 2 {
		p := w.proposeAnew(tier("a"), "w1")
		w.must(w.Forge.Merge(w.Context(), p, bob))
		w.wantUnlisted(tier("a"))
		w.Person.Commit(w.T, w.Base, map[string]string{objectFile(tier("a")): "", reconcilerFile(tier("a")): ""})
		w.must(w.Mirror.Push(w.Context(), []git.Update{{Ref: p.Branch, Old: w.fetch()[p.Branch]}}))
		pages = append([]string{p.URL}, pages...)
	}
	c, err := w.Forge.Closed(w.Context(), w.fetch(), tier("a"), "w1")
	w.must(err)
	var got []string
	for _, l := range c.Landings {
		got = append(got, l.URL)
	}
	if !slices.Equal(got, pages) {
		w.Errorf("it landed by %v, want %v", got, pages)
	}
}

func mergedThenReverted(w *world) {
	w.land(tier("a"))
	w.Person.Commit(w.T, w.Base, map[string]string{objectFile(tier("a")): "", reconcilerFile(tier("a")): ""})
	w.wantUnlisted(tier("a"))
	w.wantOutcome(tier("a"), "w1", forge.OutcomeMerged)
	w.wantState(w.propose(tier("a"), "w2"), "w2")
	w.wantOutcome(tier("a"), "w2", forge.OutcomeNone)
}

// mergedThenReplaced merges w1, w2 and w1 again: only the last one is Merged, and a digest from
// before counts again when it is merged again.
func mergedThenReplaced(w *world) {
	w.land(tier("a"))
	w.must(w.Forge.Merge(w.Context(), w.propose(tier("a"), "w2"), bob))
	w.wantOutcome(tier("a"), "w2", forge.OutcomeMerged)
	w.wantOutcome(tier("a"), "w1", forge.OutcomeNone)
	w.land(tier("a"))
	w.wantFile(objectFile(tier("a")), "digest: w1\n")
	w.wantOutcome(tier("a"), "w1", forge.OutcomeMerged)
	w.wantOutcome(tier("a"), "w2", forge.OutcomeNone)
}

func mergedThroughForge(w *world) {
	p := w.propose(tier("a"), "w1")
	before := w.fetch()[w.Base]
	w.must(w.Forge.Merge(w.Context(), p, bob))
	w.wantFile(objectFile(tier("a")), "digest: w1\n")
	w.wantFile(reconcilerFile(tier("a")), "w1")
	w.wantUnlisted(tier("a"))
	w.wantOutcome(tier("a"), "w1", forge.OutcomeMerged)
	if on, err := w.Mirror.IsAncestor(before, w.fetch()[w.Base]); err != nil || !on {
		w.Errorf("base no longer has what it had: %v", err)
	}
}

// mergedByAcceptedWay: of the ways that the repository allows each one can be asked for, and where none is
// accepted, nothing is merged.
func mergedByAcceptedWay(w *world) {
	how, err := w.Forge.Merging(w.Context())
	w.must(err)
	if len(how.Ways) == 0 {
		w.Skip("any way of Git will do")
	}
	p := w.propose(tier("refused"), "w1")
	before := w.fetch()[w.Base]
	p.MergeBy = []string{"pigeon"}
	if err := w.Forge.Merge(w.Context(), p, bob); manifest.ReasonOf(err) != "MergeRefused" {
		w.Errorf("got %v, want MergeRefused", err)
	}
	if at := w.fetch()[w.Base]; at != before {
		w.Errorf("base moved from %s to %s", before, at)
	}
	for i, way := range how.Ways {
		p := w.propose(tier(fmt.Sprintf("way-%d", i)), "w1")
		p.MergeBy = []string{way.Name}
		w.must(w.Forge.Merge(w.Context(), p, bob))
		w.wantFile(objectFile(p.Tiers[0].Tier), "digest: w1\n")
	}
	w.Person.Commit(w.T, w.Base, map[string]string{"notes.md": "1\n"})
	for _, way := range how.Ways {
		p := w.find(tier("refused"))
		if p.MergeBy = []string{way.Name}; !way.Current {
			continue
		}
		if err := w.Forge.Merge(w.Context(), p, bob); manifest.ReasonOf(err) != "MergeRefused" {
			w.Errorf("%s of a branch that is behind: got %v, want MergeRefused", way.Name, err)
		}
	}
}

func mergedRemoval(w *world) {
	w.land(tier("a"))
	w.land(tier("b"))
	_, err := w.Forge.Propose(w.Context(), w.pushRemoval(tier("a"), "gone"))
	w.must(err)
	w.must(w.Forge.Merge(w.Context(), w.find(tier("a")), bob))
	w.wantFile(objectFile(tier("a")), "")
	w.wantFile(reconcilerFile(tier("a")), "")
	w.wantFile(objectFile(tier("b")), "digest: w1\n")
}

func mergedAtOnce(w *world) {
	seeds := []string{"a", "b", "c"}
	var proposals []forge.Proposal
	for _, seed := range seeds {
		proposals = append(proposals, w.propose(tier(seed), "w1"))
	}
	errs := make([]error, len(proposals))
	var merging sync.WaitGroup
	for i, p := range proposals {
		merging.Go(func() { errs[i] = w.Forge.Merge(w.Context(), p, bob) })
	}
	merging.Wait()
	for i, seed := range seeds {
		if errs[i] != nil {
			w.Errorf("merging %s: %v", seed, errs[i])
		}
		w.wantFile(objectFile(tier(seed)), "digest: w1\n")
		w.wantOutcome(tier(seed), "w1", forge.OutcomeMerged)
	}
}

// changedMeanwhile has the caller's view of two proposals out of date, by Furrow and by a person.
func changedMeanwhile(w *world) {
	updated := w.propose(tier("updated"), "w1")
	w.propose(tier("updated"), "w2")
	edited := w.propose(tier("edited"), "w1")
	w.Person.Commit(w.T, edited.Branch, map[string]string{objectFile(tier("edited")): "mine\n"})
	for _, p := range []forge.Proposal{updated, edited} {
		for name, err := range map[string]error{
			"merge":  w.Forge.Merge(w.Context(), p, bob),
			"reject": w.Forge.Reject(w.Context(), p, bob, "no"),
		} {
			if !forge.IsGone(err) {
				w.Errorf("%s %s: got %v, want ErrGone", name, p.Branch, err)
			}
		}
		w.wantFile(objectFile(p.Tiers[0].Tier), "")
	}
}

func editedMeanwhile(w *world) {
	if !w.Closes {
		w.Skip("there is nothing to close")
	}
	seen := w.propose(tier("a"), "w1")
	w.Person.Commit(w.T, seen.Branch, map[string]string{objectFile(tier("a")): "mine\n"})
	if err := w.Forge.Supersede(w.Context(), seen, "the plan has changed"); !forge.IsGone(err) {
		w.Errorf("got %v, want ErrGone", err)
	}
	p := w.find(tier("a"))
	w.wantState(p, "w1 edited")
	w.must(w.Forge.Merge(w.Context(), p, bob))
	w.wantFile(objectFile(tier("a")), "mine\n")
}

func mergedTwice(w *world) {
	p := w.propose(tier("a"), "w1")
	w.must(w.Forge.Merge(w.Context(), p, bob))
	before := w.fetch()[w.Base]
	if err := w.Forge.Merge(w.Context(), p, bob); !forge.IsGone(err) {
		w.Errorf("got %v, want ErrGone", err)
	}
	if after := w.fetch()[w.Base]; after != before {
		w.Errorf("base moved from %s to %s", before, after)
	}
}

// stale changes base in the tier's directory, in another file than those of the proposal. Git alone
// would merge that.
func stale(w *world) {
	w.land(tier("a"))
	p := w.propose(tier("a"), "w2")
	w.Person.Commit(w.T, w.Base, map[string]string{tier("a").Dir("") + "/added.yaml": "theirs\n"})
	w.wantState(w.find(tier("a")), "w2 stale")
	if err := w.Forge.Merge(w.Context(), p, bob); !forge.IsConflict(err) {
		w.Errorf("got %v, want ErrConflict", err)
	}
	w.wantFile(objectFile(tier("a")), "digest: w1\n")
	fresh := w.propose(tier("a"), "w2")
	w.wantState(fresh, "w2")
	w.must(w.Forge.Merge(w.Context(), fresh, bob))
}

func behind(w *world) {
	w.land(tier("a"))
	w.propose(tier("a"), "w2")
	w.land(tier("b"))
	w.Person.Commit(w.T, w.Base, map[string]string{"notes.md": "1\n"})
	p := w.find(tier("a"))
	w.wantState(p, "w2")
	w.must(w.Forge.Merge(w.Context(), p, bob))
	w.wantFile(objectFile(tier("a")), "digest: w2\n")
	w.wantFile(objectFile(tier("b")), "digest: w1\n")
	w.wantFile("notes.md", "1\n")
}

// movedBack: base is moved back over merges while proposals that were made on top of
// them are open. Merging one must not bring back what was removed.
func movedBack(w *world) {
	before := w.fetch()[w.Base]
	w.land(tier("removed"))
	p := w.propose(tier("a"), "w1")
	w.propose(tier("edited"), "w1")
	w.Person.Commit(w.T, w.branch(tier("edited")), map[string]string{objectFile(tier("edited")): "mine\n"})
	w.Person.Reset(w.T, w.Base, before)
	w.wantState(w.find(tier("a")), "w1 stale")
	w.wantState(w.find(tier("edited")), "w1 edited stale")
	for _, p := range []forge.Proposal{p, w.find(tier("a")), w.find(tier("edited"))} {
		if err := w.Forge.Merge(w.Context(), p, bob); !forge.IsConflict(err) {
			w.Errorf("got %v, want ErrConflict", err)
		}
	}
	if at := w.fetch()[w.Base]; at != before {
		w.Errorf("base is at %s, want %s", at, before)
	}
	fresh := w.propose(tier("a"), "w1")
	w.wantState(fresh, "w1")
	w.must(w.Forge.Merge(w.Context(), fresh, bob))
	w.wantFile(objectFile(tier("a")), "digest: w1\n")
	w.wantFile(objectFile(tier("removed")), "")
}

// editedElsewhere: a person merges base into a proposal, and base is moved back since.
// Nothing conflicts, and merging would bring back what was removed.
func editedElsewhere(w *world) {
	w.Person.Commit(w.T, w.Base, map[string]string{"notes.md": "1\n", objectFile(tier("other")): "there\n"})
	before := w.fetch()[w.Base]
	w.propose(tier("a"), "w1")
	w.land(tier("removed"))
	w.Person.Update(w.T, w.branch(tier("a")))
	w.Person.Reset(w.T, w.Base, before)
	p := w.find(tier("a"))
	w.wantState(p, "w1 edited")
	for _, t := range []layout.Tier{tier("a"), tier("removed")} {
		if at := objectFile(t); !slices.ContainsFunc(p.Paths, func(path string) bool { return strings.HasPrefix(at, path+"/") }) {
			w.Errorf("merging it changes %v, want %s among that", p.Paths, at)
		}
	}
}
