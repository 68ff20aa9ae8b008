package forgetest

import (
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
)

func openedIsListed(w *world) {
	base := w.fetch()[w.Base]
	request := w.push(tier("a"), "w1")
	opened, err := w.Forge.Propose(w.Context(), request)
	w.must(err)
	for from, p := range map[string]forge.Proposal{"Propose": opened, "List": w.find(tier("a"))} {
		w.wantState(p, "w1")
		if p.Seed != "a" || !slices.Equal(p.Tiers, request.Tiers) || p.Branch != request.Branch || p.Head != request.Head || p.Base != base {
			w.Errorf("%s: got %+v, want what was asked for: %+v on %s", from, p, request, base)
		}
		if p.Title != request.Title || strings.TrimSpace(p.Body) != strings.TrimSpace(request.Body) {
			w.Errorf("%s: got title %q and body %q", from, p.Title, p.Body)
		}
	}
	w.wantOutcome(tier("a"), "w1", forge.OutcomeNone)
}

func usable(w *world) { w.must(w.Forge.Ready(w.Context())) }

func openedTwice(w *world) {
	request := w.push(tier("a"), "w1")
	first, err := w.Forge.Propose(w.Context(), request)
	w.must(err)
	second, err := w.Forge.Propose(w.Context(), request)
	w.must(err)
	if !same(first, second) {
		w.Errorf("opened twice: %+v and %+v", first, second)
	}
	if list := w.list(); len(list) != 1 {
		w.Errorf("%d proposals are listed, want 1", len(list))
	}
}

func openedByTwo(w *world) {
	if w.Other == nil {
		w.Skip("there is one process only")
	}
	other := w.Other(w.T)
	request := w.push(tier("a"), "w1")
	forges := []forge.Forge{w.Forge, other}
	opened, errs := make([]forge.Proposal, len(forges)), make([]error, len(forges))
	var opening sync.WaitGroup
	for i, f := range forges {
		opening.Go(func() { opened[i], errs[i] = f.Propose(w.Context(), request) })
	}
	opening.Wait()
	w.must(errors.Join(errs...))
	p := w.find(tier("a"))
	w.wantState(p, "w1")
	w.must(w.Forge.Gate(w.Context(), p, forge.Gate{}))
	for _, o := range opened {
		// If the server let both open one, only one is left after the next
		// observation.
		if w.Closed != nil && w.Closed(w.T, o) != (o.URL != p.URL) {
			w.Errorf("opened %q and %q, and %q is listed", opened[0].URL, opened[1].URL, p.URL)
		}
	}
	if again := w.find(tier("a")); !same(again, p) {
		w.Errorf("%+v became %+v", p, again)
	}
}

func openedAfterCrash(w *world) {
	w.push(tier("a"), "w1")
	for _, p := range w.list() {
		w.wantState(p, "w1")
	}
	w.wantOutcome(tier("a"), "w1", forge.OutcomeNone)
	w.wantState(w.propose(tier("a"), "w1"), "w1")
	if list := w.list(); len(list) != 1 {
		w.Errorf("%d proposals are listed, want 1", len(list))
	}
}

func updatedInPlace(w *world) {
	first := w.propose(tier("a"), "w1")
	second := w.propose(tier("a"), "w2")
	w.wantState(second, "w2")
	if first.URL != second.URL || first.Head == second.Head {
		w.Errorf("%q at %s became %q at %s", first.URL, first.Head, second.URL, second.Head)
	}
	if !strings.Contains(second.Body, "w2") {
		w.Errorf("the body is still %q", second.Body)
	}
	if list := w.list(); len(list) != 1 {
		w.Errorf("%d proposals are listed, want 1", len(list))
	}
}

// manyStates lists all states side by side, in the order of branches.
func manyStates(w *world) {
	w.Person.Commit(w.T, w.Base, map[string]string{objectFile(tier("stale")): "there\n"})
	for _, seed := range []string{"open", "rejected", "edited", "merged", "stale"} {
		w.propose(tier(seed), "of-"+seed)
	}
	w.Person.Close(w.T, w.find(tier("rejected")), "no")
	w.Person.Commit(w.T, w.branch(tier("edited")), map[string]string{objectFile(tier("edited")): "mine\n"})
	w.must(w.Forge.Merge(w.Context(), w.find(tier("merged")), bob))
	w.Person.Commit(w.T, w.Base, map[string]string{objectFile(tier("stale")): "other\n"})
	var got []string
	for _, p := range w.list() {
		got = append(got, stateOf(p))
	}
	if want := "of-edited edited, of-open, of-rejected rejected, of-stale stale"; strings.Join(got, ", ") != want {
		w.Errorf("listed %q, want %q", got, want)
	}
}

func superseded(w *world) {
	p := w.propose(tier("a"), "w1")
	w.must(w.Forge.Supersede(w.Context(), p, "the seed no longer has this tier"))
	outcomes := []forge.Outcome{forge.OutcomeNone}
	if w.Closed != nil {
		outcomes = []forge.Outcome{forge.OutcomeSuperseded}
		if !w.Closed(w.T, p) {
			w.Errorf("%s is open still", p.URL)
		}
	}
	w.must(w.Mirror.Push(w.Context(), []git.Update{{Ref: p.Branch, Old: p.Head}}))
	w.wantUnlisted(tier("a"))
	w.wantOutcome(tier("a"), "w1", outcomes...)
	w.wantState(w.proposeAnew(tier("a"), "w1"), "w1")
}

