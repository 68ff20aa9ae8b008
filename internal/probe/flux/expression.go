package flux

import (
	"cmp"
	"fmt"
	"regexp"
	"sync"

	"github.com/furrow-dev/furrow/internal/core/readiness"
)

// expression says of an object whether it is current.
type expression struct {
	*readiness.Expression
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

// compile prepares an expression as Flux has it, so both judge a creator alike.
func compile(source string) (*expression, error) {
	compiled, err := readiness.Compile(source)
	if err != nil {
		return nil, fmt.Errorf("expression %q: %w", source, err)
	}
	e := &expression{Expression: compiled}
	if m := conditionType.FindStringSubmatch(source); m != nil {
		e.condition = m[1]
	} else if m := fieldIn.FindStringSubmatch(source); m != nil {
		e.field, e.wanted = m[1], m[2]
	} else if m := lastField.FindStringSubmatch(source); m != nil {
		e.field = m[1]
	}
	return e, nil
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
