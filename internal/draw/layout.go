package draw

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// Sizes of the picture, in pixels. Text is monospaced, so its width is known without a font.
const (
	glyph      = 7.25 // width of a character
	lineHeight = 16
	padding    = 9
	minChars   = 14
	maxChars   = 34 // the kind and the name of an object are in two lines if they are longer together
	wideChars  = 40 // a line of several names is not longer
	maxName    = 64 // a longer name is cut; the tooltip has it whole
	laneTitle  = 28 // height of the name of a lane
	laneGap    = 12
	stackGap   = 10
	track      = 9 // between two lines that run side by side
	gutterEdge = 15
	margin     = 16
	header     = 70 // the title and the names of the columns
)

// box is a tier as it is drawn.
type box struct {
	lines      []string
	column     int
	x, y, w, h float64
}

// trunk is the vertical part of lines in a gutter. Lines that leave one box share it, and so do
// those that reach one box from the channel of its lane.
type trunk struct {
	gutter, box int
	in          bool
}

// span is what a trunk covers, and its track in the gutter.
type span struct {
	from, to float64
	track    int
}

// route is how the line of an edge runs: from the right side of a box along the trunk of its
// source, and then to the left side of the other. Where boxes are in between it takes the channel
// of the lane of its target.
type route struct {
	edge Edge
	// straight lines have no vertical part.
	straight bool
	// early lines turn before the column after their source, late ones before that of their target;
	// others do both.
	early, late bool
	channel     int
}

// picture is a Graph on a grid: a column for each level that has tiers, and a row for each lane. The
// grid is given; only lines have to find their way. Between the columns are gutters for their
// vertical parts, and above the boxes of each lane is a channel for horizontal parts that pass
// boxes, so no line crosses a box.
type picture struct {
	*Graph
	levels   []int
	boxes    []box
	cells    map[[2]int][]int // lane and column → boxes
	routes   []route
	channels []int // tracks by lane
	spans    map[trunk]*span
	tracks   []int     // by gutter
	laneTop  []float64 // by lane
	laneEnd  []float64
	columnX  []float64
	columnW  []float64
	w, h     float64
}

// newPicture decides where everything is drawn.
func newPicture(g *Graph) *picture {
	p := &picture{Graph: g, cells: map[[2]int][]int{}, channels: make([]int, len(g.Lanes)), spans: map[trunk]*span{}}
	p.placeBoxes()
	p.chooseRoutes()
	p.placeRows()
	p.placeTracks()
	p.placeColumns()
	return p
}

// placeBoxes finds the cell and the text of each tier.
func (p *picture) placeBoxes() {
	for _, t := range p.Tiers {
		p.levels = append(p.levels, t.Level)
	}
	slices.Sort(p.levels)
	p.levels = slices.Compact(p.levels)
	p.columnW = make([]float64, len(p.levels))
	for i := range p.Tiers {
		t := &p.Tiers[i]
		var b box
		b.column, _ = slices.BinarySearch(p.levels, t.Level)
		for n, line := range t.text() {
			b.lines = append(b.lines, t.wrapped(n, line)...)
		}
		chars := minChars
		for _, line := range b.lines {
			chars = max(chars, utf8.RuneCountInString(line))
		}
		p.columnW[b.column] = max(p.columnW[b.column], float64(chars)*glyph+2*padding)
		b.h = float64(len(b.lines))*lineHeight + 2*padding
		p.boxes = append(p.boxes, b)
		cell := [2]int{t.Lane, b.column}
		p.cells[cell] = append(p.cells[cell], i)
	}
}

// wrapped returns line n of a tier as it is drawn: an object whose kind and name are too long together
// takes two lines.
func (t *Tier) wrapped(n int, line string) []string {
	if kind, name, ok := strings.Cut(line, " "); ok && n > 0 && t.listed() && utf8.RuneCountInString(line) > maxChars {
		return []string{cut(kind, maxName), cut("  "+name, maxName)}
	}
	return []string{cut(line, maxName)}
}

// cut shortens a text that is longer than it may be.
func cut(text string, most int) string {
	text = manifest.Printable(text)
	if utf8.RuneCountInString(text) > most {
		return string([]rune(text)[:most-1]) + "…"
	}
	return text
}

// chooseRoutes decides which way each line runs. An edge that follows from others is not drawn.
func (p *picture) chooseRoutes() {
	busy := make([][][2]int, len(p.Lanes)) // columns that the tracks of a channel are taken in
	edges := p.needed()
	slices.SortStableFunc(edges, func(a, b Edge) int { return p.boxes[a.From].column - p.boxes[b.From].column })
	for _, e := range edges {
		from, to := p.boxes[e.From].column, p.boxes[e.To].column
		source, target := p.Tiers[e.From].Lane, p.Tiers[e.To].Lane
		r := route{edge: e, channel: -1}
		switch {
		case source == target && p.free(source, from, to) && p.cells[[2]int{source, from}][0] == e.From && p.cells[[2]int{target, to}][0] == e.To:
			r.straight = true
		case p.free(target, from, to):
			r.early = true
		case p.free(source, from, to):
			r.late = true
		default:
			r.channel = 0
			for slices.ContainsFunc(busy[target], func(b [2]int) bool { return b[0] == r.channel && b[1] >= from }) {
				r.channel++
			}
			busy[target] = append(busy[target], [2]int{r.channel, to})
			p.channels[target] = max(p.channels[target], r.channel+1)
		}
		p.routes = append(p.routes, r)
	}
}

