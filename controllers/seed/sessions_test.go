package seed

import (
	"context"
	"errors"
	"io/fs"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/furrow-dev/furrow/controllers/fleet"
	"github.com/furrow-dev/furrow/internal/engine"
)

func TestOnePassAtATimeWritesToARepository(t *testing.T) {
	var w writers
	var writing sync.Map
	pass := func(urls ...string) {
		release, err := w.acquire(t.Context(), urls)
		if err != nil {
			t.Error(err)
			return
		}
		defer release()
		for _, url := range urls {
			if _, busy := writing.LoadOrStore(url, true); busy {
				t.Errorf("two passes write to %s", url)
			}
			defer writing.Delete(url)
		}
		runtime.Gosched()
	}
	var all sync.WaitGroup
	for range 200 {
		for _, urls := range [][]string{{"a"}, {"b"}, {"a", "b"}, {"b", "a"}, {}} {
			all.Go(func() { pass(urls...) })
		}
	}
	all.Wait()
	acquire := func(urls ...string) (release func()) {
		release, err := w.acquire(t.Context(), urls)
		if err != nil {
			t.Fatal(err)
		}
		return release
	}
	a := acquire("a")
	acquire("b")() // would hang if different repositories waited for each other
	acquire()()    // would hang without repositories
	a()
	acquire("https://git.example.com/a.git", "https://Git.example.com/a/")() // one repository, written in two ways
	if len(w.repos) != 0 {
		t.Errorf("nobody writes, but %d locks are kept", len(w.repos))
	}
}

func TestAPassThatWaitsForAnotherCanBeCanceled(t *testing.T) {
	var w writers
	release, err := w.acquire(t.Context(), []string{"b"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := w.acquire(ctx, []string{"a", "b"}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	again, err := w.acquire(t.Context(), []string{"a"})
	if err != nil {
		t.Fatalf("the first lock is still held: %v", err)
	}
	again()
	release()
	if len(w.repos) != 0 {
		t.Errorf("nobody writes, but %d locks are kept", len(w.repos))
	}
}

func TestRegularPassesHaveALowPriority(t *testing.T) {
	r := &Reconciler{options: Options{Interval: time.Hour, Clock: clock.RealClock{}}}
	for what, tc := range map[string]struct {
		view view
		last bool
		most time.Duration
	}{
		"nothing changed":       {view{report: &engine.Report{}}, true, 2 * time.Hour},
		"something was pushed":  {view{report: &engine.Report{Changed: true}}, false, minPause},
		"another one was first": {view{report: &engine.Report{Raced: true}}, true, time.Minute},
		"it failed":             {view{err: errors.New("no answer")}, false, time.Minute},
		"a Secret is missing":   {view{err: fs.ErrNotExist}, false, credentialsInterval},
	} {
		got := r.next(&reconcileState{session: &session{}}, tc.view)
		if last := *got.Priority == handler.LowPriority; last != tc.last || got.RequeueAfter > tc.most || got.RequeueAfter < minPause {
			t.Errorf("%s: the next pass starts in %s, with priority %d", what, got.RequeueAfter, *got.Priority)
		}
	}
}

func TestEachControlPlaneIsRecordedInADirectoryOfItsOwn(t *testing.T) {
	var recorded []string
	r := &Reconciler{options: Options{Clock: clock.RealClock{}, Record: func(directory string) func(*engine.Record) {
		return func(*engine.Record) { recorded = append(recorded, directory) }
	}}, sessions: sessions{channels: map[string]*channel{"fleet": {}}}}
	for _, url := range []string{"https://git.example.com/a", "https://git.example.com/b"} {
		s := &reconcileState{cp: fleet.ControlPlane{Namespace: "fleet", URL: url}, session: &session{}}
		r.sessionOptions(t.Context(), s, fleet.Location{URL: url}).Record(&engine.Record{})
	}
	if len(recorded) != 2 || recorded[0] == recorded[1] || !strings.HasPrefix(recorded[0], "fleet/") {
		t.Errorf("they are recorded in %q", recorded)
	}
}

func TestAChannelEndsWithTheLastControlPlaneOfItsNamespace(t *testing.T) {
	stopped := 0
	s := sessions{open: map[fleet.ControlPlane]*session{}, channels: map[string]*channel{"fleet": {stop: func() { stopped++ }}}}
	one, other := fleet.ControlPlane{Namespace: "fleet", URL: "a"}, fleet.ControlPlane{Namespace: "fleet", URL: "b"}
	if first := s.of(one); first != s.of(one) || first == s.of(other) {
		t.Error("a control plane has one session of its own")
	}
	s.close(one)
	if stopped != 0 {
		t.Error("the channel ended too soon")
	}
	s.close(other)
	s.close(other)
	if stopped != 1 {
		t.Errorf("the channel ended %d times", stopped)
	}
}

func TestChangesOnClustersWaitForTheCoolDown(t *testing.T) {
	var s session
	s.coolDown(noon, time.Minute, false)
	if got := s.coolDownLeft(noon.Add(10 * time.Second)); got != 50*time.Second {
		t.Errorf("got %s", got)
	}
	s.coolDown(noon, time.Minute, true)
	if got := s.coolDownLeft(noon); got > 0 {
		t.Errorf("got %s", got)
	}
}

// delays records when control planes will be processed.
type delays struct {
	workqueue.TypedRateLimitingInterface[fleet.ControlPlane]
	added chan time.Duration
}

func (d delays) AddAfter(_ fleet.ControlPlane, after time.Duration) { d.added <- after }

func TestHintsDoNotEndThePauseAfterAFailure(t *testing.T) {
	const url = "https://git.example.com/acme/fleet"
	hints, queue := make(chan []string), delays{added: make(chan time.Duration)}
	r := &Reconciler{options: Options{Hints: hints, Clock: clocktesting.NewFakeClock(noon)}, queue: queue}
	one := &session{}
	one.note([]string{url})
	r.sessions.open = map[fleet.ControlPlane]*session{{Namespace: "fleet", URL: url}: one}
	go r.watchHints(t.Context())
	for _, c := range []struct {
		failed bool
		want   time.Duration
	}{{true, time.Minute}, {false, minPause}} {
		one.coolDown(noon, time.Minute, !c.failed)
		hints <- []string{url + ".git"}
		if got := <-queue.added; got != c.want {
			t.Errorf("failed %t: the next pass begins after %s, want %s", c.failed, got, c.want)
		}
	}
}
