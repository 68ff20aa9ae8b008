// Package architecture holds the tests that keep Furrow's packages apart: what core may reach, in which direction
// imports point, and what a package may be called. The rules are data, in rules_test.go.
package architecture

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/api/v1alpha1"
)

func TestCoreReachesNoIO(t *testing.T) {
	g := loadGraph(t)
	walked := 0
	for _, rel := range g.own() {
		if !within(rel, "internal/core") {
			continue
		}
		walked++
		for _, o := range g.offences(module+"/"+rel, forbiddenBecause) {
			t.Errorf("core reaches what it must not:\n    %s", o)
		}
	}
	if walked == 0 {
		t.Fatal("no package found under internal/core")
	}
}

func TestObjectDatabaseReachesNoNetwork(t *testing.T) {
	const from = module + "/internal/git/odb"
	g := loadGraph(t)
	if len(g[from].Imports) == 0 {
		t.Fatal("the object database was not found")
	}
	for _, o := range g.offences(from, networkBecause) {
		t.Errorf("the object database reaches what it must not:\n    %s", o)
	}
}

func TestOffences(t *testing.T) {
	const from = module + "/internal/core/plan"
	std := func(paths ...string) graph {
		g := graph{}
		for _, p := range paths {
			g[p] = pkg{ImportPath: p, Standard: true, Imports: []string{"os"}}
		}
		return g
	}
	cases := map[string]struct {
		imports   map[string][]string
		wantChain [][]string
	}{
		"core that only computes passes, although fmt itself reaches os": {
			imports: map[string][]string{from: {"fmt", "strings", "net/url"}},
		},
		"a direct import is found": {
			imports:   map[string][]string{from: {"fmt", "os"}},
			wantChain: [][]string{{from, "os"}},
		},
		"a forbidden package includes what is below it": {
			imports:   map[string][]string{from: {"log/slog"}},
			wantChain: [][]string{{from, "log/slog"}},
		},
		"a package whose name only begins like a forbidden one passes": {
			imports: map[string][]string{from: {"osmosis.example/pure"}},
		},
		"a library that reaches I/O is found through our own and its own packages": {
			imports: map[string][]string{
				from:                              {module + "/internal/core/layout"},
				module + "/internal/core/layout":  {"example.org/lib"},
				"example.org/lib":                 {"example.org/lib/internal/io"},
				"example.org/lib/internal/io":     {"net/http"},
				module + "/internal/core/unasked": {"os"},
			},
			wantChain: [][]string{{
				from, module + "/internal/core/layout", "example.org/lib", "example.org/lib/internal/io", "net/http",
			}},
		},
		"the shortest chain is shown": {
			imports: map[string][]string{
				from:             {"example.org/a", "example.org/b"},
				"example.org/a":  {"example.org/a2"},
				"example.org/a2": {"os"},
				"example.org/b":  {"os"},
			},
			wantChain: [][]string{{from, "example.org/b", "os"}},
		},
		"a leaf is not walked": {
			imports: map[string][]string{
				from:                                   {"k8s.io/apimachinery/pkg/apis/meta/v1"},
				"k8s.io/apimachinery/pkg/apis/meta/v1": {"net", "k8s.io/klog/v2"},
			},
		},
		"a forbidden part of a leaf is found": {
			imports:   map[string][]string{from: {"k8s.io/apimachinery/pkg/util/rand"}},
			wantChain: [][]string{{from, "k8s.io/apimachinery/pkg/util/rand"}},
		},
		"an edge of ours is found": {
			imports:   map[string][]string{from: {module + "/api/v1alpha1", module + "/internal/git"}},
			wantChain: [][]string{{from, module + "/internal/git"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := std("fmt", "strings", "net/url", "os", "log/slog", "net", "net/http")
			for path, imports := range tc.imports {
				g[path] = pkg{ImportPath: path, Imports: imports}
			}
			var chains [][]string
			for _, o := range g.offences(from, forbiddenBecause) {
				chains = append(chains, o.chain)
				if o.why == "" {
					t.Errorf("no why for %v", o.chain)
				}
			}
			if diff := cmp.Diff(tc.wantChain, chains); diff != "" {
				t.Errorf("chains (-want +got):\n%s", diff)
			}
		})
	}
}

func TestImportsPointOneWay(t *testing.T) {
	g := loadGraph(t)
	for _, problem := range misplaced(g) {
		t.Error(problem)
	}
}

func TestTheMapForContributorsNamesAllPackages(t *testing.T) {
	text, err := os.ReadFile("../../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, rel := range loadGraph(t).own() {
		if !within(rel, "internal") && !within(rel, "controllers") && !within(rel, "api") {
			continue
		}
		named := false
		for dir := rel; dir != "internal/core" && strings.Contains(dir, "/") && !named; dir = path.Dir(dir) {
			named = strings.Contains(string(text), "`"+dir+"`")
		}
		if !named && rel != "controllers" {
			t.Errorf("%s is not in the table 'Where things live' of CONTRIBUTING.md", rel)
		}
	}
}

// misplaced lists the packages of ours without a row, and the imports that no row allows.
func misplaced(g graph) []string {
	var problems []string
	for _, rel := range g.own() {
		from, ok := rowOf(rel)
		if !ok {
			problems = append(problems, rel+" has no row: add it to rows, and to the map in CONTRIBUTING.md")
			continue
		}
		p := g[path.Join(module, rel)]
		for _, imported := range p.Imports {
			target, own := relative(imported)
			if !own {
				continue
			}
			if to, ok := rowOf(target); ok && !mayImport(from, to, target) {
				problems = append(problems, fmt.Sprintf("%s imports %s: %s", rel, target, from.allowance()))
			}
		}
	}
	return problems
}

func rowOf(rel string) (row, bool) {
	i := slices.IndexFunc(rows, func(p row) bool { return within(rel, p.path) })
	if i < 0 {
		return row{}, false
	}
	return rows[i], true
}

func mayImport(from, to row, target string) bool {
	switch {
	case from.path == to.path:
		return true
	case from.only == nil:
		return to.layer < from.layer
	default:
		return slices.ContainsFunc(from.only, func(p string) bool { return within(target, p) })
	}
}

func (p row) allowance() string {
	switch {
	case p.only == nil:
		return "it may import lower rows only (api ← core ← edges ← engine ← front ends ← cli ← main)"
	case len(p.only) == 0:
		return "it may import no package of ours"
	default:
		return "of ours it may import only " + strings.Join(p.only, ", ")
	}
}

func TestMisdirected(t *testing.T) {
	cases := map[string]struct {
		from, to string
		want     int
	}{
		"core may import api":                      {"internal/core/catalog", "api/v1alpha1", 0},
		"release may import plan":                  {"internal/core/release", "internal/core/plan", 0},
		"plan may not import release":              {"internal/core/plan", "internal/core/release", 1},
		"api may not import core":                  {"api/v1alpha1", "internal/core/manifest", 1},
		"engine may import an edge":                {"internal/engine", "internal/forge/gitlab", 0},
		"a forge may import its port":              {"internal/forge/gitlab", "internal/forge", 0},
		"an edge may not import another edge":      {"internal/git", "internal/probe", 1},
		"engine may not import a front end":        {"internal/engine", "internal/standalone", 1},
		"one front end may not import another":     {"internal/standalone", "controllers/seed", 1},
		"main may import cli only":                 {".", "internal/engine", 1},
		"nobody imports test suites":               {"internal/cli", "test/servers", 1},
		"a package without a row must get one":     {"internal/secret", "api/v1alpha1", 1},
		"core has no packages but those it names":  {"internal/core/cache", "api/v1alpha1", 1},
		"test suites may import what they examine": {"test/e2e", "internal/cli", 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			from, to := path.Join(module, tc.from), path.Join(module, tc.to)
			got := misplaced(graph{
				from: {ImportPath: from, Imports: []string{"fmt", to}},
				to:   {ImportPath: to},
			})
			if len(got) != tc.want {
				t.Errorf("got %q, want %d problems", got, tc.want)
			}
		})
	}
}

