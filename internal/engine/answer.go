package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"
	_ "time/tzdata" // the same time zones on every machine without its own

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/delivery"
	"github.com/furrow-dev/furrow/internal/core/delivery/kinds"
	"github.com/furrow-dev/furrow/internal/core/health"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/pass"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/core/review"
	"github.com/furrow-dev/furrow/internal/core/window"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
)

// maxRounds bounds how often a decision may ask: each round is for what the one before made
// necessary, and the longest chain has some ten. More means that an answer does not satisfy its
// question, which would never end.
const maxRounds = 40

// decide decides, and answers questions until there are none. What it verifies, the ledger has from
// then on.
func (o *observation) decide(ctx context.Context) (*pass.Decision, error) {
	if o.engine.previewing {
		return o.decideAsPlanned(ctx)
	}
	decision, err := o.decideBy(ctx)
	if err == nil {
		o.engine.vouch(decision)
	}
	return decision, err
}

// decideAsPlanned decides what a person asks about. Nothing of such a decision is proposed or judged, so
// plans count as they are on their branches: the pass that follows verifies them. Whoever asks may have
// another tree of the control plane, or no health channel, without which not every plan can be verified.
func (o *observation) decideAsPlanned(ctx context.Context) (*pass.Decision, error) {
	plans := o.facts.Plans
	defer func() { o.facts.Plans = plans }()
	o.facts.Plans = slices.Clone(plans)
	for i := range o.facts.Plans {
		o.facts.Plans[i].Vouched = true
	}
	return o.decideBy(ctx)
}

func (o *observation) decideBy(ctx context.Context) (*pass.Decision, error) {
	var decision *pass.Decision
	err := o.ask(ctx, func() (questions []pass.Question, err error) {
		decision, questions = o.engine.memo.Decide(o.facts)
		return questions, nil
	})
	if err == nil && decision.Refusal != nil {
		return nil, decision.Refusal
	}
	return decision, err
}

// ask answers what is asked until nothing is. Answers are only added to the facts, so at the
// end they hold all that the decision depends on, and can be recorded.
func (o *observation) ask(ctx context.Context, decide func() ([]pass.Question, error)) error {
	for o.rounds = 0; ; o.rounds++ {
		questions, err := decide()
		if err != nil || len(questions) == 0 {
			return err
		}
		if o.rounds == maxRounds {
			return fmt.Errorf("the decision still asks after %d rounds, first for %s of %s; report this as a bug", maxRounds, questions[0].Kind, questions[0].Repo)
		}
		o.prefetch(ctx, questions)
		for _, q := range questions {
			if err := o.answer(ctx, q); err != nil {
				return err
			}
		}
	}
}

// prefetch fetches the blobs that are asked for, of each repository in one request. What cannot be
// fetched fails when it is read.
func (o *observation) prefetch(ctx context.Context, questions []pass.Question) {
	wanted := map[string][]git.Hash{}
	for _, q := range questions {
		if q.Kind == pass.AskBlob {
			wanted[q.Repo] = append(wanted[q.Repo], q.Commit)
		}
	}
	for name, blobs := range wanted {
		if r := o.repos[name]; len(blobs) > 1 && r.facts.Failure == nil {
			_ = r.Mirror.PrefetchBlobs(ctx, blobs)
		}
	}
}

// answerers has how each kind of question about a repository is answered.
var answerers = map[pass.Kind]func(*observation, context.Context, *repoState, pass.Question) error{
	pass.AskEntries: (*observation).answerEntries,
	pass.AskBlob:    (*observation).answerBlob,
	pass.AskPast:    (*observation).answerPast,
	pass.AskPlanned: (*observation).answerPlanned,
	pass.AskFiles:   (*observation).answerFiles,
	pass.AskSince:   (*observation).answerSince,
	pass.AskClosed:  (*observation).answerClosed,
	pass.AskRootDir: (*observation).answerRootDir,
	pass.AskChecks:  (*observation).answerChecks,
	pass.AskMerging: (*observation).answerMerging,
}

// answer adds the answer to a question to the facts. A repository that cannot answer
// cannot be used in this pass: what cannot be read is not gone.
func (o *observation) answer(ctx context.Context, q pass.Question) error {
	if q.Kind == pass.AskHealth {
		o.answerHealth(ctx, q)
		return ctx.Err()
	}
	if q.Kind == pass.AskZones {
		o.answerZones(q)
		return nil
	}
	if q.Kind == pass.AskRelation {
		return o.answerRelation(q)
	}
	if q.Kind == pass.AskCommit {
		o.answerCommit(ctx, q)
		return ctx.Err()
	}
	r := o.repos[q.Repo]
	if r.facts.Failure != nil {
		return nil // since an earlier question of this round
	}
	if err := answerers[q.Kind](o, ctx, r, q); err != nil {
		o.fail(r, inRepo(q.Repo, err))
	}
	return ctx.Err()
}

