package simulator

import (
	"slices"
	"strings"
)

// phase orders what happens inside one tick.
type phase int

const (
	deletions phase = iota
	creations
	fetches
	roots
	reconciles
	phases // how many there are
)

// task is work that is scheduled for a tick.
type task struct {
	key string // orders the tasks of one phase
	run func()
}

// schedule holds the tasks of each tick. Within a tick, tasks run by phase and then by key, so
// equal histories are equal whatever the order in which tasks were added.
//
// Invariant: no task is scheduled in the past or in a phase that has begun. A tick reads only its
// own entries, so its cost does not depend on the number of clusters.
type schedule struct {
	now   int
	open  bool  // a tick is running
	phase phase // the phase of it that has begun, -1 before the first
	due   map[int]*[phases][]task
}

func newSchedule() schedule { return schedule{due: map[int]*[phases][]task{}} }

// at adds a task to a tick, or to the next one if that phase of the tick has
// passed.
func (s *schedule) at(tick int, p phase, key string, run func()) {
	tick = s.clamp(tick, p)
	day := s.due[tick]
	if day == nil {
		day = &[phases][]task{}
		s.due[tick] = day
	}
	day[p] = append(day[p], task{key, run})
}

// clamp returns the first tick from the given one on in which the phase can run.
func (s *schedule) clamp(tick int, p phase) int {
	if s.open && p > s.phase {
		return max(tick, s.now)
	}
	return max(tick, s.now+1)
}

// begin starts a tick.
func (s *schedule) begin() {
	s.now++
	s.open, s.phase = true, -1
}

// take begins a phase and returns its tasks by key.
func (s *schedule) take(p phase) []task {
	s.phase = p
	day := s.due[s.now]
	if day == nil {
		return nil
	}
	tasks := day[p]
	slices.SortStableFunc(tasks, func(x, y task) int { return strings.Compare(x.key, y.key) })
	return tasks
}

// close ends a tick.
func (s *schedule) close() {
	delete(s.due, s.now)
	s.open = false
}
