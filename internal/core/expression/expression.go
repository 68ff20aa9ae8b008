// Package expression bounds what the CEL expressions of people may use.
//
// The cost that CEL counts is not enough: the library counts a list or mapping as one where it is
// compared, however much is in it, and only once that is done. And an expression of a few hundred
// characters makes values in which the same part occurs 2^40 times, by naming a variable of a
// comprehension twice. So two rules are added:
//
//   - Comparing, searching and joining values costs what they hold, down to the leaves.
//   - What a comprehension ranges over, inside of another one, must not be built of the variables of
//     that one: only so does a value grow without a call that costs.
//
// All functions are pure.
package expression

import (
	"errors"
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// MaxCost bounds one evaluation, in units of CEL. A comparison of a label costs about ten, and the
// expressions in use cost some dozens.
const MaxCost = 100_000

const (
	// nodesPerUnit is how many values may be compared for one unit of cost, and bytesPerNode how many
	// bytes of text count as one of them.
	nodesPerUnit = 10
	bytesPerNode = 16
	// maxWeight is where counting ends: more than an evaluation may cost.
	maxWeight = MaxCost*nodesPerUnit + 1
)

// Program prepares an expression, bounded by MaxCost.
func Program(env *cel.Env, expression *cel.Ast, options ...cel.ProgramOption) (cel.Program, error) {
	if buildsRange(expression.NativeRep().Expr(), nil) {
		return nil, errors.New("a comprehension inside of another one ranges over a list or mapping that is built of the variable of that one")
	}
	return env.Program(expression, append([]cel.ProgramOption{cel.CostLimit(MaxCost), cel.CostTracking(costs{})}, options...)...)
}

// costs counts what values hold.
type costs struct{}

// CallCost returns the cost of a call; nil where that of the library is right.
func (costs) CallCost(function, _ string, args []ref.Val, _ ref.Val) *uint64 {
	var nodes int
	switch {
	case !slices.ContainsFunc(args, holds):
		return nil
	case len(args) == 2 && (function == operators.Equals || function == operators.NotEquals):
		nodes = min(weight(args[0], maxWeight), weight(args[1], maxWeight))
	case len(args) == 2 && (function == operators.In || function == operators.Add):
		nodes = weight(args[1], maxWeight) // a comprehension adds to what it has, one by one
	default:
		for _, arg := range args {
			nodes += weight(arg, maxWeight)
		}
	}
	cost := uint64(1 + nodes/nodesPerUnit) //nolint:gosec // it is small, see maxWeight
	return &cost
}

// holds reports whether a value has others in it.
func holds(v ref.Val) bool {
	switch v.(type) {
	case traits.Mapper, traits.Lister, *types.Optional:
		return true
	}
	return false
}

// weight counts the values in a value, itself included, up to a limit.
func weight(v ref.Val, limit int) int {
	sum := 1
	switch value := v.(type) {
	case types.String:
		sum += len(value) / bytesPerNode
	case types.Bytes:
		sum += len(value) / bytesPerNode
	case *types.Optional:
		if value.HasValue() {
			sum += weight(value.GetValue(), limit-sum)
		}
	case traits.Mapper:
		for it := value.Iterator(); sum < limit && it.HasNext() == types.True; {
			key := it.Next()
			sum += weight(key, limit-sum) + weight(value.Get(key), limit-sum)
		}
	case traits.Lister:
		size, _ := value.Size().(types.Int)
		for i := types.Int(0); i < size && sum < limit; i++ {
			sum += weight(value.Get(i), limit-sum)
		}
	}
	return min(sum, limit)
}

// buildsRange reports whether a comprehension inside of others ranges over something that is built of
// their variables, which are bound.
func buildsRange(e ast.Expr, bound []string) bool {
	if e.Kind() == ast.ComprehensionKind {
		c := e.AsComprehension()
		if builds(c.IterRange(), bound) || buildsRange(c.IterRange(), bound) || buildsRange(c.AccuInit(), bound) {
			return true
		}
		inner := append(append([]string(nil), bound...), c.IterVar(), c.AccuVar())
		if c.HasIterVar2() {
			inner = append(inner, c.IterVar2())
		}
		return buildsRange(c.LoopCondition(), inner) || buildsRange(c.LoopStep(), inner) || buildsRange(c.Result(), inner)
	}
	for _, child := range children(e) {
		if buildsRange(child, bound) {
			return true
		}
	}
	return false
}

// builds reports whether an expression has a list or mapping with one of the variables in it.
func builds(e ast.Expr, bound []string) bool {
	if len(bound) == 0 {
		return false
	}
	if e.Kind() == ast.ListKind || e.Kind() == ast.MapKind || e.Kind() == ast.StructKind {
		return names(e, bound)
	}
	for _, child := range children(e) {
		if builds(child, bound) {
			return true
		}
	}
	return false
}

// names reports whether an expression names one of some variables.
func names(e ast.Expr, bound []string) bool {
	if e.Kind() == ast.IdentKind {
		for _, name := range bound {
			if e.AsIdent() == name {
				return true
			}
		}
		return false
	}
	for _, child := range children(e) {
		if names(child, bound) {
			return true
		}
	}
	return false
}

// children returns the parts of an expression.
func children(e ast.Expr) []ast.Expr {
	var out []ast.Expr
	switch e.Kind() {
	case ast.CallKind:
		call := e.AsCall()
		out = append(out, call.Args()...)
		if call.IsMemberFunction() {
			out = append(out, call.Target())
		}
	case ast.SelectKind:
		out = append(out, e.AsSelect().Operand())
	case ast.ListKind:
		out = append(out, e.AsList().Elements()...)
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			out = append(out, entry.AsMapEntry().Key(), entry.AsMapEntry().Value())
		}
	case ast.StructKind:
		for _, field := range e.AsStruct().Fields() {
			out = append(out, field.AsStructField().Value())
		}
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		out = append(out, c.IterRange(), c.AccuInit(), c.LoopCondition(), c.LoopStep(), c.Result())
	}
	return out
}
