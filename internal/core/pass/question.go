package pass

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/githash"
	"github.com/furrow-dev/furrow/internal/core/health"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/merging"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/core/review"
)

// Kind says what a question is about.
type Kind string

// The kinds of questions. Each names the field of Facts that its answer goes to.
const (
	// AskEntries asks what Commit has at Paths: Answers.Entries.
	AskEntries Kind = "Entries"
	// AskBlob asks for the file whose hash is Commit: Answers.Blobs.
	AskBlob Kind = "Blob"
	// AskPast asks what the last plans up to Commit had at Paths: Answers.Past.
	AskPast Kind = "Past"
	// AskPlanned asks for the entries of Tier with Digest in one of the last plans up to Commit:
	// Answers.Planned.
	AskPlanned Kind = "Planned"
	// AskFiles asks for the files below each of Paths in Commit: Answers.Files.
	AskFiles Kind = "Files"
	// AskSince asks whether base has changed at Paths after Commit: Answers.Since.
	AskSince Kind = "Since"
	// AskClosed asks for the newest closed proposal of Tier with Digest, and what its merges had at
	// Paths: Answers.Closed.
	AskClosed Kind = "Closed"
	// AskRootDir asks for the directory Dir of base as a root syncs it, and which of Paths it
	// ignores: Answers.Roots.
	AskRootDir Kind = "RootDir"
	// AskCommit asks, for each of Paths, for the newest commit of the control plane up to Commit that
	// changed one of the causes that it lists (review.Causes), in no repository: ControlPlane.Commits.
	AskCommit Kind = "Commit"
	// AskHealth asks for objects on clusters: Facts.Health.
	AskHealth Kind = "Health"
	// AskChecks asks what the checks of the forge say of the proposal whose branch is Dir and at
	// Commit: Answers.Checks.
	AskChecks Kind = "Checks"
	// AskMerging asks how the forge lets people merge: Answers.Merging.
	AskMerging Kind = "Merging"
	// AskRelation asks how Commit relates to the commit of the control plane that is read, in no
	// repository: ControlPlane.Relations.
	AskRelation Kind = "Relation"
	// AskZones asks for the time zones Zones: Facts.Zones.
	AskZones Kind = "Zones"
)

// Question is something that Decide needs to know beyond the facts. Kind says which of the fields
// it has. Questions of one kind about one commit are one, with all their Paths, so the engine
// reads a commit once.
type Question struct {
	Kind   Kind
	Repo   string
	Commit layout.Hash
	Paths  []string
	Tier   layout.Tier
	Digest string
	// Reconciler, Dir and Ignores are those of AskRootDir: the kind of reconciler, what it syncs, and the lines of
	// .sourceignore, then those of the source.
	Reconciler string
	Dir        string
	Ignores    [2]string
	// Reconcilers, Creators and Roots are those of AskHealth.
	Reconcilers []health.ReconcilerKey
	Creators    []health.CreatorKey
	Roots       []health.RootKey
	// Zones are those of AskZones.
	Zones []string
}

// ClosedKey returns where Answers.Closed has the answer to a question.
func ClosedKey(tier layout.Tier, digest string) string { return tier.String() + " " + digest }

// PlannedKey returns where Answers.Planned has the answer to a question.
func PlannedKey(commit layout.Hash, m layout.Member) string {
	return commit.String() + " " + m.Tier.String() + " " + m.Digest
}

// RootDirKey returns where Answers.Roots has the answer to a question.
func RootDirKey(reconciler, dir string, ignores [2]string) string {
	return reconciler + " " + dir + "\n" + strings.Join(ignores[:], "\n---\n")
}

// CommitKey returns where ControlPlane.Commits has the answer to a question about causes.
func CommitKey(commit layout.Hash, causes string) string { return commit.String() + " " + causes }

// HistoryLimit is how many plans up to the present one are asked for what base has.
const HistoryLimit = 100

// subject is what a question is about, but for its paths.
type subject struct {
	kind   Kind
	repo   string
	commit layout.Hash
	tier   layout.Tier
	digest string
	dir    string
	// reconciler is a kind.
	reconciler string
	ignores    [2]string
}

// factReader finds facts. A missing fact becomes a question, and the answer is zero: the caller must not
// conclude anything from it while missing is set. Whoever begins something that is complete in
// itself, such as one tier, resets missing and checks it afterwards; the questions stay in open
// until the end of the step.
type factReader struct {
	facts   *Facts
	missing bool
	// asked counts how often something was missing.
	asked int

	open        map[subject]map[string]bool
	reconcilers map[health.ReconcilerKey]bool
	creators    map[health.CreatorKey]bool
	roots       map[health.RootKey]bool
	zones       map[string]bool
}

func newFactReader(f *Facts) *factReader {
	return &factReader{
		facts: f, open: map[subject]map[string]bool{}, reconcilers: map[health.ReconcilerKey]bool{},
		creators: map[health.CreatorKey]bool{}, roots: map[health.RootKey]bool{}, zones: map[string]bool{},
	}
}

