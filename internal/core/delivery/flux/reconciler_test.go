package flux_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/delivery/flux"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/template"
	"github.com/furrow-dev/furrow/templates"
	"github.com/furrow-dev/furrow/test/golden"
)

var kind flux.Kind

// plainTier is a tier of a cluster that reconciles itself.
func plainTier() template.Reconciler {
	return template.Reconciler{
		Name: "web.edge.01", Namespace: "flux-system", Seed: "web", Cluster: "edge", Tier: "01",
		Path: "./planted/edge/web/tier-01", Source: v1alpha1.ObjectReference{Name: "flux-system", Namespace: "flux-system"}, Wait: true,
	}
}

func TestDefaultReconciler(t *testing.T) {
	cases := map[string]func(*template.Reconciler){
		"plain": func(*template.Reconciler) {},
		"waits for other tiers": func(r *template.Reconciler) {
			r.DependsOn = []template.ObjectName{{Name: "web.edge.00"}, {Name: "infra.mgmt.02", Namespace: "infra"}}
		},
		"on a hub": func(r *template.Reconciler) {
			r.Namespace, r.KubeConfigSecret, r.KubeConfigKey = "edge", "edge-kubeconfig", "value"
		},
		"creates a cluster": func(r *template.Reconciler) {
			r.Wait = false
			r.HealthChecks = []template.HealthCheck{{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "Cluster", Name: "edge-1", Namespace: "edge"}, {APIVersion: "v1", Kind: "Namespace", Name: "edge"}}
			r.HealthCheckExprs = []template.HealthCheckExpr{{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "Cluster", Current: "has(status.conditions) && status.conditions.exists(c, c.type == 'Provisioned')"}}
		},
		"decrypts with a secret": func(r *template.Reconciler) {
			r.Decryption = &v1alpha1.Decryption{Provider: "sops", SecretName: "sops-age"}
		},
		"decrypts with the cloud": func(r *template.Reconciler) {
			r.Decryption = &v1alpha1.Decryption{Provider: "sops"}
		},
		"names that are words of YAML": func(r *template.Reconciler) {
			r.Seed, r.Cluster, r.Name, r.Source.Name = "no", "1e3", "no.1e3.01", "true"
		},
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			vars := plainTier()
			change(&vars)
			rendered, err := kind.Render(template.Text{Name: "flux-kustomization.yaml.tmpl", Text: templates.FluxKustomization}, vars)
			if err != nil {
				t.Fatal(err)
			}
			golden.File(t, strings.ReplaceAll(name, " ", "-")+".yaml", rendered.Bytes)
			if !strings.Contains(string(rendered.Bytes), v1alpha1.AnnotationRendered+": "+rendered.Digest+"\n") {
				t.Errorf("the digest %s is not in the object", rendered.Digest)
			}
		})
	}
}

func TestTheDigestIsOfWhatIsRendered(t *testing.T) {
	render := func(text string, vars template.Reconciler) template.Rendered {
		t.Helper()
		rendered, err := kind.Render(template.Text{Name: "t", Text: text}, vars)
		if err != nil {
			t.Fatal(err)
		}
		return rendered
	}
	first := render(templates.FluxKustomization, plainTier())
	stamped := strings.Replace(templates.FluxKustomization, "  labels:\n", "  annotations: {furrow.dev/rendered: stale}\n  labels:\n", 1)
	if diff := cmp.Diff(first, render(stamped, plainTier())); diff != "" {
		t.Errorf("an annotation that a template writes itself counts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(first, render(strings.ReplaceAll(templates.FluxKustomization, "interval: 10m\n", "interval: 10m # patience\n"), plainTier())); diff != "" {
		t.Errorf("a comment counts (-want +got):\n%s", diff)
	}
	if slower := render(strings.ReplaceAll(templates.FluxKustomization, "timeout: 5m", "timeout: 6m"), plainTier()); slower.Digest == first.Digest {
		t.Error("another timeout has the same digest")
	}
}

func TestTheLabelsDoNotDependOnTheTemplate(t *testing.T) {
	const before = "  namespace: {{ quote .Namespace }}\n"
	if !strings.Contains(templates.FluxKustomization, before+"spec:") {
		t.Fatal("the built-in template has other metadata")
	}
	const ours = "furrow.dev/cluster: edge\n    furrow.dev/seed: web\n    furrow.dev/tier: \"01\"\n"
	for name, c := range map[string]struct{ labels, want string }{
		"none":                              {"", "  labels:\n    " + ours},
		"an empty mapping":                  {"  labels: {}\n", "  labels:\n    " + ours},
		"nothing below the key":             {"  labels:\n", "  labels:\n    " + ours},
		"only others, which stay":           {"  labels: {app: x}\n", "  labels:\n    app: x\n    " + ours},
		"ours with values that are wrong":   {"  labels: {furrow.dev/seed: shop, furrow.dev/tier: \"00\"}\n", "  labels:\n    " + ours},
		"some of ours, and one of a user's": {"  labels: {furrow.dev/seed: web, zone: a}\n", "  labels:\n    " + ours + "    zone: a\n"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(templates.FluxKustomization, before, before+c.labels, 1)
			got, err := kind.Render(template.Text{Name: "t", Text: text}, plainTier())
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(got.Bytes), c.want) {
				t.Errorf("got\n%s\nwhich lacks\n%s", got.Bytes, c.want)
			}
		})
	}
}

