package flux

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/furrow-dev/furrow/internal/backoff"

	"github.com/furrow-dev/furrow/api/v1alpha1"
)

// parallelReads is how many objects are read at the same time from one API server.
const parallelReads = 8

// session is one time of a cluster's answering. All that is observed in it is forgotten with it:
// nothing that a cluster said before it fell silent counts as known. It ends with its context; end
// waits for its goroutines.
type session struct {
	cluster *cluster
	conn    *connection
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup
	// rechecks has room for one request to check whether the cluster still answers.
	rechecks chan struct{}
	// slots bounds how many objects are read at the same time.
	slots chan struct{}

	// Guarded by cluster.mu.

	// asked is when /readyz was asked for last, of what was answered. permitted says
	// that it may be.
	asked     time.Time
	permitted bool
	feeds     map[feedName]*feed
	// awaited is how many objects are not as they should be yet.
	awaited int
	// reconcilers, roots and repositories are what the feeds fill.
	reconcilers  table[reconcilerRow]
	roots        table[rootRow]
	repositories table[sourceRow]
}

func newSession(ctx context.Context, c *cluster, conn *connection) *session {
	s := &session{cluster: c, conn: conn, rechecks: make(chan struct{}, 1), slots: make(chan struct{}, parallelReads), feeds: map[feedName]*feed{}}
	s.ctx, s.cancel = context.WithCancel(ctx)
	s.reconcilers = table[reconcilerRow]{session: s, read: s.readReconciler, changed: s.reconcilerChanged, afterChange: never}
	s.roots = table[rootRow]{session: s, read: readRoot, changed: ignored[rootRow], afterChange: c.rootsChanged}
	s.repositories = table[sourceRow]{session: s, read: readSource, changed: ignored[sourceRow], afterChange: c.rootsChanged}
	return s
}

// end returns when nothing of the session runs any more.
func (s *session) end() {
	s.cancel()
	s.running.Wait()
	s.cluster.mu.Lock()
	defer s.cluster.mu.Unlock()
	for _, row := range s.reconcilers.rows {
		row.release()
	}
}

// recheck has the session checked soon: whether its server answers and its access is the same.
func (s *session) recheck() {
	select {
	case s.rechecks <- struct{}{}:
	default:
	}
}

// feedName names what is listed and watched.
type feedName string

const (
	// ours are the Kustomizations of tiers, theirs all others, among which roots are.
	ours    feedName = "tiers"
	theirs  feedName = "roots"
	sources feedName = "sources"
)

// feed is a list that is watched, from the request for the list to the end of the session.
type feed struct {
	resource schema.GroupVersionResource
	selector string
	store    store
	// first opens with the first outcome. known reports whether the list is complete and
	// followed, why why it is not; both are guarded by cluster.mu.
	first *latch
	known bool
	why   silence
	// refusal runs while the API server refuses to continue a list or watch that it served
	// before. When it fires, the feed ends with the last error. Guarded by cluster.mu.
	refusal clock.Timer
	expire  func()
}

// accepted notes that the API server serves the feed; cluster.mu is held.
func (fd *feed) accepted() {
	if fd.refusal != nil {
		fd.refusal.Stop()
		fd.refusal = nil
	}
}

// wantFeed has the cluster's sessions follow a feed.
func wantFeed(f feedName) demand {
	return func(c *cluster) func() *latch {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !c.feeds[f] {
			c.feeds[f] = true
			if c.session != nil {
				c.session.follow(f)
			}
		}
		return func() *latch {
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.session == nil || c.session.feeds[f] == nil {
				return nil
			}
			return c.session.feeds[f].first
		}
	}
}

