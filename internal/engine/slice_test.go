package engine_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/internal/state"
)

// manySeeds declares n seeds of one object each.
func manySeeds(n int) map[string]string {
	files := map[string]string{}
	for i := range n {
		name := fmt.Sprintf("seed-%02d", i)
		files["seeds/"+name+".yaml"] = fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: default}\n", name)
	}
	return files
}

// sliced is a world in which a pass has time for a few seeds. Every reading of the clock takes a second.
func sliced(t *testing.T, slice time.Duration) *world {
	w := newWorld(t, fleet{workload: []string{"edge"}})
	w.config = func(c *engine.Config) { c.Slice = slice }
	w.onForge = func(f forge.Forge) forge.Forge { return withPullRequests{f} }
	w.restart()
	return w
}

// withPullRequests is a forge whose proposals each take a request.
type withPullRequests struct{ forge.Forge }

func (withPullRequests) Amends() bool { return true }

// TestAllPlansAreOnePush: however many seeds there are, their plans and tiers are pushed together.
func TestAllPlansAreOnePush(t *testing.T) {
	w := newWorld(t, fleet{workload: []string{"edge"}})
	w.control.put("main", "plant", manySeeds(20))
	w.pass()
	if n := len(w.open()); n != 20 || w.gitops.pushes != 3 { // the first status, the plans with their tiers, the second status
		t.Errorf("%d proposals by %d pushes", n, w.gitops.pushes)
	}
}

// TestAPassEndsWithItsSlice: it publishes and observes anew before it goes on, and each pass gets further.
func TestAPassEndsWithItsSlice(t *testing.T) {
	w := sliced(t, 10*time.Second)
	w.control.put("main", "plant", manySeeds(20))
	passes, opened := 0, 0
	for w.report == nil || w.report.Changed {
		w.pass()
		passes++
		before := opened
		if opened = len(w.open()); opened == before && w.report.Changed || passes > 20 {
			t.Fatalf("pass %d opened nothing after %d:\n%s", passes, opened, w.describe())
		}
		// What a pass opens is published by the next one, before its own work.
		if reported := w.published(); reported < before {
			t.Fatalf("pass %d published %d proposals of %d:\n%s", passes, reported, before, w.describe())
		}
	}
	if reported := w.published(); passes < 3 || reported != 20 || opened != 20 {
		t.Errorf("after %d passes %d proposals are open, and the status has %d", passes, opened, reported)
	}
}

// slowPush is a repository whose pushes of plans take until the status was published meanwhile.
type slowPush struct {
	engine.Mirror
	status    string
	published chan struct{}
}

func (s slowPush) Push(ctx context.Context, updates []git.Update) error {
	if updates[0].Ref != s.status {
		limited, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		for {
			select { // one that was published before the push
			case <-s.published:
				continue
			default:
			}
			break
		}
		select {
		case <-s.published:
		case <-limited.Done():
			return limited.Err()
		}
		return s.Mirror.Push(ctx, updates)
	}
	err := s.Mirror.Push(ctx, updates)
	s.published <- struct{}{}
	return err
}

// inTurn is a forge whose test double takes one request at a time, however many are made at once.
type inTurn struct {
	withPullRequests
	mu *sync.Mutex
}

func (f inTurn) Propose(ctx context.Context, r forge.Request) (forge.Proposal, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.withPullRequests.Propose(ctx, r)
}

// TestASlowServerGetsFewProposalsInAPass: a pass that took longer than its slice for as many as are opened at once makes the
// next ones open fewer, but at least one each.
func TestASlowServerGetsFewProposalsInAPass(t *testing.T) {
	const slice, calls = 2 * time.Second, 4 // with a clock that goes on by a second at each reading, a pass takes longer
	w := sliced(t, slice)
	w.onForge = func(f forge.Forge) forge.Forge { return inTurn{withPullRequests{f}, &sync.Mutex{}} }
	w.config = func(c *engine.Config) { c.Slice, c.ForgeCalls = slice, calls }
	w.restart()
	w.control.put("main", "plant", manySeeds(12))
	opened, first := 0, 0
	for pass := 1; opened < 12; pass++ {
		w.pass()
		n := len(w.open()) - opened
		opened += n
		switch {
		case first == 0:
			first = n
		case n < 1 || n >= calls:
			t.Fatalf("pass %d opened %d, want 1 to %d:\n%s", pass, n, calls-1, w.describe())
		}
	}
	if first != calls {
		t.Errorf("the first pass opened %d, want %d", first, calls)
	}
}

// TestTheStatusIsPublishedDuringALongPush: a push of many plans may take longer than a slice.
func TestTheStatusIsPublishedDuringALongPush(t *testing.T) {
	w := sliced(t, 10*time.Millisecond)
	w.wrap = func(m faultyMirror) engine.Mirror {
		return slowPush{m, layout.StatusBranch("main", "acme/test"), make(chan struct{}, 1000)}
	}
	w.restart()
	w.control.put("main", "plant", manySeeds(1))
	w.pass()
	if n := len(w.open()); n != 1 {
		t.Errorf("%d proposals are open:\n%s", n, w.describe())
	}
}

// published is how many open proposals the status on its branch names.
func (w *world) published() int {
	refs, _ := w.gitops.Fetch(context.Background(), "main")
	status := w.gitops.filesAt(refs[layout.StatusBranch("main", "acme/test")])[state.File]
	return strings.Count(status, "branch: furrow/main/tier/")
}

// TestSlicesServeSeedsFairly: a seed that changes all the time does not hold up those after it.
func TestSlicesServeSeedsFairly(t *testing.T) {
	w := sliced(t, 3*time.Second)
	files := manySeeds(8)
	w.control.put("main", "plant", files)
	for version := range 8 {
		w.pass()
		w.control.put("main", "change", map[string]string{"seeds/seed-00.yaml": strings.Replace(files["seeds/seed-00.yaml"], "metadata", fmt.Sprintf("data: {version: '%d'}\nmetadata", version), 1)})
	}
	last := layout.TierBranch("main", layout.Tier{Seed: "seed-07", Cluster: "edge"})
	for _, p := range w.open() {
		if p.Branch == last {
			return
		}
	}
	t.Errorf("the last seed was never served:\n%s", w.describe())
}

// meeting lets proposals wait until several are being opened.
type meeting struct {
	forge.Forge
	mu      *sync.Mutex
	arrived *sync.WaitGroup
	// all is closed once everybody has arrived.
	all <-chan struct{}
}

func (m meeting) Propose(ctx context.Context, r forge.Request) (forge.Proposal, error) {
	limited, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	m.arrived.Done()
	select {
	case <-m.all:
	case <-limited.Done():
		return forge.Proposal{}, limited.Err()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.Forge.Propose(ctx, r)
}

// TestProposalsAreOpenedAtOnce opens them only if four are under way at the same time.
func TestProposalsAreOpenedAtOnce(t *testing.T) {
	w := newWorld(t, fleet{workload: []string{"edge"}})
	var arrived sync.WaitGroup
	arrived.Add(4)
	all := make(chan struct{})
	go func() { arrived.Wait(); close(all) }()
	w.onForge = func(f forge.Forge) forge.Forge { return meeting{f, &sync.Mutex{}, &arrived, all} }
	w.config = func(c *engine.Config) { c.ForgeCalls = 4 }
	w.restart()
	w.control.put("main", "plant", manySeeds(4))
	w.pass()
	if n := len(w.open()); n != 4 {
		t.Errorf("%d proposals are open:\n%s", n, w.describe())
	}
}
