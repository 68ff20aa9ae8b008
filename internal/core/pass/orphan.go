package pass

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/githash"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
)

// A person gives a cluster up by a marker that names the owner of the plans, so
// engines of other owners neither obey nor delete it. A marker on any repository
// counts on all of them, so a partial push is harmless.

// MarkerScope returns what markers of clusters lie below: two control planes of one name have
// different ones.
func MarkerScope(of plan.Identity) string { return path.Join(of.Owner, of.ShortOrigin()) }

// readAbandoned finds the clusters that were given up.
func (d *decider) readAbandoned() {
	for _, r := range d.facts.Repos {
		for branch := range r.Refs {
			if cluster, ok := layout.AbandonedCluster(r.Base, MarkerScope(d.facts.Self), branch); ok && !r.Asked(branch).IsZero() {
				d.abandoned[cluster] = true
			}
		}
	}
}

// needs reports whether some plan of this owner, before this pass or by it, has something
// on a cluster, or may have.
func (d *decider) needs(cluster string) bool {
	for _, r := range d.facts.Repos {
		if r.Failure != nil {
			return true
		}
	}
	for _, p := range d.previous {
		if p.Plan == nil || p.Plan.Identity() == d.facts.Self && len(p.Plan.ReposWith(cluster)) > 0 {
			return true
		}
	}
	for _, s := range d.seeds {
		if s.Plan != nil && len(s.Plan.ReposWith(cluster)) > 0 {
			return true
		}
	}
	return false
}

// orphan gives tiers that go from an abandoned cluster the entries that come before that, where
// they are needed. The plan then has them for good; whether they are in force is decided anew in
// each pass. So there are two versions of the plan: planWithOrphans has both sets of entries, and Plan
// those that are in force.
func (d *decider) orphan(s *Seed) error {
	s.planWithOrphans = s.Plan
	concerned := slices.ContainsFunc(s.Plan.Tiers, func(t plan.Tier) bool { return t.Orphan != nil || d.abandoned[t.Cluster] })
	if !concerned || s.previous == nil || s.Failure != nil {
		return nil // with a failure nothing leaves
	}
	all, now := slices.Clone(s.Plan.Tiers), slices.Clone(s.Plan.Tiers)
	files := map[string]plan.Files{}
	for i := range all {
		t := &all[i]
		first := d.orphansFirst(s, t)
		if t.Orphan == nil && first || t.Orphan != nil && s.files != nil {
			if err := d.addOrphan(t, files); err != nil {
				return fmt.Errorf("seed %q, %s: %w", s.Name, t, manifest.About(manifest.Problem{Seed: s.Name, Cluster: t.Cluster}, err))
			}
		}
		now[i] = *t
		if first && t.Orphan != nil {
			now[i] = t.Orphaning()
		}
	}
	if len(files) > 0 {
		s.write(all, files)
	}
	s.Plan = s.planWithOrphans.WithTiers(now)
	return nil
}

// orphansFirst reports whether the entries that orphan are needed before a tier goes.
func (d *decider) orphansFirst(s *Seed, t *plan.Tier) bool {
	r := d.repo(t.Repo)
	if r == nil || !t.Gone() || t.Object.Cluster == t.Cluster || !d.abandoned[t.Cluster] {
		return false
	}
	file := t.ReconcilerFile()
	base := release.EffectNone
	if blob := d.at(t.Repo, r.Head, file)[file]; !blob.IsZero() {
		base = deletionEffectOf(t, d.reconcilerObject(t.Repo, file, blob).spec)
	}
	proposal, open := d.proposalFor(s.Plan, s.previous, t, s.Plan.Name(t))
	return release.OrphansFirst(base, d.deletionEffectOn(t), open && proposal.digest == t.Digest())
}

// deletionEffectOf returns what becomes of a tier's objects when its reconciler object goes.
func deletionEffectOf(t *plan.Tier, spec map[string]any) release.DeletionEffect {
	if t.Delivery().Orphans(spec) {
		return release.EffectOrphans
	}
	return release.EffectPrunes
}