// follow starts a feed; cluster.mu is held.
func (s *session) follow(f feedName) {
	if s.ctx.Err() != nil {
		return
	}
	fd := &feed{resource: kustomizations, first: newLatch(), why: silence{v1alpha1.ReasonClusterSilent, "it is being read"}}
	switch f {
	case ours:
		fd.selector, fd.store = seedLabel, &s.reconcilers
	case theirs:
		fd.selector, fd.store = "!"+seedLabel, &s.roots
	case sources:
		fd.resource, fd.store = gitRepositories, &s.repositories
	}
	fd.store.of(fd)
	s.feeds[f] = fd
	s.running.Go(func() { s.keep(fd) })
}

// How long a feed waits before it retries what was forbidden or missing, and how long its
// content remains valid while the API server refuses to continue or does not answer: a busy
// server recovers within moments.
const (
	feedRetryFirst = time.Second
	feedRetryMost  = 5 * time.Second
	feedTTL        = 4 * time.Second
)

// listTimeout bounds the request for one page of a list.
const listTimeout = 30 * time.Second

// feedBackoff is what lies between two tries of a reflector: never so long that what
// is known could be old.
var feedBackoff = wait.Backoff{Duration: feedRetryFirst, Factor: 2, Jitter: 0.5, Steps: 3, Cap: feedRetryMost}

// keep follows the feed, again and again, until the session ends. A reflector tries again by itself
// after most errors; it is stopped, and another one begins with a new list, where the API server
// declines, or its answer to the last request is overdue.
func (s *session) keep(fd *feed) {
	for retry := backoff.Doubling(feedRetryFirst, feedRetryMost); s.ctx.Err() == nil; {
		ctx, cancel := context.WithCancel(s.ctx)
		lw, silence, pauses := s.listerWatcher(ctx, fd, cancel), logr.Discard(), feedBackoff
		cache.NewReflectorWithOptions(lw, &unstructured.Unstructured{}, fd.store, cache.ReflectorOptions{
			Name: fd.resource.Resource, TypeDescription: fd.resource.String(), Logger: &silence, Backoff: &pauses,
		}).RunWithContext(ctx)
		cancel()
		s.cluster.mu.Lock()
		fd.accepted()
		s.cluster.mu.Unlock()
		_ = backoff.Sleep(s.ctx, s.cluster.channel.clock, retry.Step())
	}
}

// listed is a ListWatch that lists: a watch that also lists needs no permission to
// list, and says less of why it fails.
type listed struct{ *cache.ListWatch }

// IsWatchListSemanticsUnSupported is asked for by the reflector.
func (listed) IsWatchListSemanticsUnSupported() bool { return true }

// listerWatcher asks for the feed's objects. If the API server declines, stop ends the reflector,
// which runs with running; if it does not answer, the session is checked at once.
//
// Errors are of three kinds. Those by which the server asks to begin anew, or later, the reflector
// handles by itself. Those that show that the server, or the credentials, may have failed lead to a
// check of the session as well. All others, such as a missing permission, end this feed only.
func (s *session) listerWatcher(running context.Context, fd *feed, stop func()) listed {
	client := s.conn.dynamic.Resource(fd.resource)
	failed := func(verb string, err error) {
		if running.Err() != nil {
			return
		}
		var status apierrors.APIStatus
		switch {
		case !errors.As(err, &status), apierrors.IsUnauthorized(err):
			s.recheck()
		case apierrors.IsResourceExpired(err), apierrors.IsGone(err), apierrors.IsTooManyRequests(err):
			s.refused(fd, verb, err, stop) // the reflector tries again by itself
			return
		case apierrors.IsInternalError(err), apierrors.IsServiceUnavailable(err), apierrors.IsTimeout(err), apierrors.IsServerTimeout(err):
			s.recheck()
		}
		s.fail(fd, verb, err)
		stop()
	}
	watched := false
	return listed{&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.LabelSelector = fd.selector
			s.awaits(fd, "list", func() {}) // a long list that comes is as good as a new one
			ctx, done := context.WithTimeout(ctx, listTimeout)
			defer done()
			if o.Continue == "" {
				o.ResourceVersion, o.ResourceVersionMatch = "", "" // what is stored, not what some cache remembers
			}
			list, err := client.List(ctx, o)
			if err != nil {
				failed("list", err)
				return nil, err
			}
			for i := range list.Items {
				trim(&list.Items[i])
			}
			return list, nil
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.LabelSelector = fd.selector
			if watched {
				s.recheck() // the last watch may have ended because the server did
			}
			watched = true
			s.awaits(fd, "watch", stop)
			w, err := client.Watch(ctx, o)
			if err != nil {
				failed("watch", err)
				return nil, err
			}
			s.cluster.mu.Lock()
			fd.accepted()
			s.cluster.mu.Unlock()
			return w, nil
		},
	}}
}

