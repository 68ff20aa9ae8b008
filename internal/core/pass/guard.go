package pass

import (
	"fmt"
	"maps"
	"slices"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/change"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
)

// deletePlan returns the command that deletes a seed's plan, with a colon; empty where no repository is read.
func (d *decider) deletePlan(s *Seed) string {
	for _, repo := range slices.Sorted(maps.Keys(s.previous.Commits)) {
		if r := d.repo(repo); r != nil {
			return ": " + layout.DeleteCommand(layout.PlanBranch(r.Base, s.Name))
		}
	}
	return ""
}

// holdRemovals holds the removal of whole seeds that take what only a person may let
// go, or whose objects a new seed has, as after a rename.
func (d *decider) holdRemovals(renamedTo map[string]map[string][]plan.Removed) {
	for name, s := range d.seeds {
		if !s.gone || d.confirmed(s) {
			continue
		}
		if p := s.previous; p.replaced != nil && len(p.Plan.Tiers) > 0 && !d.knownBefore(p) {
			s.Unconfirmed = release.Hold{}.Unconfirmed(p.Plan, s.Plan, p.tiers)
			s.fail(manifest.OfSeed(v1alpha1.ReasonPlanNotVerified, name, "the control plane does not have it, and nothing shows that it ever had, so what its plan branch says is not removed",
				fmt.Sprintf("If it was planted by this control plane, run 'furrow confirm %s' to remove it; else move the branch back, or delete it%s", name, d.deletePlan(s))))
			s.keepPrevious()
			continue
		}
		hold := release.Hold{RenamedTo: d.notHandedOver(s, renamedTo[name])}
		begins := !s.previous.Plan.Removal
		if begins {
			hold.Guarded = release.GuardedRemoval(s.Plan, s.previous.tiers)
			hold.Guarded = append(hold.Guarded, d.notKeptYet(s)...)
		}
		if !hold.Held() {
			continue
		}
		s.Unconfirmed = hold.Unconfirmed(s.previous.Plan, s.Plan, s.previous.tiers)
		s.fail(hold.Problem(name))
		if begins {
			s.held = len(release.Planted(s.previous.Plan, s.previous.tiers))
			s.keepPrevious()
		}
	}
}

// notHandedOver returns the objects that other seeds want and that the removal of their seed would delete.
func (d *decider) notHandedOver(s *Seed, renamedTo map[string][]plan.Removed) map[string][]plan.Removed {
	out := map[string][]plan.Removed{}
	for to, has := range renamedTo {
		for _, one := range has {
			if !plan.Shareable(one.Object) && !d.handedOver(s, one) { // see holdShared
				out[to] = append(out[to], one)
			}
		}
	}
	return out
}

// handedOver reports whether the reconciler of a seed that is removed keeps an object.
func (d *decider) handedOver(s *Seed, one plan.Removed) bool {
	for _, t := range s.Plan.On(one.Cluster) {
		if t.Leaving == nil || d.abandoned[t.Cluster] || d.repo(t.Repo) == nil {
			continue
		}
		for _, o := range t.Leaving.Objects {
			if o.ID != one.Object {
				continue
			}
			if why, _ := d.mayDelete(s, &t, o); why != "" {
				return false
			}
		}
	}
	return true
}

// notKeptYet returns the objects of a seed that is removed which only a person may let go, and which are to
// stay on their clusters, but whose reconcilers may not know that yet.
func (d *decider) notKeptYet(s *Seed) []plan.Removed {
	var out []plan.Removed
	for i := range s.Plan.Tiers {
		t := &s.Plan.Tiers[i]
		if t.Leaving == nil || d.abandoned[t.Cluster] || d.repo(t.Repo) == nil {
			continue
		}
		for _, o := range t.Leaving.Objects {
			if !o.Kept || change.Destroys(o.ID.GroupKind()) == "" {
				continue
			}
			if why, _ := d.mayDelete(s, t, o); why != "" {
				out = append(out, plan.Removed{Object: o.ID, Cluster: t.Cluster})
			}
		}
	}
	return out
}

// renames returns, for each seed that gives up objects, the seeds that have them now, and which those are.
func renames(outcomes map[string]*plan.Outcome) map[string]map[string][]plan.Removed {
	renamedTo := map[string]map[string][]plan.Removed{}
	for to, o := range outcomes {
		for from, vertices := range o.Inherits {
			if renamedTo[from] == nil {
				renamedTo[from] = map[string][]plan.Removed{}
			}
			for _, v := range vertices {
				renamedTo[from][to] = append(renamedTo[from][to], plan.Removed{Object: v.Object, Cluster: v.Cluster})
			}
		}
	}
	return renamedTo
}

