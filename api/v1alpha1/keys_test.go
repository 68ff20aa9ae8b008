package v1alpha1

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestKeysAreListed keeps the lists complete: a constant that is missing would be refused as unknown.
func TestKeysAreListed(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	note := func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		if sum, ok := spec.Values[0].(*ast.BinaryExpr); ok {
			if key, ok := sum.Y.(*ast.BasicLit); ok {
				name, _, _ := strings.Cut(spec.Names[0].Name, "_")
				switch {
				case strings.HasPrefix(name, "Annotation"):
					count["annotation "+Group+strings.Trim(key.Value, `"`)]++
				case strings.HasPrefix(name, "Label"):
					count["label "+Group+strings.Trim(key.Value, `"`)]++
				}
			}
		}
		return true
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, note)
	}
	for _, key := range slices.Concat(ObjectAnnotations, SeedAnnotations, WrittenAnnotations) {
		count["annotation "+key]--
	}
	for _, key := range WrittenLabels {
		count["label "+key]--
	}
	if len(count) < 10 {
		t.Errorf("only %d keys were found", len(count))
	}
	for key, n := range count {
		if n != 0 {
			t.Errorf("%s: defined %+d times more often than it is listed", key, n)
		}
	}
}