// put sets a value in a map of maps.
func put[K1, K2 comparable, V any](m *map[K1]map[K2]V, outer K1, inner K2, value V) {
	if *m == nil {
		*m = map[K1]map[K2]V{}
	}
	if (*m)[outer] == nil {
		(*m)[outer] = map[K2]V{}
	}
	(*m)[outer][inner] = value
}

// set sets a value in a map that may be nil.
func set[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = value
}

// at returns what a commit has at paths, an empty hash where there is nothing. What is known of the
// commit grows with each call; the map is the cache's own and must not be changed.
func (r *repoState) at(commit layout.Hash, paths []string) (map[string]layout.Hash, error) {
	known, ok := r.entries.Get(commit)
	if !ok {
		known = map[string]layout.Hash{}
		r.entries.Put(commit, known)
	}
	missing := slices.DeleteFunc(slices.Clone(paths), func(at string) bool { _, ok := known[at]; return ok })
	if len(missing) == 0 {
		return known, nil
	}
	found, err := r.Mirror.Entries(commit, missing)
	if err != nil {
		return nil, err
	}
	for _, at := range missing {
		known[at] = found[at].Identity()
	}
	return known, nil
}

// answerChecks answers what the checks of the forge say of a proposal. That they cannot be read holds
// nothing but the merge.
func (o *observation) answerChecks(ctx context.Context, r *repoState, q pass.Question) error {
	if m, refused := r.refusedMerges[q.Dir]; refused && !m.over(r.proposals[q.Dir].Head, o.engine.began) {
		set(&r.facts.Checks, q.Commit, &release.Checks{State: release.ChecksRefused, Why: m.why})
		return nil
	}
	checks, err := r.Forge.Checks(ctx, r.proposals[q.Dir])
	out := &release.Checks{State: release.ChecksState(checks.State), Why: manifest.Printable(checks.Why)}
	if err != nil {
		out = &release.Checks{State: release.ChecksUnknown, Why: "its checks cannot be read: " + manifest.Printable(err.Error())}
	}
	set(&r.facts.Checks, q.Commit, out)
	return nil
}

// answerMerging answers how the forge lets people merge.
func (o *observation) answerMerging(ctx context.Context, r *repoState, _ pass.Question) error {
	m, err := r.Forge.Merging(ctx)
	if err != nil {
		return fmt.Errorf("reading how people may merge: %w", err)
	}
	r.facts.Merging = &m
	return nil
}

// answerZones answers when clocks change in time zones. A name that does not exist has no offsets.
func (o *observation) answerZones(q pass.Question) {
	for _, name := range q.Zones {
		var zone window.Zone
		if at, err := time.LoadLocation(name); err == nil {
			zone = window.ZoneOf(at, o.facts.Now)
		}
		set(&o.facts.Zones, name, zone)
	}
}

// answerEntries answers what a commit has at some paths; the zero hash for nothing.
func (o *observation) answerEntries(_ context.Context, r *repoState, q pass.Question) error {
	have, err := r.at(q.Commit, q.Paths)
	for _, at := range q.Paths {
		put(&r.facts.Entries, q.Commit, at, have[at])
	}
	return err
}

func (o *observation) answerBlob(ctx context.Context, r *repoState, q pass.Question) error {
	data, err := r.Mirror.BlobUpTo(ctx, q.Commit, git.MaxBlob)
	set(&r.facts.Blobs, q.Commit, data)
	if git.IsTooLarge(err) {
		return r.tooLarge(q.Commit, err)
	}
	return err
}

// tooLarge names a file that is too large to be read, and the commit that has it.
func (r *repoState) tooLarge(blob layout.Hash, err error) error {
	p := manifest.Problem{Reason: v1alpha1.ReasonTooLargeToRead, Repo: r.name, Message: err.Error(), Next: "Move what is not Furrow's elsewhere, or make it smaller"}
	for commit, entries := range r.facts.Entries {
		for at, hash := range entries {
			if hash == blob && (p.Path == "" || at < p.Path) {
				p.Path, p.Message = at, fmt.Sprintf("%s of commit %s: %v", at, commit, err)
			}
		}
	}
	return p
}

