package scale

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/furrow-dev/furrow/test/servers"
	"github.com/furrow-dev/furrow/test/usage"
)

// figures are the counts and measurements of one estate.
type figures struct {
	clusters int
	// planting lasts from the start of the controllers until all is Released.
	planting phase
	steps    int
	// idle is one pass with nothing to do.
	idle phase
	// warm and cold are restarts with everything planted, with and without the old mirrors.
	warm, cold phase
	// planted is the memory of the controllers with everything planted, simulator that of
	// the simulated clusters.
	planted, simulator float64
}

// phase is a part of the work.
type phase struct {
	took     time.Duration
	passes   int
	api, git calls
	// peak is the most memory in use, above that at the beginning of the phase.
	peak float64
}

// idlePasses is the number of passes of an idle phase; its time is the median of theirs.
const idlePasses = 5

// measure plants an estate, and starts the controllers again twice.
func measure(t testing.TB, server *servers.Cluster, size int) figures {
	t.Helper()
	e := newEstate(t, server, size)
	out := figures{clusters: size}
	cache := t.TempDir()
	var c *controller
	empty := usage.Heap()
	out.planting = e.phase(func() int {
		c = e.start(cache)
		out.steps = e.plant(c)
		return c.meter.count()
	})
	e.mustBePlanted()
	out.idle = e.idle(c)
	running := usage.Heap()
	c.stop()
	c = nil
	planted := usage.Heap()
	out.planted, out.simulator = usage.MiB(running, planted), usage.MiB(planted, empty)
	out.warm = e.restart(cache)
	out.cold = e.restart(t.TempDir())
	return out
}

// phase measures some work, which returns the number of its passes.
func (e *estate) phase(work func() (passes int)) phase {
	e.t.Helper()
	api, git, heap := e.api.soFar(), e.git.traffic.soFar(), usage.Heap()
	peak := usage.Peak()
	began := time.Now()
	out := phase{passes: work()}
	out.took, out.peak = time.Since(began), usage.MiB(peak(), heap)
	if err := e.api.rest(e.t.Context()); err != nil {
		e.t.Fatal(err)
	}
	out.api, out.git = e.api.soFar().since(api), e.git.traffic.soFar().since(git)
	return out
}

// idle runs passes in which nothing changes; the calls are those of all passes.
func (e *estate) idle(c *controller) phase {
	e.t.Helper()
	var took []time.Duration
	out := e.phase(func() int {
		for range idlePasses {
			took = append(took, c.pass(e.t.Context()).took)
		}
		return idlePasses
	})
	slices.Sort(took)
	out.took = took[len(took)/2]
	return out
}

// restart restarts the controllers and waits until they are idle.
func (e *estate) restart(cache string) phase {
	e.t.Helper()
	var c *controller
	out := e.phase(func() int {
		c = e.start(cache)
		ctx, cancel := context.WithTimeout(e.t.Context(), patience)
		defer cancel()
		if end := c.rest(ctx); !end.done {
			e.t.Errorf("after a restart not everything is Released: %s", end.said)
		}
		return c.meter.count()
	})
	c.stop()
	return out
}
