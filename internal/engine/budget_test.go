package engine_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/internal/state"
)

// limited is a forge whose server allows some requests from one reset to the next, and counts those
// that it refuses. A list costs one where something was opened since the last one.
type limited struct {
	forge.Forge
	*limits
}

type limits struct {
	mu            sync.Mutex
	now           func() time.Time
	limit, left   int64
	window        time.Duration
	reset, writes time.Time
	// refuses makes it refuse to open the nth proposal from now on, and those after it for a minute.
	refuses int
	// refused are the requests that were sent in vain.
	refused int
	// opened has how often the proposals of each branch were opened or updated, fresh whether that
	// changes the list.
	opened map[string]int
	fresh  bool
}

func newLimits(w *world, limit int64) *limits {
	return &limits{now: func() time.Time { return w.now }, limit: limit, left: limit, window: 10 * time.Minute, refuses: -1, opened: map[string]int{}, fresh: true}
}

func (l *limits) Budget() forge.Budget {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turn()
	return forge.Budget{Limit: l.limit, Left: l.left, Reset: l.reset, Writes: l.writes}
}

func (l *limits) turn() {
	if now := l.now(); !now.Before(l.reset) {
		l.left, l.reset = l.limit, now.Add(l.window)
	}
}

// spend is one request.
func (l *limits) spend(writes bool) error {
	l.turn()
	wait, text := time.Duration(0), "all requests are used up"
	switch {
	case writes && l.now().Before(l.writes):
		wait, text = l.writes.Sub(l.now()), "too much is created at once"
	case l.left == 0:
		wait = l.reset.Sub(l.now())
	default:
		l.left--
		return nil
	}
	l.refused++
	return &forge.Error{Op: "ask", Repository: "memory", Kind: forge.FailedNetwork, Reason: forge.ReasonLimited, Text: text, Wait: wait}
}

func (f limited) Amends() bool { return true }

func (f limited) Budget() forge.Budget { return f.limits.Budget() }

func (f limited) List(ctx context.Context, refs git.Refs) ([]forge.Proposal, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fresh {
		if err := f.spend(false); err != nil {
			return nil, err
		}
		f.fresh = false
	}
	list, err := f.Forge.List(ctx, refs)
	return slices.DeleteFunc(list, func(p forge.Proposal) bool { return f.opened[p.Branch] == 0 }), err
}

func (f limited) Propose(ctx context.Context, r forge.Request) (forge.Proposal, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refuses--; f.refuses == 0 {
		f.writes = f.now().Add(time.Minute)
	}
	if err := f.spend(true); err != nil {
		return forge.Proposal{}, err
	}
	f.opened[r.Branch]++
	f.fresh = true
	return f.Forge.Propose(ctx, r)
}

// underLimits is a world whose forge has limits.
func underLimits(t *testing.T, limit int64, calls int) (*world, *limits) {
	t.Helper()
	w := newWorld(t, fleet{workload: []string{"edge"}})
	l := newLimits(w, limit)
	w.onForge = func(f forge.Forge) forge.Forge { return limited{f, l} }
	w.config = func(c *engine.Config) { c.Slice, c.ForgeCalls = time.Hour, calls }
	w.restart()
	return w, l
}

// untilItWaits makes passes until none is to follow at once.
func (w *world) untilItWaits() {
	w.t.Helper()
	for n := 0; n == 0 || w.report.Changed; n++ {
		w.pass()
		if n > 20 {
			w.t.Fatalf("passes follow each other without an end:\n%s", w.describe())
		}
	}
}