// deletionEffectOn returns the effect of the live reconciler object. Nobody waits for a hub that was
// abandoned, too.
func (d *decider) deletionEffectOn(t *plan.Tier) release.DeletionEffect {
	if d.unasked() {
		return release.EffectUnknown
	}
	switch live := d.reconciler(reconcilerKey(t)); {
	case !live.Known && d.abandoned[t.Object.Cluster]:
		return release.EffectNone
	case !live.Known:
		return release.EffectUnknown
	case !live.Found:
		return release.EffectNone
	default:
		return deletionEffectOf(t, live.Spec)
	}
}

// addOrphan makes the entries that come before a tier goes. It takes the tier's files from base as they
// are, or were, there. Only the reconciler object differs: it lets go of what it applied
// (spec.deletionPolicy). Furrow cannot make the files anew, because the control plane no longer has their
// sources, and anybody may have written earlier plans. If base no longer has the files, and the hub names
// no commit, a person has to do it instead.
func (d *decider) addOrphan(t *plan.Tier, files map[string]plan.Files) error {
	d.missing = false
	last := d.lastOnBase(t)
	if d.missing {
		return nil
	}
	file := t.ReconcilerFile()
	if last == nil {
		return manifest.Problem{Reason: v1alpha1.ReasonPlanLost, Repo: t.Repo, Path: file,
			Message: fmt.Sprintf("no plan has %s any more, so it cannot be orphaned before it goes", file),
			Next:    t.Delivery().OrphanByHand(t.Object.Cluster, t.Object.Namespace, t.Object.Name)}
	}
	data := d.blob(t.Repo, last[file])
	if d.missing {
		return nil
	}
	orphaned, err := t.Delivery().Orphaned(file, data)
	if err != nil {
		return err
	}
	t.Orphan = &plan.Orphan{Rendered: orphaned.Digest}
	if files[t.Repo] == nil {
		files[t.Repo] = plan.Files{}
	}
	for _, e := range t.Entries {
		e.Hash = last[e.Path]
		f := plan.File{Hash: e.Hash, Dir: e.Mode == plan.ModeTree}
		if e.Path == file {
			e.Hash = githash.Blob(orphaned.Bytes)
			f = plan.File{Data: orphaned.Bytes, Hash: e.Hash}
		}
		t.Orphan.Entries = append(t.Orphan.Entries, e)
		files[t.Repo][e.Path] = f
	}
	return nil
}

// lastOnBase returns a tier's entries on base. If some are missing there, it returns those at the commit
// that the tier's reconciler reports; nil if they are incomplete, too.
func (d *decider) lastOnBase(t *plan.Tier) map[string]layout.Hash {
	whole := func(have map[string]layout.Hash) bool {
		return !slices.ContainsFunc(t.Paths(), func(at string) bool { return have[at].IsZero() })
	}
	if have := d.at(t.Repo, d.facts.Repos[t.Repo].Head, t.Paths()...); d.missing || whole(have) {
		return have
	}
	_, digits, _ := strings.Cut(d.reconciler(reconcilerKey(t)).Revision, "@sha1:")
	commit, err := githash.Parse(digits)
	if err != nil || !d.since(t.Repo, commit, t.Paths()...).OnBase {
		return nil
	}
	if had := d.at(t.Repo, commit, t.Paths()...); d.missing || whole(had) {
		return had
	}
	return nil
}

// write makes the plan with these tiers the one that goes to the plan branches.
func (s *Seed) write(tiers []plan.Tier, more map[string]plan.Files) {
	files := map[string]plan.Files{}
	of := s.files
	if of == nil {
		of = s.Plan.Files()
	}
	for repo, own := range of {
		files[repo] = maps.Clone(own)
	}
	for repo, own := range more {
		if files[repo] == nil {
			files[repo] = plan.Files{}
		}
		maps.Copy(files[repo], own)
	}
	changed := !slices.EqualFunc(s.Plan.Tiers, tiers, func(a, b plan.Tier) bool { return a.Orphan.Equal(b.Orphan) })
	s.planWithOrphans, s.files = s.Plan.WithTiers(tiers), files
	if changed && s.planWithOrphans.Generation <= s.previous.Plan.Generation {
		s.planWithOrphans.Generation = s.previous.Plan.Generation + 1
	}
}
