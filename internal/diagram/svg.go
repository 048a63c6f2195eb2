package diagram

import (
	"fmt"
	"html"
	"strings"
)

// Measures of the SVG drawing, in pixels.
const (
	charWidth   = 8 // of a column of 13 pixel type, rounded up
	lineHeight  = 17
	boxPadding  = 10
	svgGap      = 18
	channel     = 22
	svgMargin   = 12
	svgBackPort = 14
)

// heatFills are the colours of heat 1 to 5, light to dark, which can be distinguished with all kinds of colour
// blindness; heatInks are those of the text on them.
var (
	heatFills = [heats]string{"#eff3ff", "#bdd7e7", "#6baed6", "#3182bd", "#08519c"}
	heatInks  = [heats]string{"#111", "#111", "#111", "#fff", "#fff"}
)

const svgStyle = `.loop-graph text{font:13px ui-monospace,Menlo,Consolas,monospace;fill:#111;white-space:pre}
.loop-graph .label{font-size:12px;fill:#333}
.loop-graph .name{font-weight:bold}
.loop-graph rect.box{fill:#fff;stroke:#555;stroke-width:1.2}
.loop-graph path{fill:none;stroke:#555;stroke-width:1.4}
.loop-graph path.exception,.loop-graph .shaky rect.box{stroke-dasharray:5 4}
.loop-graph .exception{stroke:#999}
.loop-graph text.exception{stroke:none;fill:#777}
.loop-graph path.taken{stroke:#111;stroke-width:2.2}
.loop-graph .ends rect.box{stroke-width:2.5}
.loop-graph .fails rect.box{stroke:#c0161d;stroke-width:3}
`

// SVG draws the graph as a picture that needs nothing else: no font, no script, no other file.
func (g *Graph) SVG() string { return g.drawn(true) }

// Picture draws the graph as SVG for a page that brings the style of the classes in it: there is none in the
// picture itself, which a page with a strict policy refuses.
func (g *Graph) Picture() string { return g.drawn(false) }

