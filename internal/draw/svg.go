package draw

import (
	"fmt"
	"html"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

const (
	// corner is the radius at which lines turn.
	corner = 5
	// head is the length of an arrow.
	head = 7
	// maxTooltip is how many objects a tooltip names.
	maxTooltip = 60
)

// style follows what the reader prefers, light or dark. Fonts are those that the reader has.
const style = `
  svg { font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
  .paper { fill: #ffffff; }
  .lane { fill: #f3f5f8; stroke: #d5dbe3; }
  .box { fill: #ffffff; stroke: #6b7c93; }
  .other .box { stroke-dasharray: 4 3; }
  .line { fill: none; stroke: #4a6fa5; stroke-width: 1.4; }
  .arrow { fill: #4a6fa5; }
  .edge:hover .line { stroke: #c2410c; stroke-width: 2.4; }
  .edge:hover .arrow { fill: #c2410c; }
  text { fill: #1f2933; white-space: pre; }
  .title { font-size: 16px; font-weight: 600; }
  .name { font-weight: 600; }
  .over { stroke: #f3f5f8; stroke-width: 5px; paint-order: stroke; }
  .level, .kind { fill: #52606d; }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #12161c; }
    .lane { fill: #1a2029; stroke: #323c4a; }
    .box { fill: #222b37; stroke: #8294ab; }
    .line { stroke: #7fa7e0; }
    .arrow { fill: #7fa7e0; }
    .edge:hover .line { stroke: #fb923c; }
    .edge:hover .arrow { fill: #fb923c; }
    text { fill: #e4e9f0; }
    .over { stroke: #1a2029; }
    .level, .kind { fill: #a3b1c2; }
  }
`

// SVG returns the picture as a document that needs nothing else: no font, script or link. Its text
// can be selected, its colours suit a dark or light background as the reader prefers, and its title
// and description are for who does not see it.
func (g *Graph) SVG() string {
	p := newPicture(g)
	var out strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	line(`<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" role="img" aria-labelledby="title description">`, p.w, p.h, p.w, p.h)
	line(`<title id="title">%s</title>`, escaped(g.title()))
	line(`<desc id="description">%s</desc>`, escaped(p.description()))
	line("<style>%s</style>", style)
	line(`<rect class="paper" width="%.0f" height="%.0f"/>`, p.w, p.h)
	line(`<text class="title" x="%d" y="30">%s</text>`, margin, escaped(cutTitle(g.title())))
	for c, level := range p.levels {
		name := fmt.Sprintf("level %d", level)
		if level < 0 {
			name = "before"
		}
		line(`<text class="level" x="%.1f" y="%d">%s</text>`, p.columnX[c], header-12, name)
	}
	for l, lane := range g.Lanes {
		line(`<rect class="lane" x="%d" y="%.1f" width="%.1f" height="%.1f" rx="8"><title>%s</title></rect>`,
			margin, p.laneTop[l], p.w-2*margin, p.laneEnd[l]-p.laneTop[l], escaped(strings.Join(lane.Clusters, ", ")))
	}
	for _, r := range p.routes {
		points := p.points(r)
		end := points[len(points)-1]
		line(`<g class="edge"><title>%s</title><path class="line" d="%s"/><path class="arrow" d="M%.1f %.1fl-%d -4v8z"/></g>`, escaped(p.tooltip(r.edge)), rounded(points), end[0]+head-1, end[1], head)
	}
	for l, lane := range g.Lanes { // over the lines
		line(`<text class="name over" x="%d" y="%.1f">%s</text>`, margin+padding, p.laneTop[l]+19, escaped(laneText(lane)))
	}
	for i := range p.boxes {
		b, class := &p.boxes[i], "tier"
		if g.Lanes[g.Tiers[i].Lane].OtherSeeds {
			class = "tier other"
		}
		line(`<g class="%s"><title>%s</title>`, class, escaped(p.tierText(i)))
		line(`<rect class="box" x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="5"/>`, b.x, b.y, b.w, b.h)
		for n, text := range b.lines {
			of := ""
			switch {
			case n == 0:
				of = ` class="name"`
			case g.Tiers[i].grouped && !strings.HasPrefix(text, " "):
				of = ` class="kind"`
			}
			line(`<text%s x="%.1f" y="%.1f">%s</text>`, of, b.x+padding, b.y+padding+float64(n)*lineHeight+12, escaped(text))
		}
		line(`</g>`)
	}
	line(`</svg>`)
	return out.String()
}

// escaped is a text that anybody may have written as character data.
func escaped(text string) string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		lines = append(lines, html.EscapeString(manifest.Printable(line)))
	}
	return strings.Join(lines, "\n")
}

