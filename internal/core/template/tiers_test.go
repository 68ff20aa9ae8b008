package template_test

import (
	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/delivery/flux"
	"github.com/furrow-dev/furrow/internal/core/template"
)

// kind is the one that the rendered reconciler objects are of.
var kind flux.Kind

// plainTier is a tier of a cluster that reconciles itself.
func plainTier() template.Reconciler {
	return template.Reconciler{
		Name: "web.edge.01", Namespace: "flux-system", Seed: "web", Cluster: "edge", Tier: "01",
		Path: "./planted/edge/web/tier-01", Source: v1alpha1.ObjectReference{Name: "flux-system", Namespace: "flux-system"}, Wait: true,
	}
}
