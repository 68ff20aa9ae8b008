package flux

import (
	kind "github.com/furrow-dev/furrow/internal/core/delivery/flux"

	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/health"
	"github.com/furrow-dev/furrow/internal/probe"
	"github.com/furrow-dev/furrow/test/servers"
)

// widgets are a kind with a status that nobody writes but the test.
const widgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.verdicts.example.com}
spec:
  group: verdicts.example.com
  scope: Namespaced
  names: {kind: Widget, listKind: WidgetList, plural: widgets, singular: widget}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

func widget(name, size string) string {
	return fmt.Sprintf("apiVersion: verdicts.example.com/v1\nkind: Widget\nmetadata: {name: %s, namespace: edge}\nspec: {size: %s}\n", name, size)
}

// byExpression is a spec in which an expression defines the health of Widgets.
func byExpression(current string) string {
	return fmt.Sprintf("  wait: true\n  timeout: 2m\n  healthCheckExprs: [{apiVersion: verdicts.example.com/v1, kind: Widget, current: %q}]\n", current)
}

// through is a spec by which Flux acts on another cluster.
func through(secret string) string {
	return "  wait: true\n  kubeConfig: {secretRef: {name: " + secret + "}}\n"
}

// verdicts are drawn on what real Flux says of tiers, as if they were on base.
type verdicts struct {
	ch    *Channel
	edge  *servers.Cluster
	match map[string]health.Match // by revision
}

// of judges a tier whose content at revisions is as v.match says, or different.
func (v verdicts) of(t *testing.T, name string, differs ...string) health.Verdict {
	t.Helper()
	seen := reconciler(t, v.ch, tierKey(name))
	want := health.Want{Rendered: seen.Rendered, Spec: seen.Spec, At: map[string]health.Match{}}
	for revision, match := range v.match {
		want.At[revision] = match
	}
	for _, revision := range differs {
		want.At["main@sha1:"+revision] = health.Differs
	}
	return judged(seen, want)
}

// await waits for a verdict.
func (v verdicts) await(t *testing.T, name string, phase health.Phase, says string, differs ...string) {
	t.Helper()
	var got health.Verdict
	defer func() {
		if t.Failed() {
			t.Logf("%s: %+v\nof %+v", name, got, reconciler(t, v.ch, tierKey(name)))
		}
	}()
	eventually(t, 90*time.Second, fmt.Sprintf("%s is %s: %s", name, phase, says), func() bool {
		got = v.of(t, name, differs...)
		return got.Phase == phase && strings.Contains(got.Message, says)
	})
	t.Logf("%s is %s: %s", name, got.Phase, got.Message)
}

func (v verdicts) plant(t *testing.T, specs map[string]string) {
	t.Helper()
	for name, spec := range specs {
		if !strings.Contains(spec, "path:") {
			spec = "  path: ./" + name + "\n" + spec
		}
		apply(t, v.edge, strings.Replace(fmt.Sprintf(tier, name), "  path: ./\n", spec, 1))
	}
}

