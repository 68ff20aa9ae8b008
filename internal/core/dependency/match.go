package dependency

import (
	"slices"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"

	"github.com/furrow-dev/furrow/internal/core/expression"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// truth is an answer where something may be unknown.
type truth int

const (
	no truth = iota
	maybe
	yes
)

// request is a write of an object, as an API server puts it to admission.
type request struct {
	kind    manifest.GroupKind
	version string
	id      manifest.ID
	// plurals are the names that the resource may have in a URL.
	plurals []string
	labels  map[string]string
	// namespace has the labels of the Namespace that the object is in, or of the object itself where
	// it is a Namespace. Where known is false, it may have others.
	namespace map[string]string
	known     bool
	// body is nil where it is not known.
	body map[string]any
}

// matcher says which requests a webhook or policy is for.
type matcher struct {
	// field is the path of what is matched by, and rules and exclude are lists of rules in it.
	field          string
	rules, exclude []resourceRule
	// namespaces and objects are label selectors, nil for all.
	namespaces, objects map[string]any
	// exact reports whether other versions of a resource do not count.
	exact      bool
	conditions []string
	kinds      map[manifest.GroupKind]bool
}

// resourceRule is one rule of a matcher.
type resourceRule struct {
	groups, versions, resources, operations, names []string
	scope                                          string
}

// rulesOf reads a list of rules.
func rulesOf(list []any) []resourceRule {
	var rules []resourceRule
	for _, item := range list {
		fields, _ := item.(map[string]any)
		scope, _ := fields["scope"].(string)
		rules = append(rules, resourceRule{
			groups: stringsOf(fields["apiGroups"]), versions: stringsOf(fields["apiVersions"]), resources: stringsOf(fields["resources"]),
			operations: stringsOf(fields["operations"]), names: stringsOf(fields["resourceNames"]), scope: scope,
		})
	}
	return rules
}

// stringsOf returns the strings of a list.
func stringsOf(value any) []string {
	var out []string
	list, _ := value.([]any)
	for _, item := range list {
		if s, ok := item.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// match reports whether a request is matched. Where that is not known, what is not known is
// returned for people.
func (m *matcher) match(r *request) (truth, string) {
	if !slices.ContainsFunc(m.rules, func(rule resourceRule) bool { return rule.matches(r, m.exact) }) ||
		slices.ContainsFunc(m.exclude, func(rule resourceRule) bool { return rule.matches(r, true) }) {
		return no, ""
	}
	answer, unknown := yes, ""
	if selected := selects(m.objects, r.labels, true); selected == no {
		return no, ""
	}
	if r.namespace != nil {
		switch selects(m.namespaces, r.namespace, r.known) {
		case no:
			return no, ""
		case maybe:
			answer, unknown = maybe, "the labels of its Namespace are not known"
		}
	}
	for _, expression := range m.conditions {
		switch holds(expression, r) {
		case no:
			return no, ""
		case maybe:
			answer, unknown = maybe, "its matchConditions depend on the request"
		}
	}
	return answer, unknown
}

// has reports whether any rule is for a kind, whatever else it asks for. The answer is remembered.
func (m *matcher) has(kind manifest.GroupKind, plurals []string) bool {
	answer, known := m.kinds[kind]
	if !known {
		answer = slices.ContainsFunc(m.rules, func(r resourceRule) bool {
			return anyOf(r.groups, kind.Group) && slices.ContainsFunc(r.resources, func(s string) bool { return isResource(s, plurals) })
		})
		if m.kinds == nil {
			m.kinds = map[manifest.GroupKind]bool{}
		}
		m.kinds[kind] = answer
	}
	return answer
}

// matches reports whether a rule is for the creation or update of an object. Other versions of the
// resource count unless exact is set, because an API server converts a request for them.
func (r resourceRule) matches(of *request, exact bool) bool {
	return anyOf(r.operations, "CREATE", "UPDATE") && anyOf(r.groups, of.kind.Group) &&
		(!exact || anyOf(r.versions, of.version)) && slices.ContainsFunc(r.resources, func(s string) bool { return isResource(s, of.plurals) }) &&
		(len(r.names) == 0 || slices.Contains(r.names, of.id.Name)) && r.inScope(of.id.Namespace)
}

// inScope compares the scope, by default any.
func (r resourceRule) inScope(namespace string) bool {
	switch r.scope {
	case "Cluster":
		return namespace == ""
	case "Namespaced":
		return namespace != ""
	}
	return true
}

// isResource reports whether an entry of resources is one of some plurals, and not only a
// subresource of it. An asterisk behind the slash matches no subresource, too.
func isResource(entry string, plurals []string) bool {
	resource, subresource, _ := strings.Cut(entry, "/")
	return (subresource == "" || subresource == "*") && anyOf([]string{resource}, plurals...)
}

// anyOf reports whether a list has an asterisk or any of some words.
func anyOf(list []string, words ...string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return s == "*" || slices.Contains(words, s) })
}

// selects evaluates a label selector. Unless all labels are known, one that is missing may be there.
func selects(selector map[string]any, labels map[string]string, known bool) truth {
	answer := yes
	require := func(key string, holds func(value string, has bool) bool) {
		value, has := labels[key]
		switch {
		case !has && !known && key != labelName:
			answer = min(answer, maybe)
		case !holds(value, has):
			answer = no
		}
	}
	matchLabels, _ := selector["matchLabels"].(map[string]any)
	for key, want := range matchLabels {
		require(key, func(value string, has bool) bool { return has && value == want })
	}
	expressions, _ := selector["matchExpressions"].([]any)
	for _, item := range expressions {
		fields, _ := item.(map[string]any)
		key, _ := fields["key"].(string)
		values := stringsOf(fields["values"])
		require(key, func(value string, has bool) bool {
			switch fields["operator"] {
			case "In":
				return has && slices.Contains(values, value)
			case "NotIn":
				return !has || !slices.Contains(values, value)
			case "Exists":
				return has
			case "DoesNotExist":
				return !has
			}
			return true
		})
	}
	return answer
}

// labelName is the label that every Namespace has.
const labelName = "kubernetes.io/metadata.name"

// conditionEnv has the variables of matchConditions. The authorizer, and who asks, are not known. It has
// no library beside the standard one: replacing in texts, ranges of numbers and sets take memory and
// time that no cost bounds.
var conditionEnv = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(cel.OptionalTypes(), cel.CrossTypeNumericComparisons(true),
		cel.Variable("object", cel.DynType), cel.Variable("oldObject", cel.DynType), cel.Variable("request", cel.DynType),
		cel.Variable("authorizer", cel.DynType), cel.Variable("namespaceObject", cel.DynType), cel.Variable("params", cel.DynType), cel.Variable("variables", cel.DynType))
})

