package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"text/template"
	"time"

	sdk "code.gitea.io/sdk/gitea"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/furrow-dev/furrow/test/servers"
)

// workload is a version of the seed in testdata/workload.yaml.tmpl.
type workload struct {
	Namespace string
	// NetworkOn and Network are in the edge's tier 0, Bandwidth in tier 1, UPF in tier 2.
	NetworkOn, Network, Bandwidth, UPF string
}

// The tiers of the workload and of the small seed beside it, in planting order.
const (
	mgmt0, mgmt1        = "workload/mgmt/00", "workload/mgmt/01"
	edge0, edge1, edge2 = "workload/edge-1/00", "workload/edge-1/01", "workload/edge-1/02"
	note0               = "note/mgmt/00"
)

// note is a seed of one object on the management cluster.
const note = `apiVersion: v1
kind: ConfigMap
metadata:
  name: note
  namespace: %s
  annotations: {furrow.dev/cluster: mgmt}
data: {text: hello}
`

// networkAddOn is what makes a cluster Available.
var networkAddOn = client.ObjectKey{Namespace: "kube-system", Name: "network"}

// edgeStory is a story whose seed creates its own cluster.
type edgeStory struct {
	*story
	version workload
}

func (s *edgeStory) seed() files {
	s.t.Helper()
	text, err := template.ParseFiles("testdata/workload.yaml.tmpl")
	if err != nil {
		s.t.Fatal(err)
	}
	var out strings.Builder
	if err := text.Execute(&out, s.version); err != nil {
		s.t.Fatal(err)
	}
	return files{"seeds/workload.yaml": out.String()}
}

// update commits another version of the workload.
func (s *edgeStory) update(message string, change func(*workload), more ...files) {
	s.t.Helper()
	change(&s.version)
	s.commit(message, append(more, s.seed())...)
}

func TestAWorkloadBringsItsOwnCluster(t *testing.T) {
	through(t, "controller", "edge", runEdgeStory)
}

func runEdgeStory(t *testing.T, name string, options ...storyOption) {
	story := newStory(t, name, options...)
	s := &edgeStory{story, workload{Namespace: story.namespace + "-clusters", NetworkOn: "linux", Network: "1.0", Bandwidth: "1G", UPF: "1.0"}}
	s.provideClusters(networkAddOn)

	s.step("a seed begins with the tiers that have no prerequisites", s.beginsWithoutPrerequisites)
	s.step("nothing reaches the edge before its cluster is ready", s.nothingReachesTheEdgeTooSoon)
	s.step("the edge is planted tier by tier, however pull requests are merged", s.isPlantedTierByTier)
	s.step("a pull request that a person closed stays closed until a retry", s.staysClosed)
	s.step("a person's change before the merge is kept, and later tiers are released on it", s.keepsThePersonsChange)
	s.step("a stale Ready does not release", s.staleReadyDoesNotRelease)
	s.step("the old reconciler behind a stuck root does not release", s.stuckRootDoesNotRelease)
	s.step("an update that breaks a tier blocks the next one until it is fixed", s.brokenTierHolds)
	s.step("a lost edge is restored in order from the base branch alone", s.isRestoredFromBase)
	s.step("a restarted furrow finds everything released", s.restarts)
	s.step("removing too much at once requires a confirmation", s.removalIsGuarded)
	s.step("a seed is removed in reverse order, the cluster before its namespace", s.isRemovedInReverse)
}

