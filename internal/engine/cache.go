package engine

// cache keeps what the last two passes have used, and forgets the rest. It needs no size: a pass
// uses what the fleet at hand needs, and what two passes in a row did not need belongs to something
// that is gone. It is for one goroutine.
type cache[K comparable, V any] struct{ now, before map[K]V }

func (c *cache[K, V]) get(key K) (V, bool) {
	v, ok := c.now[key]
	if !ok {
		if v, ok = c.before[key]; ok {
			c.put(key, v)
		}
	}
	return v, ok
}

func (c *cache[K, V]) put(key K, v V) {
	if c.now == nil {
		c.now = map[K]V{}
	}
	c.now[key] = v
}

// turn begins another pass.
func (c *cache[K, V]) turn() { c.now, c.before = nil, c.now }