func (v verdicts) patch(t *testing.T, name, patch string) {
	t.Helper()
	if err := v.edge.Client().Patch(t.Context(), named(kustomizationKind, "edge", name), client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

// reconcileNow asks Flux to reconcile a tier now.
func (v verdicts) reconcileNow(t *testing.T, name string) {
	t.Helper()
	v.patch(t, name, `{"metadata":{"annotations":{"reconcile.fluxcd.io/requestedAt":"`+metav1.Now().UTC().Format(time.RFC3339Nano)+`"}}}`)
}

// setStatus writes the status of a Widget, once Flux has applied that.
func (v verdicts) setStatus(t *testing.T, name, status string) {
	t.Helper()
	widget := named(schema.GroupVersionKind{Group: "verdicts.example.com", Version: "v1", Kind: "Widget"}, "edge", name)
	eventually(t, time.Minute, "Widget "+name+" is there", func() bool {
		err := v.edge.Client().Get(t.Context(), client.ObjectKeyFromObject(widget), widget)
		if client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
		return err == nil
	})
	setStatus(t, v.edge, widget, status)
}

// hasObject reports whether an object is on the cluster.
func (v verdicts) hasObject(t *testing.T, name string) bool {
	t.Helper()
	err := v.edge.Client().Get(t.Context(), client.ObjectKey{Namespace: "edge", Name: name}, &corev1.ConfigMap{})
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return err == nil
}

// testVerdicts draws the verdict in each situation in which what Flux says is easily misread.
func testVerdicts(t *testing.T, ch *Channel, edge *servers.Cluster, fleet fleetRepo) {
	apply(t, edge, widgets)
	first := fleet.push(t, map[string]string{
		"unknown/nope.yaml": "apiVersion: nope.example/v1\nkind: Nope\nmetadata: {name: n, namespace: edge}\n",
		"nowhere/map.yaml":  strings.Replace(configMap("nowhere"), "edge", "nonesuch", 1),
		"emptied/map.yaml":  configMap("emptied"), "emptied/README.md": "",
		"gone/map.yaml":  configMap("gone"),
		"held/map.yaml":  strings.Replace(configMap("held"), "namespace: edge", "namespace: edge, finalizers: [example.com/hold]", 1),
		"plain/w.yaml":   widget("plain", "s"),
		"exists/w.yaml":  widget("exists", "s"),
		"vacuous/w.yaml": widget("vacuous", "s"),
		"old/w.yaml":     widget("old", "s"),
	})
	v := verdicts{ch, edge, map[string]health.Match{"main@sha1:" + first: health.Matches}}
	for name, data := range map[string][]byte{
		"empty": nil, "garbage": []byte("a: {"),
		"away": changed(t, edge, func(config *clientcmdapi.Config) {
			for _, cluster := range config.Clusters {
				cluster.Server = "https://127.0.0.1:1"
			}
		}),
	} {
		key := map[bool]string{true: "other", false: "value"}[data == nil]
		apply(t, edge, "apiVersion: v1\nkind: Secret\nmetadata: {name: "+name+", namespace: edge}\ndata: {"+key+": "+base64.StdEncoding.EncodeToString(data)+"}\n")
	}
	v.plant(t, map[string]string{
		"slow":     "  path: ./good\n  timeout: 30s\n  healthChecks: [{apiVersion: v1, kind: ConfigMap, name: never, namespace: edge}]\n",
		"unknown":  "  wait: true\n",
		"nowhere":  "  wait: true\n",
		"nosecret": "  path: ./good\n" + through("none"), "nokey": "  path: ./good\n" + through("empty"),
		"nokubeconfig": "  path: ./good\n" + through("garbage"), "noserver": "  path: ./good\n" + through("away"),
		"emptied": "  wait: true\n", "gone": "  wait: true\n", "held": "  wait: true\n  deletionPolicy: WaitForTermination\n",
		"steady": "  path: ./good\n  wait: true\n", "stopped": "  path: ./good\n  wait: true\n",
		"flips":   "  path: ./good\n  timeout: 30s\n  healthChecks: [{apiVersion: v1, kind: ConfigMap, name: late, namespace: edge}]\n",
		"plain":   "  wait: true\n",
		"exists":  byExpression("status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')"),
		"vacuous": byExpression("status.conditions.filter(c, c.type == 'Ready').all(c, c.status == 'True')"),
		"old":     byExpression("status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')"),
	})

	// What fails says so, whatever Flux calls it, and what is slow does not.
	for name, says := range map[string]string{
		"unknown": `no matches for kind "Nope"`, "nowhere": `namespaces "nonesuch" not found`, "nosecret": "unable to read KubeConfig secret",
		"nokey": "does not contain", "nokubeconfig": "invalid KubeConfig", "noserver": "connection refused",
	} {
		v.await(t, name, health.Failed, says)
	}
	for _, name := range []string{"emptied", "gone", "held", "steady", "stopped", "flips"} {
		v.await(t, name, health.Ready, "healthy")
	}

	// Health is what the kind reports, and some kinds report it badly.
	v.await(t, "plain", health.Ready, "healthy")
	v.await(t, "exists", health.Progressing, "")
	other := `{"conditions":[{"type":"Other","status":"True"}]}`
	v.setStatus(t, "vacuous", other)
	v.await(t, "vacuous", health.Ready, "healthy")
	v.setStatus(t, "exists", other)
	v.await(t, "exists", health.Progressing, "")
	current := `{"conditions":[{"type":"Ready","status":"True"}]}`
	for _, name := range []string{"exists", "old"} {
		v.setStatus(t, name, current)
		v.await(t, name, health.Ready, "healthy")
	}

	// The same revision goes from success to failure and back.
	remove(t, edge, named(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, "edge", "late"))
	v.reconcileNow(t, "flips")
	v.await(t, "flips", health.Progressing, "ConfigMap/edge/late")
	apply(t, edge, configMap("late"))

	// A deletion appears to be a success until the end.
	remove(t, edge, named(kustomizationKind, "edge", "held"))
	v.await(t, "held", health.Progressing, "being deleted")
	if seen := reconciler(t, ch, tierKey("held")); seen.Ready != "True" || !v.hasObject(t, "held") {
		t.Errorf("what is being deleted is %+v: the test does not show what it should", seen)
	}
	gone := func() health.Verdict {
		return judged(reconciler(t, ch, tierKey("held")), health.Want{Gone: true, RootFound: true})
	}
	if got := gone(); got.Phase != health.Progressing {
		t.Errorf("its removal is %+v", got)
	}
	held := named(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, "edge", "held")
	if err := edge.Client().Patch(t.Context(), held, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
		t.Fatal(err)
	}
	eventually(t, time.Minute, "the tier is gone", func() bool { return gone().Phase == health.Absent })

	// A commit empties one directory, removes another, changes a third, and leaves the rest.
	v.patch(t, "stopped", `{"spec":{"suspend":true}}`)
	second := fleet.push(t, map[string]string{"old/w.yaml": widget("old", "l")}, "emptied/map.yaml", "gone/map.yaml")
	v.match["main@sha1:"+second] = health.Matches
	for _, name := range []string{"steady", "flips", "old"} { // the status of old is of the spec before, and says nothing of that
		eventually(t, 90*time.Second, name+" is ready at the new commit", func() bool {
			return v.of(t, name).Phase == health.Ready && reconciler(t, ch, tierKey(name)).Revision == "main@sha1:"+second
		})
	}
	v.await(t, "stopped", health.Behind, "suspended")
	eventually(t, time.Minute, "Flux says that an emptied tier is ready, and has pruned it", func() bool {
		seen := reconciler(t, ch, tierKey("emptied"))
		return seen.Ready == "True" && seen.Revision == "main@sha1:"+second && !v.hasObject(t, "emptied")
	})
	v.await(t, "emptied", health.Behind, "does not have this yet", second)
	eventually(t, time.Minute, "Flux does not find the directory that is gone", func() bool {
		return reconciler(t, ch, tierKey("gone")).Reason == "ArtifactFailed"
	})
	if got := v.of(t, "gone", second); got.Phase == health.Ready || !v.hasObject(t, "gone") {
		t.Errorf("a tier whose directory is gone is %+v, its object is there: %t", got, v.hasObject(t, "gone"))
	}

	// A source that cannot fetch leaves all others Ready.
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "flux-system", Name: "flux-system"}}
	if err := edge.Client().Patch(t.Context(), secret, client.RawPatch(types.MergePatchType, []byte(`{"stringData":{"password":"wrong"}}`))); err != nil {
		t.Fatal(err)
	}
	third := fleet.push(t, map[string]string{"good/map.yaml": configMap("good") + "data: {a: b}\n"})
	v.match["main@sha1:"+third] = health.Matches
	eventually(t, time.Minute, "the message says that the source cannot fetch", func() bool {
		r := root(t, ch, probe.RootKey{Cluster: "edge", Path: "clusters/edge"})
		return kind.Kind{}.RootUnfit(r, health.WantRoot{Cluster: "edge", Path: "clusters/edge", URL: r.URL, Branch: "main"}).Reason == v1alpha1.ReasonRootSourceFailed
	})
	if seen := reconciler(t, ch, tierKey("steady")); seen.Ready != "True" {
		t.Errorf("the tier is %+v: the test does not show what it should", seen)
	}
	v.await(t, "steady", health.Behind, "does not have this yet", first, second)

	v.await(t, "slow", health.Progressing, "timeout waiting for")
}

// judged is the verdict on a tier that creates no cluster.
func judged(r health.Reconciler, want health.Want) health.Verdict {
	return health.Judge(kind.Kind{}.Judge(r, want), r, nil, want)
}
