package planner

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/dependency"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/placement"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/validate"
	"github.com/furrow-dev/furrow/test/program"
	"github.com/furrow-dev/furrow/test/sample"
	"github.com/furrow-dev/furrow/test/usage"
)

// samples are what one thing was measured to take.
type samples []time.Duration

func (s samples) median() time.Duration {
	sorted := slices.Sorted(slices.Values(s))
	if len(sorted) == 0 {
		return 0
	}
	return sorted[len(sorted)/2]
}

// measure adds the processor time of some work.
func (s *samples) measure(work func()) {
	before := usage.Processor()
	work()
	*s = append(*s, usage.Processor()-before)
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// BenchmarkOrdering orders the objects of one seed on one cluster, with and without deciding where they
// go, and has cli-utils order the same objects. The ratios say how much longer it takes.
func BenchmarkOrdering(b *testing.B) {
	peer := buildPeer(b)
	for _, n := range []int{1000, 10_000, 50_000} {
		b.Run(fmt.Sprintf("objects=%d", n), func(b *testing.B) {
			manifests := sample.Manifests(n)
			tree := sample.ControlPlane(0, 0, 1)
			tree["seeds/sample.yaml"] = sample.File(manifests)
			cat, err := catalog.Load(tree)
			must(b, err)
			seed := &cat.Seeds[0]
			must(b, seed.Err)
			var ordering, placing samples
			for b.Loop() {
				var placed placement.Placed
				placing.measure(func() { placed, err = placement.Place(seed, cat.Inventory) })
				must(b, err)
				ordering.measure(func() {
					in := dependency.Seed{Name: seed.Name, Spec: seed.Spec, Contents: placed.Contents, Placements: placed.Placements}
					result := dependency.Build([]dependency.Seed{in}, cat.Inventory)
					if _, conflict := result.Graph.Tiers(nil); conflict != nil || len(result.Errors) > 0 {
						b.Fatal(conflict, result.Errors)
					}
				})
			}
			own, placed := ordering.median(), ordering.median()+placing.median()
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(milliseconds(own), "order-cpu-ms")
			b.ReportMetric(milliseconds(placed), "placed-cpu-ms")
			if peer == "" {
				return
			}
			other := peerOrders(b, peer, manifests)
			b.ReportMetric(milliseconds(other), "cli-utils-cpu-ms")
			b.ReportMetric(float64(other)/float64(own), "ratio")
			b.ReportMetric(float64(other)/float64(placed), "placed-ratio")
		})
	}
}

// BenchmarkSchemas compares 10,000 objects with the schemas of their kinds: those of a sample, which all fit, and custom
// resources whose definition has bounds and a rule in CEL, so each is validated in full.
func BenchmarkSchemas(b *testing.B) {
	const n = 10_000
	objects, err := manifest.Parse("sample.yaml", sample.Manifests(n))
	must(b, err)
	b.Run("kubernetes", func(b *testing.B) {
		var r samples
		misfits := 0
		for b.Loop() {
			r.measure(func() {
				misfits = 0
				for i := range objects {
					o := &objects[i]
					if s := validate.BuiltIn(validate.Assumed, o.ID.Group, o.Version, o.ID.Kind); s != nil && !s.Fits(o.Body) && len(s.Check(o.Body)) > 0 {
						misfits++
					}
				}
			})
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(milliseconds(r.median()), "cpu-ms")
		b.ReportMetric(float64(misfits), "misfits")
	})
	b.Run("custom", func(b *testing.B) {
		spec := map[string]any{"type": "object", "properties": map[string]any{"size": map[string]any{"type": "integer", "minimum": int64(1)}}, "x-kubernetes-validations": []any{map[string]any{"rule": "self.size < 100"}}}
		version := map[string]any{"name": "v1", "schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{"spec": spec}}}}
		s, err := validate.Custom(map[string]any{"spec": map[string]any{"versions": []any{version}}}, "v1")
		must(b, err)
		body := map[string]any{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "a"}, "spec": map[string]any{"size": int64(2)}}
		var r samples
		for b.Loop() {
			r.measure(func() {
				for range n {
					if !s.Fits(body) {
						s.Check(body)
					}
				}
			})
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(milliseconds(r.median()), "cpu-ms")
	})
}

// buildPeer builds the program that orders with cli-utils; empty where its modules are not to be had.
func buildPeer(b *testing.B) string {
	b.Helper()
	at := filepath.Join(b.TempDir(), "cliutils")
	build := exec.CommandContext(b.Context(), "go", "build", "-buildvcs=false", "-o", at, ".")
	build.Dir = "../../tools/cliutils"
	if output, err := build.CombinedOutput(); err != nil {
		b.Logf("without cli-utils, which cannot be built: %v\n%s", err, output)
		return ""
	}
	return at
}

// peerOrders returns the median of what cli-utils takes to order the objects.
func peerOrders(b *testing.B, peer string, manifests []byte) time.Duration {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), peer)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(manifests), os.Stderr
	output, err := cmd.Output()
	must(b, err)
	var result struct{ Runs samples }
	must(b, json.Unmarshal(output, &result))
	return result.Runs.median()
}

// BenchmarkPlanTree has the program read a file of manifests and write the tree of its plan. growth
// says how many times as much ten times the objects take.
func BenchmarkPlanTree(b *testing.B) {
	furrow := mustProgram(b)
	var before time.Duration
	for _, n := range []int{1000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("objects=%d", n), func(b *testing.B) {
			dir := b.TempDir()
			file := filepath.Join(dir, "sample.yaml")
			must(b, os.WriteFile(file, sample.Manifests(n), 0o600))
			var r runs
			for b.Loop() {
				out := filepath.Join(dir, "out")
				r.measure(b, furrow, "plan", "-f", file, "--out", out)
				must(b, os.RemoveAll(out))
			}
			r.report(b)
			if before > 0 {
				b.ReportMetric(float64(r.median())/float64(before), "growth")
			}
			before = r.median()
		})
	}
}

