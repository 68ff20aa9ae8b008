// Package flux is the kind of delivery by which the kustomize-controller of a cluster applies its tiers. How it
// really behaves is in docs/decisions/0006.
package flux

import (
	"fmt"
	"path"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"

	"github.com/furrow-dev/furrow/internal/core/delivery"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// Kind implements delivery.Kind.
type Kind struct{}

var kustomization = manifest.GroupKind{Group: kustomizev1.GroupVersion.Group, Kind: kustomizev1.KustomizationKind}

// Words implements delivery.Kind.
func (Kind) Words() delivery.Words {
	return delivery.Words{
		Reconciler: "Flux", Object: kustomization, Source: gitRepository, IgnoreFile: ".sourceignore", IgnoreField: "spec.ignore",
		MakeRoot: "flux bootstrap makes the directory",
	}
}

// Applies implements delivery.Kind.
func (Kind) Applies(o manifest.Object, namespace, name, dir string) bool {
	at, _ := o.Map("spec")["path"].(string)
	return o.ID.Kind == kustomization.Kind && o.ID.Namespace == namespace && o.ID.Name == name && path.Clean(at) == dir
}

// OrphanByHand implements delivery.Kind.
func (Kind) OrphanByHand(cluster, namespace, name string) string {
	return fmt.Sprintf("Set spec.deletionPolicy of Kustomization %s/%s on cluster %s to Orphan by hand.", namespace, name, cluster)
}

// Resume implements delivery.Kind.
func (Kind) Resume(namespace, name string) string {
	return fmt.Sprintf("flux resume kustomization %s -n %s", name, namespace)
}
