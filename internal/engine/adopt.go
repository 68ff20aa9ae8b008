package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/githash"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/pass"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
)

// ForeignPlan is a plan of another control plane, in one GitOps repository.
type ForeignPlan struct {
	Seed, Repo string
	Of         plan.Identity
	// Revision of that control plane that the plan was made from.
	Revision string
	// Held reports whether this control plane has a seed of that name.
	Held bool

	commit git.Hash
	plan   *plan.Plan
}

// AdoptSelection says which plans are taken over: those of the named seeds or, without any, all of
// one control plane.
type AdoptSelection struct {
	Seeds []string
	// Owner, and the beginning of the Origin where several control planes have that owner.
	Owner, Origin string
}

// Foreign lists the plans of other control planes, by seed and repository.
func (e *Engine) Foreign(ctx context.Context) ([]ForeignPlan, error) {
	o, err := e.observe(ctx)
	if err != nil {
		return nil, err
	}
	return o.foreign(ctx)
}

// foreign returns the plans of other control planes, by seed. It fails unless all repositories
// could be read: a plan that is not listed counts as not there.
func (o *observation) foreign(ctx context.Context) ([]ForeignPlan, error) {
	if err := o.unread(); err != nil {
		return nil, err
	}
	var out []ForeignPlan
	for _, name := range slices.Sorted(maps.Keys(o.repos)) {
		r := o.repos[name]
		for _, branch := range slices.Sorted(maps.Keys(r.refs)) {
			seed, ok := layout.PlanSeed(r.facts.Base, branch)
			if !ok {
				continue
			}
			read, err := o.engine.readPlan(ctx, r, seed, r.refs[branch])
			if err != nil {
				return nil, err
			}
			if _, held := o.engine.loaded.Seed(seed); !o.engine.owns(read) {
				out = append(out, ForeignPlan{seed, name, read.Identity(), read.Revision, held, r.refs[branch], read})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b ForeignPlan) int { return strings.Compare(a.Seed, b.Seed) })
	return out, nil
}

// Adopt takes plans of another control plane over, with what goes with them: from the next pass on
// they are this control plane's, and the other one, if it is still there, leaves them alone. What
// was adopted when it fails stays so, and asking again goes on.
func (e *Engine) Adopt(ctx context.Context, which AdoptSelection) ([]ForeignPlan, error) {
	o, err := e.observe(ctx)
	if err != nil {
		return nil, err
	}
	all, err := o.foreign(ctx)
	if err != nil {
		return nil, err
	}
	chosen, err := which.choose(all)
	if err != nil {
		return nil, err
	}
	left := map[plan.Identity]int{}
	for _, f := range all {
		left[f.Of]++
	}
	for _, f := range chosen {
		if err := o.adopt(ctx, f); err != nil {
			return nil, fmt.Errorf("adopting the plan of seed %q in GitOps repository %q: %w", f.Seed, f.Repo, err)
		}
		if left[f.Of]--; left[f.Of] > 0 {
			continue
		}
		if err := o.adoptRest(ctx, f.Of); err != nil {
			return nil, err
		}
	}
	return chosen, nil
}

// choose returns the plans that are selected. All must be of one control plane, and each seed that
// is named must have one: to adopt a plan that nobody meant is hard to take back.
func (which AdoptSelection) choose(all []ForeignPlan) ([]ForeignPlan, error) {
	var chosen []ForeignPlan
	seeds, of := map[string]bool{}, map[string]bool{}
	for _, f := range all {
		named := slices.Contains(which.Seeds, f.Seed) || len(which.Seeds) == 0
		if !named || which.Owner != "" && f.Of.Owner != which.Owner || !strings.HasPrefix(f.Of.ShortOrigin(), which.Origin) {
			continue
		}
		chosen = append(chosen, f)
		seeds[f.Seed], of[f.Of.String()] = true, true
	}
	for _, seed := range which.Seeds {
		if !seeds[seed] {
			return nil, manifest.Problem{Reason: v1alpha1.ReasonUnknownSeed, Seed: seed, Message: fmt.Sprintf("no other control plane has such a plan of a seed %q", seed), Next: "'furrow adopt' without arguments lists the plans of others"}
		}
	}
	switch {
	case len(chosen) == 0:
		return nil, manifest.Problem{Reason: v1alpha1.ReasonNothingToDo, Message: fmt.Sprintf("no plan belongs to %s", plan.Identity{Owner: which.Owner, Origin: which.Origin}), Next: "'furrow adopt' without arguments lists the plans of others"}
	case len(of) > 1:
		return nil, manifest.Problem{Reason: v1alpha1.ReasonInvalidArgument, Message: fmt.Sprintf("these plans belong to several control planes: %s", strings.Join(slices.Sorted(maps.Keys(of)), ", ")), Next: "Name one with --from and --origin"}
	}
	return chosen, nil
}

// adopt writes the plan with this control plane as its owner, and nothing else changed: it is
// grafted onto the foreign commit, so the tree and the history stay. A plan of a newer version is
// refused, because writing it would lose the fields that this version does not know.
func (o *observation) adopt(ctx context.Context, f ForeignPlan) error {
	r := o.repos[f.Repo]
	branch := layout.PlanBranch(r.facts.Base, f.Seed)
	if f.plan.Version.Newer(plan.Current) {
		return manifest.Problem{Reason: v1alpha1.ReasonUnsupportedVersion, Seed: f.Seed, Repo: f.Repo, Path: layout.PlanFile, Message: fmt.Sprintf("branch %s has a plan of version %s, and this Furrow writes version %s, without the fields that are newer", branch, f.plan.Version, plan.Current), Next: "Adopt it with the version of Furrow that wrote it, or a newer one"}
	}
	taken := *f.plan
	taken.Owner, taken.Origin = o.engine.self.Owner, o.engine.self.Origin
	files, err := taken.Encode()
	if err != nil {
		return err
	}
	if _, err := r.Mirror.WriteTree(files); err != nil {
		return err
	}
	var edits []git.Edit
	for _, at := range slices.Sorted(maps.Keys(files)) {
		edits = append(edits, git.Edit{Path: at, Hash: githash.Blob(files[at]), Mode: git.ModeFile})
	}
	message := forge.AddTrailers(fmt.Sprintf("Adopt the plan of seed %s\n\nIt belonged to control plane %s.\n", f.Seed, f.Of),
		[]forge.Trailer{{Key: forge.TrailerSeed, Value: f.Seed}, revisionTrailer(f.Revision)})
	whole, err := r.Mirror.Graft(f.commit, edits, git.CommitMeta{Author: o.engine.person(), Message: message})
	if err != nil {
		return err
	}
	objects, err := r.Mirror.NewObjects(whole.Tree, f.commit)
	if err != nil {
		return err
	}
	return r.move(ctx, git.Update{Ref: branch, Old: f.commit, New: whole.Commit, Objects: append(objects, whole.Commit)})
}

// adoptRest is for what a control plane has beside plans, once it has no plan any more: its status
// goes, and the clusters that it gave up stay so, under the name of the one that adopts. Each
// repository changes in one push, so that no cluster is between the two.
func (o *observation) adoptRest(ctx context.Context, of plan.Identity) error {
	for _, name := range slices.Sorted(maps.Keys(o.repos)) {
		r := o.repos[name]
		var updates []git.Update
		status := layout.StatusBranch(r.facts.Base, of.Owner)
		if at := r.refs[status]; !at.IsZero() {
			had, err := r.readStatus(ctx, at)
			if err != nil {
				return err
			}
			if had != nil && IdentityOf(had) == of {
				updates = append(updates, git.Update{Ref: status, Old: at})
			}
		}
		for _, branch := range slices.Sorted(maps.Keys(r.refs)) {
			cluster, ok := layout.AbandonedCluster(r.facts.Base, pass.MarkerScope(of), branch)
			if !ok {
				continue
			}
			updates = append(updates, git.Update{Ref: branch, Old: r.refs[branch]})
			if mine := layout.AbandonBranch(r.facts.Base, pass.MarkerScope(o.engine.self), cluster); r.refs[mine].IsZero() {
				updates = append(updates, git.Update{Ref: mine, New: r.refs[branch]})
			}
		}
		if len(updates) == 0 {
			continue
		}
		if err := r.move(ctx, updates...); err != nil {
			return inRepo(name, err)
		}
	}
	return nil
}
