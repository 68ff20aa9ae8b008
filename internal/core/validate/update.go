package validate

import (
	"context"
	"maps"
	"slices"
	"strings"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// CustomUpdates is Custom where a rule of the version compares with the object before, and nil elsewhere: CheckUpdate
// would find nothing then.
func CustomUpdates(definition map[string]any, version string) (*Schema, error) {
	if props, _ := schemaOf(definition, version); !comparesUpdates(props) {
		return nil, nil
	}
	return Custom(definition, version)
}

// comparesUpdates reports whether a rule of a schema, or of a part of it, names the object before.
func comparesUpdates(schema any) bool {
	switch v := schema.(type) {
	case map[string]any:
		if rule, ok := v["rule"].(string); ok && strings.Contains(rule, "oldSelf") {
			return true
		}
		return slices.ContainsFunc(slices.Collect(maps.Values(v)), comparesUpdates)
	case []any:
		return slices.ContainsFunc(v, comparesUpdates)
	}
	return false
}

// CheckUpdate returns what an API server refuses of an update by the rules of a kind that compare with the object
// before, such as self == oldSelf. What it would refuse of a new object as well is left out: Check finds that.
func (s *Schema) CheckUpdate(was, is map[string]any) (findings []Finding) {
	defer func() {
		if r := recover(); r != nil { // rather no finding than no plan
			findings = nil
		}
	}()
	c, err := s.checks()
	if err != nil || c.rules == nil {
		return nil
	}
	before, after := served(was, c.structural), served(is, c.structural)
	anyway, _ := c.rules.Validate(context.Background(), nil, c.structural, after, nil, celconfig.RuntimeCELCostBudget)
	refused, _ := c.rules.Validate(context.Background(), nil, c.structural, after, before, celconfig.RuntimeCELCostBudget)
	for _, e := range refused {
		if slices.ContainsFunc(anyway, func(other *field.Error) bool { return other.Field == e.Field && other.Detail == e.Detail }) {
			continue
		}
		if text, ok := valueAt(after, e.Field).(string); ok && strings.Contains(text, "${") {
			continue
		}
		findings = append(findings, Finding{Field: fieldOf(e), Message: messageOf(e)})
	}
	slices.SortStableFunc(findings, func(a, b Finding) int { return strings.Compare(a.Field, b.Field) })
	return slices.Compact(findings)
}

// served returns an object as an API server has it: without its status and unknown fields, and with defaults.
func served(body map[string]any, by *structural.Structural) map[string]any {
	object := runtime.DeepCopyJSON(body)
	delete(object, "status")
	pruning.PruneWithOptions(object, by, true, structural.UnknownFieldPathOptions{})
	defaulting.PruneNonNullableNullsWithoutDefaults(object, by)
	defaulting.Default(object, by)
	return object
}

// fieldOf names the field of an error, empty for the whole object.
func fieldOf(e *field.Error) string {
	if e.Field == "<nil>" {
		return ""
	}
	return strings.TrimPrefix(e.Field, ".")
}
