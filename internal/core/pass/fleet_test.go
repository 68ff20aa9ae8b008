package pass_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/delivery/kinds"
	"github.com/furrow-dev/furrow/internal/core/githash"
	"github.com/furrow-dev/furrow/internal/core/health"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/merging"
	"github.com/furrow-dev/furrow/internal/core/pass"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/core/review"
)

// fleet is a control plane, GitOps repositories and clusters as plain values. It answers
// questions, does what is decided and lets people and clusters act, without an engine.
type fleet struct {
	t      testing.TB
	tree   fstest.MapFS
	self   plan.Identity
	guard  int
	unread string
	scope  map[string]bool
	repos  map[string]*repository
	// live are the reconciler objects on clusters, creators those of clusters by name.
	live     map[health.ReconcilerKey]health.Reconciler
	creators map[string]health.Creator
	// silent are the clusters that do not answer.
	silent map[string]bool
	// health is none, a failure, or the zero value for a channel that answers.
	health pass.Health
	// onCatalog changes the catalog, as renderers do.
	onCatalog func(*catalog.Catalog)
	// onRoot changes what clusters report of their roots.
	onRoot func(*health.Root)
	// signing is the key that Furrow signs with, and merging how people may merge.
	signing string
	merging merging.Repository
	// checks are what the checks of the forge say of all proposals.
	checks release.Checks
	// failing are repositories that stop answering at questions of a kind.
	failing map[string]pass.Kind
	// plain reports whether the forges are plain Git, which does not remember what people changed.
	plain bool
	// commit is the one that the control plane is at; nil where it is not known which.
	commit *review.Commit
	// suspecting reports whether nobody vouches for any plan, as after a restart; a commit that somebody
	// else has pushed is suspect anyway.
	suspecting bool
	// rounds are the questions of the last decision.
	rounds [][]pass.Question
}

// repository is a GitOps repository and its forge.
type repository struct {
	refs      map[string]layout.Hash
	commits   map[layout.Hash]commit
	trees     map[layout.Hash]map[string]layout.Hash
	blobs     map[layout.Hash][]byte
	plans     map[layout.Hash]*plan.Plan
	strangers map[layout.Hash]bool // the commits that Furrow did not make
	proposals map[string]pass.Proposal
	entries   map[string][]plan.Entry        // of proposals, by branch
	planned   map[layout.Member][]plan.Entry // by plans that are not in plans
	closed    map[string]closed
	failure   *pass.Failure
}

type commit struct {
	parent layout.Hash
	files  map[string]layout.Hash
}

// closed is the newest closed proposal of a tier with a digest, and the merges of those that landed.
type closed struct {
	outcome release.Closed
	merges  []layout.Hash
	failure *pass.Failure
	// unsaid leaves the outcome out of the answer.
	unsaid bool
}

// newFleet declares repositories, each with its clusters; one that another cluster
// reconciles is written as cluster@hub.
func newFleet(t testing.TB, repos map[string][]string) *fleet {
	t.Helper()
	f := &fleet{
		t: t, tree: fstest.MapFS{}, self: plan.Identity{Owner: "acme/test"}, guard: 100, repos: map[string]*repository{}, creators: map[string]health.Creator{},
		live: map[health.ReconcilerKey]health.Reconciler{}, silent: map[string]bool{}, onRoot: func(*health.Root) {},
	}
	for name, clusters := range repos {
		f.put("repos/"+name+".yaml", document("GitOpsRepo", name, "url: https://git.example.com/"+name))
		r := &repository{
			refs: map[string]layout.Hash{}, commits: map[layout.Hash]commit{}, trees: map[layout.Hash]map[string]layout.Hash{}, blobs: map[layout.Hash][]byte{},
			plans: map[layout.Hash]*plan.Plan{}, strangers: map[layout.Hash]bool{}, proposals: map[string]pass.Proposal{}, entries: map[string][]plan.Entry{}, closed: map[string]closed{},
		}
		f.repos[name] = r
		roots := map[string]string{}
		for _, cluster := range clusters {
			cluster, hub, hosted := strings.Cut(cluster, "@")
			spec := "gitOpsRepo: " + name
			if roots["clusters/"+cluster+"/README.md"] = "root"; hosted {
				spec += ", reconciledBy: " + hub
			}
			f.put("clusters/"+cluster+".yaml", document("Cluster", cluster, spec))
		}
		r.write("main", roots)
	}
	return f
}

