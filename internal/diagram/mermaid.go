package diagram

import (
	"fmt"
	"strings"
)

// Mermaid writes the graph as a flowchart in the language of Mermaid, which code hosts draw in Markdown.
func (g *Graph) Mermaid() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%%%% %s\nflowchart TD\n", strings.NewReplacer("{", "(", "}", ")").Replace(g.heading()))
	next := g.next()
	classes := map[string][]string{}
	for i, n := range g.Nodes {
		open, shut := "[", "]"
		if n.Terminal {
			open, shut = "([", "])"
		}
		lines := n.lines(g.loopEdge(i, next))
		for k := range lines {
			lines[k] = mermaidText(lines[k])
		}
		fmt.Fprintf(&b, "  n%d%s\"%s\"%s\n", i, open, strings.Join(lines, "<br/>"), shut)
		id := fmt.Sprintf("n%d", i)
		if n.Heat > 0 {
			class := fmt.Sprintf("heat%d", n.Heat)
			classes[class] = append(classes[class], id)
		}
		if n.Tone != "" {
			classes[string(n.Tone)] = append(classes[string(n.Tone)], id)
		}
		if n.Failure || n.Failed {
			classes["fails"] = append(classes["fails"], id)
		}
		if n.Unreachable || n.Template || n.Unknown {
			classes["shaky"] = append(classes["shaky"], id)
		}
	}
	for _, e := range g.Edges {
		if e.From == e.To {
			continue // it is in the box
		}
		arrow := "-->"
		switch {
		case e.Taken > 0:
			arrow = "==>"
		case e.Exception:
			arrow = "-.->"
		}
		label := ""
		if text := e.label(); text != "" {
			label = `|"` + mermaidText(text) + `"|`
		}
		fmt.Fprintf(&b, "  n%d %s%s n%d\n", e.From, arrow, label, e.To)
	}
	styles := [][2]string{{"fails", "stroke:#c0161d,stroke-width:3px"}, {"shaky", "stroke-dasharray:5 4"}}
	for k, fill := range heatFills {
		styles = append(styles, [2]string{fmt.Sprintf("heat%d", k+1), "fill:" + fill + ",color:" + heatInks[k]})
	}
	for _, t := range toneFills {
		styles = append(styles, [2]string{string(t.tone), "fill:" + t.fill + ",color:#111"})
	}
	for _, s := range styles {
		if ids := classes[s[0]]; len(ids) > 0 {
			fmt.Fprintf(&b, "  classDef %s %s\n  class %s %[1]s\n", s[0], s[1], strings.Join(ids, ","))
		}
	}
	return b.String()
}

// mermaidText writes text for a quoted label. What Mermaid or Markdown could read as more than text is a character
// reference, which Mermaid writes with # instead of &.
func mermaidText(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune("\"#&<>`*_~\\[]{}|;%$", r) {
			fmt.Fprintf(&b, "#%d;", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
