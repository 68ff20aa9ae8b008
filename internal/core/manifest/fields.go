package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/schema"
)

// Remarks are what reading an object found that does not keep it from being read.
type Remarks struct {
	// Faults are what an API server would refuse in its fields.
	Faults Problems
	// Warnings are what may mean something else than its author thinks.
	Warnings Problems
}

// Faults returns what an API server would refuse in the object's fields.
func (o Object) Faults() Problems {
	if o.Remarks == nil {
		return nil
	}
	return o.Remarks.Faults
}

// Warnings returns what in the object may mean something else than its author thinks.
func (o Object) Warnings() Problems {
	if o.Remarks == nil {
		return nil
	}
	return o.Remarks.Warnings
}

// remark gathers the remarks about an object, nil where there are none. ambiguities are those about its
// text; a line that is refused has no warning as well.
func remark(o Object, at position, ambiguities Problems) *Remarks {
	var r Remarks
	for _, p := range slices.Concat(checkFields(o, at), checkSelector(o, at), checkSecretType(o, at), checkPods(o, at)) {
		p.Object = o.Title()
		if p.Reason == v1alpha1.ReasonUnknownField {
			r.Warnings = append(r.Warnings, p)
		} else {
			r.Faults = append(r.Faults, p)
		}
	}
	for _, p := range ambiguities {
		if !slices.ContainsFunc(r.Faults, func(f Problem) bool { return f.Source == p.Source }) {
			r.Warnings = append(r.Warnings, p)
		}
	}
	if len(r.Faults)+len(r.Warnings) == 0 {
		return nil
	}
	return &r
}

// Typed reports whether the object is of a kind of Kubernetes itself, whose fields are known.
func (o Object) Typed() bool { return schema.Typed(o.ID.Group, o.Version, o.ID.Kind) != nil }

// checkFields compares the fields of a kind of Kubernetes itself with their types, as API servers do.
// A document of SOPS has ciphertext where values are.
func checkFields(o Object, at position) Problems {
	typed := schema.Typed(o.ID.Group, o.Version, o.ID.Kind)
	if typed == nil || o.Encrypted() {
		return nil
	}
	var problems Problems
	for _, f := range schema.Check(o.Body, typed) {
		problems = append(problems, fieldProblem(f, at.follow(f.Path), isSecret(o.ID.GroupKind())))
	}
	return problems
}

// fieldProblem explains a value that does not fit its field. The values of a Secret are not quoted.
func fieldProblem(f schema.Fault, at position, secret bool) Problem {
	field := PathText(f.Path)
	p := Problem{Reason: v1alpha1.ReasonInvalidField, Source: at.source(), Field: field}
	switch {
	case f.Unknown():
		p.Reason = v1alpha1.ReasonUnknownField
		p.Message = fmt.Sprintf("the field %s is unknown in Kubernetes %s: an API server refuses or drops it", field, schema.Release)
		p.Next = "Remove it."
		name, _ := f.Path[len(f.Path)-1].(string)
		if near := Nearest(name, f.Fields); len(near) > 0 && Distance(strings.ToLower(name), strings.ToLower(near[0])) <= 2 {
			p.Next = "Write " + near[0] + "."
		}
	default:
		value := typeName(f.Value)
		if !secret {
			value = at.typeAsWritten(f.Value)
		}
		p.Message, p.Next = fmt.Sprintf("%s is %s and not %s", field, value, f.Want), "Correct it."
		switch f.Value.(type) {
		case map[string]any, []any:
		case string:
			if f.Want == "an integer" || f.Want == "a number" || f.Want == "a boolean" {
				p.Next = "Remove the quotes."
			}
		default:
			if f.Want == "text" {
				p.Next = "Quote it."
			}
		}
	}
	return p
}

// PathText writes a path as messages have it: spec.containers[0].image.
func PathText(path []any) string {
	var b strings.Builder
	for _, step := range path {
		switch step := step.(type) {
		case int:
			fmt.Fprintf(&b, "[%d]", step)
		case string:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(fieldName(step))
		}
	}
	return b.String()
}

// follow descends along keys and indexes.
func (p position) follow(path []any) position {
	for _, step := range path {
		switch step := step.(type) {
		case int:
			p = p.item(step)
		case string:
			p = p.at(step)
		}
	}
	return p
}

// typeAsWritten returns what a value is, and how a YAML file has it: only there has a value more than
// one form.
func (p position) typeAsWritten(value any) string {
	switch value.(type) {
	case bool, int64, float64:
		if node := target(p.node); node != nil && plain(node) && node.Column > 0 {
			return fmt.Sprintf("%s, written as %s,", typeName(value), Printable(node.Value))
		}
	}
	return typeName(value)
}

// canonical writes a value without structure as objects have it.
func canonical(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case int64:
		return strconv.FormatInt(value, 10)
	case float64:
		return strconv.FormatFloat(value, 'g', -1, 64)
	}
	return fmt.Sprint(value)
}