// one is a repository with the clusters east and west, two are two with one each, and hosted
// has a cluster that a hub reconciles.
func one(t testing.TB) *fleet { return newFleet(t, map[string][]string{"a": {"east", "west"}}) }
func two(t testing.TB) *fleet {
	return newFleet(t, map[string][]string{"a": {"east"}, "b": {"west"}})
}
func hosted(t testing.TB) *fleet { return newFleet(t, map[string][]string{"a": {"hub", "edge@hub"}}) }

func document(kind, name, spec string) string {
	return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: %s}\nspec: {%s}\n", v1alpha1.APIVersion, kind, name, spec)
}

// put writes a file of the control plane; an empty one is removed.
func (f *fleet) put(file, text string) {
	if delete(f.tree, file); text != "" {
		f.tree[file] = &fstest.MapFile{Data: []byte(text)}
	}
}

func (f *fleet) seed(name string, objects ...string) {
	f.put("seeds/"+name+".yaml", strings.Join(objects, "---\n"))
}

// configMap is a ConfigMap of some version; options are annotations.
func configMap(name string, version int, annotations ...string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: default, annotations: {%s}}\ndata: {version: v%d}\n", name, strings.Join(annotations, ", "), version)
}

func namespace(name string, annotations ...string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata: {name: %s, annotations: {%s}}\n", name, strings.Join(annotations, ", "))
}

func on(clusters string) string { return fmt.Sprintf("furrow.dev/cluster: %q", clusters) }

func after(name string) string {
	return fmt.Sprintf("furrow.dev/depends-on: core/ConfigMap/default/%s", name)
}

// write commits files to a branch on top of what it has; an empty text removes a file.
func (r *repository) write(branch string, files map[string]string) {
	had := maps.Clone(r.commits[r.refs[branch]].files)
	if had == nil {
		had = map[string]layout.Hash{}
	}
	for at, text := range files {
		if delete(had, at); text != "" {
			had[at] = r.blob([]byte(text))
		}
	}
	r.refs[branch] = r.commit(r.refs[branch], had)
}

func (r *repository) blob(data []byte) layout.Hash {
	hash := githash.Blob(data)
	r.blobs[hash] = data
	return hash
}

func (r *repository) commit(parent layout.Hash, files map[string]layout.Hash) layout.Hash {
	id := githash.Blob(fmt.Appendf(nil, "commit %d", len(r.commits)))
	r.commits[id] = commit{parent, files}
	for at := range files {
		for dir := path.Dir(at); dir != "."; dir = path.Dir(dir) {
			below := under(files, dir)
			r.trees[githash.Tree(below)] = below
		}
	}
	return id
}

func under(files map[string]layout.Hash, dir string) map[string]layout.Hash {
	if dir == "." {
		return files
	}
	out := map[string]layout.Hash{}
	for at, hash := range files {
		if rest, ok := strings.CutPrefix(at, dir+"/"); ok {
			out[rest] = hash
		}
	}
	return out
}

func (r *repository) at(id layout.Hash, name string) layout.Hash {
	files := r.commits[id].files
	if hash, ok := files[name]; ok {
		return hash
	}
	return githash.Tree(under(files, name))
}

// graft is what a commit has with other entries at their paths.
func (r *repository) graft(base layout.Hash, entries []plan.Entry) map[string]layout.Hash {
	files := maps.Clone(r.commits[base].files)
	for _, e := range entries {
		maps.DeleteFunc(files, func(at string, _ layout.Hash) bool { return at == e.Path || strings.HasPrefix(at, e.Path+"/") })
		switch {
		case e.Hash.IsZero():
		case e.Mode == plan.ModeFile:
			files[e.Path] = e.Hash
		default:
			for at, hash := range r.trees[e.Hash] {
				files[e.Path+"/"+at] = hash
			}
		}
	}
	return files
}