// answerPast goes back along the plan branch, and adds to what earlier questions have found of the
// same commits.
func (o *observation) answerPast(_ context.Context, r *repoState, q pass.Question) error {
	from := q.Commit
	versions := r.facts.Past[q.Commit]
	n := 0
	for commit, err := range r.Mirror.Log(from, git.Hash{}) {
		if err != nil {
			return err
		}
		had, err := r.at(commit.Hash, q.Paths)
		if err != nil {
			return err
		}
		if n == len(versions) {
			versions = append(versions, map[string]layout.Hash{})
		}
		for _, at := range q.Paths {
			versions[n][at] = had[at]
		}
		if n++; n == pass.HistoryLimit {
			break
		}
	}
	set(&r.facts.Past, q.Commit, versions)
	return nil
}

// maxPlans is how many plans are read to find the one that a proposal is of: those of proposals that
// wait to be updated are among the last.
const maxPlans = 50

// answerPlanned goes back along the plan branch. A commit without a readable plan
// is not ours.
func (o *observation) answerPlanned(ctx context.Context, r *repoState, q pass.Question) error {
	key := pass.PlannedKey(q.Commit, layout.Member{Tier: q.Tier, Digest: q.Digest})
	entries, known := r.planned.Get(key)
	if !known {
		var err error
		if entries, err = o.engine.planned(ctx, r, q); err != nil {
			return err
		}
		r.planned.Put(key, entries)
	}
	set(&r.facts.Planned, key, entries)
	return nil
}

func (e *Engine) planned(ctx context.Context, r *repoState, q pass.Question) ([]plan.Entry, error) {
	n := 0
	for commit, err := range r.Mirror.Log(q.Commit, git.Hash{}) {
		if n++; err != nil || n > maxPlans {
			return nil, err
		}
		read, err := e.readPlan(ctx, r, q.Tier.Seed, commit.Hash)
		if git.IsTransient(err) {
			return nil, err
		}
		if entries := read.Claimed(layout.Member{Tier: q.Tier, Digest: q.Digest}); entries != nil {
			return entries, nil
		}
	}
	return nil, nil
}

// answerFiles answers which files a commit has below some paths, with their hashes. A path that is
// not there has none.
func (o *observation) answerFiles(ctx context.Context, r *repoState, q pass.Question) error {
	commit := q.Commit
	tree, err := r.Mirror.FS(ctx, commit)
	if err != nil {
		return err
	}
	tree = git.Bounded(tree, git.PlanBounds)
	for _, root := range q.Paths {
		files, err := r.filesBelow(tree, q.Commit, root)
		if err != nil {
			return err
		}
		put(&r.facts.Files, q.Commit, root, files)
	}
	return nil
}

