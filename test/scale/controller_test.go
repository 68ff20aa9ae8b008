package scale

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/controllers"
	"github.com/furrow-dev/furrow/controllers/fleet"
	"github.com/furrow-dev/furrow/controllers/metrics"
	"github.com/furrow-dev/furrow/controllers/seed"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/probe"
	"github.com/furrow-dev/furrow/internal/simulator"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// controller runs the controllers in this process, for one estate.
type controller struct {
	t      testing.TB
	meter  *meter
	news   chan struct{}
	cancel context.CancelFunc
	// ended is closed when they have ended with err.
	ended chan struct{}
	err   error
	log   *log
}

// start starts the controllers with mirrors in this directory. Once there is nothing to do,
// passes start only on request.
func (e *estate) start(cache string) *controller {
	e.t.Helper()
	ctx, cancel := context.WithCancel(e.t.Context())
	c := &controller{t: e.t, meter: newMeter(e.t), news: make(chan struct{}, 1), cancel: cancel, ended: make(chan struct{}), log: &log{}}
	config := rest.CopyConfig(e.server.Config)
	config.Wrap(e.api.transport)
	options := controllers.Options{
		Seeds: seed.Options{
			Interval: time.Hour, Concurrency: 2, Cache: cache, DeletionGuard: 20, Meter: c.meter,
			Channel: func(string) probe.Channel { return channel{e.simulator.Channel(), c.news} },
		},
		Namespace: e.namespace, MetricsAddress: "0", HealthAddress: "0",
		Log: logr.FromSlogHandler(slog.NewTextHandler(c.log, &slog.HandlerOptions{Level: slog.LevelInfo})),
	}
	go func() {
		defer close(c.ended)
		c.err = controllers.Run(ctx, config, options)
	}()
	e.t.Cleanup(c.stop)
	return c
}

// stop stops the controllers. It may be called again.
func (c *controller) stop() {
	c.cancel()
	<-c.ended
	if c.err != nil {
		c.t.Errorf("the controllers: %v", c.err)
	}
	if c.t.Failed() {
		c.t.Logf("the last log lines of the controllers:\n%s", c.log.tail())
	}
}

// pass signals a change on the clusters to the controllers, and waits until they are
// idle.
func (c *controller) pass(ctx context.Context) passed {
	c.t.Helper()
	c.meter.expect(time.Now())
	c.news <- struct{}{}
	return c.rest(ctx)
}

// rest waits until an expected pass has found nothing to do and has written all statuses.
func (c *controller) rest(ctx context.Context) passed {
	c.t.Helper()
	select {
	case p := <-c.meter.rested:
		return p
	case <-c.ended:
		c.t.Fatalf("the controllers have ended: %v", c.err)
	case <-ctx.Done():
		c.t.Fatalf("the controllers do not become idle: %v; last pass: %+v\n%s", ctx.Err(), c.meter.last(), c.log.tail())
	}
	return passed{}
}

// channel is a health channel that signals changes.
type channel struct {
	simulator.Channel
	news <-chan struct{}
}

// Changed implements probe.Watcher.
func (c channel) Changed() <-chan struct{} { return c.news }

// passed is a finished pass.
type passed struct {
	began time.Time
	took  time.Duration
	// idle means that it found nothing to do, done that everything is Released.
	idle, done bool
	said       string
}

// meter records passes, in addition to the metrics for operators.
type meter struct {
	*metrics.Metrics
	rested chan passed

	mu       sync.Mutex
	expected time.Time
	passes   []passed
}

func newMeter(t testing.TB) *meter {
	t.Helper()
	m, err := metrics.Register(prometheus.NewRegistry(), "test", clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	return &meter{Metrics: m, rested: make(chan passed, 1), expected: time.Now()}
}

var _ seed.Meter = (*meter)(nil)

// expect makes rest ignore passes that began before now.
func (m *meter) expect(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.expected = now
	select { // ignore an earlier idle pass
	case <-m.rested:
	default:
	}
}

// Pass implements seed.Meter.
func (m *meter) Pass(cp fleet.ControlPlane, report *engine.Report, err error, took time.Duration) {
	m.Metrics.Pass(cp, report, err, took)
	p := passed{began: time.Now().Add(-took), took: took, said: fmt.Sprint(err)}
	if err == nil {
		p.idle, p.done, p.said = !report.Changed && !report.Raced, report.Done(), fmt.Sprint(report.Problems)
		for _, s := range report.Seeds {
			p.said += fmt.Sprintf(" %s: %s %s", s.Name, s.State, s.Message)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.passes = append(m.passes, p)
}

// Tiers implements seed.Meter: it is called when all statuses are written.
func (m *meter) Tiers(cp fleet.ControlPlane, plantings []v1alpha1.Planting) {
	m.Metrics.Tiers(cp, plantings)
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.passes) == 0 {
		return
	}
	if p := m.passes[len(m.passes)-1]; p.idle && !p.began.Before(m.expected) {
		select {
		case m.rested <- p:
		default:
		}
	}
}

func (m *meter) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.passes)
}

func (m *meter) last() passed {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.passes) == 0 {
		return passed{said: "there was none"}
	}
	return m.passes[len(m.passes)-1]
}

// log keeps the log of the controllers.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) tail() string {
	const most = 4000
	l.mu.Lock()
	defer l.mu.Unlock()
	text := l.text.String()
	return text[max(0, len(text)-most):]
}

// furrowCRDs returns the CustomResourceDefinitions of Furrow.
func furrowCRDs() ([]byte, error) {
	files, err := filepath.Glob("../../config/crd/bases/*.yaml")
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no CRDs: %w", err)
	}
	var all [][]byte
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		all = append(all, data)
	}
	return bytes.Join(all, []byte("\n---\n")), nil
}
