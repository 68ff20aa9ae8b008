package manifest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
)

// Source is a position in a file.
type Source struct {
	File string `json:"file"`
	// Line counts from 1. For an object it is the line of its first key.
	Line int `json:"line,omitempty"`
}

// String returns "file:line", or "file" where no line is known.
func (s Source) String() string {
	if s.Line == 0 {
		return Printable(s.File)
	}
	return fmt.Sprintf("%s:%d", Printable(s.File), s.Line)
}

// ParseSource is the inverse of String.
func ParseSource(text string) Source {
	if i := strings.LastIndexByte(text, ':'); i >= 0 {
		if line, err := strconv.Atoi(text[i+1:]); err == nil {
			return Source{File: text[:i], Line: line}
		}
	}
	return Source{File: text}
}

// Compare orders by file, then by line.
func (s Source) Compare(other Source) int {
	return cmp.Or(strings.Compare(s.File, other.File), cmp.Compare(s.Line, other.Line))
}

// Reason is one of the list in the API, for packages that know no custom resources.
type Reason = v1alpha1.Reason

// Problem is a state, a refusal or a warning: why it is so, what it is about, and what to do. Code
// acts on and compares problems only by their reason and fields; the texts are for people.
type Problem struct {
	Reason v1alpha1.Reason `json:"reason,omitempty"`
	Source Source          `json:"source,omitzero"`
	// Other is the second position that the message names, such as that of the first of two
	// duplicates.
	Other Source `json:"other,omitzero"`
	// Object names the object for people, as in `Deployment "web"`; empty if the object at the
	// position is unknown.
	Object string `json:"object,omitempty"`
	// Field is the field, annotation or setting that is wrong.
	Field string `json:"field,omitempty"`
	// Seed, Cluster, Repo and Path are those that the message names.
	Seed    string `json:"seed,omitempty"`
	Cluster string `json:"cluster,omitempty"`
	Repo    string `json:"repo,omitempty"`
	Path    string `json:"path,omitempty"`
	// Message says what is the matter, without a full stop.
	Message string `json:"message,omitempty"`
	// Next says what to do about it, as a sentence.
	Next string `json:"next,omitempty"`
}

// OrNil returns nil for a problem without a reason. Tiers are many and have few problems, so they keep pointers.
func (p Problem) OrNil() *Problem {
	if p.Reason == "" {
		return nil
	}
	return &p
}

// OfSeed returns what is wrong with a seed as a whole.
func OfSeed(reason v1alpha1.Reason, seed, message, next string) Problem {
	return Problem{Reason: reason, Seed: seed, Object: fmt.Sprintf("seed %q", seed), Message: message, Next: next}
}

// Error returns `seeds/a.yaml:12: Deployment "web": <message>. <next>`. What the message of a wrapped
// problem has already is not repeated (AsProblem).
func (p Problem) Error() string {
	var b strings.Builder
	for _, part := range []string{p.Source.String(), p.Object} {
		if part != "" && !strings.Contains(p.Message, part+": ") {
			b.WriteString(part + ": ")
		}
	}
	b.WriteString(p.Text())
	return b.String()
}

// Text returns the problem without its position and object, as a state has it.
func (p Problem) Text() string {
	switch {
	case p.Next == "" || strings.Contains(p.Message, p.Next):
		return p.Message
	case strings.Contains(p.Message, "\n"):
		return p.Message + "\n" + p.Next
	}
	return p.Message + ". " + p.Next
}

// WithCluster says which cluster the problem is about.
func (p Problem) WithCluster(name string) Problem {
	p.Cluster = name
	return p
}

// WithField says which field, annotation or setting the problem is about.
func (p Problem) WithField(name string) Problem {
	p.Field = name
	return p
}

// OfAll returns the problem of all objects that have it in common: at the first one in the files,
// with their number where there are several.
func (p Problem) OfAll(objects []Object) Problem {
	first := slices.MinFunc(objects, func(a, b Object) int { return a.Source.Compare(b.Source) })
	p.Source, p.Object = first.Source, first.Title()
	if len(objects) > 1 {
		p.Message = fmt.Sprintf("%s; first: %s", p.Message, p.Object)
		p.Object = fmt.Sprintf("%d objects", len(objects))
	}
	return p
}

// Problem returns the problem itself; see ProblemOf.
func (p Problem) Problem() Problem { return p }

