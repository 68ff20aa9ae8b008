package scale

import (
	"context"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/controllers"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/simulator"
	"github.com/furrow-dev/furrow/test/people"
	"github.com/furrow-dev/furrow/test/servers"
)

const (
	tiersPerCluster = 5
	// patience is the timeout of one wait; a planting has many of them.
	patience = 10 * time.Minute
)

// seedOfFiveTiers has five tiers on every cluster: namespace and CRD, the operator, its
// custom resource, and two declared steps.
const seedOfFiveTiers = `apiVersion: v1
kind: Namespace
metadata: {name: edge}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: radios.example.com}
spec: {group: example.com, names: {kind: Radio, plural: radios}, scope: Namespaced, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: operator, namespace: edge}
spec: {selector: {matchLabels: {app: operator}}, template: {metadata: {labels: {app: operator}}, spec: {containers: [{name: main, image: 'example.com/operator:1'}]}}}
---
apiVersion: example.com/v1
kind: Radio
metadata: {name: north, namespace: edge, annotations: {furrow.dev/depends-on: apps/Deployment/edge/operator}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: channels, namespace: edge, annotations: {furrow.dev/depends-on: example.com/Radio/edge/north}}
data: {band: n78}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: ran, namespace: edge, annotations: {furrow.dev/depends-on: core/ConfigMap/edge/channels}}
spec: {selector: {matchLabels: {app: ran}}, template: {metadata: {labels: {app: ran}}, spec: {containers: [{name: main, image: 'example.com/ran:1'}]}}}
`

// estate is a namespace with Cluster resources and a seed for all of them, and the
// servers and simulated clusters of the fleet.
type estate struct {
	t         testing.TB
	namespace string
	size      int
	client    client.Client
	server    *servers.Cluster
	git       *gitServer
	people    *people.People
	simulator *simulator.Simulator
	// api counts the controllers' requests to the API server.
	api *traffic
}

// apiServer starts an API server with Furrow's CRDs.
func apiServer(t testing.TB) *servers.Cluster {
	t.Helper()
	cluster := servers.MustCluster(t, servers.ClusterOptions{})
	crds, err := furrowCRDs()
	if err == nil {
		err = cluster.Apply(t.Context(), crds)
	}
	if err != nil {
		t.Fatal(err)
	}
	return cluster
}

// newEstate creates a fleet of clusters on which nothing is planted.
func newEstate(t testing.TB, server *servers.Cluster, size int) *estate {
	t.Helper()
	e := &estate{t: t, namespace: fmt.Sprintf("fleet-%d", size), size: size, server: server, git: newGitServer(t), api: newTraffic()}
	scheme, err := controllers.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	if e.client, err = client.New(server.Config, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	roots := map[string]string{}
	clusters := make([]simulator.Cluster, size)
	for i := range size {
		path := "clusters/" + clusterName(i)
		roots[path+"/README.md"] = "the root\n"
		clusters[i] = simulator.Cluster{Name: clusterName(i), Root: simulator.Root{Path: path, RepoID: "gitops"}}
	}
	e.git.create(t, "gitops", roots)
	e.git.create(t, "control", map[string]string{
		"repo.yaml":       document("GitOpsRepo", "gitops", fmt.Sprintf("spec: {url: %q}", e.git.address("gitops"))),
		"seeds/edge.yaml": seedOfFiveTiers,
	})
	e.people = people.Of(t, e.git.path("gitops"), "main")
	e.simulator = simulator.New(simulator.Options{
		Clusters: clusters, Sources: map[string]simulator.Source{"gitops": e.people}, IsCreator: catalog.IsCreator, Seed: 1,
	})
	e.declare()
	return e
}

func clusterName(i int) string { return fmt.Sprintf("site-%04d", i) }

func document(kind, name, rest string) string {
	return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: %s}\n%s\n", v1alpha1.APIVersion, kind, name, rest)
}

// declare creates the resources: a Cluster for each cluster, and the Seed.
func (e *estate) declare() {
	e.t.Helper()
	if err := e.server.Apply(e.t.Context(), fmt.Appendf(nil, "apiVersion: v1\nkind: Namespace\nmetadata: {name: %s}\n", e.namespace)); err != nil {
		e.t.Fatal(err)
	}
	for i := range e.size {
		e.create(&v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: clusterName(i)}})
	}
	e.create(&v1alpha1.Seed{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: "edge"},
		Spec:       v1alpha1.SeedSpec{Source: &v1alpha1.SeedSource{URL: e.git.address("control")}},
	})
}

func (e *estate) create(o client.Object) {
	e.t.Helper()
	if err := e.client.Create(e.t.Context(), o); err != nil {
		e.t.Fatal(err)
	}
}

// plant advances people, clusters and controllers in steps until everything is Released,
// and returns the number of steps.
func (e *estate) plant(c *controller) (steps int) {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(e.t.Context(), patience)
	defer cancel()
	end := c.rest(ctx)
	for !end.done {
		steps++
		if _, err := e.people.Merge(ctx, e.size*tiersPerCluster); err != nil {
			e.t.Fatal(err)
		}
		if err := e.simulator.Tick(ctx); err != nil {
			e.t.Fatal(err)
		}
		end = c.pass(ctx)
	}
	return steps
}

// mustBePlanted fails unless the whole fleet is planted.
func (e *estate) mustBePlanted() {
	e.t.Helper()
	for _, r := range e.simulator.Rejections() {
		e.t.Errorf("a cluster rejected an object, so a tier was released early: %s", r)
	}
	var list v1alpha1.PlantingList
	if err := e.client.List(e.t.Context(), &list, client.InNamespace(e.namespace)); err != nil {
		e.t.Fatal(err)
	}
	want := fmt.Sprintf("%[1]d/%[1]d", tiersPerCluster)
	for i := range list.Items {
		if p := &list.Items[i]; p.Status.Progress != want {
			e.t.Errorf("Planting %s has %s of %s tiers: %s", p.Name, p.Status.Progress, want, p.Status.WaitingFor)
		}
	}
	if len(list.Items) != e.size {
		e.t.Errorf("%d Plantings, want %d", len(list.Items), e.size)
	}
}