// maxTitle is how long the titles of pictures and lanes may be.
const maxTitle = 90

func cutTitle(text string) string { return cut(text, maxTitle) }

// laneText names a lane, and how many clusters it has.
func laneText(l Lane) string {
	if n := len(l.Clusters); n > 1 && !l.Joined {
		return cutTitle(fmt.Sprintf("%s (%d clusters)", l.label(), n))
	}
	return cutTitle(l.label())
}

// points returns where the line of a route begins, turns and ends.
func (p *picture) points(r route) [][2]float64 {
	from, to := &p.boxes[r.edge.From], &p.boxes[r.edge.To]
	out, in := p.ports(r)
	points := [][2]float64{{from.x + from.w, out}}
	keys, _ := p.trunks(r)
	for i, key := range keys {
		at, turn := p.trunkX(key), in
		if i < len(keys)-1 {
			turn = p.channelY(r)
		}
		points = append(points, [2]float64{at, points[len(points)-1][1]}, [2]float64{at, turn})
	}
	return append(points, [2]float64{to.x - head + 1, in})
}

// rounded returns a line through points whose turns, all at right angles, are round.
func rounded(points [][2]float64) string {
	var out strings.Builder
	fmt.Fprintf(&out, "M%.1f %.1f", points[0][0], points[0][1])
	for i := 1; i < len(points)-1; i++ {
		at := points[i]
		r := min(corner, distance(points[i-1], at)/2, distance(at, points[i+1])/2)
		before, after := toward(at, points[i-1], r), toward(at, points[i+1], r)
		fmt.Fprintf(&out, "L%.1f %.1fQ%.1f %.1f %.1f %.1f", before[0], before[1], at[0], at[1], after[0], after[1])
	}
	last := points[len(points)-1]
	fmt.Fprintf(&out, "L%.1f %.1f", last[0], last[1])
	return out.String()
}

// distance is that of points on a horizontal or vertical line.
func distance(a, b [2]float64) float64 {
	return max(a[0]-b[0], b[0]-a[0]) + max(a[1]-b[1], b[1]-a[1])
}

// toward returns the point at some distance from a, in the direction of b.
func toward(a, b [2]float64, by float64) [2]float64 {
	all := distance(a, b)
	if all == 0 {
		return a
	}
	return [2]float64{a[0] + (b[0]-a[0])*by/all, a[1] + (b[1]-a[1])*by/all}
}

// tierName names a tier with its lane.
func (p *picture) tierName(i int) string {
	t := &p.Tiers[i]
	if p.Lanes[t.Lane].OtherSeeds {
		return t.Name
	}
	return p.Lanes[t.Lane].Name + " " + t.Name
}

// tooltip says what waits for what, and why.
func (p *picture) tooltip(e Edge) string {
	text := p.tierName(e.To) + " waits for " + p.tierName(e.From)
	if e.Why != "" {
		text += "\n" + e.Why
	}
	return text
}

// tierText names a tier and its objects.
func (p *picture) tierText(i int) string {
	t := &p.Tiers[i]
	lines := []string{p.tierName(i)}
	objects := t.Objects
	if len(objects) > maxTooltip {
		objects = objects[:maxTooltip]
	}
	lines = append(lines, objects...)
	if more := len(t.Objects) - len(objects); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "\n")
}

// description says in words what the picture shows.
func (p *picture) description() string {
	waits := map[int][]string{}
	for _, r := range p.routes {
		waits[r.edge.To] = append(waits[r.edge.To], p.tierName(r.edge.From))
	}
	lines := []string{"Tiers from left to right in the order in which they are released, a lane for each cluster. Arrows go from what is waited for to what waits; those that follow from others are left out."}
	for i := range p.Tiers {
		text := p.tierName(i) + ": " + strings.Join(p.Tiers[i].summary(), ", ")
		if len(waits[i]) > 0 {
			text += "; waits for " + strings.Join(waits[i], ", ")
		}
		lines = append(lines, text)
	}
	return strings.Join(lines, "\n")
}
