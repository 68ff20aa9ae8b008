package simulator

import (
	"fmt"
	"strings"
	"testing"
)

func job(name, version string) string {
	return fmt.Sprintf("apiVersion: batch/v1\nkind: Job\nmetadata: {name: %s, namespace: default}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: \"c:%s\"}]}}}\n", name, version)
}

func TestAdmission(t *testing.T) {
	one := func(objects ...string) []func(*world) {
		files := map[string]string{"clusters/shop/a.yaml": tier{name: "a", path: "./planted/a"}.String()}
		for i, text := range objects {
			files["planted/a/"+string(rune('a'+i))+".yaml"] = text
		}
		return []func(*world){after(3, files)}
	}
	ready := func(state string) map[string]string { return map[string]string{"shop flux-system/a": state} }
	runStories(t, map[string]story{
		"an object in a namespace that is not there is rejected": {
			steps: one(configMap("web", "x")), wantReady: ready(refused),
			wantMessage:    map[string]string{"shop flux-system/a": `ConfigMap/web/x dry-run failed: namespaces "web" not found (simulated)`},
			wantRejections: []string{`shop flux-system/a ConfigMap/web/x: namespaces "web" not found`},
		},
		"an object of a kind without CRD is rejected": {
			steps: one(widget("v1")), wantReady: ready(refused),
			wantRejections: []string{`shop flux-system/a Widget/default/w: no matches for kind "Widget" in version "demo.example/v1"`},
		},
		"a custom resource beside its own CRD is rejected first and accepted once the CRD is established": {
			steps: append(one(widgetCRD, widget("v1")), pass(10)), wantReady: ready(succeeded),
			wantRejections: []string{`shop flux-system/a Widget/default/w: no matches for kind "Widget" in version "demo.example/v1"`},
		},
		"a well-known kind is not built in and needs its CRD": {
			steps: one(object("gateway.networking.k8s.io/v1", "Gateway", "default", "g", "")), wantReady: ready(refused),
			wantRejections: []string{`shop flux-system/a Gateway/default/g: no matches for kind "Gateway" in version "gateway.networking.k8s.io/v1"`},
		},
		"an unknown kind of a built-in group is rejected": {
			steps: one(object("apps/v1", "Nope", "default", "nope", "")), wantReady: ready(refused),
			wantRejections: []string{`shop flux-system/a Nope/default/nope: no matches for kind "Nope" in version "apps/v1"`},
		},
		"the namespaces of every cluster are there": {
			steps: one(configMap("kube-system", "x"), configMap("flux-system", "x"), configMap("", "x")), wantReady: ready(succeeded),
			wantObjects: map[string][]string{"shop": {
				"core/ConfigMap/default/x", "core/ConfigMap/flux-system/x", "core/ConfigMap/kube-system/x",
			}},
		},
		"a bare Pod needs its service account, priority class and runtime class": {
			steps: one(
				object("v1", "Pod", "default", "p", "spec: {serviceAccountName: runner}"),
				object("v1", "Pod", "default", "q", "spec: {priorityClassName: high}"),
				object("v1", "Pod", "default", "r", "spec: {runtimeClassName: gvisor}"),
			),
			wantReady: ready(refused),
			wantRejections: []string{
				`shop flux-system/a Pod/default/p: pods "p" is forbidden: error looking up service account default/runner: serviceaccount "runner" not found`,
				`shop flux-system/a Pod/default/q: pods "q" is forbidden: no PriorityClass with name high was found`,
				`shop flux-system/a Pod/default/r: pods "r" is forbidden: pod rejected: RuntimeClass "gvisor" not found`,
			},
		},
		"a change of an immutable field is rejected, unless the reconciler creates the object again": {
			steps: append(one(job("a", "1"), job("b", "1")), after(3, map[string]string{"planted/a/a.yaml": job("a", "2")}), after(3, map[string]string{
				"planted/a/b.yaml": strings.Replace(job("b", "2"), "name: b", "name: b, annotations: {kustomize.toolkit.fluxcd.io/force: enabled}", 1),
			})),
			wantReady:      ready(refused),
			wantRejections: []string{`shop flux-system/a Job/default/a: Job.batch "a" is invalid: spec.template.spec.containers[c].image: field is immutable`},
		},
		"a change that the rules of a kind do not allow is rejected": {
			steps: append(one(diskDefinition), after(5, map[string]string{
				"planted/a/disk.yaml": object("example.com/v1", "Disk", "default", "d", "spec: {class: fast}"),
			}), after(3, map[string]string{
				"planted/a/disk.yaml": object("example.com/v1", "Disk", "default", "d", "spec: {class: slow}"),
			})),
			wantReady:      ready(refused),
			wantRejections: []string{`shop flux-system/a Disk/default/d: Disk.example.com "d" is invalid: spec.class: class is immutable`},
		},
		"an encrypted object is rejected without decryption": {
			steps:          one(object("v1", "Secret", "default", "s", "stringData: {a: ENC}\nsops: {mac: x}\n")),
			wantReady:      ready(refused),
			wantRejections: []string{`shop flux-system/a Secret/default/s: failed to create typed patch object: .sops: field not declared in schema`},
		},
		"a tier whose namespace came in the tier before is accepted": {
			steps: []func(*world){after(5, map[string]string{
				"clusters/shop/a.yaml": tier{name: "a", path: "./planted/a"}.String(),
				"clusters/shop/b.yaml": tier{name: "b", path: "./planted/b", more: "dependsOn: [{name: a}]\n"}.String(),
				"planted/a/ns.yaml":    namespace("web"), "planted/b/x.yaml": configMap("web", "x"),
			})},
			wantReady:   map[string]string{"shop flux-system/a": succeeded, "shop flux-system/b": succeeded},
			wantObjects: map[string][]string{"shop": {"core/ConfigMap/web/x", "core/Namespace/web"}},
		},
	})
}

