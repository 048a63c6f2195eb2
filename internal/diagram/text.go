package diagram

import (
	"fmt"
	"slices"
	"strings"
)

// Text draws the graph for a terminal of so many columns (at least 20): in boxes where they fit, else as a list of the
// states with the transitions out of each. colour writes the escape sequences of colours; nothing is said by colour
// alone.
func (g *Graph) Text(width int, colour bool) string {
	width = max(width, 20)
	var b strings.Builder
	for i, line := range wrap(g.heading(), width-2) {
		if i > 0 {
			line = "  " + line // or a name could be taken for a line of its own
		}
		b.WriteString(line + "\n")
	}
	b.WriteByte('\n')
	for _, line := range g.Lines(width) {
		ansi(&b, line, colour)
	}
	return b.String()
}

// Lines draws the graph as Text does, without a heading, for a program that puts it on a screen of so many columns (at
// least 20) itself.
func (g *Graph) Lines(width int) [][]Span {
	width = max(width, 20)
	if lines, ok := g.boxes(width); ok {
		return lines
	}
	return g.list(width)
}

// heading says what is drawn.
func (g *Graph) heading() string {
	text := fmt.Sprintf("%s: %s, %s", printable(g.Name), count(len(g.Nodes), "state"),
		count(len(g.Edges), "transition"))
	if g.By != "" {
		text += ", by " + g.By
	}
	return text
}

// list writes the states one below the other, each with the transitions out of it.
func (g *Graph) list(width int) (out [][]Span) {
	next := g.next()
	for i, n := range g.Nodes {
		if i > 0 {
			out = append(out, nil)
		}
		lines := n.lines(nil)
		out = append(out, []Span{{clip(lines[0], width), n.style()}})
		stem := "│ "
		if len(next[i]) == 0 {
			stem = "  "
		}
		for _, line := range lines[1:] {
			out = append(out, []Span{{stem + clip(line, width-2), Plain}})
		}
		for k, number := range next[i] {
			out = append(out, []Span{g.way(number, k == len(next[i])-1, width)})
		}
	}
	return out
}

// way is the line of a list for one way out of a state.
func (g *Graph) way(number int, last bool, width int) Span {
	e := g.Edges[number]
	branch := "├─"
	if last {
		branch = "╰─"
	}
	text := branch + "▶ "
	if label := e.label(); label != "" {
		text = branch + " " + label + " ─▶ "
	}
	to := clip(g.Nodes[e.To].Name, nameColumns)
	if e.To == e.From {
		to = "↻"
	}
	st := Plain
	if e.Exception {
		st = Faint
	}
	return Span{clip(text+to, width), st}
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
