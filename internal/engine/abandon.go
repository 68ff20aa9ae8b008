package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/furrow-dev/furrow/internal/core/health"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/core/template"
	"github.com/furrow-dev/furrow/internal/git"
)

// A person gives a cluster up by a marker that names the owner of the plans, so that
// engines of other owners neither obey nor delete it. A marker on any repository
// counts on all of them: a push that reached only some of them is no half a wish.

// scope is what the engine's markers of clusters lie below: two control planes of one name have different ones.
func (e *Engine) scope() string { return scopeOf(e.self) }

func scopeOf(of plan.Identity) string { return path.Join(of.Owner, of.ShortOrigin()) }

// Abandon gives a cluster up that never answers again: what is to go from it no
// longer waits for it.
func (e *Engine) Abandon(ctx context.Context, cluster string) error {
	p, err := e.gather(ctx)
	if err != nil {
		return err
	}
	marks, err := p.marksOf(cluster)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(marks)) {
		r, ok := p.repos[name]
		if !ok {
			return fmt.Errorf("cluster %q: something of it is in GitOps repository %q, which is no longer declared. Declare it again, and ask again", cluster, name)
		}
		if r.err != nil {
			return r.err
		}
		branch := layout.AbandonBranch(r.base, e.scope(), cluster)
		if _, marked := r.refs[branch]; marked {
			continue
		}
		if err := r.mark(ctx, branch, marks[name]); err != nil {
			return err
		}
	}
	return nil
}

// marksOf are the repositories in which plans of this owner have something on a
// cluster, each with a commit to mark there: that of such a plan.
func (p *pass) marksOf(cluster string) (map[string]git.Hash, error) {
	marks := map[string]git.Hash{}
	unread := p.unread()
	for _, seed := range slices.Sorted(maps.Keys(p.previous)) {
		s := p.previous[seed]
		switch {
		case s.plan == nil:
			unread = errors.Join(unread, s.err)
		case p.engine.owns(s.plan):
			for _, repo := range reposWith(s.plan, cluster) {
				if marks[repo].IsZero() {
					marks[repo] = s.commits[repo]
				}
			}
		}
	}
	if len(marks) > 0 {
		return marks, nil
	}
	return nil, errors.Join(fmt.Errorf("no plan of %s has anything on a cluster %q. See 'furrow status' for the clusters that there are, or name another owner with --id and --environment", p.engine.self, cluster), unread)
}

// reposWith are the repositories of the tiers that need a cluster.
func reposWith(pl *plan.Plan, cluster string) []string {
	repos := map[string]bool{}
	for i := range pl.Tiers {
		if t := &pl.Tiers[i]; t.Cluster == cluster || t.Object.Cluster == cluster {
			repos[t.Repo] = true
		}
	}
	return slices.Sorted(maps.Keys(repos))
}

// UndoAbandon takes that back. What was orphaned meanwhile stays so.
func (e *Engine) UndoAbandon(ctx context.Context, cluster string) error {
	p, err := e.gather(ctx)
	if err != nil {
		return err
	}
	undone := false
	for _, name := range slices.Sorted(maps.Keys(p.repos)) {
		r := p.repos[name]
		if r.err != nil {
			return r.err
		}
		branch := layout.AbandonBranch(r.base, e.scope(), cluster)
		at, marked := r.refs[branch]
		if !marked {
			continue
		}
		if err := r.finish(ctx, []git.Update{{Ref: branch, Old: at}}); err != nil {
			return err
		}
		undone = true
	}
	if !undone {
		return fmt.Errorf("cluster %q is not abandoned for %s, so there is nothing to undo. See 'furrow status', or name another owner with --id and --environment", cluster, e.self)
	}
	return nil
}

// gatherAbandoned finds the clusters that were given up.
func (p *pass) gatherAbandoned() {
	for _, r := range p.repos {
		for branch := range r.refs {
			if cluster, ok := layout.AbandonedCluster(r.base, p.engine.scope(), branch); ok {
				p.abandoned[cluster] = true
			}
		}
	}
}

