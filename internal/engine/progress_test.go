package engine_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/engine"
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
