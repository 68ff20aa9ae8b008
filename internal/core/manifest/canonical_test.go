package manifest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/test/golden"
)

func one(t *testing.T, text string) Object {
	t.Helper()
	objects, err := Parse("f", []byte(text))
	if err != nil || len(objects) != 1 {
		t.Fatalf("%d objects, %v", len(objects), err)
	}
	return objects[0]
}

func bytesOf(t *testing.T, o Object) string {
	t.Helper()
	text, err := o.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestBytesAreCanonical(t *testing.T) {
	const want = `apiVersion: v1
args:
- --flag=x
- -c
- "-1"
- - a
  - b: 1
    c: {}
- []
data:
  "01-": b
  "0A0": a
  "1": c
  "<<": d
  date: "2001-01-01"
  number: "0x1f"
  script: |
    #!/bin/sh

    exit 0
  size: 10Gi
  truth: "yes"
  url: http://a:80/b?c#d
kind: ConfigMap
metadata:
  name: a
value: null
`
	tests := map[string]string{
		"as written": want,
		"in another order, with comments and aliases": `# comment
value:   # nothing
metadata: {creationTimestamp: null, name: &a a}
kind: 'ConfigMap'
args: ["--flag=x", '-c', "-1", [*a, {c: {}, b: 0x1}], []]
data: {"<<": d, url: 'http://a:80/b?c#d', truth: 'yes', size: 10Gi, number: "0x1f", date: 2001-01-01,
  '1': c, "0A0": *a, 01-: b, script: "#!/bin/sh\n\nexit 0\n"}
apiVersion: v1
`,
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(want, bytesOf(t, one(t, text))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSopsDocumentsStayByteForByte(t *testing.T) {
	secret := "# kept\nkind:   Secret\napiVersion: v1\r\nmetadata: {name: a, namespace: b}\ndata: {x: 'ENC[AES256_GCM,data:x,type:str]'}\nsops: {mac: y}\n\n# end\n"
	tests := map[string]struct{ text, want string }{
		"alone":              {secret, secret},
		"after a marker":     {"---\n" + secret, secret},
		"before a marker":    {secret + "---\n", secret},
		"before three dots":  {secret + "...\n", secret},
		"after directives":   {"%YAML 1.2\n---\n" + secret, "%YAML 1.2\n---\n" + secret},
		"on a marker's line": {"--- {apiVersion: v1, kind: Secret, metadata: {name: a}, sops: {}}\n", "--- {apiVersion: v1, kind: Secret, metadata: {name: a}, sops: {}}\n"},
	}
	texts := golden.Of(t)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			o := one(t, tt.text)
			if !o.Encrypted() {
				t.Error("not seen as encrypted")
			}
			if diff := cmp.Diff(tt.want, bytesOf(t, o)); diff != "" {
				t.Error(diff)
			}
			if _, err := o.WithNamespace("other").Bytes(); err == nil {
				t.Error("a changed sops document was written")
			} else {
				texts.Add(name, err.Error())
			}
		})
	}
}

func TestWithLeavesTheOriginalAlone(t *testing.T) {
	o := one(t, pod("a", "  annotations: {x: \"1\"}\n"))
	before := bytesOf(t, o)
	changed := o.WithAnnotation("y", "2").WithoutAnnotation("x").WithNamespace("ns")
	if diff := cmp.Diff(before, bytesOf(t, o)); diff != "" {
		t.Errorf("the original changed:\n%s", diff)
	}
	want := "apiVersion: v1\nkind: Pod\nmetadata:\n  annotations:\n    \"y\": \"2\"\n  name: a\n  namespace: ns\n"
	if diff := cmp.Diff(want, bytesOf(t, changed)); diff != "" {
		t.Error(diff)
	}
	if changed.ID.String() != "core/Pod/ns/a" || changed.Annotation("y") != "2" || changed.Annotation("x") != "" {
		t.Errorf("got %s with %v", changed.ID, changed.Annotations())
	}
	if got := changed.WithNamespace("").WithoutAnnotation("y"); bytesOf(t, got) != pod("a") {
		t.Errorf("got %s", bytesOf(t, got))
	}
}

func TestNewChecksAsParseDoes(t *testing.T) {
	body := map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "a", "labels": map[string]string{"x": "y"}}, "spec": map[string]any{"replicas": 3}}
	o, err := New(Source{File: "t", Line: 7}, body)
	if err != nil {
		t.Fatal(err)
	}
	if replicas, _ := o.Field("spec", "replicas"); replicas != int64(3) || o.APIVersion() != "apps/v1" || o.Labels()["x"] != "y" {
		t.Errorf("got %v", o)
	}
	checkRoundTrip(t, o)
	_, err = New(Source{File: "t", Line: 7}, map[string]any{"kind": "A"})
	if want := []string{"t:7: A: MissingField field=apiVersion", "t:7: A: MissingField field=metadata.name"}; !cmp.Equal(want, fields(err)) {
		t.Error(cmp.Diff(want, fields(err)))
	}
}
