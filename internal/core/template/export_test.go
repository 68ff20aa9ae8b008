package template

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// What ends a rendering.
var (
	ErrSteps, ErrMade, ErrOutput, ErrLevels, ErrTotal error = errSteps, errMade, errOutput, errLevels, errTotal

	ErrPanic = errPanic
)

// Ticks counts the calls of the function tick, which only tests have.
var Ticks int

func init() {
	functions["tick"] = func() string { Ticks++; return "" }
}

// RenderWithin renders with fewer steps and less text than usual.
func RenderWithin(t Text, vars any, steps, made, output int) ([]byte, error) {
	b := newBudget(vars)
	b.steps, b.made, b.output = steps, made, output
	return render(t, vars, b)
}

// CheckGrowth calls a function and reports whether it makes more than the budget takes it to make.
func CheckGrowth(name string, args ...any) error {
	b := newBudget(nil)
	in := make([]reflect.Value, len(args))
	given := 0
	f := reflect.ValueOf(functions[name])
	for i, arg := range args {
		in[i] = reflect.New(argument(f.Type(), i)).Elem()
		in[i].Set(reflect.ValueOf(arg))
		given += b.weigh(in[i])
	}
	most := growth * given
	if size := sizes[name]; size != nil {
		sized := in
		if f.Type().IsVariadic() {
			sized = []reflect.Value{in[0], reflect.ValueOf(args[1:])}
		}
		var refused error
		if most, refused = size(sized); refused != nil {
			return nil
		}
	}
	if out := f.Call(in)[0].String(); len(out) > most {
		return fmt.Errorf("%s %.200q makes %d bytes, and %d were expected at most: %.200q", name, args, len(out), most, out)
	}
	return nil
}

func argument(f reflect.Type, i int) reflect.Type {
	if f.IsVariadic() && i >= f.NumIn()-1 {
		return f.In(f.NumIn() - 1).Elem()
	}
	return f.In(i)
}

// FunctionNames lists the functions whose results the budget bounds.
func FunctionNames() []string { return slices.Sorted(maps.Keys(functions)) }

// Compiled counts the compiled forms that a template has.
func Compiled(p *Parsed) int {
	n := 0
	for _, s := range p.compiled {
		if s != nil {
			n++
		}
	}
	return n
}
