package flux_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/test/golden"
)

const testRoot = "clusters/edge-1"

const (
	configMap  = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"
	configMapB = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: b\n"
	source     = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: other, namespace: flux-system}\n"
	fluxObject = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps, namespace: flux-system}\nspec: {path: ./apps}\n"
	tierObject = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: shop.edge-1.00, namespace: flux-system}\n"
)

// problemsOf reads a directory whose files are given below the root, and returns the problems by their fields, with paths
// below the root, and for people.
func problemsOf(files map[string]string) (fields []string, text string) {
	whole := map[string][]byte{}
	for name, text := range files {
		whole[testRoot+"/"+name] = []byte(text)
	}
	problems := kind.ReadFolder(testRoot, whole).Problems
	for _, p := range problems {
		fields = append(fields, strings.ReplaceAll(golden.Fields(p), testRoot+"/", ""))
	}
	if len(problems) > 0 {
		text = problems.Error()
	}
	return fields, text
}

type folderTest struct {
	files map[string]string
	// want are the fields of each problem.
	want []string
}

func runFolderTests(t *testing.T, tests map[string]folderTest) {
	t.Helper()
	texts := golden.Of(t)
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, text := problemsOf(tc.files)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			texts.Add(name, text)
		})
	}
}

func one(name, text string) map[string]string { return map[string]string{name: text} }

