package template

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"text/template"
	"unicode/utf8"
)

// What one rendering may use. Otherwise any author of a Template could hang or kill the process for
// everybody.
//
// Steps bound the time, since core has no clock and nothing outside can stop text/template: every
// node that is executed is paid for before it runs, and no step costs more than about a
// microsecond. What depends on the size of a value costs more steps (scans) or bytes. So a template
// that uses up all of its budget has run for some tenths of a second.
const (
	maxCharacters = 65536
	maxSteps      = 200_000
	// maxMade bounds the text that functions read and make. No result is larger, so it bounds the
	// memory, too.
	maxMade = 16 << 20
	// maxOutput bounds what a template may produce.
	maxOutput = 1 << 20
	// maxLevels bounds how deep blocks and calls of other templates nest. A stack that overflows
	// ends the process.
	maxLevels = 500
	// maxParens bounds how deep parentheses nest.
	maxParens = 100
)

// What all renderings of a Template may use together, in thousandths of what one may: as much as
// 20. A rendering that uses less than a fortieth is not counted, so a large fleet renders as
// many tiers as it has.
const (
	whole    = 1000
	maxTotal = 20 * whole
	modest   = whole / 40
)

// Total is what the renderings of one Template have used together. It is used by one goroutine.
type Total struct{ used int }

func (t *Total) check() error {
	if t != nil && t.used >= maxTotal {
		return errTotal
	}
	return nil
}

// add counts what one rendering has used of its budget, in shares of a whole. What is modest is
// free, so a Template for a fleet of thousands of clusters does not run out; one that went
// over counts as whole.
func (t *Total) add(b *budget, err error) {
	if t == nil {
		return
	}
	if over := (*exceeded)(nil); errors.As(err, &over) {
		t.used += whole
		return
	}
	steps, made := min(maxSteps-b.steps, maxSteps), min(maxMade-b.made, maxMade)
	t.used += max(0, steps*whole/maxSteps+made*whole/maxMade-modest)
}

// exceeded is the error of a template that is over its budget.
type exceeded struct{ text string }

func (e *exceeded) Error() string { return e.text }

var (
	errTooLong   = &exceeded{fmt.Sprintf("it is longer than %d characters", maxCharacters)}
	errSteps     = &exceeded{fmt.Sprintf("it takes more than %d steps; make its loops shorter", maxSteps)}
	errMade      = &exceeded{fmt.Sprintf("its functions make more than %d MiB of text; build shorter values", maxMade>>20)}
	errOutput    = &exceeded{fmt.Sprintf("it renders more than %d MiB", maxOutput>>20)}
	errLevels    = &exceeded{fmt.Sprintf("its blocks and the templates that it calls nest more than %d levels deep", maxLevels)}
	errParens    = &exceeded{fmt.Sprintf("its parentheses nest more than %d levels deep", maxParens)}
	errTotal     = &exceeded{fmt.Sprintf("it was not rendered again: its renderings for all seeds have used %d times what one may; make it simpler", maxTotal/whole)}
	errPanic     = errors.New("it cannot be executed")
	errFormatPad = errors.New("write a width or precision as a number of at most 100")
)

// budget is what is left for one rendering; it starts full and is only spent. It is used by one
// goroutine.
type budget struct {
	steps, made, output, levels int
	// longest is the size of the largest value that the template has; widest the number of elements
	// in the largest map.
	longest, widest int
	// missing is the option that says what becomes of a key that a map does not have.
	missing string
}

// missingFails is the option that has a missing key end the rendering.
const missingFails = "missingkey=error"

func newBudget(vars any) *budget {
	b := &budget{steps: maxSteps, made: maxMade, output: maxOutput, levels: maxLevels, missing: missingFails}
	b.longest = b.weigh(reflect.ValueOf(vars))
	return b
}

// scanned is how many bytes a comparison or a search reads in the time of a step.
const scanned = 16 << 10

// charge pays for the nodes of one block. Scans are those nodes that may read a whole value. Deeper
// levels are entered, or left where they are negative. It returns an empty text, since it is called
// as an action of the template.
func (b *budget) charge(nodes, scans, deeper int) (string, error) {
	b.steps -= nodes + scans*(b.widest+b.longest/scanned)
	b.levels -= deeper
	switch {
	case b.steps < 0:
		return "", errSteps
	case b.levels < 0:
		return "", errLevels
	}
	return "", nil
}

// read pays for n bytes that a function is given or has made.
func (b *budget) read(n int) error {
	if b.made -= n; b.made < 0 {
		return errMade
	}
	b.longest = max(b.longest, n)
	return nil
}

// growth is how much longer than its arguments the result of a function can be. Escaping a byte
// takes six.
const growth = 10

