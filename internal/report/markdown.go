package report

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// What code hosts draw of a Mermaid graph.
const (
	mostMermaid = 50_000 // characters
	mostWays    = 500
)

// Markdown writes a run as a section of Markdown for the summary of a job: how it ended, its steps, what the
// state it was in last printed, and its graph. It has most bytes at most, if that is at least 4,000: what does
// not fit says so.
func (r *Suite) Markdown(w io.Writer, run Run, most int) error {
	r.close(0)
	var head, foot strings.Builder
	mark := map[int]string{Good: "✅", Failed: "❌", Broken: "⚠️", Going: "⏳"}[run.End]
	fmt.Fprintf(&head, "## %s Loop %s\n\n%s\n\n", mark, md(line(run.Loop, 200)), md(line(run.Text, 500)))
	switch reason := md(line(run.Reason, 500)); {
	case reason == "":
	case run.End == Good:
		fmt.Fprintf(&head, "Reason: %s\n\n", reason)
	default:
		fmt.Fprintf(&head, "**%s**\n\n", reason)
	}
	if run.Next != "" {
		fmt.Fprintf(&head, "Next: %s\n\n", code(line(run.Next, 500)))
	}
	head.WriteString("| | |\n|---|---|\n")
	fmt.Fprintf(&head, "| Run | %s |\n", md(line(run.ID, 200)))
	for _, f := range run.Facts {
		fmt.Fprintf(&head, "| %s | %s |\n", md(line(f[0], 100)), md(line(f[1], 200)))
	}
	head.WriteString("\n")
	for i, n := range run.Notes {
		if i < 10 {
			fmt.Fprintf(&head, "> %s\n\n", md(line(n, 200)))
		}
	}
	if r.end != nil && run.End != Good && r.end.output.size > 0 {
		out := r.end.said()
		fence := fenceFor(out)
		fmt.Fprintf(&foot, "<details><summary>What the state %s printed last</summary>\n\n%s\n%s\n%s\n\n</details>\n\n",
			md(line(r.end.state, 200)), fence, strings.TrimRight(out, "\n"), fence)
	}
	foot.WriteString(r.graph(run, most-head.Len()-foot.Len()-2_000))
	_, err := io.WriteString(w, head.String()+r.table(most-head.Len()-foot.Len())+foot.String())
	return err
}

// graph is the graph of the run, or explains why it is not there.
func (r *Suite) graph(run Run, room int) string {
	if run.Graph == nil || len(run.Graph.Nodes) == 0 {
		return ""
	}
	drawn := run.Graph.Mermaid()
	if len(run.Graph.Edges) > mostWays || len(drawn) > min(mostMermaid, room) {
		return fmt.Sprintf("The graph is too large to be drawn here: %s\n\n", code("loops graph "+line(run.ID, 200)))
	}
	return "```mermaid\n" + drawn + "```\n\n"
}

// table is the table of the steps, in so many bytes: the last ones matter most.
func (r *Suite) table(room int) string {
	first, last, missing := r.kept.first, r.kept.last(), r.kept.missing()
	const head, gap = "| Step | State | Verdict | Next | Time | Cost |\n|---:|---|---|---|---:|---:|\n", 100
	room -= len(head) + gap
	if r.kept.count == 0 || room < 0 {
		return ""
	}
	var rows []string
	size := 0
	for _, s := range append(first[:len(first):len(first)], last...) {
		rows = append(rows, s.row())
		size += len(rows[len(rows)-1])
	}
	top, from := len(first), len(first) // what is between them is left out
	if size > room {
		used := 0
		for top = 0; top < len(first) && used+len(rows[top]) <= room/3; top++ {
			used += len(rows[top])
		}
		least := top
		if missing > 0 {
			least = len(first)
		}
		for from = len(rows); from > least && used+len(rows[from-1]) <= room; from-- {
			used += len(rows[from-1])
		}
	}
	missing += from - top
	var b strings.Builder
	b.WriteString(head)
	b.WriteString(strings.Join(rows[:top], ""))
	if missing > 0 {
		fmt.Fprintf(&b, "| … | %d steps are left out | | | | |\n", missing)
	}
	b.WriteString(strings.Join(rows[from:], ""))
	return b.String() + "\n"
}

func (s *suiteStep) row() string {
	verdict := s.Verdict
	if s.Exit != "" && s.Exit != "0" {
		verdict = strings.TrimPrefix(verdict+", exit "+s.Exit, ", ")
	}
	return fmt.Sprintf("| %s | %s%s | %s | %s | %s | %s |\n", s.Number, strings.Repeat("↳ ", min(s.Depth, 10)),
		md(line(s.State, 100)),
		md(line(verdict, 60)), md(line(s.To, 100)), rounded(s.Took), md(line(s.Cost, 40)))
}

func rounded(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(10 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

var mdEscapes = strings.NewReplacer(
	"&", "&amp;", "<", "&lt;", ">", "&gt;", "|", "&#124;", "`", "&#96;", "*", "&#42;", "_", "&#95;", "[", "&#91;",
	"]", "&#93;",
	"~", "&#126;", "\\", "&#92;", "#", "&#35;", "@", "&#64;", "://", "&#58;//", "!", "&#33;", "$", "&#36;",
)

// md is a line of text that Markdown shows as it is.
func md(s string) string { return mdEscapes.Replace(s) }

// code is a line of text in the type of code.
func code(s string) string { return "<code>" + md(s) + "</code>" }

// fenceFor is a fence that the text cannot close.
func fenceFor(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence
}
