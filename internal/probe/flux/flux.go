// Package flux is the health channel over Flux's own objects: it reads the
// Kustomizations, their sources and the creators of clusters from the API servers.
//
// The kubeconfig of a cluster comes from the first of these sources that has one:
//
//	file         a kubeconfig in a directory; it may name files, and run programs
//	Secret       <cluster>-kubeconfig, in Options.SecretsIn
//	own          the cluster that Furrow runs in, with its ServiceAccount
//	creator's    the Secret that a creator leaves on its management cluster
//
// Secrets are read by name, again and again, and never listed or watched; a
// kubeconfig from a Secret that would run programs or read files is refused.
//
//	Channel ── cluster "edge" ── session ── feed     list and watch, kept as finished values
//	        │                 │          └─ object   one object, read by name again and again
//	        │                 └─ (while silent: no session, and why)
//	        └─ cluster "hub" …
//
// A session lasts while the API server answers: it begins with /readyz, repeats that
// request, and ends when there is no answer, when credentials are refused or when the
// kubeconfig changes. Everything observed in a session ends with it, so old
// answers of a silent cluster never count as known, and the next session begins with
// fresh lists. The same holds for a list that the API server refuses to continue, and
// for a conclusion about a tier from before a gap in its watch.
//
// Lists and watches are client-go's reflectors, the lower half of its informers. They
// fill tables of the values that the channel answers. The cache of an informer or of
// controller-runtime would hold the whole objects too, does not end with a session,
// and does not report why a list fails.
//
// Concurrency: a Channel may be used from several goroutines. Each cluster has a
// goroutine that owns its sessions; Channel.mu guards the map of clusters, a cluster's
// mu everything known about it. Lock Channel.mu first when both are needed. Neither is
// held during a request.
//
// Permissions on a cluster: get, list and watch of
// kustomizations.kustomize.toolkit.fluxcd.io, the same of
// gitrepositories.source.toolkit.fluxcd.io where roots are asked for, get of the
// creators' kinds and of the Secrets named by creators, and get of /readyz. The
// implementation of Options.Secret needs get of Secrets in that namespace.
package flux

import (
	"cmp"
	"context"
	"errors"
	"path"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/furrow-dev/furrow/internal/core/health"
	"github.com/furrow-dev/furrow/internal/probe"
)

// Options says how a Channel reaches the clusters. Their zero value reaches none.
type Options struct {
	// Directory holds a kubeconfig a cluster: a file of the cluster's name, as it
	// is or with .yaml, .yml, .kubeconfig or .conf. It is read again regularly.
	Directory string
	// Secret reads a Secret by name, in Options.SecretsIn; nil where there is none. A cluster's
	// kubeconfig is in <cluster>-kubeconfig, under the key "value" or "value.yaml". The error is
	// fs.ErrNotExist if the Secret does not exist; with any other error the cluster is unknown. It
	// ends with its context, and several goroutines may call it.
	Secret func(ctx context.Context, name string) (map[string][]byte, error)
	// SecretsIn is that namespace, in messages.
	SecretsIn string
	// Own is the name under which the fleet knows the cluster that Furrow runs in;
	// empty where it is none of them. OwnConfig reaches it, and is left as it is.
	Own       string
	OwnConfig *rest.Config
	// Idle is for how long a cluster is kept that nobody asks about; ten minutes
	// when zero. It has to be longer than what lies between two passes.
	Idle time.Duration
	// Clock is the real one when nil.
	Clock clock.WithDelayedExecution
}

// Channel is the health channel. It connects to clusters when they are first asked about, and
// answers from what it has observed: a call waits only for the first outcome of what nobody has
// asked for before.
type Channel struct {
	options     Options
	clock       clock.WithDelayedExecution
	ctx         context.Context
	stop        context.CancelFunc
	running     sync.WaitGroup
	changed     chan struct{}
	expressions expressions
	pace        pace
	// silent is how many clusters wait to be asked again.
	silent atomic.Int64

	mu       sync.Mutex
	clusters map[string]*cluster
}

// pace is how often objects that rarely change are read again.
type pace struct{ secret, reread time.Duration }

var (
	_ probe.Channel = (*Channel)(nil)
	_ probe.Watcher = (*Channel)(nil)
)

const (
	// firstAnswerTimeout is for how long in all a call waits for clusters that are asked for the first time.
	firstAnswerTimeout = 2500 * time.Millisecond
	defaultIdle        = 10 * time.Minute
	// closeMost bounds what Close waits.
	closeMost = 5 * time.Second
)

var errClosed = errors.New("the health channel is closed")

// New returns a Channel. Nothing is connected before it is asked about.
func New(o Options) *Channel {
	if o.Idle <= 0 {
		o.Idle = defaultIdle
	}
	o.Clock = cmp.Or[clock.WithDelayedExecution](o.Clock, clock.RealClock{})
	ctx, stop := context.WithCancel(withoutLogs(context.Background()))
	return &Channel{
		options: o, clock: o.Clock, ctx: ctx, stop: stop, pace: pace{secret: secretInterval, reread: rereadInterval},
		changed: make(chan struct{}, 1), clusters: map[string]*cluster{},
	}
}

// Close ends all connections, and returns when nothing runs any more but programs of
// kubeconfigs that do not return, and requests that wait for those. It takes no longer
// than closeMost.
func (ch *Channel) Close() {
	ch.mu.Lock()
	ch.stop()
	ch.mu.Unlock()
	ended := make(chan struct{})
	go func() { ch.running.Wait(); close(ended) }()
	timer := ch.clock.NewTimer(closeMost)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C():
	}
}

