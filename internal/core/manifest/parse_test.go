package manifest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/test/golden"
)

// pod is a document with a name, and whatever lines follow.
func pod(name string, more ...string) string {
	return "apiVersion: v1\nkind: Pod\nmetadata:\n  name: " + name + "\n" + strings.Join(more, "")
}

// where lists objects as id@file:line.
func where(objects []Object) []string {
	var out []string
	for _, o := range objects {
		out = append(out, o.ID.String()+"@"+o.Source.String())
	}
	return out
}

// fields are the problems of an error without their texts.
func fields(err error) []string {
	var out []string
	for _, p := range ProblemsOf(err) {
		out = append(out, golden.Fields(p))
	}
	return out
}

// text is an error for people.
func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestParseFindsTheDocumentsOfAFile(t *testing.T) {
	list := "apiVersion: v1\nkind: List\nitems:\n"
	tests := map[string]struct {
		file, text string
		want       []string
	}{
		"one document without a marker":              {text: pod("a"), want: []string{"core/Pod/a@f:1"}},
		"comments and empty documents are none":      {text: "# c\n---\n---\n# d\n\n---\n" + pod("a") + "---\n", want: []string{"core/Pod/a@f:7"}},
		"a marker may have a comment":                {text: "--- # first\n" + pod("a") + "---\t# second\n" + pod("b"), want: []string{"core/Pod/a@f:2", "core/Pod/b@f:7"}},
		"a marker may have content":                  {text: "--- {apiVersion: v1, kind: Pod, metadata: {name: a}}\n--- \n" + pod("b"), want: []string{"core/Pod/a@f:1", "core/Pod/b@f:3"}},
		"three dots end a document":                  {text: pod("a") + "...\n# c\n" + pod("b"), want: []string{"core/Pod/a@f:1", "core/Pod/b@f:7"}},
		"directives belong to what follows":          {text: "%YAML 1.2\n---\n" + pod("a") + "...\n%YAML 1.1\n---\n" + pod("b"), want: []string{"core/Pod/a@f:3", "core/Pod/b@f:10"}},
		"a byte order mark is not content":           {text: "\ufeff---\n" + pod("a") + "\ufeff---\n" + pod("b"), want: []string{"core/Pod/a@f:2", "core/Pod/b@f:7"}},
		"lines may end as on Windows":                {text: strings.ReplaceAll(pod("a")+"---\n"+pod("b"), "\n", "\r\n"), want: []string{"core/Pod/a@f:1", "core/Pod/b@f:6"}},
		"a marker in a block scalar is text":         {text: pod("a", "x: |\n  ---\n  b\n") + "---\n" + pod("b"), want: []string{"core/Pod/a@f:1", "core/Pod/b@f:9"}},
		"three dashes and a letter are not a marker": {text: pod("a", "---x: 1\n"), want: []string{"core/Pod/a@f:1"}},
		"null documents are none":                    {text: "~\n---\nnull\n---\n" + pod("a"), want: []string{"core/Pod/a@f:5"}},
		"an empty file has nothing":                  {text: ""},
		"JSON is read":                               {file: "f.json", text: "\n{\"apiVersion\": \"v1\",\n \"kind\": \"Pod\", \"metadata\": {\"name\": \"a\"}}", want: []string{"core/Pod/a@f.json:2"}},
		"JSON objects may follow one another": {text: "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\"}}{\n\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"b\"}}\n" +
			"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"c\"}}", want: []string{"core/Pod/a@f:1", "core/Pod/b@f:2", "core/Pod/c@f:3"}},
		"JSON may follow a marker":         {text: "---\n{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\",\"annotations\":{\"x\":\"\\ud83d\\ude00\"}}}\n---\n" + pod("b"), want: []string{"core/Pod/a@f:2", "core/Pod/b@f:4"}},
		"flow style YAML is not JSON":      {text: "{apiVersion: v1, kind: Pod, metadata: {name: a}}\n", want: []string{"core/Pod/a@f:1"}},
		"a v1 List is taken apart":         {text: list + "- apiVersion: v1\n  kind: Pod\n  metadata: {name: a}\n-\n  metadata: {name: b}\n  apiVersion: v1\n  kind: Pod\n", want: []string{"core/Pod/a@f:4", "core/Pod/b@f:8"}},
		"lists may be nested":              {text: list + "- apiVersion: v1\n  kind: List\n  items:\n  - {apiVersion: v1, kind: Pod, metadata: {name: a}}\n", want: []string{"core/Pod/a@f:7"}},
		"a typed list says the kind":       {text: "apiVersion: apps/v1\nkind: DeploymentList\nmetadata: {}\nitems:\n- metadata: {name: a}\n- metadata: {name: b}\n  kind: Deployment\n", want: []string{"apps/Deployment/a@f:5", "apps/Deployment/b@f:6"}},
		"a *List with a name is an object": {text: "apiVersion: a.b/v1\nkind: AllowList\nmetadata: {name: a}\nitems: [x]\n", want: []string{"a.b/AllowList/a@f:1"}},
		"an empty list has nothing":        {text: list},
		"aliases and merges are followed":  {text: pod("a", "  labels: &l\n    x: a\nspec:\n  selector: *l\n  more:\n    <<: *l\n    x: b\n"), want: []string{"core/Pod/a@f:1"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if tt.file == "" {
				tt.file = "f"
			}
			objects, err := Parse(tt.file, []byte(tt.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, where(objects)); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseReadsValuesAsKubectlDoes(t *testing.T) {
	tests := map[string]struct {
		yaml string
		want any
	}{
		"yes is true":                          {"yes", true},
		"off is false":                         {"off", false},
		"quoted yes is text":                   {`"yes"`, "yes"},
		"an octal number":                      {"0644", int64(420)},
		"a large integer stays exact":          {"9007199254740993", int64(9007199254740993)},
		"an integer beyond 64 bits is a float": {"18446744073709551616", 18446744073709551616.0},
		"1.0 is an integer, as in JSON":        {"1.0", int64(1)},
		"a fraction is a float":                {"0.5", 0.5},
		"a date is text":                       {"2001-01-01", "2001-01-01"},
		"a base 60 number is text":             {"12:30:45", "12:30:45"},
		"nothing is nil":                       {"", nil},
		"keys become text":                     {"{1: a, yes: b}", map[string]any{"1": "a", "true": "b"}},
		"a later key wins over a merge":        {"{<<: {a: 1}, a: 2}", map[string]any{"a": int64(2)}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			objects, err := Parse("f", []byte(pod("a", "value: "+tt.yaml+"\n")))
			if err != nil {
				t.Fatal(err)
			}
			got, _ := objects[0].Field("value")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseSaysWhatIsWrong(t *testing.T) {
	tests := map[string]struct {
		file, text string
		want       []string
		wantKept   []string
	}{
		"every problem is named, and good documents stay": {
			text: pod("a", "  labels: {x: true, z: 1}\n") + "---\n" + pod("b") + "---\nkind: Pod\n",
			want: []string{
				`f:5: Pod "a": InvalidLabel field=metadata.labels.x`,
				`f:5: Pod "a": InvalidLabel field=metadata.labels.z`,
				"f:12: Pod: MissingField field=apiVersion",
				"f:12: Pod: MissingField field=metadata.name",
			},
			wantKept: []string{"core/Pod/b@f:7"},
		},
		"a tab": {text: "# c\n---\nkind: Pod\nmetadata:\n\tname: a\n",
			want: []string{"f:5: InvalidYAML"}},
		"a colon too many": {text: "\n\nkind: Pod\nmetadata: a: b\n",
			want: []string{"f:4: InvalidYAML"}},
		"bad indentation": {text: "kind: Pod\nmetadata:\n  name: a\n namespace: b\n",
			want: []string{"f:4: InvalidYAML"}},
		"an open quote": {text: "kind: Pod\nmetadata:\n  name: 'a\n  namespace: b\n",
			want: []string{"f:3: InvalidYAML"}},
		"an open bracket": {text: "kind: Pod\nargs: [a, b\nx: y\n",
			want: []string{"f:3: InvalidYAML"}},
		"an unknown anchor": {text: pod("a", "x: *b\n"),
			want: []string{"f:5: InvalidYAML"}},
		"an unquoted template": {text: pod("a", "x: {{ .Values.x }}\n"),
			want: []string{`f:5: Pod "a": UnsupportedValue`}},
		"a key twice": {text: pod("a", "spec:\n  b: 1\n  c: 1\n  b: 2\n"),
			want: []string{`f:8: Pod "a": AmbiguousYAML`}},
		"keys that become the same text": {text: pod("a", "spec:\n  1: a\n  \"1\": b\n"),
			want: []string{`f:7: Pod "a": AmbiguousYAML`}},
		"a key twice in JSON": {file: "f.json", text: "{\"apiVersion\": \"v1\", \"kind\": \"Pod\", \"metadata\": {\"name\": \"a\"},\n\"x\": 1,\n\"x\": 2}",
			want: []string{`f.json:3: Pod "a": AmbiguousYAML`}},
		"broken JSON": {file: "f.json", text: "{\"a\": 1,\n\"b\" 2}",
			want: []string{"f.json:2: InvalidYAML"}},
		"a merge after its key": {text: pod("a", "x: &x {k: 1}\ny:\n  k: 2\n  <<: *x\n"),
			want: []string{`f:8: Pod "a": AmbiguousYAML`}},
		"infinity": {text: pod("a", "x: -.inf\n"),
			want: []string{`f:5: Pod "a": UnsupportedValue`}},
		"a value that its tag does not fit": {text: pod("a", "spec:\n  args:\n  - !!str 1\n  - !!timestamp hunter2\n"),
			want: []string{`f:8: Pod "a": UnsupportedValue`}},
		"a tag in a merge": {text: pod("a", "x: {<<: [!!float hunter2]}\n"),
			want: []string{`f:5: Pod "a": UnsupportedValue`}},
		"a merge of text": {text: pod("a", "x: {<<: hunter2}\n"),
			want: []string{`f:1: Pod "a": InvalidYAML`}},
		"a number that is too large": {file: "f.json", text: "{\"apiVersion\": \"v1\", \"kind\": \"Pod\", \"metadata\": {\"name\": \"a\"},\n\"x\": 1e999}",
			want: []string{`f.json:2: Pod "a": UnsupportedValue`}},
		"a list": {text: "# values\n- a\n- b\n",
			want: []string{"f:2: NotAnObject"}},
		"a JSON array": {file: "f.json", text: "[{}]",
			want: []string{"f.json:1: NotAnObject"}},
		"plain text": {text: "hello\n",
			want: []string{"f:1: NotAnObject"}},
		"a values file": {text: "replicas: 1\n",
			want: []string{"f:1: NotAnObject"}},
		"generateName": {text: "apiVersion: batch/v1\nkind: Job\nmetadata:\n  generateName: a-\n",
			want: []string{"f:4: Job: MissingField field=metadata.generateName"}},
		"a name that is a number": {text: pod("1"),
			want: []string{"f:4: Pod: InvalidField field=metadata.name"}},
		"a name that climbs": {text: pod(`"../../x"`),
			want: []string{"f:4: Pod: InvalidName field=metadata.name"}},
		"a name with a control character": {text: pod(`"a\0b"`),
			want: []string{"f:4: Pod: InvalidName field=metadata.name"}},
		"a namespace that is not a label": {text: pod("a", "  namespace: A.b\n"),
			want: []string{`f:5: Pod "a": InvalidName field=metadata.namespace`}},
		"a kind that is not a word": {text: "apiVersion: v1\nkind: ../x\nmetadata: {name: a}\n",
			want: []string{`f:2: object "a": InvalidField field=kind`}},
		"a malformed apiVersion": {text: "apiVersion: a/b/c\nkind: X\nmetadata: {name: a}\n",
			want: []string{`f:1: X "a": InvalidField field=apiVersion`}},
		"the group core": {text: "apiVersion: core/v1\nkind: Pod\nmetadata: {name: a}\n",
			want: []string{`f:1: Pod "a": UnknownKind field=apiVersion`}},
		"metadata that is text": {text: "apiVersion: v1\nkind: Pod\nmetadata: a\n",
			want: []string{"f:3: Pod: InvalidField field=metadata"}},
		"a kind that sops encrypted": {text: "apiVersion: v1\nkind: ENC[AES256_GCM,data:x]\nmetadata: {name: a}\nsops: {}\n",
			want: []string{`f:2: object "a": EncryptedMetadata field=kind`}},
		"a list that sops encrypted": {text: "apiVersion: v1\nkind: List\nitems: []\nsops: {}\n",
			want: []string{"f:1: List: InvalidEncryption"}},
		"an item that is not an object": {text: "apiVersion: v1\nkind: List\nitems:\n- a\n",
			want: []string{"f:4: List: NotAnObject field=items[0]"}},
		"items that are not a list": {text: "apiVersion: v1\nkind: List\nitems: a\n",
			want: []string{"f:3: List: NotAnObject field=items"}},
		"text that is not UTF-8": {text: pod("a", "x: \xff\n"),
			want: []string{"f:5: InvalidYAML"}},
		"line ends that hide a marker": {text: pod("a") + "x: 1\r---\rx: 2\n",
			want: []string{"f:1: InvalidYAML"}},
		"an alias inside of itself": {text: pod("a", "x: &x [*x]\n"),
			want: []string{"f:5: AmbiguousYAML"}},
		"a document that is too large": {text: "\n" + pod("a", "x: "+strings.Repeat("x", maxDocument)+"\n"),
			want: []string{`f:2: Pod "a": DocumentTooLarge`}},
	}
	texts := golden.Of(t)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if tt.file == "" {
				tt.file = "f"
			}
			objects, err := Parse(tt.file, []byte(tt.text))
			got := fields(err)
			texts.Add(name, text(err))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.wantKept, where(objects)); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseBoundsItsWork(t *testing.T) {
	var bomb strings.Builder
	bomb.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 30; i++ {
		ref := fmt.Sprintf("*a%d", i-1)
		fmt.Fprintf(&bomb, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(ref+", ", 10), ", "))
	}
	tests := map[string]struct{ text, want string }{
		"aliases of aliases":            {pod("a", bomb.String()), "f:1: DocumentTooLarge"},
		"aliases of aliases under sops": {pod("a", "sops: {}\n", bomb.String()), "f:1: DocumentTooLarge"},
		"many aliases of long text":     {pod("a", "x: &x "+strings.Repeat("x", 1<<20)+"\ny: ["+strings.Repeat("*x, ", 50000)+"]\n"), "f:1: DocumentTooLarge"},
		"merges of merges":              {pod("a", mergeBomb()), "f:1: DocumentTooLarge"},
		"10,000 brackets":               {pod("a", "x: "+strings.Repeat("[", 10000)+strings.Repeat("]", 10000)+"\n"), "f:5: DocumentTooLarge"},
		"100,000 brackets":              {pod("a", "x: "+strings.Repeat("[", 100000)+"\n"), "f:5: InvalidYAML"},
		"10,000 list markers":           {pod("a", "x:\n"+strings.Repeat("- ", 10000)+"a\n"), "f:6: DocumentTooLarge"},
		"10,000 brackets of JSON":       {"{\"x\":" + strings.Repeat("[", 10000) + strings.Repeat("]", 10000) + "}", "f:1: InvalidYAML"},
		"depth by aliases":              {pod("a", deepAliases(2000)), "f:1005: DocumentTooLarge"},
	}
	texts := golden.Of(t)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Parse("f", []byte(tt.text))
			runtime.ReadMemStats(&after)
			if got := strings.Join(fields(err), "\n"); got != tt.want {
				t.Errorf("got %s, want %s: %.300v", got, tt.want, err)
			}
			texts.Add(name, text(err))
			if used := after.TotalAlloc - before.TotalAlloc; used > 256<<20 {
				t.Errorf("used %d MiB", used>>20)
			}
		})
	}
}

func mergeBomb() string {
	var b strings.Builder
	b.WriteString("m0: &m0 {k: v}\n")
	for i := 1; i < 30; i++ {
		ref := fmt.Sprintf("*m%d", i-1)
		fmt.Fprintf(&b, "m%d: &m%d {<<: [%s]}\n", i, i, strings.TrimSuffix(strings.Repeat(ref+", ", 10), ", "))
	}
	return b.String()
}

func deepAliases(n int) string {
	var b strings.Builder
	b.WriteString("d0: &d0 []\n")
	for i := 1; i < n; i++ {
		fmt.Fprintf(&b, "d%d: &d%d [*d%d]\n", i, i, i-1)
	}
	return b.String()
}

func TestParseReadsARealSeed(t *testing.T) {
	const seed = "shared/cases/planter/hello-world/seed.yaml"
	path := filepath.Join(repositoryRoot(t), "..", filepath.FromSlash(seed))
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		t.Skipf("%s is not beside the repository", seed)
	}
	if err != nil {
		t.Fatal(err)
	}
	objects, err := Parse("seed.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"core/Namespace/network-service@seed.yaml:1",
		"planter.nephio.org/Cluster/network-service/edge1@seed.yaml:9",
		"planter.nephio.org/WAN/network-service/sd-wan@seed.yaml:28",
		"planter.nephio.org/KernelConfig/network-service/realtime@seed.yaml:40",
		"planter.nephio.org/MemoryConfig/network-service/numa@seed.yaml:52",
		"core/Namespace/cnf@seed.yaml:65",
		"core/ServiceAccount/cnf/cnf@seed.yaml:75",
		"rbac.authorization.k8s.io/Role/cnf/cnf@seed.yaml:84",
		"rbac.authorization.k8s.io/RoleBinding/cnf/cnf@seed.yaml:98",
		"apps/Deployment/cnf/cnf@seed.yaml:119",
		"planter.nephio.org/Network/cnf/data-plane@seed.yaml:153",
		"core/Service/cnf/cnf@seed.yaml:165",
		"apiextensions.k8s.io/CustomResourceDefinition/instances.cnf.org@seed.yaml:188",
		"cnf.org/Instance/cnf/cnf@seed.yaml:231",
	}
	if diff := cmp.Diff(want, where(objects)); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	for _, o := range objects {
		checkRoundTrip(t, o)
	}
}

func repositoryRoot(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
}
