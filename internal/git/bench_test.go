package git_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/test/gitcmd"
)

// fleet is a bare repository with the seeds of many clusters, ten files a tier.
type fleet struct {
	bare     string
	clusters int
	seeds    int
	files    int
}

// filesPerTier is the size of the tiers that are released.
const filesPerTier = 10

// newFleet makes a repository of clusters × seeds × files files.
func newFleet(b *testing.B, clusters, seeds, files int) fleet {
	b.Helper()
	f := fleet{newBare(b), clusters, seeds, files}
	cmd := exec.Command("git", "-C", f.bare, "fast-import", "--quiet")
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	w := bufio.NewWriter(in)
	f.write(w)
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		b.Fatal(err)
	}
	gitcmd.Run(b, f.bare, "repack", "-adq")
	gitcmd.Run(b, f.bare, "config", "gc.auto", "0")
	return f
}

func (f fleet) write(w io.Writer) {
	fmt.Fprintf(w, "commit refs/heads/main\ncommitter Ann <ann@example.com> 1700000000 +0000\ndata 5\nfleet\n")
	for c := range f.clusters {
		for s := range f.seeds {
			for i := range f.files {
				text := manifest(fmt.Sprintf("app-%d-%d-%d", c, s, i))
				fmt.Fprintf(w, "M 100644 inline planted/%s/seed-%d/tier-00/object-%d.yaml\ndata %d\n%s\n", cluster(c), s, i, len(text), text)
			}
		}
	}
	fmt.Fprintln(w)
}

func cluster(i int) string { return fmt.Sprintf("cluster-%04d", i) }

func manifest(name string) string {
	return "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: " + name + "\n  namespace: edge\n" +
		"spec:\n  replicas: 2\n  selector:\n    matchLabels:\n      app: " + name + "\n  template:\n    metadata:\n" +
		"      labels:\n        app: " + name + "\n    spec:\n      containers:\n      - name: main\n        image: registry.example.com/" + name + ":1.2.3\n"
}

// planFiles are the files of a plan of one tier: its manifests, its reconciler and plan.yaml.
func planFiles(cluster, seed string) map[string][]byte {
	files := map[string][]byte{
		"plan.yaml": []byte("kind: Plan\nseed: " + seed + "\n"),
		"clusters/" + cluster + "/furrow/" + seed + "/tier-00.yaml": []byte("kind: Kustomization\nname: " + seed + "." + cluster + "\n"),
	}
	for i := range filesPerTier {
		files[fmt.Sprintf("planted/%s/%s/tier-00/object-%d.yaml", cluster, seed, i)] = []byte(manifest(fmt.Sprintf("%s-%s-%d", cluster, seed, i)))
	}
	return files
}

func tierPaths(cluster, seed string) []string {
	return []string{"planted/" + cluster + "/" + seed + "/tier-00", "clusters/" + cluster + "/furrow/" + seed + "/tier-00.yaml"}
}

// graftTier grafts one tier of a plan onto the base.
func graftTier(b *testing.B, m *git.Mirror, base, plan git.Hash, cluster, seed string) git.Grafted {
	b.Helper()
	entries, err := m.Entries(plan, tierPaths(cluster, seed))
	if err != nil {
		b.Fatal(err)
	}
	var edits []git.Edit
	for path, entry := range entries {
		edits = append(edits, git.Edit{Path: path, Hash: entry.Hash, Mode: entry.Mode})
	}
	grafted, err := m.Graft(base, edits, message("Plant "+seed+" on "+cluster))
	if err != nil {
		b.Fatal(err)
	}
	return grafted
}

// release plans one tier and pushes plan and tier, and returns how long the graft took.
func release(b *testing.B, m *git.Mirror, base git.Hash, cluster, seed string) (grafting time.Duration) {
	b.Helper()
	tree, err := m.WriteTree(planFiles(cluster, seed))
	if err != nil {
		b.Fatal(err)
	}
	plan, err := m.CommitTree(tree.Hash, nil, message("Plan "+seed))
	if err != nil {
		b.Fatal(err)
	}
	start := time.Now()
	tier := graftTier(b, m, base, plan, cluster, seed)
	grafting = time.Since(start)
	err = m.Push(b.Context(), []git.Update{
		{Ref: "furrow/main/plan/" + seed, New: plan, Objects: append(tree.Objects, plan)},
		{Ref: "furrow/main/tier/" + seed + "/" + cluster + "/00", New: tier.Commit, Objects: tier.Objects},
	})
	if err != nil {
		b.Fatal(err)
	}
	return grafting
}

