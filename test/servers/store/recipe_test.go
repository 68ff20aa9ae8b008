package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
		content, err := os.ReadFile(filepath.Join(s.modules, r.source.dir, "go.mod"))
		if err != nil {
			t.Error(err)
			continue
		}
		if !requires(string(content), r.packages[0], r.version) {
			t.Errorf("%s: go.mod does not require %s of the module of %s", r.name, r.version, r.packages[0])
		}
		for _, c := range r.source.copies {
			if whole := c.parts[0]; whole.to == "." && !requires(string(content), c.path, whole.module.version) {
				t.Errorf("%s: go.mod does not require %s of %s, which has a copy", r.name, whole.module.version, c.path)
			}
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

// requires reports whether a go.mod requires a version of the module of a package.
func requires(goMod, pkg, version string) bool {
	for line := range strings.Lines(goMod) {
		fields := strings.Fields(strings.TrimPrefix(line, "require "))
		if len(fields) >= 2 && fields[1] == version && strings.HasPrefix(pkg+"/", fields[0]+"/") {
			return true
		}
	}
	return false
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

func TestACopyReplacesAModule(t *testing.T) {
	s := testStore(t)
	whole := module{"example.invalid/whole", "v1.0.0", "h1:whole"}
	cached := t.TempDir()
	for name, content := range map[string]string{
		"go.mod": "module example.invalid/whole\n", "main.go": "theirs", "pkg/a.go": "package a // a", "pkg/b.go": "package a // b",
		"pkg/a_test.go": "package a",
	} {
		write(t, filepath.Join(cached, filepath.FromSlash(name)), content)
	}
	write(t, filepath.Join(s.modules, "echo", "_own", "main.go"), "ours")
	copies := []copied{
		{
			path: whole.path, parts: []data{{whole, ".", "."}}, own: "_own",
			drop: []string{"pkg/b.go"}, edits: []edit{{"pkg/a.go", "a // a", "a // changed"}},
		},
		{path: "example.invalid/part", parts: []data{{whole, "pkg/a.go", "deep/a.go"}}, own: "_own"},
	}
	s.recipes = []recipe{{name: "echo", version: "v1.0.0", source: source{"echo", copies}, packages: []string{"."}, programs: []string{"echo"}}}
	var goMod string
	got := map[string]string{}
	s.run = func(ctx context.Context, dir string, env, args []string) ([]byte, []byte, error) {
		if args[0] == "mod" {
			return fmt.Appendf(nil, `{"Dir": %q, "Sum": "h1:whole"}`, cached), nil, nil
		}
		path := strings.TrimPrefix(args[1], "-modfile=")
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, nil, err
		}
		work := filepath.Dir(path)
		goMod = strings.ReplaceAll(string(content), work, "WORK")
		err = fs.WalkDir(os.DirFS(work), ".", func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && path != "go.mod" {
				content, _ := os.ReadFile(filepath.Join(work, path))
				got[path] = string(content)
			}
			return err
		})
		_, _, _ = writeProgram(ctx, dir, env, args)
		return nil, nil, err
	}
	build(t, s)
	const wantMod = "module example.invalid/echo\n" +
		"\nreplace example.invalid/whole => WORK/copy-0\n\nreplace example.invalid/part => WORK/copy-1\n"
	if diff := cmp.Diff(wantMod, goMod); diff != "" {
		t.Errorf("go.mod (-want +got):\n%s", diff)
	}
	want := map[string]string{
		"go.sum": "", "copy-0/go.mod": "module example.invalid/whole\n", "copy-0/main.go": "ours", "copy-0/pkg/a.go": "package a // changed",
		"copy-1/go.mod": "module example.invalid/part\n", "copy-1/deep/a.go": "package a // a", "copy-1/main.go": "ours",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what it builds from (-want +got):\n%s", diff)
	}
	bin, err := s.Find("echo")
	if err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(bin.Dir("echo")); err != nil || len(entries) != 1 {
		t.Errorf("besides the programs there are %v, %v", entries, err)
	}
	// The text to change is different now.
	s.recipes[0].source.copies[0].edits[0].old = "nonesuch"
	if err := s.Build(t.Context(), writerFunc(func(string) {})); err == nil {
		t.Error("a change that changes nothing was taken")
	}
}
