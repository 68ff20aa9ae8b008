package flux

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/backoff"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/probe"
)

// How often things are read. A cluster that drops requests counts as silent after at most
// aliveInterval and twice requestTimeout.
const (
	// aliveInterval is the time between two requests for /readyz while it is answered.
	aliveInterval = 10 * time.Second
	// fileInterval and secretInterval are how long a kubeconfig is assumed to be unchanged.
	fileInterval   = 2 * time.Second
	secretInterval = 20 * time.Second
	// A silent cluster is asked again after retryFirst, and then after retryMost. Where
	// very many are silent at once, each of them waits perSilent times their number, but
	// for retryLongest at most.
	retryFirst   = time.Second
	retryMost    = 3 * time.Second
	perSilent    = 100 * time.Millisecond
	retryLongest = 30 * time.Second
	// A cluster is expected when its creator has just become current. It is asked again after at
	// most retryExpected, during expectedFor.
	retryExpected = 1500 * time.Millisecond
	expectedFor   = time.Minute
)

// retries are the pauses before a silent cluster is asked again, but for longestRest.
var retries = backoff.Doubling(retryFirst, retryLongest)

var (
	errChanged = errors.New("its kubeconfig has changed and is being read again")
	errIdle    = errors.New("nobody asks about it any more")
)

// cluster is one cluster, reached or not. Its goroutine, run, alternates between a session while
// the API server answers and a rest while it does not, until nobody has asked about the cluster for
// Options.Idle.
//
// What sessions have to provide (feeds, objects) belongs to the cluster and stays when a session
// ends; what was observed belongs to the session and goes with it.
type cluster struct {
	channel *Channel
	name    string
	// decided opens when it is known whether the cluster answers.
	decided *latch
	// wake has room for one wish to ask the silent cluster again at once.
	wake chan struct{}
	// program is that of the kubeconfig that was used last; only run touches it.
	program *program

	mu sync.Mutex
	// expected is when the cluster's creator became current.
	expected time.Time
	// asked is when somebody asked about the cluster last, pruned when old keys were forgotten
	// last.
	asked, pruned time.Time
	// creator says which object creates the cluster, and where it leaves the kubeconfig.
	creator probe.CreatorKey
	// session is nil while the cluster does not answer; why says why.
	session *session
	why     silence
	// feeds and objects are what a session has to provide.
	feeds   map[feedName]bool
	objects map[objectKey]*object
	// reconcilers and roots are the keys that were asked for: when, and what was answered last.
	reconcilers map[name]time.Time
	roots       map[probe.RootKey]answeredRoot
}

func newCluster(ch *Channel, clusterName string) *cluster {
	return &cluster{
		channel: ch, name: clusterName, asked: ch.clock.Now(), decided: newLatch(), wake: make(chan struct{}, 1), why: silence{v1alpha1.ReasonClusterSilent, "it is being connected"},
		feeds: map[feedName]bool{}, objects: map[objectKey]*object{},
		reconcilers: map[name]time.Time{}, roots: map[probe.RootKey]answeredRoot{},
	}
}

// wantSecret notes where a cluster's kubeconfig is.
func wantSecret(key probe.CreatorKey) demand {
	return func(c *cluster) func() *latch {
		c.mu.Lock()
		defer c.mu.Unlock()
		if key.KubeConfig.Name != "" {
			c.creator = key
		}
		return func() *latch { return c.decided }
	}
}

// run has one session after the other until nobody asks any more. The pause between two tries grows
// while the cluster does not answer, and starts anew after an answer; a kubeconfig that has changed
// is tried at once.
func (c *cluster) run() {
	ctx := c.channel.ctx
	retry := retries
	for ctx.Err() == nil {
		answered, err := c.attend(ctx)
		if errors.Is(err, errIdle) || ctx.Err() != nil {
			return
		}
		c.silent(err)
		if c.channel.letGo(c) {
			return
		}
		if errors.Is(err, errChanged) {
			continue
		}
		if answered {
			retry = retries
		}
		c.rest(ctx, min(retry.Step(), c.longestRest()))
	}
}

// rest leaves the silent cluster alone for a while.
func (c *cluster) rest(ctx context.Context, d time.Duration) {
	c.channel.silent.Add(1)
	defer c.channel.silent.Add(-1)
	timer := c.channel.clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C():
	case <-c.wake:
	}
}

// longestRest is for how long the cluster is left alone at most while it is silent. A new cluster
// whose creator has just become current is asked often. Otherwise the time grows with the number of
// silent clusters, so a fleet that cannot be reached at all costs no more connections a second
// than a few silent clusters do.
func (c *cluster) longestRest() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.expected.IsZero() && c.channel.clock.Since(c.expected) < expectedFor {
		return retryExpected
	}
	return min(max(retryMost, time.Duration(c.channel.silent.Load()+1)*perSilent), retryLongest)
}

