package simulator

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/core/health"
	"github.com/furrow-dev/furrow/internal/probe"
)

func TestRoot(t *testing.T) {
	good := map[string]string{
		"clusters/shop/furrow/s/a.yaml": tier{name: "a", path: "./planted/a"}.String(),
		"planted/a/x.yaml":              configMap("default", "x"),
	}
	start := after(3, good)
	bad := func(files map[string]string) []func(*world) {
		files["clusters/shop/furrow/s/b.yaml"] = tier{name: "b", path: "./planted/a"}.String()
		files["planted/a/z.yaml"] = configMap("default", "z")
		return []func(*world){start, after(3, files)}
	}
	blocked := func(state string) map[string]string {
		return map[string]string{
			"shop flux-system/flux-system": state, "shop flux-system/b": gone, "shop flux-system/a": succeeded,
		}
	}
	both := map[string][]string{"shop": {"core/ConfigMap/default/x", "core/ConfigMap/default/z"}}
	runStories(t, map[string]story{
		"Kustomizations in nested folders are applied": {
			steps: []func(*world){start}, wantReady: map[string]string{"shop flux-system/a": succeeded},
			wantObjects: map[string][]string{"shop": {"core/ConfigMap/default/x"}},
		},
		"broken YAML blocks every change of the root, and not its children": {
			steps: bad(map[string]string{"clusters/shop/broken.yaml": "a: [b"}), wantReady: blocked("False BuildFailed"), wantObjects: both,
		},
		"YAML that is not an object blocks the root": {
			steps: bad(map[string]string{"clusters/shop/values.yaml": "replicas: 3"}), wantReady: blocked("False BuildFailed"),
		},
		"two objects of one id block the root": {
			steps: bad(map[string]string{"clusters/shop/again.yaml": good["clusters/shop/furrow/s/a.yaml"]}), wantReady: blocked("False BuildFailed"),
			wantMessage: map[string]string{"shop flux-system/flux-system": "may not add resource with an already registered id: kustomize.toolkit.fluxcd.io/Kustomization/flux-system/a"},
		},
		"an unknown kind blocks the root": {
			steps:          bad(map[string]string{"clusters/shop/nope.yaml": object("nope.example/v1", "Nope", "default", "nope", "")}),
			wantReady:      blocked(refused),
			wantMessage:    map[string]string{"shop flux-system/flux-system": `Nope/default/nope dry-run failed: no matches for kind "Nope" in version "nope.example/v1"`},
			wantRejections: []string{`shop flux-system/flux-system Nope/default/nope: no matches for kind "Nope" in version "nope.example/v1"`},
		},
		"a Kustomization with an unknown field blocks the root": {
			steps:     bad(map[string]string{"clusters/shop/typo.yaml": tier{name: "c", path: "./x", more: "dependOn: []\n"}.String()}),
			wantReady: blocked(refused),
			wantRejections: []string{
				`shop flux-system/flux-system Kustomization/flux-system/c: failed to create typed patch object: error unmarshaling JSON: while decoding JSON: json: unknown field "dependOn"`,
			},
		},
		"a Kustomization that its schema does not allow blocks the root": {
			steps: bad(map[string]string{
				"clusters/shop/c.yaml": tier{name: "c", path: "./x", interval: "0s"}.String(),
				"clusters/shop/d.yaml": strings.Replace(tier{name: "d", path: "./x"}.String(), "WaitForTermination", "Keep", 1),
				"clusters/shop/e.yaml": tier{name: "e", path: "./x", more: "kubeConfig: {configMapRef: {name: x}}\n"}.String(),
			}),
			wantReady: blocked(refused),
			wantRejections: []string{
				`shop flux-system/flux-system Kustomization/flux-system/c: Kustomization.kustomize.toolkit.fluxcd.io "c" is invalid: spec.interval: Required value`,
				`shop flux-system/flux-system Kustomization/flux-system/d: Kustomization.kustomize.toolkit.fluxcd.io "d" is invalid: spec.deletionPolicy: Unsupported value: "Keep"`,
				`shop flux-system/flux-system Kustomization/flux-system/e: Kustomization.kustomize.toolkit.fluxcd.io "e" is invalid: spec.kubeConfig: Invalid value: only a secretRef is simulated`,
			},
		},
		"a file named kustomization.yaml blocks the root": {
			steps:     bad(map[string]string{"clusters/shop/sub/kustomization.yaml": tier{name: "c", path: "./x"}.String()}),
			wantReady: blocked("False BuildFailed"),
		},
		"a root may bring a Namespace with its contents": {
			steps: []func(*world){start, after(2, map[string]string{
				"clusters/shop/a.yaml": configMap("web", "x"), "clusters/shop/z.yaml": namespace("web"),
			})},
			wantReady:   map[string]string{"shop flux-system/flux-system": succeeded},
			wantObjects: map[string][]string{"shop": {"core/ConfigMap/default/x", "core/ConfigMap/web/x", "core/Namespace/web"}},
		},
		"a Kustomization that left Git is deleted with its objects": {
			steps:       []func(*world){start, after(3, map[string]string{"clusters/shop/furrow/s/a.yaml": "", "clusters/shop/README.md": "root"})},
			wantReady:   map[string]string{"shop flux-system/a": gone, "shop flux-system/flux-system": succeeded},
			wantObjects: map[string][]string{"shop": {}},
		},
		"a Kustomization file that moves to another folder changes nothing": {
			steps: []func(*world){start, after(3, map[string]string{
				"clusters/shop/furrow/s/a.yaml": "", "clusters/shop/other/a.yaml": good["clusters/shop/furrow/s/a.yaml"],
			}), func(w *world) {
				if got := w.kustomization("a").generation; got != 1 {
					w.t.Errorf("generation %d, want 1", got)
				}
			}},
			wantReady: map[string]string{"shop flux-system/a": succeeded},
		},
		"a source that cannot be read leaves everything as it was": {
			steps: []func(*world){start, func(w *world) {
				w.commit(map[string]string{"planted/a/x.yaml": ""})
				w.git.down = errors.New("wrong password")
				if err := w.Tick(w.t.Context()); err == nil || !strings.Contains(err.Error(), "wrong password") {
					w.t.Errorf("error %v, want the source's", err)
				}
			}},
			wantReady:   map[string]string{"shop flux-system/a": succeeded},
			wantObjects: map[string][]string{"shop": {"core/ConfigMap/default/x"}},
		},
	})
}

