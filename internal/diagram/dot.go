package diagram

import (
	"fmt"
	"strings"
)

// DOT writes the graph in the language of Graphviz.
func (g *Graph) DOT() string {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %s {\n", dotText(g.Name))
	fmt.Fprintf(&b, "  label=%s;\n  node [shape=box, style=\"rounded,filled\", fillcolor=\"#ffffff\", "+
		"fontname=monospace];\n  edge [fontname=monospace];\n", dotText(g.heading()))
	next := g.next()
	for i, n := range g.Nodes {
		attributes := []string{"label=" + dotLines(n.lines(g.loopEdge(i, next))), "tooltip=" + dotText(n.Name)}
		style := "rounded,filled"
		if n.Unreachable || n.Template || n.Unknown {
			style += ",dashed"
		}
		if n.Terminal {
			style += ",bold"
		}
		attributes = append(attributes, `style="`+style+`"`)
		if n.Heat > 0 {
			attributes = append(attributes,
				fmt.Sprintf("fillcolor=%q, fontcolor=%q", heatFills[n.Heat-1], dotInk(n.Heat)))
		}
		for _, t := range toneFills {
			if n.Tone == t.tone {
				attributes = append(attributes, fmt.Sprintf("fillcolor=%q", t.fill))
			}
		}
		if n.Failure || n.Failed {
			attributes = append(attributes, `color="#c0161d", penwidth=3`)
		}
		fmt.Fprintf(&b, "  n%d [%s];\n", i, strings.Join(attributes, ", "))
	}
	for _, e := range g.Edges {
		if e.From == e.To {
			continue // it is in the box
		}
		var attributes []string
		if label := e.label(); label != "" {
			attributes = append(attributes, "label="+dotText(label))
		}
		switch {
		case e.Taken > 0:
			attributes = append(attributes, "penwidth=2.2")
		case e.Exception:
			attributes = append(attributes, `style=dashed, color="#999999"`)
		}
		fmt.Fprintf(&b, "  n%d -> n%d", e.From, e.To)
		if len(attributes) > 0 {
			fmt.Fprintf(&b, " [%s]", strings.Join(attributes, ", "))
		}
		b.WriteString(";\n")
	}
	b.WriteString("}\n")
	return b.String()
}

// loopEdge returns the edge from a node to itself, nil if there is none.
func (g *Graph) loopEdge(i int, next [][]int) *Edge {
	for _, k := range next[i] {
		if g.Edges[k].To == i {
			return &g.Edges[k]
		}
	}
	return nil
}

func dotInk(heat int) string {
	if heat > 3 {
		return "#ffffff"
	}
	return "#111111"
}

// Graphviz reads backslashes and entities in a quoted text.
var dotEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "&", "&amp;", "<", "&lt;", ">", "&gt;")

func dotText(s string) string { return `"` + dotEscapes.Replace(printable(s)) + `"` }

func dotLines(lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(dotEscapes.Replace(line) + `\l`)
	}
	return `"` + b.String() + `"`
}
