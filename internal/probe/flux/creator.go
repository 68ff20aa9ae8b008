package flux

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/health"
	"github.com/furrow-dev/furrow/internal/probe"
)

// creatorSeen is what is kept of a creator.
type creatorSeen struct {
	current bool
	// missing says for people what it is waiting for.
	missing string
}

// creatorObject names a creator in the version that the catalog has for its kind;
// of a kind that is not there, any version will do.
func creatorObject(key probe.CreatorKey) objectKey {
	kind, _ := catalog.Creator(key.Object.GroupKind())
	return objectKey{
		schema.GroupVersionKind{Group: key.Object.Group, Version: kind.Version, Kind: key.Object.Kind},
		name{key.Object.Namespace, key.Object.Name},
	}
}

// creatorJudge judges creators of the kind of one.
func (ch *Channel) creatorJudge(key probe.CreatorKey) judge {
	kind, _ := catalog.Creator(key.Object.GroupKind())
	return func(u *unstructured.Unstructured) (any, time.Duration) {
		if u == nil {
			return nil, 0
		}
		seen := ch.judgeCreator(kind, u)
		if !seen.current {
			return seen, 0
		}
		return seen, ch.pace.reread
	}
}

// wantCreator has the creator read, and the cluster that it creates asked as soon as
// it is current.
func (ch *Channel) wantCreator(key probe.CreatorKey) demand {
	want := wantObject(creatorObject(key), ch.creatorJudge(key))
	return func(c *cluster) func() *latch {
		first := want(c)
		c.mu.Lock()
		defer c.mu.Unlock()
		if o := c.objects[creatorObject(key)]; o != nil {
			o.arrived = func() { ch.expect(key.Creates) }
		}
		return first
	}
}

// judgeCreator evaluates the expression of a creator's kind at the generation that there is. A
// status of an older generation says nothing of what was merged last.
func (ch *Channel) judgeCreator(kind catalog.CreatorKind, u *unstructured.Unstructured) creatorSeen {
	if u.GetDeletionTimestamp() != nil {
		return creatorSeen{missing: "the creator is being deleted"}
	}
	if kind.Current == "" {
		return creatorSeen{current: true}
	}
	e, err := ch.expressions.get(kind.Current)
	if err != nil {
		return creatorSeen{missing: err.Error()}
	}
	observed, has, _ := unstructured.NestedInt64(u.Object, "status", "observedGeneration")
	switch {
	case has && observed != u.GetGeneration():
		return creatorSeen{missing: "its controller has not seen its newest generation yet"}
	case !e.Holds(u.Object):
		return creatorSeen{missing: stable(e.missing(u.Object))}
	}
	return creatorSeen{current: true}
}

// creator answers for a key, from the cluster that the creator is on and the one that it creates.
// Each is locked by itself, one after the other, so the two observations may be of slightly
// different times; answers accounts for that.
func (ch *Channel) creator(key probe.CreatorKey, on, created *cluster) health.Creator {
	on.mu.Lock()
	o := on.watched(creatorObject(key), ch.creatorJudge(key))
	session, why, observed, became := on.session, on.why, o.seen, o.became
	on.mu.Unlock()
	if session == nil || !observed.known {
		if session != nil {
			why = observed.why
		}
		return health.Creator{Name: o.key.String(), Message: on.unasked(why).text}
	}
	seen, found := observed.kept.(creatorSeen)
	answers, silence := created.answers(became)
	creator := health.Creator{Name: o.key.String(), Known: true, Found: found, Current: seen.current, Answers: answers}
	switch {
	case !found:
		creator.Message = fmt.Sprintf("%s does not exist on cluster %s", o.key, on.name)
	case !seen.current:
		creator.Message = seen.missing
	case !answers:
		creator.Message = silence
	}
	return creator
}

// answers reports whether the cluster's API server answers that it is ready, or why not.
// What it answered before its creator became current does not count: until then API
// servers come and go.
func (c *cluster) answers(became time.Time) (ok bool, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.session == nil:
		return false, c.why.text
	case c.session.asked.Before(became):
		return false, "it is asked again, as its creator has just become current"
	case !c.session.permitted:
		return false, c.session.conn.server + " does not permit to get /readyz. Bind the ClusterRole system:public-info-viewer to the user of its kubeconfig"
	}
	return true, ""
}
