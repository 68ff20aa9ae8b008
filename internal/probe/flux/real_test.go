package flux

import (
	"context"
	"encoding/base64"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/furrow-dev/furrow/internal/core/health"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/probe"
	"github.com/furrow-dev/furrow/test/servers"
)

// reader is the user of the channel in these tests: it may do what the package's
// comment says that it needs, and nothing else.
const (
	reader     = "furrow"
	readerRole = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: furrow}
rules:
- {apiGroups: [kustomize.toolkit.fluxcd.io], resources: [kustomizations], verbs: [get, list, watch]}
- {apiGroups: [source.toolkit.fluxcd.io], resources: [gitrepositories], verbs: [get, list, watch]}
- {apiGroups: [cluster.x-k8s.io], resources: [clusters], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: furrow}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: furrow}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: furrow}]
---
apiVersion: v1
kind: Namespace
metadata: {name: edge}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: furrow, namespace: edge}
rules:
- {apiGroups: [""], resources: [secrets], resourceNames: [newborn-kubeconfig], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: furrow, namespace: edge}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: furrow}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: furrow}]
`
)

// as is the cluster's kubeconfig for another user.
func as(t *testing.T, c *servers.Cluster, user string) []byte {
	t.Helper()
	return changed(t, c, func(config *clientcmdapi.Config) {
		for _, info := range config.AuthInfos {
			info.Impersonate = user
		}
	})
}

func changed(t *testing.T, c *servers.Cluster, change func(*clientcmdapi.Config)) []byte {
	t.Helper()
	config, err := clientcmd.Load(c.KubeConfig)
	if err != nil {
		t.Fatal(err)
	}
	change(config)
	data, err := clientcmd.Write(*config)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func put(t *testing.T, dir, file string, data []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, file), data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func apply(t *testing.T, c *servers.Cluster, documents string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := c.Apply(ctx, []byte(documents)); err != nil {
		t.Fatal(err)
	}
}

func crds(t *testing.T, c *servers.Cluster, names ...servers.Name) {
	t.Helper()
	for _, n := range names {
		data, err := servers.CRDs(n)
		if err != nil {
			t.Fatal(err)
		}
		apply(t, c, string(data))
	}
}

var (
	kustomizationKind = schema.GroupVersionKind{Group: kustomizations.Group, Version: "v1", Kind: "Kustomization"}
	capiKind          = schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "Cluster"}
)

func named(gvk schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

func setStatus(t *testing.T, c *servers.Cluster, u *unstructured.Unstructured, status string) {
	t.Helper()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"status":`+status+`}`))
	if err := c.Client().Status().Patch(t.Context(), u, patch); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, c *servers.Cluster, u *unstructured.Unstructured) {
	t.Helper()
	if err := c.Client().Delete(t.Context(), u); err != nil {
		t.Fatal(err)
	}
}

const tier = `
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: %[1]s
  namespace: edge
  labels: {furrow.dev/seed: shop, furrow.dev/cluster: edge, furrow.dev/tier: "00"}
  annotations: {furrow.dev/rendered: "sha256:abc"}
spec:
  interval: 10m
  prune: true
  path: ./
  sourceRef: {kind: GitRepository, name: flux-system, namespace: flux-system}
`

func tierKey(name string) probe.ReconcilerKey {
	return probe.ReconcilerKey{Cluster: "edge", Namespace: "edge", Name: name}
}