// filesBelow returns the files in a directory of a commit, whose tree is given; none if there is no such
// directory.
func (r *repoState) filesBelow(tree fs.FS, commit git.Hash, dir string) (map[string]layout.Hash, error) {
	var names []string
	err := fs.WalkDir(tree, dir, func(at string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err == nil && !entry.IsDir():
			names = append(names, at)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	have, err := r.at(commit, names)
	if err != nil {
		return nil, err
	}
	files := make(map[string]layout.Hash, len(names))
	for _, at := range names {
		files[at] = have[at]
	}
	return files, nil
}

// answerSince places the commit among the states of base, and compares only where it is one; see
// lineage.
func (o *observation) answerSince(_ context.Context, r *repoState, q pass.Question) error {
	commit := q.Commit
	known := r.facts.Since[q.Commit]
	if known == nil {
		known = &pass.Since{Changed: map[string]bool{}}
		set(&r.facts.Since, q.Commit, known)
	}
	if _, err := r.Mirror.Commit(commit); git.IsUnknown(err) {
		known.Unknown = true
		return nil
	}
	position, onBase, err := r.position(commit)
	if err != nil || !onBase {
		return err
	}
	known.OnBase = true
	for _, at := range q.Paths {
		if known.Changed[at], err = r.changedSince(position, at); err != nil {
			return err
		}
	}
	return nil
}

// outcomes translates what a forge says of closed proposals.
var outcomes = map[forge.Outcome]release.Closed{
	forge.OutcomeNone: release.ClosedNone, forge.OutcomeSuperseded: release.ClosedNone,
	forge.OutcomeMerged: release.ClosedMerged, forge.OutcomeRejected: release.ClosedRejected,
}

// answerClosed does not fail the repository where its forge does not answer: only new
// proposals wait for that.
func (o *observation) answerClosed(ctx context.Context, r *repoState, q pass.Question) error {
	answer := &pass.Closed{}
	set(&r.facts.Closed, pass.ClosedKey(q.Tier, q.Digest), answer)
	err := r.err
	if r.limit.Why != "" {
		err = r.limit.Failure("read closed proposals", r.url(), o.engine.began)
	}
	var closed forge.Closed
	if err == nil {
		closed, err = r.Forge.Closed(ctx, r.refs, q.Tier, q.Digest)
	}
	if err != nil {
		o.raced = o.raced || forge.IsGone(err)
		r.coolDown(err, o.engine.config.Now)
		answer.Failure = pass.Fail(err, git.IsTransient(err) || forge.IsGone(err))
		return nil
	}
	answer.Outcome, answer.Reason = outcomes[closed.Outcome], closed.Reason
	if closed.Outcome == forge.OutcomeMerged && len(closed.Landings) == 0 {
		replaced, err := r.replacedSince(q.Tier.Seed, closed.Plan, q.Paths)
		if err != nil {
			return err
		}
		if replaced {
			answer.Outcome = release.ClosedNone
		}
	}
	for _, l := range closed.Landings {
		landing := pass.Landing{URL: l.URL, Claimed: r.claimed(l.Head)}
		have, err := r.at(l.Merge, q.Paths)
		if git.IsUnknown(err) {
			answer.Landings = append(answer.Landings, landing) // the base branch was rewritten since
			break
		}
		if err != nil {
			return err
		}
		landing.Have = map[string]layout.Hash{}
		for _, at := range q.Paths {
			landing.Have[at] = have[at]
		}
		if landing.OnBase, err = r.isOnBase(l.Merge); err != nil {
			return err
		}
		answer.Landings = append(answer.Landings, landing)
	}
	return nil
}

// claimed names a commit and its author if it says that it is Furrow's, and nobody has amended it.
func (r *repoState) claimed(commit git.Hash) string {
	c, err := r.Mirror.Commit(commit)
	if err != nil || forge.Trailers(c.Message)[forge.TrailerDigest] == "" || c.Author.Email != c.Committer.Email {
		return ""
	}
	return fmt.Sprintf("commit %.7s by %s <%s>", commit, manifest.Printable(c.Author.Name), manifest.Printable(c.Author.Email))
}

// replacedSince reports whether base has at some paths what a later plan of the seed than a given one
// wanted there: then that plan was merged since, if by a commit that does not say so, and nobody
// reverted anything. A plan that the branch does not reach is older than all that it does.
func (r *repoState) replacedSince(seed string, from git.Hash, paths []string) (bool, error) {
	tip := r.refs[layout.PlanBranch(r.facts.Base, seed)]
	if tip.IsZero() || from.IsZero() {
		return false, nil
	}
	have, err := r.at(r.head, paths)
	if err != nil {
		return false, err
	}
	if _, err := r.Mirror.Commit(from); git.IsUnknown(err) {
		from = git.Hash{}
	} else if err != nil {
		return false, err
	}
	n := 0
	for commit, err := range r.Mirror.Log(tip, from) {
		if err != nil {
			return false, err
		}
		wanted, err := r.at(commit.Hash, paths)
		if err != nil {
			return false, err
		}
		if !slices.ContainsFunc(paths, func(at string) bool { return wanted[at] != have[at] }) {
			return true, nil
		}
		if n++; n == pass.HistoryLimit {
			break
		}
	}
	return false, nil
}

// isOnBase reports whether base has a commit in its history.
func (r *repoState) isOnBase(commit git.Hash) (bool, error) {
	for _, err := range r.Mirror.Log(commit, r.head) {
		return false, err
	}
	return true, nil
}

// answerCommit answers which commits of the control plane changed causes last. That is for people:
// texts leave out what is not known.
func (o *observation) answerCommit(ctx context.Context, q pass.Question) {
	for _, causes := range q.Paths {
		var found review.Commit
		if o.tree.LastCommit != nil {
			found = o.tree.LastCommit(ctx, q.Commit, review.Causes(causes))
		}
		set(&o.facts.ControlPlane.Commits, pass.CommitKey(q.Commit, causes), found)
	}
}

// answerRootDir answers what the reconciler reads of a root's directory: its files, as far as they matter to
// a root, and which of some paths the patterns of ignored files leave out, and whose patterns do.
// The patterns of the source come after those of the repository's files.
func (o *observation) answerRootDir(ctx context.Context, r *repoState, q pass.Question) error {
	have, err := r.at(r.head, []string{cmp.Or(q.Dir, ".")})
	if err != nil {
		return err
	}
	answer := r.facts.Roots[pass.RootDirKey(q.Reconciler, q.Dir, q.Ignores)]
	if answer == nil {
		answer = &pass.RootDir{Ignored: map[string]pass.IgnoredBy{}}
		if answer.Folder, err = r.folder(ctx, folderKey{q.Reconciler, q.Dir, have[cmp.Or(q.Dir, ".")], q.Ignores}); err != nil {
			return err
		}
		set(&r.facts.Roots, pass.RootDirKey(q.Reconciler, q.Dir, q.Ignores), answer)
	}
	all, source := git.ParseIgnore(q.Ignores[:]...), git.ParseIgnore(q.Ignores[1])
	for _, file := range q.Paths {
		switch {
		case !all.LeavesOut(file):
			answer.Ignored[file] = pass.IgnoredByNothing
		case source.LeavesOut(file):
			answer.Ignored[file] = pass.IgnoredBySource
		default:
			answer.Ignored[file] = pass.IgnoredByFile
		}
	}
	return nil
}

// folder reads what others have in the directory of a root, and the reconciler reads.
// What is below furrow/ there is left out: only we write it. The result is cached by the tree,
// since every tier of a cluster asks for the same directory, and a merge elsewhere does not change
// it.
func (r *repoState) folder(ctx context.Context, key folderKey) (delivery.Folder, error) {
	if known, ok := r.folders.Get(key); ok {
		return known, nil
	}
	all, err := r.Mirror.FS(ctx, r.head)
	if err != nil {
		return delivery.Folder{}, err
	}
	all = git.Bounded(all, git.RootBounds)
	files, err := r.folderFiles(ctx, all, key)
	if git.IsTooLarge(err) { // this root alone cannot be used
		folder := kinds.All[key.reconciler].UnreadFolder(key.path, err)
		r.folders.Put(key, folder)
		return folder, nil
	}
	if err != nil {
		return delivery.Folder{}, fmt.Errorf("reading the directory %q of the root: %w", key.path, manifest.About(manifest.Problem{Path: key.path}, err))
	}
	folder := kinds.All[key.reconciler].ReadFolder(key.path, files)
	r.folders.Put(key, folder)
	return folder, nil
}

// folderFiles reads the files of a root's directory. All are fetched in one request.
func (r *repoState) folderFiles(ctx context.Context, all fs.FS, key folderKey) (map[string][]byte, error) {
	var names []string
	ignore := git.ParseIgnore(key.ignores[:]...)
	err := fs.WalkDir(all, cmp.Or(key.path, "."), func(at string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && at == layout.OwnDir("", key.path):
			return fs.SkipDir
		case entry.Type().IsRegular() && kinds.All[key.reconciler].ReadsFile(key.path, at) && !ignore.LeavesOut(at):
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
	return files, err
}

// answerHealth asks the channel. A key without an answer is not known, and is noted as such, so
// it is not asked for again in this pass. After a failure neither reconcilers nor creators are
// asked again; roots answer for themselves.
func (o *observation) answerHealth(ctx context.Context, q pass.Question) {
	channel, h := o.engine.config.Channel, &o.facts.Health
	if h.Failure == nil && len(q.Reconcilers) > 0 {
		found, err := channel.Reconcilers(ctx, q.Reconcilers)
		h.Failure = pass.Fail(manifest.About(manifest.Problem{Reason: v1alpha1.ReasonClusterSilent}, err), true)
		for _, key := range q.Reconcilers {
			set(&h.Reconcilers, key, found[key])
		}
	}
	if h.Failure == nil && len(q.Creators) > 0 {
		found, err := channel.Creators(ctx, q.Creators)
		h.Failure = pass.Fail(manifest.About(manifest.Problem{Reason: v1alpha1.ReasonClusterSilent}, err), true)
		for _, key := range q.Creators {
			set(&h.Creators, key, found[key])
		}
	}
	if len(q.Roots) == 0 {
		return
	}
	found, err := channel.Roots(ctx, q.Roots)
	for _, key := range q.Roots {
		root := found[key]
		if err != nil {
			root = health.Root{Message: err.Error()}
		}
		set(&h.Roots, key, root)
	}
}
