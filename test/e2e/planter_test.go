package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "code.gitea.io/sdk/gitea"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/furrow-dev/furrow/test/servers"
)

// planterCases has Planter's own example; it is outside of the repository.
var planterCases = filepath.Join("..", "..", "..", "shared", "cases", "planter")

var planterKind = schema.GroupVersionKind{Group: "planter.nephio.org", Version: "v1alpha1", Kind: "Cluster"}

// planterEdge is the cluster that the example creates.
var planterEdge = client.ObjectKey{Namespace: "network-service", Name: "edge1"}

// The tiers of the example.
const (
	helloMgmt0, helloMgmt1 = "hello-world/mgmt/00", "hello-world/mgmt/01"
	helloEdge0, helloEdge1 = "hello-world/edge1/00", "hello-world/edge1/01"
)

// planterStory is a story of Planter's example.
type planterStory struct {
	*story
	// provide is closed when the provider may start the edge.
	provide chan struct{}
}

func planterCase(t testing.TB, elements ...string) string {
	t.Helper()
	file := filepath.Join(append([]string{planterCases}, elements...)...)
	content, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		t.Skipf("SKIPPED: no example of Planter: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestPlanterSeedIsPlantedUnchanged(t *testing.T) {
	t.Parallel()
	servers.Need(t, needed...)
	crds := planterCase(t, "management-crds.yaml")
	// This is the example after its own plugin, which adds the CRD of Network.
	seed := planterCase(t, "hello-world", "after-network-plugin.yaml")
	s := &planterStory{newStory(t, "planter", ofNamespaces(planterEdge.Namespace)), make(chan struct{})}
	if err := s.world.mgmt.Apply(t.Context(), []byte(crds)); err != nil {
		t.Fatal(err)
	}
	s.provideLater()

	s.step("the management cluster's objects are planted as the seed has them", func() { s.isPlantedOnManagement(seed) })
	s.step("nothing reaches the edge before its API server answers", s.waitsForTheAPIServer)
	s.step("the edge is planted tier by tier", s.isPlantedOnTheEdge)
	s.step("custom resources are applied once their CRDs are there", s.appliesCustomResources)
	s.step("the seed is removed, the cluster after its contents", s.isRemoved)
}

// provideLater acts as the provider: it starts a cluster for the Cluster of the example and writes the kubeconfig. It does
// not write the Cluster's status, because Planter has no field for that.
func (s *planterStory) provideLater() {
	ctx, cancel := context.WithCancel(context.Background())
	p := &provider{story: s.story, cancel: cancel, edges: map[client.ObjectKey]*edge{}}
	s.provider = p
	p.done.Go(func() {
		if err := s.bring(ctx, p); err != nil && ctx.Err() == nil {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.errs = append(p.errs, fmt.Errorf("provider of %s: %w", planterEdge, err))
		}
	})
}

// bring starts the edge, with the node labels that the seed asks for.
func (s *planterStory) bring(ctx context.Context, p *provider) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-s.provide:
	}
	if err := p.mgmt().Get(ctx, planterEdge, planterObject(planterKind.Kind, planterEdge)); err != nil {
		return err
	}
	cluster, err := p.ensure(ctx, planterEdge)
	if err != nil {
		return err
	}
	node := &corev1.Node{}
	if err := cluster.Client().Get(ctx, client.ObjectKey{Name: cluster.Name + "-node-1"}, node); err != nil {
		return err
	}
	// The Cluster of the seed asks for this label; its CRD lets no label through.
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"profile":"performance"}}}`))
	if err := cluster.Client().Patch(ctx, node, patch); err != nil {
		return err
	}
	p.markInitialized(planterEdge)
	return p.leaveKubeConfig(ctx, planterEdge, cluster)
}

// planterObject returns an object of Planter's group with only the name set.
func planterObject(kind string, key client.ObjectKey) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(planterKind.GroupVersion().WithKind(kind))
	object.SetNamespace(key.Namespace)
	object.SetName(key.Name)
	return object
}

func (s *planterStory) isPlantedOnManagement(seed string) {
	fleet := s.fleet()
	fleet["fleet/mgmt.yaml"] = strings.Replace(fleet["fleet/mgmt.yaml"], "[clusters.cluster.x-k8s.io]",
		"[clusters.planter.nephio.org, wans.planter.nephio.org, kernelconfigs.planter.nephio.org, memoryconfigs.planter.nephio.org]", 1)
	s.commit("Plant Planter's example", fleet, files{"seeds/hello-world.yaml": seed})
	s.run()
	s.release(helloMgmt0, sdk.MergeStyleSquash)
	s.merge(s.awaitPull(helloMgmt1), sdk.MergeStyleMerge)
	for kind, name := range map[string]string{"Cluster": "edge1", "WAN": "sd-wan", "KernelConfig": "realtime", "MemoryConfig": "numa"} {
		key := client.ObjectKey{Namespace: planterEdge.Namespace, Name: name}
		s.eventually(limit, kind+" is applied", func() (bool, string) {
			err := s.world.mgmt.Client().Get(s.t.Context(), key, planterObject(kind, key))
			return err == nil, fmt.Sprint(err)
		})
	}
}

func (s *planterStory) waitsForTheAPIServer() {
	s.eventually(limit, "the management cluster's Flux is done", func() (bool, string) {
		k, _ := s.kustomization(s.namespace, "hello-world.mgmt.01")
		return isReady(k), fmt.Sprint(k.Status.Conditions)
	})
	s.passes(3)
	if tier := s.awaitState(helloMgmt1, "Progressing"); !strings.Contains(tier.Message, planterEdge.Name+"-kubeconfig") {
		s.t.Errorf("the message does not say that the kubeconfig is missing: %q", tier.Message)
	}
	s.mustNotOpen(helloEdge0, helloEdge1)
	close(s.provide)
	s.awaitState(helloMgmt1, "Released")
}

func (s *planterStory) isPlantedOnTheEdge() {
	pull := s.awaitPull(helloEdge0)
	s.mustNotOpen(helloEdge1)
	s.merge(pull, sdk.MergeStyleRebase)
	s.awaitState(helloEdge0, "Released")
	s.release(helloEdge1, sdk.MergeStyleSquash)
	s.awaitReleased()
	var cnf appsv1.Deployment
	if err := s.provider.client(planterEdge.Name).Get(s.t.Context(), client.ObjectKey{Namespace: "cnf", Name: "cnf"}, &cnf); err != nil {
		s.t.Fatal(err)
	}
	if cnf.Status.AvailableReplicas != 1 {
		s.t.Errorf("the cnf on the edge has %d available replicas", cnf.Status.AvailableReplicas)
	}
	objects := map[string]int{}
	plan := s.plan("hello-world")
	for _, tier := range plan.Tiers {
		for _, id := range plan.objects(tier) {
			objects[tier.Cluster]++
			if err := s.observer.exists(s.t.Context(), tier.Cluster, id); err != nil {
				s.t.Errorf("%s on cluster %s: %v", id, tier.Cluster, err)
			}
		}
	}
	if objects["mgmt"] != 5 || objects[planterEdge.Name] != 10 {
		s.t.Errorf("planted are %v objects, want the 5 and 10 of the example", objects)
	}
	if r := s.status(); len(r.seed("hello-world").Tiers) != 4 {
		s.t.Errorf("the seed has %d tiers", len(r.seed("hello-world").Tiers))
	}
}

// appliesCustomResources checks the complete audit logs: nothing of the seed was ever refused, and the logs have Flux's
// applies.
func (s *planterStory) appliesCustomResources() {
	wanted := map[*servers.Cluster][]string{
		s.world.mgmt:                         {"clusters", "wans", "kernelconfigs", "memoryconfigs"},
		s.provider.cluster(planterEdge.Name): {"instances", "networks"},
	}
	for cluster, resources := range wanted {
		events, err := cluster.AuditEvents()
		if err != nil {
			s.t.Fatal(err)
		}
		for _, resource := range resources {
			applied := slices.ContainsFunc(events, func(e servers.AuditEvent) bool {
				ours := e.ObjectRef.Namespace == planterEdge.Namespace || cluster != s.world.mgmt
				return ours && isApply(e) && !e.DryRun() && !e.Refused() && e.ObjectRef.Resource == resource
			})
			if !applied {
				s.t.Errorf("the audit log of cluster %s has no apply of %s", cluster.Name, resource)
			}
		}
	}
}

func (s *planterStory) isRemoved() {
	s.commit("Remove Planter's example", files{"seeds/hello-world.yaml": ""})
	s.confirmRemoval("hello-world")
	tiers := []string{helloEdge1, helloEdge0, helloMgmt1, helloMgmt0}
	for i, tier := range tiers {
		pull := s.awaitPull(tier)
		s.mustNotOpen(tiers[i+1:]...)
		s.merge(pull, sdk.MergeStyleSquash)
	}
	s.awaitEmpty()
}

// awaitEmpty waits until nothing of Furrow's is left in the repository except its status.
func (s *story) awaitEmpty() {
	s.t.Helper()
	s.eventually(limit, "no branch of furrow is left except its status", func() (bool, string) {
		branches, err := listBranches(s.asPerson, s.gitops)
		slices.Sort(branches)
		return slices.Equal(branches, []string{s.statusBranch(), "main"}), fmt.Sprint(branches, " ", err)
	})
	if left := s.kustomizations(s.t.Context()); len(left) != 1 {
		s.t.Errorf("%d Kustomizations are left beside the root", len(left)-1)
	}
}
