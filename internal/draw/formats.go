package draw

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// maxLines is how many lines the text of a tier has besides its name, where each object or kind has
// one.
const maxLines = 12

// title says what the picture is of.
func (g *Graph) title() string { return "Plan of seed " + g.Seed }

// text returns the lines that are shown of a tier: its name, with the number of its objects where
// these have no line each, and the objects.
func (t *Tier) text() []string {
	name := t.label()
	switch n := len(t.ids); {
	case t.listed():
	case n == 1:
		name += ": 1 object"
	default:
		name += fmt.Sprintf(": %d objects", n)
	}
	if t.grouped {
		return append([]string{name}, t.byKind()...)
	}
	return append([]string{name}, t.summary()...)
}

// listed reports whether each object has a line.
func (t *Tier) listed() bool { return len(t.ids) <= maxLines && len(t.Objects) == len(t.ids) }

// summary returns a line for each object by kind and name where they are few, else for each kind how
// many there are.
func (t *Tier) summary() []string {
	var out []string
	if t.listed() {
		for _, id := range t.ids {
			out = append(out, t.nameOf(id))
		}
		return out
	}
	for i, k := range t.Kinds {
		if i == maxLines-1 && len(t.Kinds) > maxLines {
			rest := 0
			for _, k := range t.Kinds[i:] {
				rest += k.Count
			}
			return append(out, fmt.Sprintf("%d of %d other kinds", rest, len(t.Kinds)-i))
		}
		out = append(out, fmt.Sprintf("%d %s", k.Count, k.Kind))
	}
	return out
}

// byKind returns the names of all objects under their kinds, as many in a line as fit.
func (t *Tier) byKind() []string {
	names := map[manifest.GroupKind][]string{}
	var kinds []manifest.GroupKind
	for _, id := range t.ids {
		kind := id.GroupKind()
		if names[kind] == nil {
			kinds = append(kinds, kind)
		}
		names[kind] = append(names[kind], manifest.Printable(t.shortName(id)))
	}
	slices.SortStableFunc(kinds, func(a, b manifest.GroupKind) int {
		return cmp.Or(cmp.Compare(len(names[b]), len(names[a])), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Group, b.Group))
	})
	const indent = "  "
	var out []string
	for i, kind := range kinds {
		out = append(out, fmt.Sprintf("%d %s", len(names[kind]), t.Kinds[i].Kind))
		line := indent
		for n, name := range names[kind] {
			if n < len(names[kind])-1 {
				name += ","
			}
			if line != indent && utf8.RuneCountInString(line)+utf8.RuneCountInString(name) > wideChars {
				out, line = append(out, strings.TrimRight(line, " ")), indent
			}
			line += name + " "
		}
		out = append(out, strings.TrimRight(line, " "))
	}
	return out
}

// nameOf names an object by its kind and name.
func (t *Tier) nameOf(id manifest.ID) string { return id.Kind + " " + t.shortName(id) }

// shortName names an object among those of its kind. Tooltips and JSON always have its namespace; here
// it is only if the tier has another object of that kind and name.
func (t *Tier) shortName(id manifest.ID) string {
	same := func(o manifest.ID) bool { return o != id && o.Kind == id.Kind && o.Name == id.Name }
	if id.Namespace != "" && slices.ContainsFunc(t.ids, same) {
		return id.Namespace + "/" + id.Name
	}
	return id.Name
}

// DOT returns the graph in the language of Graphviz. Edges go from what is waited for to what waits.
func (g *Graph) DOT() string {
	var out strings.Builder
	line := func(indent int, format string, args ...any) {
		out.WriteString(strings.Repeat("  ", indent))
		fmt.Fprintf(&out, format+"\n", args...)
	}
	line(0, "digraph plan {")
	line(1, "graph [label=%s, labelloc=t, rankdir=LR, newrank=true, compound=true, fontname=\"sans-serif\"];", dotText(g.title()))
	line(1, `node [shape=box, style=rounded, fontname="sans-serif", fontsize=10];`)
	line(1, `edge [fontname="sans-serif", fontsize=9];`)
	for l, lane := range g.Lanes {
		line(1, "subgraph cluster_lane%d {", l)
		line(2, "label=%s;", dotText(lane.label()))
		for i := range g.Tiers {
			t := &g.Tiers[i]
			switch {
			case t.Lane != l:
			case g.few && len(t.ids) > 0:
				line(2, "subgraph cluster_t%d {", i)
				line(3, "label=%s;", dotText(t.label()))
				for n, id := range t.ids {
					line(3, "t%do%d [label=%s, tooltip=%s];", i, n, dotText(t.nameOf(id)), dotText(t.Objects[n]))
				}
				line(2, "}")
			default:
				line(2, "t%d [label=%s];", i, dotText(t.text()...))
			}
		}
		line(1, "}")
	}
	for _, w := range g.Waits {
		style := ""
		if w.Weak {
			style = ", style=dashed"
		}
		line(1, "t%do%d -> t%do%d [label=%s, tooltip=%s%s];", w.From.Tier, w.From.Index, w.To.Tier, w.To.Index, dotText(w.Rule), dotText(w.Why), style)
	}
	for _, e := range g.tierEdges() {
		from, tail := g.node(e.From)
		to, head := g.node(e.To)
		clip := ""
		if tail != "" {
			clip += ", ltail=" + tail
		}
		if head != "" {
			clip += ", lhead=" + head
		}
		line(1, "%s -> %s [tooltip=%s%s];", from, to, dotText(e.Why), clip)
	}
	line(0, "}")
	return out.String()
}

