package forge

import (
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/template"
)

// Trailers of the descriptions of pull requests.
const (
	// TrailerSuperseded is put there before Furrow closes one itself; its value is why.
	TrailerSuperseded = "Furrow-Superseded"
	// TrailerReason goes with TrailerRejected where a person rejects through Furrow.
	TrailerReason = "Furrow-Reason"
)

// Description is what the text of a pull request says for programs. It is kept there, and not by
// Furrow, so another process, or this one without its cache, finds the same.
type Description struct {
	// Carried has no digest where a person took them out.
	Carried
	// Superseded reports whether Furrow closed it itself.
	Superseded bool
	// Rejected reports whether a person closed it through Furrow, and Reason why.
	Rejected bool
	Reason   string
}

// Describe returns the text of a proposal's pull request: its body, and what it carries.
func Describe(r Request) string {
	return AddTrailers(WithGate(r.Body, r.Shut), r.Trailers())
}

// Lines around what a text says of its gate. They are comments, which forges do not show.
const (
	gateBegin = "<!-- furrow: gate -->"
	gateEnd   = "<!-- furrow: end of gate -->"
)

// WithGate begins a text with why the proposal must not be merged now, and takes that out where it
// may be: the rest of a text is of the time when it was written. Text that says so already stays as
// it is.
func WithGate(text, shut string) string {
	block := ""
	if shut = oneLine(shut); shut != "" {
		block = gateBegin + "\n> [!WARNING]\n> **Do not merge this now**: " + template.Code(shut) + "\n" + gateEnd + "\n\n"
	}
	had := strings.ReplaceAll(text, "\r\n", "\n")
	before, rest, begins := strings.Cut(had, gateBegin)
	_, after, ends := strings.Cut(rest, gateEnd)
	if begins && ends {
		if block != "" && strings.HasPrefix(rest, strings.TrimSuffix(strings.TrimPrefix(block, gateBegin), "\n\n")) {
			return text
		}
		had = before + strings.TrimLeft(after, "\n")
	} else if block == "" {
		return text
	}
	return block + had
}

// ReadDescription reads the text of a pull request. People write below it and into
// it, so a line of ours counts wherever it is; the last one does.
func ReadDescription(text string) Description {
	var d Description
	var tiers []string
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		value = strings.TrimSpace(value)
		switch key {
		case TrailerDigest:
			d.Digest = value
		case TrailerTier:
			tiers = append(tiers, value)
		case TrailerSuperseded:
			d.Superseded = true
		case TrailerRejected:
			d.Rejected = true
		case TrailerReason:
			d.Reason = value
		}
	}
	d.Tiers = members(tiers, d.Digest)
	return d
}

// MarkSuperseded says in the text of a pull request that Furrow closes it itself.
func MarkSuperseded(text, why string) string {
	return AddTrailers(Unmark(text), []Trailer{{TrailerSuperseded, why}})
}

// MarkRejected says in the text of a pull request that a person rejects it.
func MarkRejected(text, digest, reason string) string {
	marks := []Trailer{{TrailerRejected, digest}}
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

// Trailers say what a proposal carries, in its commit and in its text.
func (c Carried) Trailers() []Trailer {
	var out []Trailer
	for _, m := range c.Tiers {
		value := m.Tier.String()
		if len(c.Tiers) > 1 {
			value += " " + m.Digest
		}
		out = append(out, Trailer{TrailerTier, value})
	}
	if c.Destroys {
		out = append(out, Trailer{TrailerDestroys, "data"})
	}
	return append(out, Trailer{TrailerDigest, c.Digest})
}

// CarriedBy returns what the commit of a proposal carries; the zero value for any other commit.
func CarriedBy(message string) Carried {
	var c Carried
	var tiers []string
	for _, t := range allTrailers(message) {
		switch t.Key {
		case TrailerDigest:
			c.Digest = t.Value
		case TrailerTier:
			tiers = append(tiers, t.Value)
		case TrailerDestroys:
			c.Destroys = true
		}
	}
	if c.Tiers = members(tiers, c.Digest); len(c.Tiers) == 0 {
		return Carried{}
	}
	return c
}

// members reads the values of TrailerTier: "<tier> <digest>" in a proposal of several, or the tier
// alone, whose digest is the proposal's. Of one that names only a tier the last counts, and the
// proposal carries nothing else. Values that cannot be read are left out.
func members(values []string, digest string) []layout.Member {
	var out []layout.Member
	for i, value := range values {
		name, own, several := strings.Cut(value, " ")
		m := layout.Member{Digest: own}
		if m.Tier.UnmarshalText([]byte(name)) != nil {
			continue
		}
		switch {
		case several:
			out = append(out, m)
		case i == len(values)-1 && digest != "":
			return []layout.Member{{Tier: m.Tier, Digest: digest}}
		}
	}
	return out
}