// TestChannelOverAnAPIServer asks an API server on which the test plays Flux and Cluster API.
func TestChannelOverAnAPIServer(t *testing.T) {
	servers.Need(t, servers.ClusterAPI, servers.SourceController, servers.KustomizeController)
	all := servers.MustClusters(t, servers.ClusterOptions{Name: "edge"}, servers.ClusterOptions{Name: "newborn"})
	edge, newborn := all[0], all[1]
	dir := t.TempDir()
	ch := New(Options{Directory: dir})
	ch.pace = pace{secret: 2 * time.Second, reread: 2 * time.Second}
	defer ch.Close()

	t.Run("without a kubeconfig it is said where to put one", func(t *testing.T) {
		if got := reconciler(t, ch, tierKey("a")); got.Known || !strings.Contains(got.Message, "Put one into the directory of kubeconfigs, named edge") {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("a new kubeconfig is used, and missing CRDs are reported", func(t *testing.T) {
		apply(t, edge, readerRole)
		put(t, dir, "edge.yaml", as(t, edge, reader))
		took := eventually(t, 10*time.Second, "it is asked", func() bool { return strings.Contains(reconciler(t, ch, tierKey("a")).Message, "Install Flux") })
		t.Logf("after %s", took)
	})
	capi := probe.CreatorKey{
		Cluster: "edge", Object: manifest.ID{Group: "cluster.x-k8s.io", Kind: "Cluster", Namespace: "edge", Name: "newborn"}, Creates: "newborn",
		KubeConfig: probe.SecretKey{Cluster: "edge", Namespace: "edge", Name: "newborn-kubeconfig"},
	}
	t.Run("a creator whose kind is not known is not there", func(t *testing.T) {
		if got := creator(t, ch, capi); !got.Known || got.Found || got.Message == "" {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("CRDs that appear are taken up", func(t *testing.T) {
		crds(t, edge, servers.SourceController, servers.KustomizeController)
		took := eventually(t, 10*time.Second, "it is known", func() bool { return reconciler(t, ch, tierKey("a")).Known })
		t.Logf("after %s", took)
		if got := reconciler(t, ch, tierKey("a")); got.Found {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("what is forbidden is reported, and read when it is permitted", func(t *testing.T) { testForbidden(t, ch, edge, dir) })
	t.Run("Kustomizations", func(t *testing.T) { testFollows(t, ch, edge) })
	t.Run("roots", func(t *testing.T) { testRoots(t, ch, edge) })
	t.Run("creators", func(t *testing.T) {
		crds(t, edge, servers.ClusterAPI)
		testCreator(t, ch, edge, capi)
		testSecret(t, ch, edge, newborn, capi)
	})
	t.Run("silence", func(t *testing.T) { testSilence(t, ch, edge) })
	t.Run("a kubeconfig that goes, and another one", func(t *testing.T) {
		if err := os.Remove(filepath.Join(dir, "edge.yaml")); err != nil {
			t.Fatal(err)
		}
		took := eventually(t, 10*time.Second, "it is unknown", func() bool { return !reconciler(t, ch, tierKey("a")).Known })
		put(t, dir, "edge.conf", newborn.KubeConfig)
		again := eventually(t, 10*time.Second, "the other one is asked", func() bool { return strings.Contains(reconciler(t, ch, tierKey("a")).Message, "Install Flux") })
		t.Logf("unknown after %s, the other one after %s", took, again)
	})
}

// testForbidden asks as a user who may do nothing, then list, then watch, then get too.
func testForbidden(t *testing.T, ch *Channel, edge *servers.Cluster, dir string) {
	put(t, dir, "narrow", as(t, edge, "nobody"))
	key := probe.ReconcilerKey{Cluster: "narrow", Namespace: "edge", Name: "a"}
	permitted := ""
	for _, verb := range []string{"list", "watch", "get"} {
		eventually(t, 15*time.Second, verb+" is reported as forbidden", func() bool {
			got := reconciler(t, ch, key)
			return !got.Known && strings.Contains(got.Message, `cannot `+verb+` resource "kustomizations" in API group "kustomize.toolkit.fluxcd.io"`)
		})
		permitted += verb + ", "
		apply(t, edge, `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: nobody}
rules: [{apiGroups: [kustomize.toolkit.fluxcd.io], resources: [kustomizations], verbs: [`+permitted+`]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: nobody}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: nobody}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: nobody}]
`)
	}
	took := eventually(t, 10*time.Second, "it is known", func() bool { return reconciler(t, ch, key).Known })
	t.Logf("known %s after it was permitted", took)
}

// testFollows measures how fast the answers follow.
func testFollows(t *testing.T, ch *Channel, edge *servers.Cluster) {
	within := func(what string, holds func(health.Reconciler) bool) {
		t.Helper()
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		for !holds(reconciler(t, ch, tierKey("a"))) {
			select {
			case <-ch.Changed():
			case <-ctx.Done():
				t.Fatalf("after 2s it was not signalled that %s: %+v", what, reconciler(t, ch, tierKey("a")))
			}
		}
		t.Logf("%s: after %s", what, time.Since(began))
	}
	drain(ch)
	apply(t, edge, fmt.Sprintf(tier, "a"))
	within("it is there", func(r health.Reconciler) bool { return r.Found })
	got := reconciler(t, ch, tierKey("a"))
	if got.Rendered != "sha256:abc" || got.Generation != 1 || got.Ready != "" || got.Spec["path"] != "./" || got.Deleting || got.Suspended {
		t.Errorf("got %+v", got)
	}
	a := named(kustomizationKind, "edge", "a")
	setStatus(t, edge, a, `{"observedGeneration":1,"lastAppliedRevision":"main@sha1:1","lastAttemptedRevision":"main@sha1:1",
		"conditions":[{"type":"Ready","status":"True","reason":"ReconciliationSucceeded","message":"Applied","observedGeneration":1,"lastTransitionTime":"2026-01-01T10:00:00Z"}]}`)
	within("it is ready", func(r health.Reconciler) bool { return r.Ready == "True" })
	eventually(t, 5*time.Second, "so it is by the other kubeconfig of this API server", func() bool {
		return reconciler(t, ch, probe.ReconcilerKey{Cluster: "narrow", Namespace: "edge", Name: "a"}).Ready == "True"
	})
	drain(ch)

	// What changes no answer: another tier's object, a root, a heartbeat.
	setStatus(t, edge, a, `{"lastHandledReconcileAt":"1"}`)
	setStatus(t, edge, a, `{"conditions":[{"type":"Ready","status":"Unknown","reason":"Progressing","message":"Reconciliation in progress","observedGeneration":1,"lastTransitionTime":"2026-01-01T10:10:00Z"}]}`)
	setStatus(t, edge, a, `{"conditions":[{"type":"Ready","status":"True","reason":"ReconciliationSucceeded","message":"Applied","observedGeneration":1,"lastTransitionTime":"2026-01-01T10:10:01Z"}]}`)
	apply(t, edge, fmt.Sprintf(tier, "b"))
	ch.mu.Lock()
	c := ch.clusters["edge"]
	ch.mu.Unlock()
	listed := func(tier string) *reconcilerRow { // without asking, which would make it of interest
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.session.reconcilers.rows[name{"edge", tier}]
	}
	eventually(t, 5*time.Second, "the channel observed all that", func() bool {
		return listed("b") != nil
	})
	if signalled(ch) {
		t.Error("a heartbeat was signalled")
	}
	if got := reconciler(t, ch, tierKey("a")); got.Ready != "True" {
		t.Errorf("got %+v", got)
	}

	held := named(kustomizationKind, "edge", "a")
	label := func(value string) {
		t.Helper()
		if err := edge.Client().Patch(t.Context(), held, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"furrow.dev/seed":`+value+`}}}`))); err != nil {
			t.Fatal(err)
		}
	}
	label("null")
	eventually(t, time.Second, "it leaves the feed", func() bool {
		if got := reconciler(t, ch, tierKey("a")); got.Known && !got.Found {
			t.Fatal("an object without our label counts as gone")
		}
		return listed("a") == nil
	})
	within("it is found by its name", func(r health.Reconciler) bool { return r.Found && r.Ready == "True" })
	label(`"shop"`)
	eventually(t, 2*time.Second, "it is in the feed again, and not read by name any more", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.session.reconcilers.rows[name{"edge", "a"}] != nil && c.objects[kustomizationKey(name{"edge", "a"})] == nil
	})
	if err := edge.Client().Patch(t.Context(), held, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":["furrow.dev/test"]},"spec":{"suspend":true}}`))); err != nil {
		t.Fatal(err)
	}
	within("it is suspended", func(r health.Reconciler) bool { return r.Suspended && r.Generation == 2 && r.ReadyGeneration == 1 })
	remove(t, edge, held)
	within("it is being deleted", func(r health.Reconciler) bool { return r.Found && r.Deleting })
	if err := edge.Client().Patch(t.Context(), held, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
		t.Fatal(err)
	}
	within("it is gone", func(r health.Reconciler) bool { return r.Known && !r.Found })
}

func testRoots(t *testing.T, ch *Channel, edge *servers.Cluster) {
	key := probe.RootKey{Cluster: "edge", Path: "clusters/edge"}
	if got := root(t, ch, key); !got.Known || got.Found {
		t.Fatalf("got %+v", got)
	}
	drain(ch)
	within := func(what string, holds func(health.Root) bool) {
		t.Helper()
		eventually(t, 3*time.Second, what, func() bool { return holds(root(t, ch, key)) })
		if !signalled(ch) {
			t.Errorf("it is not signalled that %s", what)
		}
	}
	object := `
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: %s, namespace: edge}
spec: {interval: 10m, prune: true, path: %s, sourceRef: {kind: %s, name: fleet}}
`
	apply(t, edge, fmt.Sprintf(object, "parent", "./clusters/", "GitRepository"))
	within("a parent's root is found, without its source", func(r health.Root) bool {
		return r.Found && r.Name == "edge/parent" && r.Path == "clusters" && !r.SourceFound && r.Prune
	})
	apply(t, edge, fmt.Sprintf(object, "exact", "./clusters/edge", "GitRepository"))
	within("the exact one is preferred", func(r health.Root) bool { return r.Name == "edge/exact" && r.Path == "clusters/edge" })
	apply(t, edge, `
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: fleet, namespace: edge}
spec: {interval: 10m, url: "https://user:secret@forge.example/org/fleet.git", ref: {branch: main}, ignore: "*.md"}
`)
	within("the source is found", func(r health.Root) bool {
		return r.SourceFound && r.Source == "edge/fleet" && r.URL == "https://forge.example/org/fleet.git" && r.Branch == "main" && r.Ignore == "*.md" && r.SourceReady == ""
	})
	setStatus(t, edge, named(schema.GroupVersionKind{Group: sourceGroup, Version: "v1", Kind: "GitRepository"}, "edge", "fleet"),
		`{"conditions":[{"type":"Ready","status":"False","reason":"GitOperationFailed","message":"cannot","lastTransitionTime":"2026-01-01T10:00:00Z"}]}`)
	within("the source fails", func(r health.Root) bool { return r.SourceReady == "False" && r.SourceMessage == "cannot" })
	setStatus(t, edge, named(kustomizationKind, "edge", "parent"), `{"observedGeneration":1}`)
	setStatus(t, edge, named(kustomizationKind, "edge", "exact"),
		`{"conditions":[{"type":"Ready","status":"False","reason":"BuildFailed","message":"took 3.2s","lastTransitionTime":"2026-01-01T10:00:00Z"}]}`)
	within("the root fails", func(r health.Root) bool { return r.Ready == "False" && r.Reason == "BuildFailed" })
	apply(t, edge, fmt.Sprintf(object, "exact", "./clusters/edge", "Bucket"))
	eventually(t, 3*time.Second, "another kind of source is named", func() bool {
		r := root(t, ch, key)
		return r.Found && r.SourceKind == "Bucket" && !r.SourceFound
	})
	drain(ch)
}

func testCreator(t *testing.T, ch *Channel, edge *servers.Cluster, key probe.CreatorKey) {
	eventually(t, 5*time.Second, "it is not there", func() bool {
		got := creator(t, ch, key)
		return got.Known && !got.Found && strings.Contains(got.Message, "Cluster edge/newborn does not exist on cluster edge")
	})
	object := `
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: newborn, namespace: edge, finalizers: [furrow.dev/test]}
spec:
  paused: %t
  controlPlaneEndpoint: {host: 127.0.0.1, port: 6443}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: FooCluster, name: newborn}
`
	within := func(what string, holds func(health.Creator) bool) {
		t.Helper()
		took := eventually(t, 4*time.Second, what, func() bool { return holds(creator(t, ch, key)) })
		if !signalled(ch) {
			t.Errorf("it is not signalled that %s", what)
		}
		t.Logf("%s: after %s", what, took)
	}
	drain(ch)
	apply(t, edge, fmt.Sprintf(object, false))
	within("it is found", func(c health.Creator) bool {
		return c.Found && !c.Current && c.Message == "controlPlaneInitialized is not true yet"
	})
	u := named(capiKind, "edge", "newborn")
	setStatus(t, edge, u, `{"observedGeneration":1,"initialization":{"controlPlaneInitialized":true}}`)
	within("it is current", func(c health.Creator) bool {
		return c.Current && !c.Answers && strings.Contains(c.Message, "the Secret edge/newborn-kubeconfig on cluster edge is not there yet")
	})
	drain(ch)
}

// testSecret lets the kubeconfig of a cluster appear and change in a Secret.
func testSecret(t *testing.T, ch *Channel, edge, newborn *servers.Cluster, key probe.CreatorKey) {
	secret := func(data []byte) {
		t.Helper()
		apply(t, edge, "apiVersion: v1\nkind: Secret\nmetadata: {name: newborn-kubeconfig, namespace: edge}\ndata: {value: "+base64.StdEncoding.EncodeToString(data)+"}\n")
	}
	within := func(limit time.Duration, what string, holds func(health.Creator) bool) {
		t.Helper()
		took := eventually(t, limit, what, func() bool { return holds(creator(t, ch, key)) })
		t.Logf("%s: after %s: %s", what, took, creator(t, ch, key).Message)
	}
	reports := func(what string) func(health.Creator) bool {
		return func(c health.Creator) bool { return !c.Answers && c.Current && strings.Contains(c.Message, what) }
	}
	secret(newborn.KubeConfig)
	within(6*time.Second, "it answers", func(c health.Creator) bool { return c.Answers && c.Message == "" })
	eventually(t, time.Second, "that is signalled", func() bool { return signalled(ch) })

	secret(changed(t, newborn, func(c *clientcmdapi.Config) {
		for _, u := range c.AuthInfos {
			u.Exec = &clientcmdapi.ExecConfig{Command: "touch", Args: []string{filepath.Join(t.TempDir(), "ran")}, APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: "Never"}
		}
	}))
	within(8*time.Second, "a program is refused", reports("exec plugin"))
	secret(changed(t, newborn, func(c *clientcmdapi.Config) {
		for n := range c.AuthInfos {
			c.AuthInfos[n] = &clientcmdapi.AuthInfo{Token: secretToken}
		}
	}))
	within(8*time.Second, "credentials are refused", reports("refuses the credentials in Secret edge/newborn-kubeconfig on cluster edge"))
	secret(changed(t, newborn, func(c *clientcmdapi.Config) {
		for _, cl := range c.Clusters {
			cl.Server = "https://127.0.0.1:1"
		}
	}))
	within(8*time.Second, "nothing listens", reports("https://127.0.0.1:1 does not answer: connection refused"))
	secret(changed(t, newborn, func(c *clientcmdapi.Config) {
		for _, cl := range c.Clusters {
			cl.CertificateAuthorityData = nil
		}
	}))
	within(8*time.Second, "the authority is not known", reports("certificate"))
	secret(newborn.KubeConfig)
	within(8*time.Second, "it answers again", func(c health.Creator) bool { return c.Answers })

	u := named(capiKind, "edge", "newborn")
	remove(t, edge, u)
	within(5*time.Second, "it is being deleted", func(c health.Creator) bool {
		return c.Found && !c.Current && c.Message == "the creator is being deleted"
	})
	if err := edge.Client().Patch(t.Context(), u, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
		t.Fatal(err)
	}
	within(4*time.Second, "it is gone", func(c health.Creator) bool { return c.Known && !c.Found })
}

// testSilence stops the API server, and lets requests vanish in it.
func testSilence(t *testing.T, ch *Channel, edge *servers.Cluster) {
	known := func() bool { return reconciler(t, ch, tierKey("b")).Known }
	signals := func() {
		t.Helper()
		eventually(t, time.Second, "that is signalled", func() bool { return signalled(ch) })
	}
	eventually(t, 5*time.Second, "it is known", known)
	drain(ch)
	stopped := make(chan error, 1)
	go func() { stopped <- edge.StopAPIServer() }()
	took := eventually(t, 5*time.Second, "an API server that is asked to stop is unknown", func() bool { return !known() })
	t.Logf("unknown %s after it was asked to stop: %s", took, reconciler(t, ch, tierKey("b")).Message)
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	eventually(t, 5*time.Second, "the reason is reported", func() bool { return strings.Contains(reconciler(t, ch, tierKey("b")).Message, "connection refused") })
	signals()
	if err := edge.StartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	took = eventually(t, 10*time.Second, "it is known again", func() bool { return reconciler(t, ch, tierKey("b")).Found })
	t.Logf("known %s after it was back", took)
	signals()
	drain(ch)

	if err := edge.Pause(); err != nil {
		t.Fatal(err)
	}
	defer edge.Resume()
	took = eventually(t, 30*time.Second, "an API server that says nothing is unknown", func() bool { return !known() })
	signals()
	t.Logf("unknown %s after it went silent: %s", took, reconciler(t, ch, tierKey("b")).Message)
	if err := edge.Resume(); err != nil {
		t.Fatal(err)
	}
	took = eventually(t, 15*time.Second, "it is known again", func() bool { return reconciler(t, ch, tierKey("b")).Found })
	signals()
	t.Logf("known %s after it went on", took)
}

// TestChannelOverFlux lands what real controllers write in the right fields, and draws the right verdicts on it.
func TestChannelOverFlux(t *testing.T) {
	servers.Need(t, append(servers.ForFlux, servers.GiteaServer)...)
	forge := servers.MustGitea(t, servers.GiteaOptions{})
	edge := servers.MustCluster(t, servers.ClusterOptions{Name: "edge"})
	servers.MustFlux(t, edge, servers.FluxOptions{})
	if err := forge.CreateOrg(t.Context(), "people"); err != nil {
		t.Fatal(err)
	}
	url, err := forge.CreateRepo(t.Context(), "people", "fleet", true)
	if err != nil {
		t.Fatal(err)
	}
	fleet := cloneFleet(t, url, forge.AdminUser, forge.AdminToken)
	pushed := fleet.push(t, map[string]string{"clusters/edge/README.md": "", "good/map.yaml": configMap("good"), "broken/a.yaml": "a: {"})
	if err := edge.Bootstrap(t.Context(), servers.RootOptions{URL: url, Path: "./clusters/edge", Username: forge.AdminUser, Password: forge.AdminToken}); err != nil {
		t.Fatal(err)
	}
	apply(t, edge, readerRole)
	dir := t.TempDir()
	put(t, dir, "edge", as(t, edge, reader))
	ch := New(Options{Directory: dir})
	defer ch.Close()

	eventually(t, 60*time.Second, "the root is ready", func() bool {
		r := root(t, ch, probe.RootKey{Cluster: "edge", Path: "clusters/edge"})
		return r.Found && r.Name == "flux-system/flux-system" && r.Ready == "True" && r.Prune && !r.Wait && !r.Suspended &&
			r.Source == "flux-system/flux-system" && r.SourceKind == "GitRepository" && r.SourceFound && r.SourceReady == "True" && r.URL == url && r.Branch == "main"
	})
	states := map[string]struct {
		spec  string
		holds func(r health.Reconciler) bool
	}{
		"good": {"  wait: true\n", func(r health.Reconciler) bool {
			return r.Ready == "True" && r.Reason == "ReconciliationSucceeded" && r.ObservedGeneration == r.Generation && r.ReadyGeneration == r.Generation &&
				r.Revision == "main@sha1:"+pushed && r.AttemptedRevision == r.Revision && r.Spec["wait"] == true
		}},
		"nopath": {"  path: ./none\n", func(r health.Reconciler) bool {
			return r.Ready == "False" && r.Reason == "ArtifactFailed" && r.Revision == "" && strings.Contains(r.Message, "stat none: no such file")
		}},
		"broken": {"  path: ./broken\n", func(r health.Reconciler) bool {
			return r.Ready == "False" && r.Reason == "BuildFailed" && !strings.Contains(r.Message, "/tmp")
		}},
		"waits": {"  dependsOn: [{name: nopath}]\n", func(r health.Reconciler) bool {
			return r.Ready == "False" && r.Reason == "DependencyNotReady"
		}},
		"paused": {"  suspend: true\n", func(r health.Reconciler) bool { return r.Found && r.Suspended && r.Ready == "" }},
		"checks": {"  timeout: 2m\n  healthChecks: [{apiVersion: v1, kind: ConfigMap, name: late, namespace: edge}]\n", func(r health.Reconciler) bool {
			return r.Ready == "Unknown" && r.Reason == "Progressing" && r.AttemptedRevision == "main@sha1:"+pushed && r.Revision == ""
		}},
	}
	for name, state := range states {
		apply(t, edge, strings.Replace(fmt.Sprintf(tier, name), "  path: ./\n", pathOr(state.spec), 1))
	}
	for name, state := range states {
		ok := false
		defer func() {
			if !ok {
				t.Logf("%s: %+v", name, reconciler(t, ch, tierKey(name)))
			}
		}()
		eventually(t, 60*time.Second, name+" is as it should be", func() bool { return state.holds(reconciler(t, ch, tierKey(name))) })
		ok = true
		t.Logf("%s: %s: %s", name, reconciler(t, ch, tierKey(name)).Reason, reconciler(t, ch, tierKey(name)).Message)
	}
	t.Run("a reconciliation without changes signals nothing", func(t *testing.T) { testHeartbeat(t, ch, edge) })
	t.Run("what becomes ready is", func(t *testing.T) {
		apply(t, edge, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: late, namespace: edge}\n")
		took := eventually(t, 10*time.Second, "it is ready", func() bool { return reconciler(t, ch, tierKey("checks")).Ready == "True" })
		t.Logf("ready %s after the object was there, Flux checking every 5s", took)
	})
	t.Run("verdicts", func(t *testing.T) { testVerdicts(t, ch, edge, fleet) })
}

func pathOr(spec string) string {
	if strings.Contains(spec, "path:") {
		return spec
	}
	return "  path: ./good\n" + spec
}

// testHeartbeat lets Flux reconcile without a change and watches what it writes meanwhile.
func testHeartbeat(t *testing.T, ch *Channel, edge *servers.Cluster) {
	drain(ch)
	good := named(kustomizationKind, "edge", "good")
	if err := edge.Client().Get(t.Context(), client.ObjectKeyFromObject(good), good); err != nil {
		t.Fatal(err)
	}
	stamp := metav1.Now().UTC().Format(time.RFC3339Nano)
	if err := edge.Client().Patch(t.Context(), good, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"reconcile.fluxcd.io/requestedAt":"`+stamp+`"}}}`))); err != nil {
		t.Fatal(err)
	}
	eventually(t, 20*time.Second, "Flux has reconciled again", func() bool {
		if got := reconciler(t, ch, tierKey("good")); got.Ready != "True" {
			t.Fatalf("got %+v", got)
		}
		if err := edge.Client().Get(t.Context(), client.ObjectKeyFromObject(good), good); err != nil {
			t.Fatal(err)
		}
		return text(good.Object, "status", "lastHandledReconcileAt") == stamp && conditionOf(good.Object, "Ready").status == "True"
	})
}

// within is what Furrow has on the cluster that it runs in: a ServiceAccount, and
// the right to get Secrets of its namespace.
const within = `
apiVersion: v1
kind: Namespace
metadata: {name: furrow-system}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: furrow, namespace: furrow-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: furrow-within}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: furrow}
subjects: [{kind: ServiceAccount, name: furrow, namespace: furrow-system}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: furrow, namespace: furrow-system}
rules: [{apiGroups: [""], resources: [secrets], verbs: [get]}]
`

const withinMayRead = `
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: furrow, namespace: furrow-system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: furrow}
subjects: [{kind: ServiceAccount, name: furrow, namespace: furrow-system}]
`

// tokenFile has a token of the ServiceAccount written into a file.
func tokenFile(t *testing.T, c *servers.Cluster, dir string) {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "furrow-system", Name: "furrow"}}
	request := &authenticationv1.TokenRequest{}
	if err := c.Client().SubResource("token").Create(t.Context(), account, request); err != nil {
		t.Fatal(err)
	}
	put(t, dir, "token", []byte(request.Status.Token))
}

// secretsIn reads Secrets of a namespace by name, each time with the token that is in
// the file now.
func secretsIn(config *rest.Config, namespace string) func(context.Context, string) (map[string][]byte, error) {
	return func(ctx context.Context, name string) (map[string][]byte, error) {
		reader, err := client.New(config, client.Options{})
		if err != nil {
			return nil, err
		}
		secret := &corev1.Secret{}
		err = reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, secret)
		if apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("%w: %w", fs.ErrNotExist, err)
		}
		return secret.Data, err
	}
}

// TestChannelFromWithin has a channel of a process that runs in one of two clusters.
func TestChannelFromWithin(t *testing.T) {
	servers.Need(t, servers.SourceController, servers.KustomizeController)
	all := servers.MustClusters(t, servers.ClusterOptions{Name: "mgmt"}, servers.ClusterOptions{Name: "edge"})
	mgmt, edge := all[0], all[1]
	for _, c := range all {
		crds(t, c, servers.SourceController, servers.KustomizeController)
		apply(t, c, readerRole)
		apply(t, c, fmt.Sprintf(tier, "a"))
	}
	apply(t, mgmt, within)
	dir := t.TempDir()
	tokenFile(t, mgmt, dir)
	inCluster := rest.AnonymousClientConfig(mgmt.Config)
	inCluster.BearerTokenFile = filepath.Join(dir, "token")
	ch := New(Options{Secret: secretsIn(inCluster, "furrow-system"), SecretsIn: "furrow-system", Own: "mgmt", OwnConfig: inCluster})
	ch.pace = pace{secret: time.Second, reread: 2 * time.Second}
	defer ch.Close()
	key := func(cluster string) probe.ReconcilerKey {
		return probe.ReconcilerKey{Cluster: cluster, Namespace: "edge", Name: "a"}
	}
	found := func(cluster string) func() bool {
		return func() bool { return reconciler(t, ch, key(cluster)).Found }
	}
	reports := func(cluster, what string) func() bool {
		return func() bool {
			got := reconciler(t, ch, key(cluster))
			return !got.Known && strings.Contains(got.Message, what)
		}
	}
	secret := func(data []byte) {
		t.Helper()
		apply(t, mgmt, "apiVersion: v1\nkind: Secret\nmetadata: {name: edge-kubeconfig, namespace: furrow-system}\ndata: {value: "+base64.StdEncoding.EncodeToString(data)+"}\n")
	}

	eventually(t, 10*time.Second, "what is not permitted is reported", reports("mgmt", `cannot get resource "secrets" in API group "" in the namespace "furrow-system". Let Furrow get Secrets`))
	apply(t, mgmt, withinMayRead)
	eventually(t, 10*time.Second, "its own cluster is known", found("mgmt"))
	eventually(t, 10*time.Second, "the message says where to put a kubeconfig", reports("edge", "Put one into the Secret furrow-system/edge-kubeconfig"))
	secret(as(t, edge, reader))
	took := eventually(t, 10*time.Second, "the other cluster is known", found("edge"))
	t.Logf("known %s after its Secret was there", took)
	secret(as(t, edge, "nobody"))
	took = eventually(t, 15*time.Second, "another user is asked with", reports("edge", `User "nobody" cannot list`))
	t.Logf("changed %s after its Secret was", took)
	secret(changed(t, edge, func(c *clientcmdapi.Config) {
		for _, u := range c.AuthInfos {
			u.ClientKeyData, u.ClientKey = nil, filepath.Join(dir, "token")
		}
	}))
	eventually(t, 10*time.Second, "a file is refused", reports("edge", "is refused: client-key names a file"))

	tokenFile(t, mgmt, dir)
	if !found("mgmt")() {
		t.Error("a token that is renewed ends what is known")
	}
	account := named(schema.GroupVersionKind{Version: "v1", Kind: "ServiceAccount"}, "furrow-system", "furrow")
	remove(t, mgmt, account)
	took = eventually(t, 40*time.Second, "tokens of a ServiceAccount that is gone are refused", reports("mgmt", "refuses the credentials in "+ownOrigin))
	t.Logf("refused after %s", took)
	apply(t, mgmt, within)
	tokenFile(t, mgmt, dir)
	took = eventually(t, 15*time.Second, "the token in the file is used", found("mgmt"))
	t.Logf("known %s after the file had another one", took)
}
