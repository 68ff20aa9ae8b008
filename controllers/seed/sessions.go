package seed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
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

// session is the state of a control plane between its passes. Only its pass uses it, except what mu
// guards.
type session struct {
	open     *controlplane.Session
	at       fleet.Location
	settings engine.Settings
	// log is the log of the current pass, not of the one that opened the session.
	log  logr.Logger
	pace controlplane.Pace

	mu sync.Mutex
	// notBefore is the time before which changes on clusters and hints do not start a pass.
	notBefore time.Time
	// repositories are the URLs of the control plane and its GitOps repositories, as of the last
	// pass.
	repositories []string
	// hinted are the URLs of hints since the last pass.
	hinted []string
}

// takeHints returns the URLs of the hints since the last pass.
func (s *session) takeHints() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	urls := s.hinted
	s.hinted = nil
	return urls
}

// note keeps the repositories of a pass.
func (s *session) note(repositories []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.repositories = repositories
}

// uses reports whether the last pass used a repository with one of the URLs. If so, it notes the URLs for
// the next pass.
func (s *session) uses(urls []string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	uses := slices.ContainsFunc(urls, func(url string) bool {
		return slices.ContainsFunc(s.repositories, func(of string) bool { return catalog.SameRepository(of, url) })
	})
	if uses && len(s.hinted) == 0 {
		s.hinted = urls
	}
	return uses
}

// coolDown sets how long changes on clusters and hints have to wait.
func (s *session) coolDown(now time.Time, pause time.Duration, interruptible bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notBefore = now
	if !interruptible {
		s.notBefore = now.Add(pause)
	}
}

func (s *session) coolDownLeft(now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.notBefore.Sub(now)
}

// sessions has the control planes that Seeds name, and the health channels of their namespaces. A
// channel belongs to the namespace, whose Secrets it reads, and is shared by its control planes:
// each cluster is connected once.
type sessions struct {
	mu       sync.Mutex
	open     map[fleet.ControlPlane]*session
	channels map[string]*channel
	stopped  bool
}

// channel is the health channel of a namespace; it exists while the namespace has Seeds.
type channel struct {
	probe.Channel
	stop func()
}

// of returns the session of a control plane, an empty one if it has none yet.
func (s *sessions) of(cp fleet.ControlPlane) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[cp] == nil {
		s.open[cp] = &session{}
	}
	return s.open[cp]
}

// all returns all control planes.
func (s *sessions) all() map[fleet.ControlPlane]*session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.open)
}

// in returns the control planes of a namespace.
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

// closeSession closes the control plane of a session.
func (s *sessions) closeSession(one *session) {
	if one.open != nil {
		_ = one.open.Close() // a broken cache is created again
		one.open = nil
	}
}

// close closes a control plane, and the channel of its namespace after the last one.
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
		s.closeSession(one)
	}
	if ch != nil && !left {
		ch.stop()
	}
}

// stopChannels stops all channels; none is made after it.
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
	// batchDelay is the wait for further changes after a change on a cluster.
	batchDelay = 100 * time.Millisecond
	// minPause is the shortest pause between two passes of a control plane.
	minPause = 500 * time.Millisecond
)

// channelOf returns the health channel of a namespace.
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
		go r.watchClusters(ctx, namespace, w.Changed())
	}
	if s.stopped {
		made.stop()
	}
	s.channels[namespace] = made
	return made.Channel
}

// watchClusters starts passes when clusters change, with pauses in between: changes come in bursts,
// and a pass that starts a moment later has them all.
func (r *Reconciler) watchClusters(ctx context.Context, namespace string, changed <-chan struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
		for cp, one := range r.sessions.in(namespace) {
			r.queue.AddAfter(cp, max(batchDelay, one.coolDownLeft(r.options.Clock.Now())))
		}
		pause := r.options.Clock.NewTimer(minPause)
		select {
		case <-ctx.Done():
			pause.Stop()
			return
		case <-pause.C():
		}
	}
}

// watchHints starts passes of the control planes whose repositories may have changed. Several hints
// in a short time are one pass, and none comes sooner after a failure.
func (r *Reconciler) watchHints(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case urls := <-r.options.Hints:
			for cp, one := range r.sessions.all() {
				if one.uses(urls) {
					r.queue.AddAfter(cp, max(minPause, one.coolDownLeft(r.options.Clock.Now())))
				}
			}
		}
	}
}

// writers has a lock for each repository, so one pass at a time writes to it. Two passes could
// not harm each other, as every push has leases, but each would lose races to the other. Locks that
// nobody holds or waits for are dropped.
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

// acquire waits until no other pass writes to the repositories, or the context ends. Locks are
// always taken in the same order, so two passes never wait for each other.
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

// join counts one more user of a repository's slot, which is made for the first. The caller leaves,
// or takes the slot and releases it.
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

// release empties the slot for the next one, and leaves.
func (w *writers) release(url string) {
	w.mu.Lock()
	<-w.repos[url].slot
	w.mu.Unlock()
	w.leave(url)
}

// leave counts one user less; the slot goes with the last, so the table does not grow with
// repositories that were used once.
func (w *writers) leave(url string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.repos[url].users--; w.repos[url].users == 0 {
		delete(w.repos, url)
	}
}

// inLockOrder returns the repositories without duplicates and in a fixed order, to avoid deadlocks.
func inLockOrder(urls []string) []string {
	var out []string
	for _, url := range urls {
		out = append(out, catalog.CanonicalURL(url))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// digest returns a directory name.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}