// place is a cluster that is asked for something.
func (p *pass) place(cluster string) health.Place {
	return health.Place{Cluster: cluster, Abandoned: p.abandoned[cluster]}
}

// dropAbandoned deletes the markers of clusters on which no plan of this owner has
// anything any more. While a plan or a repository cannot be read that is not known.
func (p *pass) dropAbandoned(ctx context.Context) {
	needed := map[string]bool{}
	for cluster := range p.abandoned {
		needed[cluster] = p.needs(cluster)
	}
	for _, name := range slices.Sorted(maps.Keys(p.repos)) {
		r := p.repos[name]
		var updates []git.Update
		for _, branch := range slices.Sorted(maps.Keys(r.refs)) {
			if cluster, ok := layout.AbandonedCluster(r.base, p.engine.scope(), branch); ok && !needed[cluster] {
				updates = append(updates, git.Update{Ref: branch, Old: r.refs[branch]})
			}
		}
		if err := p.push(ctx, r, updates); git.IsLeaseRefused(err) {
			p.raced = true
		} else if err != nil {
			r.fails(err, p.engine.config.Now)
		}
	}
}

// needs says that some plan of this owner, before this pass or by it, has something
// on a cluster, or may have.
func (p *pass) needs(cluster string) bool {
	for _, r := range p.repos {
		if r.err != nil {
			return true
		}
	}
	for _, s := range p.previous {
		if s.plan == nil || p.engine.owns(s.plan) && len(reposWith(s.plan, cluster)) > 0 {
			return true
		}
	}
	for _, d := range p.seeds {
		if d.plan != nil && len(reposWith(d.plan, cluster)) > 0 {
			return true
		}
	}
	return false
}

// orphan gives tiers that go from an abandoned cluster the entries that come before
// that, where they are due. The plan then has them for good; whether they are in
// force is decided anew in each pass.
func (p *pass) orphan(ctx context.Context, d *seedDecision) error {
	d.record = d.plan
	concerned := slices.ContainsFunc(d.plan.Tiers, func(t plan.Tier) bool { return t.Orphan != nil || p.abandoned[t.Cluster] })
	if !concerned || d.planned == nil || d.err != nil {
		return nil // with an error nothing leaves
	}
	record, now := slices.Clone(d.plan.Tiers), slices.Clone(d.plan.Tiers)
	files := map[string]map[string]plan.File{}
	for i := range record {
		t := &record[i]
		due, err := p.orphansFirst(ctx, d.name, t)
		if err != nil {
			return err
		}
		if t.Orphan == nil && due || t.Orphan != nil && d.files != nil {
			if err := p.addOrphan(ctx, d.planned, t, files); err != nil {
				return fmt.Errorf("seed %q, %s: %w", d.name, t, err)
			}
		}
		now[i] = *t
		if due {
			now[i] = t.Orphaning()
		}
	}
	if len(files) > 0 {
		p.record(d, record, files)
	}
	d.plan = d.record.WithTiers(now)
	return nil
}

// orphansFirst gathers what is known of a tier's reconciler object, for the decision.
func (p *pass) orphansFirst(ctx context.Context, seed string, t *plan.Tier) (bool, error) {
	r, ok := p.repos[t.Repo]
	if !ok || r.err != nil || !t.Gone() || t.Object.Cluster == t.Cluster || !p.abandoned[t.Cluster] {
		return false, nil
	}
	have, err := r.at(r.head, t.ReconcilerFile())
	if err != nil {
		return false, err
	}
	base := release.GripNone
	if blob := have[t.ReconcilerFile()]; blob != "" {
		object, err := p.engine.reconcilerOn(ctx, r, t.ReconcilerFile(), blob)
		if err != nil {
			return false, err
		}
		base = gripOf(object.spec)
	}
	name := layout.Tier{Seed: seed, Cluster: t.Cluster, Ordinal: t.Ordinal}
	proposal, open := r.proposals[layout.TierBranch(r.base, name)]
	return release.OrphansFirst(base, p.gripOn(t), open && proposal.Wants == t.Wants()), nil
}