func TestOrphaned(t *testing.T) {
	first, err := kind.Render(template.Text{Name: "t", Text: templates.FluxKustomization}, plainTier())
	if err != nil {
		t.Fatal(err)
	}
	orphaned, err := kind.Orphaned("tier-00.yaml", first.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if orphaned.Digest == first.Digest {
		t.Error("it has the digest of what it was made from")
	}
	want := strings.NewReplacer("deletionPolicy: WaitForTermination", "deletionPolicy: Orphan", first.Digest, orphaned.Digest).Replace(string(first.Bytes))
	if diff := cmp.Diff(want, string(orphaned.Bytes)); diff != "" {
		t.Errorf("more than the policy and the digest has changed (-want +got):\n%s", diff)
	}
	if again, err := kind.Orphaned("tier-00.yaml", orphaned.Bytes); err != nil || !cmp.Equal(orphaned, again) {
		t.Errorf("made twice, it is another: %v\n%s", err, cmp.Diff(orphaned, again))
	}
	for name, text := range map[string]string{
		"no object": "", "another kind": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n",
		"no spec": "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: x}\n", "no YAML": "a: [\n",
	} {
		if _, err := kind.Orphaned("clusters/hub/tier-00.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), "clusters/hub/tier-00.yaml") {
			t.Errorf("%s: got %v, want an error that names the file", name, err)
		}
	}
}

func TestWrongReconcilers(t *testing.T) {
	change := func(old, with string) string { return strings.Replace(templates.FluxKustomization, old, with, 1) }
	cases := map[string]struct{ text string }{
		"a syntax error": {
			change("{{ .Wait }}", "{{ .Wait |"),
		},
		"a variable that does not exist": {
			change("{{ .Wait }}", "{{ .Waits }}"),
		},
		"two objects": {
			templates.FluxKustomization + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: d}\n",
		},
		"no object": {
			"{{/* nothing */}}",
		},
		"another kind": {
			change("kind: Kustomization", "kind: HelmRelease"),
		},
		"another version": {
			change("fluxcd.io/v1", "fluxcd.io/v1beta2"),
		},
		"a field that Flux does not know": {
			change("prune: true", "prune: true\n  purge: true"),
		},
		"text that is not YAML": {
			change("spec:", "spec: ["),
		},
		"it does not prune": {
			change("prune: true", "prune: false"),
		},
		"it waits for nothing": {
			change("wait: {{ .Wait }}", "wait: false"),
		},
		"another name": {
			change("name: {{ quote .Name }}", "name: mine"),
		},
		"another path": {
			change("path: {{ quote .Path }}", "path: ./"),
		},
		"it is suspended": {
			change("prune: true", "prune: true\n  suspend: true"),
		},
		"two expressions for a kind": {
			change("prune: true", "prune: true\n  healthCheckExprs:\n  - {apiVersion: example.com/v1, kind: Slice, current: \"true\"}\n  - {apiVersion: example.com/v2, kind: Slice, current: \"true\"}"),
		},
	}
	texts := golden.Of(t)
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			_, err := kind.Render(template.Text{Name: "Template/mine", Text: c.text}, plainTier())
			if err == nil {
				t.Fatal("no error")
			}
			texts.Add(sentence, err.Error())
			if p := manifest.ProblemOf(err); p.Reason != v1alpha1.ReasonInvalidTemplate || p.Object != `Template "Template/mine"` {
				t.Errorf("got %+v", p)
			}
		})
	}
}