// BenchmarkClusters has the program plan a seed of 200 objects for a fleet.
func BenchmarkClusters(b *testing.B) {
	furrow := mustProgram(b)
	for _, clusters := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprintf("clusters=%d", clusters), func(b *testing.B) {
			dir := b.TempDir()
			must(b, os.CopyFS(dir, sample.ControlPlane(1, 200, clusters)))
			var r runs
			for b.Loop() {
				r.measure(b, furrow, "plan", "--control-plane", dir, "--seed", "seed-0000")
			}
			r.report(b)
		})
	}
}

// BenchmarkSeeds has the program plan seeds of 20 objects for 100 clusters.
func BenchmarkSeeds(b *testing.B) {
	furrow := mustProgram(b)
	for _, seeds := range []int{100, 1000} {
		b.Run(fmt.Sprintf("seeds=%d", seeds), func(b *testing.B) {
			dir := b.TempDir()
			must(b, os.CopyFS(dir, sample.ControlPlane(seeds, 20, 100)))
			var r runs
			for b.Loop() {
				r.measure(b, furrow, "plan", "--control-plane", dir)
			}
			r.report(b)
		})
	}
}

// BenchmarkChange computes the plans of seeds that are planted and released, after one seed has
// changed since they were computed last.
func BenchmarkChange(b *testing.B) {
	for _, seeds := range []int{100, 1000} {
		b.Run(fmt.Sprintf("seeds=%d", seeds), func(b *testing.B) {
			tree := sample.ControlPlane(seeds, 20, 100)
			in := plan.Input{Catalog: mustLoad(b, tree), Owner: "acme/bench", Previous: map[string]*plan.Previous{}, Memo: &plan.Memo{}}
			for name, o := range plan.Compute(in) {
				must(b, o.Err)
				in.Previous[name] = &plan.Previous{Plan: o.Plan, Released: true}
			}
			plan.Compute(in)
			tree["seeds/seed-0000.yaml"] = sample.File(sample.Seed(0, 20, "changed"))
			in.Catalog = mustLoad(b, tree)
			var s samples
			for b.Loop() {
				s.measure(func() {
					outcomes := plan.Compute(in)
					if outcomes["seed-0000"].Kept || !outcomes["seed-0001"].Kept {
						b.Fatal("another seed has changed")
					}
				})
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(milliseconds(s.median()), "cpu-ms")
		})
	}
}

// runs are what runs of a program took.
type runs struct {
	samples
	peaks []float64
}

// measure runs a program; what it prints is not kept.
func (r *runs) measure(b *testing.B, name string, args ...string) {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), name, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	peak, err := program.Run(cmd)
	if err != nil {
		b.Fatalf("%s: %v\n%s", args[0], err, stderr.Bytes())
	}
	r.samples = append(r.samples, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	r.peaks = append(r.peaks, float64(peak))
}

func (r *runs) report(b *testing.B) {
	b.Helper()
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(milliseconds(r.median()), "cpu-ms")
	b.ReportMetric(slices.Max(r.peaks), "peak-MiB")
}

func mustProgram(b *testing.B) string {
	b.Helper()
	furrow, err := program.Furrow(b.Context(), b.TempDir())
	must(b, err)
	return furrow
}

func mustLoad(b *testing.B, tree fs.FS) *catalog.Catalog {
	b.Helper()
	cat, err := catalog.Load(tree)
	must(b, err)
	return cat
}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}
