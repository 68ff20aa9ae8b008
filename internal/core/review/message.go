package review

import (
	"fmt"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/template"
	"github.com/furrow-dev/furrow/internal/core/truncate"
)

const (
	// maxContentsInMessage is how many different contents a commit message counts, maxInMessage how
	// many objects it names.
	maxContentsInMessage, maxInMessage = 2, 4
	// maxLine is how long a line of a commit message is, in bytes.
	maxLine = 200
)

// Message returns what the commit of a proposal says below its title: at most nine lines, so with
// the title a reader of the history has ten. What it says does not change while the entries and
// base stay, so a commit that was pushed before is recognised.
func Message(p template.Proposal) string {
	var lines []string
	add := func(format string, args ...any) {
		lines = append(lines, truncate.Line(fmt.Sprintf(format, args...), maxLine))
	}
	listed, named, total := 0, 0, 0
	for i, c := range p.Changes {
		total += c.More
		for _, o := range c.Objects {
			total += max(o.Count, 1)
		}
		if i >= maxContentsInMessage {
			continue
		}
		where := ""
		if len(p.Members) > 0 {
			where = "On " + strings.Join(c.Tiers, ", ") + ": "
		}
		add("%s%s.", where, c.Summary)
		for _, o := range c.Objects {
			if listed == maxInMessage {
				break
			}
			listed++
			named += max(o.Count, 1)
			add("%s", objectLine(o))
		}
	}
	if more := total - named; named > 0 && more > 0 {
		add("and %d more", more)
	}
	if len(p.Reconcilers) > 0 {
		more := ""
		if n := len(p.Reconcilers) - 1; n > 0 {
			more = fmt.Sprintf(" and %d more", n)
		}
		add("%s%s", p.Reconcilers[0], more)
	}
	if p.Commit.Subject != "" {
		by := ""
		if p.Commit.Author != "" {
			by = " by " + p.Commit.Author
		}
		add("Why now: %s%s", p.Commit.Subject, by)
	}
	if len(p.WhyLeaves) > 0 {
		add("Why it leaves: %s", strings.Join(p.WhyLeaves, "; "))
	}
	return strings.Join(lines, "\n")
}

// signs are those of what becomes of an object.
var signs = map[string]string{"added": "+", "changed": "~", "removed": "-"}

// objectLine says what becomes of an object, with the first fields that change.
func objectLine(o template.Change) string {
	line := signs[o.What] + " "
	if o.Count > 1 {
		line += fmt.Sprintf("%d ", o.Count)
	}
	line += o.Object
	for i, f := range o.Fields {
		if i == 2 || len(line) > maxLine/2 {
			return line + fmt.Sprintf(" and %d more", len(o.Fields)-i+o.More)
		}
		if i > 0 {
			line += ","
		}
		switch {
		case f.Was == "":
			line += " " + f.Path + " " + f.Is
		case f.Is == "":
			line += " without " + f.Path
		default:
			line += " " + f.Path + " " + f.Was + " to " + f.Is
		}
	}
	return line
}
