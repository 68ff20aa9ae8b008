package pull_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/pull"
	"github.com/furrow-dev/furrow/test/gitcmd"
)

func TestWhatTheQueueDoesIsAskedFromTimeToTime(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	clock := clocktesting.NewFakeClock(time.Unix(1_800_000_000, 0))
	s.options.Clock = clock
	s.forge = s.newForge()
	s.server.queue = map[int64]pull.Queued{}
	p := s.propose("w1")
	if err := s.forge.Merge(t.Context(), p, furrow); !forge.IsQueued(err) {
		t.Fatalf("got %v", err)
	}
	s.server.take()
	check := func(what string, later time.Duration, want forge.Checks, calls ...string) {
		t.Helper()
		clock.Step(later)
		got, err := s.forge.Checks(t.Context(), p)
		s.must(err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
		if diff := cmp.Diff(calls, s.server.take()); diff != "" {
			t.Errorf("%s, the calls (-want +got):\n%s", what, diff)
		}
	}
	in := forge.Checks{State: forge.ChecksQueued, Why: "it is in the merge queue"}
	check("at once", 0, in)
	in.Why += ", at position 1"
	check("a minute later", time.Minute, in, "Queued")
	check("soon after", time.Second, in)
	s.server.queue[p.Number] = pull.Queued{Why: "failed checks"}
	out := forge.Checks{State: forge.ChecksFailed, Why: "the merge queue has removed it (failed checks); add it again on the forge, or change the seed"}
	check("removed", time.Minute, out, "Queued")
	check("a minute after that", time.Minute, out)
	s.server.queue[p.Number] = pull.Queued{Is: true, Why: "at position 1"}
	check("added by a person", 10*time.Minute, in, "Queued")

	p = s.propose("w2")
	s.server.take()
	check("with another commit", 0, forge.Checks{State: forge.ChecksPending, Why: "no check has begun"}, "Checks")
}

// moveBase makes an empty commit on base.
func (s *site) moveBase(message string) {
	s.Helper()
	commit := gitcmd.Run(s.T, s.bare, "commit-tree", "-p", "main", "-m", message, "main^{tree}")
	gitcmd.Run(s.T, s.bare, "update-ref", "refs/heads/main", commit)
}

func TestWhatIsOnlyBehindIsStaleAfterARefusedMerge(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.server.linear = true
	s.propose("w1")
	s.moveBase("other")
	p := s.list()[0]
	if p.Stale {
		t.Fatal("it is stale before anybody tried")
	}
	if err := s.forge.Merge(t.Context(), p, furrow); !forge.IsConflict(err) {
		t.Fatalf("got %v", err)
	}
	for range 2 {
		if p = s.list()[0]; !p.Stale {
			t.Fatal("it is not stale")
		}
	}
	s.moveBase("another")
	if p = s.list()[0]; p.Stale {
		t.Error("what was refused on another base counts")
	}
}

func TestARefusalNamesWhatBaseAsksFor(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.server.requires = forge.Requirements{Approvals: 2, CodeOwners: true}
	s.server.before = func(call string) error {
		if call != "Merge" {
			return nil
		}
		return &forge.Error{Op: "merge", Repository: "it", Kind: forge.FailedOther, Reason: "MergeRefused", Text: "not approved"}
	}
	err := s.forge.Merge(t.Context(), s.propose("w1"), furrow)
	var failure *forge.Error
	if !errors.As(err, &failure) || !strings.HasSuffix(err.Error(), "not approved; main asks for 2 approvals, a code owner") {
		t.Errorf("got %v", err)
	}
}
