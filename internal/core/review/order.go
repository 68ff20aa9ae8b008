package review

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/core/template"
)

// order says what came before and what comes next. What is planted or updated follows what it
// needs, and is followed by what needs it; what leaves does so in the reverse order.
func (d *description) order() {
	carried := map[layout.Tier]bool{}
	for _, t := range d.Tiers {
		carried[d.plan.Name(t.Tier)] = true
	}
	unchanged := map[layout.Tier]bool{}
	for _, t := range d.Tiers {
		name := d.plan.Name(t.Tier)
		if t.Leaves {
			if t.Tier.Leaving != nil {
				for _, after := range t.Tier.Leaving.After {
					d.before(carried, d.own(after), after.Why)
				}
			}
		} else {
			for _, pre := range t.Prerequisites {
				d.before(carried, layout.Tier{Seed: cmp.Or(pre.Seed, d.plan.Seed), Cluster: pre.Cluster, Ordinal: pre.Ordinal}, pre.Why)
			}
			for _, r := range d.waiting[name] {
				if of := d.own(r); d.states[of].OnBase() {
					unchanged[of] = true
				} else {
					d.next(carried, of, r.Why)
				}
			}
		}
		if t.Leaves || d.plan.Removal {
			for _, r := range d.leaving[name] {
				if of := d.own(r); !d.states[of].Done() {
					d.next(carried, of, r.Why)
				}
			}
		}
	}
	d.out.Unchanged = len(unchanged)
	d.out.Before, d.out.MoreBefore = cutTo(unique(d.out.Before), maxLines)
	d.out.Next, d.out.MoreNext = cutTo(unique(d.out.Next), maxNames)
}

func (d *description) own(r plan.Reference) layout.Tier {
	return layout.Tier{Seed: d.plan.Seed, Cluster: r.Cluster, Ordinal: r.Ordinal}
}

// before notes what came before; what the same proposal carries comes with it.
func (d *description) before(carried map[layout.Tier]bool, of layout.Tier, why string) {
	if !carried[of] {
		d.out.Before = append(d.out.Before, template.Step{Tier: of.NameIn(d.plan.Seed), Why: d.show(why), State: string(d.states[of])})
	}
}

func (d *description) next(carried map[layout.Tier]bool, of layout.Tier, why string) {
	if !carried[of] {
		d.out.Next = append(d.out.Next, template.Step{Tier: of.NameIn(d.plan.Seed), Why: d.show(why), State: string(d.states[of])})
	}
}

// countClusters says how far the plan is, by cluster. Without states nothing is counted.
func (s *Seed) countClusters() template.Rollout {
	var out template.Rollout
	if len(s.states) == 0 {
		return out
	}
	for i := 0; i < len(s.plan.Tiers); {
		cluster := s.plan.Tiers[i].Cluster
		done, failed, open := true, false, false
		for ; i < len(s.plan.Tiers) && s.plan.Tiers[i].Cluster == cluster; i++ {
			state := s.states[s.plan.Name(&s.plan.Tiers[i])]
			done = done && state.Done()
			failed = failed || state == release.Failed
			open = open || state == release.Proposed || state == release.Outdated
		}
		out.Clusters++
		switch {
		case done:
			out.Done++
		case failed:
			out.Failed = append(out.Failed, cluster)
		case open:
			out.Open++
		}
	}
	out.FailedCount = len(out.Failed)
	out.Failed = firstOf(out.Failed, maxNames)
	return out
}

// graph draws the tiers of the plan in Mermaid, where they are few and some wait for others. Names of clusters are DNS
// labels, so nothing has to be escaped.
func (d *description) graph() {
	n := len(d.plan.Tiers)
	if !d.Page || n < 2 || n > maxGraph {
		return
	}
	var b strings.Builder
	at := map[layout.Tier]int{}
	b.WriteString("graph LR\n")
	for i := range d.plan.Tiers {
		t := &d.plan.Tiers[i]
		name := d.plan.Name(t)
		at[name] = i
		class := ""
		switch {
		case slices.ContainsFunc(d.Tiers, func(one Tier) bool { return d.plan.Name(one.Tier) == name }):
			class = ":::this"
		case d.states[name].Done():
			class = ":::done"
		}
		fmt.Fprintf(&b, "  t%d[\"%s\"]%s\n", i, t, class)
	}
	edges := false
	edge := func(from layout.Tier, to int) {
		if i, ok := at[from]; ok {
			edges = true
			fmt.Fprintf(&b, "  t%d --> t%d\n", i, to)
		}
	}
	for i := range d.plan.Tiers {
		t := &d.plan.Tiers[i]
		if d.plan.Removal {
			if t.Leaving != nil {
				for _, r := range t.Leaving.After {
					edge(d.own(r), i)
				}
			}
			continue
		}
		for _, pre := range t.Prerequisites {
			if pre.Seed == "" {
				edge(layout.Tier{Seed: d.plan.Seed, Cluster: pre.Cluster, Ordinal: pre.Ordinal}, i)
			}
		}
	}
	if !edges {
		return
	}
	b.WriteString("  classDef done fill:palegreen,stroke:green,color:black\n  classDef this stroke-width:3px\n")
	d.out.Graph = b.String()
}

// cutTo returns the beginning of a list, and how many more there are.
func cutTo[T any](list []T, most int) ([]T, int) {
	shown := list[:min(len(list), most)]
	return shown, len(list) - len(shown)
}

// firstOf shows the first of a list, and how many more there are.
func firstOf(list []string, most int) []string {
	if more := len(list) - most; more > 0 {
		return append(slices.Clone(list[:most]), fmt.Sprintf("and %d more", more))
	}
	return list
}

// unique leaves out what came before.
func unique[T comparable](list []T) []T {
	seen := map[T]bool{}
	return slices.DeleteFunc(list, func(one T) bool {
		had := seen[one]
		seen[one] = true
		return had
	})
}

// maxWords is how long a list of names in a title may be: with the longest name of a seed there is
// still room for the rest.
const maxWords = 63

// inWords names a few, or says how many there are.
func inWords(names []string, noun string) string {
	names = unique(slices.Sorted(slices.Values(names)))
	list := strings.Join(names, ", ")
	if len(names) > 3 || len(names) > 1 && len(list) > maxWords {
		return fmt.Sprintf("%d %s", len(names), noun)
	}
	return list
}
