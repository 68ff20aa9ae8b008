package placement

import (
	"cmp"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

var (
	volumeKind        = manifest.GroupKind{Kind: "PersistentVolume"}
	operatorGroupKind = manifest.GroupKind{Group: "operators.coreos.com", Kind: "OperatorGroup"}
	subscriptionKind  = manifest.GroupKind{Group: "operators.coreos.com", Kind: "Subscription"}
	catalogSourceKind = manifest.GroupKind{Group: "operators.coreos.com", Kind: "CatalogSource"}
	projectKind       = manifest.GroupKind{Group: "argoproj.io", Kind: "AppProject"}
)

// classes are the kinds of classes, claims and volumes, which do nothing for anybody but those that name
// them.
var classes = []manifest.GroupKind{
	claimKind, volumeKind, storageClassKind, {Group: "storage.k8s.io", Kind: "VolumeAttributesClass"}, {Group: "storage.k8s.io", Kind: "CSIDriver"},
	{Group: "snapshot.storage.k8s.io", Kind: "VolumeSnapshot"}, {Group: "snapshot.storage.k8s.io", Kind: "VolumeSnapshotClass"},
	{Group: "resource.k8s.io", Kind: "DeviceClass"}, {Group: "resource.k8s.io", Kind: "ResourceClaim"}, {Group: "resource.k8s.io", Kind: "ResourceClaimTemplate"},
}

// origins are the kinds that say where charts, packages, credentials and certificates come from, which
// also do nothing for anybody else.
var origins = []manifest.GroupKind{
	{Group: "source.toolkit.fluxcd.io", Kind: "HelmRepository"}, {Group: "source.toolkit.fluxcd.io", Kind: "OCIRepository"}, {Group: "source.toolkit.fluxcd.io", Kind: "GitRepository"},
	{Group: "source.toolkit.fluxcd.io", Kind: "Bucket"}, {Group: "source.toolkit.fluxcd.io", Kind: "HelmChart"}, {Group: "source.toolkit.fluxcd.io", Kind: "ExternalArtifact"},
	catalogSourceKind, projectKind,
	{Group: "external-secrets.io", Kind: "SecretStore"}, {Group: "external-secrets.io", Kind: "ClusterSecretStore"},
	{Group: "cert-manager.io", Kind: "Issuer"}, {Group: "cert-manager.io", Kind: "ClusterIssuer"},
	{Group: "secrets.hashicorp.com", Kind: "VaultAuth"}, {Group: "secrets.hashicorp.com", Kind: "VaultConnection"},
}

var supportKinds = slices.Concat(classes, origins)

// supportFields are fields that hold the name of such an object, whatever has them.
var supportFields = map[string]manifest.GroupKind{
	"storageClassName": storageClassKind, "storageClass": storageClassKind, "claimName": claimKind, "volumeName": volumeKind, "existingClaim": claimKind,
	"volumeAttributesClassName": {Group: "storage.k8s.io", Kind: "VolumeAttributesClass"}, "volumeSnapshotClassName": {Group: "snapshot.storage.k8s.io", Kind: "VolumeSnapshotClass"},
	"deviceClassName": {Group: "resource.k8s.io", Kind: "DeviceClass"}, "resourceClaimName": {Group: "resource.k8s.io", Kind: "ResourceClaim"}, "resourceClaimTemplateName": {Group: "resource.k8s.io", Kind: "ResourceClaimTemplate"},
	"provisioner": {Group: "storage.k8s.io", Kind: "CSIDriver"}, "serviceAccountName": accountKind,
	"vaultAuthRef": {Group: "secrets.hashicorp.com", Kind: "VaultAuth"}, "vaultConnectionRef": {Group: "secrets.hashicorp.com", Kind: "VaultConnection"},
}

// isNamed reports whether the objects of a kind follow those that name them.
func isNamed(kind manifest.GroupKind) bool {
	switch kind {
	case secretKind, configMapKind, accountKind, roleKind, clusterRoleKind, priorityClassKind, runtimeClassKind:
		return true
	}
	return slices.Contains(supportKinds, kind)
}

// nameSupports adds to the namers of classes, claims, sources and the like who names them.
func (s *placer) nameSupports() {
	if !slices.ContainsFunc(s.kinds, func(k *kind) bool { return k.installs || slices.Contains(supportKinds, k.GroupKind) }) {
		return
	}
	var standard []*node // default classes
	for _, n := range s.resourcesOf(storageClassKind) {
		if n.annotations["storageclass.kubernetes.io/is-default-class"] == "true" {
			standard = append(standard, n)
		}
	}
	for _, n := range s.all {
		if isData(n.object) || n.kind.GroupKind == crdKind {
			continue
		}
		f := supportFinder{placer: s, by: n}
		f.visit("", n.object.Body["spec"])
		switch n.kind.GroupKind {
		case storageClassKind:
			f.field("provisioner", n.object.Text("provisioner"))
		case claimKind:
			if n.object.Text("spec", "storageClassName") == "" {
				for _, class := range standard {
					f.add(class)
				}
			}
		case volumeKind:
			if ref := n.object.Map("spec", "claimRef"); ref != nil { // the claim decides
				id := referenced(ref, "")
				if claim := s.node(manifest.ID{Kind: claimKind.Kind, Namespace: id.Namespace, Name: id.Name}); claim != nil {
					n.namers = append(n.namers, claim)
				}
			}
		case subscriptionKind:
			f.find(catalogSourceKind, n.object.Text("spec", "sourceNamespace"), n.object.Text("spec", "source"))
		case manifest.GroupKind{Group: "argoproj.io", Kind: "Application"}:
			f.find(projectKind, "", n.object.Text("spec", "project"))
		}
	}
}

// supportFinder finds what one object names.
type supportFinder struct {
	*placer
	by *node
}

func (f *supportFinder) add(to *node) {
	if to != nil && to != f.by {
		to.namers = append(to.namers, f.by)
	}
}

// find adds the object of a kind and name: in the given namespace, in the namespace of the object, or in none.
func (f *supportFinder) find(kind manifest.GroupKind, namespace, name string) {
	if at, plain, qualified := strings.Cut(name, "/"); qualified {
		namespace, name = at, plain
	}
	id := manifest.ID{Group: kind.Group, Kind: kind.Kind, Namespace: cmp.Or(namespace, f.by.object.ID.Namespace), Name: name}
	if name == "" {
		return
	}
	if f.add(f.node(id)); id.Namespace != "" {
		id.Namespace = ""
		f.add(f.node(id))
	}
}

// field finds what a field names that holds a text.
func (f *supportFinder) field(field, text string) {
	if kind, ok := supportFields[field]; ok {
		f.find(kind, "", text)
	}
}

// visit finds what a value names, by fields and by kind and name.
func (f *supportFinder) visit(field string, value any) {
	switch v := value.(type) {
	case string:
		f.field(field, v)
	case []any:
		for _, item := range v {
			f.visit(field, item)
		}
	case map[string]any:
		if name, _ := v["name"].(string); name != "" {
			f.reference(v)
		}
		for field, item := range v {
			f.visit(field, item)
		}
	}
}

// reference finds what a mapping names by kind and name; without a group, of any group that has the kind.
func (f *supportFinder) reference(ref map[string]any) {
	id := referenced(ref, "")
	group, _ := ref["group"].(string)
	for _, kind := range supportKinds {
		if kind.Kind == id.Kind && (cmp.Or(id.Group, group) == "" || cmp.Or(id.Group, group) == kind.Group) {
			f.find(kind, id.Namespace, id.Name)
		}
	}
}

// subscriptionsIn returns the Subscriptions of a namespace.
func (s *placer) subscriptionsIn(namespace string) []*node {
	return slices.DeleteFunc(slices.Clone(s.contentOf(namespace)), func(n *node) bool { return n.kind.GroupKind != subscriptionKind })
}

// installersTo returns what installs something in a namespace that is not its own.
func (s *placer) installersTo(namespace string) []*node {
	s.installations()
	var found []*node
	for _, i := range s.installers {
		o := i.node.object
		for _, to := range []string{o.Text("spec", "targetNamespace"), o.Text("spec", "storageNamespace"), o.Text("spec", "destination", "namespace"), o.Text("spec", "namespace")} {
			if to == namespace && !slices.Contains(found, i.node) {
				found = append(found, i.node)
			}
		}
	}
	return found
}
