package v1alpha1_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/api/v1alpha1"
)

// TestEveryReasonIsDocumentedOnce: the list of reasons and the constants are the same, in the same order.
func TestEveryReasonIsDocumentedOnce(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "reasons.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var constants []v1alpha1.Reason
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Reason") || spec.Names[0].Name == "ReasonTopics" {
			return true
		}
		value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil || "Reason"+value != spec.Names[0].Name {
			t.Errorf("%s is %q", spec.Names[0].Name, value)
		}
		constants = append(constants, v1alpha1.Reason(value))
		return true
	})
	n := 0
	for _, topic := range v1alpha1.ReasonTopics {
		if topic.Title == "" {
			t.Error("a topic has no title")
		}
		for _, r := range topic.Reasons {
			if n >= len(constants) || constants[n] != r.Reason {
				t.Fatalf("%s is not at the position that it has among the constants", r.Reason)
			}
			n++
			if !regexp.MustCompile(`^[A-Z][A-Za-z]{2,60}$`).MatchString(string(r.Reason)) {
				t.Errorf("%q cannot be the reason of a condition", r.Reason)
			}
			for _, text := range []string{r.Sentence, r.Next} {
				if !strings.HasSuffix(text, ".") || strings.Contains(text, "\n") {
					t.Errorf("%s: %q is not a sentence on one line", r.Reason, text)
				}
			}
		}
	}
	if n != len(constants) {
		t.Errorf("%d of %d reasons are documented", n, len(constants))
	}
}
