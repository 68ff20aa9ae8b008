package dependency

import (
	"cmp"
	"fmt"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

var admission = Rule{
	Name: "admission",
	Doc:  "A bare Pod waits for its ServiceAccount, PriorityClass and RuntimeClass; for the ServiceAccount default, until its Namespace has it.",
	Why:  "An API server rejects a Pod that names one that does not exist. Pods of a workload are tried again.",
	Draw: func(w *World) {
		for v, o := range w.SourcesOf(podKind) {
			for _, class := range []struct {
				field string
				id    manifest.ID
			}{
				{"spec.priorityClassName", manifest.ID{Group: "scheduling.k8s.io", Kind: "PriorityClass", Name: o.Text("spec", "priorityClassName")}},
				{"spec.runtimeClassName", manifest.ID{Group: "node.k8s.io", Kind: "RuntimeClass", Name: o.Text("spec", "runtimeClassName")}},
			} {
				if to, ok := w.Beside(v, class.id); ok {
					w.Wait(v, to, Reason{Field: class.field, Why: class.field + ": " + class.id.Name})
				}
			}
			waitForAccount(w, v, o)
		}
	},
}

var podKind = manifest.GroupKind{Kind: "Pod"}

// waitForAccount draws the edge to the ServiceAccount of a Pod. The controller manager makes the
// account default of each Namespace, some time after that is there, so the Pod waits for the
// Namespace until the account is beside it. Any other one of a Namespace that comes with the plan is
// only there if a seed contains it.
func waitForAccount(w *World, v int32, o *manifest.Object) {
	const field = "spec.serviceAccountName"
	const made = "default"
	name := cmp.Or(o.Text("spec", "serviceAccountName"), o.Text("spec", "serviceAccount"), made)
	account := manifest.ID{Kind: "ServiceAccount", Namespace: o.ID.Namespace, Name: name}
	if to, ok := w.Beside(v, account); ok {
		w.Wait(v, to, Reason{Field: field, Why: field + ": " + name})
		return
	}
	switch to, planned := w.Beside(v, manifest.ID{Kind: "Namespace", Name: o.ID.Namespace}); {
	case !planned:
	case name == made:
		w.Wait(v, to, Reason{Field: field, Why: field + ": " + name + ", which the controller manager makes in it", Beside: account})
	default:
		c := w.Cluster(v)
		w.Warn(v, Finding{Reason: v1alpha1.ReasonMissingDependency, Cluster: c.Name, Missing: true,
			Message: fmt.Sprintf("no seed contains ServiceAccount %q of Namespace %s for cluster %s", name, o.ID.Namespace, c.Name), Next: "Add it."})
	}
}