// TestATierOfWhatDoesNotCountWaitsForNothing has a tier in which no object counts for health.
func TestATierOfWhatDoesNotCountWaitsForNothing(t *testing.T) {
	vars := plainTier()
	vars.Wait = false
	if _, err := kind.Render(template.Text{Name: "built in", Text: templates.FluxKustomization}, vars); err != nil {
		t.Error(err)
	}
	planned := map[string]any{"path": "./planted/a", "prune": true, "wait": false}
	if err := kind.CheckAmended(map[string]any{"path": "./planted/a", "prune": true, "interval": "5m"}, planned); err != nil {
		t.Error(err)
	}
	if err := kind.CheckAmended(map[string]any{"path": "./planted/a", "prune": false}, planned); err == nil {
		t.Error("no error where nothing is pruned")
	}
}

func TestCheckAmended(t *testing.T) {
	spec := func(change func(map[string]any)) map[string]any {
		spec := map[string]any{
			"path": "./planted/a", "prune": true, "wait": true, "interval": "10m", "timeout": "5m",
			"kubeConfig":       map[string]any{"secretRef": map[string]any{"name": "edge-kubeconfig"}},
			"healthCheckExprs": []any{map[string]any{"apiVersion": "v1", "kind": "Widget", "current": "true"}},
		}
		change(spec)
		return spec
	}
	planned := spec(func(map[string]any) {})
	cases := map[string]struct {
		change func(map[string]any)
		want   v1alpha1.Reason
	}{
		"nothing":          {func(map[string]any) {}, ""},
		"times and images": {func(s map[string]any) { s["timeout"], s["images"] = "9m", []any{map[string]any{"name": "a"}} }, ""},
		"health checks instead": {func(s map[string]any) {
			s["wait"], s["healthChecks"] = false, []any{map[string]any{"kind": "Pod", "name": "a"}}
		}, ""},
		"one more expression": {func(s map[string]any) {
			s["healthCheckExprs"] = append(s["healthCheckExprs"].([]any), map[string]any{"apiVersion": "v1", "kind": "Other", "current": "true"})
		}, ""},
		"another expression": {func(s map[string]any) {
			s["healthCheckExprs"] = []any{map[string]any{"apiVersion": "v1", "kind": "Widget", "current": "1 == 1"}}
		}, v1alpha1.ReasonReconcilerEdited},
		"it waits for nothing":     {func(s map[string]any) { delete(s, "wait") }, v1alpha1.ReasonReconcilerEdited},
		"it does not prune":        {func(s map[string]any) { s["prune"] = false }, v1alpha1.ReasonReconcilerEdited},
		"it is suspended":          {func(s map[string]any) { s["suspend"] = true }, v1alpha1.ReasonReconcilerEdited},
		"another directory":        {func(s map[string]any) { s["path"] = "./planted/b" }, v1alpha1.ReasonReconcilerEdited},
		"another cluster":          {func(s map[string]any) { s["kubeConfig"] = map[string]any{"secretRef": map[string]any{"name": "b"}} }, v1alpha1.ReasonReconcilerEdited},
		"the hub itself":           {func(s map[string]any) { delete(s, "kubeConfig") }, v1alpha1.ReasonReconcilerEdited},
		"a field of another shape": {func(s map[string]any) { s["path"] = int64(7) }, v1alpha1.ReasonReconcilerEdited},
	}
	amended := golden.Of(t)
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			err := kind.CheckAmended(spec(c.change), planned)
			if err != nil {
				amended.Add(sentence, err.Error())
			}
			if got := manifest.ReasonOf(err); got != c.want {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
