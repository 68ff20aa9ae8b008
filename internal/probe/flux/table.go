package flux

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// name is an object's.
type name struct{ namespace, name string }

func (n name) String() string { return n.namespace + "/" + n.name }

// store is what a reflector fills, and a feed's.
type store interface {
	Add(object any) error
	Update(object any) error
	Delete(object any) error
	Replace(objects []any, resourceVersion string) error
	Resync() error
	of(fd *feed)
}

// table keeps what is answered of a feed's objects, and nothing else of them.
// It is guarded by the cluster's mu.
type table[R any] struct {
	session *session
	feed    *feed
	rows    map[name]*R
	// listing reports whether what is read comes from a list, before which states of an
	// object may have been missed.
	listing bool
	// read makes a row of an object and of the one that there was, which may be nil.
	read func(object *unstructured.Unstructured, before *R) *R
	// changed is called for every row that was written or, with now nil, removed;
	// afterChange once after one or many of them. Both return whether an answer
	// changes.
	changed     func(n name, before, now *R) bool
	afterChange func() bool
}

func (t *table[R]) of(fd *feed) { t.feed, t.rows = fd, map[name]*R{} }

// Add implements cache.ReflectorStore.
func (t *table[R]) Add(object any) error { return t.Update(object) }

// Update implements cache.ReflectorStore.
func (t *table[R]) Update(object any) error { return t.one(object, t.put) }

// Delete implements cache.ReflectorStore.
func (t *table[R]) Delete(object any) error { return t.one(object, t.drop) }

// Resync implements cache.ReflectorStore; there is nothing to send again.
func (t *table[R]) Resync() error { return nil }

// Replace implements cache.ReflectorStore: this is the list that makes the feed known.
func (t *table[R]) Replace(objects []any, _ string) error {
	c := t.session.cluster
	c.mu.Lock()
	changed, err := t.list(objects)
	if err == nil {
		first := !t.feed.known
		t.feed.known, t.feed.why = true, silence{}
		t.feed.accepted()
		changed = t.afterChange() || changed || first
	}
	c.notify(changed)
	c.mu.Unlock()
	if err == nil {
		t.feed.first.open()
	}
	return err
}

// list has rows of the objects and of no others.
func (t *table[R]) list(objects []any) (changed bool, err error) {
	before := t.rows
	t.rows = make(map[name]*R, len(objects))
	t.listing = true
	defer func() { t.listing = false }()
	for _, object := range objects {
		u, ok := object.(*unstructured.Unstructured)
		if !ok {
			return changed, fmt.Errorf("a list holds a %T", object)
		}
		n := nameOf(u)
		row := t.read(u, before[n])
		t.rows[n] = row
		changed = t.changed(n, before[n], row) || changed
	}
	for n, row := range before {
		if t.rows[n] == nil {
			changed = t.changed(n, row, nil) || changed
		}
	}
	return changed, nil
}

// one applies one event of a watch, and notifies if it changed an answer.
func (t *table[R]) one(object any, apply func(*unstructured.Unstructured) bool) error {
	u, ok := object.(*unstructured.Unstructured)
	if !ok {
		return fmt.Errorf("a watch sent a %T", object)
	}
	trim(u)
	c := t.session.cluster
	c.mu.Lock()
	changed := apply(u)
	changed = t.afterChange() || changed
	c.notify(changed)
	c.mu.Unlock()
	return nil
}

// put takes in an object, and reports whether an answer has changed. cluster.mu is held.
func (t *table[R]) put(u *unstructured.Unstructured) bool {
	n := nameOf(u)
	before := t.rows[n]
	now := t.read(u, before)
	t.rows[n] = now
	return t.changed(n, before, now)
}

// drop is put of an object that is gone.
func (t *table[R]) drop(u *unstructured.Unstructured) bool {
	n := nameOf(u)
	before := t.rows[n]
	delete(t.rows, n)
	return before != nil && t.changed(n, before, nil)
}

func nameOf(u *unstructured.Unstructured) name { return name{u.GetNamespace(), u.GetName()} }

// ignored and never are for tables whose single rows, or whose sum, change no answer.
func ignored[R any](name, *R, *R) bool { return false }

func never() bool { return false }