func gripOf(spec map[string]any) release.Grip {
	if template.Orphans(spec) {
		return release.GripOrphans
	}
	return release.GripHolds
}

// gripOn is that of the live object. A hub that was abandoned, too, is not waited for.
func (p *pass) gripOn(t *plan.Tier) release.Grip {
	live := p.reconcilers[reconcilerKey(t)]
	switch {
	case p.channelErr != nil:
		return release.GripUnknown
	case !live.Known && p.abandoned[t.Object.Cluster]:
		return release.GripNone
	case !live.Known:
		return release.GripUnknown
	case !live.Found:
		return release.GripNone
	}
	return gripOf(live.Spec)
}

// addOrphan makes the entries that come before a tier goes of the last plan that had the tier.
func (p *pass) addOrphan(ctx context.Context, planned *plannedSeed, t *plan.Tier, files map[string]map[string]plan.File) error {
	r := p.repos[t.Repo]
	last, err := r.lastPlanned(t, planned)
	if err != nil {
		return err
	}
	blob, err := git.ParseHash(string(last[t.ReconcilerFile()]))
	if err != nil {
		return err
	}
	data, err := r.Mirror.Blob(ctx, blob)
	if err != nil {
		return err
	}
	orphaned, err := template.Orphaned(t.ReconcilerFile(), data)
	if err != nil {
		return err
	}
	if files[t.Repo] == nil {
		files[t.Repo] = map[string]plan.File{}
	}
	t.Orphan = &plan.Orphan{Rendered: orphaned.Digest}
	for _, e := range t.Entries {
		e.Hash = last[e.Path]
		f := plan.File{Hash: e.Hash, Dir: e.Mode == plan.ModeTree}
		if e.Path == t.ReconcilerFile() {
			e.Hash = layout.BlobHash(orphaned.Bytes)
			f = plan.File{Data: orphaned.Bytes, Hash: e.Hash}
		}
		t.Orphan.Entries = append(t.Orphan.Entries, e)
		files[t.Repo][e.Path] = f
	}
	return nil
}

// lastPlanned is what the newest plan that has the tier has at its paths.
func (r *repoState) lastPlanned(t *plan.Tier, planned *plannedSeed) (map[string]layout.Hash, error) {
	n := 0
	for commit, err := range r.Mirror.Log(planned.commits[r.name], git.Hash{}) {
		if err != nil {
			return nil, err
		}
		had, err := r.at(commit.Hash, t.Paths()...)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(t.Paths(), func(at string) bool { return had[at] == "" }) {
			return had, nil
		}
		if n++; n == maxPlanHistory {
			break
		}
	}
	return nil, fmt.Errorf("no plan has %s any more, so it cannot be orphaned before it goes. Set spec.deletionPolicy of Kustomization %s/%s on cluster %s to Orphan by hand", t.ReconcilerFile(), t.Object.Namespace, t.Object.Name, t.Object.Cluster)
}

// record makes the plan with these tiers the one that goes to the plan branches.
func (p *pass) record(d *seedDecision, tiers []plan.Tier, more map[string]map[string]plan.File) {
	files := d.plan.Files()
	if d.files != nil {
		files = map[string]map[string]plan.File{}
		for repo, of := range d.files {
			files[repo] = maps.Clone(of)
		}
	}
	for repo, of := range more {
		if files[repo] == nil {
			files[repo] = map[string]plan.File{}
		}
		maps.Copy(files[repo], of)
	}
	changed := !slices.EqualFunc(d.plan.Tiers, tiers, func(a, b plan.Tier) bool { return a.Orphan.Equal(b.Orphan) })
	d.record, d.files = d.plan.WithTiers(tiers), files
	if changed && d.record.Generation <= d.planned.plan.Generation {
		d.record.Generation = d.planned.plan.Generation + 1
	}
}
