package odb

import "errors"

type kind int

const (
	kindUnknown kind = iota
	kindForeign
	kindCorrupt
	kindTooLarge
)

// Error is a failure of this package. Predicates such as IsUnknown distinguish failures.
type Error struct {
	op     string
	object string
	kind   kind
	text   string
}

// Error returns what failed, where and why.
func (e *Error) Error() string { return e.op + " " + e.object + ": " + e.text }

// reasons of errors by their kind, as the list of reasons in the API has them.
var reasons = map[kind]string{kindUnknown: "CommitNotFound", kindForeign: "CacheUnusable", kindCorrupt: "CacheUnusable", kindTooLarge: "TooLargeToRead"}

// Reason says in a word what failed.
func (e *Error) Reason() string { return reasons[e.kind] }

func hasKind(err error, k kind) bool {
	var e *Error
	return errors.As(err, &e) && e.kind == k
}

// IsUnknown reports whether the database does not have the commit, tree or blob that was asked for.
func IsUnknown(err error) bool { return hasKind(err, kindUnknown) }

// IsForeign reports whether a directory holds something other than a database of this package, or
// the copy of another repository.
func IsForeign(err error) bool { return hasKind(err, kindForeign) }

// IsCorrupt reports whether an object cannot be read.
func IsCorrupt(err error) bool { return hasKind(err, kindCorrupt) }

// IsTooLarge reports whether an object is larger than what the caller reads.
func IsTooLarge(err error) bool { return hasKind(err, kindTooLarge) }

func unknown(hash Hash, text string) error {
	return &Error{op: "read", object: hash.String(), kind: kindUnknown, text: text}
}

func corrupt(hash Hash, text string) error {
	return &Error{op: "read", object: hash.String(), kind: kindCorrupt, text: text}
}
