package plan_test

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	gocmp "github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/dependency"
	"github.com/furrow-dev/furrow/internal/core/githash"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/test/golden"
)

// TestScenarios plans the control-plane trees of each testdata/*.txtar.
//
// An archive with files below in/ is one step, and shows every file of every
// plan: out/<seed>/plan.yaml, out/<seed>/<repo>/<path>, and out/<seed>/error.
//
// An archive with files below 1/in/, 2/in/, … is a story. Each step starts with the
// plans of the one before; files of a step replace those of the step before, and an
// empty file removes one. A step shows <step>/out/<seed>, a summary, and the files
// that <step>/settings asks for:
//
//	released: true   # every tier of the plans before is Released
//	passed: [edge]   # the moves on these clusters are live, those on all if released
//	merged: true     # the base branch has the plans before; follows from released
//	strict: true     # Input.Strict
//	owner: acme/test # Input.Owner
//	show: [a/path]   # of the plans' trees, or plan.yaml
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			if tree := treeOf(archive, "in/"); len(tree) > 0 {
				for name, o := range compute(t, tree) {
					show(t, got, "out/"+name+"/", o)
				}
			} else {
				runStory(t, archive, got)
			}
			if golden.Update() {
				rewrite(t, file, archive, got)
				return
			}
			want := map[string]string{}
			for _, f := range archive.Files {
				if isOutput(f.Name) {
					want[f.Name] = string(f.Data)
				}
			}
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("the plans differ (-want +got):\n%s", diff)
			}
		})
	}
}

func isOutput(name string) bool {
	return strings.HasPrefix(name, "out/") || strings.Contains(name, "/out/")
}

func treeOf(archive *txtar.Archive, prefix string) fstest.MapFS {
	tree := fstest.MapFS{}
	for _, f := range archive.Files {
		if name, ok := strings.CutPrefix(f.Name, prefix); ok {
			tree[name] = &fstest.MapFile{Data: f.Data}
		}
	}
	return tree
}

func load(tb testing.TB, tree fs.FS) *catalog.Catalog {
	tb.Helper()
	cat, err := catalog.Load(tree)
	if err != nil {
		tb.Fatal(err)
	}
	return cat
}

const (
	owner    = "acme/test"
	revision = "main@sha1:0000000000000000000000000000000000000000"
)

func compute(tb testing.TB, tree fs.FS) map[string]*plan.Outcome {
	tb.Helper()
	return plan.Compute(plan.Input{Catalog: load(tb, tree), Owner: owner, Revision: revision})
}

// show renders an outcome as the files of its tree.
func show(t *testing.T, into map[string]string, prefix string, o *plan.Outcome) {
	t.Helper()
	if o.Err != nil {
		into[prefix+"error"] = fmt.Sprintf("%s: %v\n", manifest.ReasonOf(o.Err), o.Err)
	}
	if o.Plan == nil {
		return
	}
	own, err := o.Plan.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range own {
		into[prefix+name] = string(data)
	}
	for repo, files := range o.Files {
		for p, f := range files.Flat() {
			into[prefix+repo+"/"+p] = string(f.Data)
		}
	}
}

func rewrite(t *testing.T, file string, archive *txtar.Archive, got map[string]string) {
	t.Helper()
	archive.Files = slices.DeleteFunc(archive.Files, func(f txtar.File) bool { return isOutput(f.Name) })
	for _, name := range slices.Sorted(maps.Keys(got)) {
		archive.Files = append(archive.Files, txtar.File{Name: name, Data: []byte(got[name])})
	}
	slices.SortStableFunc(archive.Files, func(a, b txtar.File) int { return cmp.Compare(stepOf(a.Name), stepOf(b.Name)) })
	if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
		t.Fatal(err)
	}
}

// stepOf is the number of the step that a file of a story belongs to.
func stepOf(name string) string {
	step, _, _ := strings.Cut(name, "/")
	if strings.Trim(step, "0123456789") != "" {
		return ""
	}
	return step
}

