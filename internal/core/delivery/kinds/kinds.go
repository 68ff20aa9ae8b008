// Package kinds lists the kinds of delivery.
package kinds

import (
	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/delivery"
	"github.com/furrow-dev/furrow/internal/core/delivery/flux"
)

// All are the kinds by the name that spec.reconciler of a Cluster has.
var All = map[string]delivery.Kind{
	string(v1alpha1.ReconcilerFlux): flux.Kind{},
}
