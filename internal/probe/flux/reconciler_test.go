package flux

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/furrow-dev/furrow/internal/core/health"
)

// followed is a session with the one tier n/k, which somebody asks about.
func followed(t *testing.T) (*clocktesting.FakeClock, *Channel, *session) {
	t.Helper()
	clock := clocktesting.NewFakeClock(time.Now())
	ch := New(Options{Clock: clock})
	t.Cleanup(ch.Close)
	c := newCluster(ch, "edge")
	s := newSession(t.Context(), c, nil)
	t.Cleanup(s.end)
	s.reconcilers.of(&feed{first: newLatch()})
	c.reconcilers[name{"n", "k"}] = clock.Now()
	return clock, ch, s
}

// tierNow is what is answered of it, and what the object says.
func tierNow(s *session) (shown, live health.Reconciler) {
	s.cluster.mu.Lock()
	defer s.cluster.mu.Unlock()
	row := s.reconcilers.rows[name{"n", "k"}]
	return row.shown(), row.live
}

// verdictOn judges the tier as if base had what was applied.
func verdictOn(r health.Reconciler) health.Phase {
	return judged(r, health.Want{At: map[string]health.Match{"r1": health.Matches, "r2": health.Matches}}).Phase
}

// state is one of the tier: of a generation, with another revision being applied.
func state(status, reason string, generation int64, applied, attempted string) *unstructured.Unstructured {
	u := kustomization(status, reason, applied, "10:00")
	u.SetGeneration(generation)
	for path, value := range map[string]any{"observedGeneration": generation, "lastAttemptedRevision": attempted} {
		_ = unstructured.SetNestedField(u.Object, value, "status", path)
	}
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	conditions[0].(map[string]any)["observedGeneration"] = generation
	_ = unstructured.SetNestedSlice(u.Object, conditions, "status", "conditions")
	return u
}

// TestTheLastConclusionThatWasSeen plays failures that status.history does not have,
// beside those that it has, and what the next reconciliation then says.
func TestTheLastConclusionThatWasSeen(t *testing.T) {
	succeeded := state("True", "ReconciliationSucceeded", 2, "r1", "r1")
	again := state("Unknown", "Progressing", 2, "r1", "r2")
	waits := state("False", "DependencyNotReady", 2, "r1", "r1")
	failed := func(reason string) *unstructured.Unstructured { return state("False", reason, 2, "r1", "r2") }
	tests := map[string]struct {
		states  []*unstructured.Unstructured
		relists bool // the last one comes with a list
		last    string
		phase   health.Phase
	}{
		"nothing was seen":                    {states: []*unstructured.Unstructured{again}, phase: health.Progressing},
		"a wait before anything was seen":     {states: []*unstructured.Unstructured{waits}, phase: health.Progressing},
		"a success, and the next commit":      {states: []*unstructured.Unstructured{succeeded, again}, last: reasonSucceeded, phase: health.Ready},
		"a success, a wait, and the next try": {states: []*unstructured.Unstructured{succeeded, waits, again}, last: reasonSucceeded, phase: health.Ready},
		// The status shows a failure while Flux reconciles again.
		"a kubeconfig that is gone, and again":  {states: []*unstructured.Unstructured{succeeded, failed("ReconciliationFailed"), again}, last: "ReconciliationFailed", phase: health.Failed},
		"a build that failed, and again":        {states: []*unstructured.Unstructured{succeeded, failed("BuildFailed"), again}, last: "BuildFailed", phase: health.Failed},
		"an artifact that failed, and again":    {states: []*unstructured.Unstructured{succeeded, failed("ArtifactFailed"), again}, last: "ArtifactFailed", phase: health.Failed},
		"a check that was canceled, and again":  {states: []*unstructured.Unstructured{succeeded, again, failed("HealthCheckCanceled"), again}, last: "HealthCheckCanceled", phase: health.Progressing},
		"a failure, a wait, and again":          {states: []*unstructured.Unstructured{succeeded, failed("BuildFailed"), waits, again}, last: "BuildFailed", phase: health.Progressing},
		"a failure, a success, and again":       {states: []*unstructured.Unstructured{failed("BuildFailed"), succeeded, again}, last: reasonSucceeded, phase: health.Ready},
		"a success of another spec":             {states: []*unstructured.Unstructured{state("True", "ReconciliationSucceeded", 1, "r1", "r1"), again}, phase: health.Progressing},
		"a list after a gap, in which it began": {states: []*unstructured.Unstructured{succeeded, again}, relists: true, phase: health.Progressing},
	}
	for what, tc := range tests {
		t.Run(what, func(t *testing.T) {
			_, _, s := followed(t)
			for i, u := range tc.states {
				u = u.DeepCopy()
				if i == 0 || tc.relists && i == len(tc.states)-1 {
					if err := s.reconcilers.Replace([]any{u}, ""); err != nil {
						t.Fatal(err)
					}
				} else if err := s.reconcilers.Update(u); err != nil {
					t.Fatal(err)
				}
			}
			got, _ := tierNow(s)
			if phase := verdictOn(got); got.LastResult != tc.last || phase != tc.phase {
				t.Errorf("got %q, %s, want %q, %s", got.LastResult, phase, tc.last, tc.phase)
			}
		})
	}
}