// Where a row is about an error of Flux's own, it follows what Flux was seen to do.
func TestReadFolderFindsWhatStopsARoot(t *testing.T) {
	runFolderTests(t, map[string]folderTest{
		"two files that define the same source": {
			map[string]string{"s1/source.yaml": source, "flux-system/sync.yaml": source},
			[]string{"s1/source.yaml:1: RootUnbuildable"},
		},
		"YAML that is broken, however deep": {
			one("deep/er/broken.yaml", "a: {b\nc: d\n"), []string{"deep/er/broken.yaml:2: RootUnbuildable"},
		},
		"YAML that is broken in the second document": {
			one("a.yaml", configMap+"---\n"+"a: b\n  c: d\n"), []string{"a.yaml:7: RootUnbuildable"},
		},
		"a tab":                 {one("a.yaml", "kind: A\nmetadata:\n\tname: a\n"), []string{"a.yaml:3: RootUnbuildable"}},
		"an alias of nothing":   {one("a.yaml", configMap+"data: *x\n"), []string{"a.yaml:5: RootUnbuildable"}},
		"a template":            {one("a.yaml", "{{- if .x }}\nkind: A\n{{- end }}\n"), []string{"a.yaml:1: RootUnbuildable"}},
		"text that is not text": {one("a.yaml", "a: \x01\n"), []string{"a.yaml:1: RootUnbuildable"}},
		"a values file":         {one("values.yaml", "# chart\nreplicas: 2\n"), []string{"values.yaml:2: RootUnbuildable"}},
		"a values file that sops encrypted": {
			one("a.yaml", "a: ENC[x]\nsops: {mac: x}\n"), []string{"a.yaml:1: RootUnbuildable"},
		},
		"a list of values":           {one("a.yaml", "- a\n"), []string{"a.yaml:1: RootUnbuildable"}},
		"a single value":             {one("a.yml", "hello\n"), []string{"a.yml:1: RootUnbuildable"}},
		"an object without a kind":   {one("a.yaml", "apiVersion: v1\nmetadata: {name: a}\n"), []string{"a.yaml:1: RootUnbuildable"}},
		"an object without a name":   {one("a.yaml", "apiVersion: v1\nkind: ConfigMap\n"), []string{"a.yaml:1: RootUnbuildable"}},
		"an object with a made name": {one("a.yaml", "apiVersion: v1\nkind: Job\nmetadata: {generateName: a-}\n"), []string{"a.yaml:1: RootUnbuildable"}},
		"a hidden file and a hidden directory are read all the same": {
			map[string]string{".a.yaml": "a: b\n", ".b/a.yaml": "a: b\n"},
			[]string{".a.yaml:1: RootUnbuildable", ".b/a.yaml:1: RootUnbuildable"},
		},
		"one object twice in a file": {
			one("a.yaml", configMap+"---\n"+configMap), []string{"a.yaml:6: RootUnbuildable"},
		},
		"one object with its namespace said and unsaid": {
			map[string]string{"a.yaml": configMap, "b.yaml": configMap + "  namespace: default\n"},
			[]string{"b.yaml:1: RootUnbuildable"},
		},
		"one cluster-wide object with a namespace and without": {
			map[string]string{"a.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n", "b.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: a, namespace: x}\n"},
			[]string{"b.yaml:1: RootUnbuildable"},
		},
		"one object in a List and outside": {
			map[string]string{"a.yaml": "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n", "b.yaml": configMap},
			[]string{"b.yaml:1: RootUnbuildable"},
		},
		"an item of a List that is not an object": {
			one("a.yaml", "apiVersion: v1\nkind: List\nitems:\n- a\n"), []string{"a.yaml:4: RootUnbuildable"},
		},
		"an item of a typed list without a kind of its own": {
			one("a.yaml", "apiVersion: v1\nkind: ConfigMapList\nitems:\n- metadata: {name: a}\n"), []string{"a.yaml:4: RootUnbuildable"},
		},
		"items that are not a list": {
			one("a.yaml", configMap+"---\nkind: List\nitems: x\n"), []string{"a.yaml:6: RootUnbuildable"},
		},
		"a key that occurs twice":               {one("a.yaml", configMap+"data:\n  x: a\n  x: b\n"), []string{"a.yaml:7: RootUnbuildable"}},
		"a key that is not text":                {one("a.yaml", configMap+"data:\n  8080: a\n"), []string{"a.yaml:6: RootUnbuildable"}},
		"a document that begins behind its ---": {one("a.yaml", configMap+"--- {kind: A}\n"), []string{"a.yaml:5: RootUnbuildable"}},
		"a line of more than three dashes":      {one("a.yaml", configMap+"-----\n"+configMapB), []string{"a.yaml:5: RootUnbuildable"}},
		"a directive":                           {one("a.yaml", "%YAML 1.2\n---\n"+configMap), []string{"a.yaml:1: RootUnbuildable"}},
		"an anchor that contains itself, on which the controller crashes": {
			one("a.yaml", configMap+"data: &x {y: *x}\n"), []string{"a.yaml:5: RootUnbuildable"},
		},
		"an object of Furrow's that others define: theirs must be corrected": {
			map[string]string{"z.yaml": tierObject, "furrow/shop/tier-00.yaml": tierObject, "a.yaml": tierObject},
			[]string{
				"a.yaml:1: RootUnbuildable",
				"z.yaml:1: RootUnbuildable",
			},
		},
		"each bad file is reported": {
			map[string]string{"b.yaml": "a: b\n", "a.yaml": "a: {\n"}, []string{"a.yaml:1: RootUnbuildable", "b.yaml:1: RootUnbuildable"},
		},
	})
}

