package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	sdk "code.gitea.io/sdk/gitea"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/furrow-dev/furrow/api/v1alpha1"
)

const harbourCluster = `apiVersion: furrow.dev/v1alpha1
kind: Cluster
metadata: {name: harbour}
spec: {reconciledBy: mgmt, type: edge}
`

// What the seeds of a harbour contain: its Namespace and a chart, a log, and a crane with the tides that it goes by.
const (
	harbour = `apiVersion: v1
kind: Namespace
metadata: {name: NAMESPACE}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: chart, namespace: NAMESPACE}
`
	logBook = `apiVersion: v1
kind: ConfigMap
metadata: {name: log, namespace: NAMESPACE}
`
	crane = `---
apiVersion: v1
kind: ConfigMap
metadata: {name: tides, namespace: NAMESPACE}
data: {water: WATER}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: crane, namespace: NAMESPACE}
spec:
  selector: {matchLabels: {app: crane}}
  template:
    metadata: {labels: {app: crane}}
    spec: {containers: [{name: crane, image: registry.example.com/crane:1, envFrom: [{configMapRef: {name: tides}}]}]}
`
)

// handoverStory is a story of a ConfigMap and a Deployment that go from seed to seed, on a cluster with a node.
type handoverStory struct {
	*story
	// uids are the UIDs that they and the Deployment's Pod have had from the beginning.
	uids map[string]types.UID
}

func TestObjectsGoToAnotherSeedAndAreNeverDeleted(t *testing.T) {
	t.Parallel()
	s := &handoverStory{story: newStory(t, "handover")}
	s.attachEdge(t, "harbour", 1)
	s.step("a seed has a ConfigMap and a Deployment, and its Pods run", s.areOfQuay)
	s.step("both go to another seed by three releases", s.goToDock)
	s.step("all of that seed goes to a new name", s.isRenamed)
}

// of fills in the texts of a seed.
func (s *handoverStory) of(water string, texts ...string) string {
	return strings.NewReplacer("NAMESPACE", s.namespace, "WATER", water).Replace(strings.Join(texts, ""))
}

func (s *handoverStory) areOfQuay() {
	s.commit("Build a harbour", s.fleet(), files{
		"fleet/harbour.yaml": harbourCluster,
		"seeds/quay.yaml":    s.of("high", harbour, crane),
		"seeds/dock.yaml":    s.of("", logBook),
	})
	s.run()
	s.mergeUntil("both seeds are Released", func() (bool, string) {
		r := s.status()
		return r.allReleased(2)
	})
	s.mustBelong("high", "quay.harbour.01")
	s.uids = s.identities()
}

func (s *handoverStory) goToDock() {
	s.commit("The crane belongs to the dock", files{
		"seeds/quay.yaml": s.of("", harbour),
		"seeds/dock.yaml": s.of("low", logBook, crane),
	})
	for _, release := range []struct{ tier, says string }{
		{"quay/harbour/01", `/crane goes to seed "dock", release 1 of 3`},
		{"quay/harbour/01", `/crane goes to seed "dock", release 2 of 3`},
		{"dock/harbour/00", "/crane"},
	} {
		pull := s.awaitPull(release.tier)
		mustHave(s.t, pull.Body, "core/ConfigMap/"+s.namespace+"/tides", "apps/Deployment/"+s.namespace+release.says)
		if open := s.openTiers(); len(open) != 1 {
			s.t.Errorf("beside the pull request of %s there are %v", release.tier, open)
		}
		s.merge(pull, sdk.MergeStyleSquash)
	}
	s.awaitReleased()
	s.mustBelong("low", "dock.harbour.00")
	s.mustBeTheSame()
	if lost := s.inventory("quay.harbour.01"); len(lost) != 1 || !strings.Contains(lost[0], "chart") {
		s.t.Errorf("the inventory of the first seed has %v, want only the chart", lost)
	}
}

