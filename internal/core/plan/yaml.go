package plan

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"
)

// marshal writes a value of this package's types exactly as yaml.v3 does with an indentation of two,
// which keeps every event of a document in memory until it ends and takes ten times as long.
// Texts that need more than single quotes are left to it. TestMarshalIsThatOfTheLibrary compares the
// two.
func marshal(value any) ([]byte, error) { return marshalUpTo(value, math.MaxInt) }

// errTooLarge ends marshalUpTo.
var errTooLarge = errors.New("it is larger than one file may be")

// marshalUpTo is marshal of what has at most limit bytes.
func marshalUpTo(value any, limit int) ([]byte, error) {
	w := yamlWriter{limit: limit}
	w.value(reflect.ValueOf(value), 0, atRoot)
	if w.err == nil && w.Len() > limit {
		w.err = errTooLarge
	}
	if w.err != nil {
		return nil, fmt.Errorf("encoding a plan: %w", w.err)
	}
	return w.Bytes(), nil
}

type yamlWriter struct {
	bytes.Buffer
	limit int
	err   error
}

// context is what a value comes after.
type context int

const (
	atRoot context = iota
	afterKey
	afterDash
	inFlow
)

// value writes a value and ends its line, except in flow style. Structs and lists in block style
// have indent spaces before each of their lines.
func (w *yamlWriter) value(v reflect.Value, indent int, after context) {
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			w.plain("null", after)
			return
		}
		v = v.Elem()
	}
	switch value := v.Interface().(type) {
	case time.Duration:
		w.text(value.String(), indent, after)
		return
	case encoding.TextMarshaler:
		text, err := value.MarshalText()
		if err != nil && w.err == nil {
			w.err = err
		}
		w.text(string(text), indent, after)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		w.mapping(v, indent, after)
	case reflect.Slice:
		w.list(v, indent, after)
	case reflect.String:
		w.text(v.String(), indent, after)
	case reflect.Int:
		w.plain(strconv.FormatInt(v.Int(), 10), after)
	case reflect.Bool:
		w.plain(strconv.FormatBool(v.Bool()), after)
	default:
		w.err = fmt.Errorf("a plan has no values of type %s", v.Type())
	}
}

// plain writes a text that needs no quotes.
func (w *yamlWriter) plain(text string, after context) {
	if after == afterKey {
		w.WriteByte(' ')
	}
	w.WriteString(text)
	if after != inFlow {
		w.WriteByte('\n')
	}
}

func (w *yamlWriter) mapping(v reflect.Value, indent int, after context) {
	first := true
	for _, f := range fieldsOf(v.Type()) {
		field := v.Field(f.index)
		if f.omitEmpty && isEmpty(field) {
			continue
		}
		if first && after == afterKey {
			w.WriteByte('\n')
		}
		if !first || after == afterKey {
			w.pad(indent)
		}
		first = false
		w.WriteString(f.name)
		w.WriteByte(':')
		if f.flow {
			w.flow(field, indent+2)
		} else {
			w.value(field, indent+2, afterKey)
		}
	}
	if first {
		w.plain("{}", after)
	}
}

func (w *yamlWriter) list(v reflect.Value, indent int, after context) {
	if v.Len() == 0 {
		w.plain("[]", after)
		return
	}
	if after == afterKey {
		w.WriteByte('\n')
	}
	for i := 0; i < v.Len() && w.Len() <= w.limit; i++ {
		if i > 0 || after == afterKey {
			w.pad(indent)
		}
		w.WriteString("- ")
		w.value(v.Index(i), indent+2, afterDash)
	}
}

// flow writes a list of texts on the line of its key.
func (w *yamlWriter) flow(v reflect.Value, indent int) {
	w.WriteString(" [")
	for i := range v.Len() {
		if i > 0 {
			w.WriteString(", ")
		}
		w.value(v.Index(i), indent, inFlow)
	}
	w.WriteString("]\n")
}

func (w *yamlWriter) pad(indent int) {
	for range indent {
		w.WriteByte(' ')
	}
}

// text writes a string. One that begins like a number or is not of one line of ASCII is written by the
// library, alone.
func (w *yamlWriter) text(s string, indent int, after context) {
	if !isWord(s) {
		w.plain(w.library(s, indent, after), after)
		return
	}
	quoted := strings.Contains(s, ": ") || strings.Contains(s, " #") || strings.HasSuffix(s, ":")
	if quoted || after == inFlow && strings.ContainsAny(s, ",?[]{}:") {
		s = "'" + strings.ReplaceAll(s, "'", "''") + "'"
	}
	w.plain(s, after)
}

// library returns what yaml.v3 writes for a string. The lines after the first are indented by what
// surrounds the string.
func (w *yamlWriter) library(s string, indent int, after context) string {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	var alone any = []string{s}
	start, end := "- ", "\n"
	switch after {
	case inFlow:
		start, end = "k: [", "]\n"
		alone = struct {
			K []string `yaml:",flow"`
		}{[]string{s}}
	case afterKey:
		start = "k: "
		alone = struct{ K string }{s}
	}
	if err := enc.Encode(alone); err != nil && w.err == nil {
		w.err = err
	}
	text := strings.TrimSuffix(strings.TrimPrefix(b.String(), start), end)
	return lineStart.ReplaceAllString(text, "${1}"+strings.Repeat(" ", max(indent-2, 0))+"${2}")
}

// lineStart is the end of a line and the first character of the next one, if that has any.
var lineStart = regexp.MustCompile("([\n\u0085\u2028\u2029])([^\n\u0085\u2028\u2029])")

// notWords are read as something else than a string by some parser.
var notWords = []string{
	"y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON", "n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF",
	"null", "Null", "NULL",
}

// isWord reports whether a string is printable ASCII of one line that no parser reads as anything but
// a string.
func isWord(s string) bool {
	if s == "" || s[len(s)-1] == ' ' {
		return false
	}
	text := false // it has a letter that is in no number, date or time
	for i := range len(s) {
		c := s[i]
		if c < ' ' || c > '~' {
			return false
		}
		text = text || c >= 'a' && c <= 'z' && c != 'e' && c != 't' && c != 'z'
	}
	switch c := s[0]; {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
		return !slices.Contains(notWords, s)
	case c == '/', c == '_':
		return true
	case c >= '0' && c <= '9':
		return text && (c > '0' || len(s) == 1 || !strings.ContainsRune("xXbBoO", rune(s[1])))
	}
	return false
}

// yamlField is a field of a struct as its tag says.
type yamlField struct {
	index           int
	name            string
	omitEmpty, flow bool
}

// yamlFields has the fields of each struct type.
var yamlFields sync.Map

func fieldsOf(t reflect.Type) []yamlField {
	if known, ok := yamlFields.Load(t); ok {
		return known.([]yamlField)
	}
	var fields []yamlField
	for i := range t.NumField() {
		name, options, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ",")
		if name == "" {
			name = strings.ToLower(t.Field(i).Name)
		}
		has := strings.Split(options, ",")
		fields = append(fields, yamlField{i, name, slices.Contains(has, "omitempty"), slices.Contains(has, "flow")})
	}
	yamlFields.Store(t, fields)
	return fields
}

// isEmpty reports whether a field with omitempty is left out.
func isEmpty(v reflect.Value) bool {
	if v.Kind() == reflect.Slice {
		return v.Len() == 0
	}
	return v.IsZero()
}