// tierEdges lists the needed edges that no wait between objects shows.
func (g *Graph) tierEdges() []Edge {
	shown := map[[2]int]bool{}
	for _, w := range g.Waits {
		shown[[2]int{w.From.Tier, w.To.Tier}] = true
	}
	var out []Edge
	for _, e := range g.needed() {
		if !shown[[2]int{e.From, e.To}] {
			out = append(out, e)
		}
	}
	return out
}

// node returns the node of a tier in DOT; where the tier is a subgraph, its first object and the name
// of the subgraph.
func (g *Graph) node(tier int) (node, subgraph string) {
	if g.few && len(g.Tiers[tier].ids) > 0 {
		return fmt.Sprintf("t%do0", tier), fmt.Sprintf("cluster_t%d", tier)
	}
	return fmt.Sprintf("t%d", tier), ""
}

// dotText quotes a text of one or more lines. A backslash begins an escape in labels, and an
// ampersand an HTML entity.
func dotText(lines ...string) string {
	for i, line := range lines {
		lines[i] = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "&", "&amp;").Replace(manifest.Printable(line))
	}
	return `"` + strings.Join(lines, `\n`) + `"`
}

// Mermaid returns the graph as a flowchart of Mermaid, which GitHub, GitLab and others show in
// Markdown. Edges go from what is waited for to what waits.
func (g *Graph) Mermaid() string {
	var out strings.Builder
	line := func(indent int, format string, args ...any) {
		out.WriteString(strings.Repeat("  ", indent))
		fmt.Fprintf(&out, format+"\n", args...)
	}
	line(0, "flowchart LR")
	line(1, "accTitle: %s", mermaidWords(g.title()))
	for l, lane := range g.Lanes {
		line(1, "subgraph lane%d[%s]", l, mermaidText(lane.label()))
		line(2, "direction LR")
		for i := range g.Tiers {
			t := &g.Tiers[i]
			switch {
			case t.Lane != l:
			case g.few && len(t.ids) > 0:
				line(2, "subgraph t%d[%s]", i, mermaidText(t.label()))
				for n, id := range t.ids {
					line(3, "t%do%d[%s]", i, n, mermaidText(t.nameOf(id)))
				}
				line(2, "end")
			default:
				line(2, "t%d[%s]", i, mermaidText(t.text()...))
			}
		}
		line(1, "end")
	}
	for _, w := range g.Waits {
		arrow := "-->"
		if w.Weak {
			arrow = "-.->"
		}
		line(1, "t%do%d %s|%s| t%do%d", w.From.Tier, w.From.Index, arrow, mermaidText(w.Rule), w.To.Tier, w.To.Index)
	}
	for _, e := range g.tierEdges() {
		line(1, "t%d --> t%d", e.From, e.To)
	}
	return out.String()
}

// mermaidText quotes a text of one or more lines.
func mermaidText(lines ...string) string {
	for i, line := range lines {
		lines[i] = mermaidWords(line)
	}
	return `"` + strings.Join(lines, "<br/>") + `"`
}

// mermaidWords writes all but letters, digits and harmless characters as entities, in the form of
// Mermaid: quotes end a text, and backticks, angle brackets and ampersands make Markdown or HTML of
// it.
func mermaidWords(text string) string {
	var out strings.Builder
	for _, r := range manifest.Printable(text) {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune(" -._/,", r), r > 127:
			out.WriteRune(r)
		default:
			fmt.Fprintf(&out, "#%d;", r)
		}
	}
	return out.String()
}
