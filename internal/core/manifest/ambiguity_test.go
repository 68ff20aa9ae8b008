package manifest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// remarks lists what reading a file found besides, without what to do about it.
func remarks(t *testing.T, file, text string) (lines []string) {
	t.Helper()
	objects, err := manifest.Parse(file, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		for _, p := range o.Faults() {
			lines = append(lines, "error: "+p.Source.String()+": "+p.Message)
		}
		for _, p := range o.Warnings() {
			lines = append(lines, p.Source.String()+": "+p.Message)
		}
	}
	return lines
}

const custom = "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: t}\nspec:\n"

// TestWhatToolsReadDifferentlyIsAWarning: it quotes the text as the file has it.
func TestWhatToolsReadDifferentlyIsAWarning(t *testing.T) {
	const (
		yaml12 = "text in YAML 1.2 and in Kustomize"
		yaml11 = "text in YAML 1.1"
	)
	value := func(text, here, elsewhere string) []string {
		return []string{`f.yaml:5: the value of "a" is written as ` + text + ", and tools read it differently: as " + here + " here and in kubectl, as " + elsewhere}
	}
	key := func(text, here, elsewhere string) []string {
		return []string{"f.yaml:5: the key " + text + ` is not quoted, and tools read it differently: as "` + here + `" here and in kubectl, as ` + elsewhere}
	}
	cases := map[string]struct {
		spec string
		want []string
	}{
		"yes":                   {"a: yes", value("yes", "true", yaml12)},
		"No":                    {"a: No", value("No", "false", yaml12)},
		"y":                     {"a: y", value("y", "true", yaml12)},
		"OFF":                   {"a: OFF", value("OFF", "false", yaml12)},
		"on as a key":           {"on: 1", key("on", "true", yaml12)},
		"n as a key":            {"n: 1", key("n", "false", yaml12)},
		"octal":                 {"a: 01234", value("01234", "the number 668", "a decimal number in YAML 1.2")},
		"octal below zero":      {"a: -012", value("-012", "the number -10", "a decimal number in YAML 1.2")},
		"octal in a list":       {"a: [0755]", value("0755", "the number 493", "a decimal number in YAML 1.2")},
		"octal in another form": {"a: 0o17", value("0o17", "the number 15", yaml11)},
		"no octal":              {"a: 0189", value("0189", "the number 189", yaml11)},
		"binary":                {"a: 0b11", value("0b11", "the number 3", "text in YAML 1.2")},
		"underscores":           {"a: 1_000", value("1_000", "the number 1000", "text in YAML 1.2")},
		"base 60":               {"a: 12:30", value("12:30", "text", "a number to base 60 in YAML 1.1")},
		"a date":                {"a: 2024-01-02", value("2024-01-02", "text", "a time in YAML 1.1 and in Kustomize, which writes it in another form")},
		"a time":                {"a: 2024-01-02 03:04:05 +01:00", value("2024-01-02 03:04:05 +01:00", "text", "a time in YAML 1.1 and in Kustomize, which writes it in another form")},
		"an exponent":           {"a: 1e3", value("1e3", "the number 1000", yaml11)},
		"a commit":              {"a: 12345e6", value("12345e6", "the number 12345000000", yaml11)},
		"an exponent as a key":  {"1e3: x", key("1e3", "1000", yaml11)},
		"more than 64 bits":     {"a: 18446744073709551615", []string{`f.yaml:5: the value of "a" is 18446744073709551615, a number of more than 64 bits: it is read as the number 1.8446744073709552e+19, and digits are lost`}},
		"less than 64 bits":     {"a: -9223372036854775809", []string{`f.yaml:5: the value of "a" is -9223372036854775809, a number of more than 64 bits: it is read as the number -9223372036854775808, and digits are lost`}},
		"a tag":                 {"a: !Ref x", []string{`f.yaml:5: the tag !Ref of the value of "a" is dropped: kubectl does not know it either`}},
		"the same many times":   {"a: {y: 1}\n  b: {y: 2}\n  c: {y: 3}", []string{"f.yaml:5: the key y is not quoted, and tools read it differently: as \"true\" here and in kubectl, as " + yaml12 + " (3 times in the document)"}},

		"quoted":                        {`a: ["yes", 'y', "01234", '1e3', "2024-01-02"]` + "\n  'on': 1", nil},
		"what all read alike":           {"a: [true, false, null, ~, 0, 7, 07, 1234, -5, 1.5, 1.5e+3, .5, 0x1F, 9223372036854775807, 1.2.3, yesterday, nothing, 10.0.0.1, 8080:80]", nil},
		"text that begins like a value": {"a: [on-call, n/a, 1e3x, 0755a, 2024-01, 12:30pm, 0b12]", nil},
		"text in several lines":         {"a: |\n    yes\n  b: >-\n    0644", nil},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(c.want, remarks(t, "f.yaml", custom+"  "+c.spec+"\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestJSONIsNotAmbiguousButForTheBoundOfIntegers(t *testing.T) {
	object := func(spec string) string {
		return `{"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}, "spec": ` + spec + `}`
	}
	if got := remarks(t, "f.json", object(`{"a": 1e3, "y": "yes"}`)); got != nil {
		t.Error(got)
	}
	if got := remarks(t, "f.json", object(`{"a": 18446744073709551616}`)); len(got) != 1 || !strings.Contains(got[0], "digits are lost") {
		t.Error(got)
	}
	o, err := manifest.NewJSON(manifest.Source{File: "f"}, []byte(object(`{"a": [18446744073709551616, 1]}`)))
	if w := o.Warnings(); err != nil || len(w) != 1 || !strings.HasPrefix(w[0].Message, "spec.a[0] is a number of more than 64 bits") {
		t.Error(w, err)
	}
}

// TestFieldsOfKubernetesAreChecked: the message has the line of the value, and how it is written.
func TestFieldsOfKubernetesAreChecked(t *testing.T) {
	const workload = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, namespace: b}\nspec:\n"
	cases := map[string]struct {
		text string
		want []string
	}{
		"data that is not text": {
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\ndata:\n  zip: 01234\n  port: 8080\n  debug: yes\n  empty:\n  y: v\n  big: 12345678901234567890\n",
			[]string{
				"error: f:10: data.big is a number, written as 12345678901234567890, and not text",
				"error: f:7: data.debug is a boolean, written as yes, and not text",
				"error: f:6: data.port is a number, written as 8080, and not text",
				"error: f:5: data.zip is a number, written as 01234, and not text",
				`f:9: the key y is not quoted, and tools read it differently: as "true" here and in kubectl, as text in YAML 1.2 and in Kustomize`,
			},
		},
		"a Secret, whose values are not quoted": {
			"apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: b}\nstringData:\n  pin: 0123\ndata: {a: b!}\nother:\n  pin: 0456\n",
			[]string{
				"error: f:6: data.a is text and not base64",
				"error: f:5: stringData.pin is a number and not text",
				"f:7: the field other is unknown in Kubernetes 1.36: an API server refuses or drops it",
				`f:8: the value of "pin" is not quoted, and tools read it differently`,
			},
		},
		"env, and a quantity": {
			workload + "  replica: 2\n  template:\n    spec:\n      containers:\n      - name: a\n        env:\n        - name: P\n          value: 8080\n        resources: {limits: {memory: 1.5.Gi}}\n",
			[]string{
				"error: f:12: spec.template.spec.containers[0].env[0].value is a number, written as 8080, and not text",
				"error: f:13: spec.template.spec.containers[0].resources.limits.memory is text and not a quantity, such as 100m or 1Gi",
				"f:5: the field spec.replica is unknown in Kubernetes 1.36: an API server refuses or drops it",
			},
		},
		"a selector that does not select": {
			workload + "  selector: {matchLabels: {a: c}}\n  template: {metadata: {labels: {a: b}}}\n",
			[]string{`error: f:5: spec.selector.matchLabels wants the label "a", and the pods of spec.template do not have it with that value`},
		},
		"a Secret without the keys of its type": {
			"apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: b}\ntype: kubernetes.io/tls\ndata: {tls.crt: AA==}\n",
			[]string{"error: f:4: a Secret of type kubernetes.io/tls has the key tls.key, and this one does not"},
		},
		"containers of one name, and ports": {
			"apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: b}\nspec:\n  containers:\n  - name: a\n    ports:\n    - containerPort: 70000\n      name: waytoolongportname\n  - name: a\n",
			[]string{
				"error: f:10: spec.containers[1].name is \"a\", as that of another container of the pod",
				"error: f:8: spec.containers[0].ports[0].containerPort is 70000, and a port is a number from 1 to 65535",
				"error: f:9: spec.containers[0].ports[0].name has 18 characters, and the name of a port has at most 15",
			},
		},
		"the mode of a file is octal everywhere": {
			workload + "  template: {spec: {volumes: [{name: a, secret: {secretName: b, defaultMode: 0644}}]}}\n", nil,
		},
		"lists of objects": {
			"apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: a, namespace: b}\n  data:\n    a: 1\n",
			[]string{"error: f:8: data.a is a number, written as 1, and not text"},
		},
		"an alias": {
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b, annotations: {x: &x \"1\"}}\ndata: {a: *x}\n", nil,
		},
		"another kind": {custom + "  data: {a: 1}\n", nil},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			got := remarks(t, "f", c.text)
			slices.Sort(got)
			slices.Sort(c.want)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestKeysThatAreReadAlikeAreQuotedAsTheyAreWritten: the file has no key "true".
func TestKeysThatAreReadAlikeAreQuotedAsTheyAreWritten(t *testing.T) {
	cases := map[string]struct{ spec, want string }{
		"two texts":        {"{y: 2, on: 3}", `the keys "y" and "on" are both read as "true" in one mapping, first on line 5`},
		"one text":         {"{y: 2, y: 3}", `the key "y", which is read as "true", occurs twice in one mapping, first on line 5`},
		"quoted and not":   {`{"true": 2, yes: 3}`, `the keys "true" and "yes" are both read as "true" in one mapping, first on line 5`},
		"numbers":          {`{0x10: a, 16: b}`, `the keys "0x10" and "16" are both read as "16" in one mapping, first on line 5`},
		"a plain key":      {"{a: 2, a: 3}", `the key "a" occurs twice in one mapping, first on line 5`},
		"a merge after it": {"{a: &a {y: 1}, b: {y: 2, <<: *a}}", `<< merges the key "y", read as "true", which is before it on line 5: tools disagree on which one counts`},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			_, err := manifest.Parse("f", []byte(custom+"  "+c.spec+"\n"))
			if problems := manifest.ProblemsOf(err); len(problems) != 1 || problems[0].Message != c.want {
				t.Error(err)
			}
		})
	}
}

// TestTextThatGitOrAFilterWroteIsNamed: a parser would complain about its first colon.
func TestTextThatGitOrAFilterWroteIsNamed(t *testing.T) {
	const object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\n"
	cases := map[string]struct{ text, want string }{
		"a pointer of Git LFS":       {"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 5\n", "f:1: the file is a pointer of Git LFS"},
		"git-crypt":                  {"\x00GITCRYPT\x00\xff", "f:1: the file is encrypted by git-crypt"},
		"both sides of a conflict":   {"<<<<<<< HEAD\n" + object + "=======\n" + object + ">>>>>>> f\n", "f:1: the file has the conflict markers"},
		"the end of a conflict":      {object + "---\n" + object + ">>>>>>> f\n", "f:8: the file has the conflict markers"},
		"a mark after the first one": {"\ufeff" + object + "---\n\ufeff" + object, "f:5: a byte order mark is in the middle of the file"},
		"a mark at the beginning":    {"\ufeff" + object, ""},
		"markers within text":        {object + "data:\n  a: |\n    <<<<<<< HEAD\n    =======\n    >>>>>>> f\n", ""},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			_, err := manifest.Parse("f", []byte(c.text))
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
				t.Error(err)
			}
		})
	}
}
