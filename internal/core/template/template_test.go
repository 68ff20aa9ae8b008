package template_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/core/template"
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
	cases := map[string]struct{ text, want string }{
		"a variable that does not exist": {
			"one\n{{ .Title }}",
			`template "t": line 2:3: at <.Title>: there is no field Title here`,
		},
		"a syntax error, with its line": {
			"one\n\n{{ if }}",
			`template "t": line 3: missing value for if`,
		},
		"a function that does not exist": {
			`{{ env "HOME" }}`,
			`template "t": line 1: function "env" not defined`,
		},
		"output without end": {
			`{{ define "a" }}{{ template "a" . }}{{ end }}{{ range 100000 }}` + strings.Repeat("x", 100) + `{{ end }}`,
			`template "t": it renders more than 1 MiB`,
		},
		"a template that calls itself without end": {
			`{{ define "a" }}x{{ template "a" . }}{{ end }}{{ template "a" . }}`,
			`template "t": line 1:29: its blocks and the templates that it calls nest more than 500 levels deep`,
		},
		"an indent without end": {
			`{{ indent 1000000000 "x" }}`,
			`template "t": line 1:3: at <indent 1000000000 "x">: indent: 1000000000 is not a valid indent: write 0 to 100`,
		},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			_, err := template.Render(template.Text{Name: "t", Text: c.text}, struct{ Name string }{"n"})
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(c.want, err.Error()); diff != "" {
				t.Errorf("the message differs (-want +got):\n%s", diff)
			}
		})
	}
}
