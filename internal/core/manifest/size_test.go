package manifest

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
)

func TestWhatNoAPIServerTakesIsRefused(t *testing.T) {
	const kiB, miB = 1 << 10, 1 << 20
	text := func(n int) string { return strings.Repeat("x", n) }
	binary := func(n int) string { return base64.StdEncoding.EncodeToString(make([]byte, n)) }
	tests := map[string]struct{ text, want string }{
		"a ConfigMap of 1 MiB":               {"kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\ndata: {a: " + text(miB/2) + ", b: " + text(miB/2) + "}\n", ""},
		"a ConfigMap over 1 MiB":             {"kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\ndata: {a: " + text(miB/2) + ", b: " + text(miB/2+1) + "}\n", "its data has 1048577 bytes, and an API server takes at most 1048576 (1 MiB) in one ConfigMap"},
		"a ConfigMap of 1 MiB in base64":     {"kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\nbinaryData: {a: " + binary(miB) + "}\n", ""},
		"a ConfigMap over 1 MiB in base64":   {"kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\nbinaryData: {a: " + binary(miB+1) + "}\n", "its data has 1048577 bytes"},
		"a ConfigMap of quotes":              {"kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\ndata: {a: '" + strings.Repeat(`"`, miB) + "'}\n", ""},
		"a Secret of 1 MiB":                  {"kind: Secret\napiVersion: v1\nmetadata: {name: a}\ndata: {a: " + binary(miB) + "}\n", ""},
		"a Secret over 1 MiB":                {"kind: Secret\napiVersion: v1\nmetadata: {name: a}\ndata: {a: " + binary(miB) + "}\nstringData: {b: x}\n", "its data has 1048577 bytes"},
		"a Secret whose stringData wins":     {"kind: Secret\napiVersion: v1\nmetadata: {name: a}\ndata: {a: " + binary(miB) + "}\nstringData: {a: x}\n", ""},
		"annotations of 256 KiB":             {"kind: Pod\napiVersion: v1\nmetadata: {name: a, annotations: {a: " + text(256*kiB-1) + "}}\n", ""},
		"annotations over 256 KiB":           {"kind: Pod\napiVersion: v1\nmetadata: {name: a, annotations: {a: " + text(256*kiB) + "}}\n", "its annotations have 262145 bytes, and an API server takes at most 262144 (256 KiB)"},
		"a custom resource over 1.5 MiB":     {"kind: A\napiVersion: x.io/v1\nmetadata: {name: a}\nspec: " + text(3*miB/2) + "\n", "it has 1572931 bytes as JSON without white space, and etcd takes at most 1572864 (1.5 MiB) in one object"},
		"a custom resource under it":         {"kind: A\napiVersion: x.io/v1\nmetadata: {name: a}\nspec: " + text(3*miB/2-kiB) + "\n", ""},
		"a custom resource by its status":    {"kind: A\napiVersion: x.io/v1\nmetadata: {name: a}\nstatus: " + text(2*miB) + "\n", ""},
		"a custom resource by indentation":   {"kind: A\napiVersion: x.io/v1\nmetadata: {name: a}\nspec:\n" + strings.Repeat("                    - a\n", 100_000), ""},
		"a CRD over 1.5 MiB":                 {"kind: CustomResourceDefinition\napiVersion: apiextensions.k8s.io/v1\nmetadata: {name: a}\nspec: {description: " + text(2*miB) + "}\n", "as JSON without white space, and etcd takes at most 1572864 (1.5 MiB)"},
		"a built-in object over 1.5 MiB":     {"kind: Deployment\napiVersion: apps/v1\nmetadata: {name: a}\nspec: {args: [" + text(2*miB) + "]}\n", "it has 2097170 bytes of text, and etcd takes at most 1572864 (1.5 MiB) in one object"},
		"a built-in object by field names":   {"kind: Deployment\napiVersion: apps/v1\nmetadata: {name: a}\nspec: {env: [" + strings.Repeat("{n: a, v: b},", 80_000) + "]}\n", ""},
		"a large Secret that SOPS encrypted": {"kind: Secret\napiVersion: v1\nmetadata: {name: a}\ndata: {a: " + text(2*miB) + "}\nsops: {}\n", ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("f", []byte(tc.text))
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("it is refused: %v", err)
			case tc.want != "" && (err == nil || !strings.HasPrefix(err.Error(), "f:1: ") || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("%v, want one at f:1 with %q", err, tc.want)
			}
		})
	}
}

// TestStoredSizeIsNoMoreThanJSON holds what nothing may be refused without: the size that is counted is never more.
func TestStoredSizeIsNoMoreThanJSON(t *testing.T) {
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