func TestReadFolderLetsPassWhatFluxBuilds(t *testing.T) {
	pass := map[string]map[string]string{
		"no YAML at all, with which Flux deletes everything and reports success": one("README.md", "{{"),
		"an empty file, comments alone, separators alone":                        {"a.yaml": "", "b.yaml": "# nothing\n", "c.yaml": "---\n---\n", "d.yaml": configMap},
		"documents that say nothing":                                             {"a.yaml": "null\n", "b.yaml": "{}\n", "c.yaml": "[]\n", "d.yaml": "~\n---\n" + configMap},
		"files of other endings":                                                 {"a.json": "{", "b.YAML": "{", "c.yaml.bak": "{", "d.tpl": "{"},
		"what is never fetched":                                                  {".sops.yaml": "creation_rules: []\n", ".github/workflows/ci.yaml": "on: push\n", "deep/.gitlab-ci.yml": "a: b\n"},
		"a kind that nobody knows":                                               one("a.yaml", "apiVersion: nope.example/v1\nkind: Nope\nmetadata: {name: n}\n"),
		"a namespace that is not there":                                          one("a.yaml", configMap+"  namespace: nonesuch\n"),
		"an object without apiVersion, which is left out":                        one("a.yaml", "kind: ConfigMap\nmetadata: {name: a}\n"),
		"two versions of one object":                                             one("a.yaml", "apiVersion: autoscaling/v1\nkind: HorizontalPodAutoscaler\nmetadata: {name: a}\n---\napiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: a}\n"),
		"one name in two namespaces":                                             {"a.yaml": configMap + "  namespace: x\n", "b.yaml": configMap + "  namespace: y\n"},
		"a comment after ---, Windows' line ends, a byte order mark": {
			"a.yaml": configMap + "--- # two\n" + configMapB, "b.yaml": "\ufeff" + strings.ReplaceAll("---\n"+source+"---\n"+fluxObject, "\n", "\r\n"),
		},
		"a first document that begins behind its ---":           one("a.yaml", "--- {kind: A, metadata: {name: a}}\n"),
		"what follows the end of a document, which is not read": one("a.yaml", configMap+"...\n{\n"),
		"--- inside of a text":                                  one("a.yaml", configMap+"data:\n  x: |\n    a\n    ---\n    b\n"),
		"a List":                                                one("a.yaml", "apiVersion: v1\nkind: List\nitems:\n- {kind: A, metadata: {name: a}}\n- null\n"),
		"a List of nothing":                                     {"a.yaml": "kind: List\nitems:\n", "b.yaml": "kind: List\n", "c.yaml": "kind: List\nitems: {}\n"},
		"a List of Lists":                                       one("a.yaml", "kind: List\nitems:\n- {kind: List, items: [{kind: A, metadata: {name: a}}]}\n"),
		"a kind that only ends like a list":                     one("a.yaml", "apiVersion: x.io/v1\nkind: AllowList\nmetadata: {name: a}\nspec: {items: [a]}\n"),
		"a Secret that sops encrypted":                          one("a.yaml", configMap+"data: {x: 'ENC[AES256_GCM,data:x]'}\nsops: {mac: x}\n"),
		"anchors and merges":                                    one("a.yaml", "x: &m {name: a}\nkind: ConfigMap\nmetadata: {<<: [*m], labels: *m}\n"),
		"a key that a merge has as well":                        one("a.yaml", "x: &m {name: z}\nkind: A\nmetadata: {<<: *m, name: a}\n---\nkind: A\nmetadata: {name: z}\n"),
		"a Flux Kustomization in its own file":                  one("apps.yaml", fluxObject),
		"tags that nobody knows":                                one("a.yaml", configMap+"data: !vault |\n  x\n"),
		"keys that only resemble booleans":                      one("a.yaml", configMap+"data: {yes: a, on: b, '8080': c}\n"),
		"Furrow's own files":                                    one("furrow/shop/tier-00.yaml", tierObject),
	}
	tests := map[string]folderTest{}
	for name, files := range pass {
		tests[name] = folderTest{files: files}
	}
	runFolderTests(t, tests)
}

