package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// hint is a command in a text: in quotes, or as code.
var hint = regexp.MustCompile("['`]((?:kubectl )?furrow [^'`\n]+)['`]")

// verbs are those of formats, and the actions of templates: what a run puts in their place.
var verbs = regexp.MustCompile(`%(\[\d+\])?[a-z]|\{\{[^}]*\}\}`)

// notCommands are texts in quotes that name a group of commands, or a part of one.
var notCommands = map[string]bool{"furrow pr": true, "furrow abandon … --undo": true}

// TestEveryHintIsACommand collects the commands that messages name, and lets the real command tree parse
// them. It finds renamed flags, placeholders and wrong numbers of arguments.
func TestEveryHintIsACommand(t *testing.T) {
	hints := map[string]string{}
	for _, dir := range []string{"..", "../../api", "../../controllers", "../../templates"} {
		err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
			switch {
			case err != nil || e.IsDir():
				return err
			case strings.HasSuffix(name, ".tmpl"):
				data, err := os.ReadFile(name)
				note(hints, name, string(data))
				return err
			case filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || strings.Contains(name, "testdata"):
				return nil
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				e, is := n.(ast.Expr)
				if !is {
					return true
				}
				text, constant := literalOf(e)
				note(hints, name, text)
				return !constant
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(hints) < 30 {
		t.Fatalf("only %d commands are found in the texts", len(hints))
	}
	for text, at := range hints {
		t.Run(text, func(t *testing.T) {
			if strings.ContainsAny(text, "<>|&;$") {
				t.Errorf("%s: a shell reads more than words in %q", at, text)
			}
			if err := parses(text); err != nil {
				t.Errorf("%s: %q is not a command: %v", at, text, err)
			}
		})
	}
}

// literalOf returns a text and those joined to it, with a word for what is not a constant; false for
// anything but a text.
func literalOf(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, err := strconv.Unquote(e.Value)
			return text, err == nil
		}
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			left, isLeft := literalOf(e.X)
			right, isRight := literalOf(e.Y)
			if !isLeft {
				left = "web"
			}
			if !isRight {
				right = "web"
			}
			return left + right, isLeft || isRight
		}
	}
	return "", false
}

// note adds the commands of a text.
func note(hints map[string]string, at, text string) {
	for _, found := range hint.FindAllStringSubmatch(text, -1) {
		if command := verbs.ReplaceAllString(found[1], "web"); !notCommands[command] {
			hints[command] = at
		}
	}
}

// parses has the command that a text names parse its flags and check its arguments. A command that is
// named without any argument is meant as such.
func parses(text string) error {
	words := strings.Fields(text)
	root := newRoot()
	if words[0] == "kubectl" {
		words, root = words[1:], newKubectl(nil)
	}
	cmd, rest, err := root.Find(words[1:])
	if err != nil {
		return err
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	if len(rest) == 0 || cmd.Args == nil {
		return cobra.NoArgs(cmd, cmd.Flags().Args())
	}
	if cmd.Flags().NArg() == 0 {
		return nil
	}
	return cmd.Args(cmd, cmd.Flags().Args())
}

func TestCommandsInFoldedTextsCanBePasted(t *testing.T) {
	text := "the cluster could not be asked; run 'furrow abandon <cluster>' if it is gone: the root of <cluster> stays"
	want := "the cluster could not be asked; run 'furrow abandon CLUSTER' if it is gone: the root of <cluster> stays"
	if got := withCommands(text); got != want {
		t.Errorf("got %q", got)
	}
}
