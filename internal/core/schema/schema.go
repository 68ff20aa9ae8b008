// Package schema knows the fields of the kinds of Kubernetes itself, by the Go types that API servers
// decode them into, and compares values with them.
//
// It knows one release of Kubernetes. So a value of the wrong type is certainly refused, since types
// of fields do not change within an API version; a field that is unknown here may be known to a newer
// server.
package schema

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Release is that of Kubernetes whose types these are.
const Release = "1.36"

// Typed returns the Go type of a kind of Kubernetes itself at exactly that version; nil for all others.
func Typed(group, version, kind string) reflect.Type {
	return scheme.AllKnownTypes()[schema.GroupVersionKind{Group: group, Version: version, Kind: kind}]
}

// Fault is a value that does not have the type of its field, or a field that is unknown.
type Fault struct {
	// Path leads to the value: keys of mappings, and indexes of lists.
	Path []any
	// Value is what is there.
	Value any
	// Want is what belongs there, as in "text"; empty where the field is unknown.
	Want string
	// Fields are those that are known beside an unknown one, in order.
	Fields []string
}

// Unknown reports whether the field is unknown.
func (f Fault) Unknown() bool { return f.Want == "" }

// Check compares a JSON value with a Go type, as an API server does that decodes it, and returns all
// faults in the order of the keys. Null is nothing, and fits every field.
//
// What contains "${" is a variable that Flux replaces before it applies the object, and fits where
// one value does.
func Check(value any, t reflect.Type) []Fault {
	c := checker{}
	c.value(value, t, nil)
	return c.faults
}

type checker struct{ faults []Fault }

func (c *checker) report(path []any, value any, want string) {
	c.faults = append(c.faults, Fault{Path: slices.Clone(path), Value: value, Want: want})
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

func (c *checker) value(value any, t reflect.Type, path []any) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if value == nil || t.Kind() == reflect.Interface {
		return
	}
	if reflect.PointerTo(t).Implements(unmarshaler) {
		c.own(value, t, path)
		return
	}
	switch t.Kind() {
	case reflect.Struct:
		c.fields(value, t, path)
	case reflect.Map:
		c.entries(value, t, path)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			c.bytes(value, path)
			return
		}
		items, ok := value.([]any)
		if !ok {
			c.report(path, value, "a list")
		}
		for i, item := range items {
			c.value(item, t.Elem(), append(path, i))
		}
	default:
		if want := scalar(value, t); want != "" && (want == "text" || !isVariable(value)) {
			c.report(path, value, want)
		}
	}
}

// scalar returns what belongs into a field of a type without structure, if the value is something
// else.
func scalar(value any, t reflect.Type) (want string) {
	switch t.Kind() {
	case reflect.String:
		if _, ok := value.(string); !ok {
			return "text"
		}
	case reflect.Bool:
		if _, ok := value.(bool); !ok {
			return "a boolean"
		}
	case reflect.Float32, reflect.Float64:
		_, integer := value.(int64)
		if _, ok := value.(float64); !ok && !integer {
			return "a number"
		}
	default:
		n, ok := value.(int64)
		switch {
		case !ok:
			return "an integer"
		case t.Kind() >= reflect.Uint && (n < 0 || t.OverflowUint(uint64(n))), t.Kind() < reflect.Uint && t.OverflowInt(n):
			return "an integer of that size"
		}
	}
	return ""
}

// isVariable reports whether Flux would replace a value.
func isVariable(value any) bool {
	s, ok := value.(string)
	return ok && strings.Contains(s, "${")
}

// own checks a value of a type that decodes itself.
func (c *checker) own(value any, t reflect.Type, path []any) {
	want := "a value that API servers accept there"
	switch t {
	case reflect.TypeFor[intstr.IntOrString]():
		n, integer := value.(int64)
		if _, text := value.(string); !text && (!integer || n != int64(int32(n))) {
			c.report(path, value, "an integer or text")
		}
		return
	case reflect.TypeFor[resource.Quantity]():
		want = "a quantity, such as 100m or 1Gi"
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime]():
		want = "a time, such as 2006-01-02T15:04:05Z"
	case reflect.TypeFor[metav1.Duration]():
		want = "a duration, such as 90s or 24h"
	}
	data, err := json.Marshal(value)
	if err == nil {
		err = reflect.New(t).Interface().(json.Unmarshaler).UnmarshalJSON(data)
	}
	if err != nil && !isVariable(value) {
		c.report(path, value, want)
	}
}

func (c *checker) bytes(value any, path []any) {
	s, ok := value.(string)
	switch {
	case !ok:
		c.report(path, value, "text")
	case strings.HasPrefix(s, "ENC[") || isVariable(value): // SOPS and Flux replace it
	default:
		if _, err := base64.StdEncoding.DecodeString(s); err != nil {
			c.report(path, value, "base64")
		}
	}
}

func (c *checker) entries(value any, t reflect.Type, path []any) {
	fields, ok := value.(map[string]any)
	if !ok {
		c.report(path, value, "a mapping")
		return
	}
	elem := t.Elem()
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		c.value(fields[key], elem, append(path, key))
	}
}

func (c *checker) fields(value any, t reflect.Type, path []any) {
	given, ok := value.(map[string]any)
	if !ok {
		c.report(path, value, "a mapping")
		return
	}
	known := fieldsOf(t)
	for _, key := range slices.Sorted(maps.Keys(given)) {
		field, ok := known[key]
		if !ok {
			c.faults = append(c.faults, Fault{Path: append(slices.Clone(path), key), Value: given[key], Fields: slices.Sorted(maps.Keys(known))})
			continue
		}
		c.value(given[key], field, append(path, key))
	}
}

// known are the fields of types, by reflect.Type.
var known sync.Map

// fieldsOf returns the fields of a struct by their names in JSON.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	if found, ok := known.Load(t); ok {
		return found.(map[string]reflect.Type)
	}
	out := map[string]reflect.Type{}
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		inner := field.Type
		for inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case name == "-" || !field.IsExported():
		case name == "" && field.Anonymous && inner.Kind() == reflect.Struct:
			maps.Copy(out, fieldsOf(inner))
		case name == "":
			out[field.Name] = field.Type
		default:
			out[name] = field.Type
		}
	}
	known.Store(t, out)
	return out
}

// maxInteger is the first whole number that an integer of JSON tools does not hold.
const maxInteger = 1 << 63

// Beyond reports whether a number is whole and larger than an integer of 64 bits, so digits of it are
// lost.
func Beyond(value any) bool {
	n, ok := value.(float64)
	return ok && n == math.Trunc(n) && math.Abs(n) >= maxInteger
}
