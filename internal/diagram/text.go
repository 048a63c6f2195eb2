package diagram

import (
	"fmt"
	"slices"
	"strings"
)

// Text draws the graph for a terminal of so many columns (at least 20): in boxes where they fit, else as a list of the
// states with the ways out of each. colour writes the escape sequences of colours; nothing is said by colour alone.
func (g *Graph) Text(width int, colour bool) string {
	width = max(width, 20)
	var b strings.Builder
	for _, line := range wrap(g.heading(), width) {
		b.WriteString(line + "\n")
	}
	b.WriteByte('\n')
	if !g.boxes(&b, width, colour) {
		g.list(&b, width, colour)
	}
	return b.String()
}

// heading says what is drawn.
func (g *Graph) heading() string {
	text := fmt.Sprintf("%s: %s, %s", printable(g.Name), count(len(g.Nodes), "state"), count(len(g.Edges), "way"))
	if g.By != "" {
		text += ", by " + g.By
	}
	return text
}

// list writes the states one below the other, each with the ways out of it.
func (g *Graph) list(b *strings.Builder, width int, colour bool) {
	paint := func(st style, text string) string {
		if colour {
			return st.paint(text)
		}
		return text
	}
	next := g.next()
	for i, n := range g.Nodes {
		if i > 0 {
			b.WriteByte('\n')
		}
		lines := n.lines(nil)
		b.WriteString(paint(n.style(), clip(lines[0], width)) + "\n")
		stem := "│ "
		if len(next[i]) == 0 {
			stem = "  "
		}
		for _, line := range lines[1:] {
			b.WriteString(stem + clip(line, width-2) + "\n")
		}
		for k, number := range next[i] {
			e := g.Edges[number]
			branch := "├─"
			if k == len(next[i])-1 {
				branch = "╰─"
			}
			text := branch + "▶ "
			if label := e.label(); label != "" {
				text = branch + " " + label + " ─▶ "
			}
			to := clip(g.Nodes[e.To].Name, nameColumns)
			if e.To == i {
				to = "↻"
			}
			st := plain
			if e.Exception {
				st = faint
			}
			b.WriteString(paint(st, clip(text+to, width)) + "\n")
		}
	}
}

// wrap breaks text between words into lines of so many columns; what has no blanks is cut.
func wrap(s string, width int) []string {
	var lines []string
	for word := range strings.FieldsSeq(s) {
		if n := len(lines); n > 0 && columns(lines[n-1])+1+columns(word) <= width {
			lines[n-1] += " " + word
			continue
		}
		lines = append(lines, clip(word, width))
	}
	return slices.Clip(lines)
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