// mustWait asserts that as many tiers wait for the forge, that the states say so, and that nobody
// has to do anything.
func (w *world) mustWait(tiers int, until time.Time) {
	w.t.Helper()
	waiting := 0
	for _, s := range w.report.Seeds {
		for _, t := range s.Tiers {
			if t.Reason != v1alpha1.ReasonRateLimited {
				continue
			}
			waiting++
			if t.State != release.Queued || !strings.Contains(t.Message, until.UTC().Format("15:04:05 MST")) {
				w.t.Errorf("%s is %s: %s", s.Name, t.State, t.Message)
			}
		}
		if s.State == state.Stalled {
			w.t.Errorf("%s is stalled: %s", s.Name, s.Message)
		}
	}
	limit := w.report.Repos["gitops"].Limit
	if waiting != tiers || (tiers > 0) != (limit != nil) || len(w.report.Problems) > 0 {
		w.t.Fatalf("%d tiers wait, want %d, and the repository for %v:\n%s", waiting, tiers, limit, w.describe())
	}
	if tiers > 0 && (!w.report.Until.Equal(until) || !limit.Until.Equal(until) || limit.Reason != v1alpha1.ReasonRateLimited) {
		w.t.Errorf("it goes on at %s, and the repository at %s, want %s", w.report.Until, limit.Until, until)
	}
	if got := w.gitops.filesAt(w.statusAt())[state.File]; strings.Count(got, "reason: "+string(v1alpha1.ReasonRateLimited)) < tiers {
		w.t.Errorf("the published state is:\n%s", got)
	}
}

func (w *world) statusAt() git.Hash {
	refs, _ := w.gitops.Fetch(context.Background(), "main")
	return refs[layout.StatusBranch("main", "acme/test")]
}

// TestASmallBudgetIsUsedInTurns: ten seeds, and three requests from one reset to the next. No request
// is sent in vain, one stays for reading, and all seeds are planted.
func TestASmallBudgetIsUsedInTurns(t *testing.T) {
	for _, calls := range []int{1, 4} {
		t.Run(fmt.Sprint(calls), func(t *testing.T) {
			w, l := underLimits(t, 3, calls)
			w.control.put("main", "plant", manySeeds(10))
			for opened := 1; opened <= 10; opened++ {
				w.untilItWaits()
				if len(l.opened) != opened {
					t.Fatalf("%d are open, want %d, and %d requests are left:\n%s", len(l.opened), opened, l.left, w.describe())
				}
				w.mustWait(10-opened, l.reset.Truncate(time.Second))
				w.now = l.reset
			}
			w.now = l.reset
			for range 60 {
				w.untilItWaits()
				for _, p := range w.mergeable() {
					w.merge(p)
				}
				w.tick()
				w.now = l.reset // the gates and the lists of each round
				if w.report.Done() {
					break
				}
			}
			if !w.report.Done() || l.refused > 0 {
				t.Errorf("%d requests were sent in vain:\n%s", l.refused, w.describe())
			}
			w.check()
		})
	}
}

// TestARetryIsNotForgottenForWantOfBudget: a person asks to replace what others put at two tiers, and
// there are requests for one of them.
func TestARetryIsNotForgottenForWantOfBudget(t *testing.T) {
	w := newWorld(t, fleet{workload: []string{"site-0", "site-1"}})
	l := newLimits(w, 2)
	w.onForge = func(f forge.Forge) forge.Forge { return limited{f, l} }
	w.config = func(c *engine.Config) { c.Slice, c.ForgeCalls = time.Hour, 1 }
	w.restart()
	w.gitops.put("main", "theirs", map[string]string{"planted/site-0/one/tier-00/theirs.yaml": "a: 1\n", "planted/site-1/one/tier-00/theirs.yaml": "a: 1\n"})
	w.plant("one", plainSeed("one", 1, ""))
	w.untilItWaits()
	w.mustBe("site-0/tier-00", "Held")
	w.mustBe("site-1/tier-00", "Held")
	w.now = l.reset
	var err error
	if w.report, err = w.engine.PassAfter(t.Context(), func(ctx context.Context, q *engine.Requests) {
		if err := q.Retry(ctx, "one", "Grace", ""); err != nil {
			t.Error(err)
		}
	}); err != nil {
		t.Fatal(err)
	}
	w.untilItWaits()
	if len(l.opened) != 1 {
		t.Fatalf("%d proposals are open, want 1:\n%s", len(l.opened), w.describe())
	}
	for range 3 {
		w.now = l.reset
		w.untilItWaits()
	}
	w.mustBe("site-0/tier-00", "Proposed")
	w.mustBe("site-1/tier-00", "Proposed")
	for branch := range w.gitops.refs {
		if strings.Contains(branch, "/retry/") {
			t.Errorf("branch %s is left", branch)
		}
	}
}