// isOnBase reports whether a commit is one of the first parents of main.
func (r *repository) isOnBase(id layout.Hash) bool {
	for at := r.refs["main"]; !at.IsZero(); at = r.commits[at].parent {
		if at == id {
			return true
		}
	}
	return false
}

func (f *fleet) catalog(tree fstest.MapFS) *catalog.Catalog {
	f.t.Helper()
	cat, err := catalog.Load(tree)
	if err != nil {
		f.t.Fatal(err)
	}
	return cat
}

// facts are those that are observed before anything is asked.
func (f *fleet) facts() *pass.Facts {
	f.t.Helper()
	cat := f.catalog(f.tree)
	if f.onCatalog != nil {
		f.onCatalog(cat)
	}
	out := &pass.Facts{
		Now: time.Unix(1_700_000_000, 0), Self: f.self, DeletionGuard: f.guard, Repos: map[string]*pass.Repo{}, Health: pass.Health{None: f.health.None, Failure: f.health.Failure},
		ControlPlane: pass.ControlPlane{Revision: "main@sha1:1", Version: "1", Unread: f.unread, Scope: f.scope, Catalog: cat},
	}
	if f.commit != nil {
		out.ControlPlane.Revision = "main@sha1:" + f.commit.ID
	}
	for name := range cat.Repos {
		r := f.repos[name]
		if out.Repos[name] = (&pass.Repo{Base: "main", Failure: r.failure}); r.failure != nil {
			continue
		}
		out.Repos[name] = &pass.Repo{Base: "main", Head: r.refs["main"], Refs: maps.Clone(r.refs), Proposals: maps.Clone(r.proposals), Amends: !f.plain, SigningKey: f.signing}
		for branch, at := range r.refs {
			if seed, ok := layout.PlanSeed("main", branch); ok {
				b := pass.PlanOnBranch{Repo: name, Seed: seed, Commit: at, Plan: r.plans[at], Vouched: !f.suspecting && !r.strangers[at], Author: "Mallory"}
				if b.Plan == nil {
					b.Failure = pass.Fail(manifest.Problem{Reason: v1alpha1.ReasonInvalidPlan, Message: "it holds no plan"}, false)
				}
				out.Plans = append(out.Plans, b)
			}
		}
	}
	return out
}

// decide decides, and holds the decision to what is true of all of them.
func (f *fleet) decide() *pass.Decision {
	f.t.Helper()
	facts := f.facts()
	d, rounds := f.ask(facts, nil)
	f.rounds = rounds
	before := mustWrite(f.t, facts)
	again, _ := pass.Decide(facts)
	if diff := gocmp.Diff(mustWrite(f.t, again), mustWrite(f.t, d)); diff != "" {
		f.t.Fatalf("another decision than without questions (-want +got):\n%s", diff)
	}
	if diff := gocmp.Diff(before, mustWrite(f.t, facts)); diff != "" {
		f.t.Fatalf("deciding has changed the facts (-before +after):\n%s", diff)
	}
	f.mustNotDependOnOrder(d, facts)
	return d
}

// maxRounds is more than any decision needs that is answered whole.
const maxRounds = 12

// ask answers questions until there are none: all of a round, or with r some of them in
// part and in any order.
func (f *fleet) ask(facts *pass.Facts, r *rand.Rand) (*pass.Decision, [][]pass.Question) {
	f.t.Helper()
	asked := map[string]bool{}
	var memo pass.Memo
	for rounds := [][]pass.Question{}; ; {
		d, questions := memo.Decide(facts)
		if len(questions) == 0 {
			return d, rounds
		}
		if d != nil {
			f.t.Fatal("there is a decision although something is asked")
		}
		if rounds = append(rounds, questions); r == nil && len(rounds) > maxRounds {
			f.t.Fatalf("it is still asked for %+v", questions)
		}
		for _, q := range some(r, questions) {
			for _, topic := range topics(q) {
				if asked[topic] {
					f.t.Fatalf("asked again: %s", topic)
				}
				asked[topic] = true
			}
			f.answer(facts, q)
		}
	}
}

// down is a server that does not answer.
func down() *pass.Failure {
	return pass.Fail(manifest.Problem{Reason: v1alpha1.ReasonRepositoryBroken, Message: "no answer"}, true)
}