func TestRowsAreOrdered(t *testing.T) {
	for _, from := range rows {
		for _, target := range from.only {
			for _, to := range rows {
				if within(to.path, target) && to.layer > from.layer {
					t.Errorf("%s may import %s, which is above it", from.path, to.path)
				}
			}
		}
	}
}

func TestPackagesHaveTellingNames(t *testing.T) {
	g := loadGraph(t)
	for _, rel := range g.own() {
		for _, name := range []string{path.Base(rel), g[path.Join(module, rel)].Name} {
			if isVague(name) {
				t.Errorf("package %s: put its functions beside the nouns that they serve", rel)
				break
			}
		}
	}
}

func isVague(name string) bool {
	return slices.Contains(vague, name) || strings.HasSuffix(name, "util") || strings.HasSuffix(name, "utils")
}

func TestVagueNames(t *testing.T) {
	for name, want := range map[string]bool{"util": true, "gitutil": true, "helpers": true, "placement": false} {
		if got := isVague(name); got != want {
			t.Errorf("isVague(%q) = %v, want %v", name, got, want)
		}
	}
}

// TestCoreHasNoClockAndNoDice covers what imports do not show: the clock lives in a package that core needs for
// durations. Test files may measure time and draw at random.
func TestCoreHasNoClockAndNoDice(t *testing.T) { eachInCore(t, effectsIn, "core must not use %s") }