// heirs returns, for each object that a seed gives up, the seed that gets it. A seed that cannot be planned gets only
// what is annotated for it already.
func (d *decider) heirs(name string, renamedTo map[string][]plan.Removed, outcomes map[string]*plan.Outcome) map[plan.Removed]string {
	out := map[plan.Removed]string{}
	for to, has := range renamedTo {
		for _, one := range has {
			if outcomes[to].Err == nil {
				out[one] = to
			}
		}
	}
	p := d.previous[name]
	if p == nil || p.Plan == nil || p.Plan.Removal {
		return out
	}
	for i := range p.Plan.Tiers {
		t := &p.Plan.Tiers[i]
		for _, h := range p.Plan.HandedOver(t) {
			if o := outcomes[h.To]; o != nil && o.Err != nil {
				out[plan.Removed{Object: h.Object, Cluster: t.Cluster}] = h.To
			}
		}
	}
	return out
}

// handOver makes the plan by which a seed that is gone annotates what other seeds get, and reports whether the
// removal has to wait for that. It does not wait if a person confirms it.
func (d *decider) handOver(s *Seed, heirs map[plan.Removed]string, outcomes map[string]*plan.Outcome) bool {
	last := s.previous.Plan
	if d.confirmed(s) || s.previous.replaced != nil && !d.knownBefore(s.previous) {
		return false
	}
	d.missing = false
	next, files, err := plan.HandOver(last, heirs, d.facts.ControlPlane.Revision, func(repo string, hash layout.Hash) ([]byte, bool) {
		d.missing = false
		data := d.blob(repo, hash)
		return data, !d.missing
	})
	waits := ""
	switch {
	case err != nil:
		s.fail(err)
		return true
	case next == nil: // files are asked for
		return true
	case next != last:
		s.Plan, s.files = next, next.Files()
		for _, all := range s.files {
			for at, f := range all {
				if data, changed := files[f.Hash]; changed {
					all[at] = plan.File{Data: data, Hash: f.Hash}
				}
			}
		}
		waits = annotationsApplied
	default:
		waits = d.waitsFor(s, heirs, outcomes)
	}
	if waits == "" {
		return false
	}
	s.Unconfirmed = release.Hold{}.Unconfirmed(last, plan.Remove(last, ""), s.previous.tiers)
	s.fail(manifest.OfSeed(v1alpha1.ReasonRemovalOnHold, s.Name, "it is not in the control-plane repository, and is removed once "+waits,
		fmt.Sprintf("Merge the open proposals. Or run 'furrow confirm %s' to remove it at once, which deletes what is not annotated.", s.Name)))
	return true
}

// annotationsApplied is what the removal of a seed waits for that hands objects over.
const annotationsApplied = "its reconcilers have applied the annotations of what other seeds get"

// waitsFor says what the removal of a seed waits for that hands objects over, or does not any more; empty if nothing.
func (d *decider) waitsFor(s *Seed, heirs map[plan.Removed]string, outcomes map[string]*plan.Outcome) string {
	last := s.previous.Plan
	for i := range last.Tiers {
		t := &last.Tiers[i]
		if t.Gone() || d.abandoned[t.Cluster] || d.repo(t.Repo) == nil {
			continue
		}
		d.missing = false
		have := d.at(t.Repo, d.repo(t.Repo).Head, t.Paths()...)
		if d.missing || have[t.Dir()].IsZero() {
			continue
		}
		td := d.decideTier(last, t.With(have), s.previous)
		td.have = have
		for _, o := range last.Objects(t) {
			to := heirs[plan.Removed{Object: o.ID, Cluster: t.Cluster}]
			switch {
			case to != "" && outcomes[to].Err != nil:
				return fmt.Sprintf("seed %q can be planned, which gets %s", to, o.ID)
			case td.awaitsAnnotation(o, to, have[t.Dir()] == t.DirHash()):
				return annotationsApplied
			}
		}
	}
	return ""
}

// awaitsAnnotation reports whether an object still gets the annotation, or still loses it if no seed is to get the object.
// planned reports whether base has the tier as the plan does.
func (d *tierDecider) awaitsAnnotation(o plan.Object, to string, planned bool) bool {
	switch {
	case planned && to != "":
		return !d.facts.Health.None && !d.appliedBase(false) && !d.missing
	case planned || o.Kept && to == "":
		return false
	}
	keeps, there := d.keepsOnBase(o)
	return there && keeps != (to != "") && !d.missing
}

