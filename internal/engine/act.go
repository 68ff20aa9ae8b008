package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
)

// push is what one seed does to one repository in one request.
type push struct {
	repo *repoState
	seed *seedDecision
	// planCommit is the plan's commit in this repository.
	planCommit git.Hash
	updates    []git.Update
	// tiers are the tiers that updates move, by branch.
	tiers map[string]*grafted
	// waiting has what waits for each tier of the plan.
	waiting map[layout.Tier][]plan.Reference
}

// grafted is a tier that was grafted and is to be proposed.
type grafted struct {
	name    layout.Tier
	request forge.Request
}

func (p *pass) act(ctx context.Context) {
	p.actOnSeeds(ctx)
	p.shutRest(ctx)
	p.nameWaits()
	p.dropAbandoned(ctx)
}

func (p *pass) actOnSeeds(ctx context.Context) {
	for i, name := range slices.Sorted(maps.Keys(p.seeds)) {
		if ctx.Err() != nil {
			return
		}
		p.engine.progress(stageProposing, i, len(p.seeds))
		d := p.seeds[name]
		if d.plan == nil {
			continue
		}
		err := p.actOn(ctx, d)
		if git.IsLeaseRefused(err) {
			p.raced = true // somebody else was faster: what they did is seen in the next pass
			continue
		}
		if git.IsTransient(err) && p.unread() != nil {
			continue // the repository's servers do not answer, which is its problem and not the seed's
		}
		if err != nil {
			d.err = errors.Join(d.err, fmt.Errorf("seed %q: %w", name, err))
		}
	}
}

// actOn pushes what a seed changes, to one repository after the other. Killed in
// between, the next pass finds a plan that not every repository has.
func (p *pass) actOn(ctx context.Context, d *seedDecision) error {
	if d.gone && d.result.Done {
		return p.forget(ctx, d)
	}
	repos := d.plan.Repos()
	for _, name := range repos {
		if err := p.actIn(ctx, d, p.repos[name]); err != nil {
			return err
		}
	}
	return p.leaveRepos(ctx, d, repos)
}

// leaveRepos deletes the plan branch where the plan in force no longer writes.
func (p *pass) leaveRepos(ctx context.Context, d *seedDecision, repos []string) error {
	if d.planned == nil || len(repos) == 0 {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(d.planned.commits)) {
		r, ok := p.repos[name]
		if !ok || r.err != nil || slices.Contains(repos, name) {
			continue
		}
		if err := p.push(ctx, r, []git.Update{{Ref: layout.PlanBranch(r.base, d.name), Old: d.planned.commits[name]}}); err != nil {
			return err
		}
	}
	return nil
}

// push moves branches and notes that something has changed; nothing to move is no change.
func (p *pass) push(ctx context.Context, r *repoState, updates []git.Update) error {
	if len(updates) == 0 {
		return nil
	}
	err := r.finish(ctx, updates)
	p.changed = p.changed || err == nil
	return err
}

// pushGrace is how long a push that has begun may take after the engine was told to stop.
const pushGrace = 30 * time.Second

// finish pushes, and is not interrupted by a stop: a server that is cut off while
// it moves branches can leave them locked.
func (r *repoState) finish(ctx context.Context, updates []git.Update) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	whole, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		grace, done := context.WithTimeout(whole, pushGrace)
		defer done()
		<-grace.Done()
		cancel()
	})
	defer stop()
	return r.Mirror.Push(whole, updates)
}

func (p *pass) actIn(ctx context.Context, d *seedDecision, r *repoState) error {
	if r.err != nil {
		return r.err // its servers stopped answering in this pass
	}
	out := &push{repo: r, seed: d, tiers: map[string]*grafted{}}
	if err := p.addPlan(out); err != nil {
		return err
	}
	for i, s := range d.result.Tiers {
		t := &d.plan.Tiers[i]
		if t.Repo != r.name {
			continue
		}
		err := p.addTier(ctx, out, t, s)
		if forge.IsGone(err) {
			p.raced = true // a person was faster: what they did is seen in the next pass
			continue
		}
		if err != nil {
			d.problems[s.Tier] = err
			if r.fails(err, p.engine.config.Now) {
				return err
			}
		}
	}
	out.dropMarkers(p.readErr == nil && d.err == nil)
	if err := p.send(ctx, out); err != nil {
		r.fails(err, p.engine.config.Now)
		return err
	}
	return p.propose(ctx, out)
}