// refused notes that the API server did not go on with a feed for now. After a while
// the feed is not known any more, and stop has the reflector begin anew.
func (s *session) refused(fd *feed, verb string, err error, stop func()) {
	c := s.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	if !fd.known {
		why := whyFailed(fd, verb, err)
		c.notify(fd.why != why)
		fd.why = why
	}
	s.expires(fd, verb, err, stop)
}

// awaits notes that the API server was asked to continue a feed. The content of the feed
// expires if no answer comes in time.
func (s *session) awaits(fd *feed, verb string, stop func()) {
	s.cluster.mu.Lock()
	defer s.cluster.mu.Unlock()
	if fd.known {
		s.expires(fd, verb, context.DeadlineExceeded, stop)
	}
}

// expires ends a feed after feedTTL, unless the API server continues it before. The time runs from
// the first error; the last one is reported. cluster.mu is held. The timer checks that it is still
// the current one: it may have fired when it was stopped.
func (s *session) expires(fd *feed, verb string, err error, stop func()) {
	fd.expire = func() {
		s.fail(fd, verb, err)
		stop()
	}
	if fd.refusal != nil {
		return
	}
	c := s.cluster
	var timer clock.Timer
	timer = c.channel.clock.AfterFunc(feedTTL, func() {
		c.mu.Lock()
		current, expire := fd.refusal == timer && s.ctx.Err() == nil, fd.expire
		c.mu.Unlock()
		if current {
			expire()
		}
	})
	fd.refusal = timer
}

// whyFailed says for people why a feed is not known.
func whyFailed(fd *feed, verb string, err error) silence {
	switch {
	case unserved(err):
		return silence{v1alpha1.ReasonKindMissing, fmt.Sprintf("%s.%s are not known there. Install Flux, or wait for it", fd.resource.Resource, fd.resource.Group)}
	case apierrors.IsForbidden(err):
		return silence{v1alpha1.ReasonAccessForbidden, explain(err)}
	}
	return silence{v1alpha1.ReasonClusterSilent, fmt.Sprintf("%s of %s.%s failed: %s", verb, fd.resource.Resource, fd.resource.Group, explain(err))}
}

// fail notes why a feed is not known.
func (s *session) fail(fd *feed, verb string, err error) {
	why := whyFailed(fd, verb, err)
	s.cluster.mu.Lock()
	changed := fd.known || fd.why != why
	fd.known, fd.why = false, why
	s.cluster.notify(changed)
	s.cluster.mu.Unlock()
	fd.first.open()
}

// feed gives the session's feed while it is known, else why it is not; cluster.mu is held.
func (c *cluster) feed(f feedName) (ok bool, why silence) {
	switch {
	case c.session == nil:
		why = c.why
	case c.session.feeds[f] == nil:
		why = silence{v1alpha1.ReasonClusterSilent, "it has not been read yet"}
	case !c.session.feeds[f].known:
		why = c.session.feeds[f].why
	default:
		return true, silence{}
	}
	return false, c.unasked(why)
}

// unasked returns the silence of a cluster that cannot be asked, and why.
func (c *cluster) unasked(why silence) silence {
	return silence{why.reason, "cluster " + c.name + " cannot be asked: " + why.text}
}
