package pull_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/pull"
)

// newAttributedSite is a site whose proposals get all that there is, with a clock.
func newAttributedSite(t *testing.T) (*site, *clocktesting.FakeClock) {
	t.Helper()
	s := newSite(t)
	clock := clocktesting.NewFakeClock(time.Unix(1_800_000_000, 0))
	s.options = pull.Options{Clock: clock, Reviewers: []string{"ada", "acme/fleet"}, Assignees: []string{"bob"}, Milestone: "Summer"}
	s.forge, s.labels = s.newForge(), []string{"furrow/plant"}
	return s, clock
}

// open opens proposals of tiers on so many clusters.
func (s *site) openFleet(n int) {
	s.Helper()
	for _, r := range s.push("w1", fleet(n)...) {
		_, err := s.forge.Propose(s.Context(), r)
		s.must(err)
	}
}

// pass lists, and shows all gates.
func (s *site) pass(g forge.Gate) {
	s.Helper()
	for _, p := range s.list() {
		s.must(s.forge.Gate(s.Context(), p, g))
	}
	s.keep()
}

// has is what a pull request has on the server.
func (s *site) has(number int) string {
	a := s.server.requests[number-1].Attributes
	slices.Sort(a.Labels)
	return strings.Join([]string{strings.Join(a.Labels, ","), strings.Join(a.Reviewers, ","), strings.Join(a.Assignees, ","), a.Milestone}, " ")
}

func (s *site) wantHas(number int, want string) {
	s.Helper()
	if got := s.has(number); got != want {
		s.Errorf("#%d has %q, want %q", number, got, want)
	}
}

