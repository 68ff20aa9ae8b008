package docs

import (
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTheCodeUsesPlainWords checks comments, texts and the words that names are made of.
func TestTheCodeUsesPlainWords(t *testing.T) {
	for _, path := range goFiles(t) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files := token.NewFileSet()
		file := files.AddFile(path, -1, len(data))
		var s scanner.Scanner
		s.Init(file, data, nil, scanner.ScanComments)
		var comment strings.Builder // of adjacent lines
		for at, kind, text := s.Scan(); ; at, kind, text = s.Scan() {
			if kind == token.COMMENT {
				comment.WriteString(strings.TrimPrefix(text, "//") + "\n")
				continue
			}
			for _, found := range unplain(comment.String()) {
				t.Errorf("%s: in the comment before: %s", files.Position(at), found)
			}
			comment.Reset()
			switch kind {
			case token.IDENT:
				text = strings.ReplaceAll(camel.ReplaceAllString(text, "$1 $2"), "_", " ")
			case token.STRING:
			default:
				text = ""
			}
			for _, found := range unplain(text) {
				t.Errorf("%s: %s", files.Position(at), found)
			}
			if kind == token.EOF {
				break
			}
		}
	}
}

// camel is where a word of a name begins.
var camel = regexp.MustCompile(`([a-z0-9])([A-Z])`)

// goFiles are those of the project, but for what is generated and what lists the words.
func goFiles(t *testing.T) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir("../..", func(path string, d os.DirEntry, err error) error {
		name := d.Name()
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(name, ".") && strings.Trim(name, ".") != "", d.IsDir() && name == "testdata":
			return filepath.SkipDir
		case strings.HasSuffix(name, ".go") && !strings.HasPrefix(name, "zz_generated") && !strings.HasSuffix(name, "words_test.go"):
			out = append(out, path)
		}
		return nil
	})
	if err != nil || len(out) == 0 {
		t.Fatalf("no Go files: %v", err)
	}
	return out
}
