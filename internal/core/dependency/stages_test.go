package dependency

import (
	"testing"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

func TestStagesAreThoseOfFlux(t *testing.T) {
	for kind, want := range map[manifest.GroupKind]int{
		{Kind: "Namespace"}: 0,
		{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: 0,
		{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}:         0,
		{Group: "example.com", Kind: "Namespace"}:                         2,
		{Group: "rbac.authorization.k8s.io", Kind: "Role"}:                2,
		{Group: "scheduling.k8s.io", Kind: "PriorityClass"}:               1,
		{Group: "cluster.x-k8s.io", Kind: "ClusterClass"}:                 1,
		{Group: "apps", Kind: "Deployment"}:                               2,
	} {
		if got := stageOf(kind); got != want {
			t.Errorf("%s is of stage %d, want %d", kind, got, want)
		}
	}
}