func (s *edgeStory) beginsWithoutPrerequisites() {
	s.commit("Plant the workload", s.fleet(), s.seed(), files{"seeds/note.yaml": fmt.Sprintf(note, s.namespace)})
	s.run()
	s.awaitPull(mgmt0)
	s.awaitPull(note0)
	s.passes(1)
	if open := s.openTiers(); !slices.Equal(open, []string{note0, mgmt0}) {
		s.t.Errorf("open are %v", open)
	}
	s.shows(
		"seed workload False Proposed 0/5 1 review of http://", "seed note False Proposed 0/1 1 review of http://",
		"planting workload.mgmt workload mgmt False 0/2 00 Proposed review of http://",
		"planting workload.edge-1 workload edge-1 False 0/3 00 Blocked mgmt tier 01 (Blocked)",
	)
	s.release(mgmt0, sdk.MergeStyleMerge)
	s.release(note0, sdk.MergeStyleSquash)
	s.shows("seed note True Released 1/1", "planting note.mgmt note mgmt True 1/1 00 Released")
}

func (s *edgeStory) nothingReachesTheEdgeTooSoon() {
	s.provider.hold(true)
	s.merge(s.awaitPull(mgmt1), sdk.MergeStyleSquash)
	s.eventually(limit, "the edge runs and has left its kubeconfig", func() (bool, string) {
		key := client.ObjectKey{Namespace: s.version.Namespace, Name: "edge-1-kubeconfig"}
		err := s.world.mgmt.Client().Get(s.t.Context(), key, &corev1.Secret{})
		return err == nil, fmt.Sprint(err)
	})
	s.passes(3)
	if tier := s.awaitState(mgmt1, "Progressing"); tier.Message == "" {
		s.t.Error("the message does not say what the cluster waits for")
	}
	s.shows(
		"seed workload False Progressing 1/5 mgmt tier 01: ", "planting workload.mgmt workload mgmt False 1/2 01 Progressing mgmt tier 01: ",
		"planting workload.edge-1 workload edge-1 False 0/3 00 Blocked mgmt tier 01 (Progressing)",
	)
	s.mustNotOpen(edge0, edge1, edge2)
	for _, k := range s.kustomizations(s.t.Context()) {
		if k.Spec.KubeConfig != nil {
			s.t.Errorf("Kustomization %s exists", k.Name)
		}
	}
	s.waitsUntilItAnswers()
	s.awaitState(mgmt1, "Released")
	if s.isAvailable() {
		s.t.Error("the cluster is Available before its network add-on exists: this story tests nothing")
	}
}

// waitsUntilItAnswers has the cluster reported as initialized while its API server is down.
func (s *edgeStory) waitsUntilItAnswers() {
	edge := s.provider.cluster("edge-1")
	if err := edge.StopAPIServer(); err != nil {
		s.t.Fatal(err)
	}
	s.provider.hold(false)
	s.eventually(limit, "the Cluster reports that its control plane is initialized", func() (bool, string) {
		object, _ := s.creator()
		initialized, _, _ := unstructured.NestedBool(object.Object, "status", "initialization", "controlPlaneInitialized")
		return initialized, fmt.Sprint(object.Object["status"])
	})
	isReported := func() (bool, string) {
		r := s.status()
		is := r.tier(mgmt1)
		return is.State == "Progressing" && strings.Contains(is.Message, "does not answer"), is.State + ": " + is.Message
	}
	s.eventually(limit, "furrow reports that the API server does not answer", isReported)
	s.passes(3)
	if ok, how := isReported(); !ok {
		s.t.Errorf("%s is %s", mgmt1, how)
	}
	s.mustNotOpen(edge0, edge1, edge2)
	if err := edge.StartAPIServer(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
}

// isAvailable reports whether the Cluster has the condition Available.
func (s *edgeStory) isAvailable() bool {
	object, found := s.creator()
	if !found {
		return false
	}
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		condition, ok := c.(map[string]any)
		return ok && condition["type"] == "Available" && condition["status"] == "True"
	})
}

// creator gets the Cluster.
func (s *edgeStory) creator() (object *unstructured.Unstructured, found bool) {
	s.t.Helper()
	object = &unstructured.Unstructured{}
	object.SetGroupVersionKind(clusterKind)
	err := s.world.mgmt.Client().Get(s.t.Context(), client.ObjectKey{Namespace: s.version.Namespace, Name: "edge-1"}, object)
	if client.IgnoreNotFound(err) != nil {
		s.t.Fatal(err)
	}
	return object, err == nil
}

