package template_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/internal/core/template"
	"github.com/furrow-dev/furrow/templates"
)

// hostile templates, with what is said of them after the name and the place.
var hostile = map[string]struct{ text, want string }{
	"a long loop":                     {`{{ range 100000000000 }}{{ end }}`, "it takes more than 200000 steps"},
	"loops in loops":                  {strings.Repeat(`{{ range 1000 }}`, 10) + strings.Repeat(`{{ end }}`, 10), "it takes more than 200000 steps"},
	"a loop over a list in loops":     {`{{ range 100000 }}{{ range .L }}{{ end }}{{ end }}`, "there is no field L here"},
	"lists in loops":                  {`{{ range 1000000 }}{{ range $.List }}{{ end }}{{ end }}`, "it takes more than 200000 steps"},
	"the first of a map, again":       {`{{ range 1000000 }}{{ range $.Map }}{{ break }}{{ end }}{{ end }}`, "it takes more than 200000 steps"},
	"a loop that only continues":      {`{{ range 100000000000 }}{{ continue }}{{ end }}`, "it takes more than 200000 steps"},
	"a loop with an else":             {`{{ range 1000000 }}{{ range 0 }}{{ else }}{{ end }}{{ end }}`, "it takes more than 200000 steps"},
	"a negative loop does no harm":    {`{{ range -100000000000 }}{{ end }}`, ""},
	"text that doubles":               {`{{ $x := "aaaaaaaa" }}{{ range 40 }}{{ $x = print $x $x }}{{ end }}`, "its functions make more than 16 MiB of text"},
	"text that doubles by printf":     {`{{ $x := "aaaaaaaa" }}{{ range 40 }}{{ $x = printf "%s%[1]s" $x }}{{ end }}`, "its functions make more than 16 MiB of text"},
	"text that doubles by replace":    {`{{ $x := "aa" }}{{ range 40 }}{{ $x = replace "a" "aa" $x }}{{ end }}`, "its functions make more than 16 MiB of text"},
	"text that grows by escaping":     {`{{ $x := "<" }}{{ range 40 }}{{ $x = js $x | html }}{{ end }}`, "its functions make more than 16 MiB of text"},
	"text that grows by quoting":      {`{{ $x := "<" }}{{ range 40 }}{{ $x = quote $x }}{{ end }}`, "its functions make more than 16 MiB of text"},
	"text that grows by indentation":  {`{{ $x := "\n\n\n\n\n\n\n\n\n" }}{{ range 40 }}{{ $x = indent 100 $x | replace " " "\n" }}{{ end }}`, "its functions make more than 16 MiB of text"},
	"text that grows in YAML":         {`{{ $x := "\x01" }}{{ range 40 }}{{ $x = toYaml $x }}{{ end }}`, "its functions make more than 16 MiB of text"},
	"much that is thrown away":        {`{{ $x := printf "%100d%100d%100d%100d" 1 2 3 4 }}{{ range 1000000 }}{{ $y := print $x $x $x $x $x }}{{ end }}`, "its functions make more than 16 MiB of text"},
	"a wide number":                   {`{{ printf "%1000000000d" 1 }}`, "printf: write a width or precision as a number of at most 100"},
	"many wide numbers":               {`{{ printf "` + strings.Repeat("%999999d", 5000) + `" }}`, "printf: write a width or precision as a number of at most 100"},
	"a width that is an argument":     {`{{ printf "%*d" 1000000 1 }}`, "printf: write a width or precision as a number of at most 100"},
	"a precision of a float":          {`{{ printf "%.1000000f" 1.5 }}`, "printf: write a width or precision as a number of at most 100"},
	"one argument many times":         {`{{ $x := printf "%100d" 1 }}{{ range 8 }}{{ $x = print $x $x }}{{ end }}{{ printf "` + strings.Repeat("%[1]s", 5000) + `" $x }}`, "its functions make more than 16 MiB of text"},
	"a long separator":                {`{{ $x := "a" }}{{ range 20 }}{{ $x = print $x $x }}{{ end }}{{ join $x .List }}`, "its functions make more than 16 MiB of text"},
	"long texts that are compared":    {`{{ $x := "a" }}{{ range 18 }}{{ $x = print $x $x }}{{ end }}{{ $y := print "b" $x }}{{ $x = print "b" $x }}{{ range 400000 }}{{ if eq $x $y }}{{ end }}{{ end }}`, "it takes more than 200000 steps"},
	"a template that calls itself":    {`{{ define "a" }}{{ template "a" . }}{{ end }}{{ template "a" . }}`, "its blocks and the templates that it calls nest more than 500 levels deep"},
	"two that call each other, twice": {`{{ define "a" }}{{ template "b" . }}{{ template "b" . }}{{ end }}{{ define "b" }}{{ template "a" . }}{{ end }}{{ template "a" . }}`, "its blocks and the templates that it calls nest more than 500 levels deep"},
	"one that calls itself in loops":  {`{{ define "a" }}{{ range 2 }}{{ range 2 }}{{ template "a" . }}{{ end }}{{ end }}{{ end }}{{ template "a" . }}`, "it takes more than 200000 steps"},
	"calls that double":               {doubling(60), "it takes more than 200000 steps"},
	"blocks in blocks":                {strings.Repeat(`{{if 1}}`, 4000) + strings.Repeat(`{{end}}`, 4000), "its blocks and the templates that it calls nest more than 500 levels deep"},
	"else after else":                 {`{{if 0}}` + strings.Repeat(`{{else if 0}}`, 4000) + `{{end}}`, "its blocks and the templates that it calls nest more than 500 levels deep"},
	"parentheses":                     {`{{` + strings.Repeat("(", 9000) + `1` + strings.Repeat(")", 9000) + `}}`, "its parentheses nest more than 100 levels deep"},
	"a long text":                     {strings.Repeat("x", 65537), "it is longer than 65536 characters"},
	"a text of 65536 runes is not":    {strings.Repeat("ü", 65536), ""},
	"many variables":                  {manyVariables(), "it takes more than 200000 steps"},
	"much output":                     {`{{ range 100000 }}xxxxxxxxxxxxxxx{{ end }}`, "it renders more than 1 MiB"},
	"everything, again":               {`{{ range 1000 }}{{ $x := print $ }}{{ end }}`, "its functions make more than 16 MiB of text"},
	"our own name for it":             {`{{ charge -1000000 0 0 }}`, `function "charge" not defined`},
	"calls of what is no function":    {`{{ call .Text }}`, "non-function .Text of type string"},
	"an index that is out of range":   {`{{ index .Text 100 }}`, "index: "},
}

// doubling has n templates, each of which calls the next one twice.
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
			switch {
			case c.want == "" && err != nil:
				t.Errorf("got %v, want no error", err)
			case c.want == "":
			case err == nil:
				t.Error("no error")
			case !strings.HasPrefix(err.Error(), `template "Template/mine" (templates.yaml:3): `) || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 1100:
				t.Errorf("got %v, want the template's name, its place, and: %s", err, c.want)
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
		if _, err := template.RenderReconciler(template.Text{Name: "t", Text: templates.FluxKustomization}, vars); err != nil {
			b.Fatal(err)
		}
	}
}
