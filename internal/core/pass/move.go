package pass

import (
	"fmt"
	"path"
	"slices"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/dependency"
	"github.com/furrow-dev/furrow/internal/core/health"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
)

// passedMoves returns the objects of a plan's moves whose present release is live: the reconcilers of
// the tiers that it changes have applied it. They need not be healthy: all that they
// have was live before, and an update that makes them healthy comes only after the move.
func (d *decider) passedMoves(p *Previous) map[dependency.Vertex]bool {
	passed := map[dependency.Vertex]bool{}
	for i := range p.Plan.Moves {
		m := &p.Plan.Moves[i]
		for _, cluster := range m.Clusters {
			if d.passed(p, m, cluster) {
				passed[dependency.Vertex{Seed: p.Plan.Seed, Object: m.Object, Cluster: cluster}] = true
			}
		}
	}
	return passed
}

func (d *decider) passed(p *Previous, m *plan.Move, cluster string) bool {
	ordinals := []int{m.From, m.To}
	switch m.Stage {
	case plan.StageProtect:
		ordinals = ordinals[:1]
	case plan.StageUnprotect:
		ordinals = ordinals[1:]
	}
	live := true
	for _, ordinal := range ordinals {
		t, there := p.Plan.Find(cluster, ordinal)
		if !there {
			continue
		}
		td := d.decideTier(p.Plan, t, p)
		td.have = d.at(t.Repo, td.repo.Head, td.paths...)
		applied := td.applied(p.tiers[td.name]) && (m.Stage != plan.StageProtect || td.protects(m))
		live = live && applied && !d.missing
	}
	return live
}

// applied reports whether the reconciler of a tier has applied the plan's entries.
func (d *tierDecider) applied(f release.TierFacts) bool {
	switch state := release.BaseState(d.tier, f); {
	case state == "":
		return false
	case state.Done():
		return true
	}
	return d.appliedBase(true)
}

// appliedBase reports whether the reconciler of a tier has applied what base has, which is the plan's
// entries or something else.
func (d *tierDecider) appliedBase(entries bool) bool {
	if d.unasked() {
		return false
	}
	observed := d.reconciler(reconcilerKey(d.tier))
	return health.Applied(observed, d.want(observed, entries))
}

// protects reports whether base has an object, which moves, in this tier with the annotation: as
// planned, or as a person put it there.
func (d *tierDecider) protects(m *plan.Move) bool {
	at := path.Join(d.tier.Dir(), m.File)
	hash := d.at(d.tier.Repo, d.repo.Head, at)[at]
	if hash.IsZero() {
		return false
	}
	for _, ordinal := range []int{m.From, m.To} {
		if t, there := d.plan.Find(d.tier.Cluster, ordinal); there && m.Stage != plan.StageUnprotect {
			if slices.ContainsFunc(d.plan.Objects(t), func(o plan.Object) bool { return o.ID == m.Object && o.Hash == hash }) {
				return true
			}
		}
	}
	return plan.Protected(at, d.blob(d.tier.Repo, hash))
}

// unprotected returns why a tier must not lose the objects that have moved to others: base has one of
// them there, as after a revert, and the reconciler could delete it.
func (d *tierDecider) unprotected() manifest.Problem {
	for _, m := range d.plan.MovesOn(d.tier) {
		if !m.Goes() || m.From != d.tier.Ordinal || m.Stage == plan.StageProtect {
			continue
		}
		at := path.Join(d.tier.Dir(), m.File)
		if d.at(d.tier.Repo, d.repo.Head, at)[at].IsZero() {
			continue
		}
		p := manifest.Problem{Seed: d.plan.Seed, Cluster: d.tier.Cluster, Object: m.Object.String(), Repo: d.tier.Repo, Path: at}
		switch {
		case !d.protects(&m):
			p.Reason = v1alpha1.ReasonMoveUnprotected
			p.Message = fmt.Sprintf("%s has moved to %s, and %s on branch %s lacks the annotation %s, so the reconciler would delete it with this tier", m.Object, layout.NameOnCluster(m.To), at, d.repo.Base, plan.Protection)
			p.Next = "Add the annotation to it there, or revert what brought it back"
			return p
		case !d.appliedBase(false):
			p.Reason = v1alpha1.ReasonMovePending
			p.Message = fmt.Sprintf("%s moves to %s once the reconciler has applied the annotation %s", m.Object, layout.NameOnCluster(m.To), plan.Protection)
			return p
		}
	}
	return manifest.Problem{}
}

// unprotectedOnBase reports whether base has the third release of a move, where no cluster can be asked
// at all: more is never known then.
func (d *decider) unprotectedOnBase(p *Previous, m *plan.Move, cluster string) bool {
	t, there := p.Plan.Find(cluster, m.To)
	return d.facts.Health.None && m.Stage == plan.StageUnprotect && (!there || release.BaseState(t, p.tiers[p.Plan.Name(t)]) != "")
}

// finishMoves makes the plan of a seed that is gone while objects of it move: they could not be
// deleted with the annotation. It reports whether the removal has to wait for that. Nothing is waited
// for on clusters that were abandoned.
func (d *decider) finishMoves(s *Seed) bool {
	last := s.previous.Plan
	holds, waits := false, ""
	for i := range last.Moves {
		m := &last.Moves[i]
		for _, cluster := range m.Clusters {
			v := dependency.Vertex{Seed: s.Name, Object: m.Object, Cluster: cluster}
			if d.abandoned[cluster] {
				continue
			}
			if m.Stage != plan.StageProtect && !s.previous.passed[v] && !d.unprotectedOnBase(s.previous, m, cluster) {
				waits = m.String()
			}
			holds = holds || m.Stage != plan.StageUnprotect
		}
	}
	switch {
	case waits == "" && !holds:
		return false
	case waits == "":
		s.Plan = plan.Unprotect(last, d.facts.ControlPlane.Revision)
		s.files = s.Plan.Files()
		waits = s.Plan.Moves[0].String()
	}
	s.fail(manifest.OfSeed(v1alpha1.ReasonRemovalOnHold, s.Name, "it is not in the control-plane repository, and is removed once what moves in it can be deleted: "+waits, "Merge the open proposals; if a cluster is gone for good, run 'furrow abandon' for it."))
	return true
}