// holdMoved holds what leaves a seed for another one: the reconciler would delete it before the other
// seed plants it again. An object that is marked as not to be pruned may leave, once the reconciler has
// applied the mark.
//
// Who confirms that has no health channel, and does not know that the rest of the seed is released: then the
// objects count that leave after that.
func (d *decider) holdMoved(renamedTo map[string]map[string][]plan.Removed) {
	for _, name := range slices.Sorted(maps.Keys(renamedTo)) {
		s := d.seeds[name]
		if s == nil || s.gone || s.previous == nil || s.previous.Plan == nil || s.Plan == nil || s.files == nil && !d.facts.Health.None || s.Failure != nil || d.confirmed(s) {
			continue
		}
		moved := map[string][]plan.Removed{}
		for i := range s.Plan.Tiers {
			t := &s.Plan.Tiers[i]
			if d.abandoned[t.Cluster] || d.repo(t.Repo) == nil {
				continue
			}
			for _, o := range s.leaving(t) {
				removed := plan.Removed{Object: o.ID, Cluster: t.Cluster}
				for to, has := range renamedTo[name] {
					if !slices.Contains(has, removed) {
						continue
					}
					if why, _ := d.mayDelete(s, t, o); why != "" {
						moved[to] = append(moved[to], removed)
					}
				}
			}
		}
		if len(moved) == 0 {
			continue
		}
		var all []plan.Removed
		for _, to := range slices.Sorted(maps.Keys(moved)) {
			all = append(all, moved[to]...)
		}
		s.Unconfirmed = plan.Describe(all)
		s.keepPrevious()
		s.fail(release.MovedToSeed(name, moved))
	}
}

// leaving returns the objects that leave a tier with a new plan or, where the plan is that of its branch, once
// the rest is released.
func (s *Seed) leaving(t *plan.Tier) []plan.Object {
	switch {
	case s.files == nil:
		return slices.DeleteFunc(slices.Clone(s.Plan.Objects(t)), func(o plan.Object) bool { return !o.Leaving || o.HandedTo != "" })
	case t.Leaving != nil:
		return t.Leaving.Objects
	}
	return nil
}

// holdShared holds what would delete a shared object from under another seed, whichever control plane has that in
// the repository: nobody can confirm that. One that is marked as not to be pruned may leave, once
// the reconciler has applied the mark.
func (d *decider) holdShared(outcomes map[string]*plan.Outcome) {
	leaves := false
	for _, s := range d.seeds {
		leaves = leaves || s.Plan != nil && slices.ContainsFunc(s.Plan.Tiers, func(t plan.Tier) bool {
			return t.Leaving != nil && slices.ContainsFunc(t.Leaving.Objects, func(o plan.Object) bool { return plan.Shareable(o.ID) })
		})
	}
	if !leaves {
		return
	}
	shared := d.sharedObjects(outcomes)
	for _, name := range slices.Sorted(maps.Keys(d.seeds)) {
		s := d.seeds[name]
		if s.previous == nil || s.previous.Plan == nil || s.Plan == nil || s.Failure != nil {
			continue
		}
		for i := range s.Plan.Tiers {
			t := &s.Plan.Tiers[i]
			if t.Leaving == nil || d.abandoned[t.Cluster] || d.repo(t.Repo) == nil {
				continue
			}
			for _, o := range t.Leaving.Objects {
				others := slices.DeleteFunc(slices.Clone(shared[plan.Removed{Object: o.ID, Cluster: t.Cluster}]), func(of *plan.Plan) bool { return of.Seed == name && of.Identity() == s.Plan.Identity() })
				if len(others) == 0 || s.Failure != nil {
					continue
				}
				if why, next := d.mayDelete(s, t, o); why != "" {
					s.keepPrevious()
					s.fail(release.SharedObject(s.Plan, t.Cluster, o.ID, others, why, next))
				}
			}
		}
	}
}