// releaseByPlumbing does the same with git's own plumbing, without an index, from a bare clone.
func releaseByPlumbing(b *testing.B, clone, cluster, seed string) {
	b.Helper()
	scratch := b.TempDir()
	files := planFiles(cluster, seed)
	var paths []string
	for path := range files {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	var names strings.Builder
	for i, path := range paths {
		name := filepath.Join(scratch, strconv.Itoa(i))
		if err := os.WriteFile(name, files[path], 0o600); err != nil {
			b.Fatal(err)
		}
		fmt.Fprintln(&names, name)
	}
	blobs := map[string]string{}
	for i, hash := range strings.Fields(gitcmd.Input(b, clone, names.String(), "hash-object", "-w", "--stdin-paths")) {
		blobs[paths[i]] = hash
	}
	tier := tierTree(b, clone, paths, blobs)
	reconciler := fmt.Sprintf("100644 blob %s\ttier-00.yaml\n", blobs["clusters/"+cluster+"/furrow/"+seed+"/tier-00.yaml"])
	planRoot := gitcmd.Input(b, clone, fmt.Sprintf("100644 blob %s\tplan.yaml\n", blobs["plan.yaml"])+
		line(wrap(b, clone, "", []string{cluster, seed, "tier-00"}, tier), "planted")+
		line(wrap(b, clone, "", []string{cluster, "furrow", seed}, gitcmd.Input(b, clone, reconciler, "mktree")), "clusters"), "mktree")
	plan := gitcmd.Run(b, clone, "commit-tree", planRoot, "-m", "Plan "+seed)
	planted := wrap(b, clone, "main:planted", []string{cluster, seed, "tier-00"}, tier)
	clusters := wrap(b, clone, "main:clusters", []string{cluster, "furrow", seed}, gitcmd.Input(b, clone, reconciler, "mktree"))
	root := replace(b, clone, "main", map[string]string{"planted": planted, "clusters": clusters})
	commit := gitcmd.Run(b, clone, "commit-tree", root, "-p", "main", "-m", "Plant "+seed+" on "+cluster)
	gitcmd.Run(b, clone, "push", "--quiet", "--atomic", "origin", plan+":refs/heads/furrow/main/plan/"+seed,
		commit+":refs/heads/furrow/main/tier/"+seed+"/"+cluster+"/00")
}

func line(hash, name string) string { return fmt.Sprintf("040000 tree %s\t%s\n", hash, name) }

func tierTree(b *testing.B, clone string, paths []string, blobs map[string]string) string {
	var lines strings.Builder
	for _, path := range paths {
		if strings.HasPrefix(path, "planted/") {
			fmt.Fprintf(&lines, "100644 blob %s\t%s\n", blobs[path], filepath.Base(path))
		}
	}
	return gitcmd.Input(b, clone, lines.String(), "mktree")
}

// wrap puts a tree below the directories names of the tree-ish at; without at, or where it has none, they are new.
func wrap(b *testing.B, clone, at string, names []string, hash string) string {
	if len(names) == 0 {
		return hash
	}
	below := ""
	if at != "" {
		below = at + "/" + names[0]
	}
	return replace(b, clone, at, map[string]string{names[0]: wrap(b, clone, below, names[1:], hash)})
}

func replace(b *testing.B, clone, at string, trees map[string]string) string {
	var lines strings.Builder
	if at != "" {
		out, _ := exec.Command("git", "-C", clone, "ls-tree", at).Output()
		for old := range strings.Lines(string(out)) {
			_, name, _ := strings.Cut(strings.TrimSuffix(old, "\n"), "\t")
			if _, gone := trees[name]; !gone {
				lines.WriteString(old)
			}
		}
	}
	for name, hash := range trees {
		lines.WriteString(line(hash, name))
	}
	return gitcmd.Input(b, clone, lines.String(), "mktree")
}

// releaseByWorkTree clones, writes the files, adds, commits and pushes.
func releaseByWorkTree(b *testing.B, bare, cluster, seed string) {
	b.Helper()
	work := filepath.Join(b.TempDir(), "work")
	gitcmd.Run(b, ".", "clone", "--quiet", bare, work)
	for path, content := range planFiles(cluster, seed) {
		path = filepath.Join(work, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	gitcmd.Run(b, work, "add", "--all")
	gitcmd.Run(b, work, "commit", "--quiet", "-m", "Plant "+seed)
	gitcmd.Run(b, work, "push", "--quiet", "origin", "HEAD:refs/heads/furrow/main/tier/"+seed+"/"+cluster+"/00")
	if err := os.RemoveAll(work); err != nil {
		b.Fatal(err)
	}
}

func median(times []time.Duration) float64 {
	slices.Sort(times)
	return float64(times[len(times)/2].Microseconds()) / 1000
}

func timed(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

// forgetPeak starts a new measurement of the process's greatest memory, where the system has one.
func forgetPeak() {
	runtime.GC()
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o600)
}

func peakMiB() float64 {
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, _ := strconv.Atoi(strings.Fields(rest)[0])
			return float64(kib) / 1024
		}
	}
	return 0
}

// BenchmarkReleaseOfOneTier compares, in one run and interleaved, a release through a warm mirror, by git's plumbing from a warm bare
// clone, and by clone, add, commit and push, on a repository of 100,000 files.
func BenchmarkReleaseOfOneTier(b *testing.B) {
	f := newFleet(b, 2000, 5, 10)
	m := openLocal(b, f.bare)
	forgetPeak()
	filling := timed(func() { fetch(b, m) })
	fillingPeak := peakMiB()
	offerBlobs(b, f.bare)
	bloblessMirror := openLocal(b, f.bare)
	forgetPeak()
	bloblessFilling := timed(func() { fetch(b, bloblessMirror) })
	bloblessPeak := peakMiB()
	clone := filepath.Join(b.TempDir(), "clone.git")
	gitcmd.Run(b, ".", "clone", "--quiet", "--bare", f.bare, clone)
	base := at(b, f.bare, "main")
	const rounds, workTreeRounds = 21, 3
	var ours, grafts, plumbing, workTree, listing []time.Duration
	round := 0
	for b.Loop() {
		forgetPeak()
		for i := range rounds {
			seed, target := fmt.Sprintf("r%d-%d", round, i), cluster(i*37%f.clusters)
			ours = append(ours, timed(func() { grafts = append(grafts, release(b, m, base, target, seed+"-ours")) }))
			plumbing = append(plumbing, timed(func() { releaseByPlumbing(b, clone, target, seed+"-plumbing") }))
			listing = append(listing, timed(func() {
				if _, err := m.Fetch(b.Context(), "main"); err != nil {
					b.Fatal(err)
				}
			}))
		}
		b.ReportMetric(peakMiB(), "peak-MiB")
		for i := range workTreeRounds {
			workTree = append(workTree, timed(func() { releaseByWorkTree(b, f.bare, cluster(i), fmt.Sprintf("r%d-%d-work", round, i)) }))
		}
		round++
	}
	b.ReportMetric(median(ours), "ours-ms")
	b.ReportMetric(median(grafts), "graft-ms")
	b.ReportMetric(median(listing), "fetch-ms")
	b.ReportMetric(median(plumbing), "plumbing-ms")
	b.ReportMetric(median(workTree), "worktree-ms")
	b.ReportMetric(median(ours)/median(plumbing), "ours/plumbing")
	b.ReportMetric(median(ours)/median(workTree), "ours/worktree")
	b.ReportMetric(float64(filling.Milliseconds()), "first-fetch-ms")
	b.ReportMetric(fillingPeak, "first-fetch-MiB")
	b.ReportMetric(float64(bloblessFilling.Milliseconds()), "first-blobless-fetch-ms")
	b.ReportMetric(bloblessPeak, "first-blobless-fetch-MiB")
}

// BenchmarkThousandTierBranchesInOnePush grafts a thousand tiers of one plan and pushes them all. Then the mirror is collected.
func BenchmarkThousandTierBranchesInOnePush(b *testing.B) {
	const tiers = 1000
	f := newFleet(b, 2000, 5, 10)
	m := openLocal(b, f.bare)
	fetch(b, m)
	base := at(b, f.bare, "main")
	round := 0
	for b.Loop() {
		seed := fmt.Sprintf("wide-%d", round)
		files := map[string][]byte{}
		for i := range tiers {
			for path, content := range planFiles(cluster(i), seed) {
				files[path] = content
			}
		}
		forgetPeak()
		start := time.Now()
		tree, err := m.WriteTree(files)
		if err != nil {
			b.Fatal(err)
		}
		plan, err := m.CommitTree(tree.Hash, nil, message("Plan"))
		if err != nil {
			b.Fatal(err)
		}
		planned := time.Since(start)
		updates := []git.Update{{Ref: "furrow/main/plan/" + seed, New: plan, Objects: append(tree.Objects, plan)}}
		for i := range tiers {
			tier := graftTier(b, m, base, plan, cluster(i), seed)
			updates = append(updates, git.Update{Ref: "furrow/main/tier/" + seed + "/" + cluster(i) + "/00", New: tier.Commit, Objects: tier.Objects})
		}
		grafted := time.Since(start)
		if err := m.Push(b.Context(), updates); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(planned.Seconds(), "plan-s")
		b.ReportMetric((grafted - planned).Seconds(), "graft-s")
		b.ReportMetric((time.Since(start) - grafted).Seconds(), "push-s")
		b.ReportMetric(time.Since(start).Seconds(), "all-s")
		b.ReportMetric(peakMiB(), "peak-MiB")
		start = time.Now()
		if err := m.Collect(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(time.Since(start).Seconds(), "collect-s")
		fetch(b, m)
		round++
	}
}

// BenchmarkGraft grafts one tier onto repositories of 2,000 clusters with 10,000 and with 100,000 files.
func BenchmarkGraft(b *testing.B) {
	for _, shape := range []struct{ seeds, files int }{{1, 5}, {5, 10}} {
		b.Run(fmt.Sprintf("files=%d", 2000*shape.seeds*shape.files), func(b *testing.B) {
			f := newFleet(b, 2000, shape.seeds, shape.files)
			m := openLocal(b, f.bare)
			base := fetch(b, m)["main"]
			tree, err := m.WriteTree(map[string][]byte{"object.yaml": []byte(manifest("new"))})
			if err != nil {
				b.Fatal(err)
			}
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				i++
				edit := git.Edit{Path: fmt.Sprintf("planted/%s/new-%d/tier-00", cluster(i%f.clusters), i), Hash: tree.Hash, Mode: git.ModeDir}
				if _, err := m.Graft(base, []git.Edit{edit}, message("Plant")); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
