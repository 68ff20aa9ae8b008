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

// Foreign lists the plans of other control planes, by seed and repository. problems are the plans that cannot be read,
// whoever they belong to.
func (e *Engine) Foreign(ctx context.Context) (plans []ForeignPlan, problems manifest.Problems, err error) {
	o, err := e.observe(ctx)
	if err != nil {
		return nil, nil, err
	}
	return o.foreign()
}

// foreign returns the plans of other control planes, by seed, and those that cannot be read. It fails unless all
// repositories could be read: a plan that is not listed counts as not there.
func (o *observation) foreign() (plans []ForeignPlan, problems manifest.Problems, err error) {
	if err := o.unread(); err != nil {
		return nil, nil, err
	}
	for _, b := range o.facts.Plans {
		if b.Plan == nil {
			problems = append(problems, manifest.AsProblem(inRepo(b.Repo, b.Failure)))
		} else if _, held := o.engine.loaded.Seed(b.Seed); !o.engine.owns(b.Plan) {
			plans = append(plans, ForeignPlan{b.Seed, b.Repo, b.Plan.Identity(), b.Plan.Revision, held, b.Commit, b.Plan})
		}
	}
	slices.SortStableFunc(plans, func(a, b ForeignPlan) int { return strings.Compare(a.Seed, b.Seed) })
	return plans, problems, nil
}

// Adopt takes plans of another control plane over, with what goes with them: from the next pass on they are this
// control plane's, and the other one, if it is still there, leaves them alone. problems are the plans that cannot be
// read or written; one of them may be the other control plane's, which therefore keeps its status and what it gave up.
// What was adopted when Adopt fails stays so, and asking again goes on.
func (e *Engine) Adopt(ctx context.Context, which AdoptSelection) (adopted []ForeignPlan, problems manifest.Problems, err error) {
	o, err := e.observe(ctx)
	if err != nil {
		return nil, nil, err
	}
	all, problems, err := o.foreign()
	if err != nil {
		return nil, nil, err
	}
	chosen, err := which.choose(all, problems)
	if err != nil {
		return nil, problems, err
	}
	left := map[plan.Identity]int{}
	for _, f := range all {
		left[f.Of]++
	}
	unreadable := len(problems) > 0
	for _, f := range chosen {
		if err := o.checkVersion(f); err != nil {
			problems = append(problems, manifest.AsProblem(inRepo(f.Repo, err)))
			continue
		}
		if err := o.adopt(ctx, f); err != nil {
			return adopted, problems, fmt.Errorf("adopting the plan of seed %q in GitOps repository %q: %w", f.Seed, f.Repo, err)
		}
		adopted = append(adopted, f)
		if left[f.Of]--; left[f.Of] > 0 || unreadable {
			continue
		}
		if err := o.adoptRest(ctx, f.Of); err != nil {
			return adopted, problems, err
		}
	}
	return adopted, problems, nil
}

// checkVersion refuses a plan of a newer version: writing it would lose the fields that this version does not know.
func (o *observation) checkVersion(f ForeignPlan) error {
	if !f.plan.Version.Newer(plan.Current) {
		return nil
	}
	branch := layout.PlanBranch(o.repos[f.Repo].facts.Base, f.Seed)
	return manifest.Problem{Reason: v1alpha1.ReasonUnsupportedVersion, Seed: f.Seed, Repo: f.Repo, Path: layout.PlanFile,
		Message: fmt.Sprintf("the plan of seed %q on branch %s is of version %s, and this Furrow writes version %s, without the fields that are newer", f.Seed, branch, f.plan.Version, plan.Current),
		Next:    "Adopt it with the version of Furrow that wrote it, or a newer one"}
}

// choose returns the plans that are selected. All must be of one control plane, and each seed that
// is named must have one, if only one that cannot be read: to adopt a plan that nobody meant is hard to undo.
func (which AdoptSelection) choose(all []ForeignPlan, unreadable manifest.Problems) ([]ForeignPlan, error) {
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
	for _, p := range unreadable {
		seeds[p.Seed] = true
	}
	for _, seed := range which.Seeds {
		if !seeds[seed] {
			return nil, manifest.Problem{Reason: v1alpha1.ReasonUnknownSeed, Seed: seed, Message: fmt.Sprintf("no other control plane has such a plan of a seed %q", seed), Next: "'furrow adopt' without arguments lists the plans of others"}
		}
	}
	switch {
	case len(chosen) == 0 && len(unreadable) == 0:
		return nil, manifest.Problem{Reason: v1alpha1.ReasonNothingToDo, Message: fmt.Sprintf("no plan belongs to %s", plan.Identity{Owner: which.Owner, Origin: which.Origin}), Next: "'furrow adopt' without arguments lists the plans of others"}
	case len(of) > 1:
		return nil, manifest.Problem{Reason: v1alpha1.ReasonInvalidArgument, Message: fmt.Sprintf("these plans belong to several control planes: %s", strings.Join(slices.Sorted(maps.Keys(of)), ", ")), Next: "Name one with --from and --origin"}
	}
	return chosen, nil
}

// adopt writes the plan with this control plane as its owner, and nothing else changed: it is
// grafted onto the foreign commit, so the tree and the history stay.
func (o *observation) adopt(ctx context.Context, f ForeignPlan) error {
	r := o.repos[f.Repo]
	taken := *f.plan
	taken.Owner, taken.Origin = o.engine.self.Owner, o.engine.self.Origin
	if o.lacks(taken.Revision) {
		taken.Revision = "" // a commit of another repository, which nothing here can follow
	}
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
	return r.move(ctx, git.Update{Ref: layout.PlanBranch(r.facts.Base, f.Seed), Old: f.commit, New: whole.Commit, Objects: append(objects, whole.Commit)})
}

// adoptRest is for what a control plane has beside plans, once it has no plan any more: its status
// goes, and the clusters that it gave up stay so, under the name of the one that adopts. Each
// repository changes in one push, so no cluster is between the two.
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