func (s *edgeStory) isPlantedTierByTier() {
	for _, tier := range []struct {
		name  string
		style sdk.MergeStyle
		later []string
	}{
		{edge0, sdk.MergeStyleRebase, []string{edge1, edge2}},
		{edge1, sdk.MergeStyleSquash, []string{edge2}},
		{edge2, sdk.MergeStyleMerge, nil},
	} {
		pull := s.awaitPull(tier.name)
		s.mustNotOpen(tier.later...)
		s.merge(pull, tier.style)
		s.awaitState(tier.name, "Released")
	}
	s.awaitReleased()
	s.shows("seed workload True Released 5/5", "planting workload.edge-1 workload edge-1 True 3/3 ")
	s.checkEdge("1G", "1.0")
	s.eventually(limit, "the cluster is Available, by its network add-on", func() (bool, string) { return s.isAvailable(), "" })
	if shown := s.furrow("status"); strings.Count(shown, "Released") != 2+6 {
		s.t.Errorf("furrow status does not show 2 seeds and 6 tiers as Released:\n%s", shown)
	}
}

// checkEdge checks what runs on the edge.
func (s *edgeStory) checkEdge(bandwidth, upf string) {
	s.t.Helper()
	if is := s.bandwidth(); is != bandwidth {
		s.t.Errorf("the slice on the edge has bandwidth %q, not %q", is, bandwidth)
	}
	var deployment appsv1.Deployment
	err := s.provider.client("edge-1").Get(s.t.Context(), client.ObjectKey{Namespace: "core", Name: "upf"}, &deployment)
	if err != nil {
		s.t.Fatal(err)
	}
	if image := deployment.Spec.Template.Spec.Containers[0].Image; !strings.HasSuffix(image, ":"+upf) {
		s.t.Errorf("the upf on the edge is %s, not %s", image, upf)
	}
	if deployment.Status.AvailableReplicas != 2 {
		s.t.Errorf("the upf on the edge has %d available replicas", deployment.Status.AvailableReplicas)
	}
}

// bandwidth returns the bandwidth of the slice on the edge.
func (s *edgeStory) bandwidth() string {
	s.t.Helper()
	slice := &unstructured.Unstructured{}
	slice.SetGroupVersionKind(schema.GroupVersionKind{Group: "ran.example.com", Version: "v1", Kind: "Slice"})
	if err := s.provider.client("edge-1").Get(s.t.Context(), client.ObjectKey{Namespace: "core", Name: "gold"}, slice); err != nil {
		s.t.Fatal(err)
	}
	bandwidth, _, _ := unstructured.NestedString(slice.Object, "spec", "bandwidth")
	return bandwidth
}

func (s *edgeStory) staysClosed() {
	s.update("A newer upf", func(w *workload) { w.UPF = "1.1" })
	pull := s.awaitPull(edge2)
	before := len(s.pulls(sdk.StateAll))
	s.close(pull)
	s.awaitState(edge2, "Rejected")
	s.passes(3)
	if open := s.openTiers(); len(open) > 0 {
		s.t.Errorf("open are %v", open)
	}
	if all := s.pulls(sdk.StateAll); len(all) != before {
		s.t.Errorf("there are new pull requests: %v", pullNames(all))
	}
	s.awaitState(edge2, "Rejected")
	s.shows("seed workload False Rejected 4/5 edge-1 tier 02: … retry", "planting workload.edge-1 workload edge-1 False 2/3 02 Rejected edge-1 tier 02: ")
	s.retry("workload")
	s.awaitPull(edge2)
	s.passes(2)
	if open := s.openTiers(); !slices.Equal(open, []string{edge2}) {
		s.t.Errorf("open are %v", open)
	}
	if all := s.pulls(sdk.StateAll); len(all) > before+1 {
		s.t.Errorf("there are several new pull requests: %v", pullNames(all))
	}
	s.release(edge2, sdk.MergeStyleSquash)
	s.awaitReleased()
	s.checkEdge("1G", "1.1")
}

