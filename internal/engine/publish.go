package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/internal/state"
)

// publish keeps the report on the status branch of its home, the first repository by name, where it
// has changed. Nothing is lost when that fails: the next pass does it again. It is published
// nowhere else, because nobody would read it there.
//
// It may be called several times in a pass. An unchanged report is not written again, but for a
// heartbeat that shows that passes are made.
func (o *observation) publish(ctx context.Context, report *Report) {
	home := o.engine.loaded.Home()
	o.engine.last = &report.State
	for _, name := range slices.Sorted(maps.Keys(o.repos)) {
		r := o.repos[name]
		write := func() error { return o.dropStatus(ctx, r, o.repos[home]) }
		if name == home {
			write = func() error { return o.writeStatus(ctx, r, report) }
		}
		if r.facts.Failure != nil || r.err != nil || r.unready != nil {
			continue
		}
		if err := write(); err != nil {
			report.Problems = append(report.Problems, manifest.AsProblem(inRepo(name, fmt.Errorf("the status cannot be written: %w", err))))
		}
	}
}

// dropStatus deletes a report of this control plane from a repository that is not its home, any
// more. Resources of other namespaces may give it another home, and two documents may name one
// repository.
func (o *observation) dropStatus(ctx context.Context, r, home *repoState) error {
	branch := layout.StatusBranch(r.facts.Base, o.engine.self.Owner)
	old := r.refs[branch]
	if old.IsZero() || o.tree.Settings != nil || home == nil || home.err != nil || home.facts.Failure != nil || home.refs[branch] == old {
		return nil
	}
	had, err := r.readStatus(ctx, old)
	if err != nil || had == nil || IdentityOf(had) != o.engine.self {
		return err
	}
	if err := r.ready(ctx, o.engine.began); err != nil {
		return err
	}
	err = r.move(ctx, git.Update{Ref: branch, Old: old})
	if git.IsLeaseRefused(err) {
		return nil
	}
	return err
}

// IdentityOf returns whose state it is.
func IdentityOf(s *state.State) plan.Identity {
	return plan.Identity{Owner: s.Owner, Origin: s.Origin}
}

