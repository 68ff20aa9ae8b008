package engine

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"

	"github.com/furrow-dev/furrow/internal/core/health"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/probe"
)

// rootKey is the root that syncs a tier's reconciler file.
func (p *pass) rootKey(seed string, t *plan.Tier) (probe.RootKey, bool) {
	at := strings.LastIndex("/"+t.Reconciler, "/furrow/"+seed+"/")
	if at < 0 {
		return probe.RootKey{}, false
	}
	key := probe.RootKey{Cluster: t.Object.Cluster, Path: t.Reconciler[:max(at-1, 0)]}
	if cl, known := p.catalog.Inventory.Clusters[key.Cluster]; known {
		key.Source = cl.Source.Namespace + "/" + cl.Source.Name
	}
	return key, true
}

// gatherRoots asks for the roots of a plan's tiers that were not asked for in this pass.
func (p *pass) gatherRoots(ctx context.Context, pl *plan.Plan) {
	if p.engine.config.Channel == nil {
		return
	}
	asked := map[probe.RootKey]bool{}
	var keys []probe.RootKey
	for i := range pl.Tiers {
		key, ok := p.rootKey(pl.Seed, &pl.Tiers[i])
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

// lookAtRoot finds out what keeps the root from syncing a new reconciler file:
// first what Git shows, then what the cluster does.
func (p *pass) lookAtRoot(ctx context.Context, r *repoState, seed string, t *plan.Tier, f *release.TierFacts) error {
	key, ok := p.rootKey(seed, t)
	if !ok {
		return nil
	}
	unfit, err := r.rootInGit(ctx, key, t)
	if err != nil {
		return err
	}
	f.RootUnfit = unfit
	if unfit == "" {
		f.RootUnfit, f.RootUnknown = p.rootOnCluster(r, seed, t, f.Base != release.BaseNothing)
	}
	return nil
}

// sourceIgnore is the file by which people keep source-controller from files.
const sourceIgnore = ".sourceignore"

// rootInGit says what is wrong with the root's directory on base, which Flux builds as a whole.
func (r *repoState) rootInGit(ctx context.Context, key probe.RootKey, t *plan.Tier) (unfit string, err error) {
	dir := cmp.Or(key.Path, ".")
	have, err := r.at(r.head, dir, sourceIgnore)
	if err != nil {
		return "", err
	}
	if have[dir] == "" {
		return fmt.Sprintf("branch %s of %s has no directory %s for the root of cluster %s to sync. Set the root up first (flux bootstrap makes the directory), or commit a README.md there", r.base, r.name, key.Path, key.Cluster), nil
	}
	if have[sourceIgnore] != "" {
		return "", nil // which files Flux reads is for Flux to tell
	}
	folder, err := r.folder(ctx, key.Path, have[dir])
	if err != nil {
		return "", err
	}
	if n := len(folder.Problems); n > 0 {
		unfit = fmt.Sprintf("branch %s of %s: %s", r.base, r.name, folder.Problems[0])
		if n > 1 {
			unfit += fmt.Sprintf("; and %d more like it", n-1)
		}
		return unfit, nil
	}
	object := manifest.ID{Group: kustomizev1.GroupVersion.Group, Kind: kustomizev1.KustomizationKind, Namespace: t.Object.Namespace, Name: t.Object.Name}
	if claim, claimed := folder.Claims(object, t.Reconciler); claimed {
		unfit = fmt.Sprintf("branch %s of %s: %s", r.base, r.name, claim)
	}
	return unfit, nil
}

// hadRoot says that the root is found under which a tier's reconciler object was, or
// that there never was one: base does not even have its directory.
func (p *pass) hadRoot(r *repoState, seed string, t *plan.Tier) (bool, error) {
	key, ok := p.rootKey(seed, t)
	if !ok || p.roots[key].Found {
		return true, nil
	}
	dir := cmp.Or(key.Path, ".")
	have, err := r.at(r.head, dir)
	return err == nil && have[dir] == "", err
}

// folder reads what others have in the directory of a root, whose tree is given.
// What is below furrow/ there is left out: only we write it.
func (r *repoState) folder(ctx context.Context, root string, tree layout.Hash) (layout.Folder, error) {
	key := folderKey{root, tree}
	if known, ok := r.folders.get(key); ok {
		return known, nil
	}
	all, err := r.Mirror.FS(ctx, r.head)
	if err != nil {
		return layout.Folder{}, err
	}
	var names []string
	err = fs.WalkDir(all, cmp.Or(root, "."), func(at string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && at == path.Join(root, "furrow"):
			return fs.SkipDir
		case entry.Type().IsRegular() && layout.FolderFile(root, at):
			names = append(names, at)
		}
		return nil
	})
	if err == nil && len(names) > 0 {
		err = r.Mirror.Prefetch(ctx, r.head, names...)
	}
	files := make(map[string][]byte, len(names))
	for _, at := range names {
		if err == nil {
			files[at], err = fs.ReadFile(all, at)
		}
	}
	if err != nil {
		return layout.Folder{}, fmt.Errorf("reading the directory %q of the root: %w", root, err)
	}
	folder := layout.ReadFolder(root, files)
	r.folders.put(key, folder)
	return folder, nil
}

// rootOnCluster says what is wrong with the root on the cluster, or why that is
// not known; nothing where there is no channel to ask. An update may be what mends
// a root that cannot build, and is let through.
func (p *pass) rootOnCluster(r *repoState, seed string, t *plan.Tier, update bool) (unfit, unknown string) {
	key, ok := p.rootKey(seed, t)
	if !ok || p.engine.config.Channel == nil {
		return "", ""
	}
	want := health.WantRoot{Cluster: key.Cluster, Path: key.Path, Source: key.Source, URL: r.spec.URL, Branch: r.base}
	root := p.roots[key]
	if update {
		root.Ready = ""
	}
	return health.RootUnfit(root, want), health.RootUnknown(root, want)
}