// noteMissing notes that the decision under way lacks something.
func (a *factReader) noteMissing() {
	a.missing = true
	a.asked++
}

// ask notes that paths of a subject are not known.
func (a *factReader) ask(s subject, paths ...string) {
	a.noteMissing()
	if a.open[s] == nil {
		a.open[s] = map[string]bool{}
	}
	for _, p := range paths {
		a.open[s][p] = true
	}
}

// questions returns the open ones, in order: one for all paths of a commit, and one for everything
// that is asked about clusters, so each can be answered in one go.
func (a *factReader) questions() []Question {
	var out []Question
	for s, paths := range a.open {
		out = append(out, Question{Kind: s.kind, Repo: s.repo, Commit: s.commit, Tier: s.tier, Digest: s.digest, Reconciler: s.reconciler, Dir: s.dir, Ignores: s.ignores, Paths: slices.Sorted(maps.Keys(paths))})
	}
	slices.SortFunc(out, func(x, y Question) int {
		return cmp.Or(cmp.Compare(x.Repo, y.Repo), cmp.Compare(x.Kind, y.Kind), x.Commit.Compare(y.Commit), x.Tier.Compare(y.Tier),
			cmp.Compare(x.Digest, y.Digest), cmp.Compare(x.Dir, y.Dir), slices.Compare(x.Ignores[:], y.Ignores[:]))
	})
	if len(a.zones) > 0 {
		out = append(out, Question{Kind: AskZones, Zones: slices.Sorted(maps.Keys(a.zones))})
	}
	if len(a.reconcilers)+len(a.creators)+len(a.roots) > 0 {
		q := Question{Kind: AskHealth}
		q.Reconcilers = slices.SortedFunc(maps.Keys(a.reconcilers), health.ReconcilerKey.Compare)
		q.Creators = slices.SortedFunc(maps.Keys(a.creators), health.CreatorKey.Compare)
		q.Roots = slices.SortedFunc(maps.Keys(a.roots), health.RootKey.Compare)
		out = append(out, q)
	}
	return out
}

// at returns what a commit has at paths; a path that is not there is empty.
func (a *factReader) at(repo string, commit layout.Hash, paths ...string) map[string]layout.Hash {
	known := a.facts.Repos[repo].Entries[commit]
	for _, p := range paths {
		if _, ok := known[p]; !ok {
			a.ask(subject{kind: AskEntries, repo: repo, commit: commit}, p)
		}
	}
	return known
}

// blob returns the content of a file.
func (a *factReader) blob(repo string, hash layout.Hash) []byte {
	data, ok := a.facts.Repos[repo].Blobs[hash]
	if !ok {
		a.ask(subject{kind: AskBlob, repo: repo, commit: hash})
	}
	return data
}

// past returns what the plans up to a commit had at paths, newest first; nothing without a commit.
func (a *factReader) past(repo string, commit layout.Hash, paths ...string) []map[string]layout.Hash {
	if commit.IsZero() {
		return nil
	}
	versions, answered := a.facts.Repos[repo].Past[commit]
	whole := true
	for _, p := range paths {
		known := answered
		if len(versions) > 0 {
			_, known = versions[0][p]
		}
		if !known {
			a.ask(subject{kind: AskPast, repo: repo, commit: commit}, p)
			whole = false
		}
	}
	if !whole {
		return nil
	}
	return versions
}

// planned returns the entries of a tier with a digest in the plans up to a commit; none where no plan
// has them.
func (a *factReader) planned(repo string, commit layout.Hash, m layout.Member) []plan.Entry {
	if commit.IsZero() {
		return nil
	}
	entries, ok := a.facts.Repos[repo].Planned[PlannedKey(commit, m)]
	if !ok {
		a.ask(subject{kind: AskPlanned, repo: repo, commit: commit, tier: m.Tier, digest: m.Digest})
	}
	return entries
}

// files returns all files at and below a path of a commit.
func (a *factReader) files(repo string, commit layout.Hash, dir string) map[string]layout.Hash {
	files, ok := a.facts.Repos[repo].Files[commit][dir]
	if !ok {
		a.ask(subject{kind: AskFiles, repo: repo, commit: commit}, dir)
	}
	return files
}

// commit returns the commit of the control plane that changed one of the causes last, up to the
// revision of a plan; nil where that is not known. linked says that people can be sent to its page.
func (a *factReader) commit(revision string, causes review.Causes, linked bool) *review.Commit {
	hash, ok := commitOf(revision)
	if !ok {
		return nil
	}
	known, ok := a.facts.ControlPlane.Commits[CommitKey(hash, string(causes))]
	switch {
	case !ok:
		a.ask(subject{kind: AskCommit, commit: hash}, string(causes))
		return nil
	case known.ID == "":
		return nil
	case !linked:
		known.URL = ""
	}
	return &known
}

