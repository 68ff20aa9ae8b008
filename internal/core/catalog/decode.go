package catalog

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// decode is strict: an unknown field is an error, because somebody believes that setting to be in
// force, and so is a field in another case, which a Seed resource in a cluster would lose.
func decode[T any](o manifest.Object) (T, error) {
	var doc T
	if o.APIVersion() != v1alpha1.APIVersion {
		return doc, o.Problem(v1alpha1.ReasonUnknownKind, "apiVersion "+o.APIVersion()+" is unknown", "Write "+v1alpha1.APIVersion+".")
	}
	var annotations []string
	if o.ID.Kind == "Seed" {
		annotations = v1alpha1.SeedAnnotations
	}
	if problems := checkKeys(o, annotations); len(problems) > 0 {
		return doc, problems
	}
	check := fieldCheck{object: o}
	check.value("", o.Body, reflect.TypeFor[T]())
	if len(check.problems) > 0 {
		return doc, check.problems
	}
	data, err := yaml.Marshal(o.Body)
	if err != nil {
		return doc, o.Problem(v1alpha1.ReasonInvalidField, err.Error(), "Correct the document.")
	}
	if err := yaml.UnmarshalStrict(data, &doc); err != nil {
		message := strings.TrimPrefix(err.Error(), "error unmarshaling JSON: while decoding JSON: json: ")
		return doc, o.Problem(v1alpha1.ReasonInvalidField, message, "Compare it with the example in the reference documentation.")
	}
	return doc, nil
}

// atField moves a problem of a document in a file to the line of its field.
func atField(p manifest.Problem, lines manifest.Lines) manifest.Problem {
	if line, known := lines.Of(p.Field); known && p.Source.Line > 0 {
		p.Source.Line = line
	}
	return p
}

// fieldCheck compares the fields of a document with those of its Go type: every one must have a field of
// exactly its name, and a value of its type.
type fieldCheck struct {
	object   manifest.Object
	problems manifest.Problems
}

func (c *fieldCheck) report(field, message, next string) {
	p := c.object.Problem(v1alpha1.ReasonInvalidField, message, next).WithField(field)
	c.problems = append(c.problems, atField(p, c.object.Lines))
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

func (c *fieldCheck) value(at string, v any, t reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch kind := t.Kind(); {
	case v == nil:
	case reflect.PointerTo(t).Implements(unmarshaler):
		c.scalar(at, v, t)
	case kind == reflect.Struct:
		if m, ok := v.(map[string]any); ok {
			c.fields(at, m, t)
			return
		}
		c.mistyped(at, v, t)
	case kind == reflect.Map:
		m, ok := v.(map[string]any)
		if !ok {
			c.mistyped(at, v, t)
		}
		for _, key := range slices.Sorted(maps.Keys(m)) {
			c.value(join(at, key), m[key], t.Elem())
		}
	case kind == reflect.Slice:
		list, ok := v.([]any)
		if !ok {
			c.mistyped(at, v, t)
		}
		for i := range list {
			c.value(fmt.Sprintf("%s[%d]", at, i), list[i], t.Elem())
		}
	case kind == reflect.Interface:
	case typeName(v) != typeName(reflect.Zero(t).Interface()):
		c.mistyped(at, v, t)
	}
}

// scalar checks a value that its type reads by itself.
func (c *fieldCheck) scalar(at string, v any, t reflect.Type) {
	data, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(data, reflect.New(t).Interface())
	}
	switch {
	case err == nil:
	case t == reflect.TypeFor[metav1.Duration]():
		c.report(at, fmt.Sprintf("%s is %s, which is not a duration", at, data), "Write hours, minutes and seconds, as in "+durationLike(v)+".")
	default:
		c.report(at, fmt.Sprintf("%s cannot be used: %v", at, err), "Compare it with the example in the reference documentation.")
	}
}

var days = regexp.MustCompile(`^([0-9]{1,4})d$`)

// durationLike returns an example of a duration: what was likely meant, if that is a number of days.
func durationLike(v any) string {
	if text, ok := v.(string); ok {
		if n := days.FindStringSubmatch(text); n != nil {
			number, _ := strconv.Atoi(n[1])
			return fmt.Sprintf(`"%dh"`, 24*number)
		}
	}
	return `"24h" or "1h30m"`
}

// fields checks the fields of a mapping.
func (c *fieldCheck) fields(at string, m map[string]any, t reflect.Type) {
	known := map[string]reflect.Type{}
	collectFields(t, known)
	names := slices.Sorted(maps.Keys(known))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if field, ok := known[key]; ok {
			c.value(join(at, key), m[key], field)
			continue
		}
		c.report(join(at, key), "unknown field "+quote(join(at, key)), nearestField(key, names))
	}
}

