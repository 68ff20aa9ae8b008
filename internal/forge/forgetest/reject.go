package forgetest

import (
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
)

func rejectedByPerson(w *world) {
	w.Person.Close(w.T, w.propose(tier("a"), "w1"), "not before Monday")
	if p, ok := w.listed(tier("a")); ok {
		w.wantState(p, "w1 rejected")
		if p.Reason != "not before Monday" {
			w.Errorf("the reason is %q, want what the person said", p.Reason)
		}
	}
	w.wantOutcome(tier("a"), "w1", forge.OutcomeRejected)
	w.wantOutcome(tier("a"), "w2", forge.OutcomeNone)
	w.wantOutcome(tier("b"), "w1", forge.OutcomeNone)
	w.wantState(w.propose(tier("a"), "w2"), "w2")
	w.wantOutcome(tier("a"), "w2", forge.OutcomeNone)
}

func rejectedThroughForge(w *world) {
	w.must(w.Forge.Reject(w.Context(), w.propose(tier("a"), "w1"), bob, "not before\nMonday: no"))
	p := w.find(tier("a"))
	w.wantState(p, "w1 rejected")
	if want := "not before Monday: no"; p.Reason != want {
		w.Errorf("the reason is %q, want %q", p.Reason, want)
	}
	w.wantOutcome(tier("a"), "w1", forge.OutcomeRejected)
}

func rejectedTwice(w *world) {
	open := w.propose(tier("a"), "w1")
	w.must(w.Forge.Reject(w.Context(), open, bob, "first"))
	rejected := w.find(tier("a"))
	w.must(w.Forge.Reject(w.Context(), open, bob, "second"))
	w.must(w.Forge.Reject(w.Context(), rejected, bob, "third"))
	if again := w.find(tier("a")); !same(again, rejected) {
		w.Errorf("%+v became %+v", rejected, again)
	}
}

func rejectedIsNotMerged(w *world) {
	open := w.propose(tier("a"), "w1")
	w.must(w.Forge.Reject(w.Context(), open, bob, "no"))
	for _, p := range []forge.Proposal{open, w.find(tier("a"))} {
		if err := w.Forge.Merge(w.Context(), p, bob); !forge.IsRejected(err) {
			w.Errorf("got %v, want ErrRejected", err)
		}
	}
	w.wantFile(objectFile(tier("a")), "")
}

func reopened(w *world) {
	open := w.propose(tier("a"), "w1")
	w.must(w.Forge.Reopen(w.Context(), open))
	w.must(w.Forge.Reject(w.Context(), open, bob, "no"))
	rejected := w.find(tier("a"))
	w.must(w.Forge.Reopen(w.Context(), rejected))
	w.must(w.Forge.Reopen(w.Context(), rejected))
	if again := w.find(tier("a")); !same(again, open) {
		w.Errorf("%+v became %+v", open, again)
	}
	w.wantOutcome(tier("a"), "w1", forge.OutcomeNone)
	w.must(w.Forge.Merge(w.Context(), w.find(tier("a")), bob))
}

func reopenedByPerson(w *world) {
	if w.Reopen == nil {
		w.Skip("people cannot")
	}
	open := w.propose(tier("a"), "w1")
	w.Person.Close(w.T, open, "no")
	w.wantState(w.find(tier("a")), "w1 rejected")
	w.Reopen(w.T, open)
	if again := w.find(tier("a")); !same(again, open) {
		w.Errorf("%+v became %+v", open, again)
	}
	w.wantOutcome(tier("a"), "w1", forge.OutcomeNone)
}

func deletedByPerson(w *world) {
	if w.Delete == nil {
		w.Skip("people cannot reject by that")
	}
	p := w.propose(tier("a"), "w1")
	w.Delete(w.T, p.Branch)
	for range 2 {
		// The forge may take its time to notice; it is Rejected all the while.
		w.wantUnlisted(tier("a"))
		w.wantOutcome(tier("a"), "w1", forge.OutcomeRejected)
	}
	w.wantOutcome(tier("a"), "w2", forge.OutcomeNone)
	w.wantState(w.proposeAnew(tier("a"), "w2"), "w2")
}

func rejectedForOthers(w *world) {
	if w.Other == nil {
		w.Skip("there is one process only")
	}
	w.must(w.Forge.Reject(w.Context(), w.propose(tier("a"), "w1"), bob, "no"))
	rejected := w.find(tier("a"))
	other := w.Other(w.T)
	list, err := other.List(w.Context(), w.fetch())
	w.must(err)
	if len(list) != 1 || !same(list[0], rejected) {
		w.Errorf("listed %+v, want %+v", list, rejected)
	}
	w.must(other.Reopen(w.Context(), rejected))
	w.wantState(w.find(tier("a")), "w1")
}

func closedThenSuperseded(w *world) {
	p := w.propose(tier("a"), "w1")
	w.Person.Close(w.T, p, "no")
	at := w.fetch()[p.Branch]
	w.must(w.Forge.Supersede(w.Context(), p, "the plan has changed"))
	w.wantOutcome(tier("a"), "w1", forge.OutcomeRejected)
	w.must(w.Mirror.Push(w.Context(), []git.Update{{Ref: p.Branch, Old: at}}))
	w.wantUnlisted(tier("a"))
	if w.Delete != nil {
		w.wantOutcome(tier("a"), "w1", forge.OutcomeRejected)
	}
}
