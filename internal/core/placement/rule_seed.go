package placement

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/expression"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// maxSeedCost is what evaluating all expressions of one variant of a seed may cost, in CEL's units.
const maxSeedCost = 500_000_000

var seedRules = Rule{
	Name: "seed-rule",
	Doc:  "An object goes where the first rule of `Seed.spec.placement` says whose expression is true of it.",
	match: func(s *placer, n *node) (decision, error) {
		rules, err := s.compiledRules()
		if err != nil {
			return decision{}, err
		}
		for _, r := range rules {
			d, err := r.decide(s, n.object)
			if err != nil || d.matches() {
				return d, err
			}
		}
		return decision{}, nil
	},
}

// compiledRule is a rule of the seed, ready to be evaluated.
type compiledRule struct {
	rule  v1alpha1.PlacementRule
	field string
	// objects is nil where the rule is for all.
	objects, clusters cel.Program
	// always are the clusters that it is true of, where it says nothing of the object; made when
	// first asked for.
	always     []string
	everywhere bool
	evaluated  bool
}

// environments are those of the expressions: over cluster, over object, and over both. Making one
// costs more than compiling, and all seeds share them.
var environments = sync.OnceValue(func() map[string]*cel.Env {
	made := map[string]*cel.Env{}
	for name, variables := range map[string][]string{"cluster": {"cluster"}, "object": {"object"}, "both": {"cluster", "object"}} {
		var options []cel.EnvOption
		for _, variable := range variables {
			options = append(options, cel.Variable(variable, cel.DynType))
		}
		env, err := cel.NewEnv(options...)
		if err != nil {
			panic(fmt.Sprintf("the environment of placement rules: %v", err))
		}
		made[name] = env
	}
	return made
})

// compiledRules compiles the seed's rules when they are asked for first.
func (s *placer) compiledRules() ([]*compiledRule, error) {
	if s.compiled || len(s.seed.Spec.Placement) == 0 {
		return s.seedRules, s.compileErr
	}
	s.compiled = true
	var problems manifest.Problems
	for i, rule := range s.seed.Spec.Placement {
		r := &compiledRule{rule: rule, field: fmt.Sprintf("spec.placement[%d]", i)}
		if slices.ContainsFunc(s.seed.Spec.Placement[:i], func(other v1alpha1.PlacementRule) bool { return other.Name == rule.Name }) {
			problems = append(problems, s.ruleProblem(r, "name", fmt.Sprintf("another rule has the name %q", rule.Name), "Give each rule a name of its own."))
		}
		compile := func(part, env, text string) cel.Program {
			program, err := compileRule(env, text)
			if err != nil {
				p := s.ruleProblem(r, part, fmt.Sprintf("the expression of rule %q cannot be used: %s", rule.Name, err.message), "Correct the expression.")
				p.Source.Line += err.line
				problems = append(problems, p)
			}
			return program
		}
		if rule.Objects != "" {
			r.objects = compile("objects", "object", rule.Objects)
		}
		if program, err := compileRule("cluster", rule.Clusters); err == nil {
			r.clusters, r.everywhere = program, true
		} else {
			r.clusters = compile("clusters", "both", rule.Clusters)
		}
		s.seedRules = append(s.seedRules, r)
	}
	if len(problems) > 0 {
		s.seedRules, s.compileErr = nil, problems
	}
	return s.seedRules, s.compileErr
}

func (s *placer) ruleProblem(r *compiledRule, part, message, next string) manifest.Problem {
	field := r.field + "." + part
	return manifest.Problem{Reason: v1alpha1.ReasonInvalidPlacement, Source: s.seed.At(field), Object: fmt.Sprintf("Seed %q", s.seed.Name), Seed: s.seed.Name, Message: message, Next: next}.WithField(field)
}

// expressionError says what is wrong with an expression, and in which of its lines, from 0.
type expressionError struct {
	message string
	line    int
}

// compileRule prepares an expression that is true or false.
func compileRule(environment, text string) (cel.Program, *expressionError) {
	env := environments()[environment]
	ast, issues := env.Compile(text)
	if issues.Err() != nil {
		return nil, firstIssue(issues)
	}
	if out := ast.OutputType(); !out.IsExactType(cel.BoolType) && !out.IsExactType(cel.DynType) {
		return nil, &expressionError{message: fmt.Sprintf("it is of type %s, and must be true or false", out)}
	}
	program, err := expression.Program(env, ast)
	if err != nil {
		return nil, &expressionError{message: err.Error()}
	}
	return program, nil
}

