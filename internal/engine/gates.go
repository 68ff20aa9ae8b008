package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
)

// outside names what merging a proposal would change beside the tier's own paths. One
// that nobody has edited changes nothing else, as long as it is not stale.
func (r *repoState) outside(ctx context.Context, proposal forge.Proposal, t *plan.Tier) (string, error) {
	if !proposal.Edited || proposal.Stale {
		return "", nil
	}
	var out []string
	look := slices.Clone(proposal.Paths)
	for len(look) > 0 {
		at := look[0]
		look = look[1:]
		switch {
		case slices.ContainsFunc(t.Entries, func(e plan.Entry) bool { return within(at, e.Path) }):
		case slices.ContainsFunc(t.Entries, func(e plan.Entry) bool { return within(e.Path, at) }): // a directory that has more than the tier, or not
			below, err := r.changedBelow(ctx, proposal.Head, at)
			if err != nil {
				return "", err
			}
			look = append(look, below...)
		default:
			out = append(out, at)
		}
	}
	slices.Sort(out)
	return listed(out), nil
}

// within says that a path is a directory or lies below it.
func within(at, dir string) bool { return at == dir || strings.HasPrefix(at, dir+"/") }

// changedBelow are the entries of a directory that a commit and base have different.
func (r *repoState) changedBelow(ctx context.Context, commit git.Hash, dir string) ([]string, error) {
	names := map[string]bool{}
	for _, side := range []git.Hash{r.head, commit} {
		tree, err := r.Mirror.FS(ctx, side)
		if err != nil {
			return nil, err
		}
		entries, err := fs.ReadDir(tree, dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, e := range entries {
			names[path.Join(dir, e.Name())] = true
		}
	}
	all := slices.Sorted(maps.Keys(names))
	on, err := r.at(r.head, all...)
	if err != nil {
		return nil, err
	}
	in, err := r.at(commit, all...)
	return slices.DeleteFunc(all, func(at string) bool { return on[at] == in[at] }), err
}

// maxListed is how many paths a message names.
const maxListed = 5

func listed(paths []string) string {
	rest := ""
	if n := len(paths) - maxListed; n > 0 {
		paths, rest = paths[:maxListed], fmt.Sprintf(" and %d more", n)
	}
	return manifest.Printable(strings.Join(paths, ", ")) + rest
}

// foreignFiles are the files at a tier's paths on base that no plan of the seed has put there.
func (r *repoState) foreignFiles(ctx context.Context, t *plan.Tier, planned *plannedSeed) ([]string, error) {
	tree, err := r.Mirror.FS(ctx, r.head)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range t.Entries {
		err := fs.WalkDir(tree, e.Path, func(at string, entry fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err == nil && !entry.IsDir():
				files = append(files, at)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	have, err := r.at(r.head, files...)
	if err != nil || planned == nil || planned.commits[r.name].IsZero() {
		return files, err
	}
	n := 0
	for commit, err := range r.Mirror.Log(planned.commits[r.name], git.Hash{}) {
		if n++; err != nil || n > maxPlanHistory || len(files) == 0 {
			return files, err
		}
		had, err := r.at(commit.Hash, files...)
		if err != nil {
			return nil, err
		}
		files = slices.DeleteFunc(files, func(at string) bool { return had[at] == have[at] })
	}
	return files, nil
}

// Overwrites are files on the base branch that others put there, and that proposals delete
// or replace with what the seed says.
type Overwrites struct{ Deletes, Replaces []string }

// None says that no file is overwritten.
func (o Overwrites) None() bool { return len(o.Deletes)+len(o.Replaces) == 0 }

// add parts the files of others at a tier's paths into those that the tier's proposal
// deletes and those that it replaces.
func (o *Overwrites) add(pl *plan.Plan, t *plan.Tier, foreign []string) {
	lands := map[string]bool{}
	if !t.Gone() {
		lands[t.ReconcilerFile()] = true
		for _, object := range pl.Objects(t) {
			lands[t.FilePath(object)] = true
		}
	}
	for _, at := range foreign {
		if lands[at] {
			o.Replaces = append(o.Replaces, at)
		} else {
			o.Deletes = append(o.Deletes, at)
		}
	}
}

// Overwritten are the files that the proposals of a seed overwrite once a person asks to
// retry it.
func (e *Engine) Overwritten(ctx context.Context, seed string) (Overwrites, error) {
	var out Overwrites
	p, s, err := e.planOf(ctx, seed)
	if err != nil {
		return out, err
	}
	facts, err := p.tierFacts(ctx, s.plan, s)
	if err != nil {
		return out, err
	}
	for i := range s.plan.Tiers {
		t := &s.plan.Tiers[i]
		f := facts[s.plan.Name(t)]
		if f.Base == release.BaseAmended { // it counts as planted, until it is retried
			if f.Foreign, err = p.repos[t.Repo].foreignFiles(ctx, t, s); err != nil {
				return out, err
			}
		}
		out.add(s.plan, t, f.Foreign)
	}
	return out, nil
}

// regraftsShut says that a proposal which must not be merged is about to be grafted anew.
func (p *pass) regraftsShut() bool {
	for _, d := range p.seeds {
		for _, s := range d.result.Tiers {
			if s.Act == release.ActUpdate && s.Gate != "" {
				return true
			}
		}
	}
	return false
}

// shutRest shuts the gates of stale proposals of our seeds about which nothing was
// decided, as where the plan cannot be read: nobody grafts them anew.
func (p *pass) shutRest(ctx context.Context) {
	for _, name := range slices.Sorted(maps.Keys(p.repos)) {
		r := p.repos[name]
		if r.err != nil {
			continue
		}
		for _, branch := range slices.Sorted(maps.Keys(r.proposals)) {
			proposal := r.proposals[branch]
			d, ours := p.seeds[proposal.Tier.Seed]
			if !ours || p.foreignSeed(d) || !proposal.Stale || proposal.Rejected || d.decides(proposal.Tier) {
				continue
			}
			why := fmt.Sprintf("the base branch has changed under it, and seed %q cannot be looked at now, so it is not brought up to date", d.name)
			if err := r.Forge.Gate(ctx, proposal, why); err != nil {
				r.fails(err, p.engine.config.Now)
			}
		}
	}
}

// decides says that the plan in force has a tier.
func (d *seedDecision) decides(tier layout.Tier) bool {
	_, found := d.result.Find(tier)
	return found
}
