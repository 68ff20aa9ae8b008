package dependency

import (
	"fmt"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// annotated is a ConfigMap with annotations in a document of its own.
func annotated(name string, annotations ...string) string {
	return fmt.Sprintf("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: default, annotations: {%s}}\n", name, strings.Join(annotations, ", "))
}

// after are the edges of a ConfigMap to others.
func after(rule, from, why string, to ...string) []string {
	var out []string
	for _, name := range to {
		out = append(out, fmt.Sprintf("core/ConfigMap/default/%s on edge waits for core/ConfigMap/default/%s on edge (%s: %s)", from, name, rule, why))
	}
	return out
}

func TestRuleWaves(t *testing.T) {
	const seed = fleet + "-- seeds/web.yaml --\n"
	join := func(lists ...[]string) []string {
		var out []string
		for _, list := range lists {
			out = append(out, list...)
		}
		return out
	}
	invalid := func(field string) []string {
		return []string{"web: core/ConfigMap/default/a: InvalidDependency field=" + field}
	}
	runRuleCases(t, "waves", map[string]ruleCase{
		"sync waves follow each other, and no number is wave 0": {
			tree: seed + annotated("a", `argocd.argoproj.io/sync-wave: "-1"`) + annotated("b") + annotated("c", `argocd.argoproj.io/sync-wave: "0"`) + annotated("d", `argocd.argoproj.io/sync-wave: "7"`),
			wantEdges: join(
				after("waves", "b", "argocd.argoproj.io/sync-wave: -1 of what comes before", "a"),
				after("waves", "c", "argocd.argoproj.io/sync-wave: 0", "a"),
				after("waves", "d", "argocd.argoproj.io/sync-wave: 7", "b", "c")),
		},
		"hooks of Helm come before and after all else, by weight": {
			tree: seed + annotated("a", "helm.sh/hook: pre-install", `helm.sh/hook-weight: "5"`) + annotated("b", "helm.sh/hook: \"pre-upgrade,pre-install\"", `helm.sh/hook-weight: "-5"`) + annotated("c") + annotated("d", "helm.sh/hook: \"post-install,test\""),
			wantEdges: join(
				after("waves", "a", "helm.sh/hook: pre-install, weight 5", "b"),
				after("waves", "c", "helm.sh/hook: pre-install, weight 5 of what comes before", "a"),
				after("waves", "d", "helm.sh/hook: post-install,test", "c")),
		},
		"hooks of Argo CD have waves": {
			tree: seed + annotated("a", "argocd.argoproj.io/hook: PreSync", `argocd.argoproj.io/sync-wave: "1"`) + annotated("b", "argocd.argoproj.io/hook: PreSync") + annotated("c", "argocd.argoproj.io/hook: PostSync") + annotated("d", "argocd.argoproj.io/hook: Sync"),
			wantEdges: join(
				after("waves", "a", "argocd.argoproj.io/hook: PreSync, weight 1", "b"),
				after("waves", "c", "argocd.argoproj.io/hook: PostSync", "d"),
				after("waves", "d", "argocd.argoproj.io/hook: Sync", "a")),
		},
		"what an API server needs counts before a wave": {
			tree:      seed + "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: a, namespace: shop, annotations: {helm.sh/hook: pre-install}}\n",
			wantEdges: []string{"core/Namespace/shop on edge waits for batch/Job/shop/a on edge (waves: helm.sh/hook: pre-install of what comes before, but that needs it)"},
		},
		"a wave also waits for the one before a wave that could not": {
			tree: seed + "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: a, namespace: shop, annotations: {helm.sh/hook: pre-install}}\n" + annotated("z", "helm.sh/hook: post-install"),
			wantEdges: []string{
				"core/ConfigMap/default/z on edge waits for core/Namespace/shop on edge (waves: helm.sh/hook: post-install)",
				"core/ConfigMap/default/z on edge waits for batch/Job/shop/a on edge (waves: helm.sh/hook: post-install)",
				"core/Namespace/shop on edge waits for batch/Job/shop/a on edge (waves: helm.sh/hook: pre-install of what comes before, but that needs it)",
			},
		},
		"other seeds and clusters have waves of their own": {
			tree: seed + annotated("a", "furrow.dev/cluster: edge", "helm.sh/hook: pre-install") + annotated("b", "furrow.dev/cluster: mgmt") + "-- seeds/other.yaml --\n" + annotated("c"),
		},
		"crd-install orders nothing":      {tree: seed + annotated("a", "helm.sh/hook: crd-install") + annotated("b")},
		"a wave that is not a number":     {tree: seed + annotated("a", "argocd.argoproj.io/sync-wave: first"), wantErrors: invalid("argocd.argoproj.io/sync-wave")},
		"a wave that is too big a number": {tree: seed + annotated("a", `argocd.argoproj.io/sync-wave: "99999999999"`), wantErrors: invalid("argocd.argoproj.io/sync-wave")},
		"a weight that is not a number":   {tree: seed + annotated("a", "helm.sh/hook: pre-install", "helm.sh/hook-weight: heavy"), wantErrors: invalid("helm.sh/hook-weight")},
		"a misspelt hook of Helm":         {tree: seed + annotated("a", "helm.sh/hook: pre-instal"), wantErrors: invalid("helm.sh/hook")},
		"a misspelt hook of Argo CD":      {tree: seed + annotated("a", "argocd.argoproj.io/hook: preSync"), wantErrors: invalid("argocd.argoproj.io/hook")},
		"a misspelt deletion policy":      {tree: seed + annotated("a", "helm.sh/hook: pre-install", "helm.sh/hook-delete-policy: hook-succeed"), wantErrors: invalid("helm.sh/hook-delete-policy")},
		"a hook of another tool":          {tree: seed + annotated("a", "helm.sh/hook: something-else") + annotated("b")},
		"a rule that is switched off draws nothing": {
			tree: fleet + "-- seeds/web/seed.yaml --\napiVersion: furrow.dev/v1alpha1\nkind: Seed\nmetadata: {name: web}\nspec: {disabledRules: [waves]}\n-- seeds/web/web.yaml --\n" + annotated("a", `argocd.argoproj.io/sync-wave: "-1"`) + annotated("b") + annotated("c", "argocd.argoproj.io/sync-wave: first"),
		},
	})
}

func TestDialectsOfDeclared(t *testing.T) {
	const seed = fleet + "-- seeds/web.yaml --\n"
	substitution := func(ref string) string {
		return `config.kubernetes.io/apply-time-mutation: "- {sourceRef: ` + ref + `, sourcePath: $.data.x, targetPath: $.data.y, token: z}"`
	}
	failed := func(reason, field string) []string {
		return []string{"web: core/ConfigMap/default/b: " + reason + " field=" + field}
	}
	kustomization := func(name, dependsOn string) string {
		return fmt.Sprintf("---\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: %s, namespace: default, annotations: {furrow.dev/cluster: edge}}\nspec: {dependsOn: %s}\n", name, dependsOn)
	}
	flux := "-- clusters.yaml --\napiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: edge}\nspec: {provides: {customResourceDefinitions: [kustomizations.kustomize.toolkit.fluxcd.io]}}\n-- seeds/web.yaml --\n"
	runRuleCases(t, "declared", map[string]ruleCase{
		"an object waits for those whose fields cli-utils would copy into it": {
			tree:       seed + annotated("a") + annotated("b", substitution("{kind: ConfigMap, name: a}")),
			wantEdges:  after("declared", "b", "config.kubernetes.io/apply-time-mutation: core/ConfigMap/default/a", "a"),
			wantWarned: failed("AnnotationIgnored", "config.kubernetes.io/apply-time-mutation"),
		},
		"a substitution that names no object": {
			tree: seed + annotated("a") + annotated("b", substitution("{kind: ConfigMap}")), wantErrors: failed("InvalidDependency", "config.kubernetes.io/apply-time-mutation"),
		},
		"a substitution that is not a list": {
			tree: seed + annotated("a") + annotated("b", "config.kubernetes.io/apply-time-mutation: all"), wantErrors: failed("InvalidDependency", "config.kubernetes.io/apply-time-mutation"),
		},
		"a substitution from an object that is in no seed": {
			tree:       seed + annotated("b", substitution("{kind: ConfigMap, name: zero}")),
			wantErrors: failed("MissingDependency", "config.kubernetes.io/apply-time-mutation"), wantWarned: failed("AnnotationIgnored", "config.kubernetes.io/apply-time-mutation"),
		},
		"a rule of kapp waits for a group": {
			tree:      seed + annotated("a", "kapp.k14s.io/change-group: apps.example.com/db") + annotated("c", "kapp.k14s.io/change-group.x: apps.example.com/db") + annotated("b", `kapp.k14s.io/change-rule.y: "upsert after upserting apps.example.com/db"`),
			wantEdges: after("declared", "b", "kapp.k14s.io/change-rule.y: upsert after upserting apps.example.com/db", "a", "c"),
		},
		"a rule of kapp puts an object before a group": {
			tree:      seed + annotated("a", "kapp.k14s.io/change-group: db") + annotated("b", `kapp.k14s.io/change-rule: "upsert before upserting db"`),
			wantEdges: after("declared", "a", "kapp.k14s.io/change-rule: upsert before upserting db", "b"),
		},
		"kapp fills placeholders in groups and rules": {
			tree:      seed + annotated("a", `kapp.k14s.io/change-group: "apps/{kind}-{name}"`) + annotated("b", `kapp.k14s.io/change-rule: "upsert after upserting apps/{kind}-a"`),
			wantEdges: after("declared", "b", "kapp.k14s.io/change-rule: upsert after upserting apps/ConfigMap-a", "a"),
		},
		"kapp's own groups": {
			tree:      seed + "---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: a, namespace: default}\n" + annotated("b", `kapp.k14s.io/change-rule: "upsert after upserting change-groups.kapp.k14s.io/serviceaccount"`),
			wantEdges: []string{"core/ConfigMap/default/b on edge waits for core/ServiceAccount/default/a on edge (declared: kapp.k14s.io/change-rule: upsert after upserting change-groups.kapp.k14s.io/serviceaccount)"},
		},
		"a rule of kapp about deletions orders nothing": {
			tree: seed + annotated("a", "kapp.k14s.io/change-group: db") + annotated("b", `kapp.k14s.io/change-rule: "delete after deleting db"`),
		},
		"a rule of kapp that cannot be read": {
			tree: seed + annotated("b", `kapp.k14s.io/change-rule: "upsert after db"`), wantErrors: failed("InvalidDependency", "kapp.k14s.io/change-rule"),
		},
		"a placeholder that kapp does not have": {
			tree: seed + annotated("b", `kapp.k14s.io/change-rule: "upsert after upserting {names}"`), wantErrors: failed("InvalidDependency", "kapp.k14s.io/change-rule"),
		},
		"a placeholder without a value": {
			tree:       seed + annotated("b", `kapp.k14s.io/change-group: "x-{crd-kind}"`, `kapp.k14s.io/change-rule: "upsert after upserting change-groups.kapp.k14s.io/crds"`),
			wantErrors: failed("InvalidDependency", "kapp.k14s.io/change-group"),
		},
		"a group of kapp that is empty": {
			tree: seed + annotated("b", `kapp.k14s.io/change-rule: "upsert after upserting db"`), wantWarned: failed("MissingDependency", "kapp.k14s.io/change-rule"),
		},
		"Flux' dependsOn": {
			tree:      flux + kustomization("a", "[]") + kustomization("b", "[{name: a}]"),
			wantEdges: []string{"kustomize.toolkit.fluxcd.io/Kustomization/default/b on edge waits for kustomize.toolkit.fluxcd.io/Kustomization/default/a on edge (declared: spec.dependsOn: a)"},
		},
		"Flux' dependsOn may name what the cluster has": {
			tree: flux + kustomization("b", "[{name: a, namespace: infra}]"), wantWarned: []string{"web: kustomize.toolkit.fluxcd.io/Kustomization/default/b: MissingDependency field=spec.dependsOn cluster=edge"},
		},
		"Flux' dependsOn that names nothing": {
			tree: flux + kustomization("b", "[a]"), wantErrors: []string{"web: kustomize.toolkit.fluxcd.io/Kustomization/default/b: InvalidDependency field=spec.dependsOn"},
		},
		"Flux' dependsOn that names the object itself": {
			tree: flux + kustomization("b", "[{name: b}]"), wantErrors: []string{"web: kustomize.toolkit.fluxcd.io/Kustomization/default/b: InvalidDependency field=spec.dependsOn"},
		},
	})
}

// Whatever waves ask for, they never make a circle of what could be ordered without them.
func TestWavesNeverMakeACircle(t *testing.T) {
	for _, names := range [][]string{{"-1", "0", "1"}, {"1", "0", "-1"}, {"5", "5", "-5"}} {
		tree := fleet + "-- seeds/web.yaml --\napiVersion: v1\nkind: Namespace\nmetadata: {name: shop, annotations: {argocd.argoproj.io/sync-wave: \"" + names[0] + "\"}}\n---\n" +
			"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: slices.example.com, annotations: {argocd.argoproj.io/sync-wave: \"" + names[1] + "\"}}\nspec: {group: example.com, scope: Namespaced, names: {kind: Slice, plural: slices}}\n---\n" +
			"apiVersion: example.com/v1\nkind: Slice\nmetadata: {name: a, namespace: shop, annotations: {argocd.argoproj.io/sync-wave: \"" + names[2] + "\", furrow.dev/depends-on: core/ConfigMap/default/b}}\n" + annotated("b", "helm.sh/hook: post-install")
		result := graphOf(t, tree)
		if len(result.Errors) > 0 {
			t.Fatal(result.Errors)
		}
		if _, conflict := result.Graph.Tiers(nil); conflict != nil {
			t.Errorf("%v: %v", names, conflict)
		}
	}
}

func FuzzDialects(f *testing.F) {
	for _, text := range []string{
		"core/ConfigMap/default/a", "apps/namespaces/web/Deployment/cache", "v1|ConfigMap|default|a", "upsert after upserting apps/{kind}-{name}", "delete before deleting {crd-kind}",
		"- {sourceRef: {kind: ConfigMap, name: a}, sourcePath: $.a, targetPath: $.b}", "&a [*a, *a]", "pre-install,post-install", "PreSync", "-5", "{", "}{", "{}", "upsert after upserting {",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		o := &manifest.Object{ID: manifest.ID{Kind: "ConfigMap", Namespace: "default", Name: "a"}, Version: "v1", Body: map[string]any{
			"metadata": map[string]any{"annotations": map[string]any{"helm.sh/hook": text, "helm.sh/hook-weight": text, "argocd.argoproj.io/hook": text, "argocd.argoproj.io/sync-wave": text, kappGroup: text, kappRule: text}},
			"spec":     map[string]any{"dependsOn": []any{map[string]any{"name": text}, text}},
		}}
		for _, d := range dialects {
			if id, ok := d.parse(text); ok && id.Name == "" {
				t.Errorf("%s: %q names an object without a name", d.annotation, text)
			}
		}
		if sources, err := mutationSources(text, "default"); err == nil {
			for _, id := range sources {
				if !isID(id) {
					t.Errorf("%q names %v", text, id)
				}
			}
		}
		if filled, err := fillPlaceholders(text, o); err == nil {
			if rule, err := parseChangeRule(filled); err == nil && (rule.group == "" || strings.Contains(rule.group, " ")) {
				t.Errorf("%q is about the group %q", text, rule.group)
			}
		}
		if wave, _ := manifest.WaveOf(*o); wave.Stage < -1 || wave.Stage > 1 {
			t.Errorf("%q has the stage %d", text, wave.Stage)
		}
		_, _ = groupsOf(o)
		_, _ = dependsOn(o)
	})
}