// firstIssue returns the first error of an expression, and how many more there are.
func firstIssue(issues *cel.Issues) *expressionError {
	all := issues.Errors()
	slices.SortStableFunc(all, func(a, b *cel.Error) int {
		return cmp.Or(cmp.Compare(a.Location.Line(), b.Location.Line()), cmp.Compare(a.Location.Column(), b.Location.Column()))
	})
	first := all[0]
	message := fmt.Sprintf("%s at character %d", manifest.Printable(strings.TrimSuffix(first.Message, " (in container '')")), first.Location.Column()+1)
	if more := len(all) - 1; more > 0 {
		message += fmt.Sprintf(", and %d more", more)
	}
	return &expressionError{message, max(first.Location.Line()-1, 0)}
}

// decide returns where the rule places an object; nothing where it is not for that.
func (r *compiledRule) decide(s *placer, o *manifest.Object) (decision, error) {
	if r.objects != nil {
		holds, err := s.evaluate(r, r.objects, o, nil)
		if err != nil || !holds {
			return decision{}, err
		}
	}
	matching, err := r.clustersOf(s, o)
	if err != nil {
		return decision{}, err
	}
	clusters, left := s.tolerated(matching)
	if len(clusters) == 0 && len(left) > 0 {
		return decision{}, s.tainted(o, left)
	}
	if len(clusters) == 0 {
		return decision{}, o.Problem(v1alpha1.ReasonNoClusterMatches, fmt.Sprintf("rule %q of the seed (%s) is for it, and no cluster matches %q", r.rule.Name, s.seed.At(r.field+".clusters"), manifest.Printable(r.rule.Clusters)),
			"Label a cluster, or correct the rule.").WithField(r.field + ".clusters")
	}
	return decision{clusters: clusters, why: withoutTainted(fmt.Sprintf("rule %s of the seed: %s", r.rule.Name, manifest.Printable(r.rule.Clusters)), left)}, nil
}

// clustersOf returns the clusters of any role that the rule is true of.
func (r *compiledRule) clustersOf(s *placer, o *manifest.Object) ([]string, error) {
	if r.evaluated {
		return r.always, nil
	}
	var matching []string
	for _, name := range s.inventory.Names() {
		cluster := s.inventory.Clusters[name]
		holds, err := s.evaluate(r, r.clusters, o, &cluster)
		if err != nil {
			return nil, err
		}
		if holds {
			matching = append(matching, name)
		}
	}
	if r.everywhere {
		r.always, r.evaluated = matching, true
	}
	return matching, nil
}

// evaluate evaluates an expression over an object and a cluster.
func (s *placer) evaluate(r *compiledRule, program cel.Program, o *manifest.Object, cluster *catalog.Cluster) (bool, error) {
	input := map[string]any{"object": o.Body}
	part, at := "objects", ""
	if cluster != nil {
		labels := cluster.Labels
		if labels == nil {
			labels = map[string]string{}
		}
		input["cluster"] = map[string]any{"name": cluster.Name, "role": string(cluster.Role), "type": cluster.Type, "labels": labels}
		part, at = "clusters", " for cluster "+cluster.Name
	}
	out, details, err := program.Eval(input)
	cost := uint64(0)
	if details != nil && details.ActualCost() != nil {
		cost = *details.ActualCost()
	}
	s.cost += cost
	if s.cost > maxSeedCost {
		return false, s.ruleProblem(r, "clusters", "the rules of the seed cost too much for its objects and the clusters", "Make the expressions simpler, or name only cluster in them.")
	}
	if err != nil {
		next := "Correct the expression."
		switch {
		case cost >= expression.MaxCost:
			next = "Make the expression simpler."
		case strings.Contains(err.Error(), "no such key"):
			next = "Ask with has() for fields that may be missing."
		}
		return false, o.Problem(v1alpha1.ReasonInvalidPlacement, fmt.Sprintf("rule %q of the seed (%s) fails%s: %v", r.rule.Name, s.seed.At(r.field+"."+part), at, err), next).WithField(r.field)
	}
	holds, ok := out.Value().(bool)
	if !ok {
		return false, o.Problem(v1alpha1.ReasonInvalidPlacement, fmt.Sprintf("rule %q of the seed (%s) is neither true nor false%s", r.rule.Name, s.seed.At(r.field+"."+part), at), "Correct the expression.").WithField(r.field)
	}
	return holds, nil
}