// settings is a step's file of that name.
type settings struct {
	Released bool     `json:"released,omitempty"`
	Passed   []string `json:"passed,omitempty"`
	Merged   bool     `json:"merged,omitempty"`
	Strict   bool     `json:"strict,omitempty"`
	Owner    string   `json:"owner,omitempty"`
	Show     []string `json:"show,omitempty"`
}

// files are the hashes of files by repository and path.
type files map[string]map[string]layout.Hash

func (f files) put(repo, path string, hash layout.Hash) {
	if f[repo] == nil {
		f[repo] = map[string]layout.Hash{}
	}
	f[repo][path] = hash
}

// story carries plans from one step to the next, as the engine does with branches.
type story struct {
	tree  fstest.MapFS
	plans map[string]*plan.Plan
	// trees are those of the plans, by seed; merged is what the base branch has
	// of each; blobs is the content of every file there ever was.
	trees, merged map[string]files
	blobs         map[layout.Hash]string
	memo          plan.Memo
}

func newStory() *story {
	return &story{tree: fstest.MapFS{}, plans: map[string]*plan.Plan{}, trees: map[string]files{}, merged: map[string]files{}, blobs: map[layout.Hash]string{}}
}

func runStory(t *testing.T, archive *txtar.Archive, into map[string]string) {
	t.Helper()
	s := newStory()
	for step := 1; ; step++ {
		prefix := fmt.Sprintf("%d/", step)
		change := treeOf(archive, prefix)
		if len(change) == 0 {
			return
		}
		var set settings
		if file, ok := change["settings"]; ok {
			if err := yaml.UnmarshalStrict(file.Data, &set); err != nil {
				t.Fatal(err)
			}
		}
		for name, o := range s.step(t, treeOf(archive, prefix+"in/"), set) {
			into[prefix+"out/"+name] = summary(o)
			for _, p := range set.Show {
				s.show(t, into, prefix+"out/"+name+"/", p, name, o)
			}
		}
	}
}

// step changes the tree and plans it, with the plans of the step before.
func (s *story) step(t *testing.T, change fstest.MapFS, set settings) map[string]*plan.Outcome {
	t.Helper()
	for name, f := range change {
		s.tree[name] = f
		if len(f.Data) == 0 {
			delete(s.tree, name)
		}
	}
	if set.Released || set.Merged {
		for name := range s.plans {
			s.merged[name] = s.trees[name]
		}
	}
	in := plan.Input{Catalog: load(t, s.tree), Owner: cmp.Or(set.Owner, owner), Revision: revision, Strict: set.Strict, Previous: map[string]*plan.Previous{}, Memo: &s.memo}
	for name, p := range s.plans {
		in.Previous[name] = s.previous(p, set)
	}
	outcomes := plan.Compute(in)
	checkInputs(t, in, outcomes)
	checkClasses(t, in, outcomes)
	checkMemo(t, in)
	for name, last := range s.plans {
		if _, there := in.Catalog.Seed(name); !there {
			outcomes[name] = &plan.Outcome{Plan: plan.Remove(last, revision), Files: map[string]plan.Files{}}
		}
	}
	for name, o := range outcomes {
		s.keep(t, name, o)
	}
	return outcomes
}

// checkInputs computes again without the digests of the plans before, by which rendering is
// saved, and wants the same.
func checkInputs(t *testing.T, in plan.Input, got map[string]*plan.Outcome) {
	t.Helper()
	without := in
	without.Memo = nil
	without.Previous = map[string]*plan.Previous{}
	for name, p := range in.Previous {
		other := *p
		other.Plan = other.Plan.WithTiers(p.Plan.Tiers)
		other.Plan.Inputs = ""
		without.Previous[name] = &other
	}
	want := plan.Compute(without)
	for name, o := range want {
		if o.Kept && in.Previous[name] != nil && o.Plan != nil {
			o.Plan = o.Plan.WithTiers(o.Plan.Tiers)
			o.Plan.Inputs = in.Previous[name].Plan.Inputs
		}
	}
	text := gocmp.Comparer(func(a, b error) bool { return fmt.Sprint(a) == fmt.Sprint(b) })
	if diff := gocmp.Diff(want, got, text); diff != "" {
		t.Errorf("with the digests of the plans before it is another plan (-without +with):\n%s", diff)
	}
}

