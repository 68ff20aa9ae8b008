package main

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// kapp orders by kapp's default change rules, and waits for each change before those after it:
// custom resources after their CRD, what is in a Namespace after it, bindings after roles, and
// everything else in a Namespace after accounts, configuration, RBAC and storage. A rule of groups
// is left out where it would make a cycle; with these groups there is none.
func kapp(objects []*unstructured.Unstructured) ([][]*unstructured.Unstructured, error) {
	level := map[*unstructured.Unstructured]int{}
	// What an object waits for by these rules is at most four steps deep.
	for range 5 {
		for _, o := range objects {
			for _, other := range objects {
				if o != other && kappWaits(o, other) {
					level[o] = max(level[o], level[other]+1)
				}
			}
		}
	}
	var batches [][]*unstructured.Unstructured
	for _, o := range objects {
		for len(batches) <= level[o] {
			batches = append(batches, nil)
		}
		batches[level[o]] = append(batches[level[o]], o)
	}
	return batches, nil
}

var (
	kappRoles   = []string{"ClusterRole", "Role"}
	kappRBAC    = []string{"ClusterRole", "Role", "ClusterRoleBinding", "RoleBinding"}
	kappStorage = []string{"StorageClass", "PersistentVolume", "PersistentVolumeClaim"}
	kappPods    = []string{"NetworkPolicy", "ResourceQuota", "LimitRange", "PriorityClass", "RuntimeClass", "ServiceAccount", "Secret", "ConfigMap"}
)

// kappWaits reports whether a change waits for another one.
func kappWaits(o, other *unstructured.Unstructured) bool {
	kind, on := o.GetKind(), other.GetKind()
	first := slices.Concat(kappRBAC, kappStorage, kappPods)
	switch {
	case on == "CustomResourceDefinition":
		return definedKind(other) == o.GroupVersionKind().Group+"/"+kind
	case on == "Namespace":
		return o.GetNamespace() == other.GetName()
	case slices.Contains(kappRBAC, kind) && !slices.Contains(kappRoles, kind):
		return slices.Contains(kappRoles, on)
	case kind == "PersistentVolume" || kind == "PersistentVolumeClaim":
		return on == "StorageClass"
	}
	return o.GetNamespace() != "" && !slices.Contains(first, kind) && slices.Contains(first, on)
}
