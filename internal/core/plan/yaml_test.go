package plan

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// oddTexts are strings that need quotes, could be read as something else, or have several lines.
var oddTexts = []string{
	"", "a", "web-1", "a b", "a ", " a", "a: b", "a:b", "a:", "a #b", "a#b", "#a", "it's", "it's: b", "say \"x\"", "a, b", "a[0]", "{a}", "[a", "a?", "?a", ":a", "-", "-a", "- a", "--- a", "...",
	"y", "no", "On", "true", "TRUE", "null", "~", "Null", "nan", "e", "t", "z", "inf", ".inf", "0", "1", "-1", "+1", "1.5", "1e3", "1e", "0x1f", "0b1", "0o7", "010", "12:30", "1:20.5", "2001-01-01", "2001-01-01T00:00:00Z", "1_000", "0a", "1a", "12abc34", "1234567890123456789012345678901234567890", "12345678901234567890123456789012345678e4",
	"seeds/web.yaml:12", "/a", "$a", "(a)", "_a", "*a", "&a", "!a", "%a", "@a", "`a`", "|", ">", "a\tb", "\ta", "a\nb", "a\n", "\na", "a\n\nb\n", " a\nb", "a\n b: c\n", "a \nb", "é", "日本", "a\u0085b", "a\u2028b", "a\x00b", "a\x7fb", "\xff", "=", "<<", "a\r\nb", strings.Repeat("long ", 60) + "end", strings.Repeat("long ", 60) + "end: x",
	"object.status.ready == true", "core/ConfigMap/default/a waits for core/Namespace/default (namespace: it's in it)",
}

// fill gives a value random content.
func fill(random *rand.Rand, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(oddTexts[random.IntN(len(oddTexts))])
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(random.IntN(5)-1) * 1_000_000_007)
	case reflect.Bool:
		v.SetBool(random.IntN(2) == 0)
	case reflect.Pointer:
		if random.IntN(2) == 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(random, v.Elem())
		}
	case reflect.Slice:
		if n := random.IntN(4); n > 0 {
			v.Set(reflect.MakeSlice(v.Type(), n-1, n))
		}
		for i := range v.Len() {
			fill(random, v.Index(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			v.Index(i).SetUint(uint64(random.IntN(2) * random.IntN(256)))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(random, v.Field(i))
		}
	}
}

// library is marshal of yaml.v3.
func library(t *testing.T, value any) string {
	t.Helper()
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(value); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestMarshalIsThatOfTheLibrary(t *testing.T) {
	random := rand.New(rand.NewPCG(13, 4))
	for range 300 {
		var p Plan
		var some part
		fill(random, reflect.ValueOf(&p).Elem())
		fill(random, reflect.ValueOf(&some).Elem())
		for _, value := range []any{&p, some} {
			got, err := marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(library(t, value), string(got)); diff != "" {
				t.Fatalf("the texts differ (-library +own):\n%s", diff)
			}
		}
	}
	for _, text := range oddTexts {
		value := Plan{Seed: text, Parts: []string{text, text}, Tiers: []Tier{{Prerequisites: []Prerequisite{{Ready: []string{text}, Why: text}}}}, Variants: []Variant{{text, []string{text, "a"}}},
			Contents: []Contents{{text, []Object{{ID: manifest.ID{Kind: text, Name: text}, Hash: layout.Hash{1}, File: text}}}}}
		got, err := marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(library(t, value), string(got)); diff != "" {
			t.Errorf("%q (-library +own):\n%s", text, diff)
		}
	}
}
