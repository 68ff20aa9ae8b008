package release

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/layout"
)

// A tier waits for all its prerequisites, and for all tiers of the wave that comes before its own.
// Prerequisites alone form no circle, nor do waves alone; together they may, where one seed begins
// with the cluster on which another seed ends. No merge, and no cluster, ever ends such a wait.

// waiter is a tier, or a wave that is waited for.
type waiter struct {
	tier  layout.Tier
	stage *stage
}

// deadlocks is a search for waves that wait for each other, in the results of all seeds.
type deadlocks struct {
	results map[string]*Result
	// The algorithm of Tarjan: found numbers waiters in the order in which they are found, low is the
	// first one that each leads back to, and stack, as well as on, has those whose circle may go on.
	found, low map[waiter]int
	stack      []waiter
	on         map[waiter]bool
}

// FindDeadlocks finds the waves that wait for each other, in one seed or across seeds, and has the
// tiers behind them say so: a person has to act. Policies has the RolloutPolicy of the seeds that
// name one. It costs as much as there are tiers and what they wait for.
func FindDeadlocks(results map[string]*Result, policies map[string]string) {
	d := &deadlocks{results: results, found: map[waiter]int{}, low: map[waiter]int{}, on: map[waiter]bool{}}
	for _, seed := range slices.Sorted(maps.Keys(results)) {
		p := results[seed].pace
		if p == nil {
			continue
		}
		for _, s := range p.stages {
			if s.hold == nil || s.hold.behind == nil {
				continue
			}
			if at := (waiter{stage: s.hold.behind}); d.found[at] == 0 {
				d.search(at, policies)
			}
		}
	}
}

// waitsFor lists what a waiter waits for.
func (d *deadlocks) waitsFor(w waiter) []waiter {
	var out []waiter
	if w.stage != nil {
		for _, of := range w.stage.tiers {
			if w.stage.open[of.name.Cluster] && !of.gates.baseState(of.name).Done() {
				out = append(out, waiter{tier: of.name})
			}
		}
		return out
	}
	r := d.results[w.tier.Seed]
	if r == nil {
		return nil
	}
	s, planned := r.find(w.tier)
	if !planned || s.State.OnBase() {
		return nil
	}
	for _, wait := range s.Waits {
		out = append(out, waiter{tier: wait.Tier})
	}
	if p := r.pace; p != nil {
		if at := p.of[w.tier]; at != nil && at.hold != nil && at.hold.behind != nil {
			out = append(out, waiter{stage: at.hold.behind})
		}
	}
	return out
}

// search goes to all that a waiter waits for, and names the circles among them.
func (d *deadlocks) search(at waiter, policies map[string]string) {
	d.found[at] = len(d.found) + 1
	d.low[at] = d.found[at]
	d.stack, d.on[at] = append(d.stack, at), true
	for _, next := range d.waitsFor(at) {
		switch {
		case d.found[next] == 0:
			d.search(next, policies)
			d.low[at] = min(d.low[at], d.low[next])
		case d.on[next]:
			d.low[at] = min(d.low[at], d.found[next])
		}
	}
	if d.low[at] != d.found[at] {
		return
	}
	first := slices.Index(d.stack, at)
	among := map[waiter]bool{}
	for _, w := range d.stack[first:] {
		among[w], d.on[w] = true, false
	}
	members := slices.Clone(d.stack[first:])
	d.stack = d.stack[:first]
	for _, w := range members {
		if w.stage != nil && len(members) > 1 {
			d.name(w.stage, d.shortest(w, among), policies)
		}
	}
}

// shortest returns the shortest circle through a wave, among waiters that wait for each other. The
// first and the last of it are the wave.
func (d *deadlocks) shortest(from waiter, among map[waiter]bool) []waiter {
	before := map[waiter]waiter{}
	for queue := []waiter{from}; len(queue) > 0; queue = queue[1:] {
		for _, next := range d.waitsFor(queue[0]) {
			if _, seen := before[next]; seen || !among[next] {
				continue
			}
			before[next] = queue[0]
			if next != from {
				queue = append(queue, next)
				continue
			}
			path := []waiter{from}
			for at := before[from]; at != from; at = before[at] {
				path = append(path, at)
			}
			path = append(path, from)
			slices.Reverse(path)
			return path
		}
	}
	return nil
}

// name has a wave, and all tiers behind it, say which circle it is in.
func (d *deadlocks) name(s *stage, circle []waiter, policies map[string]string) {
	steps, paces := make([]string, 0, len(circle)), []string{}
	for _, w := range circle {
		if w.stage == nil {
			steps = append(steps, w.tier.NameIn(""))
			continue
		}
		seed := w.stage.tiers[0].name.Seed
		steps = append(steps, fmt.Sprintf("wave %q of seed %s", w.stage.wave.Name, seed))
		pace := "spec.rollout of seed " + seed
		if policy := policies[seed]; policy != "" {
			pace = fmt.Sprintf("RolloutPolicy %s of seed %s", policy, seed)
		}
		if !slices.Contains(paces, pace) {
			paces = append(paces, pace)
		}
	}
	seed := s.tiers[0].name.Seed
	s.deadlock = fmt.Sprintf("waves wait for each other: %s waits for %s. Change the order of the waves in %s, or run 'furrow rollout skip %s %s' to go on without waiting for it",
		steps[0], strings.Join(steps[1:], ", which waits for "), strings.Join(paces, " or "), seed, s.wave.Name)
	r := d.results[seed]
	for i := range r.Tiers {
		t := &r.Tiers[i]
		if t.behind != s {
			continue
		}
		if t.State == Queued {
			t.State, t.Reason, t.Message = Held, v1alpha1.ReasonWaveDeadlock, s.deadlock
		}
		if t.Gate != "" && t.GateReason == s.reason() {
			t.Gate, t.GateReason = s.deadlock, v1alpha1.ReasonWaveDeadlock
		}
	}
}