// checkMemo computes twice more, now that the memo has what was computed, and wants the same.
func checkMemo(t *testing.T, in plan.Input) {
	t.Helper()
	text := gocmp.Comparer(func(a, b error) bool { return fmt.Sprint(a) == fmt.Sprint(b) })
	got := plan.Compute(in)
	in.Memo = nil
	if diff := gocmp.Diff(plan.Compute(in), got, text); diff != "" {
		t.Errorf("by what is remembered it is another plan (-without +with):\n%s", diff)
	}
}

// checkClasses computes again for each cluster by itself, and wants the same.
func checkClasses(t *testing.T, in plan.Input, got map[string]*plan.Outcome) {
	t.Helper()
	text := gocmp.Comparer(func(a, b error) bool { return fmt.Sprint(a) == fmt.Sprint(b) })
	if diff := gocmp.Diff(plan.ComputeApart(in), got, text); diff != "" {
		t.Errorf("by classes of clusters it is another plan (-for each cluster +by classes):\n%s", diff)
	}
}

func (s *story) previous(p *plan.Plan, set settings) *plan.Previous {
	base, passed, blobs := files{}, map[dependency.Vertex]bool{}, map[layout.Hash][]byte{}
	for _, m := range p.Moves {
		for _, cluster := range m.Clusters {
			if set.Released || slices.Contains(set.Passed, cluster) {
				passed[dependency.Vertex{Seed: p.Seed, Object: m.Object, Cluster: cluster}] = true
			}
		}
	}
	for hash, text := range s.blobs {
		blobs[hash] = []byte(text)
	}
	for repo, paths := range (&plan.Previous{Plan: p}).BasePaths() {
		for _, path := range paths {
			for _, merged := range s.merged {
				if hash := merged[repo][path]; !hash.IsZero() {
					base.put(repo, path, hash)
				}
			}
		}
	}
	return &plan.Previous{Plan: p, Released: set.Released, Base: base, Passed: passed, Blobs: blobs}
}

func (s *story) keep(t *testing.T, name string, o *plan.Outcome) {
	t.Helper()
	if o.Plan == nil || o.Files == nil {
		return
	}
	tree := files{}
	for repo, below := range o.Files {
		for p, f := range below.Flat() {
			if f.Data != nil {
				s.blobs[f.Hash] = string(f.Data)
				if f.Hash != githash.Blob(f.Data) {
					t.Errorf("%s of seed %s has the hash of something else", p, name)
				}
			} else if _, known := s.blobs[f.Hash]; !known {
				t.Errorf("%s of seed %s is taken over from nowhere", p, name)
			}
			tree.put(repo, p, f.Hash)
		}
	}
	checkEntries(t, o.Plan, tree)
	s.plans[name], s.trees[name] = readBack(t, o.Plan), tree
}

// readBack is the plan as the next step finds it on its branch.
func readBack(t *testing.T, p *plan.Plan) *plan.Plan {
	t.Helper()
	own, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := plan.Decode(from(own))
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(p, back); diff != "" {
		t.Errorf("the plan is read back as another one (-written +read):\n%s", diff)
	}
	return back
}