// addPlan puts the plan's commit on its branch, where it is not there already.
func (p *pass) addPlan(out *push) error {
	d, r := out.seed, out.repo
	var old git.Hash
	if d.planned != nil {
		old = d.planned.commits[r.name]
	}
	out.planCommit = old
	if d.files == nil {
		return nil
	}
	tree, err := r.writePlan(d.record, d.files[r.name], p.engine.person())
	if err != nil {
		return err
	}
	if !old.IsZero() {
		if had, err := r.Mirror.Commit(old); err == nil && had.Tree == tree {
			return nil // pushed before, when another repository was not
		}
	}
	meta := git.CommitMeta{Author: p.engine.person(), Message: planMessage(d.record)}
	var parents []git.Hash
	if !old.IsZero() {
		parents = append(parents, old)
	}
	if out.planCommit, err = r.Mirror.CommitTree(tree, parents, meta); err != nil {
		return err
	}
	objects, err := r.Mirror.NewObjects(tree, append(parents, r.head)...)
	if err != nil {
		return err
	}
	branch := layout.PlanBranch(r.base, d.name)
	out.updates = append(out.updates, git.Update{Ref: branch, Old: old, New: out.planCommit, Objects: append(objects, out.planCommit)})
	return nil
}

// writePlan writes the plan's tree: its own files, and those that land.
func (r *repoState) writePlan(pl *plan.Plan, files map[string]plan.File, who git.Person) (git.Hash, error) {
	content, err := pl.Encode()
	if err != nil {
		return git.Hash{}, err
	}
	var taken []git.Edit
	for _, at := range slices.Sorted(maps.Keys(files)) {
		f := files[at]
		if f.Data != nil {
			content[at] = f.Data
			continue
		}
		hash, err := git.ParseHash(string(f.Hash))
		if err != nil {
			return git.Hash{}, fmt.Errorf("%s: %w", at, err)
		}
		edit := git.Edit{Path: at, Hash: hash, Mode: git.ModeFile}
		if f.Dir {
			edit.Mode = git.ModeDir
		}
		taken = append(taken, edit)
	}
	tree, err := r.Mirror.WriteTree(content)
	if err != nil || len(taken) == 0 {
		return tree.Hash, err
	}
	return r.withFiles(tree.Hash, taken, git.CommitMeta{Author: who, Message: "A step on the way to a plan\n"})
}

// withFiles adds files that the repository has already to a tree.
func (r *repoState) withFiles(tree git.Hash, taken []git.Edit, meta git.CommitMeta) (git.Hash, error) {
	base, err := r.Mirror.CommitTree(tree, nil, meta)
	if err != nil {
		return git.Hash{}, err
	}
	whole, err := r.Mirror.Graft(base, taken, meta)
	return whole.Tree, err
}

func planMessage(pl *plan.Plan) string {
	verb := "Plan"
	if pl.Removal {
		verb = "Plan the removal of"
	}
	return forge.AddTrailers(fmt.Sprintf("%s seed %s\n\n%d tiers. This branch is Furrow's record of what reviewers see; it is not to be merged.\n", verb, pl.Seed, len(pl.Tiers)),
		[]forge.Trailer{{Key: forge.TrailerSeed, Value: pl.Seed}, revisionTrailer(pl.Revision)})
}

// addTier does what was decided about one tier.
func (p *pass) addTier(ctx context.Context, out *push, t *plan.Tier, s release.TierStatus) error {
	r := out.repo
	branch := layout.TierBranch(r.base, s.Tier)
	proposal, open := r.proposals[branch]
	// What is updated gets the gate that it is due with its new commit, unless the old one
	// must not be merged whatever becomes of the update.
	if open && s.Act != release.ActSupersede && (s.Act != release.ActUpdate || proposal.Stale) {
		if err := r.Forge.Gate(ctx, proposal, s.Shut()); err != nil {
			return err
		}
	}
	switch s.Act {
	case release.ActPropose, release.ActUpdate:
		return p.addGraft(out, t, s, branch)
	case release.ActSupersede:
		if err := r.Forge.Supersede(ctx, proposal, s.Message); err != nil {
			return err
		}
		out.updates = append(out.updates, git.Update{Ref: branch, Old: r.refs[branch]})
	default:
		if at, there := r.refs[branch]; there && !open && (s.State == release.Released || s.State == release.Gone || s.State == release.Merged || s.State == release.Progressing || s.State == release.Failed) {
			out.updates = append(out.updates, git.Update{Ref: branch, Old: at}) // merged
		}
	}
	return nil
}

// addGraft copies the tier's entries from the plan's tree onto base, hash by hash.
func (p *pass) addGraft(out *push, t *plan.Tier, s release.TierStatus, branch string) error {
	r := out.repo
	edits, err := edits(t)
	if err != nil {
		return err
	}
	request, err := p.request(out, t, s, branch)
	if err != nil {
		return err
	}
	meta := git.CommitMeta{Author: p.engine.person(), Message: p.commitMessage(out, request)}
	graft, err := r.Mirror.Graft(r.head, edits, meta)
	if err != nil {
		return err
	}
	if graft.Unchanged {
		return fmt.Errorf("branch %s: base has the entries already", branch)
	}
	request.Head = graft.Commit
	out.tiers[branch] = &grafted{s.Tier, request}
	if at, there := r.refs[branch]; there && r.says(at, graft.Tree, meta) {
		request.Head = at // pushed before, and not proposed then
		out.tiers[branch].request = request
		return nil
	}
	out.updates = append(out.updates, git.Update{Ref: branch, Old: r.refs[branch], New: graft.Commit, Objects: graft.Objects})
	return nil
}

