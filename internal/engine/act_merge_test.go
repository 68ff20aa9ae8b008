package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
)

// givenMerge is a forge whose merges end with an error, and whose checks are given.
type givenMerge struct {
	checked
	err   *error
	asked *int
}

func (m givenMerge) Merge(ctx context.Context, p forge.Proposal, by git.Person) error {
	*m.asked++
	if *m.err != nil {
		return *m.err
	}
	return m.Forge.Merge(ctx, p, by)
}

func TestARefusedMergeIsTriedAgainAfterSomeMinutes(t *testing.T) {
	w := newRollout(t, "{groupBy: Level, autoMerge: WhenGreen}")
	asked, checks := 0, &forge.Checks{State: forge.ChecksPassed}
	var err error = &forge.Error{Op: "merge", Repository: "memory", Kind: forge.FailedOther, Reason: "MergeRefused", Text: "main asks for 1 approval"}
	w.onForge = func(f forge.Forge) forge.Forge { return givenMerge{checked{f, checks}, &err, &asked} }
	w.restart()
	w.pass()
	w.pass()
	for range 10 {
		w.pass()
		w.mustBe("east/tier-00", "Proposed (MergeRefused)")
	}
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
	err = nil
	w.now = w.now.Add(2 * time.Minute)
	w.rounds(3)
	if asked < 2 {
		t.Errorf("asked %d times", asked)
	}
	w.mustBe("east/tier-00", "Released (Healthy)")
}

func TestWhatTheMergeQueueHasIsShown(t *testing.T) {
	w := newRollout(t, "{groupBy: Level, autoMerge: WhenGreen}")
	asked, checks, err := 0, &forge.Checks{State: forge.ChecksPassed}, forge.ErrQueued
	w.onForge = func(f forge.Forge) forge.Forge { return givenMerge{checked{f, checks}, &err, &asked} }
	w.restart()
	w.rounds(2)
	w.mustBe("east/tier-00", "Proposed (AutoMerging)")
	*checks = forge.Checks{State: forge.ChecksQueued, Why: "it is in the merge queue, at position 1"}
	for range 3 {
		w.pass()
		w.mustBe("east/tier-00", "Proposed (MergeQueued)")
	}
	if asked != 1 || w.tier("east/tier-00").Message != "is merged by the forge: it is in the merge queue, at position 1" {
		t.Errorf("asked %d times: %s", asked, w.tier("east/tier-00").Message)
	}
	for _, p := range w.open() {
		w.merge(p)
	}
	w.rounds(3)
	w.mustBe("east/tier-00", "Released (Healthy)")
}

// The clock goes on by a second at each reading: a merge takes as long as the pass may.
func TestABatchOfMergesEndsWithItsPass(t *testing.T) {
	w := newRollout(t, "{groupBy: Tier, autoMerge: WhenGreen}")
	asked, checks := 0, &forge.Checks{State: forge.ChecksPending}
	var err error
	w.onForge = func(f forge.Forge) forge.Forge { return givenMerge{checked{f, checks}, &err, &asked} }
	w.restart()
	w.rounds(3)
	w.config = func(c *engine.Config) { c.Slice = time.Second }
	w.restart()
	checks.State = forge.ChecksPassed
	for most := 0; asked < 3 && most < 10; most++ {
		before := asked
		w.pass()
		if asked > before+1 {
			t.Fatalf("%d merges in a pass:\n%s", asked-before, w.describe())
		}
	}
	if asked != 3 {
		t.Errorf("%d merges:\n%s", asked, w.describe())
	}
}
