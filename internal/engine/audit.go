package engine

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/audit"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/pass"
	"github.com/furrow-dev/furrow/internal/git"
)

// Audit lists the files at Furrow's paths on the base branches that came from no plan of this control
// plane: each with the commit that brought it. It changes nothing.
func (e *Engine) Audit(ctx context.Context) ([]audit.Finding, error) {
	o, d, err := e.observeAndDecide(ctx, nil)
	if err != nil {
		return nil, err
	}
	if err := o.unread(); err != nil {
		return nil, err
	}
	var out []audit.Finding
	for _, name := range slices.Sorted(maps.Keys(o.repos)) {
		r := o.repos[name]
		files, err := r.ownFiles(ctx, o.ownDirs(name))
		if err != nil {
			return nil, inRepo(name, err)
		}
		plans, err := o.plannedIn(d, r, slices.Sorted(maps.Keys(files)))
		if err != nil {
			return nil, inRepo(name, err)
		}
		findings, err := r.broughtBy(audit.Unplanned(files, plans...), files)
		if err != nil {
			return nil, inRepo(name, err)
		}
		out = append(out, findings...)
	}
	return out, ctx.Err()
}

// ownDirs returns the directories of a repository in which only Furrow writes.
func (o *observation) ownDirs(repo string) []string {
	prefix := o.engine.loaded.Repos[repo].Spec.Path
	dirs := []string{path.Join(prefix, layout.PlantedDir)}
	inventory := o.engine.loaded.Inventory
	for _, name := range inventory.Names() {
		if cl := inventory.Clusters[name]; cl.Repo == repo {
			dirs = append(dirs, layout.OwnDir(prefix, cl.RootPath))
		}
	}
	return dirs
}

// ownFiles returns the files of base in some directories.
func (r *repoState) ownFiles(ctx context.Context, dirs []string) (map[string]layout.Hash, error) {
	tree, err := r.Mirror.FS(ctx, r.head)
	if err != nil {
		return nil, err
	}
	files := map[string]layout.Hash{}
	for _, dir := range dirs {
		below, err := r.filesBelow(tree, r.head, dir)
		if err != nil {
			return nil, err
		}
		maps.Copy(files, below)
	}
	return files, nil
}

// plannedIn returns the files that the plans of this control plane put at some paths of a repository: the
// plans in force, and those before them. It leaves out plans that could not be verified. With a signing key
// it also leaves out unsigned ones; without a key, nothing shows who made the plans before.
func (o *observation) plannedIn(d *pass.Decision, r *repoState, paths []string) ([]map[string]layout.Hash, error) {
	var plans []map[string]layout.Hash
	for _, seed := range slices.Sorted(maps.Keys(d.Previous)) {
		p := d.Previous[seed]
		commit := p.Commits[r.name]
		if p.Foreign || commit.IsZero() {
			continue
		}
		own := slices.DeleteFunc(slices.Clone(paths), func(at string) bool { return !strings.Contains(at, "/"+seed+"/") })
		n := 0
		for had, err := range r.Mirror.Log(commit, git.Hash{}) {
			if err != nil {
				return nil, err
			}
			if n++; n > pass.HistoryLimit {
				break
			}
			if n == 1 && !p.Verified || len(r.facts.OwnKeys) > 0 && !r.isOwn(had.Hash) {
				continue
			}
			have, err := r.at(had.Hash, own)
			if err != nil {
				return nil, err
			}
			plans = append(plans, have)
		}
	}
	return plans, nil
}

// broughtBy finds the commits that brought files of base as they are there.
func (r *repoState) broughtBy(paths []string, files map[string]layout.Hash) ([]audit.Finding, error) {
	out := make([]audit.Finding, 0, len(paths))
	open := map[string]bool{}
	for _, at := range paths {
		open[at] = true
	}
	commit, err := r.Mirror.Commit(r.head)
	for n := 0; err == nil && len(open) > 0 && n < maxLag; n++ {
		before := map[string]layout.Hash{}
		if len(commit.Parents) > 0 {
			if before, err = r.at(commit.Parents[0], slices.Sorted(maps.Keys(open))); err != nil {
				break
			}
		}
		subject, _, _ := strings.Cut(commit.Message, "\n")
		for at := range open {
			if before[at] != files[at] {
				out = append(out, audit.Finding{Repo: r.name, Path: at, Commit: commit.Hash.String(), Author: commit.Author.Name, Subject: subject})
				delete(open, at)
			}
		}
		if len(commit.Parents) > 0 {
			commit, err = r.Mirror.Commit(commit.Parents[0])
		}
	}
	for at := range open {
		out = append(out, audit.Finding{Repo: r.name, Path: at})
	}
	slices.SortFunc(out, func(a, b audit.Finding) int { return strings.Compare(a.Path, b.Path) })
	return out, err
}
