package render_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/render"
)

var update = flag.Bool("update", false, "write the expected output of scenarios")

// TestScenarios renders and plans control planes that are given as archives; the file "out"
// is what comes of it. Only commit changes of it that you understand and want.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no scenarios: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := outcomeOf(t, treeOf(archive))
			i := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == "out" })
			if *update {
				if i >= 0 {
					archive.Files = slices.Delete(archive.Files, i, i+1)
				}
				archive.Files = append(archive.Files, txtar.File{Name: "out", Data: []byte(got)})
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if i < 0 {
				t.Fatal("there is no file out; run the test with -update")
			}
			if diff := cmp.Diff(string(archive.Files[i].Data), got); diff != "" {
				t.Errorf("the outcome differs (-want +got):\n%s", diff)
			}
		})
	}
}

func treeOf(archive *txtar.Archive) fstest.MapFS {
	tree := fstest.MapFS{}
	for _, f := range archive.Files {
		if f.Name != "out" {
			tree[f.Name] = &fstest.MapFile{Data: f.Data}
		}
	}
	return tree
}

func load(t *testing.T, tree fstest.MapFS, o render.Options) *catalog.Catalog {
	t.Helper()
	cat, err := render.Load(t.Context(), tree, o)
	if err != nil {
		t.Fatal(err)
	}
	return cat
}

// outcomeOf is what a control plane comes to: problems, and of each seed its error, or its
// variants, what differs, and the files that land.
func outcomeOf(t *testing.T, tree fstest.MapFS) string {
	t.Helper()
	var b strings.Builder
	cat := load(t, tree, render.Options{})
	for _, p := range cat.Problems {
		fmt.Fprintln(&b, "problem: "+p.Error())
	}
	outcomes := plan.Compute(plan.Input{Catalog: cat, Owner: "acme/test"})
	for _, name := range slices.Sorted(maps.Keys(outcomes)) {
		o := outcomes[name]
		if o.Err != nil {
			fmt.Fprintf(&b, "seed %s\n  error: %s\n", name, strings.ReplaceAll(o.Err.Error(), "\n", "\n  error: "))
			continue
		}
		fmt.Fprintf(&b, "seed %s\n", name)
		for _, v := range o.Plan.Variants {
			fmt.Fprintf(&b, "  variant %s: %s\n", v.Name, strings.Join(v.Clusters, ", "))
		}
		for i := range o.Plan.Tiers {
			tier := &o.Plan.Tiers[i]
			for _, object := range o.Plan.Objects(tier) {
				fmt.Fprintf(&b, "  %s: %s from %s, %s\n", tier, object.ID, object.From, object.Hash.String()[:7])
			}
		}
		for _, d := range o.Plan.Differ() {
			for _, c := range d.Contents {
				fmt.Fprintf(&b, "  %s on %s:\n    %s", d.Object, strings.Join(c.Clusters, ", "), strings.ReplaceAll(contentOf(o, c), "\n", "\n    "))
				fmt.Fprintln(&b)
			}
		}
		for _, w := range o.Plan.Warnings {
			fmt.Fprintf(&b, "  warning: %s\n", w)
		}
	}
	return strings.ReplaceAll(b.String(), "    \n", "")
}

func contentOf(o *plan.Outcome, c plan.ContentOn) string {
	for _, files := range o.Files {
		for _, f := range files.Flat() {
			if f.Hash == c.Hash {
				return string(f.Data)
			}
		}
	}
	return ""
}

func TestWhatWasRenderedIsKeptUntilItsInputsChange(t *testing.T) {
	tree := fstest.MapFS{
		"seeds/web/kustomization.yaml": {Data: []byte("resources: [a.yaml]\n")},
		"seeds/web/a.yaml":             {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default}\n")},
		"seeds/plain.yaml":             {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, namespace: default}\n")},
	}
	cache := &render.Cache{}
	body := func() (web, plain any) {
		cat := load(t, tree, render.Options{Cache: cache})
		for _, s := range cat.Seeds {
			if s.Err != nil {
				t.Fatal(s.Err)
			}
		}
		first, _ := cat.Seed("web")
		second, _ := cat.Seed("plain")
		return fmt.Sprintf("%p", first.Objects()[0].Body), fmt.Sprintf("%p", second.Objects()[0].Body)
	}
	web, plain := body()
	if again, other := body(); again != web || other != plain {
		t.Error("what did not change was rendered again")
	}
	tree["seeds/web/a.yaml"] = &fstest.MapFile{Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default}\ndata: {x: y}\n")}
	again, other := body()
	if again == web {
		t.Error("what changed was not rendered again")
	}
	if other != plain {
		t.Error("one seed that changes lets others be rendered again")
	}
}

func TestLoadingEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	tree := fstest.MapFS{
		"seeds/web/kustomization.yaml": {Data: []byte("resources: [a.yaml]\n")},
		"seeds/web/a.yaml":             {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default}\n")},
	}
	if _, err := render.Load(ctx, tree, render.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}
