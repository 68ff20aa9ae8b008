package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/controlplane"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/state"
)

func newExplain() *cobra.Command {
	var session sessionFlags
	output := outputFlag{hasWide: true}
	var seed string
	cmd := &cobra.Command{
		Use:   "explain OBJECT",
		Short: "Explain where an object goes and why, and what it waits for",
		Long: `Explain says of one object on which clusters it is placed and by which rule, which tier
it is in, the chain of what must be ready before it, and what it waits for now.

OBJECT is group/Kind/namespace/name, or any end of it that is unambiguous, such as
Deployment/app/web or web. The core group is written "core".`,
		Example: `  furrow explain apps/Deployment/core/upf
  furrow explain Deployment/core/upf --seed edge-5g -o yaml`,
		Args: exactly(1, "one object"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := session.open(cmd.Context())
			if err != nil {
				return err
			}
			defer s.Close()
			explanation, err := explainIn(cmd.Context(), s, wanted{args[0], seed, "furrow plan"}, func(seed string) *state.Seed {
				status, err := s.Status(cmd.Context())
				if err != nil {
					return nil
				}
				found, _ := status.Seed(seed)
				return found
			})
			if err != nil {
				return err
			}
			return output.write(cmd.OutOrStdout(), explanation, func(w io.Writer) { explanationTable(w, explanation, output.wide()) })
		},
	}
	session.add(cmd)
	session.addStrict(cmd)
	output.add(cmd)
	cmd.Flags().Var(textFlag(&seed, "", dnsLabel), "seed", "seed to search, if several have such an object")
	mustComplete(cmd, "seed", session.completeSeeds)
	return cmd
}

// explanation is what furrow explain says.
type explanation struct {
	Object   string   `json:"object"`
	Seed     string   `json:"seed"`
	From     string   `json:"from,omitempty"`
	Clusters []string `json:"clusters"`
	Rule     string   `json:"rule"`
	Why      string   `json:"why"`
	// Contents are there where the object differs by cluster.
	Contents []objectContent `json:"contents,omitempty"`
	Tiers    []objectTier    `json:"tiers"`
	Waits    []objectWait    `json:"dependencies,omitempty"`
	Needed   []objectWait    `json:"dependents,omitempty"`
	Chain    []string        `json:"chain,omitempty"`
	Plan     *plan.Plan      `json:"-"`
}

// objectContent is one of several contents of an object, with the clusters that have it.
type objectContent struct {
	Clusters []string `json:"clusters"`
	Variants []string `json:"variants,omitempty"`
	From     string   `json:"from,omitempty"`
}

// objectTier is a tier that has the object, and how far it is.
type objectTier struct {
	Cluster string       `json:"cluster"`
	Ordinal int          `json:"ordinal"`
	State   string       `json:"state"`
	Message string       `json:"message,omitempty"`
	Waits   []state.Edge `json:"waits,omitempty"`
}

// objectWait is a dependency of the object, or one on it: the other object, and by which rule and
// why.
type objectWait struct {
	Object string `json:"object"`
	Rule   string `json:"rule"`
	Why    string `json:"why"`
}

// wanted is what to explain: an object by its id or the end of it, and optionally its seed.
// lister is the command that lists all objects.
type wanted struct{ object, seed, lister string }

// explainIn explains an object of a control plane by the plans in force, and by how far the tiers
// of its seed are: as reported gives them or, where that is nil, by a dry run without health.
func explainIn(ctx context.Context, s *controlplane.Session, want wanted, reported func(seed string) *state.Seed) (*explanation, error) {
	report, err := s.Engine().DryRun(ctx)
	if err != nil {
		return nil, err
	}
	p, id, err := findObject(report, want)
	if err != nil {
		return nil, err
	}
	e := &explanation{Object: id, Seed: p.Seed, Plan: p}
	for _, pl := range p.Placements {
		switch {
		case pl.Object.String() != id:
		case e.Rule == "":
			e.Clusters, e.Rule, e.Why = pl.Clusters, pl.Rule, pl.Why
		default: // variants may place it by different rules
			e.Clusters = slices.Concat(e.Clusters, pl.Clusters)
			e.Why += fmt.Sprintf(" (rule %s); on %s because %s", e.Rule, strings.Join(pl.Clusters, ", "), pl.Why)
			e.Rule = pl.Rule
		}
	}
	for _, d := range p.Differ() {
		if d.Object.String() == id {
			for _, c := range d.Contents {
				e.Contents = append(e.Contents, objectContent{c.Clusters, c.Variants, c.From})
			}
		}
	}
	for _, d := range p.Dependencies {
		switch {
		case d.From.Object.String() == id:
			e.Waits = append(e.Waits, objectWait{d.To.Object.String(), d.Rule, d.Why})
		case d.To.Object.String() == id && d.To.Seed == "":
			e.Needed = append(e.Needed, objectWait{d.From.Object.String(), d.Rule, d.Why})
		}
	}
	e.Chain = chain(p, id)
	states := reported(p.Seed)
	if states == nil {
		states, _ = report.Seed(p.Seed)
	}
	e.Tiers, e.From = tiersOf(p, id, states)
	return e, nil
}

