package manifest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Source is a place in a file.
type Source struct {
	File string
	// Line counts from 1. For an object it is the line of its first key.
	Line int
}

// String returns "file:line", or "file" where no line is known.
func (s Source) String() string {
	if s.Line == 0 {
		return Printable(s.File)
	}
	return fmt.Sprintf("%s:%d", Printable(s.File), s.Line)
}

// Compare orders by file, then by line.
func (s Source) Compare(other Source) int {
	return cmp.Or(strings.Compare(s.File, other.File), cmp.Compare(s.Line, other.Line))
}

// Problem is one thing that is wrong, or worth a warning, at one place.
type Problem struct {
	Source Source
	// Object names the object for people, as in `Deployment "web"`; empty when
	// it is not known which object the place belongs to.
	Object string
	// Message says what is the matter, without a full stop.
	Message string
	// Next says what to do about it, as a sentence.
	Next string
}

// Error returns `seeds/a.yaml:12: Deployment "web": <message>. <next>`.
func (p Problem) Error() string {
	var b strings.Builder
	if place := p.Source.String(); place != "" {
		b.WriteString(place + ": ")
	}
	if p.Object != "" {
		b.WriteString(p.Object + ": ")
	}
	b.WriteString(p.Message + ".")
	if p.Next != "" {
		b.WriteString(" " + p.Next)
	}
	return b.String()
}

// Problems is every problem of one input, sorted by place. As an error it is
// never empty.
type Problems []Problem

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

// sorted orders problems in place, and drops repetitions.
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
