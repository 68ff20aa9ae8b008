package placement

import (
	"cmp"
	"iter"

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

// accountIn returns the name of the ServiceAccount that the spec of Pods names.
func accountIn(podSpec map[string]any) string {
	name, _ := podSpec["serviceAccountName"].(string)
	if name == "" {
		name, _ = podSpec["serviceAccount"].(string)
	}
	return name
}

// podSpec returns the spec of a workload's Pods.
func podSpec(o *manifest.Object, path []string) map[string]any {
	spec, _ := podTemplate(o, path)["spec"].(map[string]any)
	return spec
}

// podTemplate returns the template of a workload's Pods; a Pod is its own.
func podTemplate(o *manifest.Object, path []string) map[string]any {
	if len(path) == 0 {
		return o.Body
	}
	return o.Map(path...)
}

// RoleOf returns the role that a binding names.
func RoleOf(binding *manifest.Object) manifest.ID {
	role := manifest.ID{Group: rbacGroup, Kind: binding.Text("roleRef", "kind"), Name: binding.Text("roleRef", "name")}
	if role.Kind == "Role" {
		role.Namespace = binding.ID.Namespace
	}
	return role
}

// SubjectsOf returns the ServiceAccounts that a binding names. Without a namespace they are in that
// of the binding.
func SubjectsOf(binding *manifest.Object) []manifest.ID {
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

func podLabels(o *manifest.Object, path []string) labels.Set {
	metadata, _ := podTemplate(o, path)["metadata"].(map[string]any)
	labels, _ := metadata["labels"].(map[string]any)
	return stringsOf(labels)
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

// RunsPods reports whether objects of a kind are Pods or make some.
func RunsPods(kind manifest.GroupKind) bool { return isWorkload(kind) }

// PodsOf returns the labels and annotations of a workload's Pods, and their spec; a Pod is its own.
func PodsOf(o *manifest.Object) (metadata, spec map[string]any) {
	template := podTemplate(o, podTemplates[o.ID.GroupKind()])
	metadata, _ = template["metadata"].(map[string]any)
	spec, _ = template["spec"].(map[string]any)
	return metadata, spec
}

// AccountOf returns the name of the ServiceAccount of a workload's Pods.
func AccountOf(podSpec map[string]any) string { return cmp.Or(accountIn(podSpec), "default") }

// Arguments visits the words of the command lines of Pods, and the values of their variables.
func Arguments(podSpec map[string]any) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, list := range []string{"initContainers", "containers"} {
			for _, c := range mappings(podSpec[list]) {
				for _, text := range append(texts(c["command"]), texts(c["args"])...) {
					if !yield(text) {
						return
					}
				}
				for _, variable := range mappings(c["env"]) {
					if text, ok := variable["value"].(string); ok && !yield(text) {
						return
					}
				}
			}
		}
	}
}
