package template_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/template"
	"github.com/furrow-dev/furrow/templates"
	"github.com/furrow-dev/furrow/test/golden"
)

// hostile templates, with the message about them after the name and the
// position.
var hostile = map[string]struct {
	text string
	want v1alpha1.Reason
}{
	"a long loop":                     {`{{ range 100000000000 }}{{ end }}`, v1alpha1.ReasonTemplateBudget},
	"loops in loops":                  {strings.Repeat(`{{ range 1000 }}`, 10) + strings.Repeat(`{{ end }}`, 10), v1alpha1.ReasonTemplateBudget},
	"a loop over a list in loops":     {`{{ range 100000 }}{{ range .L }}{{ end }}{{ end }}`, v1alpha1.ReasonInvalidTemplate},
	"lists in loops":                  {`{{ range 1000000 }}{{ range $.List }}{{ end }}{{ end }}`, v1alpha1.ReasonTemplateBudget},
	"the first of a map, again":       {`{{ range 1000000 }}{{ range $.Map }}{{ break }}{{ end }}{{ end }}`, v1alpha1.ReasonTemplateBudget},
	"a loop that only continues":      {`{{ range 100000000000 }}{{ continue }}{{ end }}`, v1alpha1.ReasonTemplateBudget},
	"a loop with an else":             {`{{ range 1000000 }}{{ range 0 }}{{ else }}{{ end }}{{ end }}`, v1alpha1.ReasonTemplateBudget},
	"a negative loop does no harm":    {`{{ range -100000000000 }}{{ end }}`, ""},
	"text that doubles":               {`{{ $x := "aaaaaaaa" }}{{ range 40 }}{{ $x = print $x $x }}{{ end }}`, v1alpha1.ReasonTemplateBudget},
	"text that doubles by printf":     {`{{ $x := "aaaaaaaa" }}{{ range 40 }}{{ $x = printf "%s%[1]s" $x }}{{ end }}`, v1alpha1.ReasonTemplateBudget},
	"text that doubles by replace":    {`{{ $x := "aa" }}{{ range 40 }}{{ $x = replace "a" "aa" $x }}{{ end }}`, v1alpha1.ReasonTemplateBudget},
	"text that grows by escaping":     {`{{ $x := "<" }}{{ range 40 }}{{ $x = js $x | html }}{{ end }}`, v1alpha1.ReasonTemplateBudget},
	"text that grows by quoting":      {`{{ $x := "<" }}{{ range 40 }}{{ $x = quote $x }}{{ end }}`, v1alpha1.ReasonTemplateBudget},
	"text that grows by indentation":  {`{{ $x := "\n\n\n\n\n\n\n\n\n" }}{{ range 40 }}{{ $x = indent 100 $x | replace " " "\n" }}{{ end }}`, v1alpha1.ReasonTemplateBudget},
	"text that grows in YAML":         {`{{ $x := "\x01" }}{{ range 40 }}{{ $x = toYaml $x }}{{ end }}`, v1alpha1.ReasonTemplateBudget},
	"much that is thrown away":        {`{{ $x := printf "%100d%100d%100d%100d" 1 2 3 4 }}{{ range 1000000 }}{{ $y := print $x $x $x $x $x }}{{ end }}`, v1alpha1.ReasonTemplateBudget},
	"a wide number":                   {`{{ printf "%1000000000d" 1 }}`, v1alpha1.ReasonInvalidTemplate},
	"many wide numbers":               {`{{ printf "` + strings.Repeat("%999999d", 5000) + `" }}`, v1alpha1.ReasonInvalidTemplate},
	"a width that is an argument":     {`{{ printf "%*d" 1000000 1 }}`, v1alpha1.ReasonInvalidTemplate},
	"a precision of a float":          {`{{ printf "%.1000000f" 1.5 }}`, v1alpha1.ReasonInvalidTemplate},
	"one argument many times":         {`{{ $x := printf "%100d" 1 }}{{ range 8 }}{{ $x = print $x $x }}{{ end }}{{ printf "` + strings.Repeat("%[1]s", 5000) + `" $x }}`, v1alpha1.ReasonTemplateBudget},
	"a long separator":                {`{{ $x := "a" }}{{ range 20 }}{{ $x = print $x $x }}{{ end }}{{ join $x .List }}`, v1alpha1.ReasonTemplateBudget},
	"long texts that are compared":    {`{{ $x := "a" }}{{ range 18 }}{{ $x = print $x $x }}{{ end }}{{ $y := print "b" $x }}{{ $x = print "b" $x }}{{ range 400000 }}{{ if eq $x $y }}{{ end }}{{ end }}`, v1alpha1.ReasonTemplateBudget},
	"a template that calls itself":    {`{{ define "a" }}{{ template "a" . }}{{ end }}{{ template "a" . }}`, v1alpha1.ReasonTemplateBudget},
	"two that call each other, twice": {`{{ define "a" }}{{ template "b" . }}{{ template "b" . }}{{ end }}{{ define "b" }}{{ template "a" . }}{{ end }}{{ template "a" . }}`, v1alpha1.ReasonTemplateBudget},
	"one that calls itself in loops":  {`{{ define "a" }}{{ range 2 }}{{ range 2 }}{{ template "a" . }}{{ end }}{{ end }}{{ end }}{{ template "a" . }}`, v1alpha1.ReasonTemplateBudget},
	"calls that double":               {doubling(60), v1alpha1.ReasonTemplateBudget},
	"blocks in blocks":                {strings.Repeat(`{{if 1}}`, 4000) + strings.Repeat(`{{end}}`, 4000), v1alpha1.ReasonTemplateBudget},
	"else after else":                 {`{{if 0}}` + strings.Repeat(`{{else if 0}}`, 4000) + `{{end}}`, v1alpha1.ReasonTemplateBudget},
	"parentheses":                     {`{{` + strings.Repeat("(", 9000) + `1` + strings.Repeat(")", 9000) + `}}`, v1alpha1.ReasonTemplateBudget},
	"a long text":                     {strings.Repeat("x", 65537), v1alpha1.ReasonTemplateBudget},
	"a text of 65536 runes is not":    {strings.Repeat("ü", 65536), ""},
	"many variables":                  {manyVariables(), v1alpha1.ReasonTemplateBudget},
	"much output":                     {`{{ range 100000 }}xxxxxxxxxxxxxxx{{ end }}`, v1alpha1.ReasonTemplateBudget},
	"everything, again":               {`{{ range 1000 }}{{ $x := print $ }}{{ end }}`, v1alpha1.ReasonTemplateBudget},
	"our own name for it":             {`{{ charge -1000000 0 0 }}`, v1alpha1.ReasonInvalidTemplate},
	"calls of what is not a function": {`{{ call .Text }}`, v1alpha1.ReasonInvalidTemplate},
	"an index that is out of range":   {`{{ index .Text 100 }}`, v1alpha1.ReasonInvalidTemplate},
}

