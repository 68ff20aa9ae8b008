package simulator

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/core/health"
	"github.com/furrow-dev/furrow/internal/probe"
)

const onEdge = "kubeConfig: {secretRef: {name: edge-kubeconfig, key: value}}\n"

// edge is a seed that creates a cluster and plants on it through the hub.
func edge() map[string]string {
	return map[string]string{
		"clusters/mgmt/s/0.yaml": tier{name: "s.mgmt.00", namespace: "fleet", path: "./planted/mgmt", noWait: true,
			more: "healthChecks: [{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, name: edge, namespace: fleet}]\n"}.String(),
		"clusters/mgmt/s/1.yaml": tier{name: "s.edge.00", namespace: "fleet", path: "./planted/edge/0",
			more: onEdge + "dependsOn: [{name: s.mgmt.00}]\n"}.String(),
		"clusters/mgmt/s/2.yaml": tier{name: "s.edge.01", namespace: "fleet", path: "./planted/edge/1",
			more: onEdge + "dependsOn: [{name: s.edge.00}]\n"}.String(),
		"planted/mgmt/cluster.yaml": creator("edge"),
		"planted/edge/0/ns.yaml":    namespace("web"), "planted/edge/1/x.yaml": configMap("web", "x"),
	}
}

func TestCreators(t *testing.T) {
	without := func(files map[string]string, names ...string) map[string]string {
		for _, name := range names {
			files[name] = ""
		}
		return files
	}
	hub := func(states ...string) map[string]string {
		names := []string{"mgmt fleet/s.mgmt.00", "mgmt fleet/s.edge.00", "mgmt fleet/s.edge.01"}
		ready := map[string]string{}
		for i, state := range states {
			ready[names[i]] = state
		}
		return ready
	}
	planted := map[string][]string{"edge": {"core/ConfigMap/web/x", "core/Namespace/web"}, "mgmt": {"cluster.x-k8s.io/Cluster/fleet/edge"}}
	runStories(t, map[string]story{
		"a creator takes its time": {
			steps:     []func(*world){after(3, edge())},
			wantReady: hub("Unknown Progressing", "False DependencyNotReady", "False DependencyNotReady"),
		},
		"a created cluster is planted through its hub in order": {
			steps: []func(*world){after(8, edge())}, wantReady: hub(succeeded, succeeded, succeeded), wantObjects: planted,
		},
		"an annotation says how long a creator takes": {
			steps: []func(*world){func(w *world) {
				files := edge()
				files["planted/mgmt/cluster.yaml"] = strings.Replace(creator("edge"), "namespace: fleet", "namespace: fleet, annotations: {simulator.furrow.dev/create-after: '20'}", 1)
				after(20, files)(w)
			}},
			wantReady: hub("Unknown Progressing"),
		},
		"without the creator the kubeconfig Secret is missing, which counts as a rejection": {
			steps: []func(*world){after(2, map[string]string{
				"clusters/mgmt/a.yaml": tier{name: "a", namespace: "fleet", path: "./planted/a", more: onEdge}.String(), "planted/a/x.yaml": configMap("default", "x"),
			})},
			wantReady:      map[string]string{"mgmt fleet/a": refused},
			wantMessage:    map[string]string{"mgmt fleet/a": `unable to read KubeConfig secret 'fleet/edge-kubeconfig' error: secrets "edge-kubeconfig" not found`},
			wantRejections: []string{`edge fleet/a /: unable to read KubeConfig secret 'fleet/edge-kubeconfig' error: secrets "edge-kubeconfig" not found`},
		},
		"a creator on a workload cluster creates nothing": {
			options: func(o *Options) { o.Clusters[0].Role = RoleWorkload },
			steps:   []func(*world){after(20, edge())}, wantReady: hub("Unknown Progressing"),
		},
		"a broken creator creates nothing until it is healed": {
			steps: []func(*world){
				func(w *world) { w.Break("mgmt", idOf("cluster.x-k8s.io/Cluster/fleet/edge"), "no capacity") }, after(20, edge()),
				func(w *world) { w.compareReady(story{wantReady: hub("Unknown Progressing")}) },
				func(w *world) { w.Heal("mgmt", idOf("cluster.x-k8s.io/Cluster/fleet/edge")) }, pass(5),
			},
			wantReady: hub(succeeded, succeeded, succeeded),
		},
		"removal in reverse order loses nothing": {
			steps: []func(*world){
				after(8, edge()), after(3, map[string]string{"clusters/mgmt/s/2.yaml": ""}), after(4, map[string]string{"clusters/mgmt/s/1.yaml": ""}),
				after(5, map[string]string{"clusters/mgmt/s/0.yaml": "", "clusters/mgmt/README.md": "root"}),
			},
			wantReady: hub(gone, gone, gone), wantObjects: map[string][]string{"mgmt": {}, "edge": {}},
		},
		"a cluster that is destroyed too early loses its objects, and its Kustomizations hang in deletion": {
			steps: []func(*world){
				after(8, edge()), after(5, map[string]string{"clusters/mgmt/s/0.yaml": ""}),
				after(20, without(map[string]string{}, "clusters/mgmt/s/1.yaml", "clusters/mgmt/s/2.yaml")),
			},
			wantReady: hub(gone, "False DependencyNotReady", "False DependencyNotReady"),
			wantLosses: []string{
				"edge fleet/s.edge.01 ConfigMap/web/x: its cluster was destroyed with its creator cluster.x-k8s.io/Cluster/fleet/edge",
				"edge fleet/s.edge.00 Namespace/web: its cluster was destroyed with its creator cluster.x-k8s.io/Cluster/fleet/edge",
			},
		},
		"a silent cluster fails what its hub applies, which is not a rejection": {
			steps: []func(*world){
				after(8, edge()), func(w *world) { w.Silence("edge", true) }, after(2, map[string]string{"planted/edge/1/more.yaml": configMap("web", "more")}),
			},
			wantReady: hub(succeeded, refused), wantMessage: map[string]string{"mgmt fleet/s.edge.00": "connection refused"},
		},
		"a Kustomization whose cluster is silent hangs in deletion until it answers": {
			steps: []func(*world){
				after(8, edge()), func(w *world) { w.Silence("edge", true) }, after(20, map[string]string{"clusters/mgmt/s/2.yaml": ""}),
				func(w *world) {
					w.compareReady(story{wantReady: hub(succeeded, refused, succeeded)})
					w.Silence("edge", false)
				}, pass(4),
			},
			wantReady: hub(succeeded, succeeded, gone), wantObjects: map[string][]string{"edge": {"core/Namespace/web"}},
		},
		"a Kustomization that hangs in deletion goes when its file comes back to orphan": {
			steps: []func(*world){
				after(8, edge()), func(w *world) { w.Silence("edge", true) }, after(20, map[string]string{"clusters/mgmt/s/2.yaml": ""}),
				after(1, map[string]string{"clusters/mgmt/s/2.yaml": strings.Replace(edge()["clusters/mgmt/s/2.yaml"], "WaitForTermination", "Orphan", 1)}),
			},
			wantReady: hub(succeeded, "False DependencyNotReady", gone), wantObjects: map[string][]string{"edge": {"core/ConfigMap/web/x", "core/Namespace/web"}},
		},
		"a hub reconciles a cluster that was there before": {
			options: func(o *Options) {
				o.Clusters = append(o.Clusters, Cluster{Name: "edge", Role: RoleWorkload, KubeConfig: KubeConfig{"mgmt", "fleet"}})
			},
			steps: []func(*world){after(2, map[string]string{
				"clusters/mgmt/a.yaml": tier{name: "a", namespace: "fleet", path: "./planted/a", more: onEdge}.String(), "planted/a/x.yaml": configMap("default", "x"),
			})},
			wantReady:   map[string]string{"mgmt fleet/a": succeeded},
			wantObjects: map[string][]string{"edge": {"core/ConfigMap/default/x"}},
		},
		"a hub that is rebuilt comes up from Git alone, in order": {
			steps: []func(*world){
				after(8, edge()),
				func(w *world) {
					if err := w.Wipe("mgmt"); err != nil {
						w.t.Fatal(err)
					}
					if got := w.Objects("mgmt"); len(got) != 0 {
						w.t.Errorf("a wiped cluster has %v", got)
					}
				}, pass(12),
			},
			wantReady: hub(succeeded, succeeded, succeeded), wantObjects: planted,
		},
	})
}

