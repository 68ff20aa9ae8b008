package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/controlplane"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
)

// lintPlanted names the clusters on which seeds are planted and that no document declares any more. A
// document that was renamed, commented out or mistyped has the same effect as one that was deleted. notes say which
// plans were not read: those on servers, unless --plans asks for them.
func (c *planCommand) lintPlanted(ctx context.Context, cat *catalog.Catalog) (findings []finding, notes []string) {
	planted, err := c.planted(ctx, cat)
	if err != nil && ctx.Err() == nil {
		notes = append(notes, "plans were not read, so clusters that are planted and not declared may be missing here: "+err.Error())
	}
	if len(planted.Unread) > 0 {
		notes = append(notes, fmt.Sprintf("the plans in %s were not read, so clusters that are planted and not declared are not named; --plans reads them", strings.Join(planted.Unread, ", ")))
	}
	return undeclared(cat, planted), notes
}

// planted opens the GitOps repositories for their plans.
func (c *planCommand) planted(ctx context.Context, cat *catalog.Catalog) (controlplane.Planted, error) {
	options, err := c.session.named()
	if err != nil {
		return controlplane.Planted{}, err
	}
	tree, err := c.tree(ctx)
	if err != nil {
		return controlplane.Planted{}, err
	}
	if tree.dir != "" {
		options.Tree = tree.FS
	}
	s, err := controlplane.Open(ctx, options)
	if err != nil {
		return controlplane.Planted{}, err
	}
	planted, err := s.Planted(ctx, cat, c.plans)
	return planted, errors.Join(err, s.Close())
}

// undeclared compares the clusters of plans with those of the catalog. Clusters that seeds create need no
// document, and abandoned ones were given up on purpose.
func undeclared(cat *catalog.Catalog, planted controlplane.Planted) []finding {
	created := map[string]bool{}
	for _, p := range planted.Plans {
		for _, cluster := range p.Implied() {
			created[cluster] = true
		}
	}
	seeds := map[string]map[string]bool{}
	for _, p := range planted.Plans {
		for i := range p.Tiers {
			cluster := p.Tiers[i].Cluster
			_, declared := cat.Inventory.Clusters[cluster]
			if declared || created[cluster] || planted.Abandoned[cluster] || cat.Inventory.BrokenOrLost(cluster) != "" || !stays(p, &p.Tiers[i]) {
				continue
			}
			if seeds[cluster] == nil {
				seeds[cluster] = map[string]bool{}
			}
			seeds[cluster][p.Seed] = true
		}
	}
	var out []finding
	for _, cluster := range slices.Sorted(maps.Keys(seeds)) {
		names := slices.Sorted(maps.Keys(seeds[cluster]))
		noun := "seed "
		if len(names) > 1 {
			noun = "seeds "
		}
		if n := len(names) - 8; n > 0 {
			names = append(names[:8], fmt.Sprintf("%d more", n))
		}
		p := manifest.Problem{Reason: v1alpha1.ReasonClusterUndeclared, Object: fmt.Sprintf("Cluster %q", cluster), Cluster: cluster,
			Message: "no document declares it, and it has what was planted of " + noun + strings.Join(names, ", ") + ", which a run would propose to remove",
			Next:    fmt.Sprintf("Restore the document. To remove what is there, run 'furrow confirm' with each seed; if the cluster is gone for good, run 'furrow abandon %s', too.", cluster)}
		out = append(out, findingOf("warning", "", p))
	}
	return out
}

// stays reports whether a tier is to have objects.
func stays(p *plan.Plan, t *plan.Tier) bool {
	return slices.ContainsFunc(p.Objects(t), func(o plan.Object) bool { return !o.Leaving })
}
