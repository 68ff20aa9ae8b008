package forge

import (
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// Trailers of the descriptions of pull requests.
const (
	// TrailerSuperseded is put there before Furrow closes one itself; its value is why.
	TrailerSuperseded = "Furrow-Superseded"
	// TrailerReason goes with TrailerRejected where a person rejects through Furrow.
	TrailerReason = "Furrow-Reason"
)

// Description is what the text of a pull request says for machines.
type Description struct {
	// Wants is empty where a person took it out.
	Wants string
	// Superseded says that Furrow closed it itself.
	Superseded bool
	// Rejected says that a person closed it through Furrow, and Reason why.
	Rejected bool
	Reason   string
}

// Describe is the text of a proposal's pull request.
func Describe(r Request) string {
	return AddTrailers(r.Body, []Trailer{{TrailerTier, r.Tier.String()}, {TrailerWants, r.Wants}})
}

// ReadDescription reads the text of a pull request. People write below it and into
// it, so that a line of ours counts wherever it stands; the last one does.
func ReadDescription(text string) Description {
	var d Description
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		value = strings.TrimSpace(value)
		switch key {
		case TrailerWants:
			d.Wants = value
		case TrailerSuperseded:
			d.Superseded = true
		case TrailerRejected:
			d.Rejected = true
		case TrailerReason:
			d.Reason = value
		}
	}
	return d
}

// MarkSuperseded says in the text of a pull request that Furrow closes it itself.
func MarkSuperseded(text, why string) string {
	return AddTrailers(Unmark(text), []Trailer{{TrailerSuperseded, why}})
}

// MarkRejected says in the text of a pull request that a person rejects it.
func MarkRejected(text, wants, reason string) string {
	marks := []Trailer{{TrailerRejected, wants}}
	if reason != "" {
		marks = append(marks, Trailer{TrailerReason, manifest.Printable(oneLine(reason))})
	}
	return AddTrailers(Unmark(text), marks)
}

// Unmark takes out what MarkSuperseded and MarkRejected say.
func Unmark(text string) string {
	lines := slices.DeleteFunc(linesOf(strings.ReplaceAll(text, "\r\n", "\n")), func(line string) bool {
		key, _, ok := strings.Cut(line, ":")
		return ok && slices.Contains([]string{TrailerSuperseded, TrailerRejected, TrailerReason}, key)
	})
	return strings.Join(lines, "\n") + "\n"
}
