// Package readiness owns the rules in CEL by which objects of a kind are ready: those of readiness.yaml, and
// those that people write. A reconciler evaluates them; here they are only compiled, to find mistakes early.
//
// All functions are pure.
package readiness

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/ext"
	"sigs.k8s.io/yaml"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/expression"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// Ignore is the value of annotation furrow.dev/readiness on an object whose health does not count for its tier.
const Ignore = "ignore"

// Ignored reports whether the health of an object does not count for its tier.
func Ignored(o *manifest.Object) bool { return o.Annotation(v1alpha1.AnnotationReadiness) == Ignore }

//go:embed readiness.yaml
var builtinYAML []byte

// row is an entry of readiness.yaml.
type row struct {
	Group      string   `json:"group"`
	Kinds      []string `json:"kinds"`
	Except     []string `json:"except,omitempty"`
	Current    string   `json:"current"`
	InProgress string   `json:"inProgress,omitempty"`
	Failed     string   `json:"failed,omitempty"`
}

// rowsOf returns the rows of readiness.yaml by kind. Of a row for many kinds, the group is its part after "*".
var rowsOf = sync.OnceValue(func() map[manifest.GroupKind]row {
	var rows []row
	if err := yaml.UnmarshalStrict(builtinYAML, &rows); err != nil {
		panic(fmt.Sprintf("readiness.yaml: %v", err))
	}
	table := map[manifest.GroupKind]row{}
	for _, r := range rows {
		for _, kind := range r.Kinds {
			table[manifest.GroupKind{Group: strings.TrimPrefix(r.Group, "*"), Kind: kind}] = r
		}
	}
	return table
})

// builtin returns the built-in rule for a kind.
func builtin(kind manifest.GroupKind) (v1alpha1.ReadinessRule, bool) {
	r, known := rowsOf()[kind]
	for below := kind.Group; !known; {
		dot := strings.Index(below[min(len(below), 1):], ".") + 1
		if dot == 0 {
			return v1alpha1.ReadinessRule{}, false
		}
		below = below[dot:]
		r, known = rowsOf()[manifest.GroupKind{Group: below, Kind: "*"}]
	}
	return v1alpha1.ReadinessRule{Group: kind.Group, Kind: kind.Kind, Current: r.Current, InProgress: r.InProgress, Failed: r.Failed}, !slices.Contains(r.Except, kind.Kind)
}

// Of returns the rule for a kind: of the first list that has one, else the built-in one.
func Of(kind manifest.GroupKind, lists ...[]v1alpha1.ReadinessRule) (v1alpha1.ReadinessRule, bool) {
	for _, rules := range lists {
		for _, rule := range rules {
			if KindOf(rule) == kind {
				return rule, true
			}
		}
	}
	return builtin(kind)
}

// KindOf returns the kind that a rule is for.
func KindOf(r v1alpha1.ReadinessRule) manifest.GroupKind {
	if r.Group == "core" {
		return manifest.GroupKind{Kind: r.Kind}
	}
	return manifest.GroupKind{Group: r.Group, Kind: r.Kind}
}

// variables are the fields of an object that an expression may name.
var variables = []string{"apiVersion", "kind", "metadata", "spec", "status", "data", "operation"}

// env has what Flux gives to healthCheckExprs, and bounds that Flux does not have.
var env = sync.OnceValue(func() *cel.Env {
	options := []cel.EnvOption{cel.HomogeneousAggregateLiterals(), cel.DefaultUTCTimeZone(true), cel.CrossTypeNumericComparisons(true), cel.OptionalTypes(), ext.Strings(), ext.Sets(), ext.Encoders()}
	for _, name := range variables {
		options = append(options, cel.Variable(name, cel.DynType))
	}
	made, err := cel.NewEnv(options...)
	if err != nil {
		panic(fmt.Sprintf("the environment of readiness rules: %v", err))
	}
	return made
})

// Expression says of an object whether something is true.
type Expression struct{ program cel.Program }

// Compile prepares an expression.
func Compile(source string) (*Expression, error) {
	ast, issues := env().Compile(source)
	if issues.Err() != nil {
		first := issues.Errors()[0]
		return nil, &syntaxError{max(0, first.Location.Line()-1), first.Message}
	}
	if kind := ast.OutputType(); !kind.IsExactType(cel.BoolType) && !kind.IsExactType(cel.DynType) {
		return nil, errors.New("it is of type " + kind.String() + ", which is neither true nor false")
	}
	program, err := expression.Program(env(), ast)
	if err != nil {
		return nil, err
	}
	return &Expression{program}, nil
}

// syntaxError is at a line of an expression, from 0.
type syntaxError struct {
	line    int
	message string
}

func (e *syntaxError) Error() string { return e.message }

// lineOf returns the line of an expression that is wrong; the first where that is not known.
func lineOf(err error) int {
	if at := (*syntaxError)(nil); errors.As(err, &at) {
		return at.line
	}
	return 0
}

// Holds reports whether the expression is true of an object. What cannot be evaluated, as when a field is
// missing, is not true yet.
func (e *Expression) Holds(object map[string]any) bool {
	holds, err := e.holds(object)
	return holds && err == nil
}

func (e *Expression) holds(object map[string]any) (bool, error) {
	input := make(map[string]any, len(variables))
	for _, name := range variables {
		input[name] = object[name]
		if input[name] == nil {
			input[name] = map[string]any{}
		}
	}
	out, _, err := e.program.Eval(input)
	if err != nil {
		return false, err
	}
	holds, _ := out.Value().(bool)
	return holds, nil
}

// Fault is what is wrong with one of the rules that people wrote.
type Fault struct {
	// Field is that of the rule, as [0].current, and Line the line of its value, from 0.
	Field         string
	Line          int
	Message, Next string
}

// Faults returns what is wrong with rules. reserved are kinds that are judged otherwise, with how.
func Faults(rules []v1alpha1.ReadinessRule, reserved func(manifest.GroupKind) string) []Fault {
	var faults []Fault
	seen := map[manifest.GroupKind]bool{}
	for i, rule := range rules {
		report := func(field string, line int, message, next string) {
			faults = append(faults, Fault{fmt.Sprintf("[%d].%s", i, field), line, message, next})
		}
		kind := KindOf(rule)
		switch how := reserved(kind); {
		case rule.Group == "":
			report("group", 0, "the rule has no group", "Write the group of the API without its version; core for that of Pods.")
		case strings.Contains(rule.Group, "/"):
			report("group", 0, fmt.Sprintf("%q has a version", rule.Group), "Write "+strings.Split(rule.Group, "/")[0]+".")
		case rule.Kind == "":
			report("kind", 0, "the rule has no kind", "Write the kind of the objects.")
		case how != "":
			report("kind", 0, fmt.Sprintf("%s is judged by %s", kind, how), "Remove the rule.")
		case seen[kind]:
			report("kind", 0, fmt.Sprintf("another rule is for %s", kind), "Keep one of the two.")
		case rule.Current == "":
			report("current", 0, "the rule does not say when objects are ready", "Write an expression that is true of those.")
		}
		seen[kind] = true
		for _, part := range []struct{ field, text string }{{"current", rule.Current}, {"inProgress", rule.InProgress}, {"failed", rule.Failed}} {
			if part.text == "" {
				continue
			}
			if _, err := Compile(part.text); err != nil {
				report(part.field, lineOf(err), "the expression cannot be used: "+err.Error(), "Correct the expression.")
			}
		}
	}
	return faults
}
