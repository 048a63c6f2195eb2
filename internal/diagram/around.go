package diagram

import "slices"

// Around draws a part of the graph for a screen of so many columns (at least 20): the state the run came from, if
// previous is not "", the one it is in, and the transitions out of that. It is empty where the graph has no such state.
func (g *Graph) Around(previous, current string, width int) (out [][]Span) {
	width = max(width, 20)
	at := slices.IndexFunc(g.Nodes, func(n Node) bool { return n.Name == current })
	if at < 0 {
		return nil
	}
	if previous != "" {
		text := clip(previous, nameColumns) + " ─▶"
		for _, e := range g.Edges {
			if label := e.label(); label != "" && e.To == at && g.Nodes[e.From].Name == previous {
				text = clip(previous, nameColumns) + " ─ " + label + " ─▶"
			}
		}
		out = append(out, []Span{{clip(text, width), Faint}})
	}
	n := g.Nodes[at]
	lines := n.lines(nil)
	out = append(out, []Span{{clip(lines[0], width), n.style()}})
	next := g.next()[at]
	for k, number := range next {
		out = append(out, []Span{g.way(number, k == len(next)-1, width)})
	}
	return out
}