func (g *Graph) drawn(styled bool) string {
	var b strings.Builder
	d := newDrawing(g)
	labels := make([][]string, len(d.items))
	for i := range d.items {
		labels[i] = d.lines(i)
		w := 0
		for _, line := range labels[i] {
			w = max(w, columns(line)*charWidth)
		}
		d.items[i].width = w + 4
		if d.items[i].kind == aNode {
			d.items[i].width = max(w+2*boxPadding, 60)
		}
	}
	width := d.place(svgGap, 1, false) + 2*svgMargin
	tops, heights, height := d.rows(labels)
	// The size is that of the drawing, and a page may make it smaller.
	role := "img"
	if g.Address != nil {
		role = "group" // nothing inside a picture can be used
	}
	fmt.Fprintf(&b,
		`<svg xmlns="http://www.w3.org/2000/svg" class="loop-graph" role="%s" width="%d" height="%d" viewBox="0 0 %[2]d %[3]d">`+
			"\n", role, width, height)
	fmt.Fprintf(&b, "<title>%s</title>\n", escape(g.heading()))
	paper, arrow := ` class="paper"`, ` class="arrow"`
	if styled {
		g.writeStyle(&b)
		paper, arrow = ` fill="#fff"`, ` style="fill:#333;stroke:none"`
	}
	b.WriteString("<defs><marker id=\"loop-graph-arrow\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" " +
		"markerWidth=\"8\" markerHeight=\"8\" " +
		"markerUnits=\"userSpaceOnUse\" orient=\"auto-start-reverse\"><path d=\"M0 0L10 5L0 10z\"" + arrow +
		"/></marker></defs>\n")
	fmt.Fprintf(&b, `<rect width="%d" height="%d"%s/>`+"\n", width, height, paper)
	for _, l := range d.links {
		d.svgLink(&b, l, labels, tops, heights)
	}
	for i := range d.items {
		d.svgItem(&b, i, labels[i], tops)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// writeStyle writes the style of all classes of a drawing.
func (g *Graph) writeStyle(b *strings.Builder) {
	b.WriteString("<style>" + svgStyle)
	for k, fill := range heatFills {
		fmt.Fprintf(b, ".loop-graph .heat%[1]d rect.box{fill:%[2]s}.loop-graph .heat%[1]d text{fill:%[3]s}\n", k+1,
			fill, heatInks[k])
	}
	for _, t := range toneFills {
		if !g.toned() {
			break
		}
		fmt.Fprintf(b, ".loop-graph .%s rect.box{fill:%s}\n", t.tone, t.fill)
	}
	b.WriteString("</style>\n")
}

// rows returns where each layer begins, how tall it is, and how tall all of them are.
func (d *drawing) rows(labels [][]string) (tops, heights []int, height int) {
	tops, heights = make([]int, len(d.layers)), make([]int, len(d.layers))
	y := svgMargin
	for k, layer := range d.layers {
		tops[k], heights[k] = y, lineHeight
		for _, i := range layer {
			if d.items[i].kind == aNode {
				heights[k] = max(heights[k], boxHeight(labels[i]))
			}
		}
		y += heights[k] + channel
	}
	return tops, heights, y - channel + svgMargin
}

func boxHeight(lines []string) int { return len(lines)*lineHeight + boxPadding }

// svgLink draws one piece of a way. A trunk is drawn once, for all that share it.
func (d *drawing) svgLink(b *strings.Builder, l link, labels [][]string, tops, heights []int) {
	port := func(i int) int {
		x := d.items[i].x + svgMargin
		if l.up && d.items[i].kind == aNode {
			x += svgBackPort
		}
		return x
	}
	upper, lower := d.items[l.upper], d.items[l.lower]
	x1, x2 := port(l.upper), port(l.lower)
	from := tops[upper.layer] + heights[upper.layer] // the line leaves the layer here
	begin := from
	switch {
	case upper.kind == aNode:
		begin = tops[upper.layer] + boxHeight(labels[l.upper])
	case len(labels[l.upper]) == 0:
		begin = tops[upper.layer]
	}
	to := tops[lower.layer]
	path := fmt.Sprintf("M%d %d", x1, begin)
	if begin != from {
		path += fmt.Sprintf("V%d", from)
	}
	if x1 == x2 {
		path += fmt.Sprintf("V%d", to)
	} else {
		middle := (from + to) / 2
		path += fmt.Sprintf("C%[1]d %[2]d %[3]d %[2]d %[3]d %[4]d", x1, middle, x2, to)
	}
	arrow := ""
	switch {
	case l.up && upper.kind == aNode:
		arrow = ` marker-start="url(#loop-graph-arrow)"`
	case !l.up && lower.kind == aNode:
		arrow = ` marker-end="url(#loop-graph-arrow)"`
	}
	class := ""
	switch taken, exception := d.carries(l); {
	case taken:
		class = ` class="taken"`
	case exception:
		class = ` class="exception"`
	}
	fmt.Fprintf(b, "<path%s d=\"%s\"%s/>\n", class, path, arrow)
}

// carries reports whether an edge of a link was taken, and whether all of them are exceptions. Between a label
// and a trunk it is the edge of the label that counts.
func (d *drawing) carries(l link) (taken, exception bool) {
	var edges []int
	for _, i := range []int{l.upper, l.lower} {
		switch it := d.items[i]; it.kind {
		case aLabel, aStub:
			e := d.g.Edges[it.of]
			return e.Taken > 0, e.Exception
		case aTrunk:
			if edges == nil || len(it.edges) < len(edges) { // of two trunks, the one farther from the target
				edges = it.edges
			}
		case aNode:
		}
	}
	exception = len(edges) > 0
	for _, k := range edges {
		e := d.g.Edges[k]
		taken, exception = taken || e.Taken > 0, exception && e.Exception
	}
	return taken, exception
}

func (d *drawing) svgItem(b *strings.Builder, i int, lines []string, tops []int) {
	it := d.items[i]
	x, y := it.x+svgMargin, tops[it.layer]
	if it.kind != aNode {
		if len(lines) == 0 {
			return
		}
		class := "label"
		if d.g.Edges[it.of].Exception {
			class += " exception"
		}
		fmt.Fprintf(b, "<text class=\"%s\" x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", class, x, y+13,
			escape(lines[0]))
		return
	}
	n := d.g.Nodes[it.of]
	var classes []string
	if n.Heat > 0 {
		classes = append(classes, fmt.Sprintf("heat%d", n.Heat))
	}
	if n.Tone != "" {
		classes = append(classes, string(n.Tone))
	}
	if n.Terminal {
		classes = append(classes, "ends")
	}
	if n.Failure || n.Failed {
		classes = append(classes, "fails")
	}
	if n.Unreachable || n.Template || n.Unknown {
		classes = append(classes, "shaky")
	}
	if n.Current {
		classes = append(classes, "now")
	}
	if d.g.Address != nil {
		fmt.Fprintf(b, "<a href=\"%s\">", escape(d.g.Address(n.Name)))
		defer b.WriteString("</a>\n")
	}
	fmt.Fprintf(b, "<g class=\"%s\"><title>%s</title>", strings.Join(classes, " "), escape(printable(n.Name)))
	left := x - it.width/2
	fmt.Fprintf(b, "<rect class=\"box\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"6\"/>", left, y, it.width,
		boxHeight(lines))
	for k, line := range lines {
		class := ""
		if k == 0 {
			class = ` class="name"`
		}
		fmt.Fprintf(b, "<text%s x=\"%d\" y=\"%d\">%s</text>", class, left+boxPadding, y+boxPadding/2+13+k*lineHeight,
			escape(line))
	}
	b.WriteString("</g>\n")
}

// escape makes printable text harmless in XML and HTML, quoted or not.
func escape(s string) string { return html.EscapeString(s) }