func TestReadFolderWithKustomizationFiles(t *testing.T) {
	runFolderTests(t, map[string]folderTest{
		"in the root, where it alone counts": {
			map[string]string{"kustomization.yaml": "resources: [a.yaml]\n", "b.yaml": "{"},
			[]string{"kustomization.yaml: RootUnbuildable"},
		},
		"in the root, by its other names": {one("Kustomization", ""), []string{"Kustomization: RootUnbuildable"}},
		"in a sub-directory, whose files are its own affair": {
			map[string]string{"s/kustomization.yaml": "resources: [a.yaml]\n", "s/a.yaml": configMap, "s/values.yaml": "a: {", "s/t/b.yaml": "{", "b.yaml": configMap}, nil,
		},
		"below a sub-directory that has none": {
			map[string]string{"s/t/Kustomization": "resources: [a.yaml]\n", "s/t/a.yaml": "{", "s/a.yaml": "a: b\n"}, []string{"s/a.yaml:1: RootUnbuildable"},
		},
		"below one that has one is its affair": {map[string]string{"s/kustomization.yml": "resources: [t]\n", "s/t/kustomization.yaml": "{"}, nil},
		"a Flux Kustomization in a file of that name": {
			one("s3/kustomization.yaml", fluxObject),
			[]string{"s3/kustomization.yaml:1: RootUnbuildable"},
		},
		"any other object in a file of that name": {one("s/kustomization.yaml", configMap), []string{"s/kustomization.yaml:1: RootUnbuildable"}},
		"another version":                         {one("s/kustomization.yaml", "apiVersion: kustomize.config.k8s.io/v1\nresources: []\n"), []string{"s/kustomization.yaml:1: RootUnbuildable"}},
		"a component":                             {one("s/kustomization.yaml", "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"), []string{"s/kustomization.yaml:1: RootUnbuildable"}},
		"an empty one":                            {one("s/kustomization.yaml", "# later\n"), []string{"s/kustomization.yaml:1: RootUnbuildable"}},
		"a list":                                  {one("s/kustomization.yaml", "- a.yaml\n"), []string{"s/kustomization.yaml:1: RootUnbuildable"}},
		"a broken one":                            {one("s/kustomization.yaml", "resources: [a\n"), []string{"s/kustomization.yaml:1: RootUnbuildable"}},
		"two in one directory": {
			map[string]string{"s/kustomization.yaml": "resources: []\n", "s/kustomization.yml": "resources: []\n"},
			[]string{"s/kustomization.yml: RootUnbuildable"},
		},
		"a name that is only like one": {one("s/Kustomization.yaml", "resources: []\n"), []string{"s/Kustomization.yaml:1: RootUnbuildable"}},
		"a directory of that name":     {one("s/kustomization.yaml/a.yaml", configMap), nil},
	})
}

func TestFolderProblemSaysWhatComesOfIt(t *testing.T) {
	f := kind.ReadFolder("", map[string][]byte{"a.yaml": []byte("a: b\n")})
	if len(f.Problems) != 1 || golden.Fields(f.Problems[0]) != "a.yaml:1: RootUnbuildable" {
		t.Fatalf("got %v", f.Problems)
	}
	golden.Of(t).Add("the problem", f.Problems[0].Error())
}

func TestFolderClaims(t *testing.T) {
	const own = testRoot + "/furrow/shop/tier-00.yaml"
	tier := manifest.ID{Group: "kustomize.toolkit.fluxcd.io", Kind: "Kustomization", Namespace: "flux-system", Name: "shop.edge-1.00"}
	tests := map[string]struct {
		files map[string][]byte
		want  string
	}{
		"nobody else has it":              {map[string][]byte{testRoot + "/apps.yaml": []byte(fluxObject)}, ""},
		"Furrow's own file may have it":   {map[string][]byte{own: []byte(tierObject)}, ""},
		"another file must not":           {map[string][]byte{testRoot + "/mine.yaml": []byte("# mine\n" + tierObject)}, testRoot + "/mine.yaml:2: RootUnbuildable"},
		"not even in another API version": {map[string][]byte{testRoot + "/a.yml": []byte(strings.ReplaceAll(tierObject, "/v1\n", "/v1beta2\n"))}, testRoot + "/a.yml:1: RootUnbuildable"},
		"nor under furrow/":               {map[string][]byte{testRoot + "/furrow/x.yaml": []byte(tierObject)}, testRoot + "/furrow/x.yaml:1: RootUnbuildable"},
	}
	texts := golden.Of(t)
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			problem, claimed := kind.Claims(kind.ReadFolder(testRoot, tc.files), tier, own)
			if claimed != (tc.want != "") {
				t.Fatalf("claimed %v: %s", claimed, problem)
			}
			if !claimed {
				return
			}
			if got := golden.Fields(problem); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
			texts.Add(name, problem.Error())
		})
	}
}