func TestReconcile(t *testing.T) {
	a := func(k tier, files map[string]string) func(*world) {
		k.name, k.path = "a", "./planted/a"
		all := map[string]string{"clusters/shop/a.yaml": k.String(), "planted/a/README.md": "a"}
		for name, text := range files {
			all[name] = text
		}
		return after(1, all)
	}
	web := map[string]string{"planted/a/web.yaml": deployment("web")}
	webID := idOf("apps/Deployment/default/web")
	ready := func(state string) map[string]string { return map[string]string{"shop flux-system/a": state} }
	runStories(t, map[string]story{
		"with wait a workload is waited for": {
			steps: []func(*world){a(tier{}, web)}, wantReady: ready("Unknown Progressing"),
		},
		"a workload is healthy some ticks after it was applied": {
			options: func(o *Options) { o.ReadyAfter = 4 },
			steps:   []func(*world){a(tier{}, web), pass(4)}, wantReady: ready(succeeded),
		},
		"without wait and health checks what was applied is ready": {
			steps: []func(*world){a(tier{noWait: true}, web)}, wantReady: ready(succeeded),
		},
		"without wait the health checks count, also of what is not there": {
			steps:     []func(*world){a(tier{noWait: true, more: "healthChecks: [{apiVersion: apps/v1, kind: Deployment, name: db, namespace: default}]\n"}, web), pass(31)},
			wantReady: ready("False HealthCheckFailed"),
			wantMessage: map[string]string{
				"shop flux-system/a": "health check failed after 5m0s: timeout waiting for: [Deployment/default/db status: 'NotFound'] (simulated)",
			},
		},
		"a kind with a health expression takes its time": {
			options: func(o *Options) {
				o.Clusters[1].CRDs = append(o.Clusters[1].CRDs, idOf("demo.example/Widget/x").GroupKind())
			},
			steps: []func(*world){a(tier{more: "healthCheckExprs: [{apiVersion: demo.example/v1, kind: Widget, current: 'true'}]\n"},
				map[string]string{"planted/a/w.yaml": widget("v1")})},
			wantReady: ready("Unknown Progressing"),
		},
		"a broken object fails the health check after the timeout, and a healed one passes it": {
			steps: []func(*world){
				func(w *world) { w.Break("shop", webID, "image not found") }, a(tier{}, web), pass(29),
				func(w *world) { w.compareReady(story{wantReady: ready("Unknown Progressing")}) }, pass(1),
				func(w *world) {
					w.compareReady(story{wantReady: ready("False HealthCheckFailed"), wantMessage: map[string]string{
						"shop flux-system/a": "timeout waiting for: [Deployment/default/web status: 'InProgress': image not found]",
					}})
				},
				func(w *world) { w.Heal("shop", webID) }, pass(4),
			},
			wantReady: ready(succeeded),
		},
		"a stalled object fails the health check early": {
			steps:       []func(*world){func(w *world) { w.Stall("shop", webID, "quota") }, a(tier{}, web)},
			wantReady:   ready("False HealthCheckFailed"),
			wantMessage: map[string]string{"shop flux-system/a": "failed early due to stalled resources: [Deployment/default/web status: 'Failed': quota]"},
		},
		"what is ready and breaks stays ready until the next reconcile": {
			steps: []func(*world){
				a(tier{}, web), pass(2), func(w *world) { w.Stall("shop", webID, "quota") }, pass(20),
				func(w *world) { w.compareReady(story{wantReady: ready(succeeded)}) }, pass(40),
			},
			wantReady: ready("False HealthCheckFailed"),
		},
		"a newer revision waits for a running health check": {
			steps: []func(*world){
				func(w *world) { w.Break("shop", webID, "") }, a(tier{}, web),
				after(10, map[string]string{"planted/a/web.yaml": ""}),
				func(w *world) { w.compareReady(story{wantReady: ready("Unknown Progressing")}) }, pass(22),
			},
			wantReady: ready(succeeded), wantObjects: map[string][]string{"shop": {}},
		},
		"with the feature gate a newer revision cancels the health check": {
			options: func(o *Options) { o.CancelHealthChecks = true },
			steps: []func(*world){
				func(w *world) { w.Break("shop", webID, "") }, a(tier{}, web), after(1, map[string]string{"planted/a/web.yaml": ""}),
			},
			wantReady: ready(succeeded),
		},
		"a suspended Kustomization does nothing, and catches up": {
			steps: []func(*world){
				a(tier{}, nil), func(w *world) { w.Suspend("shop", "flux-system", "a", true) },
				after(5, map[string]string{"planted/a/x.yaml": configMap("default", "x")}),
				func(w *world) {
					if got := w.Objects("shop"); len(got) != 1 {
						w.t.Errorf("objects %v, want the Kustomization alone", got)
					}
					w.Suspend("shop", "flux-system", "a", false)
				}, pass(1),
			},
			wantReady: ready(succeeded), wantObjects: map[string][]string{"shop": {"core/ConfigMap/default/x"}},
		},
		"a Kustomization of another source is not simulated and says so": {
			steps: []func(*world){after(1, map[string]string{
				"clusters/shop/a.yaml": strings.Replace(tier{name: "a", path: "./p"}.String(), "name: flux-system, namespace", "name: other, namespace", 1),
			})},
			wantReady:   ready("False ArtifactFailed"),
			wantMessage: map[string]string{"shop flux-system/a": "Source 'GitRepository/flux-system/other' not found"},
		},
		"a field that changes what is applied is not simulated and says so": {
			steps:       []func(*world){a(tier{more: "targetNamespace: web\n"}, web)},
			wantReady:   ready("False BuildFailed"),
			wantMessage: map[string]string{"shop flux-system/a": "spec.targetNamespace is not simulated"},
		},
		"a dependency that is not there, not ready or not at the revision is waited for": {
			steps: []func(*world){
				func(w *world) { w.Break("shop", webID, "") },
				a(tier{more: "dependsOn: [{name: b}]\n"}, nil),
				func(w *world) {
					w.compareReady(story{wantReady: ready("False DependencyNotReady"), wantMessage: map[string]string{"shop flux-system/a": "dependency 'flux-system/b' not found"}})
				},
				after(1, map[string]string{"clusters/shop/b.yaml": tier{name: "b", path: "./planted/b"}.String(), "planted/b/web.yaml": deployment("web")}),
				pass(1),
				func(w *world) {
					w.compareReady(story{wantReady: ready("False DependencyNotReady"), wantMessage: map[string]string{"shop flux-system/a": "dependency 'flux-system/b' is not ready"}})
				},
				func(w *world) { w.Heal("shop", webID) }, pass(4),
				func(w *world) { w.compareReady(story{wantReady: ready(succeeded)}) },
				func(w *world) { w.Suspend("shop", "flux-system", "b", true); w.kustomization("b").observedGeneration++ },
				after(2, map[string]string{"planted/b/x.yaml": configMap("default", "x")}),
			},
			wantReady:   ready("False DependencyNotReady"),
			wantMessage: map[string]string{"shop flux-system/a": "dependency 'flux-system/b' is not updated yet"},
		},
		"a name that does not fit into a label is refused": {
			steps: []func(*world){after(1, map[string]string{
				"clusters/shop/a.yaml": tier{name: strings.Repeat("a", 64), path: "./planted/a"}.String(), "planted/a/x.yaml": configMap("default", "x"),
			})},
			wantReady: map[string]string{"shop flux-system/" + strings.Repeat("a", 64): refused},
			wantRejections: []string{"shop flux-system/" + strings.Repeat("a", 64) + ` ConfigMap/default/x: metadata.labels: Invalid value: "` +
				strings.Repeat("a", 64) + `": must be no more than 63 characters`},
		},
	})
}