// sizes says, of functions that can make much of little, how many bytes they make at most.
//
//nolint:unparam // of these functions, formatted alone returns errors
var sizes = map[string]func(args []reflect.Value) (int, error){
	"indent": func(args []reflect.Value) (int, error) {
		return args[1].Len() + (strings.Count(args[1].String(), "\n")+1)*maxIndent, nil
	},
	"join": func(args []reflect.Value) (int, error) {
		return weigh(args[1], nil) + args[0].Len()*args[1].Len(), nil
	},
	"replace": func(args []reflect.Value) (int, error) {
		old, with, s := args[0].String(), args[1].Len(), args[2].String()
		return len(s) + strings.Count(s, old)*with, nil
	},
	"printf": formatted,
}

// directive matches more than package fmt takes for the flags, width, precision and index of a
// verb.
var directive = regexp.MustCompile(`%[-+# 0-9.\[\]*]*`)

// formatted bounds the result of printf: each verb can print any of the arguments, padded.
func formatted(args []reflect.Value) (int, error) {
	format := args[0].String()
	verbs := directive.FindAllString(format, -1)
	for _, verb := range verbs {
		for _, number := range strings.FieldsFunc(verb, func(r rune) bool { return r < '0' || r > '9' }) {
			if n, err := strconv.Atoi(number); err != nil || n > 100 {
				return 0, errFormatPad
			}
		}
		if strings.Contains(verb, "*") {
			return 0, errFormatPad
		}
	}
	return len(format) + (len(verbs)+1)*(growth*weigh(args[1], nil)+64), nil
}

// bound makes a function pay for what it is given and what it makes, and refuses before it makes
// too much: afterwards would be too late, as one call of replace can make gigabytes. The bound of
// the result comes from the arguments alone, by sizes or by growth, and what the result really
// takes is paid in the end.
func (b *budget) bound(name string, f any) any {
	fun := reflect.ValueOf(f)
	call := fun.Call
	if fun.Type().IsVariadic() {
		call = fun.CallSlice
	}
	size := sizes[name]
	typ := fallible(fun.Type())
	fail := func(err error) []reflect.Value {
		return []reflect.Value{reflect.Zero(typ.Out(0)), reflect.ValueOf(&err).Elem()}
	}
	return reflect.MakeFunc(typ, func(args []reflect.Value) []reflect.Value {
		given := 0
		for _, arg := range args {
			given += b.weigh(arg)
		}
		if err := b.read(given); err != nil {
			return fail(err)
		}
		most := growth * given
		if size != nil {
			var err error
			if most, err = size(args); err != nil {
				return fail(err)
			}
		}
		if most > b.made {
			return fail(errMade)
		}
		out := call(args)
		if err := b.read(b.weigh(out[0])); err != nil {
			return fail(err)
		}
		if len(out) == 1 {
			out = append(out, reflect.Zero(errorType))
		}
		return out
	}).Interface()
}

var errorType = reflect.TypeFor[error]()

// fallible returns the type of a function that can also return an error.
func fallible(t reflect.Type) reflect.Type {
	in := make([]reflect.Type, t.NumIn())
	for i := range in {
		in[i] = t.In(i)
	}
	return reflect.FuncOf(in, []reflect.Type{t.Out(0), errorType}, t.IsVariadic())
}

func (b *budget) weigh(v reflect.Value) int { return weigh(v, &b.widest) }

// weigh bounds what a value takes as text and in memory: ten times as much, in any form that a
// function gives it. It notes the number of elements in the largest map. Values have no cycles:
// they are variables of this package, or made by its functions, so it ends, in time linear in the
// value.
func weigh(v reflect.Value, widest *int) int {
	const own, number = 16, 128
	n := own
	switch v.Kind() {
	case reflect.Invalid:
	case reflect.String:
		n += v.Len()
	case reflect.Interface, reflect.Pointer:
		n += weigh(v.Elem(), widest)
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			n += weigh(v.Index(i), widest)
		}
	case reflect.Map:
		if widest != nil {
			*widest = max(*widest, v.Len())
		}
		for each := v.MapRange(); each.Next(); {
			n += weigh(each.Key(), widest) + weigh(each.Value(), widest)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			n += number + weigh(v.Field(i), widest)
		}
	default:
		n += number
	}
	return n
}

// functionsOf returns the functions that a template uses, within the budget.
func (b *budget) functionsOf(used map[string]bool) template.FuncMap {
	out := template.FuncMap{chargeName: b.charge}
	for name := range used {
		if f, ok := functions[name]; ok {
			out[name] = b.bound(name, f)
		}
	}
	return out
}

func checkLength(text string) error {
	if len(text) > maxCharacters && utf8.RuneCountInString(text) > maxCharacters {
		return errTooLong
	}
	return nil
}
