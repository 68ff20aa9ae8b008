package nursery

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

// task is something that is due.
type task struct {
	key string // orders the tasks of one phase
	run func()
}

// agenda holds what is due when.
//
// Invariant: nothing is due in the past, nor in a phase that has begun; a tick
// looks at its own entries only.
type agenda struct {
	now   int
	open  bool  // a tick is running
	phase phase // the phase of it that has begun, -1 before the first
	due   map[int]*[phases][]task
}

func newAgenda() agenda { return agenda{due: map[int]*[phases][]task{}} }

// at adds a task to a tick, or to the next when it is too late for that one.
func (a *agenda) at(tick int, p phase, key string, run func()) {
	tick = a.clamp(tick, p)
	day := a.due[tick]
	if day == nil {
		day = &[phases][]task{}
		a.due[tick] = day
	}
	day[p] = append(day[p], task{key, run})
}

// clamp returns the first tick from the given one on in which the phase can run.
func (a *agenda) clamp(tick int, p phase) int {
	if a.open && p > a.phase {
		return max(tick, a.now)
	}
	return max(tick, a.now+1)
}

// begin starts a tick.
func (a *agenda) begin() {
	a.now++
	a.open, a.phase = true, -1
}

// take begins a phase and returns its tasks by key.
func (a *agenda) take(p phase) []task {
	a.phase = p
	day := a.due[a.now]
	if day == nil {
		return nil
	}
	tasks := day[p]
	slices.SortStableFunc(tasks, func(x, y task) int { return strings.Compare(x.key, y.key) })
	return tasks
}

// close ends a tick.
func (a *agenda) close() {
	delete(a.due, a.now)
	a.open = false
}