func TestPruning(t *testing.T) {
	start := after(3, map[string]string{
		"clusters/shop/a.yaml": tier{name: "a", path: "./planted/a"}.String(),
		"planted/a/x.yaml":     configMap("default", "x"), "planted/a/peas.yaml": configMap("default", "peas"),
		"planted/a/README.md": "hello",
	})
	ready := map[string]string{"shop flux-system/a": succeeded}
	disabled := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: peas, namespace: default, annotations: {kustomize.toolkit.fluxcd.io/prune: disabled}}\n"
	runStories(t, map[string]story{
		"what left the path is deleted": {
			steps:       []func(*world){start, after(2, map[string]string{"planted/a/peas.yaml": ""})},
			wantReady:   ready,
			wantObjects: map[string][]string{"shop": {"core/ConfigMap/default/x"}},
		},
		"a path without YAML deletes everything and is a success": {
			steps:     []func(*world){start, after(2, map[string]string{"planted/a/x.yaml": "", "planted/a/peas.yaml": ""})},
			wantReady: ready, wantObjects: map[string][]string{"shop": {}},
		},
		"a path that is gone fails and deletes nothing": {
			steps: []func(*world){start, after(2, map[string]string{
				"planted/a/x.yaml": "", "planted/a/peas.yaml": "", "planted/a/README.md": "",
			})},
			wantReady:   map[string]string{"shop flux-system/a": "False ArtifactFailed"},
			wantMessage: map[string]string{"shop flux-system/a": "kustomization path not found: stat ./planted/a: no such file or directory"},
			wantObjects: map[string][]string{"shop": {"core/ConfigMap/default/peas", "core/ConfigMap/default/x"}},
		},
		"do-not-prune on the live object keeps it": {
			steps: []func(*world){
				start, after(2, map[string]string{"planted/a/peas.yaml": disabled}), after(2, map[string]string{"planted/a/peas.yaml": ""}),
			},
			wantReady:   ready,
			wantObjects: map[string][]string{"shop": {"core/ConfigMap/default/peas", "core/ConfigMap/default/x"}},
		},
		"an object that another Kustomization took over is kept": {
			steps: []func(*world){
				start,
				after(3, map[string]string{
					"clusters/shop/b.yaml": tier{name: "b", path: "./planted/b"}.String(), "planted/b/peas.yaml": configMap("default", "peas"),
				}),
				after(2, map[string]string{"planted/a/peas.yaml": ""}),
			},
			wantReady:   ready,
			wantObjects: map[string][]string{"shop": {"core/ConfigMap/default/peas", "core/ConfigMap/default/x"}},
		},
		"an object that moves while the old owner is first is lost and made anew": {
			steps: []func(*world){
				start,
				after(3, map[string]string{
					"clusters/shop/b.yaml": tier{name: "b", path: "./planted/b"}.String(), "planted/b/z.yaml": configMap("default", "z"),
				}),
				after(3, map[string]string{"planted/a/peas.yaml": "", "planted/b/peas.yaml": configMap("default", "peas")}),
			},
			wantReady:   ready,
			wantObjects: map[string][]string{"shop": {"core/ConfigMap/default/peas", "core/ConfigMap/default/x", "core/ConfigMap/default/z"}},
			wantLosses: []string{
				"shop flux-system/b ConfigMap/default/peas: it was pruned by flux-system/a while it moved, and is made anew",
			},
		},
		"an old owner that depends on the new one does not delete what moves": {
			steps: []func(*world){
				after(5, map[string]string{
					"clusters/shop/a.yaml": tier{name: "a", path: "./planted/a", more: "dependsOn: [{name: b}]\n"}.String(),
					"clusters/shop/b.yaml": tier{name: "b", path: "./planted/b"}.String(),
					"planted/a/x.yaml":     configMap("default", "x"), "planted/b/z.yaml": configMap("default", "z"),
				}),
				after(4, map[string]string{"planted/a/x.yaml": "", "planted/a/README.md": "", "planted/b/x.yaml": configMap("default", "x")}),
			},
			wantObjects: map[string][]string{"shop": {"core/ConfigMap/default/x", "core/ConfigMap/default/z"}},
		},
	})
}