func TestReadsFile(t *testing.T) {
	tests := map[string]struct {
		root, file string
		want       bool
	}{
		"YAML below the root":                        {testRoot, testRoot + "/a/b.yaml", true},
		"its other ending":                           {testRoot, testRoot + "/b.yml", true},
		"a hidden file":                              {testRoot, testRoot + "/.b.yaml", true},
		"a kustomization file without an ending":     {testRoot, testRoot + "/a/Kustomization", true},
		"a root that is written as Flux writes it":   {"./" + testRoot + "/", testRoot + "/b.yaml", true},
		"the whole repository":                       {"", "b.yaml", true},
		"the whole repository, as Flux writes it":    {"./", "a/b.yaml", true},
		"a directory whose name only begins alike":   {testRoot, testRoot + "0/b.yaml", false},
		"a file beside the root":                     {testRoot, "clusters/b.yaml", false},
		"another ending":                             {testRoot, testRoot + "/b.json", false},
		"an ending in capitals":                      {testRoot, testRoot + "/b.YAML", false},
		"a README":                                   {testRoot, testRoot + "/README.md", false},
		"the rules of sops":                          {testRoot, testRoot + "/.sops.yaml", false},
		"a workflow":                                 {testRoot, testRoot + "/.github/workflows/a.yaml", false},
		"a pipeline in a directory of its own":       {testRoot, testRoot + "/x/cloudbuild.yaml", false},
		"a file that only ends like a pipeline":      {testRoot, testRoot + "/my-cloudbuild.yaml", true},
		"a file that is called like a hidden folder": {testRoot, testRoot + "/github/a.yaml", true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := kind.ReadsFile(tc.root, tc.file); got != tc.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

// Aliases may expand to more than there is memory or time for.
func TestReadFolderIsBounded(t *testing.T) {
	lists, merges := "kind: List\nitems:\n- &l0 {kind: List, items: [{}]}\n", "x0: &x0 {a: b}\n"
	for i := range 40 {
		lists += fmt.Sprintf("- &l%d {kind: List, items: [*l%d, *l%d]}\n", i+1, i, i)
		merges += fmt.Sprintf("x%d: &x%d {<<: [*x%d, *x%d]}\n", i+1, i+1, i, i)
	}
	got, _ := problemsOf(map[string]string{"lists.yaml": lists, "merges.yaml": merges + "kind: A\nmetadata: {<<: *x40}\n"})
	want := []string{"merges.yaml:1: RootUnbuildable"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

// lineBreak is any of those that YAML knows.
var lineBreak = regexp.MustCompile("[\n\r\u0085\u2028\u2029]")

func FuzzReadFolder(f *testing.F) {
	for _, text := range []string{configMap, source + "---\n" + fluxObject, "a: &a [*a]\n", "kind: List\nitems: [{}]\n", "%YAML 1.1\n---\n", "<<: {kind: A}\n"} {
		f.Add(text, text)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		files := map[string][]byte{"r/a.yaml": []byte(a), "r/s/kustomization.yaml": []byte(b), "r/z.yaml": []byte(b)}
		folder := kind.ReadFolder("r", files)
		for _, p := range folder.Problems {
			if p.Source.File == "" || p.Source.Line < 0 || p.Message == "" || p.Next == "" || p.Reason != v1alpha1.ReasonRootUnbuildable {
				t.Errorf("a problem that does not say enough: %+v", p)
			}
			lines := len(lineBreak.FindAllIndex(files[p.Source.File], -1)) + 1
			if p.Source.Line > lines {
				t.Errorf("%s: the file has only %d lines", p, lines)
			}
		}
	})
}
