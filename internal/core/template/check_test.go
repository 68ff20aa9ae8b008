package template_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/template"
	"github.com/furrow-dev/furrow/templates"
)

func TestCheckFindsBrokenTemplates(t *testing.T) {
	change := func(old, with string) string { return strings.Replace(templates.FluxKustomization, old, with, 1) }
	const proposal, reconciler = v1alpha1.TemplateProposal, v1alpha1.TemplateReconciler
	cases := map[string]struct {
		kind       v1alpha1.TemplateType
		text, want string
	}{
		"the built-in proposal":                       {proposal, templates.Proposal, ""},
		"the built-in reconciler":                     {reconciler, templates.FluxKustomization, ""},
		"a block that is not closed":                  {proposal, `{{ if }`, `line 1: `},
		"a field that does not exist":                 {proposal, "title\n{{ .Nope }}", "line 2:3: at <.Nope>: there is no field Nope here; there are Verb, Seed, "},
		"a field of an element":                       {proposal, "title\n{{ range .Objects }}{{ .Nope }}{{ end }}", "there is no field Nope here; there are Kind, Count, Names"},
		"a field of a pointer":                        {reconciler, change("interval: 10m", "interval: {{ with .Decryption }}{{ .Nope }}{{ end }}"), "there is no field Nope here; there are Provider, SecretName"},
		"a field where nothing is removed":            {proposal, "title\n{{ if not .Removal }}{{ .Nope }}{{ end }}", "there is no field Nope here"},
		"a field of a text":                           {proposal, "title\n{{ .Seed.Name }}", "there is no field Name here"},
		"a loop without end":                          {proposal, `{{ range 100000000000 }}{{ end }}`, "it takes more than 200000 steps"},
		"a wide number":                               {proposal, `{{ printf "%999d" 1 }}`, `line 1:3: at <printf "%999d" 1>: printf: write a width or precision as a number of at most 100`},
		"no title":                                    {proposal, " \nbody", "the first line, which is the title, is empty"},
		"a reconciler that does not prune":            {reconciler, change("prune: true", "prune: false"), "spec.prune must be true"},
		"a label that clusters have":                  {reconciler, change("interval: 10m", "interval: {{ .Labels.interval }}"), ""},
		"a label that no cluster has yet":             {reconciler, change("interval: 10m", "interval: {{ quote .Labels.other }}"), ""},
		"a field beside a label that no cluster has":  {reconciler, change("interval: 10m", "interval: {{ quote .Labels.other }} {{ .Nope }}"), "there is no field Nope here"},
		"a value that is right with no label alone":   {reconciler, change("interval: 10m", "interval: {{ .Labels.interval }}x"), "it renders no valid Kustomization"},
		"a proposal that is a reconciler by its type": {reconciler, templates.Proposal, "there is no field Verb here"},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			err := template.Check(template.Text{Name: "Template/mine", Text: c.text}, c.kind, map[string]string{"interval": "5m"})
			var failed *template.Error
			switch {
			case c.want == "" && err != nil:
				t.Errorf("got %v, want no error", err)
			case c.want != "" && (!errors.As(err, &failed) || !strings.Contains(failed.Message(), c.want)):
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}
