package dependency

import (
	"cmp"
	"fmt"
	"net/netip"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

var admission = Rule{
	Name: "admission",
	Doc: "A bare Pod waits for its ServiceAccount, PriorityClass and RuntimeClass; for the ServiceAccount default, until its Namespace has it; " +
		"and for the LimitRanges of its Namespace, if that has a ResourceQuota. The token Secret of a ServiceAccount waits for that, and a Service with a clusterIP for the ServiceCIDR that has it.",
	Why: "An API server rejects them, or its controllers delete them, when the other one does not exist. Pods of a workload are tried again.",
	Draw: func(w *World) {
		limits := limitsOf(w)
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
			limits.wait(v)
		}
		for v, o := range w.SourcesOf(manifest.GroupKind{Kind: "Secret"}) {
			waitForOwnAccount(w, v, o)
		}
		waitForAddresses(w)
	},
}

// limits are the LimitRanges and ResourceQuotas of each namespace.
type limits struct {
	*World
	ranges, quotas map[namespaceOn][]int32
}

func limitsOf(w *World) limits {
	in := func(kind string) map[namespaceOn][]int32 {
		found := map[namespaceOn][]int32{}
		for v := range w.VerticesOf(manifest.GroupKind{Kind: kind}) {
			if at := w.namespaceOf(v); !w.leaving[v] {
				found[at] = append(found[at], v)
			}
		}
		return found
	}
	return limits{w, in("LimitRange"), in("ResourceQuota")}
}

// wait draws the edges of a Pod to what gives it the limits that a quota may ask for.
func (l limits) wait(v int32) {
	at := l.namespaceOf(v)
	if len(l.quotas[at]) == 0 {
		return
	}
	for _, to := range l.ranges[at] {
		l.Wait(v, to, Reason{Field: "spec.containers", Why: "a ResourceQuota of its Namespace may ask for the limits that the LimitRange gives"})
	}
}

// waitForOwnAccount draws the edge of a token Secret to its ServiceAccount. The controller manager deletes
// a token whose account does not exist.
func waitForOwnAccount(w *World, v int32, o *manifest.Object) {
	const annotation = "kubernetes.io/service-account.name"
	name := o.Annotation(annotation)
	if !w.annotated(v) || name == "" || o.Text("type") != "kubernetes.io/service-account-token" {
		return
	}
	if to, ok := w.Beside(v, manifest.ID{Kind: "ServiceAccount", Namespace: o.ID.Namespace, Name: name}); ok {
		w.Wait(v, to, Reason{Field: "metadata.annotations[" + annotation + "]", Why: annotation + ": " + name})
	}
}

// waitForAddresses draws the edges of Services to the ServiceCIDR that has their clusterIP.
func waitForAddresses(w *World) {
	ranges := w.VerticesOf(manifest.GroupKind{Group: "networking.k8s.io", Kind: "ServiceCIDR"})
	for at, cidr := range ranges {
		for v, o := range w.SourcesOf(manifest.GroupKind{Kind: "Service"}) {
			ip, err := netip.ParseAddr(o.Text("spec", "clusterIP"))
			if err != nil || w.leaving[at] || w.Cluster(at).Name != w.Cluster(v).Name {
				continue
			}
			for _, text := range stringsOf(cidr.Slice("spec", "cidrs")) {
				if prefix, err := netip.ParsePrefix(text); err == nil && prefix.Contains(ip) {
					w.Wait(v, at, Reason{Field: "spec.clusterIP", Why: "spec.clusterIP: " + ip.String() + " is of " + text})
				}
			}
		}
	}
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
		if c.HasObject(account) {
			return
		}
		w.Warn(v, Finding{Reason: v1alpha1.ReasonMissingDependency, Cluster: c.Name, Missing: true,
			Message: fmt.Sprintf("no seed contains ServiceAccount %q of Namespace %s for cluster %s", name, o.ID.Namespace, c.Name), Next: "Add it."})
	}
}
