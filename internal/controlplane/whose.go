package controlplane

import (
	"context"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/git"
)

// Owners finds the owners of the proposals in one repository.
type Owners struct {
	repo  *Repo
	refs  git.Refs
	known map[string]plan.Identity
}

// Owners returns the owners of the proposals in a repository with these refs.
func (r *Repo) Owners(refs git.Refs) *Owners {
	return &Owners{repo: r, refs: refs, known: map[string]plan.Identity{}}
}

// Of returns the owner of a seed's plan in the repository; the empty identity if there is no
// plan, or none that can be read.
func (o *Owners) Of(ctx context.Context, seed string) (plan.Identity, error) {
	if of, ok := o.known[seed]; ok {
		return of, nil
	}
	commit, ok := o.refs[layout.PlanBranch(o.repo.Base, seed)]
	if !ok {
		return plan.Identity{}, nil
	}
	tree, err := o.repo.Mirror.FS(ctx, commit)
	if err != nil {
		return plan.Identity{}, err
	}
	tree = git.Bounded(tree, git.PlanBounds)
	read, err := plan.Decode(tree)
	if err != nil {
		read = &plan.Plan{} // a run reports it; the owner is unknown
	}
	o.known[seed] = read.Identity()
	return read.Identity(), ctx.Err()
}
