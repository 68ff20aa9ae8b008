package dependency

import (
	"cmp"

	"github.com/furrow-dev/furrow/internal/core/makes"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/placement"
)

// needsOfService lists what gives a Service of type LoadBalancer its address.
func (s *surroundings) needsOfService(v int32, o *manifest.Object) []need {
	if o.Text("spec", "type") != "LoadBalancer" {
		return nil
	}
	var out []need
	for _, to := range s.makersOf(v, makes.Address, "", o.ID.Name, false) {
		out = append(out, need{to: to, rule: ruleRoutes, field: "spec.type", why: "it may get its address from that"})
	}
	return out
}

// needsOfIngress lists the class of an Ingress.
func (s *surroundings) needsOfIngress(v int32, o *manifest.Object) []need {
	name := cmp.Or(o.Text("spec", "ingressClassName"), o.Annotation("kubernetes.io/ingress.class"))
	if name == "" {
		return nil
	}
	id := manifest.ID{Group: ingressClassKind.Group, Kind: ingressClassKind.Kind, Name: name}
	return s.needsOfNamed(v, &placement.Name{ID: id, Field: "spec.ingressClassName"}, ruleRoutes, "it names ")
}

// needsOfIngressClass lists the controller of a class, which names it in its arguments.
func (s *surroundings) needsOfIngressClass(v int32, o *manifest.Object) []need {
	var out []need
	controller := o.Text("spec", "controller")
	for _, to := range s.mentions(v, controller) {
		out = append(out, need{to: to, rule: ruleRoutes, field: "spec.controller", why: "spec.controller: " + controller})
	}
	return out
}
