package pass

import (
	"fmt"
	"maps"
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
	live := true
	for _, ordinal := range []int{m.From, m.To} {
		t, there := p.Plan.Find(cluster, ordinal)
		if !there {
			continue
		}
		td := d.decideTier(p.Plan, t, p)
		td.have = d.at(t.Repo, td.repo.Head, td.paths...)
		passed := td.passed(m, p.tiers[td.name])
		live = live && passed && !d.missing
	}
	return live
}

// passed reports whether a tier has what the present release of a move changes in it. The first one
// ends only when base has the tier to which the object goes as planned: with the second one, neither
// tier may have anything to wait for.
func (d *tierDecider) passed(m *plan.Move, f release.TierFacts) bool {
	switch {
	case m.Stage == plan.StageProtect && d.tier.Ordinal == m.From:
		return d.applied(f) && d.protects(m)
	case m.Stage == plan.StageProtect:
		return release.BaseState(d.tier, f) != ""
	case m.Stage == plan.StageUnprotect && d.tier.Ordinal != m.To:
		return true
	}
	return d.applied(f)
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
	want := d.want(observed, entries)
	return health.Applied(d.tier.Delivery().Judge(observed, want), observed, want)
}

// holding returns the files of the tier on base that have an object, which moves: that of the plan, and
// those that a person has put there.
func (d *tierDecider) holding(m *plan.Move) map[string]layout.Hash {
	dir, holding := d.tier.Dir(), map[string]layout.Hash{}
	if d.at(d.tier.Repo, d.repo.Head, dir)[dir].IsZero() {
		return holding
	}
	planned := map[string]bool{}
	for _, o := range d.plan.Objects(d.tier) {
		planned[d.tier.FilePath(o)] = o.ID != m.Object
	}
	for at, hash := range d.files(d.tier.Repo, d.repo.Head, dir) {
		if at == path.Join(dir, m.File) || !planned[at] && plan.Holds(at, d.blob(d.tier.Repo, hash), m.Object) {
			holding[at] = hash
		}
	}
	return holding
}

// protects reports whether base has an object, which moves, in this tier, and with the annotation.
func (d *tierDecider) protects(m *plan.Move) bool {
	holding := d.holding(m)
	for at, hash := range holding {
		if !plan.Protected(at, d.blob(d.tier.Repo, hash), m.Object) {
			return false
		}
	}
	return len(holding) > 0
}

// unprotected returns why a tier must not lose the objects that have moved to others: base has one of
// them there, as after a revert, and the reconciler could delete it.
func (d *tierDecider) unprotected() manifest.Problem {
	for _, m := range d.plan.MovesOn(d.tier) {
		if !m.Goes() || m.From != d.tier.Ordinal || m.Stage == plan.StageProtect {
			continue
		}
		holding := d.holding(&m)
		if len(holding) == 0 {
			continue
		}
		at := slices.Min(slices.Collect(maps.Keys(holding)))
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
	return d.unkept()
}

// keepsOnBase reports whether base has an object with the annotation, and whether it has it at all.
func (d *tierDecider) keepsOnBase(o plan.Object) (keeps, there bool) {
	at := d.tier.FilePath(o)
	hash := d.at(d.tier.Repo, d.repo.Head, at)[at]
	if hash.IsZero() {
		return false, false
	}
	return plan.Keeps(at, d.blob(d.tier.Repo, hash), o.ID), true
}

// unkept returns why a tier must not lose objects that are to stay on the cluster: base has one of them without the
// annotation, as after a revert.
func (d *tierDecider) unkept() manifest.Problem {
	if d.tier.Leaving == nil {
		return manifest.Problem{}
	}
	now := *d // the tier as base has it
	now.tier = d.tier.With(d.have)
	for _, o := range d.tier.Leaving.Objects {
		if !o.Kept {
			continue
		}
		at := d.tier.FilePath(o)
		keeps, there := d.keepsOnBase(o)
		p := manifest.Problem{Seed: d.plan.Seed, Cluster: d.tier.Cluster, Object: o.ID.String(), Repo: d.tier.Repo, Path: at}
		switch {
		case d.missing || !there:
		case !keeps:
			p.Reason = v1alpha1.ReasonMoveUnprotected
			p.Message = fmt.Sprintf("%s is to stay on its cluster, and %s on branch %s lacks the annotation %s, so the reconciler would delete it with this tier", o.ID, at, d.repo.Base, plan.Protection)
			p.Next = "Add the annotation to it there, or revert what removed it"
			return p
		case !d.facts.Health.None && !now.appliedBase(false) && !d.missing:
			p.Reason = v1alpha1.ReasonMovePending
			p.Message = fmt.Sprintf("%s leaves once the reconciler has applied the annotation %s", o.ID, plan.Protection)
			return p
		}
	}
	return manifest.Problem{}
}

// onlyMoves reports whether merging a tier's entries would change nothing but objects that move: base
// has all the others as the entries do. It counts while objects move on the tier's cluster.
func (d *tierDecider) onlyMoves() bool {
	if !d.plan.HeldOn(d.tier.Cluster) {
		return false
	}
	have, dir := map[string]layout.Hash{}, d.tier.Dir()
	if !d.at(d.tier.Repo, d.repo.Head, dir)[dir].IsZero() {
		have = d.files(d.tier.Repo, d.repo.Head, dir)
	}
	moves := d.plan.MovesOn(d.tier)
	for _, o := range d.plan.Objects(d.tier) {
		had := have[d.tier.FilePath(o)]
		moved := func(m plan.Move) bool {
			comes := m.Goes() && m.To == d.tier.Ordinal && m.Stage != plan.StageProtect
			return m.Object == o.ID && (had == m.Content || comes && had.IsZero())
		}
		if had != o.Hash && !slices.ContainsFunc(moves, moved) {
			return false
		}
	}
	return true
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
