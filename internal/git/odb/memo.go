package odb

import "sync"

// memo keeps values up to a size in all. A full one starts anew rather than being trimmed: the next
// pass fills it again, and no order of use has to be kept.
type memo[K comparable, V any] struct {
	most int

	mu     sync.Mutex
	values map[K]V
	size   int
}

func (m *memo[K, V]) get(key K) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	value, ok := m.values[key]
	return value, ok
}

// put keeps a value. When the memo is full it begins anew with this one: that costs less than to
// keep an order of use, and a pass that needs more than fits would empty any cache.
func (m *memo[K, V]) put(key K, value V, size int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.size += size; m.size > m.most || m.values == nil {
		m.values, m.size = map[K]V{}, size
	}
	m.values[key] = value
}

// of returns a value, and makes it if it is not kept.
func (m *memo[K, V]) of(key K, size func(V) int, build func() (V, error)) (V, error) {
	value, ok := m.get(key)
	if ok {
		return value, nil
	}
	value, err := build()
	if err == nil {
		m.put(key, value, size(value))
	}
	return value, err
}

func (m *memo[K, V]) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.values, m.size = nil, 0
}
