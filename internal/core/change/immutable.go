package change

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// immutable are the fields that API servers do not let anybody change, by kind. A field includes all
// below it.
var immutable = map[manifest.GroupKind][]string{
	{Group: "apps", Kind: "Deployment"}:                               {"spec.selector"},
	{Group: "apps", Kind: "DaemonSet"}:                                {"spec.selector"},
	{Group: "apps", Kind: "ReplicaSet"}:                               {"spec.selector"},
	{Group: "apps", Kind: "StatefulSet"}:                              {"spec.selector", "spec.serviceName", "spec.podManagementPolicy", "spec.volumeClaimTemplates"},
	{Group: "batch", Kind: "Job"}:                                     {"spec.template", "spec.selector", "spec.completionMode", "spec.podFailurePolicy", "spec.backoffLimitPerIndex", "spec.managedBy"},
	{Kind: "PersistentVolumeClaim"}:                                   {"spec.accessModes", "spec.selector", "spec.volumeName", "spec.storageClassName", "spec.volumeMode", "spec.dataSource", "spec.dataSourceRef"},
	{Kind: "Service"}:                                                 {"spec.clusterIP", "spec.clusterIPs[0]"},
	{Kind: "Secret"}:                                                  {"type"},
	{Group: "storage.k8s.io", Kind: "StorageClass"}:                   {"provisioner", "parameters", "reclaimPolicy", "volumeBindingMode"},
	{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}:         {"roleRef"},
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"}:  {"roleRef"},
	{Group: "scheduling.k8s.io", Kind: "PriorityClass"}:               {"value", "preemptionPolicy"},
	{Group: "node.k8s.io", Kind: "RuntimeClass"}:                      {"handler"},
	{Group: "networking.k8s.io", Kind: "IngressClass"}:                {"spec.controller"},
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: {"spec.group", "spec.scope", "spec.names.kind", "spec.names.plural"},
}

// recreated is the annotation by which Flux deletes an object and creates it again, where the API
// server refuses a change.
const recreated = "kustomize.toolkit.fluxcd.io/force"

// refuses returns whether an API server refuses that a field gets another value.
func refuses(was, is manifest.Object) func(path string, was, is any) bool {
	if was.ID.GroupKind() != is.ID.GroupKind() || strings.EqualFold(is.Annotation(recreated), "enabled") {
		return func(string, any, any) bool { return false }
	}
	kind := is.ID.GroupKind()
	fields := slices.Clone(immutable[kind])
	if frozen, _ := was.Field("immutable"); frozen == true && kind.Group == "" && (kind.Kind == "ConfigMap" || kind.Kind == "Secret") {
		fields = append(fields, "data", "binaryData", "stringData", "immutable")
	}
	return func(path string, before, after any) bool {
		if kind == (manifest.GroupKind{Kind: "PersistentVolumeClaim"}) && path == "spec.resources.requests.storage" {
			return smaller(before, after)
		}
		return slices.ContainsFunc(fields, func(field string) bool {
			rest, below := strings.CutPrefix(path, field)
			return below && (rest == "" || rest[0] == '.' || rest[0] == '[')
		})
	}
}

// smaller reports whether a quantity shrinks.
func smaller(was, is any) bool {
	before, err := resource.ParseQuantity(text(was))
	after, err2 := resource.ParseQuantity(text(is))
	return err == nil && err2 == nil && after.Cmp(before) < 0
}

// Refused returns the first field of an update that an API server does not let anybody change; empty
// where there is none.
func Refused(was, is manifest.Object) (field string) {
	refused := refuses(was, is)
	walk("", was.Body, is.Body, func(path string, was, is any) {
		if field == "" && refused(path, was, is) {
			field = path
		}
	})
	return field
}
