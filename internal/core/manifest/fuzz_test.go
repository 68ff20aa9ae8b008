package manifest

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzParse holds the law that canonical bytes have the object that they were
// made of, and that no input makes Parse panic or report nothing.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {on: \"yes\", n: '1', d: \"2001-01-01\"}\n",
		"apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: a}\n- {}\n",
		"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\"},\"x\":[1,1.5,1e30,null,true,\"\\u0085\\ud83d\\ude00\"]}\n{}",
		"%YAML 1.2\n---\na: &a [1, 2]\nb: *a\n...\n--- # c\n<<: {a: 1}\n",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nsops: {mac: x}\n---\n- 1\n---\nx: |\n  ---\n  y\n",
		"apiVersion: v1\nkind: A\nmetadata:\n  name: a\n  creationTimestamp: null\nx: |+2\n    y\n\n\nz: >-\n  \"a\n  b\n",
		"apiVersion: v1\nkind: A\nmetadata: {name: a}\n0A0: 1\n1: 2\n01-: 0x1F\n? \" a\\n b\"\n: \" \\n\\tx\\x7f\\e\\uFEFF\"\n",
		"\xef\xbb\xbfa: 1\r\n---\r\n\tb: 2\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		objects, err := Parse("fuzz.yaml", data)
		var problems Problems
		if err != nil && (!errors.As(err, &problems) || len(problems) == 0) {
			t.Fatalf("Parse returned an error that is not Problems: %v", err)
		}
		for _, o := range objects {
			checkRoundTrip(t, o)
		}
		FileNames(objects)
		Complete(objects, Options{Namespace: "fuzz"})
	})
}

func checkRoundTrip(t *testing.T, o Object) {
	t.Helper()
	text, err := o.Bytes()
	if err != nil {
		t.Fatalf("Bytes of %s: %v", o.ID, err)
	}
	again, err := Parse("again.yaml", text)
	if err != nil || len(again) != 1 {
		t.Fatalf("%d objects after a round trip, want 1 (%v):\n%s", len(again), err, text)
	}
	if diff := cmp.Diff(o.Body, again[0].Body); diff != "" || again[0].ID != o.ID {
		t.Fatalf("round trip changed %s into %s (-want +got):\n%s\n%s", o.ID, again[0].ID, diff, text)
	}
	second, err := again[0].Bytes()
	if err != nil || !bytes.Equal(text, second) {
		t.Fatalf("second bytes differ (%v):\n%s\n%s", err, text, second)
	}
	id, err := ParseID(o.ID.String())
	if err != nil || id != o.ID {
		t.Fatalf("ParseID(%q) = %v, %v", o.ID, id, err)
	}
}

// FuzzText holds the same law for one string, as a key and as a value, which
// reaches the ways of quoting sooner.
func FuzzText(f *testing.F) {
	for _, seed := range []string{"", "yes", "0x1f", "1_000", "12:30:45", "2001-01-01", " a", "a ", "a\n", "\na", "a\n\n b", "\ta\nb", "a: b", "a #b", "---", "...", "--- a\nb", "<<", "=", "~",
		"\x7f", "\u0085", "\u2028", "\ufeff", "\U0001f600", "a\r\nb", "%a", "{{ a }}", "- a", "? a", "! a", "&a", "*a", "\x00", "- \n- ", "|", ">", "a\n ", " \na", "# a\nb", "1e3", ".inf", "-.5", "+1", "0b1", "0o7", "null", "Y", strings.Repeat("k ", 800), strings.Repeat("\"k", 80), strings.Repeat("é: ", 700) + "\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		o, err := New(Source{}, map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"},
			"data": map[string]any{s: s, "list": []any{s, []any{s}, map[string]any{"x" + s: s}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		checkRoundTrip(t, o)
	})
}