// nearestField returns the next step for an unknown field: the one that was likely meant, if there is
// one.
func nearestField(key string, names []string) string {
	for _, name := range names {
		if strings.EqualFold(name, key) {
			return "Write " + name + ": upper and lower case are different."
		}
	}
	meant := manifest.Nearest(key, names)
	if len(meant) > 0 && (strings.HasPrefix(meant[0], key) || manifest.Distance(key, meant[0]) <= max(slip, len(key)/3)) {
		return "Write " + meant[0] + ", or remove it."
	}
	return "Remove it, or write one of: " + strings.Join(names, ", ") + "."
}

// collectFields adds the fields of a struct by name, including those of inlined structs.
func collectFields(t reflect.Type, known map[string]reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && (name == "" || strings.Contains(options, "inline")):
			collectFields(f.Type, known)
		case name != "" && name != "-":
			known[name] = f.Type
		}
	}
}

// mistyped reports a value of another type than its field's.
func (c *fieldCheck) mistyped(at string, v any, t reflect.Type) {
	is, want := typeName(v), typeName(reflect.Zero(t).Interface())
	var next string
	switch _, many := v.([]any); {
	case want == "text" && len(enums[t]) > 0:
		next = "Write " + oneOf(enums[t]) + "."
	case want == "text" && is == "a fraction":
		next = "Quote it: YAML reads 1.30 without quotes as the number 1.3."
	case want == "text" && (many || is == "a mapping"):
		next = "Write one value."
	case want == "text":
		next = "Quote it if it is meant as text."
	case want == "a boolean":
		next = "Write true or false, without quotes."
	case want == "a whole number":
		next = "Write digits without quotes."
	case want == "a list":
		next = "Write each item on a line of its own, after '- '."
	default:
		next = "Write its fields below it."
	}
	c.report(at, fmt.Sprintf("%s is %s and not %s", at, is, want), next)
}

// typeName names the type of a value as people would.
func typeName(v any) string {
	switch t := reflect.ValueOf(v); {
	case t.Kind() == reflect.String:
		return "text"
	case t.Kind() == reflect.Bool:
		return "a boolean"
	case t.CanInt() || t.CanUint():
		return "a whole number"
	case t.CanFloat():
		return "a fraction"
	case t.Kind() == reflect.Slice:
		return "a list"
	}
	return "a mapping"
}

func join(at, key string) string { return strings.TrimPrefix(at+"."+key, ".") }

// enums are the values of the types that have only a few.
var enums = map[reflect.Type][]string{
	reflect.TypeFor[v1alpha1.ClusterRole]():       {"Management", "Workload"},
	reflect.TypeFor[v1alpha1.ReconcilerKind]():    {"Flux"},
	reflect.TypeFor[v1alpha1.ForgeType]():         {"Plain", "Gitea", "GitHub", "GitLab"},
	reflect.TypeFor[v1alpha1.UpdatePolicy]():      {"WhenStale", "WhenBehind"},
	reflect.TypeFor[v1alpha1.PluginSeeds]():       {"Named", "All"},
	reflect.TypeFor[v1alpha1.PluginProtocol]():    {"KRM", "Planter"},
	reflect.TypeFor[v1alpha1.AutoMerge]():         {"Never", "WhenGreen"},
	reflect.TypeFor[v1alpha1.GroupBy]():           {"Tier", "Level", "Cluster", "Seed"},
	reflect.TypeFor[v1alpha1.JSONPatchOp]():       {"add", "replace", "remove", "move", "copy", "test"},
	reflect.TypeFor[v1alpha1.SeedRole]():          {"Workload", "Management", "Any"},
	reflect.TypeFor[v1alpha1.DeletionPolicy]():    {"Remove", "Orphan"},
	reflect.TypeFor[v1alpha1.TierPolicy]():        {"Separate", "Compact"},
	reflect.TypeFor[v1alpha1.PlainSecretPolicy](): {"Refuse", "Allow"},
	reflect.TypeFor[v1alpha1.HealthScope]():       {"Needed", "Full"},
	reflect.TypeFor[v1alpha1.ValidationPolicy]():  {"Warn", "Enforce"},
	reflect.TypeFor[v1alpha1.TemplateType]():      {"Reconciler", "Proposal"},
	reflect.TypeFor[v1alpha1.KeyCreation]():       {"Never", "IfMissing"},
}

// oneOf lists values as in "a, b or c".
func oneOf(values []string) string {
	last := len(values) - 1
	if last == 0 {
		return values[0]
	}
	return strings.Join(values[:last], ", ") + " or " + values[last]
}
