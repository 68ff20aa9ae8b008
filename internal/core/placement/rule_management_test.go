package placement

import (
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

func TestRuleManagementAPI(t *testing.T) {
	host := "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {name: h, namespace: default}\n"
	const id = "metal3.io/BareMetalHost/default/h"
	runPlaceCases(t, map[string]placeCase{
		"an API of management clusters goes to the only one": {
			clusters: []string{mgmt, edgeEU}, seed: []string{host}, of: id,
			want: where{"mgmt", "management-api"},
		},
		"of several the seed names one": {
			clusters: []string{mgmt, mgmt2}, seed: []string{spec("managementCluster: mgmt-2"), host}, of: id,
			want: where{"mgmt-2", "management-api"},
		},
		"of several none is guessed": {
			clusters: []string{mgmt, mgmt2, edgeEU}, seed: []string{host},
			wantError: `seeds/web/web.yaml:1: BareMetalHost "h": ManagementClusterAmbiguous`,
		},
		"without a management cluster it can go nowhere": {
			clusters: []string{edgeEU}, seed: []string{host},
			wantError: `seeds/web/web.yaml:1: BareMetalHost "h": NoManagementCluster`,
		},
		"a workload cluster is not a management cluster, whatever the seed says": {
			clusters: []string{mgmt, edgeEU}, seed: []string{spec("managementCluster: edge-eu"), host},
			wantError: `seeds/web/web.yaml:4: Seed "web": UnknownCluster field=spec.managementCluster seed=web`,
		},
		"a definition of Crossplane goes where the composites go": {
			clusters: []string{mgmt, edgeEU}, of: "apiextensions.crossplane.io/CompositeResourceDefinition/dbs.acme.org",
			seed: []string{
				"apiVersion: apiextensions.crossplane.io/v1\nkind: CompositeResourceDefinition\nmetadata: {name: dbs.acme.org}\nspec: {group: acme.org, names: {kind: DB, plural: dbs}}\n",
				"apiVersion: acme.org/v1\nkind: DB\nmetadata: {name: a}\n",
			},
			want: where{"edge-eu", "management-api"},
		},
		"a provider of Crossplane goes where resources of its are": {
			clusters: []string{mgmt, edgeEU}, of: "pkg.crossplane.io/Provider/s3",
			seed: []string{
				"apiVersion: pkg.crossplane.io/v1\nkind: Provider\nmetadata: {name: s3}\nspec: {package: example.com/provider-aws-s3}\n",
				"apiVersion: s3.aws.upbound.io/v1beta1\nkind: Bucket\nmetadata: {name: a}\n",
			},
			want: where{"edge-eu", "management-api"},
		},
		"by itself it goes to the management cluster": {
			clusters: []string{mgmt, edgeEU}, of: "pkg.crossplane.io/Provider/s3",
			seed: []string{"apiVersion: pkg.crossplane.io/v1\nkind: Provider\nmetadata: {name: s3}\nspec: {package: example.com/provider-aws-s3}\n"},
			want: where{"mgmt", "management-api"},
		},
		"all objects without a management cluster are one problem": {
			clusters: []string{edgeEU}, seed: []string{host, "apiVersion: agent-install.openshift.io/v1beta1\nkind: InfraEnv\nmetadata: {name: i, namespace: default}\n"},
			wantError: `seeds/web/web.yaml:1: 2 objects: NoManagementCluster`,
		},
	})
}

func TestManagementKinds(t *testing.T) {
	cases := map[string]struct {
		kinds []string // as Kind.group
		want  bool
	}{
		"a group that is named":                   {[]string{"BareMetalHost.metal3.io"}, true},
		"a group below one with a star":           {[]string{"AWSCluster.infrastructure.cluster.x-k8s.io"}, true},
		"the group of a star itself":              {[]string{"Machine.cluster.x-k8s.io"}, true},
		"a group that only ends in the same text": {[]string{"Machine.mycluster.x-k8s.io"}, false},
		"a kind that is named":                    {[]string{"WAN.planter.nephio.org"}, true},
		"another kind of the same group":          {[]string{"Network.planter.nephio.org"}, false},
		"what Kubernetes serves itself":           {[]string{"Deployment.apps", "Secret"}, false},
		"the hub of Open Cluster Management": {[]string{
			"ManagedCluster.cluster.open-cluster-management.io", "Placement.cluster.open-cluster-management.io", "ManifestWork.work.open-cluster-management.io",
			"Policy.policy.open-cluster-management.io", "ManagedClusterAddOn.addon.open-cluster-management.io", "ClusterManager.operator.open-cluster-management.io",
			"ClusterInstance.siteconfig.open-cluster-management.io", "MultiClusterEngine.multicluster.openshift.io",
		}, true},
		"the managed clusters of Open Cluster Management": {[]string{
			"Klusterlet.operator.open-cluster-management.io", "ClusterClaim.cluster.open-cluster-management.io", "AppliedManifestWork.work.open-cluster-management.io",
			"ConfigurationPolicy.policy.open-cluster-management.io", "OperatorPolicy.policy.open-cluster-management.io", "CertificatePolicy.policy.open-cluster-management.io",
		}, false},
		"Hive's claim of a cluster, which has the same name": {[]string{"ClusterClaim.hive.openshift.io"}, true},
		"assisted installation":                              {[]string{"InfraEnv.agent-install.openshift.io", "AgentCluster.capi-provider.agent-install.openshift.io", "AgentClusterInstall.extensions.hive.openshift.io"}, true},
		"Rancher's own cluster": {[]string{
			"Project.management.cattle.io", "Bundle.fleet.cattle.io", "GitRepo.fleet.cattle.io", "RKECluster.rke.cattle.io", "CustomMachine.rke.cattle.io",
			"Amazonec2Machine.rke-machine.cattle.io", "Amazonec2Config.rke-machine-config.cattle.io", "CAPIProvider.turtles-capi.cattle.io", "Cluster.provisioning.cattle.io", "Token.ext.cattle.io", "MachineRegistration.elemental.cattle.io", "AKSClusterConfig.aks.cattle.io",
			"EKSClusterConfig.eks.cattle.io", "GKEClusterConfig.gke.cattle.io",
		}, true},
		"what Rancher has on every cluster": {[]string{"App.catalog.cattle.io", "Plan.upgrade.cattle.io"}, false},
		"Gardener's garden and seeds": {[]string{"Shoot.core.gardener.cloud", "Gardenlet.seedmanagement.gardener.cloud", "Infrastructure.extensions.gardener.cloud", "WorkerConfig.aws.provider.extensions.gardener.cloud", "Machine.machine.sapcloud.io",
			"Garden.operator.gardener.cloud", "Bastion.operations.gardener.cloud", "CredentialsBinding.security.gardener.cloud", "ClusterOpenIDConnectPreset.settings.gardener.cloud"}, true},
		"Gardener's kinds on shoots":  {[]string{"DNSEntry.dns.gardener.cloud", "Certificate.cert.gardener.cloud"}, false},
		"hosted control planes":       {[]string{"TenantControlPlane.kamaji.clastix.io", "DataStore.kamaji.clastix.io", "Cluster.k0smotron.io", "JoinTokenRequest.k0smotron.io", "HostedCluster.hypershift.openshift.io", "CertificateSigningRequestApproval.certificates.hypershift.openshift.io"}, true},
		"EKS Anywhere":                {[]string{"Cluster.anywhere.eks.amazonaws.com", "VSphereDatacenterConfig.anywhere.eks.amazonaws.com", "Package.packages.eks.amazonaws.com", "Hardware.tinkerbell.org", "Machine.bmc.tinkerbell.org"}, true},
		"Karmada":                     {[]string{"PropagationPolicy.policy.karmada.io", "Cluster.cluster.karmada.io", "Karmada.operator.karmada.io", "Work.work.karmada.io"}, true},
		"Nephio and Porch":            {[]string{"WorkloadCluster.infra.nephio.org", "PackageVariant.config.porch.kpt.dev", "PackageRevision.porch.kpt.dev", "FocomProvisioningRequest.focom.nephio.org"}, true},
		"network functions of Nephio": {[]string{"NFDeployment.workload.nephio.org"}, false},
		"O2 IMS":                      {[]string{"ProvisioningRequest.o2ims.provisioning.oran.org", "ProvisioningRequest.clcm.openshift.io", "HardwareTemplate.o2ims-hardwaremanagement.oran.openshift.io", "NodeAllocationRequest.plugins.clcm.openshift.io", "Inventory.ocloud.openshift.io"}, true},
		"Crossplane":                  {[]string{"Provider.pkg.crossplane.io", "Composition.apiextensions.crossplane.io", "Object.kubernetes.crossplane.io"}, true},
		"clusters of clouds": {[]string{
			"Cluster.eks.aws.upbound.io", "Cluster.eks.aws.m.upbound.io", "Cluster.container.gcp.upbound.io", "KubernetesCluster.containerservice.azure.upbound.io",
			"Cluster.eks.services.k8s.aws", "Nodegroup.eks.services.k8s.aws", "ContainerCluster.container.cnrm.cloud.google.com", "ManagedCluster.containerservice.azure.com",
		}, true},
		"other resources of clouds, by themselves": {[]string{"Bucket.s3.services.k8s.aws", "StorageBucket.storage.cnrm.cloud.google.com", "ResourceGroup.resources.azure.com", "Bucket.s3.aws.upbound.io"}, false},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			for _, text := range c.kinds {
				kind, group, _ := strings.Cut(text, ".")
				if got := isManagementKind(manifest.GroupKind{Group: group, Kind: kind}); got != c.want {
					t.Errorf("%s belongs to management clusters: %t, want %t", text, got, c.want)
				}
			}
		})
	}
}

func TestEveryRowOfTheManagementTableIsReached(t *testing.T) {
	for i, row := range managementRows {
		group := row.Group
		if group[0] == '*' {
			group = "x" + group[1:]
		}
		for _, kind := range append(row.Kinds, "Anything")[:max(len(row.Kinds), 1)] {
			got, ok := managementKind(manifest.GroupKind{Group: group, Kind: kind})
			if !ok || got.Group != row.Group {
				t.Errorf("row %d: %s of %s is found in row %q", i, kind, group, got.Group)
			}
		}
		if row.Why == "" {
			t.Errorf("row %d (%s) does not say why", i, row.Group)
		}
	}
}
