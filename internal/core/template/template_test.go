package template_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/template"
	"github.com/furrow-dev/furrow/test/golden"
)

func TestFunctions(t *testing.T) {
	vars := struct {
		Empty, Text string
		List        []string
	}{"", "Two Words ", []string{"a", "b"}}
	cases := map[string]struct{ text, want string }{
		"quote":                {`{{ quote .Text }}`, `"Two Words "`},
		"quote takes anything": {`{{ quote 12 }}`, `"12"`},
		"toYaml and indent":    {`{{ toYaml .List | indent 2 }}`, "  - a\n  - b"},
		"default":              {`{{ default "x" .Empty }}{{ default "x" .Text }}`, "xTwo Words "},
		"join":                 {`{{ join "," .List }}`, "a,b"},
		"lower, upper, trim":   {`{{ lower .Text }}{{ upper .Text }}{{ trim .Text }}`, "two words TWO WORDS Two Words"},
		"replace":              {`{{ replace "Words" "Birds" .Text }}`, "Two Birds "},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			got, err := template.Render(template.Text{Name: "t", Text: c.text}, vars)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Errorf("the text differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRenderErrors(t *testing.T) {
	cases := map[string]struct {
		text string
		want v1alpha1.Reason
	}{
		"a variable that does not exist": {
			"one\n{{ .Title }}",
			v1alpha1.ReasonInvalidTemplate,
		},
		"a syntax error, with its line": {
			"one\n\n{{ if }}",
			v1alpha1.ReasonInvalidTemplate,
		},
		"a function that does not exist": {
			`{{ env "HOME" }}`,
			v1alpha1.ReasonInvalidTemplate,
		},
		"output without end": {
			`{{ define "a" }}{{ template "a" . }}{{ end }}{{ range 100000 }}` + strings.Repeat("x", 100) + `{{ end }}`,
			v1alpha1.ReasonTemplateBudget,
		},
		"a template that calls itself without end": {
			`{{ define "a" }}x{{ template "a" . }}{{ end }}{{ template "a" . }}`,
			v1alpha1.ReasonTemplateBudget,
		},
		"an indent without end": {
			`{{ indent 1000000000 "x" }}`,
			v1alpha1.ReasonInvalidTemplate,
		},
	}
	texts := golden.Of(t)
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			_, err := template.Render(template.Text{Name: "t", Text: c.text}, struct{ Name string }{"n"})
			if err == nil {
				t.Fatal("no error")
			}
			texts.Add(sentence, err.Error())
			if got := manifest.ReasonOf(err); got != c.want {
				t.Errorf("got %s, want %s: %v", got, c.want, err)
			}
		})
	}
}