// readStatus reads a published state. It returns nil if the branch has none that can be read and is
// Furrow's. If another version of Furrow wrote it, the state says whose it is and no more.
func (r *repoState) readStatus(ctx context.Context, commit git.Hash) (*state.State, error) {
	if !r.isOwn(commit) {
		return nil, nil
	}
	tree, err := r.Mirror.FS(ctx, commit)
	if err != nil {
		return nil, err
	}
	tree = git.Bounded(tree, git.StatusBounds)
	data, err := fs.ReadFile(tree, state.File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	had, _ := state.Decode(data)
	return had, nil
}

// published is a status that this engine wrote or found to be its own: a pass in which nothing
// changed neither reads nor writes YAML, which takes seconds for thousands of tiers.
type published struct {
	// report is the digest of the engine's report as JSON.
	report [sha256.Size]byte
	// at is the commit that has the status, all what it says with what other engines reported;
	// all is nil where another engine made the commit.
	at  git.Hash
	all *state.State
	// when the commit was made.
	when time.Time
	// living reports whether this engine made it, and it does not say that the process has ended.
	living bool
}

// minHeartbeat bounds how often a status is pushed in which nothing has changed.
const minHeartbeat = time.Minute

// heartbeat returns how old a status may become before it is published again without changes, to
// show that passes are being made.
func (e *Engine) heartbeat() time.Duration { return max(e.config.Interval, minHeartbeat) }

// fresh reports whether a status that was published then need not be published again without
// changes. Where there are custom resources, these say whether passes are made. The last report of a
// process has to say so.
func (o *observation) fresh(when time.Time) bool {
	if o.ending && o.engine.reported.living {
		return false
	}
	return o.tree.Settings != nil || !o.pushing && o.engine.config.Now().Sub(when) < o.engine.heartbeat()
}

// writeStatus publishes the report on the status branch, unless what is there says the same and is
// fresh. It finds that out by the cheapest way first: by the digest of what this engine wrote and
// the branch's tip; by what others have made of the status since (withOthers); and by the tree that
// would be written. Losing the race for the branch is not an error: the next pass writes again.
func (o *observation) writeStatus(ctx context.Context, r *repoState, report *Report) error {
	branch := layout.StatusBranch(r.facts.Base, o.engine.self.Owner)
	old := r.refs[branch]
	data, err := json.Marshal(&report.State)
	if err != nil {
		return err
	}
	is, was := published{report: sha256.Sum256(data), at: old}, o.engine.reported
	if !old.IsZero() && was.report == is.report && was.at == old && o.fresh(was.when) {
		return nil
	}
	tip := git.CommitInfo{}
	if !old.IsZero() {
		if had, err := r.Mirror.Commit(old); err == nil {
			tip, is.when = had, had.Committer.When
		}
	}
	all, done, err := o.withOthers(ctx, r, &report.State)
	if err != nil {
		return err
	}
	if done && was.report == is.report && o.fresh(is.when) {
		o.engine.reported = is // others wrote since, and kept what is ours
		return nil
	}
	if data, err = manifest.YAML(all); err != nil {
		return err
	}
	tree, err := r.Mirror.WriteTree(map[string][]byte{state.File: data})
	if err != nil {
		return err
	}
	if tip.Tree == tree.Hash && o.fresh(is.when) {
		o.engine.reported = is
		return nil
	}
	by := o.engine.person()
	commit, err := o.pushStatus(ctx, r, branch, tree.Hash, tree.Objects, by)
	if git.IsLeaseRefused(err) {
		return nil // another engine was faster, and has observed no less
	}
	if err == nil {
		o.engine.reported = published{is.report, commit, all, by.When, !o.ending}
		r.refs[branch] = commit
	}
	return err
}

// pushStatus moves the status branch to a commit with a tree. A report has no past: its commit has no
// parent, so the branch does not grow. A server that does not let the branch be moved back gets it on top
// of the last one.
func (o *observation) pushStatus(ctx context.Context, r *repoState, branch string, tree git.Hash, objects []git.Hash, by git.Person) (commit git.Hash, err error) {
	old := r.refs[branch]
	for _, parents := range [][]git.Hash{nil, {old}} {
		commit, err = r.Mirror.CommitTree(tree, parents, git.CommitMeta{Author: by, Message: o.engine.statusMessage(o.ending)})
		if err != nil {
			return commit, err
		}
		if err := r.ready(ctx, o.engine.began); err != nil {
			return commit, err
		}
		err = r.move(ctx, git.Update{Ref: branch, Old: old, New: commit, Objects: append(slices.Clone(objects), commit)})
		if old.IsZero() || !git.IsFastForwardOnly(err) {
			break
		}
	}
	return commit, err
}

// withOthers adds what other engines of this control plane reported last of the seeds that
// they care for: resources in several namespaces may share a tree. done means that the
// status has what this engine reports of its own seeds. A seed whose plan is gone is
// gone; of one that never had any that is not known. The report of another control plane stays.
func (o *observation) withOthers(ctx context.Context, r *repoState, report *state.State) (all *state.State, done bool, err error) {
	branch := layout.StatusBranch(r.facts.Base, o.engine.self.Owner)
	old := r.refs[branch]
	if old.IsZero() {
		return report, false, nil
	}
	had := o.engine.reported.all
	if had == nil || o.engine.reported.at != old {
		had, err = r.readStatus(ctx, old)
	}
	switch {
	case err != nil:
		return nil, false, err
	case had == nil:
		return report, false, nil // a person's text is written over
	case IdentityOf(had) != o.engine.self:
		return nil, false, plan.ErrForeignStatus(branch, IdentityOf(had), o.engine.self)
	case had.Version.Major > state.Current.Major: // what it has of its own would be lost
		return nil, false, manifest.About(manifest.Problem{Path: branch}, state.Current.Reads(had.Version))
	}
	report.KeepSince(had)
	report.Refused = freshRefusals(had.Refused, o.engine.config.Now(), o.engine.config.Process)
	ours, out := []state.Seed{}, *report
	if o.tree.Settings == nil {
		return &out, false, nil
	}
	out.Seeds = slices.Clone(report.Seeds)
	previous := o.previous()
	for _, s := range had.Seeds {
		of := previous[s.Name]
		switch {
		case o.tree.scopes(s.Name):
			ours = append(ours, s)
		case len(s.Tiers) == 0 || of != nil && of.Plan != nil && o.engine.owns(of.Plan):
			out.Seeds = append(out.Seeds, s)
		}
	}
	slices.SortFunc(out.Seeds, func(a, b state.Seed) int { return strings.Compare(a.Name, b.Name) })
	is, err := json.Marshal(report.Seeds)
	if err != nil {
		return nil, false, err
	}
	was, err := json.Marshal(ours)
	return &out, bytes.Equal(is, was), err
}
