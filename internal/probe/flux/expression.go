package flux

import (
	"cmp"
	"fmt"
	"regexp"
	"sync"

	"cel.dev/cel-go/cel"

	bounded "github.com/furrow-dev/furrow/internal/core/expression"
)

// topLevel are the fields of an object that an expression may name.
var topLevel = []string{"apiVersion", "kind", "metadata", "spec", "status"}

// expression says of an object whether it is current.
type expression struct {
	program cel.Program
	// condition is the type of the condition that the expression asks for, and
	// field the last field of the status that it names; one of them is for people. wanted are the
	// values that the field may have; any true one without.
	condition, field, wanted string
}

var (
	conditionType = regexp.MustCompile(`\.type\s*==\s*['"](\w+)['"]`)
	fieldIn       = regexp.MustCompile(`status(?:\.\w+)*\.(\w+)\s+in\s+\[([^\]]+)\]\s*$`)
	lastField     = regexp.MustCompile(`status(?:\.\w+)*\.(\w+)\s*\)*\s*$`)
)

// compile prepares an expression with the variables that Flux gives to healthCheckExprs, so
// both judge a creator alike.
func compile(source string) (*expression, error) {
	options := make([]cel.EnvOption, 0, len(topLevel))
	for _, name := range topLevel {
		options = append(options, cel.Variable(name, cel.DynType))
	}
	env, err := cel.NewEnv(options...)
	if err != nil {
		return nil, err
	}
	ast, issues := env.Compile(source)
	if issues.Err() != nil {
		return nil, fmt.Errorf("expression %q: %w", source, issues.Err())
	}
	program, err := bounded.Program(env, ast)
	if err != nil {
		return nil, fmt.Errorf("expression %q: %w", source, err)
	}
	e := &expression{program: program}
	if m := conditionType.FindStringSubmatch(source); m != nil {
		e.condition = m[1]
	} else if m := fieldIn.FindStringSubmatch(source); m != nil {
		e.field, e.wanted = m[1], m[2]
	} else if m := lastField.FindStringSubmatch(source); m != nil {
		e.field = m[1]
	}
	return e, nil
}

// holds reports whether the expression is true of the object. What cannot be
// evaluated, as when a field is missing, is not true yet.
func (e *expression) holds(object map[string]any) bool {
	input := make(map[string]any, len(topLevel))
	for _, name := range topLevel {
		input[name] = object[name]
		if input[name] == nil {
			input[name] = map[string]any{}
		}
	}
	out, _, err := e.program.Eval(input)
	if err != nil {
		return false
	}
	holds, ok := out.Value().(bool)
	return ok && holds
}

// missing says for people what the object lacks.
func (e *expression) missing(object map[string]any) string {
	if e.condition == "" {
		if e.field == "" {
			return "it is not there yet by its status"
		}
		return e.field + " is not " + cmp.Or(e.wanted, "true") + " yet"
	}
	c := conditionOf(object, e.condition)
	if c.status == "" {
		return "it has no condition " + e.condition + " yet"
	}
	return "condition " + e.condition + " is " + c.status + c.because()
}

// expressions compiles each expression once.
type expressions struct {
	mu       sync.Mutex
	compiled map[string]*expression
}

// get compiles an expression once. There are as many as kinds of creators, so none is ever
// forgotten.
func (es *expressions) get(source string) (*expression, error) {
	es.mu.Lock()
	defer es.mu.Unlock()
	if e, ok := es.compiled[source]; ok {
		return e, nil
	}
	e, err := compile(source)
	if err != nil {
		return nil, err
	}
	if es.compiled == nil {
		es.compiled = map[string]*expression{}
	}
	es.compiled[source] = e
	return e, nil
}
