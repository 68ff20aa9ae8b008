package placement

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// podTemplates says where the kinds that run Pods have the template; a Pod is its own.
var podTemplates = map[manifest.GroupKind][]string{
	{Kind: "Pod"}:                        nil,
	{Kind: "ReplicationController"}:      {"spec", "template"},
	{Group: "apps", Kind: "Deployment"}:  {"spec", "template"},
	{Group: "apps", Kind: "StatefulSet"}: {"spec", "template"},
	{Group: "apps", Kind: "DaemonSet"}:   {"spec", "template"},
	{Group: "apps", Kind: "ReplicaSet"}:  {"spec", "template"},
	{Group: "batch", Kind: "Job"}:        {"spec", "template"},
	{Group: "batch", Kind: "CronJob"}:    {"spec", "jobTemplate", "spec", "template"},
}

func isWorkload(kind manifest.GroupKind) bool {
	_, ok := podTemplates[kind]
	return ok
}

// accountOf returns the ServiceAccount that a workload names, and the field; none for any other
// object.
func accountOf(o *manifest.Object) (account manifest.ID, field string) {
	path, ok := podTemplates[o.ID.GroupKind()]
	if !ok {
		return manifest.ID{}, ""
	}
	at := append(slices.Clone(path), "spec", "serviceAccountName")
	name := cmp.Or(o.Text(at...), o.Text(append(slices.Clone(path), "spec", "serviceAccount")...))
	return manifest.ID{Kind: "ServiceAccount", Namespace: o.ID.Namespace, Name: name}, strings.Join(at, ".")
}

// namedByPods lists what a workload names by its Pods, but for Secrets and ConfigMaps.
func namedByPods(o *manifest.Object) []manifest.ID {
	account, _ := accountOf(o)
	path, ok := podTemplates[o.ID.GroupKind()]
	if !ok {
		return nil
	}
	spec := o.Map(append(slices.Clone(path), "spec")...)
	priority, _ := spec["priorityClassName"].(string)
	runtime, _ := spec["runtimeClassName"].(string)
	return slices.DeleteFunc([]manifest.ID{
		account, {Group: priorityClassKind.Group, Kind: priorityClassKind.Kind, Name: priority}, {Group: runtimeClassKind.Group, Kind: runtimeClassKind.Kind, Name: runtime},
	}, func(id manifest.ID) bool { return id.Name == "" })
}

// roleOf returns the role that a binding names.
func roleOf(binding *manifest.Object) manifest.ID {
	role := manifest.ID{Group: rbacGroup, Kind: binding.Text("roleRef", "kind"), Name: binding.Text("roleRef", "name")}
	if role.Kind == "Role" {
		role.Namespace = binding.ID.Namespace
	}
	return role
}

// subjectsOf returns the ServiceAccounts that a binding names. Without a namespace they are in that
// of the binding.
func subjectsOf(binding *manifest.Object) []manifest.ID {
	var accounts []manifest.ID
	for _, subject := range mappings(binding.Body["subjects"]) {
		if subject["kind"] == "ServiceAccount" {
			name, _ := subject["name"].(string)
			namespace, _ := subject["namespace"].(string)
			accounts = append(accounts, manifest.ID{Kind: "ServiceAccount", Namespace: cmp.Or(namespace, binding.ID.Namespace), Name: name})
		}
	}
	return accounts
}

// podLabel is one label of the Pods of a workload.
type podLabel struct{ namespace, key, value string }

// selectedBy returns the workloads whose Pods a Service selects.
func (s *placer) selectedBy(service *manifest.Object) []*node {
	if s.labelled == nil {
		s.labelled = map[podLabel][]*node{}
		for kind, path := range podTemplates {
			for _, n := range s.resources[kind] {
				for key, value := range podLabels(n.object, path) {
					at := podLabel{n.object.ID.Namespace, key, value}
					s.labelled[at] = append(s.labelled[at], n)
				}
			}
		}
	}
	wanted := stringsOf(service.Map("spec", "selector"))
	if len(wanted) == 0 {
		return nil
	}
	key := sortedKeys(wanted)[0]
	var found []*node
	for _, n := range s.labelled[podLabel{service.ID.Namespace, key, wanted[key]}] {
		if labels.SelectorFromSet(wanted).Matches(podLabels(n.object, podTemplates[n.object.ID.GroupKind()])) {
			found = append(found, n)
		}
	}
	slices.SortFunc(found, func(a, b *node) int { return a.object.ID.Compare(b.object.ID) })
	return found
}

func podLabels(o *manifest.Object, path []string) labels.Set {
	return stringsOf(o.Map(append(slices.Clone(path), "metadata", "labels")...))
}

// stringsOf returns the fields of a mapping whose values are strings.
func stringsOf(fields map[string]any) map[string]string {
	out := make(map[string]string, len(fields))
	for key, value := range fields {
		if text, ok := value.(string); ok {
			out[key] = text
		}
	}
	return out
}
