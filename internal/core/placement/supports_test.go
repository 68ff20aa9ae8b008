package placement

import "testing"

func TestClassesAndVolumesFollowTheirClaims(t *testing.T) {
	fleet := []string{mgmt, edgeEU}
	claim := func(spec string) string {
		return "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: images, namespace: ops, annotations: {furrow.dev/role: Management}}\nspec: {" + spec + "}\n"
	}
	named := func(apiVersion, kind, more string) string {
		return "apiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata: {name: local}\n" + more + "\n"
	}
	class, theClass := named("storage.k8s.io/v1", "StorageClass", "provisioner: local"), "storage.k8s.io/StorageClass/local"
	volume := named("v1", "PersistentVolume", "spec: {storageClassName: local, hostPath: {path: /x}}")
	server := "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: s, namespace: ops, annotations: {furrow.dev/role: Management}}\nspec: {template: {spec: {containers: [{name: c, image: i}], volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]}}, volumeClaimTemplates: [{metadata: {name: d}, spec: {storageClassName: local}}]}\n"
	runPlaceCases(t, map[string]placeCase{
		"a class that a claim names":                {clusters: fleet, seed: []string{claim("storageClassName: local"), class}, of: theClass, want: where{"mgmt", "follow-references"}},
		"a class that a claim's volume names":       {clusters: fleet, seed: []string{claim("volumeName: local"), volume, class}, of: theClass, want: where{"mgmt", "follow-references"}},
		"a class that a StatefulSet's claims name":  {clusters: fleet, seed: []string{server, class}, of: theClass, want: where{"mgmt", "follow-references"}},
		"a class that a custom resource names":      {clusters: fleet, seed: []string{"apiVersion: example.com/v1\nkind: Store\nmetadata: {name: s, namespace: ops, annotations: {furrow.dev/role: Management}}\nspec: {storage: {storageClass: local}}\n", class}, of: theClass, want: where{"mgmt", "follow-references"}},
		"the default class, by a claim without any": {clusters: fleet, seed: []string{claim(""), "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: local, annotations: {storageclass.kubernetes.io/is-default-class: \"true\"}}\n"}, of: theClass, want: where{"mgmt", "follow-references"}},
		"a class of both roles":                     {clusters: fleet, seed: []string{claim("storageClassName: local"), class, "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: other, namespace: shop}\nspec: {storageClassName: local}\n"}, of: theClass, want: where{"edge-eu,mgmt", "follow-references"}},
		"a class that nothing names":                {clusters: fleet, seed: []string{claim("storageClassName: other"), class}, of: theClass, want: where{"edge-eu", "selected"}},
		"a volume that a claim names":               {clusters: fleet, seed: []string{claim("volumeName: local"), volume}, of: "core/PersistentVolume/local", want: where{"mgmt", "follow-references"}},
		"a volume that is for a claim":              {clusters: fleet, seed: []string{claim(""), named("v1", "PersistentVolume", "spec: {claimRef: {namespace: ops, name: images}}")}, of: "core/PersistentVolume/local", want: where{"mgmt", "follow-references"}},
		"a claim that Pods name":                    {clusters: fleet, seed: []string{server, "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, namespace: ops}\nspec: {storageClassName: local}\n"}, of: "core/PersistentVolumeClaim/ops/data", want: where{"mgmt", "follow-references"}},
		"a claim that a claim is made from":         {clusters: fleet, seed: []string{claim("dataSource: {kind: PersistentVolumeClaim, name: data}"), "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, namespace: ops}\n"}, of: "core/PersistentVolumeClaim/ops/data", want: where{"mgmt", "follow-references"}},
		"the driver of a class":                     {clusters: fleet, seed: []string{claim("storageClassName: local"), class, named("storage.k8s.io/v1", "CSIDriver", "")}, of: "storage.k8s.io/CSIDriver/local", want: where{"mgmt", "follow-references"}},
		"the class of a snapshot":                   {clusters: fleet, seed: []string{"apiVersion: snapshot.storage.k8s.io/v1\nkind: VolumeSnapshot\nmetadata: {name: s, namespace: ops, annotations: {furrow.dev/role: Management}}\nspec: {volumeSnapshotClassName: local}\n", named("snapshot.storage.k8s.io/v1", "VolumeSnapshotClass", "")}, of: "snapshot.storage.k8s.io/VolumeSnapshotClass/local", want: where{"mgmt", "follow-references"}},
	})
}

func TestOriginsFollowWhatNamesThem(t *testing.T) {
	fleet := []string{mgmt, edgeEU}
	onManagement := "{name: x, namespace: ops, annotations: {furrow.dev/role: Management}}"
	origin := func(apiVersion, kind string) string {
		return "apiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata: {name: o, namespace: ops}\n"
	}
	runPlaceCases(t, map[string]placeCase{
		"the store of a Secret":                 {clusters: fleet, seed: []string{"apiVersion: external-secrets.io/v1\nkind: ExternalSecret\nmetadata: " + onManagement + "\nspec: {secretStoreRef: {kind: SecretStore, name: o}}\n", origin("external-secrets.io/v1", "SecretStore")}, of: "external-secrets.io/SecretStore/ops/o", want: where{"mgmt", "follow-references"}},
		"the store of all namespaces":           {clusters: fleet, seed: []string{"apiVersion: external-secrets.io/v1\nkind: ExternalSecret\nmetadata: " + onManagement + "\nspec: {secretStoreRef: {kind: ClusterSecretStore, name: o}}\n", "apiVersion: external-secrets.io/v1\nkind: ClusterSecretStore\nmetadata: {name: o}\n"}, of: "external-secrets.io/ClusterSecretStore/o", want: where{"mgmt", "follow-references"}},
		"the issuer of a certificate":           {clusters: fleet, seed: []string{"apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: " + onManagement + "\nspec: {secretName: s, issuerRef: {kind: Issuer, name: o}}\n", origin("cert-manager.io/v1", "Issuer")}, of: "cert-manager.io/Issuer/ops/o", want: where{"mgmt", "follow-references"}},
		"an issuer of another group is another": {clusters: fleet, seed: []string{"apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: " + onManagement + "\nspec: {secretName: s, issuerRef: {group: example.com, kind: Issuer, name: o}}\n", origin("cert-manager.io/v1", "Issuer")}, of: "cert-manager.io/Issuer/ops/o", want: where{"edge-eu", "selected"}},
		"how Vault knows who asks":              {clusters: fleet, seed: []string{"apiVersion: secrets.hashicorp.com/v1beta1\nkind: VaultStaticSecret\nmetadata: {name: x, namespace: other, annotations: {furrow.dev/role: Management}}\nspec: {vaultAuthRef: ops/o}\n", origin("secrets.hashicorp.com/v1beta1", "VaultAuth")}, of: "secrets.hashicorp.com/VaultAuth/ops/o", want: where{"mgmt", "follow-references"}},
		"a repository by its kind":              {clusters: fleet, seed: []string{"apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: " + onManagement + "\nspec: {sourceRef: {kind: GitRepository, name: o}}\n", origin("source.toolkit.fluxcd.io/v1", "GitRepository")}, of: "source.toolkit.fluxcd.io/GitRepository/ops/o", want: where{"mgmt", "follow-references"}},
	})
}
