package engine

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/health"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/probe"
)

// rootKey is the root that syncs a tier's reconciler file.
func rootKey(seed string, t *plan.Tier) (probe.RootKey, bool) {
	root, _, ok := strings.Cut("/"+t.Reconciler, "/furrow/"+seed+"/")
	return probe.RootKey{Cluster: t.Object.Cluster, Path: strings.TrimPrefix(root, "/")}, ok
}

// gatherRoots asks for the roots of a plan's tiers that were not asked for in this pass.
func (p *pass) gatherRoots(ctx context.Context, pl *plan.Plan) {
	if p.engine.config.Channel == nil {
		return
	}
	asked := map[probe.RootKey]bool{}
	var keys []probe.RootKey
	for i := range pl.Tiers {
		key, ok := rootKey(pl.Seed, &pl.Tiers[i])
		if _, known := p.roots[key]; ok && !known && !asked[key] {
			asked[key] = true
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return
	}
	found, err := p.engine.config.Channel.Roots(ctx, keys)
	for _, key := range keys {
		root, ok := found[key]
		if err != nil || !ok {
			root = health.Root{}
		}
		if err != nil {
			root.Message = err.Error()
		}
		p.roots[key] = root
	}
}

// kustomizationFiles in a root's path make it list its files itself.
var kustomizationFiles = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// lookAtRoot finds out what keeps the root from syncing a new reconciler file:
// first what Git shows, then what the cluster does.
func (p *pass) lookAtRoot(ctx context.Context, r *repoState, seed string, t *plan.Tier, f *release.TierFacts) error {
	key, ok := rootKey(seed, t)
	if !ok {
		return nil
	}
	unfit, err := r.rootInGit(ctx, key)
	if err != nil {
		return err
	}
	f.RootUnfit = unfit
	if unfit == "" {
		f.RootUnfit, f.RootUnknown = p.rootOnCluster(r, seed, t)
	}
	return nil
}

// rootInGit says what is wrong with the root's directory on base.
func (r *repoState) rootInGit(ctx context.Context, key probe.RootKey) (unfit string, err error) {
	paths := []string{key.Path}
	for _, name := range kustomizationFiles {
		paths = append(paths, path.Join(key.Path, name))
	}
	have, err := r.at(r.head, paths...)
	if err != nil {
		return "", err
	}
	if key.Path != "" && have[key.Path] == "" {
		return fmt.Sprintf("branch %s of %s has no directory %s for the root of cluster %s to sync. Set the root up first (flux bootstrap makes the directory), or commit a README.md there", r.base, r.name, key.Path, key.Cluster), nil
	}
	for _, at := range paths[1:] {
		if have[at] != "" {
			return fmt.Sprintf("%s on branch %s of %s keeps the root from syncing files that it does not list. Remove it: Flux then syncs the whole directory", at, r.base, r.name), nil
		}
	}
	return r.folderProblem(ctx, key.Path)
}

// rootOnCluster says what is wrong with the root on the cluster, or why that is
// not known; nothing where there is no channel to ask.
func (p *pass) rootOnCluster(r *repoState, seed string, t *plan.Tier) (unfit, unknown string) {
	key, ok := rootKey(seed, t)
	if !ok || p.engine.config.Channel == nil {
		return "", ""
	}
	want := health.WantRoot{Cluster: key.Cluster, Path: key.Path, URL: r.spec.URL, Branch: r.base}
	if cl, known := p.catalog.Inventory.Clusters[key.Cluster]; known {
		want.Source = cl.Source.Namespace + "/" + cl.Source.Name
	}
	root := p.roots[key]
	return health.RootUnfit(root, want), health.RootUnknown(root, want)
}

// folderProblem will check the whole directory.
func (r *repoState) folderProblem(context.Context, string) (string, error) { return "", nil }
