package manifest

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	yaml2 "go.yaml.in/yaml/v2"

	"github.com/furrow-dev/furrow/api/v1alpha1"
)

// errorLine is how errors of YAML libraries begin.
var errorLine = regexp.MustCompile(`^line (\d+): `)

// fault is an error of a YAML parser: the line of the document from 1, 0 when
// the parser does not say, and what it says.
type fault struct {
	line int
	text string
}

// readFault takes the line out of an error of a YAML library, which has it in its text alone.
func readFault(err error) fault {
	text := strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")
	text = strings.TrimPrefix(text, "yaml: ")
	found := errorLine.FindStringSubmatch(text)
	if found == nil {
		return fault{text: text}
	}
	line, _ := strconv.Atoi(found[1])
	return fault{line: line, text: text[len(found[0]):]}
}

// grammarFaults are the messages of the parser proper, which counts the line
// from 0 where the scanner counts it from 1.
var grammarFaults = []string{
	"did not find expected <stream-start>",
	"did not find expected <document start>",
	"did not find expected node content",
	"did not find expected '-' indicator",
	"did not find expected key",
	"did not find expected ',' or ']'",
	"did not find expected ',' or '}'",
	"found undefined tag handle",
}

// locate finds the line that a person has to correct. Of the two parsers, yaml3 reports where the
// broken construct starts and yaml2 where it breaks. The latter is nearly always the line to
// correct, but for a quote that is never closed, which breaks at the end of the file.
func locate(text []byte, err error) fault {
	f := readFault(err)
	if strings.HasPrefix(f.text, "found unexpected end of stream") {
		return f
	}
	var ignored any
	second := decodeYAML2(text, &ignored)
	if second == nil {
		return f
	}
	if other := readFault(second); other.line > 0 {
		f = other
		for _, grammar := range grammarFaults {
			if strings.HasPrefix(f.text, grammar) {
				f.line++
			}
		}
	}
	return f
}

func decodeYAML2(text []byte, into any) (err error) {
	defer recovered(&err)
	return yaml2.Unmarshal(text, into)
}

// advice says a parser's message in plain words. The first row whose key the
// message contains counts.
var advice = []struct{ has, message, next string }{
	{"exceeded max depth", fmt.Sprintf("the document is nested more than %d levels deep", maxDepth), "Check the brackets and the indentation."},
	{"mapping values are not allowed", "there is a colon where no key is allowed", `Check the indentation of this line and the one before, and quote text that has ": " in it.`},
	{"cannot start any token", "a value starts with a character that YAML keeps for itself", "Quote the value."},
	{"found unexpected end of stream", "quoted text starts here and never ends", "Add the closing quote."},
	{"could not find expected ':'", "a line has no colon after its key", "Add the colon, or indent the line if it goes on from the one before."},
	{"did not find expected key", "the indentation does not fit the lines before, or quoted text goes on after its closing quote", "Indent the keys of one mapping alike."},
	{"did not find expected '-' indicator", "the indentation does not fit the list before", "Indent the items of one list alike."},
	{"did not find expected ',' or", "a bracket is not closed, or a comma is missing", "Close the bracket; if the file is a template with {{ }}, render it first."},
	{"excessive aliasing", "the document's aliases expand to more data than an API server accepts", "Write out what is needed, or split it into several objects."},
	{"without a line of its own", "a second document starts inside of this one", "End lines with a line feed, and put --- on a line of its own."},
}

// syntaxProblem explains why a document cannot be read, and quotes no value of it: text at an
// invalid position may well be a password without quotes. Parsers put such text between quotes in
// their messages, so a message with quotes is only used to choose the advice.
func syntaxProblem(doc document, at position, err error) Problem {
	f := locate(doc.text, err)
	p := Problem{Reason: v1alpha1.ReasonInvalidYAML, Message: "YAML: " + Printable(f.text), Next: "Correct the document there."}
	if strings.ContainsAny(f.text, "'\"`") { // it may quote a value
		p.Message = "the document is not valid YAML"
	}
	for _, row := range advice {
		if strings.Contains(f.text, row.has) {
			p.Message, p.Next = row.message, row.next
			break
		}
	}
	if name, ok := unknownAnchor(f.text); ok {
		p.Message = "an alias (*) has no anchor (&) before it in this document"
		p.Next = "Quote the value if it is text; anchors do not reach across ---."
		f.line = lineWith(doc.text, "*"+name)
	}
	if line := tabbedLine(doc.text, f.line); line > 0 {
		f.line = line
		p.Message, p.Next = "the line is indented with a tab, which YAML does not allow", "Indent it with spaces."
	}
	p.Source = Source{File: at.file, Line: at.line}
	if f.line > 0 {
		p.Source.Line = at.base + f.line
	}
	return p
}

func unknownAnchor(text string) (string, bool) {
	rest, ok := strings.CutPrefix(text, "unknown anchor '")
	name, _, closed := strings.Cut(rest, "'")
	return name, ok && closed
}

// lineWith returns the first line that has s in it, 0 when none has.
func lineWith(text []byte, s string) int {
	before, _, found := bytes.Cut(text, []byte(s))
	if !found {
		return 0
	}
	return bytes.Count(before, []byte{'\n'}) + 1
}

// tabbedLine returns the line at or beside a fault that has a tab in its indentation, 0 when none
// has. Editors show tabs like spaces, and parsers report the indentation or the line after.
func tabbedLine(text []byte, line int) int {
	lines := bytes.Split(text, []byte{'\n'})
	for _, n := range []int{max(line, 1), line + 1, line - 1} {
		if n < 1 || n > len(lines) {
			continue
		}
		content := bytes.TrimLeft(lines[n-1], " \t")
		indentation := lines[n-1][:len(lines[n-1])-len(content)]
		if bytes.IndexByte(indentation, '\t') >= 0 && !blank(content) {
			return n
		}
	}
	return 0
}