// checkSelector refuses a workload whose selector does not select its own pods, as its API server does.
func checkSelector(o Object, at position) Problems {
	if o.ID.Group != "apps" || o.Encrypted() {
		return nil
	}
	wanted := o.Map("spec", "selector", "matchLabels")
	given := o.Map("spec", "template", "metadata", "labels")
	if o.Map("spec", "template") == nil {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		if want, ok := wanted[key].(string); ok && given[key] != want && !strings.Contains(want, "${") {
			where := at.at("spec", "selector", "matchLabels", key)
			return Problems{{
				Reason: v1alpha1.ReasonInvalidField, Source: where.source(), Field: "spec.selector.matchLabels",
				Message: fmt.Sprintf("spec.selector.matchLabels wants the label %s, and the pods of spec.template do not have it with that value", shorten(key)),
				Next:    "Give spec.template.metadata.labels and the selector the same label.",
			}}
		}
	}
	return nil
}

// secretKeys are the keys that API servers want in Secrets of some types.
var secretKeys = map[string][]string{
	"kubernetes.io/dockerconfigjson": {".dockerconfigjson"},
	"kubernetes.io/dockercfg":        {".dockercfg"},
	"kubernetes.io/ssh-auth":         {"ssh-privatekey"},
	"kubernetes.io/tls":              {"tls.crt", "tls.key"},
}

// checkSecretType refuses a Secret that lacks a key that its type wants.
func checkSecretType(o Object, at position) Problems {
	if o.ID.GroupKind() != (GroupKind{Kind: "Secret"}) {
		return nil
	}
	for _, key := range secretKeys[o.Text("type")] {
		_, there := o.Field("data", key)
		if _, plain := o.Field("stringData", key); !there && !plain {
			where := at.at("type")
			return Problems{{Reason: v1alpha1.ReasonInvalidField, Source: where.source(), Field: "type", Message: fmt.Sprintf("a Secret of type %s has the key %s, and this one does not", o.Text("type"), key), Next: "Add it to data, or write another type."}}
		}
	}
	return nil
}

// podSpecs are where kinds of Kubernetes have pods.
var podSpecs = map[string][]any{
	"Pod": {"spec"}, "CronJob": {"spec", "jobTemplate", "spec", "template", "spec"},
	"Deployment": podTemplate, "StatefulSet": podTemplate, "DaemonSet": podTemplate, "ReplicaSet": podTemplate, "ReplicationController": podTemplate, "Job": podTemplate,
}

var podTemplate = []any{"spec", "template", "spec"}

// checkPods refuses containers of one name, and ports out of range.
func checkPods(o Object, at position) (problems Problems) {
	path := podSpecs[o.ID.Kind]
	if path == nil || !slices.Contains([]string{"", "apps", "batch"}, o.ID.Group) || o.Encrypted() {
		return nil
	}
	spec, _ := valueAt(o.Body, path).(map[string]any)
	refuse := func(path []any, message, next string) {
		problems = append(problems, Problem{Reason: v1alpha1.ReasonInvalidField, Source: at.follow(path).source(), Field: PathText(path), Message: PathText(path) + " " + message, Next: next})
	}
	names := map[string]bool{}
	for _, list := range []string{"initContainers", "containers"} {
		containers, _ := spec[list].([]any)
		for i, one := range containers {
			container, _ := one.(map[string]any)
			here := append(slices.Clone(path), list, i)
			if name, _ := container["name"].(string); name != "" {
				if names[name] {
					refuse(append(slices.Clone(here), "name"), fmt.Sprintf("is %s, as that of another container of the pod", shorten(name)), "Give each container a name of its own.")
				}
				names[name] = true
			}
			ports, _ := container["ports"].([]any)
			for j, one := range ports {
				port, _ := one.(map[string]any)
				for _, key := range []string{"containerPort", "hostPort"} {
					if n, ok := port[key].(int64); ok && (n > 65535 || n < 0 || key == "containerPort" && n == 0) {
						refuse(append(slices.Clone(here), "ports", j, key), fmt.Sprintf("is %d, and a port is a number from 1 to 65535", n), "Correct it.")
					}
				}
				if name, _ := port["name"].(string); len(name) > maxPortName {
					refuse(append(slices.Clone(here), "ports", j, "name"), fmt.Sprintf("has %d characters, and the name of a port has at most %d", len(name), maxPortName), "Shorten it.")
				}
			}
		}
	}
	return problems
}

// maxPortName is the length of the longest name of a port.
const maxPortName = 15

// valueAt returns the value at a path, nil where there is none.
func valueAt(value any, path []any) any {
	for _, step := range path {
		fields, _ := value.(map[string]any)
		key, _ := step.(string)
		value = fields[key]
	}
	return value
}

// beyond returns a warning for each whole number of more than 64 bits in an object that was not read
// from a text.
func beyond(value any, path []any, at position) (problems Problems) {
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			problems = append(problems, beyond(value[key], append(path, key), at)...)
		}
	case []any:
		for i, item := range value {
			problems = append(problems, beyond(item, append(path, i), at)...)
		}
	case float64:
		if schema.Beyond(value) {
			field := PathText(path)
			problems = Problems{{Reason: v1alpha1.ReasonAmbiguousYAML, Source: at.source(), Field: field, Message: fmt.Sprintf("%s is a number of more than 64 bits: it is read as %s, and digits may be lost", field, canonical(value)), Next: quoteNumber}}
		}
	}
	return problems
}

const quoteNumber = "Quote it if it is meant as text."
