package template_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/template"
	"github.com/furrow-dev/furrow/templates"
)

// compilable are templates that can be compiled, but for the last ones, which seem to.
func compilable() map[string]string {
	own := templates.FluxKustomization
	replace := func(old, with string) string { return strings.Replace(own, old, with, 1) }
	meta := func(line string) string { return replace("spec:\n", "  annotations:\n    "+line+"\nspec:\n") }
	return map[string]string{
		"that of Furrow":          own,
		"another interval":        replace("10m", "5m"),
		"names in annotations":    meta("a: {{ quote .Cluster }}\n    b: {{ quote .Seed }}\n    c: {{ quote .Tier }}\n    d: {{ quote .Path }}"),
		"a name twice":            meta("a: {{ quote .Name }}"),
		"without dependencies":    replace("{{- with .DependsOn }}", "{{- with .KubeConfigSecret }}{{/* never */}}"),
		"a name in a key":         meta("{{ quote .Cluster }}: a"),
		"a name in a text":        meta("a: '{{ quote .Cluster }}'"),
		"a name in a block":       meta("a: |\n      {{ quote .Cluster }}"),
		"a name in a comment":     meta("a: b # {{ quote .Cluster }}"),
		"a name with a tag":       meta("a: !!str {{ quote .Cluster }}"),
		"a name as a number":      meta("a: !!int {{ quote .Tier }}"),
		"a name without quotes":   meta("a: {{ .Cluster }}"),
		"a name in capitals":      meta("a: {{ upper .Cluster | quote }}"),
		"a comparison of a name":  meta("a: {{ if eq .Cluster \"no\" }}b{{ else }}c{{ end }}"),
		"a label":                 meta("a: {{ quote (index .Labels \"region\") }}"),
		"all variables":           meta("a: |\n{{ toYaml . | indent 6 }}"),
		"dependencies in a block": replace("  dependsOn:\n", "  timeout: |\n"),
		"another name":            replace("{{ quote .Name }}", "{{ quote .Seed }}"),
		"no Kustomization":        "a: {{ quote .Name }}\n",
		"a mark":                  meta("a: furrow-gap-name"),
		"the digest":              meta("furrow.dev/rendered: {{ quote .Name }}"),
	}
}

// TestCompiledTemplatesRenderWhatTemplatesRender renders random tiers with and without what is kept of
// earlier renderings.
func TestCompiledTemplatesRenderWhatTemplatesRender(t *testing.T) {
	random := rand.New(rand.NewPCG(13, 4))
	names := []string{"web", "edge-1", "no", "1e3", "123", "5g", "a.b", "1.5", "y", "0x1f", "true", "Web", "a b", "a\"b", "a:", "-a", "a-", "a..b", "é", "a\nb", "furrow-gap-name", strings.Repeat("a", 300), ""}
	name := func() string {
		n := len(names)
		if random.IntN(4) > 0 {
			n = 11 // a plain one
		}
		return names[random.IntN(n)]
	}
	tier := func() template.Reconciler {
		vars := template.Reconciler{
			Name: name(), Namespace: names[random.IntN(3)], Seed: name(), Cluster: name(), Tier: fmt.Sprintf("%02d", random.IntN(3)), Labels: map[string]string{"region": name()}, ClusterType: name(),
			Path: "./planted/" + name() + "/tier", Source: v1alpha1.ObjectReference{Name: name(), Namespace: names[random.IntN(2)]}, Wait: random.IntN(5) > 0,
		}
		for range random.IntN(3) {
			on := template.ObjectName{Name: name()}
			if random.IntN(2) == 0 {
				on.Namespace = name()
			}
			vars.DependsOn = append(vars.DependsOn, on)
		}
		if random.IntN(2) == 0 {
			vars.KubeConfigSecret, vars.KubeConfigKey = name(), "admin.conf"
		}
		if random.IntN(4) == 0 {
			vars.Decryption = &v1alpha1.Decryption{Provider: "sops", SecretName: name()}
		}
		if random.IntN(4) == 0 {
			vars.HealthCheckExprs = []template.HealthCheckExpr{{APIVersion: "v1", Kind: "A", Current: name()}}
		}
		if random.IntN(8) == 0 {
			vars.HealthChecks = []template.HealthCheck{{APIVersion: "v1", Kind: "A", Name: name()}}
		}
		return vars
	}
	for sentence, text := range compilable() {
		t.Run(sentence, func(t *testing.T) {
			kept := template.Parsed{}
			rendered := 0
			for range 60 {
				vars := tier()
				want, wantErr := kind.Render(template.Text{Name: "t", Text: text}, vars)
				got, err := kind.Render(template.Text{Name: "t", Text: text, Parsed: &kept}, vars)
				if diff := cmp.Diff(fmt.Sprint(wantErr), fmt.Sprint(err)); diff != "" {
					t.Fatalf("the errors differ (-template +compiled) of %+v:\n%s", vars, diff)
				}
				if diff := cmp.Diff(string(want.Bytes), string(got.Bytes)); diff != "" || want.Digest != got.Digest {
					t.Fatalf("the objects differ (-template +compiled) of %+v:\n%s", vars, diff)
				}
				if err == nil {
					rendered++
				}
			}
			t.Logf("%d were rendered, by %d compiled ones", rendered, template.Compiled(&kept))
		})
	}
}