func (s *edgeStory) keepsThePersonsChange() {
	s.update("More bandwidth, and a newer upf", func(w *workload) { w.Bandwidth, w.UPF = "2G", "1.2" })
	pull := s.awaitPull(edge1)
	s.edit(pull, "planted/edge-1/workload/tier-01/slice.gold.yaml", func(old string) string {
		return strings.Replace(old, "2G", "7G", 1)
	})
	s.merge(pull, sdk.MergeStyleSquash)
	if tier := s.awaitState(edge1, "Released"); tier.Amended == "" {
		s.t.Errorf("%s is not shown as amended", edge1)
	}
	s.release(edge2, sdk.MergeStyleRebase)
	s.awaitReleased()
	s.checkEdge("7G", "1.2")
	if tier := s.awaitState(edge1, "Released"); !strings.Contains(tier.Amended, pull.HTMLURL) {
		s.t.Errorf("%s does not show where it was amended: %q", edge1, tier.Amended)
	}
	if shown := s.furrow("status"); !strings.Contains(shown, "Released (Amended)") {
		s.t.Errorf("furrow status does not show what was amended:\n%s", shown)
	}
}

// tierObject returns the key of the Kustomization of a tier of the edge.
func (s *edgeStory) tierObject(number string) client.ObjectKey {
	return client.ObjectKey{Namespace: s.version.Namespace, Name: "workload.edge-1." + number}
}