// Changed implements probe.Watcher.
func (ch *Channel) Changed() <-chan struct{} { return ch.changed }

// signal says that answers may have changed. One signal that nobody has taken yet is enough.
func (ch *Channel) signal() {
	select {
	case ch.changed <- struct{}{}:
	default:
	}
}

// cluster returns the cluster of a name.
func (ch *Channel) cluster(name string) (*cluster, error) {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	if ch.ctx.Err() != nil {
		return nil, errClosed
	}
	c := ch.clusters[name]
	if c == nil {
		c = newCluster(ch, name)
		ch.clusters[name] = c
		ch.running.Go(c.run)
	}
	return c, nil
}

// letGo forgets the cluster if nobody has asked about it for long.
func (ch *Channel) letGo(c *cluster) bool {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if ch.clock.Since(c.asked) < ch.options.Idle {
		c.prune()
		return false
	}
	delete(ch.clusters, c.name)
	return true
}

// demand brings the cluster's goroutine to provide something, and returns how to
// wait for its first outcome.
type demand func(c *cluster) func() *latch

// clustersOf returns the clusters of the names and waits, as long as limited lasts, until what is
// demanded of them has had a first outcome. All demands are made before the first wait, so clusters
// are connected at the same time, and silent ones cost a call the limit once in all. err is that of
// ctx alone: what did not come in time is unknown, and not an error.
func (ch *Channel) clustersOf(ctx, limited context.Context, demands map[string][]demand) (map[string]*cluster, error) {
	clusters := make(map[string]*cluster, len(demands))
	waits := []func() *latch{}
	for name, wanted := range demands {
		c, err := ch.cluster(name)
		if err != nil {
			return nil, err
		}
		clusters[name] = c
		c.touch()
		waits = append(waits, func() *latch { return c.decided })
		for _, want := range wanted {
			waits = append(waits, want(c))
		}
	}
	for _, next := range waits {
		next().wait(limited)
	}
	return clusters, ctx.Err()
}

// answersOf waits, for as long as firstAnswerTimeout lasts, for the first outcome of each round of demands,
// and then answers for each key.
func answersOf[K comparable, V any](ctx context.Context, ch *Channel, keys []K, answer func(map[string]*cluster, K) V, rounds ...map[string][]demand) (map[K]V, error) {
	limited, cancel := context.WithTimeout(ctx, firstAnswerTimeout)
	defer cancel()
	var clusters map[string]*cluster
	for _, demands := range rounds {
		var err error
		if clusters, err = ch.clustersOf(ctx, limited, demands); err != nil {
			return nil, err
		}
	}
	answers := make(map[K]V, len(keys))
	for _, key := range keys {
		answers[key] = answer(clusters, key)
	}
	return answers, nil
}

// Reconcilers implements probe.Channel. The Spec of an answer is shared: read it, never change it.
func (ch *Channel) Reconcilers(ctx context.Context, keys []probe.ReconcilerKey) (map[probe.ReconcilerKey]health.Reconciler, error) {
	listed, unlisted := map[string][]demand{}, map[string][]demand{}
	for _, key := range keys {
		listed[key.Cluster] = []demand{wantFeed(ours)}
		unlisted[key.Cluster] = append(unlisted[key.Cluster], wantUnlisted(key))
	}
	return answersOf(ctx, ch, keys, func(clusters map[string]*cluster, key probe.ReconcilerKey) health.Reconciler {
		return clusters[key.Cluster].reconciler(key)
	}, listed, unlisted)
}

// Creators implements probe.Channel.
func (ch *Channel) Creators(ctx context.Context, keys []probe.CreatorKey) (map[probe.CreatorKey]health.Creator, error) {
	demands := map[string][]demand{}
	for _, key := range keys {
		demands[key.Cluster] = append(demands[key.Cluster], ch.wantCreator(key))
		demands[key.Creates] = append(demands[key.Creates], wantSecret(key))
	}
	return answersOf(ctx, ch, keys, func(clusters map[string]*cluster, key probe.CreatorKey) health.Creator {
		return ch.creator(key, clusters[key.Cluster], clusters[key.Creates])
	}, demands)
}

// Roots implements probe.Channel.
func (ch *Channel) Roots(ctx context.Context, keys []probe.RootKey) (map[probe.RootKey]health.Root, error) {
	demands := map[string][]demand{}
	for _, key := range keys {
		demands[key.Cluster] = []demand{wantFeed(theirs), wantFeed(sources)}
	}
	return answersOf(ctx, ch, keys, func(clusters map[string]*cluster, key probe.RootKey) health.Root {
		return clusters[key.Cluster].root(key)
	}, demands)
}

// directory returns a path in a repository as keys have it: without "./", and "" for its root.
func directory(p string) string {
	p = path.Clean("/" + p)
	return p[1:]
}

// latch opens once, with the first outcome of something.
type latch struct {
	once   sync.Once
	opened chan struct{}
}

func newLatch() *latch { return &latch{opened: make(chan struct{})} }

func (g *latch) open() { g.once.Do(func() { close(g.opened) }) }

// wait waits for the first outcome. Only the first caller waits; later ones return at once.
func (g *latch) wait(ctx context.Context) {
	if g == nil {
		return
	}
	select {
	case <-g.opened:
	case <-ctx.Done():
		g.open()
	}
}