// relation returns how a revision of the control plane relates to the one that is read: the same
// where they cannot be compared.
func (a *factReader) relation(revision string) Relation {
	hash, ok := commitOf(revision)
	if _, compares := commitOf(a.facts.ControlPlane.Revision); !ok || !compares || !a.facts.ControlPlane.Compared || revision == a.facts.ControlPlane.Revision {
		return Same
	}
	known, ok := a.facts.ControlPlane.Relations[hash]
	if !ok {
		a.ask(subject{kind: AskRelation, commit: hash})
	}
	return known
}

// commitOf returns the commit of a revision; false where it is of files on disk.
func commitOf(revision string) (layout.Hash, bool) {
	_, digits, _ := strings.Cut(revision, "@sha1:")
	hash, err := githash.Parse(digits)
	return hash, err == nil
}

// since returns how base has changed at paths after a commit; not known while that is asked for.
func (a *factReader) since(repo string, commit layout.Hash, paths ...string) Since {
	known := a.facts.Repos[repo].Since[commit]
	if known == nil {
		a.ask(subject{kind: AskSince, repo: repo, commit: commit}, paths...)
		return Since{Unknown: true}
	}
	for _, p := range paths {
		if _, ok := known.Changed[p]; known.OnBase && !ok {
			a.ask(subject{kind: AskSince, repo: repo, commit: commit}, p)
		}
	}
	return *known
}

// closed returns the newest closed proposal of a tier with a digest.
func (a *factReader) closed(repo string, tier layout.Tier, digest string, paths []string) Closed {
	known := a.facts.Repos[repo].Closed[ClosedKey(tier, digest)]
	if known == nil {
		a.ask(subject{kind: AskClosed, repo: repo, tier: tier, digest: digest}, paths...)
		return Closed{}
	}
	if known.Outcome == release.ClosedNotAsked && known.Failure == nil {
		return Closed{Failure: Fail(manifest.Problem{Reason: v1alpha1.ReasonInternal, Repo: repo, Message: fmt.Sprintf("what became of closed proposals of %s was answered without an outcome", tier), Next: "Report this as a bug."}, false)}
	}
	return *known
}

// rootDir returns the directory of a root, and which files of it are ignored.
func (a *factReader) rootDir(repo, reconciler, dir string, ignores [2]string, files []string) RootDir {
	known := a.facts.Repos[repo].Roots[RootDirKey(reconciler, dir, ignores)]
	if known == nil {
		a.ask(subject{kind: AskRootDir, repo: repo, reconciler: reconciler, dir: dir, ignores: ignores}, files...)
		return RootDir{}
	}
	for _, f := range files {
		if _, ok := known.Ignored[f]; !ok {
			a.ask(subject{kind: AskRootDir, repo: repo, reconciler: reconciler, dir: dir, ignores: ignores}, f)
		}
	}
	return *known
}

// unasked reports whether the clusters cannot be asked in this pass.
func (a *factReader) unasked() bool { return a.facts.Health.None || a.facts.Health.Failure != nil }

// reconciler returns what its cluster reports of a reconciler object; the zero value, with Known
// false, if nobody answers.
func (a *factReader) reconciler(key health.ReconcilerKey) health.Reconciler {
	known, ok := a.facts.Health.Reconcilers[key]
	if !ok && !a.unasked() {
		a.noteMissing()
		a.reconcilers[key] = true
	}
	return known
}

// creator returns what its cluster reports of a creator.
func (a *factReader) creator(key health.CreatorKey) health.Creator {
	known, ok := a.facts.Health.Creators[key]
	if !ok && !a.unasked() {
		a.noteMissing()
		a.creators[key] = true
	}
	return known
}

// root returns what its cluster reports of a root.
func (a *factReader) root(key health.RootKey) health.Root {
	known, ok := a.facts.Health.Roots[key]
	if !ok && !a.facts.Health.None {
		a.noteMissing()
		a.roots[key] = true
	}
	return known
}

// checks returns what the checks of the forge say of a proposal; nil while that is asked for.
func (a *factReader) checks(repo, branch string, head layout.Hash) *release.Checks {
	known := a.facts.Repos[repo].Checks[head]
	if known == nil {
		a.ask(subject{kind: AskChecks, repo: repo, commit: head, dir: branch})
	}
	return known
}

// merging returns how the forge of a repository lets people merge.
func (a *factReader) merging(repo string) merging.Repository {
	known := a.facts.Repos[repo].Merging
	if known == nil {
		a.ask(subject{kind: AskMerging, repo: repo})
		return merging.Repository{}
	}
	return *known
}

// zone asks for a time zone, unless it is known.
func (a *factReader) zone(name string) {
	if _, ok := a.facts.Zones[name]; !ok {
		a.noteMissing()
		a.zones[name] = true
	}
}
