package template_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/furrow-dev/furrow/internal/core/template"
	"github.com/furrow-dev/furrow/templates"
)

func TestTheRenderingsOfOneTemplateAreBoundedTogether(t *testing.T) {
	cases := map[string]struct {
		text string
		// most is how many of 200 renderings are executed, at most.
		most int
	}{
		"too many steps":   {`{{ range 100000000 }}{{ end }}`, 20},
		"too much text":    {`{{ $x := "aaaaaaaa" }}{{ range 40 }}{{ $x = print $x $x }}{{ end }}`, 20},
		"almost all steps": {`{{ range 190000 }}{{ end }}`, 23},
		"little":           {`{{ range 1000 }}{{ end }}`, 200},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			text := template.Text{Name: "Template/mine", Text: tc.text, Total: &template.Total{}}
			executed := 0
			for range 200 {
				if _, err := template.Render(text, map[string]any{}); !errors.Is(err, template.ErrTotal) {
					executed++
				}
			}
			if executed > tc.most || executed < min(tc.most, 200)/2 {
				t.Errorf("%d renderings were executed, want about %d", executed, tc.most)
			}
		})
	}
}

// A fleet is not bounded by its size.
func TestTheBuiltInTemplateRendersForAnyNumberOfTiers(t *testing.T) {
	text := template.Text{Name: "Template/mine", Text: templates.FluxKustomization, Total: &template.Total{}}
	vars := plainTier()
	for i := range 100 {
		vars.HealthChecks = append(vars.HealthChecks, template.HealthCheck{APIVersion: "v1", Kind: "ConfigMap", Name: fmt.Sprint("c", i), Namespace: "d"})
	}
	for range 300 {
		if _, err := template.Render(text, vars); err != nil {
			t.Fatal(err)
		}
	}
}
