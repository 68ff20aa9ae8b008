package pull_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/pull"
)

func TestRequestsAtRest(t *testing.T) {
	t.Parallel()
	s, clock := newAttributedSite(t)
	s.openFleet(60)
	others := map[string]int{}
	lists := func(passes int, every time.Duration) (n int) {
		s.server.take()
		clear(others)
		for range passes {
			clock.Step(every)
			s.pass(forge.Gate{})
		}
		for _, call := range s.server.take() {
			if call == "Open" {
				n++
				continue
			}
			others[call]++
		}
		return n
	}
	if n := lists(15, 4*time.Second); n != 15 {
		t.Errorf("in the first minute open ones are listed %d times in 15 passes", n)
	}
	if n := lists(15, 20*time.Second); n > 6 {
		t.Errorf("at rest they are listed %d times in five minutes", n)
	}
	if asked := others["Requires"]; asked > 3 || len(others) > 1 {
		t.Errorf("at rest other requests are made in five minutes: %v", others)
	}
	s.forge.Wake()
	if n := lists(1, time.Second); n != 1 {
		t.Errorf("after an event of the server they are listed %d times", n)
	}
	lists(15, 20*time.Second)
	s.push("w2", fleet(1)...)
	if n := lists(1, time.Second); n != 1 {
		t.Errorf("after a branch has moved they are listed %d times", n)
	}
}

func TestAGateThatSomebodyElseChangedIsShownAgain(t *testing.T) {
	t.Parallel()
	s, _ := newAttributedSite(t)
	s.openFleet(1)
	s.pass(forge.Gate{})
	s.server.take()
	s.pass(forge.Gate{})
	if calls := s.server.take(); slices.Contains(calls, "SetStatus") {
		t.Fatalf("nothing has changed, and the calls are %q", calls)
	}
	one := s.server.requests[0]
	one.Labels = append(one.Labels, pull.LabelWaiting) // with the status, which takes a request to read
	s.server.statuses[one.Head] = pull.Status{Context: "furrow/gate", Text: "of another control plane"}
	s.pass(forge.Gate{})
	if status := s.server.statuses[one.Head]; !status.Passed || slices.Contains(one.Labels, pull.LabelWaiting) {
		t.Errorf("the status is %+v, the labels are %q", status, one.Labels)
	}
}

func TestTheTextFollowsTheGate(t *testing.T) {
	t.Parallel()
	s, _ := newAttributedSite(t)
	s.openFleet(1)
	was := s.server.requests[0].Body
	s.pass(forge.Gate{Shut: "waits for east tier 00 (Reverted)"})
	if body := s.server.requests[0].Body; !strings.Contains(body, "**Do not merge this now**: `waits for east tier 00 (Reverted)`") {
		t.Errorf("the text does not say that the gate is shut:\n%s", body)
	}
	s.server.take()
	s.pass(forge.Gate{Shut: "waits for east tier 00 (Reverted)"})
	if calls := s.server.take(); slices.Contains(calls, "Edit") {
		t.Errorf("the same text is written again: %q", calls)
	}
	s.pass(forge.Gate{})
	if body := s.server.requests[0].Body; body != was {
		t.Errorf("the text is not what it was before:\n%s", body)
	}
	for _, p := range s.list() {
		s.must(s.forge.Supersede(s.Context(), p, "the plan has changed"))
	}
	if said := s.server.requests[0].closing.Said; len(said) == 0 || !strings.Contains(said[0].Text, "Furrow closed this: `the plan has changed`") {
		t.Errorf("the comments are %+v", said)
	}
}

// TestWhatDestroysDataIsLabelled: what a proposal does decides, and not what a template has as its title.
func TestWhatDestroysDataIsLabelled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		title    string
		destroys bool
	}{
		"as its title says":         {"Update a (destroys data)", true},
		"its title does not say so": {"Update a", true},
		"only its title says so":    {"Update a (destroys data)", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := newAttributedSite(t)
			r := s.push("w1", fleet(1)...)[0]
			r.Title, r.Destroys = c.title, c.destroys
			_, err := s.forge.Propose(s.Context(), r)
			s.must(err)
			if got := s.server.requests[0].Labels; slices.Contains(got, pull.LabelDestroys) != c.destroys {
				t.Errorf("the labels are %q", got)
			}
		})
	}
}
