package dependency

import (
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

var policy = Rule{
	Name:      "policy",
	Doc:       "An object that a ValidatingAdmissionPolicy or MutatingAdmissionPolicy may deny or change waits for the binding, and that for policy and parameters. If those need the object, the binding waits for it.",
	Why:       "Until its parameters exist, a policy may deny all that it matches, and what is created before the policy is never checked.",
	OrderOnly: true,
	Once:      true,
	Phase:     Admission,
	Draw: func(w *World) {
		for _, kind := range policyKinds {
			bindings := bindingsOf(w, kind)
			if len(bindings) == 0 {
				continue
			}
			s := w.surroundings()
			for v, o := range w.VerticesOf(kind) {
				if w.leaving[v] || o.Text("spec", "failurePolicy") == "Ignore" {
					continue
				}
				for _, b := range w.On(v, bindings) {
					if w.content[b].Text("spec", "policyName") == o.ID.Name {
						s.drawPolicy(v, b)
					}
				}
			}
		}
	},
}

// policyKinds are those of admission policies. The kind of their bindings has the same name with Binding.
var policyKinds = []manifest.GroupKind{
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicy"},
	{Group: "admissionregistration.k8s.io", Kind: "MutatingAdmissionPolicy"},
}

// bindingsOf lists the bindings in seeds of policies of a kind, but for validations that deny nothing.
func bindingsOf(w *World, policy manifest.GroupKind) []int32 {
	var bindings []int32
	for v, o := range w.VerticesOf(manifest.GroupKind{Group: policy.Group, Kind: policy.Kind + "Binding"}) {
		mutates := policy.Kind == "MutatingAdmissionPolicy"
		if !w.leaving[v] && (mutates || slices.Contains(stringsOf(o.Slice("spec", "validationActions")), "Deny")) {
			bindings = append(bindings, v)
		}
	}
	w.Sort(bindings)
	return bindings
}

// drawPolicy draws the edges of one binding of a policy. Without a binding no policy denies anything,
// so the binding comes last: it waits for the policy, its parameters and what those
// need. Everything else that both match waits for the binding.
func (s *surroundings) drawPolicy(v, binding int32) {
	for _, to := range append(s.parameters(v, binding), v) {
		if s.draws(binding) && !s.Reaches(to, binding) {
			why := "it is the policy of the binding"
			if to != v {
				why = "it has the parameters of the binding"
			}
			s.Wait(binding, to, Reason{Field: "spec", Why: why})
		}
	}
	policy, bound := s.constraints(v, "spec", "matchConstraints"), s.constraints(binding, "spec", "matchResources")
	policy.conditions = expressionsOf(s.content[v].Slice("spec", "matchConditions"))
	needed, awaited := s.NeedsToBeReady(binding), s.awaited[binding]
	for _, b := range s.beside(v) {
		if isExempt(s.ID(b).GroupKind()) {
			continue
		}
		what, answer := s.matched(&policy, b, false)
		if answer == no {
			continue
		}
		if len(bound.rules) > 0 || bound.namespaces != nil || bound.objects != nil {
			if len(bound.rules) == 0 {
				bound.rules = policy.rules
			}
			if what, answer = s.matched(&bound, b, false); answer == no {
				continue
			}
		}
		reason := Reason{Field: "spec.matchConstraints", Why: "policy " + s.ID(v).Name + " " + what}
		switch {
		case !needed[b] && s.draws(b):
			s.Wait(b, binding, reason)
		case needed[b] && awaited && s.Reaches(b, binding):
			reason.Why += ", and the policy needs it: neither can be first"
			s.Show(b, binding, reason)
		case needed[b] && s.draws(binding):
			reason.Why += ", which its parameters need"
			s.Wait(binding, b, reason)
		}
	}
}

// constraints reads what a policy or binding matches.
func (s *surroundings) constraints(v int32, path ...string) matcher {
	fields := s.content[v].Map(path...)
	rules, _ := fields["resourceRules"].([]any)
	exclude, _ := fields["excludeResourceRules"].([]any)
	m := matcher{rules: rulesOf(rules), exclude: rulesOf(exclude), exact: fields["matchPolicy"] == "Exact"}
	m.namespaces, _ = fields["namespaceSelector"].(map[string]any)
	m.objects, _ = fields["objectSelector"].(map[string]any)
	return m
}

// parameters lists the objects that a binding takes its parameters from, and the
// CustomResourceDefinition of their kind.
func (s *surroundings) parameters(v, binding int32) []int32 {
	kind := s.content[v].Map("spec", "paramKind")
	ref := s.content[binding].Map("spec", "paramRef")
	if kind == nil || ref == nil {
		return nil
	}
	apiVersion, _ := kind["apiVersion"].(string)
	group, _, grouped := strings.Cut(apiVersion, "/")
	if !grouped {
		group = ""
	}
	name, _ := kind["kind"].(string)
	selector, _ := ref["selector"].(map[string]any)
	var found []int32
	for _, p := range s.beside(v) {
		o := s.content[p]
		defined, _, isDefinition := manifest.DefinedScope(*o)
		switch {
		case isDefinition && defined.Kind == name && defined.Group == group:
			found = append(found, p)
		case o.ID.Kind != name || o.ID.Group != group:
		case ref["name"] != nil && ref["name"] != o.ID.Name, ref["namespace"] != nil && ref["namespace"] != o.ID.Namespace:
		case ref["name"] == nil && selects(selector, o.Labels(), true) == no:
		default:
			found = append(found, p)
		}
	}
	return found
}