// ProblemOf returns the first problem of an error, through whatever wraps it: that of an error
// which has one, or one with the reason that the error gives. An error without a reason, which is a
// mistake of ours, becomes one of reason Internal.
func ProblemOf(err error) Problem {
	if e, ok := errors.AsType[interface {
		error
		Problem() Problem
	}](err); ok {
		return e.Problem()
	}
	reason := v1alpha1.ReasonInternal
	if e, ok := errors.AsType[interface {
		error
		Reason() string
	}](err); ok {
		reason = v1alpha1.Reason(e.Reason())
	}
	return Problem{Reason: reason, Message: err.Error()}
}

// About adds to an error what it is about, where it passes: its Problem has the reason and the
// fields of its own problem and, where that has none, those of p. The error's text stays as it is.
// So a function that knows only a path can fail, and its caller, which knows the seed and the
// repository, adds those.
func About(p Problem, err error) error {
	if err == nil {
		return nil
	}
	return aboutError{err, p}
}

// aboutError is an error with what the caller knows about it. It unwraps to the error.
type aboutError struct {
	error
	about Problem
}

func (e aboutError) Unwrap() error { return e.error }

// Problem is that of the error, with what it lacks from the one that it is about. A reason of its
// own stays; only one that nobody has given is replaced.
func (e aboutError) Problem() Problem {
	p := ProblemOf(e.error)
	if p.Reason == v1alpha1.ReasonInternal {
		p.Reason = cmp.Or(e.about.Reason, p.Reason)
	}
	p.Source, p.Other = cmp.Or(p.Source, e.about.Source), cmp.Or(p.Other, e.about.Other)
	p.Object, p.Field, p.Seed = cmp.Or(p.Object, e.about.Object), cmp.Or(p.Field, e.about.Field), cmp.Or(p.Seed, e.about.Seed)
	p.Cluster, p.Repo, p.Path = cmp.Or(p.Cluster, e.about.Cluster), cmp.Or(p.Repo, e.about.Repo), cmp.Or(p.Path, e.about.Path)
	p.Next = cmp.Or(p.Next, e.about.Next)
	return p
}

// AsProblem returns an error as one problem, with all that it says. If something wrapped the
// problem in more text, that text is the message, without the next step at its end; the fields stay.
func AsProblem(err error) Problem {
	p := ProblemOf(err)
	if text := err.Error(); p.Error() != text {
		p.Message = strings.TrimSuffix(text, strings.TrimPrefix(p.Text(), p.Message))
	}
	return p
}

// ReasonOf returns the reason of an error; empty of nil.
func ReasonOf(err error) v1alpha1.Reason {
	if err == nil {
		return ""
	}
	return ProblemOf(err).Reason
}

// ProblemsOf returns all problems of an error, in order; none of nil.
func ProblemsOf(err error) Problems {
	if err == nil {
		return nil
	}
	if several, ok := errors.AsType[Problems](err); ok && len(several) > 1 {
		return several
	}
	return Problems{ProblemOf(err)}
}

// Problems is every problem of one input, sorted by position. As an error it is never empty. It
// unwraps to each of them, so errors.As finds the first.
type Problems []Problem

// Distinct remembers problems, so each is taken once: a file may have as many as lines.
type Distinct map[Problem]bool

// New returns the problems that it has not returned before.
func (d Distinct) New(problems ...Problem) (fresh Problems) {
	for _, p := range problems {
		if !d[p] {
			d[p] = true
			fresh = append(fresh, p)
		}
	}
	return fresh
}

// Error returns one problem a line.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, one := range p {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As and errors.Is reach each Problem.
func (p Problems) Unwrap() []error {
	errs := make([]error, len(p))
	for i, one := range p {
		errs[i] = one
	}
	return errs
}

// sorted orders problems in place, and drops duplicates.
func (p Problems) sorted() Problems {
	slices.SortStableFunc(p, func(a, b Problem) int {
		return cmp.Or(a.Source.Compare(b.Source), strings.Compare(a.Object, b.Object), strings.Compare(a.Message, b.Message))
	})
	return slices.Compact(p)
}

// err returns the sorted problems as an error, nil when there are none.
func (p Problems) err() error {
	if len(p) == 0 {
		return nil
	}
	return p.sorted()
}
