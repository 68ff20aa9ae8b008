package manifest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/test/golden"
)

func TestWhatNoAPIServerTakesIsRefused(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"a ConfigMap of 1 MiB":             {"kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\ndata: {a: <x 524288>, b: <x 524288>}\n", ""},
		"a ConfigMap over 1 MiB":           {"kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\ndata: {a: <x 524288>, b: <x 524289>}\n", `f:1: ConfigMap "a": ObjectTooLarge`},
		"a ConfigMap of 1 MiB in base64":   {"kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\nbinaryData: {a: <0 1048576>}\n", ""},
		"a ConfigMap over 1 MiB in base64": {"kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\nbinaryData: {a: <0 1048577>}\n", `f:1: ConfigMap "a": ObjectTooLarge`},
		"a ConfigMap of quotes":            {"kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\ndata: {a: <q 1048576>}\n", ""},
		"a Secret of 1 MiB":                {"kind: Secret\napiVersion: v1\nmetadata: {name: a}\ndata: {a: <0 1048576>}\n", ""},
		"a Secret over 1 MiB":              {"kind: Secret\napiVersion: v1\nmetadata: {name: a}\ndata: {a: <0 1048576>}\nstringData: {b: x}\n", `f:1: Secret "a": ObjectTooLarge`},
		"a Secret whose stringData wins":   {"kind: Secret\napiVersion: v1\nmetadata: {name: a}\ndata: {a: <0 1048576>}\nstringData: {a: x}\n", ""},
		"annotations of 256 KiB":           {"kind: Pod\napiVersion: v1\nmetadata: {name: a, annotations: {a: <x 262143>}}\n", ""},
		"annotations over 256 KiB":         {"kind: Pod\napiVersion: v1\nmetadata: {name: a, annotations: {a: <x 262144>}}\n", `f:1: Pod "a": ObjectTooLarge`},
		"a custom resource over 1.5 MiB":   {"kind: A\napiVersion: x.io/v1\nmetadata: {name: a}\nspec: <x 1572864>\n", `f:1: A "a": ObjectTooLarge`},
		"a custom resource under it":       {"kind: A\napiVersion: x.io/v1\nmetadata: {name: a}\nspec: <x 1571840>\n", ""},
		"a custom resource by its status":  {"kind: A\napiVersion: x.io/v1\nmetadata: {name: a}\nstatus: <x 2097152>\n", ""},
		"a CRD over 1.5 MiB":               {"kind: CustomResourceDefinition\napiVersion: apiextensions.k8s.io/v1\nmetadata: {name: a}\nspec: {description: <x 2097152>}\n", `f:1: CustomResourceDefinition "a": ObjectTooLarge`},
		"a built-in object over 1.5 MiB":   {"kind: Deployment\napiVersion: apps/v1\nmetadata: {name: a}\nspec: {args: [<x 2097152>]}\n", `f:1: Deployment "a": ObjectTooLarge`},
		"a built-in object by field names": {"kind: Deployment\napiVersion: apps/v1\nmetadata: {name: a}\nspec: {env: {<x 2097152>: a}}\n", ""},
	}
	texts := golden.Of(t)
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			small, err := Parse("f", []byte(tc.text))
			if err != nil {
				t.Fatal(err)
			}
			_, err = New(Source{"f", 1}, grown(small[0].Body).(map[string]any))
			texts.Add(name, text(err))
			if got := strings.Join(fields(err), "\n"); got != tc.want {
				t.Errorf("got %s, want %s: %v", got, tc.want, err)
			}
		})
	}
}

// grown replaces text such as <x 10> by that many x, or quotes for q, or that many bytes in base64 for 0.
func grown(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, one := range value {
			out[grown(key).(string)] = grown(one)
		}
		return out
	case []any:
		for i, one := range value {
			value[i] = grown(one)
		}
	case string:
		var letter string
		var n int
		if _, err := fmt.Sscanf(value, "<%1s %d>", &letter, &n); err != nil {
			return value
		}
		if letter == "0" {
			return base64.StdEncoding.EncodeToString(make([]byte, n))
		}
		return strings.Repeat(strings.Replace(letter, "q", `"`, 1), n)
	}
	return value
}

// TestStoredSizeIsAtMostJSON holds what nothing may be refused without: the size that is counted is never more.
func TestStoredSizeIsAtMostJSON(t *testing.T) {
	for _, value := range []any{
		map[string]any{"a": []any{"x", int64(-12), 1.5, true, false, nil, map[string]any{}, []any{}}, "b": map[string]any{"c": "<\"ü"}, "d": nil},
		map[string]any{}, []any{}, "", int64(0),
	} {
		data, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if text, asJSON := storedSize(value, false), storedSize(value, true); asJSON > len(data) || text > asJSON {
			t.Errorf("%s has %d bytes; counted are %d, and %d of text", data, len(data), asJSON, text)
		}
	}
}
