package catalog_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/test/golden"
)

func configMapOf(name string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", namespace: default}\n"
}

// treeOf makes a tree of files by their content; "-> target" is a link, and "submodule" and "pipe" are those.
func treeOf(files map[string]string) fstest.MapFS {
	tree := fstest.MapFS{}
	for name, text := range files {
		file := &fstest.MapFile{Data: []byte(text)}
		target, link := strings.CutPrefix(text, "-> ")
		switch {
		case link:
			file.Data, file.Mode = []byte(target), fs.ModeSymlink
		case text == "submodule":
			file.Data, file.Mode = nil, fs.ModeIrregular
		case text == "pipe":
			file.Data, file.Mode = nil, fs.ModeNamedPipe
		case text == "directory":
			file.Data, file.Mode = nil, fs.ModeDir
		}
		tree[name] = file
	}
	return tree
}

// seen lists what a catalog has: objects and their files by seed, then errors and warnings.
func seen(cat *catalog.Catalog) []string {
	var lines []string
	for _, s := range cat.Seeds {
		for _, o := range s.Objects() {
			lines = append(lines, fmt.Sprintf("%s: %s from %s", s.Name, o.ID, o.Source))
		}
		if s.Err != nil {
			lines = append(lines, "error: "+s.Err.Error())
		}
		for _, p := range s.Skipped {
			lines = append(lines, "warning: "+p.Error())
		}
	}
	for _, name := range cat.Inventory.Names() {
		lines = append(lines, "cluster "+name)
	}
	for _, p := range cat.Skipped {
		lines = append(lines, "warning: "+p.Error())
	}
	return lines
}

