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
	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/internal/probe"
)

// rootKey is the root that syncs a tier's reconciler file.
func (p *pass) rootKey(seed string, t *plan.Tier) (probe.RootKey, bool) {
	at := strings.LastIndex("/"+t.ReconcilerFile(), "/furrow/"+seed+"/")
	if at < 0 {
		return probe.RootKey{}, false
	}
	key := probe.RootKey{Cluster: t.Object.Cluster, Path: t.ReconcilerFile()[:max(at-1, 0)]}
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
func (p *pass) lookAtRoot(ctx context.Context, r *repoState, pl *plan.Plan, t *plan.Tier, f *release.TierFacts) error {
	key, ok := p.rootKey(pl.Seed, t)
	if !ok {
		return nil
	}
	ignores, err := r.readFile(ctx, sourceIgnore)
	if err != nil {
		return err
	}
	if f.RootUnfit, err = r.rootInGit(ctx, key, t, ignores, p.roots[key].Ignore); err != nil {
		return err
	}
	if f.RootUnfit == "" {
		f.RootUnfit, f.RootUnknown = p.rootOnCluster(r, pl.Seed, t, f.Base != release.BaseNothing)
	}
	if f.RootUnfit == "" {
		f.RootUnfit = p.leftOut(r, key, pl, t, ignores)
	}
	return nil
}

// leftOut says which file of a tier Flux would not read, and why: it would take a tier
// for healthy that is not whole. ignores are the lines of .sourceignore.
func (p *pass) leftOut(r *repoState, key probe.RootKey, pl *plan.Plan, t *plan.Tier, ignores string) string {
	root := p.roots[key]
	files := []string{t.ReconcilerFile()}
	for _, o := range pl.Objects(t) {
		files = append(files, t.FilePath(o))
	}
	all, source := git.ParseIgnore(ignores, root.Ignore), git.ParseIgnore(root.Ignore)
	for _, file := range files {
		if !all.LeavesOut(file) {
			continue
		}
		where := fmt.Sprintf("%s on branch %s of %s", sourceIgnore, r.base, r.name)
		if source.LeavesOut(file) {
			where = fmt.Sprintf("spec.ignore of the GitRepository %s on cluster %s", root.Source, key.Cluster)
		}
		return fmt.Sprintf("%s keeps Flux from reading %s. Take the pattern out, or except that path after it", where, file)
	}
	return ""
}

// readFile reads a file of the base branch; empty where there is none.
func (r *repoState) readFile(ctx context.Context, at string) (string, error) {
	have, err := r.at(r.head, at)
	if err != nil || have[at] == "" {
		return "", err
	}
	hash, err := git.ParseHash(string(have[at]))
	if err != nil {
		return "", err
	}
	data, err := r.Mirror.Blob(ctx, hash)
	return string(data), err
}

// sourceIgnore is the file by which people keep source-controller from files.
const sourceIgnore = ".sourceignore"

// rootInGit says what is wrong with the root's directory on base, which Flux builds as a
// whole but for the files that ignores, of the form of a .gitignore, leave out.
func (r *repoState) rootInGit(ctx context.Context, key probe.RootKey, t *plan.Tier, ignores ...string) (unfit string, err error) {
	dir := cmp.Or(key.Path, ".")
	have, err := r.at(r.head, dir)
	if err != nil {
		return "", err
	}
	if have[dir] == "" {
		return fmt.Sprintf("branch %s of %s has no directory %s for the root of cluster %s to sync. Set the root up first (flux bootstrap makes the directory), or commit a README.md there", r.base, r.name, key.Path, key.Cluster), nil
	}
	folder, err := r.folder(ctx, key.Path, have[dir], ignores...)
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
	if claim, claimed := folder.Claims(object, t.ReconcilerFile()); claimed {
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

// folder reads what others have in the directory of a root, whose tree is given, and Flux reads.
// What is below furrow/ there is left out: only we write it.
func (r *repoState) folder(ctx context.Context, root string, tree layout.Hash, ignores ...string) (layout.Folder, error) {
	key := folderKey{root, tree, strings.Join(ignores, "\n")}
	if known, ok := r.folders.get(key); ok {
		return known, nil
	}
	all, err := r.Mirror.FS(ctx, r.head)
	if err != nil {
		return layout.Folder{}, err
	}
	var names []string
	ignore := git.ParseIgnore(ignores...)
	err = fs.WalkDir(all, cmp.Or(root, "."), func(at string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && at == path.Join(root, "furrow"):
			return fs.SkipDir
		case entry.Type().IsRegular() && layout.FolderFile(root, at) && !ignore.LeavesOut(at):
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