func TestAnObjectOfTheSameNameIsAnother(t *testing.T) {
	_, _, s := followed(t)
	first, second := kustomization("True", "ReconciliationSucceeded", "r1", "10:00"), kustomization("Unknown", "Progressing", "r1", "10:01")
	first.SetUID("1")
	second.SetUID("2")
	if err := s.reconcilers.Add(first); err != nil {
		t.Fatal(err)
	}
	if err := s.reconcilers.Update(second); err != nil {
		t.Fatal(err)
	}
	if got, _ := tierNow(s); got.LastResult != "" || got.Ready != "Unknown" {
		t.Errorf("got %+v", got)
	}
}

func TestAListOfWhatWasSeenIsNotAGap(t *testing.T) {
	_, _, s := followed(t)
	seen := []*unstructured.Unstructured{kustomization("True", "ReconciliationSucceeded", "r1", "10:00"), kustomization("Unknown", "Progressing", "r1", "10:01")}
	for i, u := range seen {
		u.SetResourceVersion(fmt.Sprint(i + 1))
		if err := s.reconcilers.Update(u.DeepCopy()); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.reconcilers.Replace([]any{seen[1].DeepCopy()}, ""); err != nil {
		t.Fatal(err)
	}
	if got, _ := tierNow(s); got.LastResult != reasonSucceeded {
		t.Errorf("got %+v", got)
	}
}

func TestAConclusionIsForgotten(t *testing.T) {
	clock, ch, s := followed(t)
	write := func(u *unstructured.Unstructured) {
		t.Helper()
		if err := s.reconcilers.Update(u); err != nil {
			t.Fatal(err)
		}
	}
	write(state("True", "ReconciliationSucceeded", 2, "r1", "r1"))
	write(state("False", "DependencyNotReady", 2, "r1", "r1"))
	clock.Step(10 * conclusionTTL)
	if got, _ := tierNow(s); verdictOn(got) != health.Ready {
		t.Errorf("while it waits: got %+v", got)
	}
	write(state("Unknown", "Progressing", 2, "r1", "r1"))
	clock.Step(conclusionTTL - time.Second)
	write(state("Unknown", "Progressing", 2, "r1", "r2"))
	if got, _ := tierNow(s); verdictOn(got) != health.Ready {
		t.Errorf("while it is new: got %+v", got)
	}
	drain(ch)
	clock.Step(time.Second)
	eventually(t, 5*time.Second, "that is signalled", func() bool { return signalled(ch) })
	if got, _ := tierNow(s); got.LastResult != "" || verdictOn(got) != health.Progressing {
		t.Errorf("after %s: got %+v", conclusionTTL, got)
	}
	write(state("False", "DependencyNotReady", 2, "r1", "r1"))
	if got, _ := tierNow(s); got.LastResult != "" {
		t.Errorf("it is remembered again: %+v", got)
	}
}

// TestWhatIsHeldIsNeverReadierThanWhatIs plays anything.
func TestWhatIsHeldIsNeverReadierThanWhatIs(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	pick := func(of ...string) string { return of[rng.IntN(len(of))] }
	for range 30 {
		clock, _, s := followed(t)
		for range 100 {
			status, reason := "Unknown", "Progressing"
			switch rng.IntN(3) {
			case 0:
				status, reason = "True", "ReconciliationSucceeded"
			case 1:
				status, reason = "False", pick("DependencyNotReady", "BuildFailed", "HealthCheckCanceled", "InvalidCELExpression")
			}
			u := state(status, reason, int64(1+rng.IntN(2)), pick("r1", "r2", "old"), pick("r1", "r2", "old"))
			if rng.IntN(4) == 0 {
				_ = unstructured.SetNestedField(u.Object, int64(1), "status", "observedGeneration")
			}
			if err := s.reconcilers.Update(u); err != nil {
				t.Fatal(err)
			}
			shown, live := tierNow(s)
			if verdictOn(shown) == health.Ready && verdictOn(live) != health.Ready {
				t.Fatalf("shown %+v\nlive  %+v", shown, live)
			}
			clock.Step(time.Duration(rng.IntN(12)) * time.Second)
		}
	}
}