// some takes some of the questions, with some of their paths; all without r.
func some(r *rand.Rand, all []pass.Question) []pass.Question {
	if r == nil {
		return all
	}
	all = slices.Clone(all)
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	all = all[:1+r.IntN(len(all))]
	for i := range all {
		q := &all[i]
		if q.Kind != pass.AskClosed { // what merges had is one answer
			q.Paths = part(r, q.Paths)
		}
		q.Reconcilers, q.Creators, q.Roots = part(r, q.Reconcilers), part(r, q.Creators), part(r, q.Roots)
	}
	return all
}

func part[T any](r *rand.Rand, all []T) []T {
	if len(all) == 0 {
		return nil
	}
	all = slices.Clone(all)
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:1+r.IntN(len(all))]
}

// topics are the single things that are asked for.
func topics(q pass.Question) []string {
	var out []string
	about := fmt.Sprint(q.Kind, " ", q.Repo, " ", q.Commit, " ", q.Tier, " ", q.Digest, " ", q.Dir, " ", q.Ignores)
	for _, at := range q.Paths {
		out = append(out, about+" "+at)
	}
	for _, key := range q.Reconcilers {
		out = append(out, fmt.Sprint("reconciler ", key))
	}
	for _, key := range q.Creators {
		out = append(out, fmt.Sprint("creator ", key))
	}
	for _, key := range q.Roots {
		out = append(out, fmt.Sprint("root ", key))
	}
	if len(out) == 0 {
		out = []string{about}
	}
	return out
}

