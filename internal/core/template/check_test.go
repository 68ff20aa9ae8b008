package template_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/template"
	"github.com/furrow-dev/furrow/templates"
	"github.com/furrow-dev/furrow/test/golden"
)

func TestCheckFindsBrokenTemplates(t *testing.T) {
	change := func(old, with string) string { return strings.Replace(templates.FluxKustomization, old, with, 1) }
	const proposal, reconciler = v1alpha1.TemplateProposal, v1alpha1.TemplateReconciler
	cases := map[string]struct {
		kind v1alpha1.TemplateType
		text string
		want v1alpha1.Reason
	}{
		"the built-in proposal":                       {proposal, templates.Proposal, ""},
		"the built-in reconciler":                     {reconciler, templates.FluxKustomization, ""},
		"a block that is not closed":                  {proposal, `{{ if }`, v1alpha1.ReasonInvalidTemplate},
		"a field that does not exist":                 {proposal, "title\n{{ .Nope }}", v1alpha1.ReasonInvalidTemplate},
		"a field of an element":                       {proposal, "title\n{{ range .Objects }}{{ .Nope }}{{ end }}", v1alpha1.ReasonInvalidTemplate},
		"a field of a pointer":                        {reconciler, change("interval: 10m", "interval: {{ with .Decryption }}{{ .Nope }}{{ end }}"), v1alpha1.ReasonInvalidTemplate},
		"a field where nothing is removed":            {proposal, "title\n{{ if not .Removal }}{{ .Nope }}{{ end }}", v1alpha1.ReasonInvalidTemplate},
		"a field of a text":                           {proposal, "title\n{{ .Seed.Name }}", v1alpha1.ReasonInvalidTemplate},
		"a loop without end":                          {proposal, `{{ range 100000000000 }}{{ end }}`, v1alpha1.ReasonTemplateBudget},
		"a wide number":                               {proposal, `{{ printf "%999d" 1 }}`, v1alpha1.ReasonInvalidTemplate},
		"no title":                                    {proposal, " \nbody", v1alpha1.ReasonInvalidTemplate},
		"a reconciler that does not prune":            {reconciler, change("prune: true", "prune: false"), v1alpha1.ReasonInvalidTemplate},
		"a label that clusters have":                  {reconciler, change("interval: 10m", "interval: {{ .Labels.interval }}"), ""},
		"a label that no cluster has yet":             {reconciler, change("interval: 10m", "interval: {{ quote .Labels.other }}"), ""},
		"a field beside a label that no cluster has":  {reconciler, change("interval: 10m", "interval: {{ quote .Labels.other }} {{ .Nope }}"), v1alpha1.ReasonInvalidTemplate},
		"a value that is right with no label alone":   {reconciler, change("interval: 10m", "interval: {{ .Labels.interval }}x"), v1alpha1.ReasonInvalidTemplate},
		"a proposal that is a reconciler by its type": {reconciler, templates.Proposal, v1alpha1.ReasonInvalidTemplate},
	}
	texts := golden.Of(t)
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			text := template.Text{Name: "Template/mine", Text: c.text}
			err := template.CheckProposal(text)
			if c.kind == v1alpha1.TemplateReconciler {
				err = kind.CheckTemplate(text, map[string]string{"interval": "5m"})
			}
			var failed *template.Error
			if errors.As(err, &failed) {
				texts.Add(sentence, failed.Message())
			}
			switch {
			case c.want == "" && err != nil:
				t.Errorf("got %v, want no error", err)
			case c.want != "" && (!errors.As(err, &failed) || failed.Problem().Reason != c.want):
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}
