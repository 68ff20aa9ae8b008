package simulator

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"

	"github.com/furrow-dev/furrow/internal/core/health"
	"github.com/furrow-dev/furrow/internal/probe"
)

// Chaos disturbs a simulator while its ticks are below Until, and not after, so
// the last answers are true. Zero means no disturbance.
type Chaos struct {
	// Late, Stale and Missing are the probabilities that a channel's answer for
	// one key is as of some ticks ago (but never older than the one before), is
	// an older one again after a newer, or is not known. Error is that of a
	// whole call failing.
	Late, Stale, Missing, Error float64
	// FetchLag is after how many ticks, at most, a cluster fetches a revision.
	FetchLag int
	// Reorder runs the tasks of one tick in random order instead of by name,
	// and passes a fetched revision to the Kustomizations one by one.
	Reorder bool
	// Until is the tick in which all of this ends.
	Until int
}

func (s *Simulator) chaotic() bool { return s.schedule.now < s.opts.Chaos.Until }

// disturbed reports whether answers may differ from the truth in this tick.
func (s *Simulator) disturbed() bool {
	c := s.opts.Chaos
	return s.chaotic() && (c.Late > 0 || c.Stale > 0 || c.Missing > 0 || c.Error > 0)
}

// answers remembers what was true when it was asked for.
type answers struct {
	reconcilers map[probe.ReconcilerKey]*memory[health.Reconciler]
	creators    map[probe.CreatorKey]*memory[health.Creator]
	roots       map[probe.RootKey]*memory[health.Root]
	calls       map[string]int // by their first key
}

func newAnswers() answers {
	return answers{
		reconcilers: map[probe.ReconcilerKey]*memory[health.Reconciler]{},
		creators:    map[probe.CreatorKey]*memory[health.Creator]{},
		roots:       map[probe.RootKey]*memory[health.Root]{},
		calls:       map[string]int{},
	}
}

const (
	remembered = 16 // answers a key
	latest     = 4  // ticks that an answer is late
)

// memory is what was true of one key, oldest first.
type memory[V any] struct {
	values []V
	ticks  []int
	shown  int // tick of the newest value that was returned
	asked  int
}

func (m *memory[V]) keep(tick int, value V) {
	m.asked++
	m.values, m.ticks = append(m.values, value), append(m.ticks, tick)
	if len(m.values) > remembered {
		m.values, m.ticks = m.values[1:], m.ticks[1:]
	}
}

// disturb returns what the channel answers instead of the truth, false when it does not answer. All
// random numbers are drawn in each call, whichever of them are used, so a change of one
// probability does not change what the others do.
func disturb[V any](n *Simulator, name string, m *memory[V], truth V) (V, bool) {
	c, now := n.opts.Chaos, n.schedule.now
	m.keep(now, truth)
	rng := n.rngFor(name, m.asked)
	missing, stale, late := rng.Float64() < c.Missing, rng.Float64() < c.Stale, rng.Float64() < c.Late
	back, pick := 1+rng.IntN(latest), rng.IntN(len(m.values))
	var none V
	switch {
	case missing:
		return none, rng.IntN(2) == 0 // a zero answer is one with Known false
	case stale:
		return m.values[pick], true
	case late:
		i := m.lateIndex(now - back)
		m.shown = max(m.shown, m.ticks[i])
		return m.values[i], true
	}
	m.shown = now
	return truth, true
}

// lateIndex finds the newest value at or before a tick, but none older than one
// that was already returned.
func (m *memory[V]) lateIndex(tick int) int {
	found := 0
	for i, t := range m.ticks {
		if t <= tick || t <= m.shown {
			found = i
		}
	}
	return found
}

func (s *Simulator) callFails(name string) bool {
	s.answers.calls[name]++
	return s.rngFor("call "+name, s.answers.calls[name]).Float64() < s.opts.Chaos.Error
}

// rngFor depends on the seed, the tick, the name and how often it was asked
// for, so concurrent calls do not change each other's random numbers.
func (s *Simulator) rngFor(name string, asked int) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s\x00%d\x00%d", name, asked, s.schedule.now)
	return rand.New(rand.NewPCG(uint64(s.opts.Seed), h.Sum64()))
}

func keyName[K comparable](k K) string { return fmt.Sprint(k) }