// holds evaluates a match condition for the creation of an object. What cannot be evaluated, as
// when it uses a function of API servers, may hold.
func holds(condition string, r *request) truth {
	env, err := conditionEnv()
	if err != nil || r.body == nil {
		return maybe
	}
	ast, issues := env.Compile(condition)
	if issues.Err() != nil {
		return maybe
	}
	program, err := expression.Program(env, ast, cel.EvalOptions(cel.OptPartialEval))
	if err != nil {
		return maybe
	}
	kind := map[string]any{"group": r.kind.Group, "version": r.version, "kind": r.kind.Kind}
	resource := map[string]any{"group": r.kind.Group, "version": r.version, "resource": r.plurals[0]}
	vars, err := cel.PartialVars(map[string]any{
		"object": r.body, "oldObject": nil,
		"request": map[string]any{
			"kind": kind, "requestKind": kind, "resource": resource, "requestResource": resource, "subResource": "", "requestSubResource": "",
			"name": r.id.Name, "namespace": r.id.Namespace, "operation": "CREATE", "object": r.body, "oldObject": nil,
		},
	},
		cel.AttributePattern("authorizer"), cel.AttributePattern("namespaceObject"), cel.AttributePattern("params"), cel.AttributePattern("variables"),
		cel.AttributePattern("request").QualString("userInfo"), cel.AttributePattern("request").QualString("options"),
		cel.AttributePattern("request").QualString("uid"), cel.AttributePattern("request").QualString("dryRun"),
		cel.AttributePattern("request").QualString("resource").QualString("resource"), cel.AttributePattern("request").QualString("requestResource").QualString("resource"))
	if err != nil {
		return maybe
	}
	value, _, err := program.Eval(vars)
	switch {
	case err != nil || types.IsUnknown(value):
		return maybe
	case value == types.False:
		return no
	}
	return yes
}
