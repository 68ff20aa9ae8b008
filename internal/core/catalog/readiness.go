package catalog

import (
	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/readiness"
)

// judgedOtherwise returns what judges objects of a kind that spec.readiness must not have a rule for. It is empty for
// all other kinds.
func judgedOtherwise(kind manifest.GroupKind) string {
	switch {
	case IsCreator(kind):
		return "the cluster that it creates"
	case kind == manifest.GroupKind{Kind: "PersistentVolumeClaim"}:
		return "Furrow, because its first Pod may be in a later tier"
	}
	return ""
}

// readinessProblems returns what is wrong with the rules in spec.readiness of a document, at the lines of their fields.
func readinessProblems(rules []v1alpha1.ReadinessRule, object string, at manifest.Source, lines manifest.Lines) manifest.Problems {
	var problems manifest.Problems
	for _, f := range readiness.Faults(rules, judgedOtherwise) {
		field := "spec.readiness" + f.Field
		p := atField(manifest.Problem{Reason: v1alpha1.ReasonInvalidField, Source: at, Object: object, Field: field, Message: field + ": " + f.Message, Next: f.Next}, lines)
		if p.Source.Line > 0 {
			p.Source.Line += f.Line
		}
		problems = append(problems, p)
	}
	return problems
}

// checkHealth returns what is wrong with what the Seed document says of health.
func (s Seed) checkHealth() manifest.Problems {
	object := "Seed " + quote(s.Name)
	var problems manifest.Problems
	if h := s.Spec.Health; h != "" && h != v1alpha1.HealthNeeded && h != v1alpha1.HealthFull {
		problems = append(problems, manifest.Problem{Reason: v1alpha1.ReasonInvalidField, Source: s.At("spec.health"), Object: object, Field: "spec.health", Message: "spec.health " + quote(string(h)) + " is unknown", Next: "Write Needed or Full."})
	}
	return append(problems, readinessProblems(s.Spec.Readiness, object, s.SpecAt, s.Lines)...)
}