func TestDeletionOfAKustomization(t *testing.T) {
	deletion := func(policy string) []func(*world) {
		text := strings.Replace(tier{name: "a", path: "./planted/a"}.String(), "WaitForTermination", policy, 1)
		return []func(*world){
			after(4, map[string]string{"clusters/shop/a.yaml": text, "planted/a/pod.yaml": object("v1", "Pod", "default", "pod", ""), "clusters/shop/README.md": "x"}),
			after(1, map[string]string{"clusters/shop/a.yaml": ""}),
		}
	}
	runStories(t, map[string]story{
		"WaitForTermination goes only when its objects are gone": {
			steps: deletion("WaitForTermination"), wantReady: map[string]string{"shop flux-system/a": succeeded},
			wantObjects: map[string][]string{"shop": {"core/Pod/default/pod"}},
		},
		"and then it goes": {
			steps: append(deletion("WaitForTermination"), pass(1)), wantReady: map[string]string{"shop flux-system/a": gone},
			wantObjects: map[string][]string{"shop": {}},
		},
		"Delete does not wait for its objects": {
			steps: deletion("Delete"), wantReady: map[string]string{"shop flux-system/a": gone},
			wantObjects: map[string][]string{"shop": {"core/Pod/default/pod"}},
		},
		"Orphan leaves its objects": {
			steps: append(deletion("Orphan"), pass(3)), wantReady: map[string]string{"shop flux-system/a": gone},
			wantObjects: map[string][]string{"shop": {"core/Pod/default/pod"}},
		},
	})
}