func gated(w *world) {
	p := w.propose(tier("a"), "w1")
	for _, shut := range []string{"", "a/hub/tier-01 is no longer Released", "a/hub/tier-02 is no longer Released", ""} {
		w.must(w.Forge.Gate(w.Context(), p, forge.Gate{Shut: shut}))
		if again := w.find(tier("a")); !same(again, p) {
			w.Errorf("%+v became %+v", p, again)
		}
		w.wantGate(p, shut)
	}
}

func openedShut(w *world) {
	for _, digest := range []string{"w1", "w2"} {
		request := w.push(tier("a"), digest)
		request.Shut = "a/hub/tier-01 is no longer Released, by " + digest
		p, err := w.Forge.Propose(w.Context(), request)
		w.must(err)
		w.wantGate(p, request.Shut)
		w.must(w.Forge.Gate(w.Context(), w.find(tier("a")), forge.Gate{}))
		w.wantGate(p, "")
	}
}

// labeled has the labels of the states in which a person cannot just merge a proposal.
func labeled(w *world) {
	if w.Labels == nil {
		w.Skip("there are no labels")
	}
	want := func(what string, f forge.Forge, shut string, labels ...string) {
		w.Helper()
		p := w.find(tier("a"))
		if f != w.Forge {
			_, err := f.List(w.Context(), w.fetch())
			w.must(err)
		}
		w.must(f.Gate(w.Context(), p, forge.Gate{Shut: shut}))
		if got := slices.Sorted(slices.Values(w.Labels(w.T, p))); !slices.Equal(got, labels) {
			w.Errorf("%s it has %q, want %q", what, got, labels)
		}
	}
	request := w.push(tier("a"), "w1")
	request.Shut = "a/hub/tier-01 is no longer Released"
	_, err := w.Forge.Propose(w.Context(), request)
	w.must(err)
	want("when it is opened", w.Forge, request.Shut, "furrow", "furrow/waiting")
	want("once it may be merged", w.Forge, "", "furrow")
	w.Person.Commit(w.T, w.branch(tier("a")), map[string]string{objectFile(tier("a")): "mine\n"})
	want("once a person has edited it", w.Forge, "", "furrow", "furrow/edited")
	w.Person.Commit(w.T, w.Base, map[string]string{objectFile(tier("a")): "theirs\n"})
	want("once it conflicts", w.Forge, "it has a conflict", "furrow", "furrow/conflict", "furrow/edited", "furrow/waiting")
	if w.Other != nil {
		want("to another process", w.Other(w.T), "it has a conflict", "furrow", "furrow/conflict", "furrow/edited", "furrow/waiting")
	}
}

func edited(w *world) {
	w.propose(tier("a"), "w1")
	w.Person.Commit(w.T, w.branch(tier("a")), map[string]string{objectFile(tier("a")): "mine\n"})
	w.Person.Commit(w.T, w.branch(tier("a")), map[string]string{"notes.md": "mine\n"})
	w.wantState(w.find(tier("a")), "w1 edited")
	w.wantOutcome(tier("a"), "w1", forge.OutcomeNone)
}

func amended(w *world) {
	w.propose(tier("a"), "w1")
	w.Person.Amend(w.T, w.branch(tier("a")), map[string]string{objectFile(tier("a")): "mine\n"})
	w.wantState(w.find(tier("a")), "w1 edited")
}

func editedIsMerged(w *world) {
	w.propose(tier("a"), "w1")
	w.Person.Commit(w.T, w.branch(tier("a")), map[string]string{objectFile(tier("a")): "mine\n", "notes.md": "mine\n"})
	w.must(w.Forge.Merge(w.Context(), w.find(tier("a")), bob))
	w.wantFile(objectFile(tier("a")), "mine\n")
	w.wantFile("notes.md", "mine\n")
	w.wantOutcome(tier("a"), "w1", forge.OutcomeMerged)
}

func updatedByPerson(w *world) {
	w.propose(tier("a"), "w1")
	w.Person.Commit(w.T, w.Base, map[string]string{"notes.md": "1\n"})
	w.Person.Update(w.T, w.branch(tier("a")))
	w.Person.Commit(w.T, w.Base, map[string]string{"notes.md": "2\n"})
	p := w.find(tier("a"))
	w.wantState(p, "w1 edited")
	w.must(w.Forge.Merge(w.Context(), p, bob))
	w.wantFile("notes.md", "2\n")
	w.wantFile(objectFile(tier("a")), "digest: w1\n")
}

// foreign has work of people on branches beside those of proposals, and on that of a tier. Only the
// latter is listed, with no digest, and nothing moves any of them.
func foreign(w *world) {
	elsewhere := []string{"furrow/" + w.Base + "/tier/a/edge-1", "furrow/notes"}
	in := tier("b")
	for _, branch := range append(elsewhere, w.branch(in)) {
		w.Person.Commit(w.T, branch, map[string]string{"notes.md": branch})
	}
	w.land(layout.Tier{Seed: "b", Cluster: "edge-1", Ordinal: 1})
	before := w.fetch()
	p := w.find(in)
	if w.wantState(p, " edited"); len(w.list()) != 1 {
		w.Errorf("listed %+v, want only %s", w.list(), in)
	}
	w.wantOutcome(in, "w1", forge.OutcomeNone)
	for name, err := range map[string]error{
		"Merge":  w.Forge.Merge(w.Context(), p, bob),
		"Reject": w.Forge.Reject(w.Context(), p, bob, "no"),
		"Reopen": w.Forge.Reopen(w.Context(), p),
	} {
		if !forge.IsForeign(err) {
			w.Errorf("%s: got %v, want ErrForeign", name, err)
		}
	}
	after := w.fetch()
	for branch, at := range before {
		if after[branch] != at {
			w.Errorf("branch %s moved from %s to %s", branch, at, after[branch])
		}
	}
}
