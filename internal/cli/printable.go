package cli

import (
	"io"
	"regexp"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// printer is what all commands write to: text that people wrote, in titles, reasons, names
// of branches or messages of servers, must not act on a terminal or in a log.
type printer struct{ io.Writer }

func (p printer) Write(data []byte) (int, error) {
	if _, err := io.WriteString(p.Writer, printable(string(data))); err != nil {
		return 0, err
	}
	return len(data), nil
}

// bare is what a printer writes to: for what has to act on a terminal, and for data that
// programs read.
func bare(w io.Writer) io.Writer {
	if p, ok := w.(printer); ok {
		return p.Writer
	}
	return w
}

// raw is bare, and takes a page's text as it is too.
func raw(w io.Writer) io.Writer {
	if p, ok := bare(w).(*page); ok {
		return &p.Builder
	}
	return bare(w)
}

// words are what is between the line breaks and tabs of a text.
var words = regexp.MustCompile(`[^\n\t]+`)

// printable is manifest.Printable of a text of several lines.
func printable(text string) string {
	return words.ReplaceAllStringFunc(text, manifest.Printable)
}
