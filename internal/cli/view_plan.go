package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/change"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/engine"
)

// planDocument is a plan as plan.yaml has it, for other formats. It is made only where it is written.
type planDocument struct{ *plan.Plan }

// MarshalJSON implements json.Marshaler.
func (d planDocument) MarshalJSON() ([]byte, error) {
	data, err := d.Document()
	if err != nil {
		return nil, err
	}
	return yaml.YAMLToJSON(data)
}

// clustersOf returns the clusters that plans have tiers on.
func clustersOf(plans ...*plan.Plan) []string {
	clusters := map[string]bool{}
	for _, p := range plans {
		if p != nil {
			for i := range p.Tiers {
				clusters[p.Tiers[i].Cluster] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(clusters))
}

// contentOn names the clusters that have a content, and their variants: "p1, p2 (overlays/prod)".
func contentOn(c plan.ContentOn, all clusterSet) string {
	text := all.on(c.Clusters)
	if len(c.Variants) > 0 {
		text += " (" + strings.Join(c.Variants, ", ") + ")"
	}
	return text
}

// planDiff is what the control plane as it is now changes about the plan in force, as -o yaml shows
// it.
type planDiff struct {
	Seed string `json:"seed"`
	// Revision of the control plane that was read.
	Revision string `json:"revision"`
	Message  string `json:"message,omitempty"`
	// InForce is the plan in force, and Next the one that replaces it, as plan.yaml has it.
	InForce any          `json:"inForce,omitempty"`
	Next    any          `json:"next,omitempty"`
	Changes []tierChange `json:"changes"`
	// Rollout says what changes about waves, groups and limits, and Proposals counts the proposals that
	// follow.
	Rollout   []string `json:"rollout,omitempty"`
	Proposals int      `json:"proposals"`

	preview *engine.Preview
}

// tierChange is what becomes of one tier. Added, Removed and Changed are ids of objects.
type tierChange struct {
	Cluster string   `json:"cluster"`
	Ordinal int      `json:"ordinal"`
	Change  string   `json:"change"`
	Added   []string `json:"added,omitempty"`
	Removed []string `json:"removed,omitempty"`
	Changed []string `json:"changed,omitempty"`
	// Fields are those of changed objects that get another value, by object.
	Fields map[string][]prField `json:"fields,omitempty"`
	// Refused are the fields of changed objects that an API server does not let anybody change, by object;
	// Recreated are the objects that the reconciler deletes and creates again for them.
	Refused   map[string][]string `json:"refused,omitempty"`
	Recreated []string            `json:"recreated,omitempty"`
	// Contents and Reconciler say what of the tier changes.
	Contents   bool `json:"contents,omitempty"`
	Reconciler bool `json:"reconciler,omitempty"`

	next *plan.Plan
	// kept are objects that stay on the cluster when they leave.
	kept map[string]bool
}

// planDiffOf compares the plan in force with the next one. Either may be missing: a seed that is
// new, or one that cannot be planned.
func planDiffOf(p *engine.Preview) *planDiff {
	v := &planDiff{Seed: p.Seed, Revision: p.Revision, Message: p.Message, Changes: []tierChange{}, preview: p}
	if p.InForce != nil {
		v.InForce = planDocument{p.InForce}
	}
	if p.Next != nil {
		v.Next = planDocument{p.Next}
	}
	for _, c := range plan.Compare(p.InForce, p.Next) {
		fields, refused := map[string][]prField{}, map[string][]string{}
		var recreated []string
		for _, one := range p.Changes[layout.Tier{Seed: p.Seed, Cluster: c.Cluster, Ordinal: c.Ordinal}] {
			for _, f := range one.Fields {
				fields[one.Name()] = append(fields[one.Name()], prField(f))
			}
			if len(one.Refused) > 0 {
				refused[one.Name()] = one.Refused
			}
			if one.Recreated {
				recreated = append(recreated, one.Name())
			}
		}
		kept := map[string]bool{}
		if t, ok := planned(p.InForce, c.Cluster, c.Ordinal); ok {
			for _, o := range p.InForce.Objects(t) {
				kept[o.ID.String()] = o.Kept
			}
		}
		v.Changes = append(v.Changes, tierChange{
			Fields: fields, Refused: refused, Recreated: recreated,
			Cluster: c.Cluster, Ordinal: c.Ordinal, Change: string(c.Difference), Added: idStrings(c.Added), Removed: idStrings(c.Removed), Changed: idStrings(c.Changed),
			Contents: c.Contents, Reconciler: c.Reconciler, next: p.Next, kept: kept,
		})
	}
	v.Rollout, v.Proposals = rolloutChanges(p.InForce, p.Next, v.fleet()), v.proposals()
	return v
}

// fleet returns the clusters that either plan has tiers on.
func (v *planDiff) fleet() clusterSet {
	return fleetIn(traitsIn(v.preview.Catalog), v.preview.InForce, v.preview.Next)
}

// proposals returns in how many proposals the changes go out.
func (v *planDiff) proposals() int {
	if v.preview.Next == nil {
		return 0
	}
	var tiers []*plan.Tier
	for _, c := range v.Changes {
		if t, ok := v.preview.Next.Find(c.Cluster, c.Ordinal); ok && c.Change != string(plan.TierStays) {
			tiers = append(tiers, t)
		}
	}
	return release.ProposalsFor(v.preview.Next, tiers)
}

// planned returns a tier of a plan, if there are both.
func planned(p *plan.Plan, cluster string, ordinal int) (*plan.Tier, bool) {
	if p == nil {
		return nil, false
	}
	return p.Find(cluster, ordinal)
}

func idStrings(ids []manifest.ID) []string {
	var out []string
	for _, id := range ids {
		out = append(out, id.String())
	}
	return out
}

// signs are before the tiers that change.
var signs = map[plan.Difference]string{plan.TierNew: "+", plan.TierChanges: "~", plan.TierLeaves: "-"}

// table shows what becomes of the plan in force, by cluster, tier and object; equal clusters as one
// unless whole. Tiers that stay are counted and not listed.
func (v *planDiff) table(w io.Writer, whole bool) {
	counts := map[plan.Difference]int{}
	var texts []ofCluster
	for _, c := range v.Changes {
		counts[plan.Difference(c.Change)]++
		if text := c.text(); text != "" {
			texts = append(texts, ofCluster{c.Cluster, text})
		}
	}
	switch {
	case len(texts) == 0 && v.Message != "":
		paragraph(w, "  ", fmt.Sprintf("Seed %s cannot be planned with %s; the plan in force stays.", v.Seed, v.Revision))
		return
	case len(texts) == 0 && len(v.Rollout) == 0 && v.preview.Next != nil && len(v.preview.Next.Awaits) > 0:
		heading(w, fmt.Sprintf("Seed %s: with %s, no tier changes yet", v.Seed, v.Revision))
		movesPart(w, v.preview.Next, v.fleet())
		return
	case len(texts) == 0 && len(v.Rollout) == 0:
		paragraph(w, "  ", fmt.Sprintf("Seed %s: with %s nothing changes.", v.Seed, v.Revision))
		return
	case len(texts) == 0:
		heading(w, fmt.Sprintf("Seed %s: with %s, only the rollout changes", v.Seed, v.Revision))
		v.rollout(w)
		return
	}
	var parts []string
	for _, d := range []struct {
		kind plan.Difference
		text string
	}{{plan.TierNew, "new"}, {plan.TierChanges, "to change"}, {plan.TierLeaves, "to leave"}, {plan.TierStays, "to stay"}} {
		if n := counts[d.kind]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", plural(n, "tier"), d.text))
		}
	}
	heading(w, fmt.Sprintf("Seed %s: with %s, %s", v.Seed, v.Revision, strings.Join(parts, ", ")))
	for _, f := range folded(v.fleet(), texts, whole) {
		sign, rest, _ := strings.Cut(f.text, "\x00")
		head, objects, _ := strings.Cut(rest, "\n")
		fmt.Fprintln(w)
		stateParagraph(w, "  ", fmt.Sprintf("%s %s %s", sign, f.on, head), sign)
		for line := range strings.SplitSeq(objects, "\n") {
			if line != "" {
				stateParagraph(w, "      ", line, strings.Fields(line)[0])
			}
		}
	}
	movesPart(w, v.preview.Next, fleetIn(traitsIn(v.preview.Catalog), v.preview.Next))
	v.rollout(w)
}

// rollout shows how the changes go out, and what changes about that.
func (v *planDiff) rollout(w io.Writer) {
	var lines []string
	if v.Proposals > 0 {
		lines = append(lines, "  "+plural(v.Proposals, "proposal")+" to merge, "+proposedBy(v.preview.Next.GroupBy))
	}
	part(w, "Rollout", append(lines, v.Rollout...))
}

// text returns what changes about a tier, without its cluster: a sign, a line, and one for each
// object. Empty if nothing does. A tier that changes without any object that does has other files,
// or only another object of its reconciler.
func (c *tierChange) text() string {
	sign, changes := signs[plan.Difference(c.Change)]
	if !changes {
		return ""
	}
	out := sign + "\x00" + layout.NameOnCluster(c.Ordinal)
	switch {
	case c.Change != string(plan.TierChanges) || len(c.Added)+len(c.Removed)+len(c.Changed) > 0:
	case !c.Contents:
		out += " (its reconciler object)"
	default:
		out += " (its files)"
	}
	for _, objects := range []struct {
		sign string
		ids  []string
	}{{"+", c.Added}, {"~", c.Changed}, {"-", c.Removed}} {
		for _, id := range objects.ids {
			out += "\n    " + objects.sign + " " + id
			if objects.sign == "-" {
				out += c.goes(id)
			}
			if refused := refusal(c.Refused[id], slices.Contains(c.Recreated, id)); refused != "" {
				out += "\n        " + refused
			}
			for _, f := range c.Fields[id] {
				out += "\n        " + f.text()
			}
		}
	}
	return out
}

// refusal says what becomes of a change that an API server refuses, and what to do; empty where it refuses
// nothing.
func refusal(fields []string, recreated bool) string {
	switch list := strings.Join(fields, ", "); {
	case len(fields) == 0:
		return ""
	case recreated:
		return "deleted and created again, because it cannot change: " + list
	default:
		return "will fail, because an API server does not let anybody change " + list + "; give it a new name, or annotate it with " + v1alpha1.AnnotationRecreate + ": allow"
	}
}

// goes says what becomes of an object that the tier loses.
func (c *tierChange) goes(id string) string {
	parsed, err := manifest.ParseID(id)
	if err != nil {
		return ""
	}
	if to, left := c.next.Left(&plan.Tier{Cluster: c.Cluster, Ordinal: c.Ordinal}, parsed); left {
		return " (moves to " + layout.NameOnCluster(to) + ")"
	}
	if c.kept[id] {
		return " (stays on the cluster)"
	}
	if what := change.Destroys(parsed.GroupKind()); what != "" {
		return " (destroys " + what + ")"
	}
	return ""
}

// showDiffs shows what becomes of plans, with what keeps seeds from being planned; where whole also
// the plans in force. It shows all it can before it fails, with exit code 3.
func showDiffs(w, warnings io.Writer, output *outputFlag, previews []*engine.Preview, problems manifest.Problems, whole bool) error {
	printErrors(warnings, problems)
	diffs := make([]*planDiff, len(previews))
	failed := len(problems) > 0
	for i, p := range previews {
		diffs[i] = planDiffOf(p)
	}
	var value any = diffs
	if len(diffs) == 1 {
		value = diffs[0]
	}
	err := output.write(w, value, func(w io.Writer) {
		for _, d := range diffs {
			switch p := d.preview; {
			case p.Unreadable:
				fmt.Fprintf(w, "Seed %s has a plan that cannot be read.\n", d.Seed)
				continue
			case p.InForce == nil && p.Next == nil && p.Message != "":
				fmt.Fprintf(w, "Seed %s cannot be planned, and has no plan in force.\n", d.Seed)
				continue
			case p.InForce == nil && p.Next == nil:
				fmt.Fprintf(w, "Seed %s has no plan.\n", d.Seed)
				continue
			case p.InForce == nil && whole:
				fmt.Fprintf(w, "No plan of seed %s is in force yet. The next one:\n\n", d.Seed)
				planTable(w, p.Next, traitsIn(p.Catalog), output.wide())
				continue
			case whole:
				planTable(w, p.InForce, traitsIn(p.Catalog), output.wide())
			}
			d.table(w, output.wide())
		}
	})
	if err != nil {
		return err
	}
	for _, p := range previews {
		if p.Message != "" {
			fmt.Fprintln(warnings, "error: "+p.Message)
			failed = true
		}
	}
	if failed {
		return errProblems
	}
	return nil
}
