package immutable

import "github.com/furrow-dev/furrow/internal/core/manifest"

func core(kind string) manifest.GroupKind { return manifest.GroupKind{Kind: kind} }

func in(group, kind string) manifest.GroupKind {
	return manifest.GroupKind{Group: group, Kind: kind}
}

// kinds has what does not change, by kind.
var kinds = map[manifest.GroupKind][]rule{
	core("ConfigMap"):             {whenFrozen("data", "binaryData")},
	core("Secret"):                {fixedWithDefault("type", "Opaque"), whenFrozen(), secretData},
	core("PersistentVolumeClaim"): {claim},
	core("PersistentVolume"): {
		fixedBelow("spec", "capacity", "accessModes", "claimRef", "persistentVolumeReclaimPolicy", "storageClassName", "mountOptions", "volumeMode", "nodeAffinity", "volumeAttributesClassName", "csi.controllerExpandSecretRef"),
		fixedWithDefault("spec.volumeMode", "Filesystem"), onceSet("spec.nodeAffinity", "spec.csi.controllerExpandSecretRef"),
	},
	core("Pod"):           {pod},
	core("Service"):       {service},
	core("ResourceQuota"): {quotaScopes},
	core("Node"):          {onceSet("spec.providerID", "spec.podCIDR", "spec.podCIDRs")},

	in("apps", "Deployment"): {fixed("spec.selector")},
	in("apps", "DaemonSet"):  {fixed("spec.selector")},
	in("apps", "ReplicaSet"): {fixed("spec.selector")},
	in("apps", "StatefulSet"): {
		fixedBelow("spec", "replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit", "persistentVolumeClaimRetentionPolicy", "minReadySeconds", "podManagementPolicy", "volumeClaimTemplates"),
		fixedWithDefault("spec.podManagementPolicy", "OrderedReady"), claimTemplates,
	},
	in("apps", "ControllerRevision"): {fixed("data")},
	in("batch", "Job"): {
		fixed("spec.selector", "spec.podFailurePolicy", "spec.backoffLimitPerIndex", "spec.successPolicy", "spec.managedBy"),
		fixedWithDefault("spec.completionMode", "NonIndexed"),
		jobTemplate, completions,
	},

	in("rbac.authorization.k8s.io", "RoleBinding"):        {roleRef},
	in("rbac.authorization.k8s.io", "ClusterRoleBinding"): {roleRef},

	in("storage.k8s.io", "StorageClass"): {
		fixed("provisioner", "parameters"), fixedWithDefault("reclaimPolicy", "Delete"), fixedWithDefault("volumeBindingMode", "Immediate"),
	},
	in("storage.k8s.io", "CSIDriver"): {
		fixedWithDefault("spec.attachRequired", true), fixedWithDefault("spec.volumeLifecycleModes", []any{"Persistent"}),
	},
	in("storage.k8s.io", "VolumeAttributesClass"): {fixed("driverName", "parameters")},
	in("storage.k8s.io", "VolumeAttachment"):      {fixed("spec")},
	in("storage.k8s.io", "CSIStorageCapacity"):    {fixed("nodeTopology", "storageClassName")},

	in("scheduling.k8s.io", "PriorityClass"): {
		fixedWithDefault("value", int64(0)), fixedWithDefault("preemptionPolicy", "PreemptLowerPriority"),
	},
	in("node.k8s.io", "RuntimeClass"): {fixed("handler")},

	in("networking.k8s.io", "IngressClass"):     {fixed("spec.controller")},
	in("networking.k8s.io", "IPAddress"):        {fixed("spec.parentRef")},
	in("networking.k8s.io", "ServiceCIDR"):      {serviceCIDRs},
	in("discovery.k8s.io", "EndpointSlice"):     {fixed("addressType")},
	in("coordination.k8s.io", "LeaseCandidate"): {fixed("spec.leaseName")},

	in("certificates.k8s.io", "CertificateSigningRequest"): {fixed("spec")},
	in("certificates.k8s.io", "ClusterTrustBundle"):        {fixed("spec.signerName")},
	in("certificates.k8s.io", "PodCertificateRequest"):     {fixed("spec")},

	in("resource.k8s.io", "ResourceClaim"):         {fixed("spec")},
	in("resource.k8s.io", "ResourceClaimTemplate"): {fixed("spec")},
	in("resource.k8s.io", "ResourceSlice"):         {fixed("spec.driver", "spec.nodeName", "spec.pool.name")},

	in("storagemigration.k8s.io", "StorageVersionMigration"): {fixed("spec")},

	in("apiextensions.k8s.io", "CustomResourceDefinition"): {
		fixed("spec.group", "spec.scope", "spec.names.kind", "spec.names.plural"), storedVersions,
	},
}