func TestStatus(t *testing.T) {
	w := newWorld(t, nil)
	key := probe.ReconcilerKey{Cluster: "shop", Namespace: "flux-system", Name: "a"}
	status := func() health.Reconciler {
		got, err := w.Channel().Reconcilers(t.Context(), []probe.ReconcilerKey{key})
		if err != nil {
			t.Fatal(err)
		}
		r := got[key]
		r.Spec, r.Message = nil, ""
		return r
	}
	k := tier{name: "a", path: "./planted/a"}
	want := health.Reconciler{Known: true}
	compare := func(when string) {
		t.Helper()
		if diff := cmp.Diff(want, status()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	compare("before it is there")

	after(1, map[string]string{"clusters/shop/a.yaml": k.String(), "planted/a/web.yaml": deployment("web")})(w)
	want = health.Reconciler{
		Known: true, Found: true, Rendered: "sha256:1", Generation: 1, ObservedGeneration: -1,
		Ready: "Unknown", Reason: "Progressing", ReadyGeneration: 1, AttemptedRevision: revisionOf(2),
	}
	compare("during the health check")

	w.ticks(1)
	want.Ready, want.Reason = "True", "ReconciliationSucceeded"
	want.Revision, want.ObservedGeneration, want.LastResult = revisionOf(2), 1, "ReconciliationSucceeded"
	compare("once it is healthy")

	w.Stall("shop", idOf("apps/Deployment/default/web"), "quota")
	k.interval = "20m"
	after(1, map[string]string{"clusters/shop/a.yaml": strings.Replace(k.String(), "sha256:1", "sha256:2", 1)})(w)
	want.Ready, want.Reason, want.LastResult = "False", "HealthCheckFailed", "HealthCheckFailed"
	want.Rendered, want.Generation, want.ReadyGeneration, want.AttemptedRevision = "sha256:2", 2, 2, revisionOf(3)
	compare("when a change of its spec failed")

	after(1, map[string]string{"clusters/shop/a.yaml": strings.Replace(k.String(), "sha256:1", "sha256:3", 1)})(w)
	want.Rendered, want.AttemptedRevision = "sha256:3", revisionOf(4)
	compare("an annotation does not raise the generation")
}