// expect has a cluster asked at once, and often for a while: its creator became current.
func (ch *Channel) expect(name string) {
	ch.mu.Lock()
	c := ch.clusters[name]
	ch.mu.Unlock()
	if c == nil {
		return
	}
	c.mu.Lock()
	c.expected = ch.clock.Now()
	if c.session != nil {
		c.session.recheck()
	}
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// silent notes why the cluster does not answer.
func (c *cluster) silent(err error) {
	why := silenceOf(err)
	c.mu.Lock()
	changed := c.why != why
	c.why = why
	c.notify(changed)
	c.mu.Unlock()
	c.decided.open()
}

// attend connects the cluster and stays with it while it answers. answered reports whether there
// was a session; err is why it is over. The session is taken from the cluster before its goroutines
// end, so no answer of it is given once it may be stale.
func (c *cluster) attend(ctx context.Context) (answered bool, err error) {
	a, err := c.access(ctx)
	if err != nil {
		return false, err
	}
	a.program = c.programOf(a)
	conn, err := connect(a)
	if err != nil {
		return false, err
	}
	defer conn.close()
	asked := c.channel.clock.Now()
	permitted, err := conn.ready(ctx)
	if err != nil {
		return false, err
	}
	s := newSession(ctx, c, conn)
	s.asked, s.permitted = asked, permitted
	c.begin(s)
	err = c.listen(ctx, s, a)
	c.mu.Lock()
	c.session, c.why = nil, silenceOf(err)
	c.notify(true)
	c.mu.Unlock()
	conn.close()
	s.end()
	return true, err
}

// begin makes the session the cluster's, and starts all that it has to provide.
func (c *cluster) begin(s *session) {
	c.mu.Lock()
	c.session, c.why = s, silence{}
	for f := range c.feeds {
		s.follow(f)
	}
	for _, o := range c.objects {
		s.watch(o)
	}
	c.notify(true)
	c.mu.Unlock()
	c.decided.open()
}

// listen returns why the session is over: no answer, other credentials, or nobody asks. It is the
// session's clock: everything that has to be checked regularly is checked here, so a session needs
// one timer.
func (c *cluster) listen(ctx context.Context, s *session, a *access) error {
	clock := c.channel.clock
	timer := clock.NewTimer(fileInterval)
	defer timer.Stop()
	alive, readAt := clock.Now(), clock.Now()
	for {
		recheck := false
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.rechecks:
			recheck = true
		case <-timer.C():
			timer.Reset(fileInterval)
		}
		if c.channel.letGo(c) {
			return errIdle
		}
		if recheck || clock.Since(alive) >= aliveInterval {
			asked := clock.Now()
			permitted, err := s.alive(ctx)
			if err != nil {
				return err
			}
			alive = clock.Now()
			c.answered(s, asked, permitted)
		}
		if err := c.unchanged(ctx, a, &readAt); err != nil {
			return err
		}
	}
}

// answered notes that the API server answered what it was asked at some time.
func (c *cluster) answered(s *session, asked time.Time, permitted bool) {
	c.mu.Lock()
	changed := s.permitted != permitted || s.asked.Before(c.expected)
	s.asked, s.permitted = asked, permitted
	c.notify(changed)
	c.mu.Unlock()
}

// alive asks twice before it gives up: a connection may end for many reasons.
func (s *session) alive(ctx context.Context) (permitted bool, err error) {
	permitted, err = s.conn.ready(ctx)
	if err == nil || manifest.ReasonOf(err) == v1alpha1.ReasonCredentialsRefused {
		return permitted, err
	}
	return s.conn.ready(ctx)
}

// unchanged is an error when the kubeconfig is another one than that of the session, or not there
// any more. One that cannot be read at the moment does not end a session that works, unless
// a source of higher precedence may have another one.
func (c *cluster) unchanged(ctx context.Context, a *access, readAt *time.Time) error {
	now, err := c.byFile(ctx)
	if now == nil && err == nil {
		if a.source != byFile && c.channel.clock.Since(*readAt) < c.channel.pace.secret {
			return nil
		}
		*readAt = c.channel.clock.Now()
		now, err = c.access(ctx)
	}
	if u, ok := errors.AsType[*unread](err); ok && u.source <= a.source {
		return nil // a file while it is being replaced; a Secret whose API server is silent
	}
	return differs(a, now, err)
}

// differs returns errChanged if access is by another kubeconfig now: other content, or another
// origin.
func differs(before, now *access, err error) error {
	switch {
	case err != nil:
		return err
	case now.digest != before.digest || now.origin != before.origin:
		return errChanged
	}
	return nil
}

// reached returns the connection while the cluster answers, else why it does not.
func (c *cluster) reached() (*connection, silence) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session == nil {
		return nil, c.unasked(c.why)
	}
	return c.session.conn, silence{}
}

// notify signals a change. c.mu is held, so nobody reads it before it is signalled.
func (c *cluster) notify(changed bool) {
	if changed {
		c.channel.signal()
	}
}

// touch notes that somebody asks about the cluster.
func (c *cluster) touch() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = c.channel.clock.Now()
}

// prune forgets the keys that nobody has asked about for long; c.mu is held.
func (c *cluster) prune() {
	clock, idle := c.channel.clock, c.channel.options.Idle
	if clock.Since(c.pruned) < idle {
		return
	}
	c.pruned = clock.Now()
	maps.DeleteFunc(c.reconcilers, func(_ name, asked time.Time) bool { return clock.Since(asked) >= idle })
	maps.DeleteFunc(c.roots, func(_ probe.RootKey, root answeredRoot) bool { return clock.Since(root.asked) >= idle })
}
