package engine_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
)

// counted is a world in which somebody counts how often proposals are listed.
func counted(t *testing.T) (w *world, listed *int) {
	w = newWorld(t, fleet{workload: []string{"site-0"}, seed: 5})
	listed = new(int)
	w.onForge = func(f forge.Forge) forge.Forge { return tired{f, new(time.Duration), listed} }
	w.restart()
	return w, listed
}

func TestAHundredRequestsListNothingThemselves(t *testing.T) {
	const seeds = 20
	w, listed := counted(t)
	for i := range seeds {
		w.plant(fmt.Sprint("app-", i), fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata: {name: app-%d}\n", i))
	}
	w.unconfirmedRounds(6)
	for i := range seeds {
		w.plant(fmt.Sprint("app-", i), "")
	}
	w.unconfirmedRounds(3)
	*listed = 0
	report, err := w.engine.PassAfter(t.Context(), func(ctx context.Context, q *engine.Requests) {
		for i := range seeds {
			seed := fmt.Sprint("app-", i)
			if held, err := q.Confirm(ctx, seed, ""); err != nil || len(held) == 0 {
				t.Errorf("confirm %s: %v, held are %q", seed, err, held)
			}
			if err := q.Retry(ctx, seed, "", ""); err != nil {
				t.Errorf("retry %s: %v", seed, err)
			}
		}
		for range seeds * 3 {
			if err := q.Abandon(ctx, "site-0", ""); err != nil {
				t.Error(err)
			}
			if err := q.UndoAbandon(ctx, "site-0"); err != nil {
				t.Error(err)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if *listed != 1 {
		t.Errorf("proposals were listed %d times", *listed)
	}
	w.report = report
	for i := range seeds {
		if s, ok := report.Seed(fmt.Sprint("app-", i)); !ok || len(s.Unconfirmed) > 0 {
			t.Errorf("the pass does not do what was requested:\n%s", w.describe())
			break
		}
	}
}

func TestRequestsOfACommandObserveOnce(t *testing.T) {
	w, listed := counted(t)
	w.plant("one", plainSeed("one", 1, ""))
	w.rounds(1)
	*listed = 0
	q, err := w.engine.Requests(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := q.Overwritten(t.Context(), "one"); err != nil {
		t.Error(err)
	}
	if err := q.Retry(t.Context(), "one", "", ""); err != nil {
		t.Error(err)
	}
	if *listed != 1 {
		t.Errorf("proposals were listed %d times", *listed)
	}
}

func TestWhatWasRejectedIsObservedAnewOnceItIsOpenAgain(t *testing.T) {
	w, listed := counted(t)
	w.plant("one", plainSeed("one", 1, ""))
	w.rounds(1)
	open := w.open()
	if len(open) != 1 {
		t.Fatalf("%d proposals are open", len(open))
	}
	if err := w.forge.Reject(t.Context(), open[0], git.Person{Name: "p", Email: "p@example.com", When: w.now}, "not now"); err != nil {
		t.Fatal(err)
	}
	w.pass()
	w.mustBe("site-0/tier-00", string(release.Rejected))
	*listed = 0
	var err error
	w.report, err = w.engine.PassAfter(t.Context(), func(ctx context.Context, q *engine.Requests) {
		if tiers, err := q.RetryRejected(ctx, "one", "Ada", "the gateway is back"); err != nil || len(tiers) != 1 {
			t.Errorf("retried are %v, %v", tiers, err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	w.mustBe("site-0/tier-00", string(release.Proposed))
	if *listed != 2 {
		t.Errorf("proposals were listed %d times", *listed)
	}
}
