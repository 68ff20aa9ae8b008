// Package template owns the rendering of Furrow's texts: the language that
// templates may use, their variables, and the checks on what comes out.
//
// A template sees its variables and the functions of this package, nothing
// else: no files, no environment, no clock. The same variables give the same
// bytes.
package template

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strings"
	"text/template"

	"sigs.k8s.io/yaml"
)

// maxOutput bounds what a template may produce.
const maxOutput = 1 << 20

// functions that templates may call, beside those of text/template.
var functions = template.FuncMap{
	"quote":   func(v any) string { return fmt.Sprintf("%q", fmt.Sprint(v)) },
	"toYaml":  toYAML,
	"indent":  indent,
	"default": func(fallback, v string) string { return cmp.Or(v, fallback) },
	"join":    func(sep string, items []string) string { return strings.Join(items, sep) },
	"lower":   strings.ToLower,
	"upper":   strings.ToUpper,
	"trim":    strings.TrimSpace,
	"replace": func(old, with, s string) string { return strings.ReplaceAll(s, old, with) },
}

func toYAML(v any) (string, error) {
	data, err := yaml.Marshal(v)
	return strings.TrimSuffix(string(data), "\n"), err
}

// maxIndent bounds what one call can make of little.
const maxIndent = 100

func indent(n int, s string) (string, error) {
	if n < 0 || n > maxIndent {
		return "", fmt.Errorf("%d is no indent: write 0 to %d", n, maxIndent)
	}
	pad := strings.Repeat(" ", n)
	return pad + strings.ReplaceAll(s, "\n", "\n"+pad), nil
}

// Text is one template.
type Text struct {
	// Name says in errors which template it is.
	Name string
	Text string
}

// Error says where in a template it went wrong. Its message begins with the
// template's name and line.
type Error struct {
	Name string
	Err  error
}

func (e *Error) Error() string {
	message := strings.TrimPrefix(e.Err.Error(), "template: ")
	if place, ok := strings.CutPrefix(message, e.Name+":"); ok {
		return fmt.Sprintf("template %q: line %s", e.Name, place)
	}
	return fmt.Sprintf("template %q: %s", e.Name, message)
}

func (e *Error) Unwrap() error { return e.Err }

// Render executes a template. Variables that it names and that do not exist are errors.
func Render(t Text, vars any) ([]byte, error) {
	parsed, err := template.New(t.Name).Option("missingkey=error").Funcs(functions).Parse(t.Text)
	if err != nil {
		return nil, &Error{t.Name, err}
	}
	out := &bounded{left: maxOutput}
	if err := parsed.Execute(out, vars); err != nil {
		return nil, &Error{t.Name, err}
	}
	return out.Bytes(), nil
}

// bounded is a buffer that ends a template which does not end by itself.
type bounded struct {
	bytes.Buffer
	left int
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, errors.New("it renders more than 1 MiB")
	}
	return b.Buffer.Write(p)
}