// checkEntries holds a plan to its tree: the tiers' hashes are those of what
// lies there, and nothing else lies there.
func checkEntries(t *testing.T, p *plan.Plan, tree files) {
	t.Helper()
	left := 0
	for i := range p.Tiers {
		tier := &p.Tiers[i]
		if got := tree[tier.Repo][tier.ReconcilerFile()]; got != tier.ReconcilerHash() {
			t.Errorf("%s: the reconciler object is %q, and the tier says %q", tier, got, tier.ReconcilerHash())
		}
		if tier.Gone() {
			continue
		}
		left++
		below := map[string]layout.Hash{}
		for _, o := range p.Objects(tier) {
			below[o.File] = tree[tier.Repo][tier.FilePath(o)]
			left++
		}
		if got := githash.Tree(below); got != tier.DirHash() {
			t.Errorf("%s: the objects are tree %q, and the tier says %q", tier, got, tier.DirHash())
		}
	}
	for _, below := range tree {
		left -= len(below)
	}
	if left != 0 {
		t.Errorf("the tree of %s has %d files more than its tiers have", p.Seed, -left)
	}
}

// show adds one file of an outcome that a step asks for.
func (s *story) show(t *testing.T, into map[string]string, prefix, path, name string, o *plan.Outcome) {
	t.Helper()
	if path == layout.PlanFile && o.Plan != nil {
		own, err := o.Plan.Encode()
		if err != nil {
			t.Fatal(err)
		}
		into[prefix+path] = string(own[path])
		return
	}
	for repo, below := range s.trees[name] {
		if hash := below[path]; !hash.IsZero() {
			into[prefix+repo+"/"+path] = s.blobs[hash]
		}
	}
}

// summary says what became of a seed, for people.
func summary(o *plan.Outcome) string {
	var b strings.Builder
	if o.Err != nil {
		fmt.Fprintf(&b, "error %s: %v\n", manifest.ReasonOf(o.Err), o.Err)
	}
	switch {
	case o.Plan == nil:
		b.WriteString("no plan\n")
		return b.String()
	case o.Kept:
		b.WriteString("the plan before is kept\n")
	}
	for _, name := range slices.Sorted(maps.Keys(o.Broken)) {
		fmt.Fprintf(&b, "%s stays as it was: %s\n", name, o.Broken[name])
	}
	if o.Plan.Removal {
		b.WriteString("the seed is removed\n")
	}
	for i := range o.Plan.Tiers {
		summarise(&b, o.Plan, &o.Plan.Tiers[i])
	}
	for _, m := range o.Plan.Moves {
		fmt.Fprintf(&b, "on %s %s\n", strings.Join(m.Clusters, ", "), &m)
	}
	for _, over := range o.Plan.Overrides {
		for _, one := range over.Objects {
			fmt.Fprintf(&b, "override %s (%s) of %s on %s: %s\n", over.Name, over.From, one.ID, strings.Join(over.Clusters, ", "), strings.Join(one.Changes, "; "))
		}
	}
	for _, w := range o.Plan.Warnings {
		fmt.Fprintf(&b, "warning: %s: %s\n", w.Object, w.Message)
	}
	return b.String()
}

func summarise(b *strings.Builder, p *plan.Plan, t *plan.Tier) {
	fmt.Fprintf(b, "%s in %s/%s", t, t.Repo, t.Dir())
	if t.Gone() {
		b.WriteString(", gone")
	}
	b.WriteString("\n")
	for _, pre := range t.Prerequisites {
		fmt.Fprintf(b, "  after %s tier %02d: %s\n", strings.TrimSpace(pre.Seed+" "+pre.Cluster), pre.Ordinal, pre.Why)
	}
	for _, o := range p.Objects(t) {
		fmt.Fprintf(b, "  %s", o.ID)
		if o.Leaving {
			b.WriteString(", leaving")
		}
		b.WriteString("\n")
	}
	if t.Leaving == nil {
		return
	}
	for _, o := range t.Leaving.Objects {
		fmt.Fprintf(b, "  goes: %s\n", o.ID)
	}
	for _, r := range t.Leaving.After {
		fmt.Fprintf(b, "  goes after %s tier %02d: %s\n", r.Cluster, r.Ordinal, r.Why)
	}
}
