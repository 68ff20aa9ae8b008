package controlplane

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/pass"
	"github.com/furrow-dev/furrow/internal/core/plan"
)

// Planted is what the plans of a control plane have in GitOps repositories.
type Planted struct {
	// Plans are those of this control plane, of all its environments.
	Plans []*plan.Plan
	// Abandoned are the clusters that a person has given up.
	Abandoned map[string]bool
	// Unread are the repositories that were left out.
	Unread []string
}

// Planted reads the plans in the GitOps repositories of a catalog: in those that are directories of this
// machine, and with remote also in those on servers. What cannot be read is an error, and the rest is
// returned all the same.
func (s *Session) Planted(ctx context.Context, c *catalog.Catalog, remote bool) (Planted, error) {
	out := Planted{Abandoned: map[string]bool{}}
	self, _, err := s.identity(ctx)
	if err != nil {
		return out, err
	}
	var failed error
	for _, name := range slices.Sorted(maps.Keys(c.Repos)) {
		spec := c.Repos[name].Spec
		if _, local := catalog.LocalDir(s.resolve(spec.URL)); !local && !remote {
			out.Unread = append(out.Unread, name)
			continue
		}
		if _, err = s.openRepo(ctx, name, spec); err == nil {
			err = out.read(ctx, s.repos[name], self)
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("GitOpsRepo %q: %w", name, manifest.About(manifest.Problem{Repo: name}, err)))
		}
	}
	return out, failed
}

func (p *Planted) read(ctx context.Context, r *Repo, self plan.Identity) error {
	refs, err := r.Mirror.Fetch(ctx, r.Base)
	if err != nil {
		return err
	}
	for _, branch := range slices.Sorted(maps.Keys(refs)) {
		if cluster, ok := layout.AbandonedCluster(r.Base, pass.MarkerScope(self), branch); ok {
			p.Abandoned[cluster] = true
		}
		seed, ok := layout.PlanSeed(r.Base, branch)
		if !ok {
			continue
		}
		if of := r.PlanOf(ctx, refs, seed); of != nil && of.Origin == self.Origin {
			p.Plans = append(p.Plans, of)
		}
	}
	return nil
}
