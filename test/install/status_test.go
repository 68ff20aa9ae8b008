package install

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kubeyaml "sigs.k8s.io/yaml"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/test/servers"
)

// specs has a valid spec of each kind.
var specs = map[string]string{
	"Seed": source, "Planting": "{seed: web, cluster: edge-1}", "Cluster": "{role: Management, type: edge, reconciledBy: hub}",
	"ClusterType": "{gitOpsRepo: fleet}", "GitOpsRepo": "{url: 'https://git.example.com/fleet.git'}",
	"RolloutPolicy": "{groupBy: Level}", "Template": "{type: Reconciler, text: a}",
}

// changedSpecs has valid updates of specs. A Planting's spec cannot be changed.
var changedSpecs = map[string]string{
	"Seed": "{source: {url: 'https://git.example.com/a'}, suspend: true}", "Cluster": "{role: Workload, type: edge, reconciledBy: hub}",
	"ClusterType": "{gitOpsRepo: other}", "GitOpsRepo": "{url: 'https://git.example.com/other.git'}",
	"RolloutPolicy": "{groupBy: Seed}", "Template": "{type: Reconciler, text: b}",
}

// nameOf returns a valid name for the kind.
func nameOf(kind string) string {
	if kind == "Planting" {
		return v1alpha1.PlantingName("web", "edge-1")
	}
	return "thing"
}

// setStatus writes a status, as the controller does.
func (c cluster) setStatus(t *testing.T, object *unstructured.Unstructured, status any) {
	t.Helper()
	value, err := runtime.DefaultUnstructuredConverter.ToUnstructured(status)
	if err != nil {
		t.Fatal(err)
	}
	before := object.DeepCopy()
	object.Object["status"] = value
	if err := c.Status().Patch(t.Context(), object, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

// condition returns a condition with the current time.
func condition(typ string, is metav1.ConditionStatus, reason v1alpha1.Reason, message string) metav1.Condition {
	return metav1.Condition{Type: typ, Status: is, Reason: string(reason), Message: message, LastTransitionTime: metav1.Now()}
}

func TestKstatusReadsAllKinds(t *testing.T) {
	servers.Need(t, servers.ForCluster...)
	cluster := startCluster(t, "kstatus")
	cluster.apply(t, crds(t))
	ready := condition(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonSucceeded, "All is well")
	notReady := condition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonProgressing, "1 of 2")
	failed := condition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonInvalidName, "The name is taken")
	unknown := condition(v1alpha1.ConditionReady, metav1.ConditionUnknown, v1alpha1.ReasonUnused, "Nobody asked")
	reconciling := condition(v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonProgressing, "1 of 2")
	stalled := condition(v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonInvalidName, "The name is taken")
	stage := condition(v1alpha1.ConditionMerged, metav1.ConditionFalse, v1alpha1.ReasonProgressing, "1 of 2")
	for kind, spec := range specs {
		for name, tc := range map[string]struct {
			conditions []metav1.Condition
			// changed means that the spec was changed since.
			changed, deleted bool
			// unseen means that the controller has not observed it yet.
			unseen bool
			want   status.Status
		}{
			"not observed yet":                  {unseen: true, want: status.InProgressStatus},
			"ready":                             {conditions: []metav1.Condition{ready}, want: status.CurrentStatus},
			"ready, of an older spec":           {conditions: []metav1.Condition{ready}, changed: true, want: status.InProgressStatus},
			"reconciling":                       {conditions: []metav1.Condition{notReady, reconciling, stage}, want: status.InProgressStatus},
			"not ready":                         {conditions: []metav1.Condition{notReady}, want: status.InProgressStatus},
			"unknown":                           {conditions: []metav1.Condition{unknown}, want: status.InProgressStatus},
			"stalled":                           {conditions: []metav1.Condition{failed, stalled, stage}, want: status.FailedStatus},
			"stalled, of an older spec":         {conditions: []metav1.Condition{failed, stalled}, changed: true, want: status.InProgressStatus},
			"being deleted":                     {conditions: []metav1.Condition{notReady, reconciling}, deleted: true, want: status.TerminatingStatus},
			"stalled during deletion":           {conditions: []metav1.Condition{failed, stalled}, deleted: true, want: status.TerminatingStatus},
			"ready, with a stage that is False": {conditions: []metav1.Condition{ready, stage}, want: status.CurrentStatus},
		} {
			if tc.changed && changedSpecs[kind] == "" {
				continue
			}
			t.Run(kind+" "+name, func(t *testing.T) {
				object := resource(t, kind, "default", nameOf(kind), spec)
				object.SetFinalizers([]string{v1alpha1.Finalizer})
				if err := cluster.Create(t.Context(), object); err != nil {
					t.Fatal(err)
				}
				if !tc.unseen {
					cluster.setStatus(t, object, &v1alpha1.CommonStatus{ObservedGeneration: object.GetGeneration(), Conditions: tc.conditions})
				}
				defer cluster.remove(t, object)
				if tc.changed {
					object.Object["spec"] = resource(t, kind, "", "", changedSpecs[kind]).Object["spec"]
					if err := cluster.Update(t.Context(), object); err != nil {
						t.Fatal(err)
					}
				}
				if tc.deleted {
					if err := cluster.Delete(t.Context(), object); err != nil {
						t.Fatal(err)
					}
					if err := cluster.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
						t.Fatal(err)
					}
				}
				got, err := status.Compute(object)
				if err != nil || got.Status != tc.want {
					t.Errorf("kstatus reads %v, want %s: %v", got, tc.want, err)
				}
			})
		}
	}
}

