package flux

import (
	"cmp"
	"reflect"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/furrow-dev/furrow/api/v1alpha1"
)

// How often an object is read again: one that is expected to change soon, and one
// that is as it should be. Where very many are awaited at once, each of them waits
// perAwaited times their number, so an API server is not asked more often in all.
const (
	readAwaited    = time.Second
	rereadInterval = 15 * time.Second
	readAbsent     = time.Minute
	perAwaited     = 5 * time.Millisecond
)

// objectKey names an object that is read by name: being allowed to get it is
// enough, where a watch would have to be allowed for all of its kind.
type objectKey struct {
	gvk  schema.GroupVersionKind
	name name
}

// judge returns what to keep of an object, and after which time to read it again; zero
// is for one that is not ready yet, which is read often. It gets nil for an object that
// does not exist.
type judge func(*unstructured.Unstructured) (kept any, reread time.Duration)

// object is an object that is read again and again. It is guarded by cluster.mu,
// but for its key and judge.
type object struct {
	key   objectKey
	judge judge
	// arrived is called when the object became ready; it may be nil.
	arrived func()
	// became is when that was last; zero where it was so when it was seen first.
	became time.Time
	asked  time.Time
	// owner is the session that reads it; seen and first are of that session.
	owner *session
	seen  observation
	first *latch
	// needless is closed when it need not be read any more.
	needless chan struct{}
}

// observation is what was read of an object.
type observation struct {
	// known is false where it could not be asked for; why says why.
	known bool
	why   silence
	// kept is nil where the API server said that the object is not there.
	kept any
	// reread is after which time it is read again; zero while it is awaited.
	reread time.Duration
}

// wantObject has the cluster's sessions read an object.
func wantObject(key objectKey, judge judge) demand {
	return func(c *cluster) func() *latch {
		c.mu.Lock()
		defer c.mu.Unlock()
		o := c.watched(key, judge)
		return func() *latch {
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.session == nil || o.owner != c.session {
				return nil
			}
			return o.first
		}
	}
}

// watched returns an object that is read again and again from now on; cluster.mu is held.
func (c *cluster) watched(key objectKey, judge judge) *object {
	o := c.objects[key]
	if o == nil {
		o = &object{key: key, judge: judge, needless: make(chan struct{})}
		c.objects[key] = o
		if c.session != nil {
			c.session.watch(o)
		}
	}
	o.asked = c.asked
	return o
}

// watch starts reading the object; cluster.mu is held.
func (s *session) watch(o *object) {
	o.owner, o.first, o.seen = s, newLatch(), observation{why: silence{v1alpha1.ReasonClusterSilent, "it is being read"}}
	s.awaited++
	if s.ctx.Err() == nil {
		s.running.Go(func() { s.readAgain(o) })
	}
}

// readAgain reads the object until the session ends or nobody asks about it any more. One goroutine
// does so for each object; slots bound how many of them read at a time.
//
// An object that is awaited, because it is not yet as it should be, is read often, the less often
// the more of them there are; one that is as it should be only as often as its judge says (reread).
// Under cluster.mu it keeps that session.awaited is the number of the session's objects that are
// awaited. What somebody waits for (first, arrived) is opened after the lock is released.
func (s *session) readAgain(o *object) {
	c := s.cluster
	for s.ctx.Err() == nil {
		s.slots <- struct{}{}
		seen := s.observe(o)
		<-s.slots
		if s.ctx.Err() != nil {
			return
		}
		c.mu.Lock()
		if c.channel.clock.Since(o.asked) >= c.channel.options.Idle {
			c.unwatch(o.key)
		}
		if c.objects[o.key] != o {
			if o.seen.reread == 0 {
				s.awaited--
			}
			c.mu.Unlock()
			return
		}
		changed, arrived := !reflect.DeepEqual(o.seen, seen), func() {}
		if o.arrived != nil && o.seen.known && o.seen.reread == 0 && seen.reread > 0 {
			arrived, o.became = o.arrived, c.channel.clock.Now()
		}
		switch {
		case o.seen.reread == 0 && seen.reread > 0:
			s.awaited--
		case o.seen.reread > 0 && seen.reread == 0:
			s.awaited++
		}
		o.seen = seen
		every := cmp.Or(seen.reread, max(readAwaited, time.Duration(s.awaited)*perAwaited))
		c.notify(changed)
		c.mu.Unlock()
		o.first.open()
		arrived()
		timer := c.channel.clock.NewTimer(every)
		select {
		case <-s.ctx.Done():
		case <-o.needless:
		case <-timer.C():
		}
		timer.Stop()
	}
}

// unwatch ends reading an object; cluster.mu is held.
func (c *cluster) unwatch(key objectKey) {
	if o := c.objects[key]; o != nil {
		delete(c.objects, key)
		close(o.needless)
	}
}

// observe reads the object once.
func (s *session) observe(o *object) observation {
	u, err := s.conn.object(s.ctx, o.key.gvk, o.key.name.namespace, o.key.name.name)
	switch {
	case notFound(err):
		_, reread := o.judge(nil)
		return observation{known: true, reread: reread}
	case err != nil:
		if !apierrors.IsForbidden(err) {
			s.recheck()
		}
		return observation{why: silence{reasonOf(err), o.key.String() + " cannot be read: " + explain(err)}}
	}
	kept, reread := o.judge(u)
	return observation{known: true, kept: kept, reread: reread}
}

func (k objectKey) String() string { return k.gvk.Kind + " " + k.name.String() }