// free reports whether a lane has no box between two columns.
func (p *picture) free(lane, from, to int) bool {
	for c := from + 1; c < to; c++ {
		if len(p.cells[[2]int{lane, c}]) > 0 {
			return false
		}
	}
	return from < to
}

// placeRows finds the heights of lanes and the vertical positions of boxes.
func (p *picture) placeRows() {
	y := float64(header)
	p.laneTop, p.laneEnd = make([]float64, len(p.Lanes)), make([]float64, len(p.Lanes))
	var order []int // other seeds come first, and are waited for
	for lane := range p.Lanes {
		if p.Lanes[lane].OtherSeeds {
			order = slices.Insert(order, 0, lane)
		} else {
			order = append(order, lane)
		}
	}
	for _, lane := range order {
		p.laneTop[lane] = y
		top := y + laneTitle
		if n := p.channels[lane]; n > 0 {
			top += float64(n)*track + 4
		}
		end := top
		for c := range p.levels {
			at := top
			for _, i := range p.cells[[2]int{lane, c}] {
				p.boxes[i].y = at
				at += p.boxes[i].h + stackGap
			}
			end = max(end, at-stackGap)
		}
		p.laneEnd[lane] = end + padding
		y = p.laneEnd[lane] + laneGap
	}
	p.h = y - laneGap + margin
}

// ports are where lines touch a box: straight ones at its name, others below, those that leave a
// little below those that arrive.
func (p *picture) ports(r route) (out, in float64) {
	from, to := &p.boxes[r.edge.From], &p.boxes[r.edge.To]
	if r.straight {
		return from.y + padding + lineHeight/2, to.y + padding + lineHeight/2
	}
	return from.y + from.h - padding - 1, to.y + padding + lineHeight + 3
}

// channelY is the height of a track of a channel.
func (p *picture) channelY(r route) float64 {
	return p.laneTop[p.Tiers[r.edge.To].Lane] + laneTitle + float64(r.channel)*track
}

// trunks returns the vertical parts of a route, each with where it begins and ends.
func (p *picture) trunks(r route) (keys []trunk, spans [][2]float64) {
	out, in := p.ports(r)
	first := trunk{gutter: p.boxes[r.edge.From].column + 1, box: r.edge.From}
	last := p.boxes[r.edge.To].column
	switch {
	case r.straight:
	case r.early:
		return []trunk{first}, [][2]float64{{out, in}}
	case r.late:
		first.gutter = last
		return []trunk{first}, [][2]float64{{out, in}}
	default:
		y := p.channelY(r)
		return []trunk{first, {last, r.edge.To, true}}, [][2]float64{{out, y}, {y, in}}
	}
	return nil, nil
}

// placeTracks gives each trunk a track of its gutter, so trunks side by side do not touch.
func (p *picture) placeTracks() {
	var order []trunk
	for _, r := range p.routes {
		keys, ends := p.trunks(r)
		for i, key := range keys {
			s := p.spans[key]
			if s == nil {
				s = &span{from: ends[i][0], to: ends[i][0]}
				p.spans[key] = s
				order = append(order, key)
			}
			s.from, s.to = min(s.from, ends[i][0], ends[i][1]), max(s.to, ends[i][0], ends[i][1])
		}
	}
	p.tracks = make([]int, len(p.levels)+1)
	taken := map[int][]*span{}
	for _, key := range order {
		s := p.spans[key]
		for slices.ContainsFunc(taken[key.gutter], func(o *span) bool { return o.track == s.track && s.from < o.to+track && o.from < s.to+track }) {
			s.track++
		}
		taken[key.gutter] = append(taken[key.gutter], s)
		p.tracks[key.gutter] = max(p.tracks[key.gutter], s.track+1)
	}
}

// placeColumns finds the horizontal positions.
func (p *picture) placeColumns() {
	x := float64(margin + padding)
	if p.tracks[0] > 0 {
		x += p.gutterWidth(0)
	}
	for c := range p.levels {
		p.columnX = append(p.columnX, x)
		x += p.columnW[c] + p.gutterWidth(c+1)
	}
	for i := range p.boxes {
		b := &p.boxes[i]
		b.x, b.w = p.columnX[b.column], p.columnW[b.column]
	}
	p.w = x - p.gutterWidth(len(p.levels)) + padding + margin
	if n := p.tracks[len(p.levels)]; n > 0 {
		p.w += p.gutterWidth(len(p.levels))
	}
	for _, lane := range p.Lanes {
		p.w = max(p.w, 2*margin+2*padding+float64(utf8.RuneCountInString(laneText(lane)))*glyph)
	}
	p.w = max(p.w, 2*margin+float64(utf8.RuneCountInString(cutTitle(p.title())))*glyph*1.4)
}

func (p *picture) gutterWidth(g int) float64 {
	return 2*gutterEdge + float64(max(1, p.tracks[g])-1)*track
}

// trunkX is where a trunk is.
func (p *picture) trunkX(key trunk) float64 {
	left := float64(margin)
	if key.gutter > 0 {
		left = p.columnX[key.gutter-1] + p.columnW[key.gutter-1]
	}
	return left + gutterEdge + float64(p.spans[key].track)*track
}
