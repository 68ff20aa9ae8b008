// Package template renders Furrow's texts: the language that templates may use, their variables,
// and the checks on what comes out. Reconciler objects (Reconciler) and proposals (Proposal) are
// the two kinds of text.
//
//	Text ─▶ parse ─▶ meter: charges in each block ─▶ execute within a budget ─▶ checks ─▶ bytes
//
// A template can use its variables and the functions of this package, nothing else: no files, no
// environment, no clock. The same variables give the same bytes. Templates may come from people who
// must not be able to harm others, so time and memory are bounded (see budget), and text from seeds
// is escaped before it becomes a variable (see Code).
package template

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strings"
	"text/template"

	"sigs.k8s.io/yaml"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// functions that templates may call, beside those of text/template that make no text. Each one that
// can make more than ten times what it is given is in sizes, too.
var functions = template.FuncMap{
	"print":    fmt.Sprint,
	"printf":   fmt.Sprintf,
	"println":  fmt.Sprintln,
	"html":     template.HTMLEscaper,
	"js":       template.JSEscaper,
	"urlquery": template.URLQueryEscaper,

	"quote":   func(v any) string { return fmt.Sprintf("%q", fmt.Sprint(v)) },
	"toYaml":  toYAML,
	"code":    func(v any) string { return Code(fmt.Sprint(v)) },
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
		return "", fmt.Errorf("%d is not a valid indent: write 0 to %d", n, maxIndent)
	}
	pad := strings.Repeat(" ", n)
	return pad + strings.ReplaceAll(s, "\n", "\n"+pad), nil
}

// Text is one template.
type Text struct {
	// Name says in errors which template it is, and Source where it is declared, if that is known.
	Name   string
	Source string
	Text   string
	// Total bounds what the renderings of this template use together, if it is set.
	Total *Total
	// Parsed keeps the parsed text for the next rendering, if it is set.
	Parsed *Parsed
}

// Parsed is a template that was parsed before. Its zero value is ready; it serves one rendering at
// a time.
type Parsed struct {
	key      [3]string
	template *template.Template
	used     map[string]bool
	// compilable reports whether it can be compiled, and compiled has what was compiled of it.
	compilable bool
	compiled   map[compiledKey]*compiled
}

// parse parses a text, and meters it.
func (t Text) parse(missing string) (*template.Template, map[string]bool, error) {
	key := [3]string{t.Name, t.Text, missing}
	if p := t.Parsed; p != nil && p.template != nil && p.key == key {
		return p.template, p.used, nil
	}
	if err := checkLength(t.Text); err != nil {
		return nil, nil, err
	}
	parsed, err := template.New(t.Name).Option(missing).Funcs(functions).Parse(t.Text)
	if err != nil {
		return nil, nil, err
	}
	compilable := isCompilable(parsed)
	used, err := meter(parsed, t.Text)
	if err == nil && t.Parsed != nil {
		*t.Parsed = Parsed{key: key, template: parsed, used: used, compilable: compilable}
	}
	return parsed, used, err
}

// Error says where a template failed. Its message begins with the template's name, its file and
// line.
type Error struct {
	Template Text
	Err      error
}

// maxQuoted bounds how much of a message's beginning and end is kept: it may quote values and
// actions of any length.
const maxQuoted = 500

func (e *Error) Error() string {
	name := fmt.Sprintf("template %q", e.Template.Name)
	if e.Template.Source != "" {
		name += " (" + e.Template.Source + ")"
	}
	return name + ": " + e.Message()
}

// Message returns the error without the template's name and position.
func (e *Error) Message() string {
	message := strings.TrimPrefix(e.Err.Error(), "template: ")
	rest, ok := strings.CutPrefix(message, e.Template.Name+":")
	over := (*exceeded)(nil)
	switch isOver := errors.As(e.Err, &over); {
	case ok && isOver:
		line, _, _ := strings.Cut(rest, ": ")
		message = fmt.Sprintf("line %s: %s", line, over.text)
	case ok:
		message = "line " + inPlainWords(rest)
	}
	if n := len(message); n > 2*maxQuoted {
		message = strings.ToValidUTF8(message[:maxQuoted]+" … "+message[n-maxQuoted:], "")
	}
	return message
}

// Problem distinguishes a wrong template from one that is over its budget.
func (e *Error) Problem() manifest.Problem {
	reason := v1alpha1.ReasonInvalidTemplate
	if over := (*exceeded)(nil); errors.As(e.Err, &over) {
		reason = v1alpha1.ReasonTemplateBudget
	}
	return manifest.Problem{Reason: reason, Object: fmt.Sprintf("Template %q", e.Template.Name), Message: e.Error(), Next: "Correct the template."}
}

func (e *Error) Unwrap() error { return e.Err }

// Render executes a template, within a budget of steps and memory. Variables that it names and that
// do not exist are errors.
func Render(t Text, vars any) ([]byte, error) {
	if err := t.Total.check(); err != nil {
		return nil, &Error{t, err}
	}
	b := newBudget(vars)
	out, err := render(t, vars, b)
	t.Total.add(b, err)
	if err != nil {
		return nil, &Error{t, err}
	}
	return out, nil
}

// render executes a Template within a budget. It must not panic, whatever the text.
func render(t Text, vars any, b *budget) (out []byte, err error) {
	// No template may end the process, not even through a bug in text/template.
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", errPanic, r)
		}
	}()
	parsed, used, err := t.parse(b.missing)
	if err != nil {
		return nil, err
	}
	limited := &bounded{left: b.output}
	if err := parsed.Funcs(b.functionsOf(used)).Execute(limited, vars); err != nil {
		return nil, err
	}
	return limited.Bytes(), nil
}

// bounded is a buffer that ends a template which writes too much.
type bounded struct {
	bytes.Buffer
	left int
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, errOutput
	}
	return b.Buffer.Write(p)
}