// TestCoreTakesNothingThatReads covers what a function could be given instead: a context, a clock, or a function that
// finds something by its name. A file system is given as fs.FS.
func TestCoreTakesNothingThatReads(t *testing.T) { eachInCore(t, readersIn, "core must not take %s") }

// eachInCore reports what is found in the files of core, but for tests.
func eachInCore(t *testing.T, find func(*ast.File) []effect, format string) {
	fset, files := token.NewFileSet(), 0
	err := filepath.WalkDir(filepath.Join(root, "internal/core"), func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files++
		for _, e := range find(file) {
			t.Errorf("%s: "+format, fset.Position(e.pos), e.name)
		}
		return nil
	})
	if err != nil || files == 0 {
		t.Fatalf("%d files of core were read (%v)", files, err)
	}
}

// readersIn finds parameters and exported fields of types by which a function could read the world outside.
func readersIn(file *ast.File) []effect {
	var found []effect
	check := func(fields *ast.FieldList, fieldsOfStruct bool) {
		if fields == nil {
			return
		}
		for _, field := range fields.List {
			exported := !fieldsOfStruct || slices.ContainsFunc(field.Names, (*ast.Ident).IsExported)
			if why := reads(field.Type); why != "" && exported {
				found = append(found, effect{field.Pos(), why})
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			check(n.Type.Params, false)
		case *ast.StructType:
			check(n.Fields, true)
		case *ast.InterfaceType:
			for _, method := range n.Methods.List {
				if f, ok := method.Type.(*ast.FuncType); ok {
					check(f.Params, false)
				}
			}
		}
		return true
	})
	return found
}

// reads says what a value of a type could read, or nothing.
func reads(t ast.Expr) string {
	is := func(t ast.Expr, pkg, name string) bool {
		sel, ok := t.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		x, ok := sel.X.(*ast.Ident)
		return ok && x.Name == pkg && sel.Sel.Name == name
	}
	switch t := t.(type) {
	case *ast.SelectorExpr:
		if is(t, "context", "Context") {
			return "a context"
		}
	case *ast.MapType:
		return reads(t.Value)
	case *ast.ArrayType:
		return reads(t.Elt)
	case *ast.FuncType:
		if t.Results == nil {
			return ""
		}
		named := true
		for _, param := range t.Params.List {
			id, ok := param.Type.(*ast.Ident)
			named = named && (ok && id.Name == "string" || is(param.Type, "context", "Context"))
		}
		for _, result := range t.Results.List {
			id, plain := result.Type.(*ast.Ident)
			switch {
			case is(result.Type, "time", "Time"):
				return "a clock"
			case named && (!plain || id.Name == "error"):
				return "a function that finds something by name"
			}
		}
	}
	return ""
}

func TestReadersIn(t *testing.T) {
	for source, want := range map[string]string{
		"func f(a int, less func(x, y int) int) {}":                 "",
		"func f(ctx context.Context) {}":                            "a context",
		"type t struct{ Now func() time.Time }":                     "a clock",
		"func f(read func(name string) ([]byte, error)) {}":         "a function that finds something by name",
		"type t struct{ File func(repo, path string) layout.Hash }": "a function that finds something by name",
		"func f(quote func(string) string) {}":                      "",
		"func f(rule func(*Object) error) {}":                       "",
		"type t struct{ Readers map[string]func(string) error }":    "a function that finds something by name",
		"type t interface{ Get(c context.Context, name string) }":   "a context",
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\n"+source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, e := range readersIn(file) {
			got = e.name
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", source, got, want)
		}
	}
}

// effect is one use of a function that reads or writes the world outside.
type effect struct {
	pos  token.Pos
	name string
}