// says that a commit is what would be pushed now, but for its time.
func (r *repoState) says(commit, tree git.Hash, meta git.CommitMeta) bool {
	had, err := r.Mirror.Commit(commit)
	return err == nil && had.Tree == tree && len(had.Parents) == 1 && had.Parents[0] == r.head && had.Message == meta.Message &&
		had.Author.Email == meta.Author.Email && had.Committer.Email == meta.Author.Email
}

func edits(t *plan.Tier) ([]git.Edit, error) {
	out := make([]git.Edit, len(t.Entries))
	for i, e := range t.Entries {
		out[i].Path = e.Path
		if e.Hash == "" {
			continue
		}
		hash, err := git.ParseHash(string(e.Hash))
		if err != nil {
			return nil, err
		}
		out[i].Hash, out[i].Mode = hash, git.ModeFile
		if e.Mode == plan.ModeTree {
			out[i].Mode = git.ModeDir
		}
	}
	return out, nil
}

// send pushes everything in one request. A branch of a tier that the server
// refuses holds only that tier: the rest is sent again without it.
func (p *pass) send(ctx context.Context, out *push) error {
	for len(out.updates) > 0 {
		err := p.push(ctx, out.repo, out.updates)
		refused, ok := errors.AsType[*git.PushError](err)
		if err == nil || !ok || !git.IsRefRefused(err) || !out.without(refused) {
			return err
		}
	}
	return nil
}

// without takes out the branches that were refused; false when none can be, or
// when the plan itself was refused, without which nothing may be proposed.
func (out *push) without(refused *git.PushError) bool {
	planRef := layout.PlanBranch(out.repo.base, out.seed.name)
	if _, blamed := refused.Refs[planRef]; blamed {
		return false
	}
	before := len(out.updates)
	out.updates = slices.DeleteFunc(out.updates, func(u git.Update) bool {
		reason, blamed := refused.Refs[u.Ref]
		if tier, isTier := out.tiers[u.Ref]; blamed && isTier {
			out.seed.problems[tier.name] = fmt.Errorf("the server refuses branch %s: %s", u.Ref, reason)
			delete(out.tiers, u.Ref)
		}
		return blamed
	})
	return len(out.updates) < before
}

// propose tells the forge of the branches that were pushed.
func (p *pass) propose(ctx context.Context, out *push) error {
	var proposed []layout.Tier
	defer func() { out.seed.result.Proposed(proposed...) }()
	for _, branch := range slices.Sorted(maps.Keys(out.tiers)) {
		g := out.tiers[branch]
		proposal, err := out.repo.Forge.Propose(ctx, g.request)
		if forge.IsGone(err) {
			p.raced = true // a person was faster: what they decided is seen in the next pass
			continue
		}
		if err != nil {
			out.seed.problems[g.name] = fmt.Errorf("proposing %s: %w", branch, err)
			if out.repo.fails(err, p.engine.config.Now) {
				return err
			}
			continue
		}
		out.repo.proposals[branch] = proposal
		proposed = append(proposed, g.name)
	}
	return ctx.Err()
}

// forget deletes the branches of a seed that is wholly gone: first those of its
// tiers and, once there is none that somebody could merge, the plan.
func (p *pass) forget(ctx context.Context, d *seedDecision) error {
	open := false
	for _, name := range slices.Sorted(maps.Keys(d.planned.commits)) {
		r := p.repos[name]
		var updates []git.Update
		for _, branch := range slices.Sorted(maps.Keys(r.refs)) {
			if t, ok := layout.TierOfBranch(r.base, branch); !ok || t.Seed != d.name {
				continue
			}
			open = true
			proposal, listed := r.proposals[branch]
			if proposal.Edited {
				continue
			}
			if listed && !proposal.Rejected {
				if err := r.Forge.Supersede(ctx, proposal, "the seed is gone"); err != nil {
					return err
				}
			}
			updates = append(updates, git.Update{Ref: branch, Old: r.refs[branch]})
		}
		if err := p.push(ctx, r, updates); err != nil || open && len(updates) == 0 {
			return errors.Join(err, errors.New("it is gone, but a person has edited a proposal of it that is still open: merge it, or delete its branch"))
		}
	}
	if open {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(d.planned.commits)) {
		r := p.repos[name]
		updates := []git.Update{{Ref: layout.PlanBranch(r.base, d.name), Old: d.planned.commits[name]}}
		for _, marker := range []string{layout.RetryBranch(r.base, d.name), layout.ConfirmBranch(r.base, d.name), layout.ConfirmLeavingBranch(r.base, d.name)} {
			if at, marked := r.refs[marker]; marked {
				updates = append(updates, git.Update{Ref: marker, Old: at})
			}
		}
		if err := p.push(ctx, r, updates); err != nil {
			return err
		}
	}
	return nil
}