func (s *site) wantCalls(what string, calls ...string) {
	s.Helper()
	got := slices.DeleteFunc(s.server.take(), func(call string) bool { return call == "Requires" })
	if diff := cmp.Diff(calls, got); diff != "" {
		s.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func (s *site) wantWarnings(want ...string) {
	s.Helper()
	var got []string
	for _, p := range s.forge.Warnings() {
		got = append(got, p.Field+": "+p.Message)
		if p.Next == "" || p.Reason != "ProposalIncomplete" {
			s.Errorf("it has the reason %s and the next step %q", p.Reason, p.Next)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		s.Errorf("warnings (-want +got):\n%s", diff)
	}
}

const whole = "furrow,furrow/plant ada,acme/fleet bob Summer"

func TestAProposalIsOpenedWithAllThatIsAskedFor(t *testing.T) {
	t.Parallel()
	for bare, calls := range map[bool][]string{false: {"Create"}, true: {"Create", "Attach"}} {
		s, _ := newAttributedSite(t)
		s.server.opensBare = bare
		s.openFleet(1)
		s.wantHas(1, whole)
		s.wantCalls("opening", calls...)
		s.pass(forge.Gate{})
		s.wantCalls("a pass", "Open")
		s.wantWarnings()
	}
}

// What people take off a proposal, or add to it, stays so; also where another process has begun.
func TestPeopleChangeWhatAProposalHas(t *testing.T) {
	t.Parallel()
	s, _ := newAttributedSite(t)
	s.openFleet(1)
	s.pass(forge.Gate{})
	s.server.requests[0].Attributes = pull.Attributes{Labels: []string{"theirs"}, Reviewers: []string{"eve"}}
	s.pass(forge.Gate{})
	s.forge = s.newForge()
	s.pass(forge.Gate{})
	s.wantHas(1, "theirs eve  ")
}

// A process that is killed after it opened a proposal leaves one that the next process completes.
func TestARestartSetsWhatWasNotSet(t *testing.T) {
	t.Parallel()
	s, _ := newAttributedSite(t)
	s.server.opensBare = true
	requests := s.push("w1", fleet(1)...)
	s.server.before = func(call string) error {
		if call == "Attach" {
			return &forge.Error{Op: "ask", Kind: forge.FailedNetwork, Text: "connection reset"}
		}
		return nil
	}
	_, err := s.forge.Propose(t.Context(), requests[0])
	s.must(err)
	s.server.before = nil
	s.forge = s.newForge()
	s.pass(forge.Gate{})
	s.wantHas(1, whole)
	s.server.take()
	s.pass(forge.Gate{})
	s.wantCalls("a pass", "Open")
}

// What a server refuses keeps no proposal from being opened with the rest. It is tried again at
// intervals, with one proposal, whatever the number of proposals.
func TestWhatIsRefusedIsNamedAndTriedAgain(t *testing.T) {
	t.Parallel()
	for _, bare := range []bool{false, true} {
		s, clock := newAttributedSite(t)
		s.server.opensBare, s.server.refuses = bare, []string{"bob"}
		s.openFleet(3)
		for number := range 3 {
			s.wantHas(number+1, "furrow,furrow/plant ada,acme/fleet  Summer")
		}
		warning := `spec.proposals.assignees: proposals lack the assignee "bob", as #3 does: set what #1 has in https://forge.example/acme/fleet: there is no bob`
		s.wantWarnings(warning)
		s.pass(forge.Gate{})
		s.server.take()
		s.pass(forge.Gate{})
		s.wantCalls("a pass", "Open")
		clock.Step(10 * time.Minute)
		s.pass(forge.Gate{})
		s.wantCalls("a pass after ten minutes", "Open", "Attach")
		s.forge = s.newForge()
		s.pass(forge.Gate{})
		s.wantCalls("a pass of another process", "Open", "Attach")
		s.wantWarnings(warning)
		s.server.refuses = nil
		clock.Step(10 * time.Minute)
		s.pass(forge.Gate{})
		s.wantCalls("a pass once it is allowed", "Open", "Attach", "Attach", "Attach")
		for number := range 3 {
			s.wantHas(number+1, whole)
		}
		s.wantWarnings()
	}
}

// Some servers leave out what they do not allow, and report success.
func TestWhatIsLeftOutIsNamed(t *testing.T) {
	t.Parallel()
	s, _ := newAttributedSite(t)
	s.server.dropped = []string{"furrow", "furrow/plant", "ada"}
	s.openFleet(2)
	s.wantHas(2, " acme/fleet bob Summer")
	s.wantWarnings(
		`spec.proposals.labels: proposals lack the label "furrow", "furrow/plant", as #2 does: the server accepted the request, and did not do it`,
		`spec.proposals.reviewers: proposals lack the reviewer "ada", as #2 does: the server accepted the request, and did not do it`,
	)
}

// A name that is corrected counts for proposals that are open, and one that is removed is not missed.
func TestANameThatIsCorrected(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reviewers []string
		want      string
	}{
		"another one": {[]string{"ann", "acme/fleet"}, "furrow,furrow/plant acme/fleet,ann bob Summer"},
		"none":        {nil, "furrow,furrow/plant acme/fleet bob Summer"},
	} {
		s, _ := newAttributedSite(t)
		s.server.refuses = []string{"ada"}
		s.openFleet(1)
		s.pass(forge.Gate{})
		s.options.Reviewers = tc.reviewers
		s.forge = s.newForge()
		s.pass(forge.Gate{})
		if s.wantHas(1, tc.want); s.T.Failed() {
			t.Errorf("corrected to %s", name)
		}
		s.wantWarnings()
		s.server.take()
		s.pass(forge.Gate{})
		s.wantCalls("a pass", "Open")
	}
}

func TestProposalsWithoutLabels(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.options.Unlabeled = true
	s.forge = s.newForge()
	p := s.propose("w1")
	s.must(s.forge.Gate(t.Context(), p, forge.Gate{Shut: "it waits"}))
	s.wantHas(1, "   ")
}

// The labels say in which state a proposal is that a person cannot just merge. They change with the
// state alone, and labels of people stay.
func TestLabelsByState(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.push("w1", edge)[0]
	r.Shut = "a/hub/tier-00 is no longer Released"
	_, err := s.forge.Propose(t.Context(), r)
	s.must(err)
	s.wantHas(1, "furrow,furrow/waiting   ")
	s.wantCalls("opening", "Create", "SetStatus")
	s.server.requests[0].Labels = append(s.server.requests[0].Labels, "theirs")
	pass := func(what string, g forge.Gate, want string, calls ...string) {
		t.Helper()
		s.pass(g)
		s.wantHas(1, want+"   ")
		got := slices.DeleteFunc(s.server.take(), func(call string) bool { return call != "Attach" })
		if diff := cmp.Diff(calls, got); diff != "" && len(calls)+len(got) > 0 {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	pass("while it waits", forge.Gate{Shut: r.Shut}, "furrow,furrow/waiting,theirs")
	pass("once it may be merged", forge.Gate{}, "furrow,theirs", "Attach")
	pass("a pass after that", forge.Gate{}, "furrow,theirs")
	s.forge = s.newForge()
	pass("another process", forge.Gate{}, "furrow,theirs")

	s.person().Clone.Commit(t, "main", map[string]string{edge.Dir("") + "/object.yaml": "other"})
	pass("before an update", forge.Gate{Shut: "the base branch has changed", Updating: true}, "furrow,theirs")
	_, err = s.forge.Propose(t.Context(), s.push("w2", edge)[0])
	s.must(err)
	pass("after an update", forge.Gate{}, "furrow,theirs")

	s.person().Clone.Commit(t, branch, map[string]string{"notes.md": "mine"})
	pass("once a person has edited it", forge.Gate{}, "furrow,furrow/edited,theirs", "Attach")
	s.person().Clone.Commit(t, "main", map[string]string{edge.Dir("") + "/object.yaml": "theirs"})
	pass("once it conflicts", forge.Gate{Shut: "it has a conflict"}, "furrow,furrow/conflict,furrow/edited,furrow/waiting,theirs", "Attach")
	_, err = s.forge.Propose(t.Context(), s.push("w3", edge)[0])
	s.must(err)
	pass("once it is proposed anew", forge.Gate{}, "furrow,theirs", "Attach")
}
