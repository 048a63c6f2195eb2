package diagram

import (
	"fmt"
	"html"
	"slices"
	"strings"
)

// HTML returns a page with the graph, what its colours mean and a table of the states. It needs nothing else:
// it runs no script and loads nothing, and its policy says so to the browser.
func (g *Graph) HTML() string {
	var b strings.Builder
	heading := html.EscapeString(g.heading())
	b.WriteString(pageHead + heading + pageStyle + heading + "</h1>")
	if g.By != "" {
		b.WriteString("\n<p class=\"legend\">Colours: " + g.Legend() + ".</p>")
	}
	b.WriteString(pageNote + g.SVG() + "</div>\n<table>\n<thead><tr><th>State</th><th>Does</th>")
	if g.By != "" {
		b.WriteString("<th>" + html.EscapeString(g.By) + "</th>")
	}
	b.WriteString("<th>Leads to</th><th></th></tr></thead>\n<tbody>")
	next := g.next()
	for i := range g.Nodes {
		g.row(&b, &g.Nodes[i], next[i])
	}
	b.WriteString("\n</tbody>\n</table>\n</body>\n</html>\n")
	return b.String()
}

// row writes a state as a row of the table.
func (g *Graph) row(b *strings.Builder, n *Node, ways []int) {
	notes := n.marks()
	switch {
	case n.Initial:
		notes = append([]string{"begins here"}, notes...)
	case n.Failure:
		notes = append([]string{"ends here, failed"}, notes...)
	case n.Terminal:
		notes = append([]string{"ends here"}, notes...)
	}
	for _, why := range n.Entered {
		notes = append(notes, "entered from anywhere: "+why)
	}
	fmt.Fprintf(b, "\n<tr><td>%s</td><td><code>%s</code></td>", html.EscapeString(printable(n.Name)),
		html.EscapeString(printable(n.Does)))
	if g.By != "" {
		fmt.Fprintf(b, `<td class="n">%s</td>`, html.EscapeString(n.Amount))
	}
	b.WriteString("<td>")
	for _, k := range ways {
		e := g.Edges[k]
		b.WriteString("<div>")
		if label := printable(strings.Join(e.Labels, ", ")); label != "" {
			b.WriteString(html.EscapeString(label) + " ")
		}
		b.WriteString("&rarr; " + html.EscapeString(printable(g.Nodes[e.To].Name)))
		if e.Taken != 0 {
			fmt.Fprintf(b, " (%d&times;)", e.Taken)
		}
		b.WriteString("</div>")
	}
	fmt.Fprintf(b, "</td><td>%s</td></tr>", html.EscapeString(strings.Join(notes, "; ")))
}

// Policy is the content security policy of the pages: no script, nothing from elsewhere.
const Policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"

// Legend returns in HTML what the colours of a measured graph mean.
func (g *Graph) Legend() string {
	colour := func(fill, ink string) string {
		return fmt.Sprintf(`<span class="colour" style="background:%s;color:%s">&nbsp;</span>`, fill, ink)
	}
	if g.toned() {
		return fmt.Sprintf("%s success, %s failure, %s neither; white was not reached",
			colour(toneFills[0].fill, "#111"), colour(toneFills[1].fill, "#111"), colour(toneFills[2].fill, "#111"))
	}
	text := "least "
	for k, fill := range heatFills {
		text += colour(fill, heatInks[k])
	}
	return text + " most; white is none"
}

// toned reports whether the states have tones, and no heat.
func (g *Graph) toned() bool {
	return slices.ContainsFunc(g.Nodes, func(n Node) bool { return n.Tone != "" })
}

// The parts of the page around what is different from graph to graph. They are no template, because a program that has
// those in it is a fifth larger.
const (
	pageHead = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="` + Policy + `">
<meta name="viewport" content="width=device-width">
<link rel="icon" href="data:,">
<title>`
	pageStyle = `</title>
<style>
body{font:15px/1.45 system-ui,sans-serif;margin:1.5rem;color:#111;background:#fff}
.graph{overflow:auto;border:1px solid #ccc;margin:1rem 0}
table{border-collapse:collapse}
th,td{text-align:left;vertical-align:top;padding:.25rem .8rem .25rem 0;border-bottom:1px solid #ddd;overflow-wrap:anywhere}
td.n{white-space:nowrap}
code{font:13px ui-monospace,Menlo,Consolas,monospace}
.legend span{padding:.1rem .7rem;border:1px solid #555}
</style>
</head>
<body>
<h1>`
	pageNote = `
<p>A red frame is a failure; a broken frame is a state that no run can come to, or that is not known yet; a broken line is taken when something goes wrong.</p>
<div class="graph">
`
)