// suspend suspends or resumes the root's source.
func (s *edgeStory) suspend(suspended bool) {
	s.t.Helper()
	source := s.source()
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"suspend":%t}}`, suspended))
	if err := s.world.mgmt.Client().Patch(s.t.Context(), source, patch); err != nil {
		s.t.Fatal(err)
	}
}

// brokenFile is somebody else's file in the root's directory.
const brokenFile = "clusters/mgmt/somebody-else.yaml"

// staleReadyDoesNotRelease merges an update of the contents and the reconciler of a tier, while the root's source is
// suspended and somebody else's file breaks the root.
func (s *edgeStory) staleReadyDoesNotRelease() {
	eager, err := os.ReadFile("testdata/eager.yaml")
	if err != nil {
		s.t.Fatal(err)
	}
	types := s.fleet()["fleet/mgmt.yaml"]
	types = strings.Replace(types, "metadata: {name: edge}", "metadata: {name: edge}\nspec: {reconcilerTemplate: eager}", 1)
	s.update("Another network, and other reconcilers", func(w *workload) { w.Network = "1.1" },
		files{"fleet/eager.yaml": string(eager), "fleet/mgmt.yaml": types})
	pull := s.awaitPull(edge0)
	s.suspend(true)
	s.passes(2) // a fetch of source-controller that is in progress is from before the merge
	s.merge(pull, sdk.MergeStyleSquash)
	s.commitToBase("Break the root", files{brokenFile: "this: [is not\n"})
	s.awaitState(edge0, "Merged")
	s.passes(3)
	key := s.tierObject("00")
	if k, _ := s.kustomization(key.Namespace, key.Name); !isReady(k) {
		s.t.Error("the Kustomization is not Ready any more: this story tests nothing")
	}
	if is := s.networkImage(); strings.HasSuffix(is, ":1.1") {
		s.t.Error("the update is on the edge although the source is suspended: this story tests nothing")
	}
	if tier := s.awaitState(edge0, "Merged"); !strings.Contains(tier.Message, "suspended") {
		s.t.Errorf("the message does not say that the source is suspended: %q", tier.Message)
	}
	s.shows("planting workload.edge-1 workload edge-1 False 0/3 00 Merged edge-1 tier 00: … suspended")
	s.mustNotOpen(edge1, edge2)
	for _, tier := range []string{note0, mgmt0, mgmt1} {
		if is := s.state(tier); is != "Released" {
			s.t.Errorf("%s is %s after an update that does not change it", tier, is)
		}
	}
}

// networkImage returns the image of the network add-on on the edge.
func (s *edgeStory) networkImage() string {
	s.t.Helper()
	var network appsv1.Deployment
	if err := s.provider.client("edge-1").Get(s.t.Context(), networkAddOn, &network); err != nil {
		s.t.Fatal(err)
	}
	return network.Spec.Template.Spec.Containers[0].Image
}

func (s *edgeStory) stuckRootDoesNotRelease() {
	s.suspend(false)
	if err := s.gitops.fetch(); err != nil {
		s.t.Fatal(err)
	}
	head, key := s.gitops.head("main"), s.tierObject("00")
	s.eventually(limit, "the tier is Ready with its new contents and its old reconciler", func() (bool, string) {
		k, _ := s.kustomization(key.Namespace, key.Name)
		was := k.Spec.Interval.Duration.String()
		return isReady(k) && strings.HasSuffix(k.Status.LastAppliedRevision, head) && was == "10m0s", k.Status.LastAppliedRevision + " " + was
	})
	if is := s.networkImage(); !strings.HasSuffix(is, ":1.1") {
		s.t.Errorf("the edge has %s: this story tests nothing", is)
	}
	s.passes(3)
	tier := s.awaitState(edge0, "Merged")
	for _, cause := range []string{s.namespace + "/" + rootName, "somebody-else.yaml"} {
		if !strings.Contains(tier.Message, cause) {
			s.t.Errorf("the message does not name %s as the cause: %q", cause, tier.Message)
		}
	}
	s.shows("seed workload False Merged … edge-1 tier 00: … somebody-else.yaml")
	s.mustNotOpen(edge1, edge2)
	s.commitToBase("Repair the root", files{brokenFile: ""})
	s.awaitState(edge0, "Released")
	if k, _ := s.kustomization(key.Namespace, key.Name); k.Spec.Interval.Duration.String() != "3m0s" {
		s.t.Errorf("%s is Released with its old reconciler", edge0)
	}
	s.release(edge1, sdk.MergeStyleMerge)
	s.release(edge2, sdk.MergeStyleRebase)
	s.awaitReleased()
}

func (s *edgeStory) brokenTierHolds() {
	s.update("A network for nodes that are not there", func(w *workload) { w.Network, w.NetworkOn, w.Bandwidth = "2.0", "plan9", "4G" })
	s.merge(s.awaitPull(edge0), sdk.MergeStyleMerge)
	if tier := s.awaitState(edge0, "Failed"); !strings.Contains(tier.Message, "network") {
		s.t.Errorf("the message does not say what failed: %q", tier.Message)
	}
	s.passes(3)
	s.mustNotOpen(edge1, edge2)
	if is := s.state(edge1); is != "Blocked" {
		s.t.Errorf("%s is %s", edge1, is)
	}
	s.shows("seed workload False Failed … edge-1 tier 00: … network", "planting workload.edge-1 workload edge-1 False … 00 Failed edge-1 tier 00: ")
	if is := s.bandwidth(); is == "4G" {
		s.t.Errorf("the slice has bandwidth %s", is)
	}
	s.update("A network for the nodes that are there", func(w *workload) { w.Network, w.NetworkOn = "2.1", "linux" })
	s.release(edge0, sdk.MergeStyleSquash)
	s.release(edge1, sdk.MergeStyleSquash)
	s.awaitReleased()
	s.checkEdge("4G", "1.2")
}

// isRestoredFromBase deletes the edge and all reconcilers of the story, so Flux has nothing but the base branch. The
// root is deleted first, and completely: a working root would create the others again.
func (s *edgeStory) isRestoredFromBase() {
	s.stop()
	ctx := s.t.Context()
	s.lose(client.ObjectKey{Namespace: s.namespace, Name: rootName})
	s.lose(s.tierObject("00"), s.tierObject("01"), s.tierObject("02"))
	s.observer.forget()
	emptied := time.Now()
	if err := s.provider.wipe(ctx, "edge-1"); err != nil {
		s.t.Fatal(err)
	}
	if err := s.provider.client("edge-1").Get(ctx, client.ObjectKey{Name: "core"}, &corev1.Namespace{}); !apierrors.IsNotFound(err) {
		s.t.Errorf("the edge is not empty: %v", err)
	}
	if err := s.bootstrap(ctx); err != nil {
		s.t.Fatal(err)
	}
	var order []string
	s.eventually(limit, "the edge is healthy again", func() (bool, string) {
		order = nil
		for _, event := range s.observer.happened() {
			// Later transitions to Ready, as after another reconciliation, do not count.
			if strings.HasPrefix(event, "ready workload.edge-1.") && !slices.Contains(order, event) {
				order = append(order, event)
			}
		}
		return len(order) == 3, fmt.Sprint(order)
	})
	if !slices.IsSorted(order) {
		s.t.Errorf("the tiers became ready in another order: %v", order)
	}
	s.mustHaveApplied(emptied)
	s.checkEdge("4G", "1.2")
}

// lose deletes Kustomizations from the management cluster, and leaves what they applied.
func (s *edgeStory) lose(keys ...client.ObjectKey) {
	s.t.Helper()
	ctx, mgmt := s.t.Context(), s.world.mgmt.Client()
	for _, key := range keys {
		k, _ := s.kustomization(key.Namespace, key.Name)
		before := k.DeepCopy()
		k.Spec.Suspend = true
		if err := mgmt.Patch(ctx, &k, client.MergeFrom(before)); err != nil {
			s.t.Fatal(err)
		}
		if err := mgmt.Delete(ctx, &k); err != nil {
			s.t.Fatal(err)
		}
	}
	for _, key := range keys {
		s.eventually(limit, fmt.Sprintf("Kustomization %s is gone", key), func() (bool, string) {
			k, found := s.kustomization(key.Namespace, key.Name)
			return !found, fmt.Sprint(k.DeletionTimestamp, k.Finalizers)
		})
	}
}

// mustHaveApplied fails if, since a time, Flux applied an object of a tier of the edge before the previous tier was Ready.
// Readiness has a resolution of seconds.
func (s *edgeStory) mustHaveApplied(since time.Time) {
	s.t.Helper()
	events, err := s.provider.cluster("edge-1").AuditEvents()
	if err := errors.Join(err, s.gitops.fetch()); err != nil {
		s.t.Fatal(err)
	}
	plan := s.plan("workload")
	for ordinal, number := range []string{"00", "01", "02"} {
		tier, _ := plan.tier("edge-1", ordinal)
		objects := plan.objects(tier)
		applied, ok := first(events, since, func(e servers.AuditEvent) bool {
			return isApply(e) && slices.ContainsFunc(objects, func(id string) bool { return targetOf(id).is(e) })
		})
		if !ok {
			s.t.Errorf("the edge's audit log has no apply of tier %s, of %v", number, objects)
		}
		if ordinal == 0 {
			continue
		}
		before := s.tierObject(fmt.Sprintf("%02d", ordinal-1))
		if ready, was := s.observer.readySince(before); !was || applied.Unix() < ready {
			s.t.Errorf("tier %s was applied at %s, before %s was Ready", number, applied, before.Name)
		}
	}
}

func (s *edgeStory) restarts() {
	before := len(s.pulls(sdk.StateAll))
	s.run()
	s.passes(3)
	s.awaitReleased()
	if all := s.pulls(sdk.StateAll); len(all) != before {
		s.t.Errorf("there are new pull requests: %v", pullNames(all[before:]))
	}
}

func (s *edgeStory) removalIsGuarded() {
	// Both are removed while furrow is stopped, so one pass has both removals.
	s.stop()
	s.remove("workload", "note")
	s.run()
	for _, seed := range []string{"workload", "note"} {
		s.eventually(limit, "the removal of "+seed+" is blocked", func() (bool, string) {
			r := s.status()
			is := r.seed(seed)
			return is.State == "Stalled" && strings.Contains(is.Message, "furrow confirm "+seed), is.State + ": " + is.Message
		})
	}
	s.passes(3)
	if open := s.openTiers(); len(open) > 0 {
		s.t.Errorf("open are %v", open)
	}
	s.shows("seed workload False Stalled … furrow confirm workload", "seed note False Stalled … furrow confirm note")
	s.confirm("workload")
}

func (s *edgeStory) isRemovedInReverse() {
	began := time.Now()
	s.merge(s.awaitPull(note0), sdk.MergeStyleSquash)
	tiers := []string{edge2, edge1, edge0, mgmt1, mgmt0}
	for i, tier := range tiers {
		pull := s.awaitPull(tier)
		s.mustNotOpen(tiers[i+1:]...)
		_, found := s.creator()
		if wanted := tier != mgmt0; found != wanted {
			s.t.Errorf("at the removal of %s the Cluster exists: %t", tier, found)
		}
		s.merge(pull, []sdk.MergeStyle{sdk.MergeStyleMerge, sdk.MergeStyleSquash, sdk.MergeStyleRebase}[i%3])
	}
	s.eventually(limit, "the namespace is gone", func() (bool, string) {
		err := s.world.mgmt.Client().Get(s.t.Context(), client.ObjectKey{Name: s.version.Namespace}, &corev1.Namespace{})
		return apierrors.IsNotFound(err), fmt.Sprint(err)
	})
	s.eventually(limit, "no branch of furrow is left except its status", func() (bool, string) {
		branches, err := listBranches(s.asPerson, s.gitops)
		slices.Sort(branches)
		return slices.Equal(branches, []string{s.statusBranch(), "main"}), fmt.Sprint(branches, " ", err)
	})
	if err := s.gitops.fetch(); err != nil {
		s.t.Fatal(err)
	}
	for _, path := range []string{"planted", "clusters/mgmt/furrow"} {
		if s.gitops.object("origin/main", path) != "" {
			s.t.Errorf("the base branch still has %s", path)
		}
	}
	if left := s.kustomizations(context.Background()); len(left) != 1 {
		s.t.Errorf("%d Kustomizations are left beside the root", len(left)-1)
	}
	s.mustHaveDeleted(began)
	s.awaitForgotten()
}

// mustHaveDeleted fails unless, since a time, Flux deleted the objects of the last tier first and the Cluster last.
func (s *edgeStory) mustHaveDeleted(since time.Time) {
	s.t.Helper()
	var before time.Time
	for _, object := range []struct {
		on *servers.Cluster
		target
	}{
		{s.provider.cluster("edge-1"), target{"apps", "deployments", "core", "upf"}},
		{s.provider.cluster("edge-1"), target{"ran.example.com", "slices", "core", "gold"}},
		{s.provider.cluster("edge-1"), target{"apps", "deployments", networkAddOn.Namespace, networkAddOn.Name}},
		{s.world.mgmt, target{clusterKind.Group, "clusters", s.version.Namespace, "edge-1"}},
	} {
		events, err := object.on.AuditEvents()
		if err != nil {
			s.t.Fatal(err)
		}
		deleted, ok := first(events, since, func(e servers.AuditEvent) bool { return e.Verb == "delete" && object.is(e) })
		if !ok || !deleted.After(before) {
			s.t.Errorf("Flux deleted %v at %s (%t), and its predecessor at %s", object.target, deleted, ok, before)
		}
		before = deleted
	}
}
