package engine_test

import (
	"context"
	"testing"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/git"
)

// slowMirror is asked to stop while it pushes something other than a status.
type slowMirror struct {
	faultyMirror
	stop context.CancelFunc
	// cut reports whether a push met the stop.
	cut *bool
}

func (m slowMirror) Push(ctx context.Context, updates []git.Update) error {
	if !layout.IsStatusBranch("main", updates[0].Ref) {
		m.stop()
		*m.cut = *m.cut || ctx.Err() != nil
	}
	return m.faultyMirror.Push(ctx, updates)
}

func TestAStopDoesNotCutAPushShort(t *testing.T) {
	w := newWorld(t, fleet{workload: []string{"site-0"}, seed: 5})
	w.control.put("main", "plant", map[string]string{"seeds/edge.yaml": storySeed(1, true)})
	ctx, stop := context.WithCancel(t.Context())
	var cut bool
	w.wrap = func(m faultyMirror) engine.Mirror { return slowMirror{m, stop, &cut} }
	w.restart()
	if _, err := w.engine.Pass(ctx); err == nil {
		t.Error("the pass does not say that it was stopped")
	}
	if cut || len(w.open()) == 0 {
		t.Errorf("the push was cut short: %v, %d proposals are open", cut, len(w.open()))
	}
	w.wrap = nil
	w.restart()
	if !w.converge(120) {
		t.Errorf("it is not continued:\n%s", w.describe())
	}
	w.check()
}
