package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
)

// unready is a forge to which nothing may be pushed while kind is set.
type unready struct {
	forge.Forge
	kind  *forge.Kind
	asked *int
}

func (f unready) Ready(context.Context) error {
	*f.asked++
	if *f.kind == "" {
		return nil
	}
	return &forge.Error{Op: "push branches", Repository: "memory", Kind: *f.kind, Text: "the credentials lack the scope repo"}
}

func TestNothingIsPushedToARepositoryThatIsNotReady(t *testing.T) {
	for kind, reason := range map[forge.Kind]v1alpha1.Reason{
		forge.FailedAuth: v1alpha1.ReasonCredentialsRefused, forge.FailedOther: v1alpha1.ReasonForgeRefused,
	} {
		t.Run(string(kind), func(t *testing.T) {
			w := newWorld(t, fleet{workload: []string{"site-0"}, seed: 5})
			is, asked, opened := kind, 0, 0
			w.onForge = func(f forge.Forge) forge.Forge { opened++; return unready{f, &is, &asked} }
			w.restart()
			w.control.put("main", "plant", map[string]string{"seeds/edge.yaml": storySeed(1, true)})
			for range 10 {
				w.pass()
				if len(w.report.Problems) != 1 || w.report.Problems[0].Reason != reason || w.report.Problems[0].Repo == "" || !strings.Contains(w.report.Problems[0].Error(), "the scope repo") {
					t.Fatalf("the problems are %v", w.report.Problems)
				}
				if refs, err := w.gitops.Fetch(t.Context(), "main"); err != nil || len(refs) != 1 {
					t.Fatalf("the branches are %v, %v", refs, err)
				}
			}
			if asked != 1 || opened != 1 {
				t.Errorf("asked %d times, opened %d times", asked, opened)
			}
			w.now = w.now.Add(5 * time.Minute)
			w.pass()
			is = ""
			w.now = w.now.Add(5 * time.Minute)
			if !w.converge(60) {
				t.Errorf("the seed is not planted:\n%s", w.describe())
			}
			credentials := map[forge.Kind]int{forge.FailedAuth: 3, forge.FailedOther: 1}[kind]
			if asked != 3 || opened != credentials {
				t.Errorf("asked %d times; read the credentials %d times, want %d", asked, opened, credentials)
			}
		})
	}
}

func TestAServerThatDoesNotAnswerIsAskedAgainWhetherItIsReady(t *testing.T) {
	w := newWorld(t, fleet{workload: []string{"site-0"}, seed: 5})
	is, asked := forge.FailedNetwork, 0
	w.onForge = func(f forge.Forge) forge.Forge { return unready{f, &is, &asked} }
	w.restart()
	w.control.put("main", "plant", map[string]string{"seeds/edge.yaml": storySeed(1, true)})
	w.pass()
	is = ""
	w.now = w.now.Add(time.Minute)
	if !w.converge(60) || asked != 3 { // before the status and the plan, and once it answers
		t.Errorf("asked %d times:\n%s", asked, w.describe())
	}
}

// guarded is a mirror whose server refuses all pushes while readOnly is set.
type guarded struct {
	faultyMirror
	readOnly *bool
}

func (m guarded) Push(ctx context.Context, updates []git.Update) error {
	if *m.readOnly {
		return &forge.Error{Op: "push", Repository: "memory", Kind: forge.FailedAuth, Text: "403"}
	}
	return m.faultyMirror.Push(ctx, updates)
}

func TestARefusedPushMakesTheForgeSayWhatIsMissing(t *testing.T) {
	w := newWorld(t, fleet{workload: []string{"site-0"}, seed: 5})
	is, asked, readOnly := forge.Kind(""), 0, false
	w.wrap = func(m faultyMirror) engine.Mirror { return guarded{m, &readOnly} }
	w.onForge = func(f forge.Forge) forge.Forge { return unready{f, &is, &asked} }
	w.restart()
	w.control.put("main", "plant", map[string]string{"seeds/edge.yaml": storySeed(1, true)})
	w.pass()
	is, readOnly = forge.FailedAuth, true
	w.now = w.now.Add(5 * time.Minute)
	w.merge(w.open()[0])
	w.rounds(10)
	if asked != 2 || len(w.report.Problems) != 1 || !strings.Contains(w.report.Problems[0].Error(), "the scope repo") {
		t.Errorf("asked %d times, the problems are %v", asked, w.report.Problems)
	}
}
