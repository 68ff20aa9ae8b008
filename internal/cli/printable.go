package cli

import (
	"io"
	"regexp"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// printer is what all commands write to: text that people wrote, in titles, reasons, names of
// branches or messages of servers, must not act on a terminal or in a log. It returns the number of
// bytes that it was given, whatever became of them, as io.Writer asks for.
type printer struct{ io.Writer }

func (p printer) Write(data []byte) (int, error) {
	if _, err := io.WriteString(p.Writer, printable(string(data))); err != nil {
		return 0, err
	}
	return len(data), nil
}

// bare returns what a printer writes to: for what has to act on a terminal, and for data that
// programs read.
func bare(w io.Writer) io.Writer {
	if p, ok := w.(printer); ok {
		return p.Writer
	}
	return w
}

// raw is bare, and of a page its text, so what is drawn on one page can be part of another.
func raw(w io.Writer) io.Writer {
	if p, ok := bare(w).(*page); ok {
		return &p.Builder
	}
	return bare(w)
}

// words are what is between the line breaks and tabs of a text.
var words = regexp.MustCompile(`[^\n\t]+`)

// printable is manifest.Printable of a text of several lines: line breaks and tabs stay.
func printable(text string) string {
	return words.ReplaceAllStringFunc(text, manifest.Printable)
}