func TestDeletingWhatOthersNeed(t *testing.T) {
	two := func(a, b string) func(*world) {
		return after(8, map[string]string{
			"clusters/shop/a.yaml": tier{name: "a", path: "./planted/a"}.String(),
			"clusters/shop/b.yaml": tier{name: "b", path: "./planted/b", more: "dependsOn: [{name: a}]\n"}.String(),
			"planted/a/a.yaml":     a, "planted/b/b.yaml": b,
		})
	}
	empty := after(4, map[string]string{"clusters/shop/a.yaml": ""})
	runStories(t, map[string]story{
		"a Namespace takes its contents with it, which is a loss of their owner": {
			steps: []func(*world){two(namespace("web"), configMap("web", "x")), empty},
			wantReady: map[string]string{
				"shop flux-system/a": gone, "shop flux-system/b": "False DependencyNotReady",
			},
			wantObjects: map[string][]string{"shop": {}},
			wantLosses:  []string{"shop flux-system/b ConfigMap/web/x: its Namespace web was deleted"},
		},
		"a CRD takes its resources with it, which is a loss of their owner": {
			steps:       []func(*world){two(widgetCRD, widget("v1")), empty},
			wantReady:   map[string]string{"shop flux-system/a": gone},
			wantObjects: map[string][]string{"shop": {}},
			wantLosses:  []string{"shop flux-system/b Widget/default/w: its CustomResourceDefinition widgets.demo.example was deleted"},
		},
		"a Namespace with contents of the same Kustomization is not a loss": {
			steps: []func(*world){
				after(8, map[string]string{
					"clusters/shop/a.yaml": tier{name: "a", path: "./planted/a"}.String(), "planted/a/a.yaml": namespace("web"),
				}),
				after(4, map[string]string{"planted/a/b.yaml": object("v1", "Pod", "web", "p", "")}), empty,
			},
			wantReady:   map[string]string{"shop flux-system/a": gone},
			wantObjects: map[string][]string{"shop": {}},
		},
		"new content of a Namespace in deletion is rejected": {
			steps: []func(*world){
				two(namespace("web"), object("v1", "Pod", "web", "p", "")),
				after(1, map[string]string{"planted/a/a.yaml": configMap("default", "a"), "planted/b/c.yaml": configMap("web", "c"),
					"clusters/shop/b.yaml": tier{name: "b", path: "./planted/b"}.String()}),
			},
			wantReady: map[string]string{"shop flux-system/b": refused},
			wantRejections: []string{
				`shop flux-system/b ConfigMap/web/c: "c" is forbidden: unable to create new content in namespace web because it is being terminated`,
			},
		},
		"a version that the CRD does not serve is rejected": {
			steps:     []func(*world){two(widgetCRD, widget("v2"))},
			wantReady: map[string]string{"shop flux-system/b": refused},
			wantRejections: []string{
				`shop flux-system/b Widget/default/w: no matches for kind "Widget" in version "demo.example/v2"`,
			},
		},
	})
}

// diskDefinition has a rule about updates.
const diskDefinition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: disks.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: disks, kind: Disk}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {class: {type: string, x-kubernetes-validations: [{rule: "self == oldSelf", message: class is immutable}]}}}}}}
`
