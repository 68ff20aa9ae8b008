package plan_test

import (
	"flag"
	"io/fs"
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
)

// Only accept updated files if you understand what changed them and want it.
var update = flag.Bool("update", false, "write what the scenarios give into their files")

// TestScenarios plans the control-plane tree of each testdata/*.txtar and
// compares every file of every plan: files below in/ are the input, files below
// out/<seed>/ the plan's tree (plan.yaml first), out/<seed>/error an error.
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
			for name, o := range compute(t, treeOf(archive, "in/")) {
				show(t, got, "out/"+name+"/", o)
			}
			if *update {
				rewrite(t, file, archive, got)
				return
			}
			want := map[string]string{}
			for _, f := range archive.Files {
				if strings.HasPrefix(f.Name, "out/") {
					want[f.Name] = string(f.Data)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the plans differ (-want +got):\n%s", diff)
			}
		})
	}
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

func compute(t *testing.T, tree fs.FS) map[string]*plan.Outcome {
	t.Helper()
	cat, err := catalog.Load(tree)
	if err != nil {
		t.Fatal(err)
	}
	return plan.Compute(plan.Input{Catalog: cat, Owner: "acme/test", Revision: "main@sha1:0000000000000000000000000000000000000000"})
}

// show renders an outcome as the files of its tree.
func show(t *testing.T, into map[string]string, prefix string, o *plan.Outcome) {
	t.Helper()
	if o.Err != nil {
		into[prefix+"error"] = o.Err.Error() + "\n"
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
	for _, repo := range slices.Sorted(maps.Keys(o.Files)) {
		for p, f := range o.Files[repo] {
			into[prefix+repo+"/"+p] = string(f.Data)
		}
	}
}

func rewrite(t *testing.T, file string, archive *txtar.Archive, got map[string]string) {
	t.Helper()
	archive.Files = slices.DeleteFunc(archive.Files, func(f txtar.File) bool { return strings.HasPrefix(f.Name, "out/") })
	for _, name := range slices.Sorted(maps.Keys(got)) {
		archive.Files = append(archive.Files, txtar.File{Name: name, Data: []byte(got[name])})
	}
	if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
		t.Fatal(err)
	}
}
