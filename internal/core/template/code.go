package template

import (
	"regexp"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/truncate"
)

// maxCode bounds one code span, in bytes: an annotation may have 256 KiB.
const maxCode = 512

// acting is what forges act on also in commit messages, which are not Markdown: mentions;
// references to issues and merge requests, which close them after "closes" (#1,
// owner/repo#1, !1, GH-1, a URL); and orders to CI ([skip ci]).
var acting = regexp.MustCompile(`(?i)[@#]|!\d|\bgh-\d|://|\[(skip|ci|no)`)

// noSpace has no width: it parts what a forge would read as one.
const noSpace = "\u200b"

// ends are what would end a code span, and the cell of a table even inside of one.
var ends = strings.NewReplacer("`", `\x60`, "|", `\x7c`)

// Code shows text from a seed in a proposal, as a Markdown code span on one line in which
// nothing has a meaning: no markup, HTML, link, mention or reference to an issue or commit.
// The same text is safe in the message of a commit.
func Code(text string) string {
	if text = strings.TrimSpace(truncate.Text(text, maxCode)); text == "" {
		return ""
	}
	text = ends.Replace(manifest.Printable(text))
	return "`" + acting.ReplaceAllStringFunc(text, func(s string) string { return s[:1] + noSpace + s[1:] }) + "`"
}

// ordinary are names of branches, files and revisions that mean nothing to a forge.
var ordinary = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]*(@sha1:[0-9a-f]+)?$`)

// Ordinary shows a branch, file or revision as it is, and as Code where it is an odd one:
// who may create a Seed resource chooses the branch that it is read from.
func Ordinary(text string) string {
	if len(text) <= maxCode && ordinary.MatchString(text) {
		return text
	}
	return Code(text)
}
