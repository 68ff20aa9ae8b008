package forgetest

import (
	"github.com/furrow-dev/furrow/internal/forge"
)

func rejectedByPerson(w *world) {
	w.Person.Close(w.T, w.propose(tier("a"), "w1"), "not before Monday")
	if p, ok := w.lookUp(tier("a")); ok {
		w.wantState(p, "w1 rejected")
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
	if again := w.find(tier("a")); again != rejected {
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
	if again := w.find(tier("a")); again != open {
		w.Errorf("%+v became %+v", open, again)
	}
	w.wantOutcome(tier("a"), "w1", forge.OutcomeNone)
	w.must(w.Forge.Merge(w.Context(), w.find(tier("a")), bob))
}