func mustWrite(t testing.TB, v any) string {
	t.Helper()
	data, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// orders is how many random orders of answers each decision is made in.
const orders = 2

// mustNotDependOnOrder asserts that the decision is the same however the answers come, and
// when all facts are known from the beginning, were written and read back.
func (f *fleet) mustNotDependOnOrder(d *pass.Decision, facts *pass.Facts) {
	f.t.Helper()
	want := mustWrite(f.t, d)
	same := func(how string, d *pass.Decision) {
		f.t.Helper()
		if diff := gocmp.Diff(want, mustWrite(f.t, d)); diff != "" {
			f.t.Fatalf("another decision %s (-want +got):\n%s", how, diff)
		}
	}
	for i := range uint64(orders) {
		r := rand.New(rand.NewPCG(i, 7))
		d, _ := f.ask(f.facts(), r)
		same("when questions are answered in another order", d)
	}
	var back pass.Facts
	if err := json.Unmarshal([]byte(mustWrite(f.t, facts)), &back); err != nil {
		f.t.Fatal(err)
	}
	back.ControlPlane.Catalog = facts.ControlPlane.Catalog
	slices.Reverse(back.Plans)
	again, questions := pass.Decide(&back)
	if len(questions) > 0 {
		f.t.Fatalf("asked again of facts that were read back: %+v", questions)
	}
	same("of facts that were written and read back", again)
}

// answer adds the answer to a question to the facts.
func (f *fleet) answer(facts *pass.Facts, q pass.Question) {
	if q.Kind == pass.AskHealth {
		f.answerHealth(&facts.Health, q)
		return
	}
	if q.Kind == pass.AskCommit {
		for _, at := range q.Paths {
			if facts.ControlPlane.Commits == nil {
				facts.ControlPlane.Commits = map[string]review.Commit{}
			}
			facts.ControlPlane.Commits[pass.CommitKey(q.Commit, at)] = *f.commit
		}
		return
	}
	r, to := f.repos[q.Repo], facts.Repos[q.Repo]
	if f.failing[q.Repo] == q.Kind {
		to.Failure = down()
		return
	}
	switch q.Kind {
	case pass.AskEntries:
		for _, at := range q.Paths {
			inner(&to.Entries, q.Commit)[at] = r.at(q.Commit, at)
		}
	case pass.AskChecks:
		if to.Checks == nil {
			to.Checks = map[layout.Hash]*release.Checks{}
		}
		to.Checks[q.Commit] = &f.checks
	case pass.AskMerging:
		to.Merging = &f.merging
	case pass.AskBlob:
		if to.Blobs == nil {
			to.Blobs = map[layout.Hash][]byte{}
		}
		to.Blobs[q.Commit] = r.blobs[q.Commit]
	case pass.AskPast:
		r.answerPast(to, q)
	case pass.AskPlanned:
		r.answerPlanned(to, q)
	case pass.AskFiles:
		for _, dir := range q.Paths {
			files := map[string]layout.Hash{}
			for at, hash := range r.commits[q.Commit].files {
				if at == dir || strings.HasPrefix(at, dir+"/") {
					files[at] = hash
				}
			}
			inner(&to.Files, q.Commit)[dir] = files
		}
	case pass.AskSince:
		r.answerSince(to, q)
	case pass.AskClosed:
		f.answerClosed(to, q)
	case pass.AskRootDir:
		r.answerRootDir(to, q)
	}
}

func inner[K comparable, V any](m *map[K]map[string]V, key K) map[string]V {
	if *m == nil {
		*m = map[K]map[string]V{}
	}
	if (*m)[key] == nil {
		(*m)[key] = map[string]V{}
	}
	return (*m)[key]
}

func (r *repository) answerPast(to *pass.Repo, q pass.Question) {
	if to.Past == nil {
		to.Past = map[layout.Hash][]map[string]layout.Hash{}
	}
	n := 0
	for id := q.Commit; !id.IsZero(); id = r.commits[id].parent {
		if n == len(to.Past[q.Commit]) {
			to.Past[q.Commit] = append(to.Past[q.Commit], map[string]layout.Hash{})
		}
		for _, at := range q.Paths {
			to.Past[q.Commit][n][at] = r.at(id, at)
		}
		n++
	}
}

func (r *repository) answerPlanned(to *pass.Repo, q pass.Question) {
	if to.Planned == nil {
		to.Planned = map[string][]plan.Entry{}
	}
	m := layout.Member{Tier: q.Tier, Digest: q.Digest}
	entries := r.planned[m]
	for id := q.Commit; !id.IsZero() && entries == nil; id = r.commits[id].parent {
		entries = r.plans[id].Claimed(m)
	}
	to.Planned[pass.PlannedKey(q.Commit, m)] = entries
}

func (r *repository) answerSince(to *pass.Repo, q pass.Question) {
	if to.Since == nil {
		to.Since = map[layout.Hash]*pass.Since{}
	}
	if to.Since[q.Commit] == nil {
		_, known := r.commits[q.Commit]
		to.Since[q.Commit] = &pass.Since{Unknown: !known, OnBase: r.isOnBase(q.Commit), Changed: map[string]bool{}}
	}
	since := to.Since[q.Commit]
	for _, at := range q.Paths {
		if since.OnBase {
			since.Changed[at] = false
			for id := r.refs["main"]; id != q.Commit; id = r.commits[id].parent {
				since.Changed[at] = since.Changed[at] || r.at(id, at) != r.at(r.commits[id].parent, at)
			}
		}
	}
}

// answerClosed also asserts that nobody asks what became of what base has.
func (f *fleet) answerClosed(to *pass.Repo, q pass.Question) {
	r := f.repos[q.Repo]
	have := map[string]layout.Hash{}
	for _, at := range q.Paths {
		have[at] = r.at(r.refs["main"], at)
	}
	if plan.EntriesDigest(have) == q.Digest {
		f.t.Errorf("asked for closed proposals of %s although base has what it wants", q.Tier)
	}
	known := r.closed[pass.ClosedKey(q.Tier, q.Digest)]
	answer := &pass.Closed{Outcome: cmp.Or(known.outcome, release.ClosedNone), Failure: known.failure}
	if known.unsaid {
		answer.Outcome = ""
	}
	for _, merge := range known.merges {
		l := pass.Landing{URL: "https://git.example.com/" + merge.String()[:7], Have: map[string]layout.Hash{}, OnBase: r.isOnBase(merge)}
		for _, at := range q.Paths {
			l.Have[at] = r.at(merge, at)
		}
		answer.Landings = append(answer.Landings, l)
	}
	if to.Closed == nil {
		to.Closed = map[string]*pass.Closed{}
	}
	to.Closed[pass.ClosedKey(q.Tier, q.Digest)] = answer
}

func (r *repository) answerRootDir(to *pass.Repo, q pass.Question) {
	if to.Roots == nil {
		to.Roots = map[string]*pass.RootDir{}
	}
	key := pass.RootDirKey(q.Reconciler, q.Dir, q.Ignores)
	if to.Roots[key] == nil {
		files := map[string][]byte{}
		for at, hash := range r.commits[r.refs["main"]].files {
			if strings.HasPrefix(at, q.Dir+"/") && !strings.HasPrefix(at, q.Dir+"/furrow/") {
				files[at] = r.blobs[hash]
			}
		}
		to.Roots[key] = &pass.RootDir{Folder: kinds.All[q.Reconciler].ReadFolder(q.Dir, files), Ignored: map[string]pass.IgnoredBy{}}
	}
	for _, at := range q.Paths { // a line names a prefix of paths
		by := pass.IgnoredByNothing
		for i, lines := range q.Ignores {
			if line := strings.TrimSpace(lines); line != "" && strings.HasPrefix(at, line) {
				by = []pass.IgnoredBy{pass.IgnoredByFile, pass.IgnoredBySource}[i]
			}
		}
		to.Roots[key].Ignored[at] = by
	}
}

func (f *fleet) answerHealth(to *pass.Health, q pass.Question) {
	if to.Reconcilers == nil {
		to.Reconcilers, to.Creators, to.Roots = map[health.ReconcilerKey]health.Reconciler{}, map[health.CreatorKey]health.Creator{}, map[health.RootKey]health.Root{}
	}
	for _, key := range q.Reconcilers {
		live := f.live[key]
		if live.Known = true; f.silent[key.Cluster] {
			live = health.Reconciler{}
		}
		to.Reconcilers[key] = live
	}
	for _, key := range q.Creators {
		c := f.creators[key.Creates]
		if c.Known = true; f.silent[key.Cluster] {
			c = health.Creator{}
		}
		to.Creators[key] = c
	}
	for _, key := range q.Roots {
		root := health.Root{}
		if !f.silent[key.Cluster] {
			root = health.Root{Known: true, Found: true, Name: "flux-system/flux-system", Path: key.Path, Prune: true, Source: key.Source, SourceKind: "GitRepository", SourceFound: true, Ready: "True"}
			f.onRoot(&root)
		}
		to.Roots[key] = root
	}
}

// act does what was decided.
func (f *fleet) act(d *pass.Decision) {
	f.t.Helper()
	for _, a := range d.Actions {
		r := f.repos[a.Repo]
		if r.refs[a.Branch] != a.Old {
			f.t.Fatalf("%s of %s expects it at %q, and it is at %q", a.Verb, a.Branch, a.Old, r.refs[a.Branch])
		}
		switch a.Verb {
		case pass.Supersede:
			delete(r.proposals, a.Branch)
		case pass.PushPlan:
			f.pushPlan(r, a)
		case pass.Propose:
			head := r.refs["main"]
			at := r.commit(head, r.graft(head, a.Entries))
			r.refs[a.Branch], r.entries[a.Branch] = at, a.Entries
			r.proposals[a.Branch] = pass.Proposal{Seed: a.Seed, Tiers: a.Tiers, Title: a.Title, Head: at, Base: head, Own: at, Author: "Furrow <furrow@example.com>"}
		case pass.MoveToPlan:
			r.refs[a.Branch] = r.refs[layout.PlanBranch("main", a.Seed)]
		case pass.Drop:
			delete(r.refs, a.Branch)
			delete(r.proposals, a.Branch)
		}
	}
}

// pushPlan commits a plan, whose tree must have what its tiers want.
func (f *fleet) pushPlan(r *repository, a pass.Action) {
	f.t.Helper()
	var taken []plan.Entry
	files := map[string]layout.Hash{}
	for at, file := range a.Files.Flat() {
		switch {
		case file.Data != nil:
			files[at] = r.blob(file.Data)
		case file.Dir:
			taken = append(taken, plan.Entry{Path: at, Mode: plan.ModeTree, Hash: file.Hash})
		default:
			files[at] = file.Hash
		}
	}
	whole := r.graft(r.commit(layout.Hash{}, files), taken)
	at := r.commit(a.Old, whole)
	r.refs[a.Branch], r.plans[at] = at, a.Plan
	for i := range a.Plan.Tiers {
		t := &a.Plan.Tiers[i]
		want := t.Entries
		if t.Orphan != nil {
			want = t.Orphan.Entries
		}
		for _, e := range want {
			if t.Repo == a.Repo && r.at(at, e.Path) != e.Hash {
				f.t.Errorf("the tree of the plan of %s has not what %s wants at %s", a.Seed, t, e.Path)
			}
		}
	}
}

// merge lets a person merge the proposal of a tier, after they changed its files.
func (f *fleet) merge(tier string, changes ...map[string]string) {
	f.t.Helper()
	repo, branch := f.find(tier)
	f.repos[repo].merge(branch, changes...)
}

func (r *repository) merge(branch string, changes ...map[string]string) {
	p := r.proposals[branch]
	r.refs["main"] = r.commit(r.refs["main"], r.graft(r.refs["main"], r.entries[branch]))
	for _, files := range changes {
		parent := r.commits[r.refs["main"]].parent // one commit
		r.write("main", files)
		r.commits[r.refs["main"]] = commit{parent, r.commits[r.refs["main"]].files}
	}
	for _, m := range p.Tiers {
		key := pass.ClosedKey(m.Tier, m.Digest)
		r.closed[key] = closed{outcome: release.ClosedMerged, merges: append([]layout.Hash{r.refs["main"]}, r.closed[key].merges...)}
	}
	delete(r.proposals, branch)
}

// find finds the open proposal of a tier, which is written as seed/cluster/00.
func (f *fleet) find(tier string) (repo, branch string) {
	f.t.Helper()
	branch = "furrow/main/tier/" + tier
	for name, r := range f.repos {
		if _, open := r.proposals[branch]; open {
			return name, branch
		}
	}
	f.t.Fatalf("there is no proposal of %s", tier)
	return "", ""
}

// change changes the open proposal of a tier.
func (f *fleet) change(tier string, change func(*pass.Proposal)) {
	f.t.Helper()
	repo, branch := f.find(tier)
	p := f.repos[repo].proposals[branch]
	change(&p)
	f.repos[repo].proposals[branch] = p
}

func (f *fleet) mergeAll() {
	for _, r := range f.repos {
		for _, branch := range slices.Sorted(maps.Keys(r.proposals)) {
			if !r.proposals[branch].Rejected {
				r.merge(branch)
			}
		}
	}
}

// sync lets all clusters that answer apply what base has.
func (f *fleet) sync() {
	f.t.Helper()
	maps.DeleteFunc(f.live, func(key health.ReconcilerKey, _ health.Reconciler) bool { return !f.silent[key.Cluster] })
	for _, r := range f.repos {
		for at, hash := range r.commits[r.refs["main"]].files {
			parts := strings.Split(at, "/")
			if len(parts) < 4 || parts[0] != "clusters" || parts[2] != "furrow" || f.silent[parts[1]] {
				continue
			}
			objects, err := manifest.Parse(at, r.blobs[hash])
			if err != nil {
				f.t.Fatal(err)
			}
			o, revision := objects[0], "main@sha1:"+r.refs["main"].String()
			f.live[health.ReconcilerKey{Cluster: parts[1], Namespace: o.ID.Namespace, Name: o.ID.Name}] = health.Reconciler{
				Found: true, Rendered: o.Annotation(v1alpha1.AnnotationRendered), Spec: o.Map("spec"), Generation: 1, ObservedGeneration: 1, ReadyGeneration: 1,
				Ready: "True", Revision: revision, AttemptedRevision: revision,
			}
		}
	}
}

// step is a pass.
func (f *fleet) step() *pass.Decision {
	f.t.Helper()
	d := f.decide()
	f.act(d)
	return d
}

// releaseAll makes passes while people merge everything and clusters apply it, until
// nothing is left to do.
func (f *fleet) releaseAll() *fleet {
	f.t.Helper()
	for range 20 {
		d := f.step()
		f.mergeAll()
		f.sync()
		if len(d.Actions) == 0 {
			return f
		}
	}
	f.t.Fatal("there is something to do after 20 passes")
	return nil
}

// ofOthers gives a repository another owner's plan of a seed, on the cluster west.
func (f *fleet) ofOthers(repo, seed string) {
	f.t.Helper()
	other := plan.Compute(plan.Input{Catalog: f.catalog(fstest.MapFS{
		"repos/" + repo + ".yaml": f.tree["repos/"+repo+".yaml"], "clusters/west.yaml": {Data: []byte(document("Cluster", "west", "gitOpsRepo: "+repo))},
		"seeds/" + seed + ".yaml": {Data: []byte(configMap("theirs", 1))},
	}), Owner: "other/test"})[seed]
	f.pushPlan(f.repos[repo], pass.Action{Repo: repo, Seed: seed, Branch: layout.PlanBranch("main", seed), Plan: other.Plan, Files: other.Files[repo]})
}

// mark puts a marker at the plan of a seed, or at another commit where at is not empty.
func (f *fleet) mark(repo string, marker func(base, seed string) string, seed string, at ...layout.Hash) {
	r := f.repos[repo]
	at = append(at, r.refs[layout.PlanBranch("main", seed)])
	r.refs[marker("main", seed)] = at[0]
}

// abandon gives a cluster up.
func (f *fleet) abandon(repo, cluster string) {
	r := f.repos[repo]
	r.refs[layout.AbandonBranch("main", pass.MarkerScope(f.self), cluster)] = r.refs["main"]
}

// actions are those of a decision, as "a: Drop plan/web": a gate with whether it is shut, a
// plan with its generation, and a proposal with what it does.
func actions(d *pass.Decision) []string {
	out := []string{}
	for _, a := range d.Actions {
		line := fmt.Sprintf("%s: %s %s", a.Repo, a.Verb, strings.TrimPrefix(a.Branch, "furrow/main/"))
		switch {
		case a.Verb == pass.Gate && a.Why == "":
			line += " open"
		case a.Verb == pass.Gate:
			line += " shut"
		case a.Verb == pass.Propose:
			verb, _, _ := strings.Cut(a.Title, " ")
			line += " " + verb
		case a.Verb == pass.PushPlan && a.Plan.Removal:
			line += fmt.Sprintf(" removal %d", a.Plan.Generation)
		case a.Verb == pass.PushPlan:
			line += fmt.Sprintf(" %d", a.Plan.Generation)
		}
		out = append(out, line)
	}
	return out
}

// states are those of tiers and the failures of seeds, with their reasons.
func states(d *pass.Decision) []string {
	out := []string{}
	if d.Refusal != nil {
		out = append(out, fmt.Sprint("refused ", d.Refusal.Problem().Reason))
	}
	for _, name := range slices.Sorted(maps.Keys(d.Seeds)) {
		s := d.Seeds[name]
		if s.Failure != nil {
			out = append(out, fmt.Sprint(name, " stalled ", s.Failure.Problem().Reason))
		}
		for _, t := range s.Result.Tiers {
			out = append(out, fmt.Sprintf("%s/%s/%s %s %s", name, t.Tier.Cluster, t.Tier.Number(), t.State, t.Reason))
			if failure := s.Failures[t.Tier]; failure != nil {
				out = append(out, fmt.Sprintf("%s/%s/%s failed", name, t.Tier.Cluster, t.Tier.Number()))
			}
		}
	}
	return out
}

// cases are fleets and what is decided about them.
type cases map[string]struct {
	fleet       *fleet
	arrange     func(*fleet)
	wantStates  []string
	wantActions []string
}

func (c cases) run(t *testing.T) {
	for sentence, tc := range c {
		t.Run(sentence, func(t *testing.T) {
			tc.fleet.t = t
			tc.arrange(tc.fleet)
			d := tc.fleet.decide()
			if diff := gocmp.Diff(tc.wantStates, states(d)); diff != "" {
				t.Errorf("the states (-want +got):\n%s", diff)
			}
			if diff := gocmp.Diff(tc.wantActions, actions(d)); diff != "" {
				t.Errorf("the actions (-want +got):\n%s", diff)
			}
			tc.fleet.act(d)
		})
	}
}