func TestLinksWithinTheTreeAreFollowedAndAllElseIsNamed(t *testing.T) {
	const (
		commitIt  = "Commit the file or directory itself, or link to one in the same tree."
		submodule = "it is a submodule, or a repository of its own, which is not read. Commit its files instead."
	)
	cases := map[string]struct {
		files map[string]string
		want  []string
	}{
		"a link to a file": {
			map[string]string{"manifests/b.txt": configMapOf("b"), "seeds/web/b.yaml": "-> ../../manifests/b.txt"},
			[]string{"web: core/ConfigMap/default/b from manifests/b.txt:1"},
		},
		"a link to a file is a seed": {
			map[string]string{"manifests/b.yaml": configMapOf("b"), "seeds/web.yaml": "-> ../manifests/b.yaml"},
			[]string{"web: core/ConfigMap/default/b from manifests/b.yaml:1"},
		},
		"a link to a directory is a seed": {
			map[string]string{"manifests/deep/b.yaml": configMapOf("b"), "seeds/web": "-> ../manifests"},
			[]string{"web: core/ConfigMap/default/b from manifests/deep/b.yaml:1"},
		},
		"the directory of seeds is a link": {
			map[string]string{"prod/seeds/web.yaml": configMapOf("b"), "seeds": "-> prod/seeds"},
			[]string{"web: core/ConfigMap/default/b from prod/seeds/web.yaml:1"},
		},
		"links through links, and hidden directories as in a ConfigMap volume": {
			map[string]string{"..1/b.yaml": configMapOf("b"), "..data": "-> ..1", "b.yaml": "-> ..data/b.yaml", "seeds/web.yaml": "-> ../b.yaml"},
			[]string{"web: core/ConfigMap/default/b from ..1/b.yaml:1"},
		},
		"a file that is reached in several ways counts once": {
			map[string]string{"seeds/web/a/b.yaml": configMapOf("b"), "seeds/web/c.yaml": "-> a/b.yaml", "seeds/web/d": "-> a", "clusters": "-> fleet", "fleet/east.yaml": strings.SplitN(cluster("east", ""), "\n", 2)[1]},
			[]string{"web: core/ConfigMap/default/b from seeds/web/a/b.yaml:1", "cluster east"},
		},
		"a link to seeds is not part of the inventory": {
			map[string]string{"seeds/web.yaml": configMapOf("b") + "---\napiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: edge}\n", "all": "-> seeds", "one.yaml": "-> seeds/web.yaml"},
			[]string{"web: core/ConfigMap/default/b from seeds/web.yaml:1"},
		},
		"names in capitals": {
			map[string]string{"seeds/web/b.YAML": configMapOf("b"), "seeds/web/c.YML": configMapOf("c"), "seeds/api.Json": `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"n"}}`, "EAST.YAML": strings.SplitN(cluster("east", ""), "\n", 2)[1]},
			[]string{"api: core/Namespace/n from seeds/api.Json:1", "web: core/ConfigMap/default/b from seeds/web/b.YAML:1", "web: core/ConfigMap/default/c from seeds/web/c.YML:1", "cluster east"},
		},
		"links that lead nowhere, in a package": {
			map[string]string{
				"seeds/web/a.yaml": configMapOf("a"), "seeds/web/absolute.yaml": "-> /etc/hosts", "seeds/web/out.yaml": "-> ../../../b.yaml",
				"seeds/web/none.yaml": "-> b.yaml", "seeds/web/self.yaml": "-> self.yaml", "seeds/web/loop": "-> ../web", "seeds/web/top": "-> ../..", "seeds/web/README.md": "-> none",
			},
			[]string{
				"web: core/ConfigMap/default/a from seeds/web/a.yaml:1",
				`warning: seeds/web/absolute.yaml: seed "web": the link leads out of the tree, so it is not followed. ` + commitIt,
				`warning: seeds/web/loop: seed "web": the link leads to a directory that it is in, so it is not followed. ` + commitIt,
				`warning: seeds/web/none.yaml: seed "web": the link leads to nothing, so it is not followed. ` + commitIt,
				`warning: seeds/web/out.yaml: seed "web": the link leads out of the tree, so it is not followed. ` + commitIt,
				`warning: seeds/web/self.yaml: seed "web": the link leads in a circle, so it is not followed. ` + commitIt,
				`warning: seeds/web/top: seed "web": the link leads to a directory that it is in, so it is not followed. ` + commitIt,
			},
		},
		"a package that cannot be read is not a package that is gone": {
			map[string]string{"seeds/a.yaml": "-> ../../a.yaml", "seeds/b": "submodule", "seeds/c": "-> none", "seeds/d/d.yaml": "-> none", "seeds/e/.git": "gitdir: x", "seeds/e/e.yaml": configMapOf("e")},
			[]string{
				`error: seeds/a.yaml: seed "a": the link leads out of the tree, so it is not followed. ` + commitIt,
				`error: seeds/b: seed "b": ` + submodule,
				`error: seeds/c: seed "c": the link leads to nothing, so it is not followed. ` + commitIt,
				"error: seeds/d: seed \"d\": it holds no object. Add objects, or delete the package to remove the seed.\n" +
					`seeds/d/d.yaml: seed "d": the link leads to nothing, so it is not followed. ` + commitIt,
				`error: seeds/e: seed "e": ` + submodule,
			},
		},
		"what is neither a file nor a directory": {
			map[string]string{"seeds/web/a.yaml": configMapOf("a"), "seeds/web/lib": "submodule", "seeds/web/own/.git/HEAD": "x", "seeds/web/p": "pipe", "vendor": "submodule", "x.yaml": "pipe"},
			[]string{
				"web: core/ConfigMap/default/a from seeds/web/a.yaml:1",
				`warning: seeds/web/lib: seed "web": ` + submodule,
				`warning: seeds/web/own: seed "web": ` + submodule,
				`warning: seeds/web/p: seed "web": it is a named pipe, which is not read. Remove it.`,
				"warning: vendor: " + submodule,
				"warning: x.yaml: it is a named pipe, which is not read. Remove it.",
			},
		},
		"files of other kinds": {
			map[string]string{
				"seeds/web/a.yaml": configMapOf("a"), "seeds/web/b.yaml.bak": "x", "seeds/web/c.tpl": "x", "seeds/web/d/e.sh": "x", "seeds/web/f1.a": "x", "seeds/web/f2.a": "x", "seeds/web/f3.a": "x",
				"seeds/web/notes.txt": "x", "seeds/web/README": "x", "seeds/README.md": "x", "seeds/run.sh": "x", "lib.so": "-> /usr/lib/lib.so", "main.go": "x", "result": "-> /nix",
			},
			[]string{
				"web: core/ConfigMap/default/a from seeds/web/a.yaml:1",
				`warning: seeds/web: seed "web": these files are not read: seeds/web/b.yaml.bak, seeds/web/c.tpl, seeds/web/d/e.sh, seeds/web/f1.a, seeds/web/f2.a and 1 more. Manifests have names that end in .yaml, .yml or .json.`,
				"warning: result: the link leads out of the tree, so it is not followed. " + commitIt,
				"warning: seeds: these files are not read: seeds/run.sh. Manifests have names that end in .yaml, .yml or .json.",
			},
		},
		"manifests in hidden files": {
			map[string]string{
				"seeds/web/a.yaml": configMapOf("a"), "seeds/web/.b.yaml": configMapOf("b"), "seeds/web/.values.yaml": "x: 1", "seeds/.shop.yaml": configMapOf("c"),
				"clusters/.west.yaml": strings.SplitN(cluster("west", ""), "\n", 2)[1], ".gitlab-ci.yml": "x: 1", ".deployment.yaml": configMapOf("d"), ".github/west.yaml": strings.SplitN(cluster("west", ""), "\n", 2)[1],
				"clusters/east.yaml.bak": strings.SplitN(cluster("east", ""), "\n", 2)[1], "notes.yaml.txt": "see furrow.dev/", "deployment.yaml.bak": configMapOf("e"),
			},
			[]string{
				"web: core/ConfigMap/default/a from seeds/web/a.yaml:1",
				`warning: seeds/web/.b.yaml: seed "web": the file is hidden, so it is not read. Give it a name that does not begin with '.', or remove it.`,
				"warning: clusters/.west.yaml: the file is hidden, so it is not read. Give it a name that does not begin with '.', or remove it.",
				"warning: clusters/east.yaml.bak: the file holds a document of Furrow and is not read. Give it a name that ends in .yaml, .yml or .json, or remove it.",
				"warning: seeds/.shop.yaml: the file is hidden, so it is not read. Give it a name that does not begin with '.', or remove it.",
			},
		},
		"an empty directory, as a submodule that is not checked out": {
			map[string]string{"seeds/web/deep": "directory"},
			[]string{"warning: seeds/web: the directory is empty, and Git does not keep it. Add manifests, or remove it. If it is a submodule, commit its files instead."},
		},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			cat, err := catalog.Load(treeOf(c.files))
			if err != nil {
				t.Fatal(err)
			}
			if len(cat.Problems) > 0 {
				t.Error(cat.Problems)
			}
			if diff := cmp.Diff(c.want, seen(cat)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestADirectoryOfSeedsThatCannotBeReadIsNotOneThatIsEmpty(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"a link out of the tree": {"seeds": "-> ../seeds"},
		"a link to nothing":      {"seeds": "-> none"},
		"a submodule":            {"seeds": "submodule"},
		"a repository":           {"seeds/.git": "gitdir: x"},
		"a file":                 {"seeds": "x"},
	} {
		if cat, err := catalog.Load(treeOf(files)); err == nil {
			t.Errorf("%s: it is read, with %d seeds", name, len(cat.Seeds))
		}
	}
}

// A commit may hold the same directory any number of times, so it is larger than any disk.
func TestAPackageOfEndlessFilesIsRefused(t *testing.T) {
	cat, err := catalog.Load(endless{treeOf(map[string]string{"seeds/web/a/x.yaml": configMapOf("a"), "seeds/api.yaml": configMapOf("b")})})
	if err != nil {
		t.Fatal(err)
	}
	web, _ := cat.Seed("web")
	if got := fields(web.Err); got != `seeds/web: seed "web": PackageTooLarge seed=web` {
		t.Errorf("the error is %s: %v", got, web.Err)
	}
	golden.Of(t).Add("the seed", fmt.Sprint(web.Err))
	if api, _ := cat.Seed("api"); api.Err != nil {
		t.Error(api.Err)
	}
}

// endless is a tree in which seeds/web holds nothing but ten directories that hold the same, and so on.
type endless struct{ fstest.MapFS }

func (e endless) Lstat(name string) (fs.FileInfo, error) {
	if strings.HasPrefix(name, "seeds/web/") {
		return nil, fs.ErrNotExist
	}
	return e.MapFS.Lstat(name)
}

func (e endless) ReadDir(name string) ([]fs.DirEntry, error) {
	if !strings.HasPrefix(name, "seeds/web") {
		return e.MapFS.ReadDir(name)
	}
	var entries []fs.DirEntry
	for i := range 10 {
		entries = append(entries, named{fmt.Sprint(i)})
	}
	return entries, nil
}

type named struct{ name string }

func (n named) Name() string               { return n.name }
func (n named) IsDir() bool                { return true }
func (n named) Type() fs.FileMode          { return fs.ModeDir }
func (n named) Info() (fs.FileInfo, error) { return nil, fs.ErrInvalid }

func TestReadingIsBounded(t *testing.T) {
	long := configMapOf("a") + "data: {a: " + strings.Repeat("a", 200) + "}\n"
	packages, err := catalog.Reading{Limits: catalog.Limits{File: 200, Package: 600}}.Packages(treeOf(map[string]string{
		"data.json": strings.Repeat(" ", 201), "seeds/file.yaml": long, "seeds/fits.yaml": configMapOf("b"),
		"seeds/package/a.yaml": configMapOf("a") + strings.Repeat("#", 100), "seeds/package/b.yaml": configMapOf("b") + strings.Repeat("#", 100),
		"seeds/package/c.yaml": configMapOf("c") + strings.Repeat("#", 100), "seeds/package/d.yaml": configMapOf("d") + strings.Repeat("#", 100),
	}))
	if err != nil {
		t.Fatal(err)
	}
	rendered := map[string]catalog.Rendered{}
	for _, p := range packages.Seeds() {
		rendered[p.Name] = catalog.Manifests(p)
	}
	cat := catalog.Assemble(packages, rendered)
	want := []string{
		`error: seeds/file.yaml: seed "file": the file is larger than 200 bytes. Split it, or raise --max-file-size.`,
		"fits: core/ConfigMap/default/b from seeds/fits.yaml:1",
		"package: core/ConfigMap/default/a from seeds/package/a.yaml:1",
		"package: core/ConfigMap/default/b from seeds/package/b.yaml:1",
		"package: core/ConfigMap/default/c from seeds/package/c.yaml:1",
		`error: seeds/package/d.yaml: seed "package": with this file the package is larger than 600 bytes. Split it into several seeds, or raise --max-package-size.`,
		"warning: data.json: the file is larger than 200 bytes. Split it, or raise --max-file-size.",
	}
	got := seen(cat)
	for _, s := range cat.Seeds {
		if s.Err == nil {
			continue
		}
		got = slices.DeleteFunc(got, func(line string) bool { return s.Name != "package" && strings.HasPrefix(line, s.Name+":") })
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheTreeIsFoundByItsPath(t *testing.T) {
	tree := treeOf(map[string]string{"env/prod/seeds/web.yaml": configMapOf("a"), "now": "-> env/prod", "out": "-> ../x", "file": "x"})
	found := map[string]string{}
	for _, dir := range []string{".", "env/prod", "./env/prod/", "now", "nope", "file", "out", "..", "/env", "env/../../x"} {
		sub, err := catalog.Sub(tree, dir)
		if err != nil {
			found[dir] = err.Error()
			continue
		}
		_, err = fs.Stat(sub, "seeds")
		found[dir] = fmt.Sprint(err == nil)
	}
	want := map[string]string{
		".": "false", "env/prod": "true", "./env/prod/": "true", "now": "true",
		"nope": "open nope: file does not exist", "file": "open file: file does not exist", "out": "open out: is not inside the repository",
		"..": "open ..: is not inside the repository", "/env": "open /env: is not inside the repository", "env/../../x": "open env/../../x: is not inside the repository",
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("%v (-want +got):\n%s", slices.Sorted(maps.Keys(found)), diff)
	}
}

// A law: where a link leads is where the operating system says, and never out of the tree.
func TestLinksLeadWhereTheSystemSays(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	dirs := []string{".", "a", "a/b", "a/b/c", "d"}
	parts := []string{"..", "..", ".", "a", "b", "c", "d", "l0", "l1", "l2", "l3", "l4", "l5"}
	followed := 0
	for range 300 {
		root, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range dirs {
			if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(root, dir, "at"), []byte(dir), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		var links []string
		for i := range 6 {
			var target []string
			for range 1 + random.IntN(4) {
				target = append(target, parts[random.IntN(len(parts))])
			}
			link := path.Join(dirs[random.IntN(len(dirs))], fmt.Sprint("l", i))
			if err := os.Symlink(strings.Join(target, "/"), filepath.Join(root, link)); err != nil {
				t.Skip("SKIPPED: symbolic links cannot be made here: ", err)
			}
			links = append(links, link)
		}
		for _, link := range links {
			sub, err := catalog.Sub(os.DirFS(root), link)
			at, systemErr := os.ReadFile(filepath.Join(root, link, "at"))
			switch {
			case err == nil:
				followed++
				if got, err := fs.ReadFile(sub, "at"); err != nil || systemErr != nil || string(got) != string(at) {
					t.Errorf("%s leads to %q (%v), and the system says %q (%v)", link, got, err, at, systemErr)
				}
			case systemErr == nil && errors.Is(err, fs.ErrNotExist): // not that it is outside of the tree
				t.Errorf("%s leads to %s, and is not followed: %v", link, at, err)
			}
		}
	}
	if followed < 100 {
		t.Errorf("only %d links were followed", followed)
	}
}

// oddTree is a tree whose directories have entries that no tree opens, as a commit may.
type oddTree struct {
	fstest.MapFS
	odd map[string][]fs.DirEntry
}

func (t oddTree) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := t.MapFS.ReadDir(name)
	return append(entries, t.odd[name]...), err
}

type oddEntry struct {
	name string
	kind fs.FileMode
}

func (e oddEntry) Name() string               { return e.name }
func (e oddEntry) IsDir() bool                { return e.kind.IsDir() }
func (e oddEntry) Type() fs.FileMode          { return e.kind }
func (e oddEntry) Info() (fs.FileInfo, error) { return nil, fs.ErrInvalid }

// TestANameThatCannotBeOpenedHoldsOnlyItsPackage: whatever bytes Git has as a name, all other seeds and
// documents are read.
func TestANameThatCannotBeOpenedHoldsOnlyItsPackage(t *testing.T) {
	const (
		dir     = fs.ModeDir
		never   = "the name is not one that a file or directory can have, so it cannot be read. Rename it with 'git mv', or remove it."
		refused = "the name is not valid UTF-8, so it cannot be read. Rename it with 'git mv', or remove it."
	)
	rest := []string{"web: core/ConfigMap/default/a from seeds/web/a.yaml:1", "cluster east"}
	cases := map[string]struct {
		odd  map[string][]fs.DirEntry
		want []string
	}{
		"a manifest of a package": {
			map[string][]fs.DirEntry{"seeds/web": {oddEntry{"caf\xe9.yaml", 0}}},
			[]string{rest[0], `error: seeds/web/caf\xe9.yaml: seed "web": ` + refused, rest[1]},
		},
		"a directory of a package": {
			map[string][]fs.DirEntry{"seeds/web": {oddEntry{"caf\xe9", dir}}},
			[]string{rest[0], `error: seeds/web/caf\xe9: seed "web": ` + refused, rest[1]},
		},
		"a link of a package": {
			map[string][]fs.DirEntry{"seeds/web": {oddEntry{"caf\xe9.yaml", fs.ModeSymlink}}},
			[]string{rest[0], `error: seeds/web/caf\xe9.yaml: seed "web": ` + refused, rest[1]},
		},
		"a seed": {
			map[string][]fs.DirEntry{"seeds": {oddEntry{"caf\xe9.yaml", 0}, oddEntry{"caf\xe9", dir}}},
			[]string{
				`error: seeds/caf\xe9: seed "caf�": the name is not a valid DNS label (lower case letters, digits, and '-' in between). Rename the file or directory.`,
				`error: seeds/caf\xe9.yaml: seed "caf�.yaml": the name is not a valid DNS label (lower case letters, digits, and '-' in between). Rename the file or directory.`,
				rest[0], rest[1],
			},
		},
		"a document of the inventory": {
			map[string][]fs.DirEntry{"clusters": {oddEntry{"w\xe9st.yaml", 0}}, ".": {oddEntry{"d\xe9v", dir}}},
			append(slices.Clone(rest), `warning: clusters/w\xe9st.yaml: `+refused, `warning: d\xe9v: `+refused),
		},
		"names that lead elsewhere": {
			map[string][]fs.DirEntry{"seeds/web": {oddEntry{"", dir}, oddEntry{"x/../../../clusters", dir}}},
			[]string{rest[0], `error: seeds/web/x/../../../clusters: seed "web": ` + never, rest[1]},
		},
		"what nobody reads": {
			map[string][]fs.DirEntry{"seeds/web": {oddEntry{"caf\xe9.md", 0}, oddEntry{".\xe9", dir}}, "clusters": {oddEntry{"caf\xe9.png", 0}}, "seeds": {oddEntry{"\xe9.txt", 0}}},
			rest,
		},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			files := treeOf(map[string]string{"seeds/web/a.yaml": configMapOf("a"), "clusters/east.yaml": strings.SplitN(cluster("east", ""), "\n", 2)[1]})
			cat, err := catalog.Load(oddTree{files, c.odd})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, seen(cat)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
