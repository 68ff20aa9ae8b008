package engine_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/git"
)

func TestProgressIsReportedOncePerInterval(t *testing.T) {
	var got []time.Duration
	report := engine.Every(time.Minute, func(p engine.Progress) { got = append(got, p.Took) })
	for _, seconds := range []int{0, 20, 59, 60, 70, 119, 120, 300, 359, 0, 30, 61, 100} { // two passes
		report(engine.Progress{Took: time.Duration(seconds) * time.Second})
	}
	want := []time.Duration{time.Minute, 2 * time.Minute, 5 * time.Minute, 61 * time.Second}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestAPassSaysHowFarItIs(t *testing.T) {
	w := newWorld(t, fleet{workload: []string{"edge"}})
	var got []engine.Progress
	w.config = func(c *engine.Config) {
		c.Progress = func(p engine.Progress) { got = append(got, p) }
	}
	w.restart()
	files := map[string]string{}
	for _, name := range []string{"a", "b", "c"} {
		files["seeds/"+name+".yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", namespace: default}\n"
	}
	w.control.put("main", "three seeds", files)
	w.pass()
	const proposing = "pushing plans and proposals"
	want := []engine.Progress{
		{Stage: "reading the repositories"}, {Stage: "planning"},
		{Stage: proposing, Total: 3}, {Stage: proposing, Done: 1, Total: 3}, {Stage: proposing, Done: 2, Total: 3},
		{Stage: "publishing the status"},
	}
	took := time.Duration(0)
	for i := range got {
		if got[i].Took < took {
			t.Errorf("after %s it took %s", took, got[i].Took)
		}
		took, got[i].Took = got[i].Took, 0
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestProgressIsOneLine(t *testing.T) {
	for want, p := range map[string]engine.Progress{
		"planning (1m2s)": {Stage: "planning", Took: 62*time.Second + time.Millisecond},
		"pushing plans and proposals: 120 of 1000 seeds (14s)": {Stage: "pushing plans and proposals", Done: 120, Total: 1000, Took: 14 * time.Second},
	} {
		if p.String() != want {
			t.Errorf("got %q, want %q", p, want)
		}
	}
}

// silentHook is a repository whose server says nothing for a while before it accepts a plan.
type silentHook struct {
	engine.Mirror
	wait func()
}

func (s silentHook) Push(ctx context.Context, updates []git.Update) error {
	if slices.ContainsFunc(updates, func(u git.Update) bool { return strings.Contains(u.Ref, "/plan/") }) {
		s.wait()
	}
	return s.Mirror.Push(ctx, updates)
}

// TestASilentHookIsReported: a run says what it waits for after ten seconds, and then ever more rarely.
func TestASilentHookIsReported(t *testing.T) {
	w := newWorld(t, fleet{workload: []string{"edge"}})
	clock, said := clocktesting.NewFakeClock(w.now), make(chan engine.Progress, 1)
	w.config = func(c *engine.Config) {
		c.Clock, c.Now = clock, clock.Now
		c.Progress = func(p engine.Progress) {
			if p.Waited > 0 {
				said <- p
			}
		}
	}
	var got []string
	deadline, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	w.wrap = func(m faultyMirror) engine.Mirror {
		return silentHook{m, func() {
			for _, step := range []time.Duration{10 * time.Second, 10 * time.Second, 20 * time.Second} {
				clock.Step(step)
				select {
				case p := <-said:
					got = append(got, p.String())
				case <-deadline.Done():
					t.Error("it says nothing")
				}
			}
		}}
	}
	w.restart()
	w.control.put("main", "plant", manySeeds(1))
	w.pass()
	const stage, still = `pushing to GitOps repository "gitops" for `, "; the server has not answered yet"
	if want := []string{stage + "10s" + still, stage + "20s" + still, stage + "40s" + still}; !slices.Equal(got, want) {
		t.Errorf("it says %q, want %q", got, want)
	}
	if n := len(w.open()); n != 1 {
		t.Errorf("%d proposals are open after that", n)
	}
}