// findObject finds an object by its id or the end of it, and returns the plan that has it. An end
// must be whole parts, so that "web" does not find "my-web"; it may be ambiguous, within a seed or
// between seeds, and the error then lists the candidates. A whole id together with a seed is always
// exact.
func findObject(report *engine.Report, want wanted) (*plan.Plan, string, error) {
	object, seed := want.object, want.seed
	found := map[string]*plan.Plan{}
	for _, name := range slices.Sorted(maps.Keys(report.Plans)) {
		p := report.Plans[name]
		if p == nil || seed != "" && name != seed {
			continue
		}
		for _, pl := range p.Placements {
			id := pl.Object.String()
			if id == object || strings.HasSuffix(id, "/"+object) {
				found[name+": "+id] = p
				if id == object && seed != "" {
					return p, id, nil
				}
			}
		}
	}
	keys := slices.Sorted(maps.Keys(found))
	switch len(keys) {
	case 0:
		return nil, "", notFound(report, want)
	case 1:
		_, id, _ := strings.Cut(keys[0], ": ")
		return found[keys[0]], id, nil
	}
	return nil, "", manifest.Problem{Reason: v1alpha1.ReasonUnknownObject, Message: fmt.Sprintf("%q could be any of these; give more of the id, or --seed:\n  %s", object, strings.Join(keys, "\n  "))}
}

func notFound(report *engine.Report, want wanted) error {
	message := fmt.Sprintf("no plan has an object %q; '%s' lists all objects", want.object, want.lister)
	for _, s := range report.Seeds {
		if s.State == state.Stalled {
			message += fmt.Sprintf("\nseed %s is stalled: %s", s.Name, s.Message)
		}
	}
	return manifest.Problem{Reason: v1alpha1.ReasonUnknownObject, Message: message}
}

// chain returns the longest chain of dependencies that ends at the object, first things first. Of
// several the first in the plan's order.
//
// Each object's chain is computed once (known), so the cost is linear in the dependencies; walking
// all paths would be exponential in a plan of layers that each wait for all of the layer below.
// While an object's chain is computed it counts as the object alone: objects of one plan form no
// cycle, and this ends also where a plan on a branch was edited so that they do.
func chain(p *plan.Plan, id string) []string {
	waits := map[string][]string{}
	for _, d := range p.Dependencies {
		waits[d.From.Object.String()] = append(waits[d.From.Object.String()], d.To.Object.String())
	}
	known := map[string][]string{}
	var longest func(string) []string
	longest = func(at string) []string {
		if c, ok := known[at]; ok {
			return c
		}
		known[at] = []string{at}
		var best []string
		for _, to := range waits[at] {
			if c := longest(to); len(c) > len(best) {
				best = c
			}
		}
		known[at] = append(slices.Clone(best), at)
		return known[at]
	}
	return longest(id)
}

// tiersOf returns the tiers that have the object, in the order of their release, with their states
// where they are known; and the file that the object is from.
func tiersOf(p *plan.Plan, id string, states *state.Seed) (tiers []objectTier, from string) {
	for _, t := range p.InOrder() {
		for _, o := range p.Objects(t) {
			if o.ID.String() != id {
				continue
			}
			from = o.From
			tier := objectTier{Cluster: t.Cluster, Ordinal: t.Ordinal, State: "Unknown"}
			if states != nil {
				for _, s := range states.Tiers {
					if s.Cluster == t.Cluster && s.Ordinal == t.Ordinal {
						tier.State, tier.Message, tier.Waits = string(s.State), s.Message, s.Waits
					}
				}
			}
			tiers = append(tiers, tier)
		}
	}
	return tiers, from
}

// explanationTable shows an explanation, equal clusters as one unless whole: where the object goes
// and why, what it waits for and what waits for it, and how far its tiers are now.
func explanationTable(w io.Writer, e *explanation, whole bool) {
	fmt.Fprintf(w, "%s\n  of seed %s", e.Object, e.Seed)
	if e.From != "" {
		fmt.Fprintf(w, ", from %s", e.From)
	}
	all := clustersOf(e.Plan)
	on := strings.Join(e.Clusters, ", ")
	if !whole {
		on = runsOf(e.Clusters, all)
	}
	fmt.Fprintf(w, "\n\nWhere\n  on %s\n  because %s (rule %s)\n", on, e.Why, e.Rule)
	if len(e.Contents) > 0 {
		fmt.Fprintln(w, "\nDiffers by cluster")
		for _, c := range e.Contents {
			fmt.Fprintf(w, "  on %s, from %s\n", contentOn(plan.ContentOn{Clusters: c.Clusters, Variants: c.Variants}, all), c.From)
		}
	}
	fmt.Fprintln(w, "\nWaits for")
	for _, d := range e.Waits {
		fmt.Fprintf(w, "  %s (%s: %s)\n", d.Object, d.Rule, d.Why)
	}
	if len(e.Waits) == 0 {
		fmt.Fprintln(w, "  nothing")
	}
	if len(e.Chain) > 1 {
		fmt.Fprintf(w, "\nChain\n  %s\n", strings.Join(e.Chain, "\n  → "))
	}
	if len(e.Needed) > 0 {
		fmt.Fprintln(w, "\nWaited for by")
		for _, d := range e.Needed {
			fmt.Fprintf(w, "  %s (%s)\n", d.Object, d.Rule)
		}
	}
	fmt.Fprintln(w, "\nNow")
	texts := make([]ofCluster, len(e.Tiers))
	for i, t := range e.Tiers {
		text := fmt.Sprintf("%s: %s", layout.NameOnCluster(t.Ordinal), t.State)
		if t.Message != "" {
			text += ": " + t.Message
		}
		for _, wait := range t.Waits {
			text += fmt.Sprintf("\n    waits for %s, which is %s: %s", wait.Tier, wait.State, wait.Why)
		}
		texts[i] = ofCluster{t.Cluster, text}
	}
	for _, f := range folded(all, texts, whole) {
		fmt.Fprintf(w, "  %s %s\n", f.on, f.text)
	}
}