func (s *handoverStory) isRenamed() {
	s.commit("The dock is called pier", files{"seeds/dock.yaml": "", "seeds/pier.yaml": s.of("low", logBook, crane)})
	s.mergeUntil("the renamed seed is Released, and the old name is gone", func() (bool, string) {
		r := s.status()
		ok, detail := r.allReleased(2)
		return ok && slices.ContainsFunc(r.Seeds, func(seed seedReport) bool { return seed.Name == "pier" }), detail
	})
	s.mustBelong("low", "pier.harbour.00")
	s.mustBeTheSame()
	s.eventually(limit, "the Kustomization of the old name is gone", func() (bool, string) {
		_, found := s.kustomization(s.namespace, "dock.harbour.00")
		return !found, ""
	})
}

// inventory lists what a Kustomization says that it has applied.
func (s *handoverStory) inventory(name string) []string {
	s.t.Helper()
	k, found := s.kustomization(s.namespace, name)
	if !found || k.Status.Inventory == nil {
		s.t.Fatalf("Kustomization %s has no inventory", name)
	}
	var ids []string
	for _, entry := range k.Status.Inventory.Entries {
		ids = append(ids, entry.ID)
	}
	return ids
}

// get reads what the crane consists of.
func (s *handoverStory) get() (tides corev1.ConfigMap, crane appsv1.Deployment, pods corev1.PodList) {
	s.t.Helper()
	c := s.provider.client("harbour")
	for _, err := range []error{
		c.Get(s.t.Context(), client.ObjectKey{Namespace: s.namespace, Name: "tides"}, &tides),
		c.Get(s.t.Context(), client.ObjectKey{Namespace: s.namespace, Name: "crane"}, &crane),
		c.List(s.t.Context(), &pods, client.InNamespace(s.namespace)),
	} {
		if err != nil {
			s.t.Fatal(err)
		}
	}
	return tides, crane, pods
}

// mustBelong fails unless a Kustomization has the tides, which are as wanted, and the crane, which runs, with no annotation
// that was there only on the way.
func (s *handoverStory) mustBelong(water, kustomization string) {
	s.t.Helper()
	tides, crane, _ := s.get()
	if tides.Data["water"] != water || crane.Status.AvailableReplicas != 1 {
		s.t.Errorf("the water is %v, want %s; %d cranes are available", tides.Data, water, crane.Status.AvailableReplicas)
	}
	has := strings.Join(s.inventory(kustomization), " ")
	for _, meta := range []metav1.ObjectMeta{tides.ObjectMeta, crane.ObjectMeta} {
		if by := meta.Labels["kustomize.toolkit.fluxcd.io/name"]; by != kustomization {
			s.t.Errorf("%s is of Kustomization %q, want %s", meta.Name, by, kustomization)
		}
		for _, annotation := range []string{"kustomize.toolkit.fluxcd.io/prune", v1alpha1.AnnotationHandedOverFrom} {
			if value, annotated := meta.Annotations[annotation]; annotated {
				s.t.Errorf("%s still has the annotation %s: %s", meta.Name, annotation, value)
			}
		}
		if !strings.Contains(has, s.namespace+"_"+meta.Name+"_") {
			s.t.Errorf("the inventory of %s does not have %s: %s", kustomization, meta.Name, has)
		}
	}
}

// identities returns the UIDs of the tides, the crane and its Pod.
func (s *handoverStory) identities() map[string]types.UID {
	s.t.Helper()
	tides, crane, pods := s.get()
	uids := map[string]types.UID{"tides": tides.UID, "crane": crane.UID}
	for _, pod := range pods.Items {
		uids[pod.Name] = pod.UID
	}
	if len(uids) != 3 {
		s.t.Errorf("there are %d Pods, want 1", len(pods.Items))
	}
	return uids
}

// mustBeTheSame fails unless all are the objects that they were, and nobody asked for a deletion in their Namespace.
func (s *handoverStory) mustBeTheSame() {
	s.t.Helper()
	if is, was := fmt.Sprint(s.identities()), fmt.Sprint(s.uids); is != was {
		s.t.Errorf("the objects are %s, and were %s", is, was)
	}
	events, err := s.provider.cluster("harbour").AuditEvents()
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range events {
		if strings.HasPrefix(e.Verb, "delete") && e.ObjectRef.Namespace == s.namespace {
			s.t.Errorf("something was deleted: %s", describe("harbour", e))
		}
	}
}