func TestRecordsReadAsSentences(t *testing.T) {
	w := newWorld(t, nil)
	after(2, map[string]string{
		"clusters/shop/a.yaml": tier{name: "a", path: "./planted/a"}.String(), "planted/a/x.yaml": configMap("web", "x"),
	})(w)
	w.lose(w.clusters["shop"], idOf("core/ConfigMap/web/x"), w.kustomization("a"), "why")
	if _, there := w.Object("shop", idOf("core/ConfigMap/web/x")); there {
		t.Error("a rejected object is there")
	}
	if o, _ := w.Object("shop", idOf("kustomize.toolkit.fluxcd.io/Kustomization/flux-system/a")); o.ID.Name != "a" {
		t.Errorf("got %v, want the Kustomization", o.ID)
	}
	got := []string{w.Rejections()[0].String(), w.Losses()[0].String(), Rejection{Cluster: "c", Kustomization: "n/k", Message: "m"}.String()}
	want := []string{
		`tick 1: simulated cluster shop rejected core/ConfigMap/web/x of flux-system/a: namespaces "web" not found`,
		"tick 2: simulated cluster shop lost core/ConfigMap/web/x of flux-system/a: why",
		"tick 0: simulated cluster c rejected everything of n/k: m",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCreatorsOfTheChannel(t *testing.T) {
	w := newWorld(t, nil)
	key := probe.CreatorKey{Cluster: "mgmt", Object: idOf("cluster.x-k8s.io/Cluster/fleet/edge"), Creates: "edge"}
	compare := func(when string, want health.Creator) {
		t.Helper()
		got, err := w.Channel().Creators(t.Context(), []probe.CreatorKey{key})
		if err != nil {
			t.Fatal(err)
		}
		answer := got[key]
		if strings.Contains(answer.Message, "simulated") {
			answer.Message = ""
		}
		if diff := cmp.Diff(want, answer); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	compare("before it is there", health.Creator{Known: true})
	after(2, edge())(w)
	compare("while it is being created", health.Creator{Known: true, Found: true})
	w.ticks(4)
	compare("when it is up", health.Creator{Known: true, Found: true, Current: true, Answers: true})
	w.Silence("edge", true)
	compare("when the created cluster is silent", health.Creator{Known: true, Found: true, Current: true})
	w.Silence("mgmt", true)
	compare("when the management cluster is silent", health.Creator{})
}
