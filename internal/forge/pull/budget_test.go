package pull_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
)

// TestWithoutBudgetProposalsAreThoseListedLast: the server allows no requests for a while. Branches and
// base are read all the same, and after the limit everything else is found out.
func TestWithoutBudgetProposalsAreThoseListedLast(t *testing.T) {
	s := newSite(t)
	other := layout.Tier{Seed: "b", Cluster: "edge-1"}
	for _, r := range s.push("one", edge, other) {
		_, err := s.forge.Propose(t.Context(), r)
		s.must(err)
	}
	third := s.push("two", layout.Tier{Seed: "c", Cluster: "edge-1"})[0] // pushed, and not opened
	before := s.list()
	branches := func(list []forge.Proposal) (out []string) {
		for _, p := range list {
			out = append(out, p.Branch)
		}
		return out
	}
	if want := []string{branch, layout.TierBranch("main", other)}; !slices.Equal(branches(before), want) {
		t.Fatalf("%v are listed, want %v", branches(before), want)
	}
	limit := &forge.Error{Op: "ask", Kind: forge.FailedNetwork, Reason: forge.ReasonLimited, Text: "all requests are used up", Wait: time.Minute}
	s.server.before = func(string) error { return limit }
	if diff := cmp.Diff(before, s.list()); diff != "" {
		t.Errorf("without budget (-want +got):\n%s", diff)
	}
	// A person merges one with git, and pushes to the other.
	s.must(s.mirror.Push(t.Context(), []git.Update{{Ref: "main", Old: s.refs()["main"], New: before[0].Head}}))
	if got := branches(s.list()); !slices.Equal(got, branches(before)[1:]) {
		t.Errorf("%v are listed after a merge", got)
	}
	if _, err := s.forge.Closed(t.Context(), s.refs(), edge, "one"); !forge.IsLimited(err) {
		t.Errorf("what became of it is known without asking: %v", err)
	}
	if _, err := s.forge.Propose(t.Context(), third); !forge.IsLimited(err) {
		t.Errorf("it was opened: %v", err)
	}
	s.server.before = nil
	s.list()
	if c, err := s.forge.Closed(t.Context(), s.refs(), edge, "one"); err != nil || c.Outcome != forge.OutcomeMerged {
		t.Errorf("%v, %v", c, err)
	}
}

// TestWithoutBudgetAProcessThatBeginsKnowsNothing: what was never listed cannot be guessed.
func TestWithoutBudgetAProcessThatBeginsKnowsNothing(t *testing.T) {
	s := newSite(t)
	s.server.before = func(string) error {
		return &forge.Error{Op: "ask", Kind: forge.FailedNetwork, Reason: forge.ReasonLimited, Text: "all requests are used up", Wait: time.Minute}
	}
	if _, err := s.forge.List(t.Context(), s.refs()); !forge.IsLimited(err) {
		t.Errorf("got %v", err)
	}
}
