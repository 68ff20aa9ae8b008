package manifest

import (
	"bytes"

	"github.com/furrow-dev/furrow/api/v1alpha1"
)

// What Git, or a filter of it, writes in place of a file.
var (
	lfsPointer    = []byte("version https://git-lfs.github.com/spec/")
	gitCrypt      = []byte("\x00GITCRYPT\x00")
	conflictStart = []byte("<<<<<<<")
	conflictEnd   = []byte(">>>>>>>")
)

// foreign recognises text that is not what its author committed, or that no parser explains well. It
// returns the line of the text, from 1; no message where there is nothing.
func foreign(text []byte) (line int, message, next string) {
	switch {
	case bytes.HasPrefix(text, lfsPointer):
		return 1, "the file is a pointer of Git LFS and not the file itself", "Keep it out of Git LFS, with 'git lfs untrack' and .gitattributes: nothing is fetched from there."
	case bytes.HasPrefix(text, gitCrypt):
		return 1, "the file is encrypted by git-crypt, which only a work tree decrypts", "Encrypt Secrets with SOPS instead."
	}
	number := 0
	for one := range bytes.Lines(text) {
		number++
		if bytes.HasPrefix(one, byteOrderMark) {
			return number, "a byte order mark is in the middle of the file", "Remove it: join files that were saved without one."
		}
		if isConflict(one) {
			return number, "the file has the conflict markers of a merge", "Resolve the conflict, and commit the result."
		}
	}
	return 0, "", ""
}

// isConflict reports whether a line begins a conflict, or ends it. YAML cannot have such a line elsewhere
// but in text that goes on at the start of a line. The line between the two sides does not count: it
// also underlines headings in the text files that Kustomize reads.
func isConflict(line []byte) bool {
	line = bytes.TrimRight(line, "\r\n")
	for _, marker := range [][]byte{conflictStart, conflictEnd} {
		if rest, ok := bytes.CutPrefix(line, marker); ok && (len(rest) == 0 || rest[0] == ' ') {
			return true
		}
	}
	return false
}

// Foreign explains a file that is not what its author committed: a pointer of Git LFS, a file that
// git-crypt encrypted, or one with the conflict markers of a merge. It is nil for all others.
func Foreign(file string, data []byte) *Problem {
	line, message, next := foreign(bytes.TrimPrefix(data, byteOrderMark))
	if message == "" {
		return nil
	}
	return &Problem{Reason: v1alpha1.ReasonInvalidYAML, Source: Source{File: file, Line: line}, Message: message, Next: next}
}