// effectsIn finds calls as well as uses as a value, under whatever name the package is imported.
func effectsIn(file *ast.File) []effect {
	var found []effect
	paths := map[string]string{}
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if _, watched := effects[imported]; err != nil || !watched {
			continue
		}
		switch {
		case spec.Name == nil:
			paths[path.Base(strings.TrimSuffix(imported, "/v2"))] = imported
		case spec.Name.Name == ".":
			found = append(found, effect{spec.Pos(), "a dot import of " + imported})
		default:
			paths[spec.Name.Name] = imported
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, ok := sel.X.(*ast.Ident)
		if !ok {
			return true
		}
		names, watched := effects[paths[x.Name]]
		if watched && (len(names) == 0 || slices.Contains(names, sel.Sel.Name)) {
			found = append(found, effect{sel.Pos(), paths[x.Name] + "." + sel.Sel.Name})
		}
		return true
	})
	return found
}

func TestEffectsIn(t *testing.T) {
	cases := map[string]struct {
		source string
		want   []string
	}{
		"durations and given times are fine": {
			source: `import "time"; func f(t time.Time) time.Time { return t.Add(time.Second) }`,
		},
		"a call is found": {
			source: `import "time"; func f() time.Time { return time.Now() }`,
			want:   []string{"time.Now"},
		},
		"a use as a value is found": {
			source: `import "time"; var now = time.Now`,
			want:   []string{"time.Now"},
		},
		"a renamed import is found": {
			source: `import rng "math/rand/v2"; var n = rng.IntN(6)`,
			want:   []string{"math/rand/v2.IntN"},
		},
		"an import with a version is found": {
			source: `import "math/rand/v2"; var n = rand.IntN(6)`,
			want:   []string{"math/rand/v2.IntN"},
		},
		"a dot import is refused": {
			source: `import . "time"; var now = Now`,
			want:   []string{"a dot import of time"},
		},
		"writing to the terminal is found, formatting is not": {
			source: `import "fmt"; func f() string { fmt.Println("x"); return fmt.Sprint("x") }`,
			want:   []string{"fmt.Println"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			file, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x; "+tc.source, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range effectsIn(file) {
				got = append(got, e.name)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("effects (-want +got):\n%s", diff)
			}
		})
	}
}

// TestNothingKnowsADependencyRuleByItsName: what is different with a rule is a field of the rule, and of its edges.
func TestNothingKnowsADependencyRuleByItsName(t *testing.T) {
	compares := regexp.MustCompile(`\bRule\s*[!=]=\s*"\w|switch [\w.]*\bRule\b`)
	err := filepath.WalkDir(filepath.Join(root, "internal"), func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		text, err := os.ReadFile(file)
		if found := compares.Find(text); found != nil {
			t.Errorf("%s: %s", file, found)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestOnlyDeliveryKnowsAReconcilerByItsName: what is different with a kind of reconciler is in its package.
func TestOnlyDeliveryKnowsAReconcilerByItsName(t *testing.T) {
	names := regexp.MustCompile(`(?i)flux|kustomiz`)
	for _, dir := range []string{"core/health", "core/layout", "core/pass", "core/release", "core/review", "engine"} {
		files, err := filepath.Glob(filepath.Join(root, "internal", dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files (%v)", dir, len(files), err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if found := names.Find(text); found != nil && !strings.HasSuffix(file, "_test.go") {
				t.Errorf("%s says %q: ask the kind of delivery", file, found)
			}
		}
	}
}

// TestReasonsOfServersAreOnTheList: Git and forges name reasons by text, because they do not import the API.
func TestReasonsOfServersAreOnTheList(t *testing.T) {
	known := map[string]bool{}
	for _, topic := range v1alpha1.ReasonTopics {
		for _, r := range topic.Reasons {
			known[string(r.Reason)] = true
		}
	}
	named := regexp.MustCompile(`(?:(?:kind|Failed)[A-Z]\w+: |Reason: |\.Err\.Reason, \w+\.Err\.Text = |return )"([A-Z][A-Za-z]+)"`)
	found := 0
	for _, file := range []string{"git/errors.go", "git/odb/errors.go", "forge/errors.go", "forge/forge.go", "forge/branch.go", "forge/gitea/server.go", "forge/github/merge.go", "forge/rest/source.go"} {
		text, err := os.ReadFile(filepath.Join(root, "internal", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range named.FindAllStringSubmatch(string(text), -1) {
			found++
			if !known[match[1]] {
				t.Errorf("%s: %s is not a reason", file, match[1])
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d reasons were found", found)
	}
}
