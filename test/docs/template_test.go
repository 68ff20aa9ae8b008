package docs

import (
	"strings"
	"testing"
	"time"

	"cel.dev/cel-go/cel"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kubeyaml "sigs.k8s.io/yaml"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/delivery/flux"
	"github.com/furrow-dev/furrow/internal/core/template"
)

// reconcilerTemplates are the Templates of type Reconciler that the pages show, by where they are.
func reconcilerTemplates(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, p := range pages(t) {
		for _, b := range p.blocks() {
			var doc v1alpha1.Template
			if b.language != "yaml" || kubeyaml.Unmarshal([]byte(b.text), &doc) != nil || doc.Spec.Type != v1alpha1.TemplateReconciler {
				continue
			}
			out[p.path+": "+b.mark] = doc.Spec.Text
		}
	}
	return out
}

// shownTiers are those that every Template has to do for.
func shownTiers() map[string]template.Reconciler {
	plain := template.Reconciler{
		Name: "web.edge.01", Namespace: "flux-system", Seed: "web", Cluster: "edge", Tier: "01",
		Path: "./planted/edge/web/tier-01", Source: v1alpha1.ObjectReference{Name: "flux-system", Namespace: "flux-system"}, Wait: true,
	}
	onHub, creating := plain, plain
	onHub.Namespace, onHub.KubeConfigSecret, onHub.KubeConfigKey = "edge", "edge-kubeconfig", "value"
	onHub.DependsOn = []template.ObjectName{{Name: "web.edge.00"}}
	onHub.Decryption = &v1alpha1.Decryption{Provider: "sops", SecretName: "age"}
	creating.Wait = false
	creating.HealthChecks = []template.HealthCheck{{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "Cluster", Name: "edge-1", Namespace: "edge"}}
	creating.HealthCheckExprs = []template.HealthCheckExpr{{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "Cluster", Current: "has(status.phase)"}}
	creating.Decryption = &v1alpha1.Decryption{Provider: "sops"}
	return map[string]template.Reconciler{"plain": plain, "on a hub": onHub, "with a creator": creating}
}

func TestEveryTemplateOfAReconcilerDoesForEveryTier(t *testing.T) {
	seen := reconcilerTemplates(t)
	if len(seen) == 0 {
		t.Error("no Template was found")
	}
	for at, text := range seen {
		for name, tier := range shownTiers() {
			rendered, err := flux.Kind{}.Render(template.Text{Name: at, Text: text}, tier)
			if err != nil {
				t.Errorf("%s, %s: %v", at, name, err)
				continue
			}
			var k kustomizev1.Kustomization
			if err := kubeyaml.UnmarshalStrict(rendered.Bytes, &k); err != nil {
				t.Fatal(err)
			}
			if k.Spec.RetryInterval == nil || k.Spec.RetryInterval.Duration > 5*time.Minute {
				t.Errorf("%s, %s: a failure is not tried again soon", at, name)
			}
			if len(k.Spec.DependsOn) != len(tier.DependsOn) || len(k.Spec.HealthChecks) != len(tier.HealthChecks) ||
				(k.Spec.KubeConfig != nil) != (tier.KubeConfigSecret != "") || (k.Spec.Decryption != nil) != (tier.Decryption != nil) {
				t.Errorf("%s, %s: it leaves something out:\n%s", at, name, rendered.Bytes)
			}
			// Flux has one evaluator for each group and kind, and refuses two.
			exprs := map[schema.GroupKind]bool{}
			for _, e := range k.Spec.HealthCheckExprs {
				kind := schema.FromAPIVersionAndKind(e.APIVersion, e.Kind).GroupKind()
				if exprs[kind] {
					t.Errorf("%s, %s: two expressions for %s", at, name, kind)
				}
				exprs[kind] = true
				for _, source := range []string{e.InProgress, e.Failed, e.Current} {
					if source != "" {
						compile(t, source)
					}
				}
			}
			for _, e := range tier.HealthCheckExprs {
				if kind := schema.FromAPIVersionAndKind(e.APIVersion, e.Kind).GroupKind(); !exprs[kind] {
					t.Errorf("%s, %s: no expression for %s", at, name, kind)
				}
			}
		}
	}
}

// compile makes an expression ready as Flux does: without types of what it names.
func compile(t *testing.T, source string) cel.Program {
	t.Helper()
	env, err := cel.NewEnv()
	if err != nil {
		t.Fatal(err)
	}
	ast, issues := env.Parse(source)
	if issues.Err() != nil {
		t.Fatalf("expression %q: %v", source, issues.Err())
	}
	p, err := env.Program(ast)
	if err != nil {
		t.Fatalf("expression %q: %v", source, err)
	}
	return p
}

// TestTheExpressionsForOnesOwnKindsSayWhatTheyShould asks them in the order in which Flux does.
func TestTheExpressionsForOnesOwnKindsSayWhatTheyShould(t *testing.T) {
	const inProgress, failed, current = "in progress", "failed", "current"
	var shown struct {
		Spec struct{ Readiness []v1alpha1.ReadinessRule }
	}
	for _, b := range (page{"docs/health.md", read(t, "docs/health.md")}).blocks() {
		if b.language == "yaml" && strings.Contains(b.text, "readiness:") {
			if err := kubeyaml.UnmarshalStrict([]byte(b.text), &shown); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(shown.Spec.Readiness) != 1 {
		t.Fatalf("docs/health.md shows %d rules", len(shown.Spec.Readiness))
	}
	e := shown.Spec.Readiness[0]
	judge := func(object map[string]any) string {
		for _, q := range []struct{ source, answer string }{{e.InProgress, inProgress}, {e.Failed, failed}, {e.Current, current}} {
			out, _, err := compile(t, q.source).Eval(object)
			if err != nil {
				return inProgress // Flux asks again
			}
			if out.Value() == true {
				return q.answer
			}
		}
		return inProgress
	}
	ready := func(status, reason string) []any {
		return []any{map[string]any{"type": "Ready", "status": status, "reason": reason}}
	}
	for sentence, c := range map[string]struct {
		status map[string]any
		want   string
	}{
		"no status":                           {nil, inProgress},
		"an empty status":                     {map[string]any{}, inProgress},
		"True, and nobody says of what":       {map[string]any{"conditions": ready("True", "Done")}, inProgress},
		"True of an older generation":         {map[string]any{"observedGeneration": int64(1), "conditions": ready("True", "Done")}, inProgress},
		"observed, and no conditions":         {map[string]any{"observedGeneration": int64(2)}, inProgress},
		"observed, and an empty list of them": {map[string]any{"observedGeneration": int64(2), "conditions": []any{}}, inProgress},
		"False, as it is not done yet":        {map[string]any{"observedGeneration": int64(2), "conditions": ready("False", "Waiting")}, inProgress},
		"False for good":                      {map[string]any{"observedGeneration": int64(2), "conditions": ready("False", "Refused")}, failed},
		"True of this generation":             {map[string]any{"observedGeneration": int64(2), "conditions": ready("True", "Done")}, current},
	} {
		object := map[string]any{"apiVersion": e.Group + "/v1", "kind": e.Kind, "metadata": map[string]any{"generation": int64(2)}}
		if c.status != nil {
			object["status"] = c.status
		}
		if got := judge(object); got != c.want {
			t.Errorf("%s: got %s, want %s", sentence, got, c.want)
		}
	}
}
