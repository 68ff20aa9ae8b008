package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"testing"
)

// messagePages have tables of messages, and messageHeads are the heads of the
// columns that hold them.
var (
	messagePages = []string{"docs/kubectl.md", "docs/troubleshooting.md", "docs/clusters.md", "docs/forges.md"}
	messageHeads = []string{"message", "finding", "what `furrow status` shows"}
)

// fluxSays is what the tables quote of Flux.
var fluxSays = []string{"timeout waiting for: [", "failed early", "unable to read KubeConfig secret", "not found", "namespaces"}

// messages are the quotations in the first column of the page's tables of messages.
func (p page) messages() []string {
	var out []string
	quoted := regexp.MustCompile("`([^`]+)`")
	wanted := false
	for line := range strings.Lines(p.prose()) {
		first, _, isRow := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		switch {
		case !isRow || !strings.HasPrefix(line, "|"):
			wanted = wanted && strings.HasPrefix(line, "|")
			continue
		case !wanted:
			for _, head := range messageHeads {
				wanted = wanted || first == head
			}
			continue
		}
		for _, m := range quoted.FindAllStringSubmatch(first, -1) {
			out = append(out, strings.ReplaceAll(m[1], `\|`, "|"))
		}
	}
	return out
}

const gap = "\x00"

var verb = regexp.MustCompile(`%(\[\d\])?[-+#0-9.]*[a-zA-Z]`)

// said is all text in the code, with a gap for each verb.
func said(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	say := func(text string) {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "%q", `"%s"`), "%%", "%")
		out.WriteString(verb.ReplaceAllString(text, gap) + gap)
	}
	files := token.NewFileSet()
	for _, dir := range []string{"api", "controllers", "internal"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(at string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(at) != ".go" || strings.HasSuffix(at, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(files, at, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if e, ok := n.(ast.Expr); ok {
					if text, found := textOf(e); found {
						say(text)
						return false
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range fluxSays {
		say(text)
	}
	return out.String()
}

// textOf is a string, or several that are added up, with a gap for what is none.
func textOf(e ast.Expr) (text string, found bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, e.Kind == token.STRING && err == nil
	case *ast.BinaryExpr:
		left, inLeft := textOf(e.X)
		right, inRight := textOf(e.Y)
		if e.Op != token.ADD || !inLeft && !inRight {
			return "", false
		}
		if !inLeft {
			left = gap
		}
		if !inRight {
			right = gap
		}
		return left + right, true
	}
	return "", false
}

// A quoted text may be put together from a few pieces, none of them short.
const (
	maxPieces = 3
	minPiece  = 8
)

// unsaid is what is left of a quoted text when what the code says is taken off its front.
func unsaid(text, code string) string {
	for range maxPieces {
		n := sort.Search(len(text), func(n int) bool { return !strings.Contains(code, text[:n+1]) })
		if n < minPiece && n < len(text) {
			return text
		}
		text = strings.TrimLeft(text[n:], " ;:,.")
	}
	return text
}

var elided = regexp.MustCompile(`…|\(|\)`)

func TestQuotedMessagesAreTheCodes(t *testing.T) {
	code := said(t)
	seen := 0
	for _, path := range messagePages {
		for _, message := range (page{path, read(t, path)}).messages() {
			for _, part := range elided.Split(message, -1) {
				seen++
				if rest := unsaid(strings.Trim(part, ` ;:,."[]`), code); rest != "" {
					t.Errorf("%s quotes %q, and the code says nothing like %q", path, message, rest)
				}
			}
		}
	}
	if seen < 100 {
		t.Errorf("only %d parts of messages were found", seen)
	}
	if unsaid("no such message is anywhere", code) == "" {
		t.Error("a message that the code does not have passes")
	}
}