// TestNoSeedStarvesForWantOfBudget: every seed changes all the time, which costs more requests than
// there are. None gets two more than another.
func TestNoSeedStarvesForWantOfBudget(t *testing.T) {
	for limit, perWindow := range map[int64]int{3: 1, 14: 3} {
		w, l := underLimits(t, limit, 4)
		for version := range 25 {
			files := manySeeds(10)
			for name, text := range files {
				files[name] = strings.Replace(text, "metadata", fmt.Sprintf("data: {version: '%d'}\nmetadata", version), 1)
			}
			w.control.put("main", "change", files)
			before := sum(l.opened)
			w.untilItWaits()
			if got := sum(l.opened) - before; got < perWindow {
				t.Fatalf("%d requests: %d were opened between two resets, want %d at least", limit, got, perWindow)
			}
			w.now = l.reset
		}
		served := slices.Sorted(maps.Values(l.opened))
		if len(served) != 10 || served[9]-served[0] > 1 || l.refused > 0 {
			t.Errorf("%d requests: %v were opened, and %d requests sent in vain", limit, l.opened, l.refused)
		}
	}
}

func sum(counts map[string]int) (all int) {
	for n := range maps.Values(counts) {
		all += n
	}
	return all
}

// TestAForgeThatAsksToWaitIsNotAskedInThisPass: it allows no more content for a while. What is merged
// and what runs is observed meanwhile, and the state published; what was refused comes first then.
func TestAForgeThatAsksToWaitIsNotAskedInThisPass(t *testing.T) {
	w, l := underLimits(t, 5000, 1)
	w.config = nil
	w.restart()
	w.control.put("main", "plant", manySeeds(6))
	l.refuses = 3
	w.pass()
	if len(l.opened) != 2 || l.refused != 1 {
		t.Fatalf("%d were opened, and %d requests sent in vain", len(l.opened), l.refused)
	}
	until := w.report.Until
	if late := until.Sub(l.writes); late < 0 || late > 2*time.Second { // the clock goes on between two readings
		t.Errorf("it goes on at %s, want %s", until, l.writes)
	}
	w.mustWait(4, until)
	for _, p := range w.mergeable() {
		if l.opened[p.Branch] > 0 {
			w.merge(p)
		}
	}
	for range 3 {
		w.tick()
		w.pass()
		w.now = w.now.Add(-8 * time.Second) // each reading of the clock takes a second
	}
	if len(l.opened) != 2 || l.refused != 1 {
		t.Fatalf("%d were opened, and %d requests sent in vain", len(l.opened), l.refused)
	}
	w.mustWait(4, l.writes)
	released := 0
	for _, s := range w.report.Seeds {
		if s.State == string(release.Released) {
			released++
		}
	}
	if released != 2 {
		t.Errorf("%d seeds are released:\n%s", released, w.describe())
	}
	l.refuses = 2
	w.now = until
	w.pass()
	third := layout.TierBranch("main", layout.Tier{Seed: "seed-02", Cluster: "edge"})
	if len(l.opened) != 3 || l.opened[third] != 1 {
		t.Errorf("%v were opened, want %s next", l.opened, third)
	}
}

// TestAProcessThatBeginsWithoutBudgetKnowsNothingYet: it cannot list proposals before the reset, which
// stalls nothing.
func TestAProcessThatBeginsWithoutBudgetKnowsNothingYet(t *testing.T) {
	w, l := underLimits(t, 20, 4)
	w.control.put("main", "plant", manySeeds(2))
	w.untilItWaits()
	l.left, l.fresh = 0, true
	w.restart()
	w.pass()
	for _, s := range w.report.Seeds {
		if s.State != state.Unknown || s.Reason != v1alpha1.ReasonRateLimited || s.Message == "" {
			t.Errorf("%s is %s (%s): %s", s.Name, s.State, s.Reason, s.Message)
		}
	}
	if len(w.report.Seeds) != 2 || !w.report.Until.Equal(l.reset.Truncate(time.Second)) {
		t.Errorf("it goes on at %s, want %s:\n%s", w.report.Until, l.reset, w.describe())
	}
	w.now = l.reset.Add(10 * time.Minute)
	for range 3 {
		w.untilItWaits()
	}
	for _, s := range w.report.Seeds {
		if s.State != string(release.Proposed) {
			t.Errorf("%s is %s after the reset", s.Name, s.State)
		}
	}
}
