package signature

import (
	"bytes"
	"errors"
)

// header begins the signature in a commit.
const header = "gpgsig "

// Add returns a commit with a signature in its header, where Git puts it: after the committer.
func Add(commit []byte, text string) ([]byte, error) {
	end := bytes.Index(commit, []byte("\n\n"))
	if end < 0 {
		return nil, errors.New("the commit has no end of its header")
	}
	var out bytes.Buffer
	out.Write(commit[:end+1])
	out.WriteString(header)
	out.Write(bytes.ReplaceAll([]byte(text), []byte("\n"), []byte("\n ")))
	out.WriteByte('\n')
	out.Write(commit[end+1:])
	return out.Bytes(), nil
}

// Split takes the signature out of a commit, and returns what was signed. A commit with several
// signatures has none that can be judged: they are returned together, and are Bad.
func Split(commit []byte) (payload []byte, text string) {
	var rest, signature bytes.Buffer
	inside := false
	for len(commit) > 0 {
		line := commit
		if end := bytes.IndexByte(commit, '\n'); end >= 0 {
			line = commit[:end+1]
		}
		if len(bytes.TrimRight(line, "\n")) == 0 { // the message follows
			break
		}
		commit = commit[len(line):]
		switch {
		case bytes.HasPrefix(line, []byte(header)):
			inside = true
			signature.Write(line[len(header):])
		case inside && line[0] == ' ':
			signature.Write(line[1:])
		default:
			inside = false
			rest.Write(line)
		}
	}
	rest.Write(commit)
	return rest.Bytes(), signature.String()
}