// doubling has n templates; each calls the next one twice.
func doubling(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{{ define "t%d" }}{{ template "t%d" }}{{ template "t%d" }}{{ end }}`, i, i+1, i+1)
	}
	fmt.Fprintf(&b, `{{ define "t%d" }}{{ end }}{{ template "t0" }}`, n)
	return b.String()
}

func manyVariables() string {
	var b strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&b, `{{$v%d:=1}}`, i)
	}
	return b.String() + `{{ range 300000 }}{{ $v0 }}{{ end }}`
}

type variables struct {
	Text string
	List []string
	Map  map[string]string
}

func manyThings() variables {
	v := variables{Text: "text", Map: map[string]string{}}
	for i := range 1000 {
		v.List = append(v.List, fmt.Sprintf("item-%d", i))
		v.Map[fmt.Sprintf("key-%d", i)] = "value"
	}
	return v
}

func TestHostileTemplatesEnd(t *testing.T) {
	texts := golden.Of(t)
	for sentence, c := range hostile {
		t.Run(sentence, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := template.Render(template.Text{Name: "Template/mine", Source: "templates.yaml:3", Text: c.text}, manyThings())
			runtime.ReadMemStats(&after)
			const most = 512 << 20
			if used := after.TotalAlloc - before.TotalAlloc; used > most {
				t.Errorf("it allocated %d MiB", used>>20)
			}
			if err != nil {
				texts.Add(sentence, err.Error())
			}
			switch {
			case c.want == "" && err != nil:
				t.Errorf("got %v, want no error", err)
			case c.want == "":
			case err == nil:
				t.Error("no error")
			case manifest.ReasonOf(err) != c.want || len(err.Error()) > 1100:
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func BenchmarkRenderReconciler(b *testing.B) {
	vars := plainTier()
	for range 10 {
		vars.DependsOn = append(vars.DependsOn, template.ObjectName{Name: "web.edge.00"})
	}
	for b.Loop() {
		if _, err := kind.Render(template.Text{Name: "t", Text: templates.FluxKustomization}, vars); err != nil {
			b.Fatal(err)
		}
	}
}
