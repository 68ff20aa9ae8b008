// Package recent owns the one way to remember what is computed again and again: for as long as it
// is used.
package recent

// Cache keeps what the last two turns have used, and forgets the rest. It needs no size: a pass
// uses what the fleet at hand needs, and what two passes in a row did not need belongs to something
// that is gone. The zero value is ready to use; a nil Cache keeps nothing. It is for one goroutine.
type Cache[K comparable, V any] struct{ now, before map[K]V }

// Get returns what is kept under a key, which counts as used.
func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	if c == nil {
		return value, false
	}
	if value, ok = c.now[key]; ok {
		return value, true
	}
	if value, ok = c.before[key]; ok {
		c.Put(key, value)
	}
	return value, ok
}

// Put keeps a value.
func (c *Cache[K, V]) Put(key K, value V) {
	if c == nil {
		return
	}
	if c.now == nil {
		c.now = map[K]V{}
	}
	c.now[key] = value
}

// Turn begins another turn.
func (c *Cache[K, V]) Turn() {
	if c != nil {
		c.now, c.before = nil, c.now
	}
}
