package manifest

import "bytes"

// document is one YAML document of a stream.
type document struct {
	// text is what a parser reads: directives and marker line included.
	text []byte
	// raw is the document's exact bytes, without a marker line that has no
	// other content.
	raw []byte
	// line and rawLine are the lines of the file on which text and raw start,
	// from 1.
	line, rawLine int
}

// byteOrderMark may begin a file that a program of Windows wrote.
var byteOrderMark = []byte("\xef\xbb\xbf")

// split cuts a stream at its document markers. A marker is at the start of a
// line, where no block scalar and no quoted text can have content, so scanning
// lines is enough to find it. Documents without content are left out.
func split(data []byte) []document {
	var s splitter
	number := 0
	for start := 0; start < len(data); {
		end := len(data)
		if i := bytes.IndexByte(data[start:], '\n'); i >= 0 {
			end = start + i + 1
		}
		number++
		s.line(data, start, end, number)
		start = end
	}
	s.flush(data, len(data))
	return s.documents
}

// splitter is the state between two lines. The zero value is the state before
// the first line.
type splitter struct {
	documents []document

	start, rawStart   int   // where the current document starts
	number, rawNumber int   // the lines of the same
	directives        []int // offsets of its % lines
	marked, content   bool  // it has its --- line; it has anything in it
}

// line takes the next line, from offset start to before end. A --- begins a document, unless only
// directives came before it, to which it belongs. Text after it on the same line is content, as in
// "--- {}".
func (s *splitter) line(data []byte, start, end, number int) {
	line := bytes.TrimPrefix(data[start:end], byteOrderMark)
	switch rest, marker := cutMarker(line); {
	case marker == "---":
		if s.marked || s.content || len(s.directives) == 0 {
			s.flush(data, start)
			s.start, s.number = start, number
			s.rawStart, s.rawNumber = end, number+1
			if !blank(rest) {
				s.rawStart, s.rawNumber = start, number
			}
		}
		s.marked, s.content = true, !blank(rest)
	case marker == "..." && blank(rest):
		s.flush(data, start)
		s.start, s.number = end, number+1
		s.rawStart, s.rawNumber = end, number+1
	case !s.marked && !s.content && bytes.HasPrefix(line, []byte{'%'}):
		s.directives = append(s.directives, end-len(line))
	case !blank(line):
		s.content = true
	}
}

// flush ends the current document before the offset end.
func (s *splitter) flush(data []byte, end int) {
	if s.content || len(s.directives) > 0 && !s.marked {
		text := data[s.start:end]
		if len(s.directives) > 0 {
			text = withoutVersion(text, s.start, s.directives)
		}
		s.documents = append(s.documents, document{
			text: bytes.TrimPrefix(text, byteOrderMark),
			raw:  bytes.TrimPrefix(data[s.rawStart:end], byteOrderMark),
			line: max(s.number, 1), rawLine: max(s.rawNumber, 1),
		})
	}
	*s = splitter{documents: s.documents}
}

// withoutVersion turns %YAML lines into comments: the parser refuses every
// version but 1.1, and reads them all alike.
func withoutVersion(text []byte, start int, directives []int) []byte {
	text = bytes.Clone(text)
	for _, offset := range directives {
		if at := text[offset-start:]; bytes.HasPrefix(at, []byte("%YAML")) {
			at[0] = '#'
		}
	}
	return text
}

// cutMarker returns the document marker that a line starts with, and what
// follows it.
func cutMarker(line []byte) (rest []byte, marker string) {
	if len(line) < 3 {
		return line, ""
	}
	marker = string(line[:3])
	if marker != "---" && marker != "..." {
		return line, ""
	}
	if len(line) > 3 && !bytes.ContainsRune([]byte(" \t\r\n"), rune(line[3])) {
		return line, ""
	}
	return line[3:], marker
}

// blank reports whether a line has nothing but white space and a comment.
func blank(line []byte) bool {
	line = bytes.TrimLeft(line, " \t\r\n")
	return len(line) == 0 || line[0] == '#'
}
