package validate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// Schema is what the objects of a kind must be.
type Schema struct {
	shape  *shape
	custom bool
	// checks returns what Check needs, which is made when it is asked for first: most objects fit.
	checks func() (*checks, error)
}

// checks are the validators of API servers.
type checks struct {
	structural *structural.Structural
	openAPI    validation.SchemaValidator
	// rules are the CEL rules of a CustomResourceDefinition; nil without any.
	rules *cel.Validator
}

// Finding is a field that an API server would refuse, or drop.
type Finding struct {
	// Field is its path, as spec.rules[0].host.
	Field string
	// Message follows the name of the field.
	Message string
	// Unknown reports whether the schema does not have the field.
	Unknown bool
}

// Custom returns the schema of a version of a CustomResourceDefinition; nil where the version has none.
func Custom(definition map[string]any, version string) (*Schema, error) {
	props, at := schemaOf(definition, version)
	if len(props) == 0 {
		return nil, nil
	}
	made, err := newChecks(props)
	if err != nil {
		return nil, fmt.Errorf("spec.versions[%d].schema cannot be used: %w", at, err)
	}
	made.rules = cel.NewValidator(made.structural, true, celconfig.PerCallLimit)
	return &Schema{shape: (&shaper{}).of(props), custom: true, checks: func() (*checks, error) { return made, nil }}, nil
}

// schemaOf returns the schema of a version of a CustomResourceDefinition, and the number of the version.
func schemaOf(definition map[string]any, version string) (props map[string]any, at int) {
	spec, _ := definition["spec"].(map[string]any)
	versions, _ := spec["versions"].([]any)
	for at, v := range versions {
		if fields, _ := v.(map[string]any); fields["name"] == version {
			schema, _ := fields["schema"].(map[string]any)
			props, _ = schema["openAPIV3Schema"].(map[string]any)
			return props, at
		}
	}
	return nil, 0
}

func newChecks(props map[string]any) (made *checks, err error) {
	defer func() {
		if r := recover(); r != nil { // a definition that no API server would take
			made, err = nil, fmt.Errorf("%v", r)
		}
	}()
	data, err := json.Marshal(props)
	if err != nil {
		return nil, err
	}
	var external apiextensionsv1.JSONSchemaProps
	var internal apiextensions.JSONSchemaProps
	if err := json.Unmarshal(data, &external); err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&external, &internal, nil); err != nil {
		return nil, err
	}
	made = &checks{}
	if made.structural, err = structural.NewStructural(&internal); err != nil {
		return nil, err
	}
	made.openAPI, _, err = validation.NewSchemaValidator(&internal)
	return made, err
}

// Check returns what is wrong with an object, in the order of its fields. The body is not changed. The status is left
// out, because nobody may apply one. So is what has a variable of Flux in it.
func (s *Schema) Check(body map[string]any) (findings []Finding) {
	defer func() {
		if r := recover(); r != nil { // rather no finding than no plan
			findings = nil
		}
	}()
	c, err := s.checks()
	if err != nil {
		return nil
	}
	object := runtime.DeepCopyJSON(body)
	delete(object, "status")
	unknown := pruning.PruneWithOptions(object, c.structural, true, structural.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	for _, path := range unknown {
		if !strings.Contains(path, "${") {
			findings = append(findings, Finding{Field: path, Message: "is unknown in the schema of the kind", Unknown: true})
		}
	}
	defaulting.PruneNonNullableNullsWithoutDefaults(object, c.structural)
	defaulting.Default(object, c.structural)
	wrong := validation.ValidateCustomResource(nil, object, c.openAPI)
	if s.custom {
		wrong = append(wrong, listtype.ValidateListSetsAndMaps(nil, c.structural, object)...)
	}
	if c.rules != nil && len(wrong) == 0 { // as API servers do: rules rely on types
		more, _ := c.rules.Validate(context.Background(), nil, c.structural, object, nil, celconfig.RuntimeCELCostBudget)
		wrong = append(wrong, more...)
	}
	for _, e := range wrong {
		if text, ok := valueAt(object, e.Field).(string); ok && strings.Contains(text, "${") {
			continue
		}
		findings = append(findings, Finding{Field: fieldOf(e), Message: messageOf(e)})
	}
	slices.SortStableFunc(findings, func(a, b Finding) int { return strings.Compare(a.Field, b.Field) })
	return slices.Compact(findings)
}

// messageOf says what is wrong, without the value: it may be a secret.
func messageOf(e *field.Error) string {
	switch e.Type {
	case field.ErrorTypeRequired:
		return "is required"
	case field.ErrorTypeNotSupported:
		return "has a value that is not supported; " + e.Detail
	case field.ErrorTypeDuplicate:
		return "is there twice"
	}
	// The validator of OpenAPI begins with the field and ends with the value.
	text := strings.TrimPrefix(e.Detail, e.Field+" in body ")
	if kind, _, typed := strings.Cut(text, ": \""); typed && strings.HasPrefix(text, "must be of type ") {
		text = kind
	}
	return text
}

// valueAt returns the value of a field, nil where its path leads nowhere.
func valueAt(value any, path string) any {
	for step := range strings.FieldsFuncSeq(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		switch v := value.(type) {
		case map[string]any:
			value = v[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}
