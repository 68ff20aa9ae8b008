package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/git"
)

// What people ask of a rollout is in its record, on a branch of the seed's home, and counts from the
// next pass on.

// Pause stops the rollout of a seed. It reports whether that changes anything.
func (q *Requests) Pause(ctx context.Context, seed, by, why string) (bool, error) {
	return q.record(ctx, seed, func(_ *plan.Plan, r *release.Record) (bool, error) {
		if r.Paused != nil {
			return false, nil
		}
		r.Paused = q.asked(by, why)
		return true, nil
	})
}

// Resume lets the rollout of a seed go on.
func (q *Requests) Resume(ctx context.Context, seed string) (bool, error) {
	return q.record(ctx, seed, func(_ *plan.Plan, r *release.Record) (bool, error) {
		paused := r.Paused != nil
		r.Paused = nil
		return paused, nil
	})
}

// Skip lets the rollout of a seed's present plan go on without waiting for a wave or, without a name,
// at once: without waves, windows and limits.
func (q *Requests) Skip(ctx context.Context, seed, wave, by, why string) (bool, error) {
	return q.record(ctx, seed, func(p *plan.Plan, r *release.Record) (bool, error) {
		if wave != "" {
			if err := hasWave(p, wave); err != nil {
				return false, err
			}
		}
		if r.Skipping(p, wave) != nil {
			return false, nil
		}
		r.Skips = append(slices.DeleteFunc(r.Skips, func(s release.Skip) bool { return s.Inputs != p.Inputs }), release.Skip{Wave: wave, Inputs: p.Inputs, Request: *q.asked(by, why)})
		return true, nil
	})
}

// hasWave refuses a wave that the plan does not have.
func hasWave(p *plan.Plan, wave string) error {
	names := []string{}
	for _, w := range p.Rollout.AllWaves() {
		names = append(names, w.Name)
	}
	if slices.Contains(append(names, plan.RestWave), wave) && len(names) > 0 {
		return nil
	}
	next := "Set spec.rollout.waves of the Seed to have some"
	if len(names) > 0 {
		next = "It has " + strings.Join(names, ", ")
	}
	return manifest.Problem{Reason: v1alpha1.ReasonNothingToDo, Seed: p.Seed, Message: fmt.Sprintf("the rollout of seed %q has no wave %q", p.Seed, wave), Next: next}
}

func (q *Requests) asked(by, why string) *release.Request {
	return &release.Request{By: by, At: q.observation.engine.config.Now().UTC().Truncate(time.Second), Why: why}
}

// record changes the record of a seed's rollout, for the plan that is in force: the one that the
// control plane asks for now, whether or not a pass has written it already.
func (q *Requests) record(ctx context.Context, seed string, change func(*plan.Plan, *release.Record) (bool, error)) (bool, error) {
	for try := 1; ; try++ {
		changed, r, branch, err := q.recordOnce(ctx, seed, change)
		if !git.IsLeaseRefused(err) || try == maxRecording {
			return changed, err
		}
		refs, err := r.Mirror.Fetch(ctx, r.facts.Base) // a run was faster, as with the end of a soak
		if err != nil {
			return false, err
		}
		q.recorded(r, branch, refs[branch])
	}
}

// recorded notes where the branch of a record is. What was decided knows the record as it was.
func (q *Requests) recorded(r *repoState, branch string, at git.Hash) {
	r.refs[branch], r.facts.Refs[branch] = at, at
	if at.IsZero() {
		delete(r.refs, branch)
		delete(r.facts.Refs, branch)
	}
	q.decision = nil
}

func (q *Requests) recordOnce(ctx context.Context, seed string, change func(*plan.Plan, *release.Record) (bool, error)) (changed bool, r *repoState, branch string, err error) {
	o := q.observation
	if _, err := o.planOf(seed); err != nil {
		return false, nil, "", err
	}
	if q.decision == nil {
		if q.decision, err = o.decideAsPlanned(ctx); err != nil {
			return false, nil, "", err
		}
	}
	s := q.decision.Seeds[seed]
	if s == nil || s.Plan == nil {
		return false, nil, "", manifest.Problem{Reason: v1alpha1.ReasonNothingToDo, Seed: seed, Message: fmt.Sprintf("seed %q has no plan at present", seed), Next: fmt.Sprintf("See 'furrow status %s'", seed)}
	}
	record, home, old, err := s.RecordOf(o.facts)
	if err != nil {
		return false, nil, "", err
	}
	if changed, err = change(s.Plan, record); err != nil || !changed {
		return false, nil, "", err
	}
	r = o.repos[home]
	branch = layout.RolloutBranch(r.facts.Base, seed)
	update := git.Update{Ref: branch, Old: old}
	if !record.Empty() {
		if update, err = r.commitRecord(branch, old, record, o.engine.person()); err != nil {
			return false, nil, "", err
		}
	}
	if err := r.move(ctx, update); err != nil {
		return false, r, branch, err
	}
	q.recorded(r, branch, update.New)
	return true, r, branch, nil
}
