package seed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/furrow-dev/furrow/controllers/fleet"
	"github.com/furrow-dev/furrow/internal/controlplane"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/probe"
	"github.com/furrow-dev/furrow/internal/probe/flux"
)

// session is a control plane between its passes. Only the pass that is made of it
// uses it, but for newsFrom, which Reconciler.news reads.
type session struct {
	open     *controlplane.Session
	at       fleet.Place
	settings engine.Settings
	// log is that of the pass under way, and not of the one that opened the session.
	log  logr.Logger
	pace controlplane.Pace

	mu sync.Mutex
	// newsFrom is when news from the clusters calls for a pass again.
	newsFrom time.Time
}

// deferNews notes how long news from the clusters has to wait.
func (s *session) deferNews(now time.Time, pause time.Duration, news bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.newsFrom = now
	if !news {
		s.newsFrom = now.Add(pause)
	}
}

// newsWait is how long news has to wait yet.
func (s *session) newsWait(now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.newsFrom.Sub(now)
}

// sessions are the control planes that Seeds name, and the health channels of their namespaces.
type sessions struct {
	mu       sync.Mutex
	open     map[fleet.ControlPlane]*session
	channels map[string]*channel
	stopped  bool
}

// channel is the health channel of a namespace, for as long as it has Seeds.
type channel struct {
	probe.Channel
	stop func()
}

func (s *sessions) of(cp fleet.ControlPlane) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[cp] == nil {
		s.open[cp] = &session{}
	}
	return s.open[cp]
}

// in are the control planes of a namespace.
func (s *sessions) in(namespace string) map[fleet.ControlPlane]*session {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[fleet.ControlPlane]*session{}
	for cp, one := range s.open {
		if cp.Namespace == namespace {
			out[cp] = one
		}
	}
	return out
}

// letGo closes what a session has open.
func (s *sessions) letGo(one *session) {
	if one.open != nil {
		_ = one.open.Close() // of a cache that is made anew
		one.open = nil
	}
}

// close ends a control plane, and the channel of its namespace with the last one.
func (s *sessions) close(cp fleet.ControlPlane) {
	s.mu.Lock()
	one := s.open[cp]
	delete(s.open, cp)
	left := false
	for other := range s.open {
		left = left || other.Namespace == cp.Namespace
	}
	ch := s.channels[cp.Namespace]
	if !left {
		delete(s.channels, cp.Namespace)
	}
	s.mu.Unlock()
	if one != nil {
		s.letGo(one)
	}
	if ch != nil && !left {
		ch.stop()
	}
}

func (s *sessions) stopChannels() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	for _, ch := range s.channels {
		ch.stop()
	}
	s.channels = map[string]*channel{}
}

const (
	// together is how long is waited, after news from a cluster, for more that comes with it.
	together = 100 * time.Millisecond
	// breath is what at least lies between two passes of a control plane.
	breath = 500 * time.Millisecond
)

// channelOf is the health channel of a namespace.
func (r *Reconciler) channelOf(namespace string) probe.Channel {
	s := &r.sessions
	s.mu.Lock()
	defer s.mu.Unlock()
	if had := s.channels[namespace]; had != nil {
		return had.Channel
	}
	ctx, cancel := context.WithCancel(context.Background())
	made := &channel{stop: cancel}
	if r.options.Channel != nil {
		made.Channel = r.options.Channel(namespace)
	} else {
		of := flux.New(flux.Options{
			Own: r.options.Own, OwnConfig: r.options.OwnConfig, SecretsIn: namespace, Clock: r.options.Clock,
			Secret: func(ctx context.Context, name string) (map[string][]byte, error) {
				return fleet.Secret(ctx, r.secrets, namespace, name)
			},
		})
		made.Channel, made.stop = of, func() { cancel(); of.Close() }
	}
	made.Channel = r.options.Meter.Channel(namespace, made.Channel)
	if w, ok := made.Channel.(probe.Watcher); ok {
		go r.news(ctx, namespace, w.Changed())
	}
	if s.stopped {
		made.stop()
	}
	s.channels[namespace] = made
	return made.Channel
}

// news has passes made when clusters tell of changes, and lets them breathe.
func (r *Reconciler) news(ctx context.Context, namespace string, changed <-chan struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
		for cp, one := range r.sessions.in(namespace) {
			r.queue.AddAfter(cp, max(together, one.newsWait(r.options.Clock.Now())))
		}
		pause := r.options.Clock.NewTimer(breath)
		select {
		case <-ctx.Done():
			pause.Stop()
			return
		case <-pause.C():
		}
	}
}

// writers lets one pass at a time write to a repository. A repository to which nobody
// writes, or waits to write, is not kept.
type writers struct {
	mu    sync.Mutex
	repos map[string]*writer
}

// writer is the lock of one repository.
type writer struct {
	slot chan struct{}
	// users hold the lock or wait for it.
	users int
}

// acquire waits until no other pass writes to the repositories, or the context ends.
func (w *writers) acquire(ctx context.Context, urls []string) (release func(), err error) {
	var held []string
	release = func() {
		for _, url := range held {
			w.release(url)
		}
	}
	for _, url := range inLockOrder(urls) {
		select {
		case w.join(url).slot <- struct{}{}:
			held = append(held, url)
		case <-ctx.Done():
			w.leave(url)
			release()
			return nil, ctx.Err()
		}
	}
	return release, nil
}

func (w *writers) join(url string) *writer {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.repos == nil {
		w.repos = map[string]*writer{}
	}
	if w.repos[url] == nil {
		w.repos[url] = &writer{slot: make(chan struct{}, 1)}
	}
	w.repos[url].users++
	return w.repos[url]
}

func (w *writers) release(url string) {
	w.mu.Lock()
	<-w.repos[url].slot
	w.mu.Unlock()
	w.leave(url)
}

func (w *writers) leave(url string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.repos[url].users--; w.repos[url].users == 0 {
		delete(w.repos, url)
	}
}

// inLockOrder are the repositories, each once and always in the same order, so that nobody waits in a circle.
func inLockOrder(urls []string) []string {
	var out []string
	for _, url := range urls {
		out = append(out, catalog.CanonicalURL(url))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// digest is a name for a directory.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}
