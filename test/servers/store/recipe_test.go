package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func TestEachRecipeIsPinnedByItsModule(t *testing.T) {
	s, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range s.recipes {
		if len(r.packages) == 0 {
			continue
		}
		content, err := os.ReadFile(filepath.Join(s.modules, string(r.name), "go.mod"))
		if err != nil {
			t.Error(err)
			continue
		}
		pinned := false
		for line := range strings.Lines(string(content)) {
			fields := strings.Fields(strings.TrimPrefix(line, "require "))
			pinned = pinned || len(fields) >= 2 && fields[1] == r.version && strings.HasPrefix(r.packages[0]+"/", fields[0]+"/")
		}
		if !pinned {
			t.Errorf("%s: go.mod does not require %s of the module of %s", r.name, r.version, r.packages[0])
		}
		if len(r.packages) != len(r.programs) || r.seconds == 0 {
			t.Errorf("%s: %d packages make %d programs in %d s", r.name, len(r.packages), len(r.programs), r.seconds)
		}
		for _, d := range r.data {
			if d.module.sum == "" {
				t.Errorf("%s: what it takes from %s is not proved by a digest", r.name, d.module.path)
			}
		}
	}
}

func TestDataIsCopiedWhenItsDigestIsTheOneThatIsPinned(t *testing.T) {
	s := testStore(t)
	module := module{"example.invalid/data", "v1.0.0", "h1:right"}
	s.recipes = []recipe{{name: "files", version: "v1.0.0", data: []data{{module, "config/crds", "crds"}}}}
	source := t.TempDir()
	for _, file := range []string{"a.yaml", "deep/b.yaml", "kustomization.yaml", "testdata/c.yaml"} {
		write(t, filepath.Join(source, "config", "crds", file), file)
	}
	sum := "h1:wrong"
	s.run = func(_ context.Context, _ string, _, args []string) ([]byte, []byte, error) {
		if got := strings.Join(args, " "); got != "mod download -json example.invalid/data@v1.0.0" {
			return nil, nil, errors.New("unexpected: " + got)
		}
		return fmt.Appendf(nil, `{"Dir": %q, "Sum": %q}`, source, sum), nil, nil
	}
	if err := s.Build(t.Context(), writerFunc(func(string) {})); err == nil {
		t.Error("content with another digest was taken")
	}
	sum = "h1:right"
	build(t, s)
	bin, err := s.Find("files")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	err = filepath.WalkDir(bin.Dir("files"), func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			relative, _ := filepath.Rel(bin.Dir("files"), path)
			got = append(got, relative)
		}
		return err
	})
	if diff := cmp.Diff([]string{"crds/a.yaml", "crds/deep/b.yaml"}, got); diff != "" || err != nil {
		t.Errorf("files (-want +got):\n%s%v", diff, err)
	}
}

func TestOlderVersionsOfCRDsAreServedAndNotStored(t *testing.T) {
	crds, older := t.TempDir(), filepath.Join(t.TempDir(), "older")
	const crd = "kind: CustomResourceDefinition\nspec:\n  group: g\n  versions: [%s]\n"
	const v1, v1beta2, v1beta1 = "{name: v1, served: true, storage: true}",
		"{name: v1beta2, served: true, storage: true, deprecated: true}", "{name: v1beta1, served: false, storage: false}"
	write(t, filepath.Join(crds, "both.yaml"), fmt.Sprintf(crd, v1))
	write(t, filepath.Join(crds, "new.yaml"), fmt.Sprintf(crd, v1))
	write(t, filepath.Join(older, "both.yaml"), "---\n"+fmt.Sprintf(crd, v1beta1+", "+v1beta2+", {name: v1, old: true}"))
	write(t, filepath.Join(older, "old.yaml"), fmt.Sprintf(crd, v1beta2))
	if err := mergeOlder(crds, older); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	entries, err := os.ReadDir(crds)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(crds, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		var merged map[string]any
		if err := yaml.Unmarshal(content, &merged); err != nil {
			t.Fatal(err)
		}
		_, versions := versionsOf(merged)
		got[entry.Name()] = fmt.Sprint(versions)
	}
	want := map[string]string{
		"both.yaml": "[map[name:v1 served:true storage:true] map[name:v1beta1 served:true storage:false]" +
			" map[deprecated:true name:v1beta2 served:true storage:false]]",
		"new.yaml": "[map[name:v1 served:true storage:true]]",
		"old.yaml": "[map[deprecated:true name:v1beta2 served:true storage:true]]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
	if _, err := os.Stat(older); !os.IsNotExist(err) {
		t.Errorf("the folder of older ones is there: %v", err)
	}
}