// sharedObjects returns the plans that are to keep each object that seeds can share on a cluster.
func (d *decider) sharedObjects(outcomes map[string]*plan.Outcome) map[plan.Removed][]*plan.Plan {
	out := map[plan.Removed][]*plan.Plan{}
	add := func(p *plan.Plan) {
		if p == nil || p.Removal {
			return
		}
		for i := range p.Tiers {
			for _, o := range p.Objects(&p.Tiers[i]) {
				key := plan.Removed{Object: o.ID, Cluster: p.Tiers[i].Cluster}
				if plan.Shareable(o.ID) && !o.Leaving {
					out[key] = append(out[key], p)
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.seeds)) {
		switch o := outcomes[name]; {
		case o != nil:
			add(o.Plan)
		case d.previous[name] == nil || d.seeds[name].gone: // it is on its way out itself
		default:
			add(d.previous[name].Plan)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.previous)) {
		if p := d.previous[name]; p.Foreign {
			add(p.Plan)
		}
	}
	return out
}

// mayDelete says why merging the removal of an object could delete it on its cluster, and what to do; empty if
// the reconciler keeps it, or no file has it any more.
func (d *decider) mayDelete(s *Seed, t *plan.Tier, o plan.Object) (why, next string) {
	repo := d.repo(t.Repo)
	have := d.at(t.Repo, repo.Head, t.Paths()...)
	td := d.decideTier(s.previous.Plan, t.With(have), s.previous)
	td.have = have
	hash := d.at(t.Repo, repo.Head, t.FilePath(o))[t.FilePath(o)]
	if hash.IsZero() || d.missing {
		return "", ""
	}
	protected := plan.Protected(t.FilePath(o), d.blob(t.Repo, hash), o.ID)
	switch {
	case d.missing:
		return "", ""
	case !protected:
		return "lacks the annotation " + plan.Protection + ": disabled", "Restore it, merge the proposal that adds the annotation, and remove it again."
	case !d.facts.Health.None && !td.appliedBase(false) && !d.missing:
		return "has the annotation " + plan.Protection + " since recently, and the reconciler has not applied that yet", "Wait for it; if the cluster is gone for good, run 'furrow abandon'."
	}
	return "", ""
}

// lostClusters returns the clusters of plans that no document declares and no seed creates any more, and
// that nobody gave up. Where a document cannot be read, it may be the one.
func (d *decider) lostClusters() map[string]bool {
	lost := map[string]bool{}
	if d.facts.ControlPlane.Unread != "" {
		return lost
	}
	created, inventory := d.createdBySeeds(), d.catalog().Inventory
	for _, s := range d.seeds {
		if s.Plan == nil {
			continue
		}
		for i := range s.Plan.Tiers {
			name := s.Plan.Tiers[i].Cluster
			if _, declared := inventory.Clusters[name]; !declared && !created[name] && !d.abandoned[name] && inventory.BrokenOrLost(name) == "" {
				lost[name] = true
			}
		}
	}
	return lost
}

// holdLostClusters holds a plan that takes everything off a cluster which no document declares any more,
// however little that is: a renamed, commented-out or mistyped document has the same effect. Clusters that
// seeds create need no document, and an abandoned cluster was given up on purpose.
func (d *decider) holdLostClusters() {
	created := d.createdBySeeds()
	for _, s := range d.seeds {
		if s.previous == nil || s.previous.Plan == nil || s.Plan == nil || s.files == nil || s.Unconfirmed != nil || d.confirmed(s) {
			continue
		}
		had, has := wanted(s.previous.Plan), wanted(s.Plan)
		var lost, objects []string
		for _, cluster := range slices.Sorted(maps.Keys(release.Planted(s.previous.Plan, s.previous.tiers))) {
			if _, declared := d.catalog().Inventory.Clusters[cluster]; !declared && had[cluster] > 0 && has[cluster] == 0 && !created[cluster] && !d.abandoned[cluster] {
				lost, objects = append(lost, cluster), append(objects, fmt.Sprintf("%d of its objects from %s", had[cluster], cluster))
			}
		}
		if len(lost) > 0 {
			s.Unconfirmed = objects
			s.keepPrevious()
			s.fail(release.LostClusters(s.Name, lost))
		}
	}
}

// wanted counts the objects of a plan that are to stay, by cluster.
func wanted(pl *plan.Plan) map[string]int {
	out := map[string]int{}
	for i := range pl.Tiers {
		for _, o := range pl.Objects(&pl.Tiers[i]) {
			if !o.Leaving {
				out[pl.Tiers[i].Cluster]++
			}
		}
	}
	return out
}

// keepPrevious leaves the plan that is there in force.
func (s *Seed) keepPrevious() { s.Plan, s.files, s.gone = s.previous.Plan, nil, false }

// guardRemovals holds all new removals when there are too many. Either all of them go or none,
// since a person has to correct the cause and not each. What was never merged is not removed.
// Those that were proposed in earlier passes, and that nobody confirmed or rejected, count as well:
// seeds and clusters may go one by one, each in a pass of its own.
func (d *decider) guardRemovals() {
	all, removing := 0, 0
	var names []string
	for _, name := range slices.Sorted(maps.Keys(d.seeds)) {
		s := d.seeds[name]
		if s.previous == nil || s.previous.Plan == nil {
			continue
		}
		had, has := release.Planted(s.previous.Plan, s.previous.tiers), release.Clusters(s.Plan)
		going := release.Going(s.previous.Plan, s.Plan, s.previous.tiers)
		all += len(had) + going
		if d.confirmed(s) {
			continue
		}
		removing += going + s.held
		keeps := release.Keeps(s.Plan)
		maps.DeleteFunc(had, func(cluster string, _ bool) bool { return has[cluster] || keeps[cluster] })
		if s.Plan != nil && s.files != nil && len(had) > 0 {
			removing += len(had)
			names = append(names, name)
		}
	}
	guard := d.catalog().DeletionGuard(d.facts.DeletionGuard)
	if !release.HoldsRemovals(removing, all, guard) {
		return
	}
	for _, name := range names {
		s := d.seeds[name]
		s.Unconfirmed = release.Lost(s.previous.Plan, s.Plan, s.previous.tiers)
		s.keepPrevious()
		s.fail(manifest.OfSeed(v1alpha1.ReasonDeletionGuard, name, fmt.Sprintf("blocked by the deletion guard: %d of %d plantings would be removed at once (more than %d %%)", removing, all, guard),
			fmt.Sprintf("Run 'furrow confirm %s' to remove those of this seed, or restore them.", name)))
	}
}

// A person asks by a marker: a branch at the commit of the seed's plan. So the engine
// that runs, and observes the clusters, does what was asked for, and a marker of an
// earlier plan asks for nothing. Markers of what was confirmed stay while it is under way.

// retries reports whether a person wants the seed's present plan proposed again.
func (d *decider) retries(repo string, p *Previous, seed string) bool {
	r := d.facts.Repos[repo]
	at := r.Asked(layout.RetryBranch(r.Base, seed))
	return !at.IsZero() && at == p.commit(repo)
}

// retriesTier reports whether a person wants a tier of the seed's present plan proposed again, alone
// or with all others.
func (d *decider) retriesTier(repo string, p *Previous, name layout.Tier) bool {
	r := d.facts.Repos[repo]
	at := r.Asked(layout.RetryTierBranch(r.Base, name))
	return d.retries(repo, p, name.Seed) || !at.IsZero() && at == p.commit(repo)
}

// confirmed reports whether a person wants the seed removed.
func (d *decider) confirmed(s *Seed) bool { return d.facts.Marked(s.previous, layout.ConfirmBranch) }

// confirmedLeaving reports whether a person wants what leaves with the plan in force removed.
func (d *decider) confirmedLeaving(s *Seed) bool {
	if s.Plan.Removal {
		return d.confirmed(s)
	}
	return d.facts.Marked(s.previous, layout.ConfirmLeavingBranch) && s.sameLeaving()
}

// Marked reports whether a marker of a seed is at the plan that is on its branches.
func (f *Facts) Marked(p *Previous, marker func(base, seed string) string) bool {
	home := p.Home()
	r, ok := f.Repos[home]
	if !ok || r.Failure != nil {
		return false
	}
	at := r.Asked(marker(r.Base, p.Plan.Seed))
	return !at.IsZero() && at == p.commit(home)
}

// sameLeaving reports whether the plan in force takes away what the one on its branches
// does, as where only entries were added that come before that.
func (s *Seed) sameLeaving() bool {
	was := s.previous.Plan
	if was == nil || s.Plan.Removal != was.Removal || len(s.Plan.Tiers) != len(was.Tiers) {
		return false
	}
	for i := range s.Plan.Tiers {
		if !slices.Equal(s.Plan.Tiers[i].Guarded(), was.Tiers[i].Guarded()) {
			return false
		}
	}
	return true
}

// leaves reports whether something is still to leave that only a person may let go.
func (s *Seed) leaves() bool {
	for i := range s.Plan.Tiers {
		t := &s.Plan.Tiers[i]
		done := i < len(s.Result.Tiers) && release.BaseState(t, s.Tiers[s.Plan.Name(t)]) != ""
		if !s.Plan.Removal && !done && len(t.Guarded()) > 0 {
			return true
		}
	}
	return false
}

// Waiting returns what is removed once a person confirms it: of the seed as a whole, or what leaves
// it.
func (s *Seed) Waiting() []string {
	if s.Unconfirmed != nil {
		return s.Unconfirmed
	}
	var leaving []plan.Removed
	for _, t := range s.Result.Tiers {
		leaving = append(leaving, t.Unconfirmed...)
	}
	return plan.Describe(leaving)
}
