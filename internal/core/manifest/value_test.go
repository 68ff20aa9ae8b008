package manifest

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	yaml3 "go.yaml.in/yaml/v3"
)

// compareValues holds the value of each document of a text that is read from nodes alone
// against that of the other parser.
func compareValues(t *testing.T, data []byte) (compared int) {
	t.Helper()
	for _, doc := range split(data) {
		parsed, err := readYAML(doc)
		if err != nil || !readAlike(doc.text) {
			continue
		}
		at := position{node: parsed.root}
		if checkExtent(at) != nil || hasProblems(at) {
			continue
		}
		got, ok := valueOf(parsed.root)
		if !ok {
			continue
		}
		compared++
		want, err := decodeYAML(doc.text)
		if err != nil {
			t.Errorf("the other parser refuses it: %v\n%s", err, doc.text)
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the values differ (-other parser +nodes):\n%s\n%s", diff, doc.text)
		}
	}
	return compared
}

// scalars are texts that parsers give various types.
var scalars = strings.Split("a|web-1|true|True|yes|on|y|no|off|n|null|Null|~||<<|=|0|-0|+1|7|-7|007|0o7|0x1F|0b11|-0b11|1_000|1.0|1.|.5|-.5|+.5|1e3|1E-3|1e999|123456789|1234567890|9223372036854775807|9223372036854775808|18446744073709551615|18446744073709551616|-9223372036854775809|100m|128Mi|1.2.3|10.0.0.1|10.0.0.0/24|8080/TCP|12:30|12:30:45|1:2|2001-01-01|2001-01-01T00:00:00Z|2001-1-1 1:1:1|---|...|-|--|-a|--flag=1|-1a|.a|./a|..|?|:a|a:b|a#b|1a|1 2|1, 2|0.1.0|1e|0x|0xg|_1|1__0|é|日本|@|`|%a|!a|&a|*a|{{ .a }}|'1'|\"1\"|'a b'|\"a\\nb\"|\"\\u00e9\\x41\\/\\e\"|'it''s'|\"a\\\n  b\"|[]|{}|[1, a, 'b']|{a: 1, b: x}|[-1, -]|{a, b: }|[a, ]|{a: [b, {c: d}]}|!!str 1|!!int \"1\"|&x 1|*x|<<: {a: 1}|! 12|! a|! {a: 1}|! [1]|!|a # c|# c|| |\t", "|")

// TestValuesAreThoseOfTheOtherParser makes documents of scalars that parsers give various types, in
// all positions, with comments and folded lines.
func TestValuesAreThoseOfTheOtherParser(t *testing.T) {
	random := rand.New(rand.NewPCG(13, 4))
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	var node func(indent string, depth int) string
	scalar := func(indent string) string {
		s := scalars[random.IntN(len(scalars))]
		switch random.IntN(12) {
		case 0:
			return s + "\n" + indent + "  " + scalars[random.IntN(len(scalars))]
		case 1:
			return pick("|", ">", "|-", ">-", "|+", ">+", "|2") + pick("", " # c") + "\n" + indent + "  " + s + "\n" + pick("", "\n", "  \n") + indent + "  " + s
		case 2:
			return s + pick(" #", " # c", "\n"+indent+"# c", "\n\n# c\n", "\n"+indent+"  # c\n")
		}
		return s
	}
	node = func(indent string, depth int) string {
		kind := random.IntN(6)
		switch {
		case depth == 0 || kind > 2:
			return " " + scalar(indent) + "\n"
		case kind == 2:
			out := "\n"
			for range 1 + random.IntN(3) {
				out += indent + "-" + node(indent+"  ", depth-1)
			}
			return out
		}
		out := "\n"
		for range 1 + random.IntN(3) {
			out += indent + pick("a", "b", "c", "d", scalars[random.IntN(len(scalars))]) + ":" + node(indent+"  ", depth-1)
		}
		return out
	}
	compared := 0
	for range 20_000 {
		compared += compareValues(t, []byte(strings.TrimPrefix(node("", 3), " ")))
		if t.Failed() {
			return
		}
	}
	if compared < 1000 {
		t.Errorf("only %d documents were compared", compared)
	}
}

// FuzzValues is the same for any text.
func FuzzValues(f *testing.F) {
	for _, s := range scalars {
		f.Add([]byte("a: " + s + "\nb:\n- " + s + "\n"))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 4096 {
			compareValues(t, data)
		}
	})
}

func TestValuesOfOrdinaryDocumentsAreReadOnce(t *testing.T) {
	data, err := os.ReadFile("testdata/ordinary.yaml")
	if err != nil {
		t.Fatal(err)
	}
	documents := split(data)
	if n := compareValues(t, data); n != len(documents) {
		t.Errorf("%d of %d documents are read from their nodes alone", n, len(documents))
	}
	for _, text := range []string{"a: &x 1", "a: !!str 1", "1: a", "a: {<<: {b: 1}}", "a: ...", "on: a"} {
		var node yaml3.Node
		if err := yaml3.Unmarshal([]byte(text), &node); err != nil {
			t.Fatal(err)
		}
		if value, ok := valueOf(node.Content[0]); ok {
			t.Errorf("%q has the value %v without the other parser", text, value)
		}
	}
}

func hasProblems(at position) bool {
	problems, _ := checkTree(at, false)
	return len(problems) > 0
}
