package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/immutable"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
)

// placed is an object on a cluster.
type placed struct {
	cluster string
	id      manifest.ID
}

// plannedObject is an object as a plan has it.
type plannedObject struct {
	object manifest.Object
	hash   layout.Hash
	seed   string
	from   string
}

// lintAgainst compares the plans with those of another state of the same seeds: what API servers refuse
// of the change is a warning.
func (c *planCommand) lintAgainst(ctx context.Context, stdin io.Reader, outcomes map[string]*plan.Outcome) ([]finding, error) {
	other, err := c.other()
	if err != nil {
		return nil, err
	}
	cat, _, err := other.catalog(ctx, stdin)
	if err != nil {
		return nil, fmt.Errorf("--against %s: %w", c.against, err)
	}
	before, err := compute(ctx, plan.Input{Catalog: cat, Owner: "furrow/lint"})
	if err != nil {
		return nil, err
	}
	was, is := plannedObjects(before), plannedObjects(outcomes)
	type refusedChange struct {
		seed, from string
		id         manifest.ID
		refused    string
		recreated  bool
	}
	clusters := map[refusedChange][]string{}
	definitionOf := definitionsIn(outcomes, is)
	for at, now := range is {
		then, there := was[at]
		if !there || then.hash == now.hash {
			continue
		}
		var fields []string
		for _, f := range definitionOf(now.seed, at).Refused(then.object, now.object) {
			fields = append(fields, f.String())
		}
		if len(fields) > 0 {
			key := refusedChange{now.seed, now.from, at.id, strings.Join(fields, ", "), immutable.Recreates(now.object)}
			clusters[key] = append(clusters[key], at.cluster)
		}
	}
	var out []finding
	for key, on := range clusters {
		slices.Sort(on)
		p := manifest.Problem{Reason: v1alpha1.ReasonUpdateRefused, Source: sourceOf(key.from), Object: key.id.Kind + " " + strconv.Quote(key.id.Name), Seed: key.seed, Cluster: on[0]}
		where := "on " + strings.Join(on[:min(len(on), 3)], ", ")
		if len(on) > 3 {
			where += fmt.Sprintf(" and %d more", len(on)-3)
		}
		if key.recreated {
			p.Message = fmt.Sprintf("it is deleted and created again %s, because API servers do not let anybody change %s", where, key.refused)
		} else {
			p.Message = fmt.Sprintf("the change will fail %s, because API servers do not let anybody change %s", where, key.refused)
			p.Next = fmt.Sprintf("Give it a new name, or restore the fields. Or annotate it with %s: allow to have it deleted and created again.", v1alpha1.AnnotationRecreate)
		}
		out = append(out, findingOf("warning", key.seed, p))
	}
	slices.SortFunc(out, func(a, b finding) int { return strings.Compare(a.Seed+a.Message, b.Seed+b.Message) })
	return out, nil
}

// definitionsIn returns what finds the definition of an object that the plan of a seed has on a cluster; nil where there
// is none.
func definitionsIn(outcomes map[string]*plan.Outcome, objects map[placed]plannedObject) func(seed string, at placed) *immutable.Definition {
	plans := map[string]*plan.Plan{}
	for name, o := range outcomes {
		plans[name] = o.Plan
	}
	planned := plan.NewDefinitions(plans)
	compiled := map[layout.Hash]*immutable.Definition{}
	return func(seed string, at placed) *immutable.Definition {
		found := planned.Of(plans[seed], at.cluster, at.id)
		if found == nil {
			return nil
		}
		definition, known := compiled[found.Object.Hash]
		if !known {
			definition = immutable.NewDefinition(objects[placed{at.cluster, found.Object.ID}].object)
			compiled[found.Object.Hash] = definition
		}
		return definition
	}
}

// other returns the command that plans the state to compare with: files where files are checked, else
// another directory, or another branch of the control plane's repository.
func (c *planCommand) other() (*planCommand, error) {
	other := &planCommand{session: c.session, input: c.input}
	_, err := os.Stat(c.against)
	switch {
	case c.input.given():
		other.input.inputs = []string{c.against}
	case err == nil:
		other.session.options.ControlPlane = c.against
	default:
		options, err := c.session.named()
		if err != nil {
			return nil, err
		}
		other.session.options.ControlPlane, other.session.options.Path = options.ControlPlane, options.Path
		other.session.options.Branch, other.committed = c.against, true
	}
	return other, nil
}

// plannedObjects returns the objects of plans, by where they are.
func plannedObjects(outcomes map[string]*plan.Outcome) map[placed]plannedObject {
	out := map[placed]plannedObject{}
	parsed := map[string]*manifest.Object{}
	for _, name := range slices.Sorted(maps.Keys(outcomes)) {
		o := outcomes[name]
		if o.Plan == nil {
			continue
		}
		for i := range o.Plan.Tiers {
			t := &o.Plan.Tiers[i]
			for _, object := range o.Plan.Objects(t) {
				key := object.ID.String() + object.Hash.String()
				if _, known := parsed[key]; !known {
					parsed[key] = nil
					if all, err := manifest.Parse("", o.Files[t.Repo].Find(t.FilePath(object)).Data); err == nil && len(all) == 1 {
						parsed[key] = &all[0]
					}
				}
				if one := parsed[key]; one != nil {
					out[placed{t.Cluster, object.ID}] = plannedObject{*one, object.Hash, name, object.From}
				}
			}
		}
	}
	return out
}

// sourceOf reads a position as plans have it, file:line.
func sourceOf(from string) manifest.Source {
	at := strings.LastIndex(from, ":")
	if at < 0 {
		return manifest.Source{File: from}
	}
	line, err := strconv.Atoi(from[at+1:])
	if err != nil {
		return manifest.Source{File: from}
	}
	return manifest.Source{File: from[:at], Line: line}
}
