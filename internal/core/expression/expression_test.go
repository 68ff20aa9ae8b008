package expression_test

import (
	"fmt"
	"strings"
	"testing"

	"cel.dev/cel-go/cel"

	"github.com/furrow-dev/furrow/internal/core/expression"
)

func newEnv(tb testing.TB) *cel.Env {
	tb.Helper()
	env, err := cel.NewEnv(cel.OptionalTypes(), cel.Variable("object", cel.DynType))
	if err != nil {
		tb.Fatal(err)
	}
	return env
}

// object has a list of 100 containers.
func object() map[string]any {
	var containers []any
	for i := range 100 {
		containers = append(containers, map[string]any{"name": fmt.Sprintf("c-%d", i), "image": strings.Repeat("i", 200)})
	}
	return map[string]any{"metadata": map[string]any{"name": "web", "labels": map[string]any{"app": "web"}}, "spec": map[string]any{"containers": containers}}
}

func evaluate(tb testing.TB, text string) (any, error) {
	tb.Helper()
	env := newEnv(tb)
	parsed, issues := env.Compile(text)
	if issues.Err() != nil {
		return nil, issues.Err()
	}
	program, err := expression.Program(env, parsed)
	if err != nil {
		return nil, err
	}
	out, _, err := program.Eval(map[string]any{"object": object()})
	if err != nil {
		return nil, err
	}
	return out.Value(), nil
}

func TestExpressionsThatPeopleWriteAreTrue(t *testing.T) {
	for _, text := range []string{
		"object.metadata.name == 'web'",
		"object.spec.containers.exists(c, c.name == 'c-99')",
		"object.spec.containers.all(c, c.image.startsWith('i') && !(c.name in ['a', 'b']))",
		"object.spec.containers.map(c, c.name).exists(n, n.endsWith('-7'))",
		"object.spec.containers.filter(c, c.name != 'c-0').size() == 99",
		"object.metadata.labels == {'app': 'web'}",
		"object.spec == object.spec",
		"['a', 'b'].exists(x, ['c', 'd'].exists(y, x + y == 'bd'))",
		"object.spec.containers.map(c, [c.name, c.image]).exists(p, p[0] == 'c-3')",
		"object.spec.containers.exists(c, object.spec.containers.exists(d, c.name == d.name))",
	} {
		if got, err := evaluate(t, text); err != nil || got != true {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}

// TestExpressionsThatWouldNotEndAreStopped has values in which one part occurs 2^40 times. Without
// bounds each runs for hours.
func TestExpressionsThatWouldNotEndAreStopped(t *testing.T) {
	doubled := func(step string) string { return "[[1]]" + strings.Repeat(".map(a, "+step+")", 40) }
	nested, end := "[[1, 1]].exists(v0, ", ")"
	for i := range 40 {
		nested += fmt.Sprintf("[[v%d, v%d]].exists(v%d, ", i, i, i+1)
		end += ")"
	}
	deep := "v40 == v40"
	for sentence, text := range map[string]string{
		"a number in lists that are joined":     "5 in " + doubled("a + a") + "[0]",
		"lists that are joined are equal":       doubled("a + a") + " == " + doubled("a + a"),
		"lists of the same lists are equal":     doubled("[a, a]") + " == " + doubled("[a, a]"),
		"mappings of the same mappings":         doubled("{'a': a, 'b': a}") + " == " + doubled("{'a': a, 'b': a}"),
		"optional values of the same lists":     "optional.of([1])" + strings.Repeat(".optMap(a, [a, a])", 40) + " == optional.of([1])" + strings.Repeat(".optMap(a, [a, a])", 40),
		"lists by comprehensions in each other": nested + deep + end,
		"one of two lists by them":              strings.ReplaceAll(nested, "[[v", "(object.a ? [] : [[v") + deep + end,
		"an object is compared again and again": "object.spec.containers.all(a, object.spec.containers.all(b, object.spec == object.spec))",
	} {
		t.Run(sentence, func(t *testing.T) {
			if got, err := evaluate(t, text); err == nil {
				t.Errorf("it is %v", got)
			}
		})
	}
}

// FuzzExpressions compiles and evaluates any expression: it does not panic, and ends.
func FuzzExpressions(f *testing.F) {
	for _, text := range []string{
		"true", "object.metadata.name == 'a'", "object.spec.containers.all(c, c.image.matches('^(i+)+$'))", "[[1]].map(a, [a, a]).map(a, [a, a]) == []",
		"[1].exists(a, [[a, a]].exists(b, b == b))", "{'a': object}.a in [object]", "object.spec.containers.map(c, c.image + c.image).size() / 0 == 1", "timestamp('2000-01-01T00:00:00Z') + duration('1s') > timestamp(0)",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) < 4096 {
			_, _ = evaluate(t, text)
		}
	})
}