// remove deletes an object, regardless of finalizers.
func (c cluster) remove(t *testing.T, object *unstructured.Unstructured) {
	t.Helper()
	before := object.DeepCopy()
	object.SetFinalizers(nil)
	if err := c.Patch(t.Context(), object, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	if err := client.IgnoreNotFound(c.Delete(t.Context(), object)); err != nil {
		t.Fatal(err)
	}
}

// shown is kubectl's wide output for each kind, without ages.
var shown = map[string]struct {
	resource string
	status   any
	want     [2]string
}{
	"Seed": {"seeds", &v1alpha1.SeedStatus{
		CommonStatus: notReady("2 tiers are Proposed"), State: "Proposed", Progress: "1/3", Proposals: 2,
		WaitingFor: "review of edge-1 tier 01", Revision: "main@sha1:0123",
	}, [2]string{
		"NAME | READY | STATE | TIERS | PROPOSALS | WAITING FOR | REVISION | AGE",
		"thing | False | Proposed | 1/3 | 2 | review of edge-1 tier 01 | main@sha1:0123 | now",
	}},
	"Planting": {"plantings", &v1alpha1.PlantingStatus{
		CommonStatus: notReady("tier 01 is Proposed"), State: "Proposed", Current: "01", Progress: "1/2",
		WaitingFor: "review", Proposal: "https://git.example.com/pulls/1",
	}, [2]string{
		"NAME | SEED | CLUSTER | READY | TIERS | TIER | STATE | WAITING FOR | PROPOSAL | AGE",
		"web.edge-1 | web | edge-1 | False | 1/2 | 01 | Proposed | review | https://git.example.com/pulls/1 | now",
	}},
	"Cluster": {"clusters.furrow.dev", &v1alpha1.ClusterStatus{
		CommonStatus: notReady("hub is missing"), Role: v1alpha1.RoleManagement, Plantings: 3,
	}, [2]string{
		"NAME | READY | ROLE | TYPE | HUB | PLANTINGS | STATUS | AGE",
		"thing | False | Management | edge | hub | 3 | hub is missing | now",
	}},
	"ClusterType": {"clustertypes", &v1alpha1.ClusterTypeStatus{CommonStatus: notReady("fleet is missing"), Clusters: 4}, [2]string{
		"NAME | READY | REPOSITORY | CLUSTERS | STATUS | AGE",
		"thing | False | fleet | 4 | fleet is missing | now",
	}},
	"GitOpsRepo": {"gitopsrepos", &v1alpha1.GitOpsRepoStatus{
		CommonStatus: notReady("no answer"), Forge: v1alpha1.ForgePlain, Proposals: 5,
	}, [2]string{
		"NAME | READY | URL | FORGE | PROPOSALS | STATUS | AGE",
		"thing | False | https://git.example.com/fleet.git | Plain | 5 | no answer | now",
	}},
	"RolloutPolicy": {"rolloutpolicies", &v1alpha1.RolloutPolicyStatus{CommonStatus: notReady("there is no such day")}, [2]string{
		"NAME | READY | STATUS | AGE",
		"thing | False | there is no such day | now",
	}},
	"Template": {"templates", &v1alpha1.TemplateStatus{CommonStatus: notReady("it does not parse")}, [2]string{
		"NAME | READY | TYPE | STATUS | AGE",
		"thing | False | Reconciler | it does not parse | now",
	}},
}

func notReady(message string) v1alpha1.CommonStatus {
	return v1alpha1.CommonStatus{Conditions: []metav1.Condition{
		condition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonProgressing, message),
	}}
}

func TestKubectlShowsTheColumnsOfEachKind(t *testing.T) {
	bin := servers.Need(t, servers.ForCluster...)
	cluster := startCluster(t, "columns")
	cluster.apply(t, crds(t))
	kubectl := func(args ...string) string {
		t.Helper()
		args = append(args, "--kubeconfig", cluster.server.KubeConfigFile)
		return string(must(t)(run(t, bin.Program(servers.Kubernetes, "kubectl"), args...)))
	}
	for kind, spec := range specs {
		tc, ok := shown[kind]
		if !ok {
			t.Errorf("no expected output for kind %s", kind)
			continue
		}
		object := resource(t, kind, "default", nameOf(kind), spec)
		if err := cluster.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		cluster.setStatus(t, object, tc.status)
		var got [2]string
		for i, line := range strings.Split(strings.TrimSpace(kubectl("get", tc.resource, "--output=wide")), "\n") {
			cells := regexp.MustCompile(` {2,}`).Split(strings.TrimSpace(line), -1)
			if i == 1 {
				cells[len(cells)-1] = "now"
			}
			got[min(i, 1)] = strings.Join(cells, " | ")
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("kubectl get %s (-want +got):\n%s", tc.resource, diff)
		}
	}
	all := kubectl("get", "furrow", "--output=name")
	for kind := range specs {
		if !strings.Contains(all, strings.ToLower(kind)+".furrow.dev/"+nameOf(kind)) {
			t.Errorf("kubectl get furrow does not show %s:\n%s", kind, all)
		}
	}
}

func TestEveryKindHasASpecHere(t *testing.T) {
	servers.Need(t, servers.Kubernetes)
	for _, object := range find(t, crds(t), "CustomResourceDefinition") {
		var crd struct {
			Spec struct{ Names struct{ Kind string } }
		}
		if err := kubeyaml.Unmarshal(must(t)(kubeyaml.Marshal(object.Object)), &crd); err != nil {
			t.Fatal(err)
		}
		if specs[crd.Spec.Names.Kind] == "" {
			t.Errorf("there is no spec of kind %s", crd.Spec.Names.Kind)
		}
	}
}
