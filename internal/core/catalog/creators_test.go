package catalog

import (
	"reflect"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

func TestEveryRowOfTheCreatorTableIsReached(t *testing.T) {
	if rows := strings.Count(string(creatorsYAML), "- group:"); rows != len(creators) {
		t.Errorf("%d rows make %d kinds: one occurs twice", rows, len(creators))
	}
	for kind, row := range creators {
		if got, ok := Creator(kind); !ok || !reflect.DeepEqual(got, row) || !IsCreator(kind) {
			t.Errorf("%s is not found as a creator", kind)
		}
		if row.Version == "" {
			t.Errorf("%s has no version, which health checks name", kind)
		}
		if row.Current != "" && !strings.Contains(row.Current, "has(") {
			t.Errorf("%s: the expression is true, or fails, for an object without a status: %s", kind, row.Current)
		}
	}
	if IsCreator(manifest.GroupKind{Group: "cluster.x-k8s.io", Kind: "Machine"}) {
		t.Error("a Machine creates no cluster")
	}
}

// TestCreatorsOfTheKindsThatPlacementKnows has, for each project whose kinds belong to management
// clusters and that makes clusters, the kind that does.
func TestCreatorsOfTheKindsThatPlacementKnows(t *testing.T) {
	for text, want := range map[string]bool{
		"Cluster.cluster.x-k8s.io": true, "Cluster.planter.nephio.org": true,
		"ClusterDeployment.hive.openshift.io": true, "HostedCluster.hypershift.openshift.io": true,
		"Cluster.provisioning.cattle.io": true, "Shoot.core.gardener.cloud": true,
		"TenantControlPlane.kamaji.clastix.io": true, "Cluster.k0smotron.io": true,
		"Cluster.anywhere.eks.amazonaws.com": true, "Karmada.operator.karmada.io": true,
		"Cluster.eks.aws.upbound.io": true, "Cluster.eks.aws.m.upbound.io": true,
		"Cluster.container.gcp.upbound.io": true, "Cluster.container.gcp.m.upbound.io": true,
		"KubernetesCluster.containerservice.azure.upbound.io": true, "KubernetesCluster.containerservice.azure.m.upbound.io": true,
		"Cluster.eks.services.k8s.aws": true, "ContainerCluster.container.cnrm.cloud.google.com": true,
		"ManagedCluster.containerservice.azure.com": true,
		// These describe or import a cluster, and something else makes it.
		"ManagedCluster.cluster.open-cluster-management.io": false, "WorkloadCluster.infra.nephio.org": false, "Cluster.cluster.karmada.io": false,
		// These ask for a cluster of another name, by a template or package that says what makes it.
		"ProvisioningRequest.o2ims.provisioning.oran.org": false, "ProvisioningRequest.clcm.openshift.io": false,
		"FocomProvisioningRequest.focom.nephio.org": false, "PackageVariant.config.porch.kpt.dev": false,
	} {
		kind, group, _ := strings.Cut(text, ".")
		if got := IsCreator(manifest.GroupKind{Group: group, Kind: kind}); got != want {
			t.Errorf("%s creates clusters: %t, want %t", text, got, want)
		}
	}
}
