package template_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/template"
	"github.com/furrow-dev/furrow/templates"
)

// grammar writes random templates which loop, call each other and make text in every way that the language has.
type grammar struct {
	*rand.Rand
	text strings.Builder
	left int
}

func (g *grammar) pick(of ...string) string { return of[g.IntN(len(of))] }

func (g *grammar) value(deep int) string {
	if deep > 3 || g.IntN(3) == 0 {
		return g.pick("$x", "$y", ".", "$", `"ab<"`, `"\n"`, "3", "-1", "2.5", "true", "$.Text", "$.List", "$.Map")
	}
	form := g.pick(
		"print V V", `printf "%q%[1]v%5s%#v" V`, "printf V V", "println V", "html V", "js V", "urlquery V", "quote V", "toYaml V",
		"indent 9 $x", "replace $y $x $x", "join $x $.List", "upper $x", "default $x $y", "trim $x",
		"eq $x $y", "lt $x $y", "and V V", "or V V", "not V", "len $x", `index $.Map "key-1"`, "slice $x 0", "eq V V", "index V V", "call V",
	)
	for strings.Contains(form, "V") {
		form = strings.Replace(form, "V", g.value(deep+1), 1)
	}
	return "(" + form + ")"
}

func (g *grammar) block(deep int) {
	for range 1 + g.IntN(4) {
		if g.left--; g.left < 0 {
			return
		}
		g.text.WriteString("{{tick}}")
		switch g.IntN(9) {
		case 0, 1:
			g.nested(g.pick("range 1000000000", "range $.List", "range $.Map", "range 9", "range $k, $v := $.Map", "range $i := 100000"), deep, g.pick("", "", "{{break}}", "{{continue}}"))
		case 2:
			g.nested(g.pick("if ", "with ")+g.value(0), deep, "")
		case 3, 4:
			fmt.Fprintf(&g.text, "{{template %q %s}}", g.pick("a", "b", "c"), g.value(0))
		case 5, 6:
			fmt.Fprintf(&g.text, "{{$%s = print %s $x}}", g.pick("x", "y"), g.value(0))
		default:
			fmt.Fprintf(&g.text, "text{{%s}}", g.value(0))
		}
	}
}

func (g *grammar) nested(head string, deep int, last string) {
	g.text.WriteString("{{" + head + "}}")
	if deep < 6 {
		g.block(deep + 1)
	}
	g.text.WriteString(last + g.pick("", "{{else}}{{tick}}") + "{{end}}")
}

func randomTemplate(seed uint64) string {
	g := &grammar{Rand: rand.New(rand.NewPCG(seed, 0)), left: 40}
	for _, name := range []string{"a", "b", "c"} {
		fmt.Fprintf(&g.text, `{{define %q}}{{$x := "x"}}{{$y := "y"}}`, name)
		g.block(0)
		g.text.WriteString("{{end}}")
	}
	g.text.WriteString(`{{$x := "x"}}{{$y := "y"}}`)
	g.block(0)
	return g.text.String()
}

func TestRandomTemplatesStayWithinTheirBudget(t *testing.T) {
	const steps, made, output = 20_000, 1 << 20, 64 << 10
	count := 3000
	if testing.Short() {
		count = 600
	}
	vars := manyThings()
	over := map[error]int{}
	limits := []error{template.ErrSteps, template.ErrMade, template.ErrOutput, template.ErrLevels}
	for seed := range uint64(count) {
		text := randomTemplate(seed)
		template.Ticks = 0
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		out, err := template.RenderWithin(template.Text{Name: "t", Text: text}, vars, steps, made, output)
		runtime.ReadMemStats(&after)
		if template.Ticks > steps || len(out) > output || after.TotalAlloc-before.TotalAlloc > 128<<20 {
			t.Fatalf("seed %d takes %d ticks, renders %d bytes and allocates %d bytes:\n%s", seed, template.Ticks, len(out), after.TotalAlloc-before.TotalAlloc, text)
		}
		for _, limit := range append(limits, template.ErrPanic) {
			if errors.Is(err, limit) {
				over[limit]++
			}
		}
	}
	t.Logf("of %d templates: %v", count, over)
	for _, limit := range limits {
		if over[limit] == 0 {
			t.Errorf("no template ended because %q: the grammar does not find it", limit)
		}
	}
	if over[template.ErrPanic] > 0 {
		t.Error("a template panicked")
	}
}

func TestFunctionsMakeNoMoreThanExpected(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	alphabet := []string{"<", "\x00", "\x01", "\n", " ", "a", "ü", "\xff", "\U0010ffff", "'", "\"", "- ", ": ", "ⱥ", "%v", "%#v", "%99d", "%+.99e", "%[1]q", "%[2]q", "% #x", "%100U"}
	random := func() string {
		var b strings.Builder
		for range r.IntN(30) {
			b.WriteString(alphabet[r.IntN(len(alphabet))])
		}
		return b.String()
	}
	anything := func() any {
		return []any{random(), r.Int(), -1.7e308, true, []string{random(), random()}, map[string]string{random(): random()}, plainTier(), proposal()}[r.IntN(8)]
	}
	for range 2000 {
		calls := map[string][]any{
			"code": {anything()}, "tick": {}, "quote": {anything()}, "toYaml": {anything()}, "indent": {r.IntN(101), random()}, "default": {random(), random()},
			"join": {random(), []string{random(), random(), random()}}, "lower": {random()}, "upper": {random()}, "trim": {random()},
			"replace": {alphabet[r.IntN(len(alphabet))], random(), random()}, "print": {anything(), anything()}, "println": {anything()},
			"printf": {random(), anything(), anything()}, "html": {anything()}, "js": {anything()}, "urlquery": {anything()},
		}
		if diff := cmp.Diff(template.FunctionNames(), slices.Sorted(maps.Keys(calls))); diff != "" {
			t.Fatalf("the functions that there are, and those that are tested, differ:\n%s", diff)
		}
		for name, args := range calls {
			if err := template.CheckGrowth(name, args...); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// What a template can read must not call back, block or loop: no method but those of the API types, no function,
// channel or interface.
func TestVariablesAreData(t *testing.T) {
	var check func(at string, typ reflect.Type)
	check = func(at string, typ reflect.Type) {
		for i := range typ.NumMethod() {
			if name := typ.Method(i).Name; !slices.Contains([]string{"DeepCopy", "DeepCopyInto"}, name) {
				t.Errorf("%s has the method %s", at, name)
			}
		}
		switch typ.Kind() {
		case reflect.Struct:
			for i := range typ.NumField() {
				check(at+"."+typ.Field(i).Name, typ.Field(i).Type)
			}
		case reflect.Map:
			check(at+"[key]", typ.Key())
			check(at+"[]", typ.Elem())
		case reflect.Slice, reflect.Pointer:
			check(at+"[]", typ.Elem())
		case reflect.String, reflect.Bool, reflect.Int:
		default:
			t.Errorf("%s is a %s", at, typ)
		}
	}
	check("Reconciler", reflect.TypeFor[template.Reconciler]())
	check("Proposal", reflect.TypeFor[template.Proposal]())
}

// FuzzReconcilers renders a reconciler object by any text: within its bounds, without a panic, and the
// same whether what was rendered before is kept or not.
func FuzzReconcilers(f *testing.F) {
	for _, text := range compilable() {
		f.Add(text, "edge")
	}
	f.Fuzz(func(t *testing.T, text, name string) {
		kept := template.Parsed{}
		for _, cluster := range []string{"west", name, "east"} {
			vars := template.Reconciler{Name: "web." + cluster, Namespace: "flux-system", Seed: "web", Cluster: cluster, Tier: "00", Path: "./planted/" + cluster, Source: v1alpha1.ObjectReference{Name: name}, Wait: true, DependsOn: []template.ObjectName{{Name: cluster}}}
			want, wantErr := kind.Render(template.Text{Name: "t", Text: text}, vars)
			if errors.Is(wantErr, template.ErrPanic) {
				t.Fatal(wantErr)
			}
			got, err := kind.Render(template.Text{Name: "t", Text: text, Parsed: &kept}, vars)
			if (err == nil) != (wantErr == nil) || string(got.Bytes) != string(want.Bytes) {
				t.Errorf("%q: %v and %v:\n%s\n%s", cluster, wantErr, err, want.Bytes, got.Bytes)
			}
		}
	})
}

func FuzzRender(f *testing.F) {
	f.Add(templates.FluxKustomization)
	f.Add(templates.Proposal)
	for _, c := range hostile {
		f.Add(c.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := template.Render(template.Text{Name: "t", Text: text}, manyThings()); errors.Is(err, template.ErrPanic) {
			t.Error(err)
		}
	})
}
