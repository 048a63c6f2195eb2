package report

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"loops/internal/diagram"
)

// A Page is what a report says besides its steps.
type Page struct {
	Title string
	Facts [][2]string // what and how much, in their order
	Graph *diagram.Graph
	Notes []string // what the reader should know: damage, what could not be found
	More  string   // the command that shows everything
}

// The size of a page is bounded, in bytes: of its rows altogether, of one row's texts, and of the drawing.
const (
	pageRows = 3_900_000
	rowMost  = 6 << 10
	rowFrame = 190 // of a row without its texts
	graphMax = 700_000
)

// Write writes the page. Every text of the run is escaped and cut to its share of the page; what is cut says so.
func (p Page) Write(w io.Writer, h *HTML) error {
	h.close(0)
	b := bufio.NewWriterSize(w, 64<<10)
	fmt.Fprintf(b, head, diagram.Policy, html.EscapeString(short(p.Title, 200)))
	fmt.Fprint(b, style, "</style>\n</head>\n<body>\n")
	fmt.Fprintf(b, "<h1>%s</h1>\n<table class=\"facts\">\n", html.EscapeString(short(p.Title, 200)))
	for _, f := range p.Facts {
		fmt.Fprintf(b, "<tr><th>%s</th><td>%s</td></tr>\n", html.EscapeString(short(f[0], 100)),
			html.EscapeString(short(f[1], 2000)))
	}
	fmt.Fprint(b, "</table>\n")
	for _, n := range p.Notes {
		fmt.Fprintf(b, "<p class=\"note\">%s</p>\n", html.EscapeString(short(n, 1000)))
	}
	p.graph(b)
	h.timeline(b)
	p.table(b, h)
	fmt.Fprint(b, "</body>\n</html>\n")
	return b.Flush()
}

func (p Page) graph(w io.Writer) {
	if p.Graph == nil || len(p.Graph.Nodes) == 0 {
		return
	}
	fmt.Fprint(w, "<h2>Graph</h2>\n")
	svg := p.Graph.SVG()
	if len(svg) > graphMax {
		fmt.Fprintf(w, "<p>The graph has %d states and is too large for this page; loops graph draws it.</p>\n",
			len(p.Graph.Nodes))
		return
	}
	if p.Graph.By != "" {
		fmt.Fprintf(w, "<p>Coloured by %s: %s. A red frame is a failure, a broken one a state that no run can come "+
			"to or that is not known.</p>\n", html.EscapeString(p.Graph.By), p.Graph.Legend())
	}
	fmt.Fprintf(w, "<div class=\"wide\">%s</div>\n", svg)
}

func (p Page) table(w *bufio.Writer, h *HTML) {
	rows := len(h.kept.first) + len(h.kept.ring)
	fmt.Fprintf(w, "<h2>Steps</h2>\n")
	if rows == 0 {
		fmt.Fprint(w, "<p>No step was recorded.</p>\n")
		return
	}
	if left := h.kept.missing(); left > 0 {
		fmt.Fprintf(w, "<p class=\"note\">The run has %d steps: the first %d and the last %d are here. All of "+
			"them: %s</p>\n",
			h.kept.count, len(h.kept.first), len(h.kept.ring), html.EscapeString(p.More))
	}
	fmt.Fprintf(w, "<p>Outputs are cut to what fits on a page; in full: <code>%s</code></p>\n",
		html.EscapeString(p.More))
	fmt.Fprint(w, "<table class=\"steps\">\n"+
		"<thead><tr><th>Step</th><th>State</th><th>Begin</th><th>Time</th><th>Result</th><th>Led "+
		"to</th><th>Cost</th><th>What was done, output</th></tr></thead>\n<tbody>\n")
	share := min(rowMost, pageRows/rows-rowFrame)
	for _, s := range h.kept.first {
		row(w, s, share)
	}
	if left := h.kept.missing(); left > 0 {
		fmt.Fprintf(w, "<tr><td colspan=\"8\" class=\"note\">%d steps are left out</td></tr>\n", left)
	}
	for _, s := range h.kept.last() {
		row(w, s, share)
	}
	fmt.Fprint(w, "</tbody>\n</table>\n")
}

// row writes a step. share is how many bytes its texts may have.
func row(w *bufio.Writer, s *htmlStep, share int) {
	put := func(text string, most int) {
		e, _ := fit(text, min(most, share))
		share -= len(e)
		w.WriteString(e) //nolint:errcheck // a bufio.Writer keeps its first error for Flush
	}
	class := ""
	if s.bad() {
		class = " class=\"bad\""
	}
	fmt.Fprintf(w, "<tr%s><td>%s%s<td>", class, strings.Repeat("&#8627;", min(s.Depth, 8)), s.Number)
	put(s.State, 120)
	w.WriteString("<td>") //nolint:errcheck // as above
	if !s.begin.IsZero() {
		w.WriteString(s.begin.UTC().Format(time.TimeOnly)) //nolint:errcheck // as above
	}
	fmt.Fprintf(w, "<td>%s<td>", duration(s.Took))
	if s.Exit != "" && s.Exit != "0" {
		put("exit "+s.Exit+" ", 20)
	}
	put(s.Verdict, 60)
	w.WriteString("<td>") //nolint:errcheck // as above
	put(s.To, 120)
	w.WriteString("<td>") //nolint:errcheck // as above
	put(s.Cost, 20)
	w.WriteString("<td>") //nolint:errcheck // as above
	for _, n := range s.notes {
		w.WriteString("<p>") //nolint:errcheck // as above
		put(n, 200)
		w.WriteString("</p>") //nolint:errcheck // as above
	}
	said, tail, missing := s.output.parts(pageText)
	if said == "" {
		put(s.action, 300)
		w.WriteString("\n") //nolint:errcheck // as above
		return
	}
	w.WriteString("<details><summary>") //nolint:errcheck // as above
	put(s.action, min(300, share/2))
	w.WriteString("</summary><pre>") //nolint:errcheck // as above
	writeOutput(w, said, tail, missing, max(share, 0))
	w.WriteString("</pre></details>\n") //nolint:errcheck // as above
}

// writeOutput writes the beginning and the end of an output in so many bytes, with what is missing between them.
func writeOutput(w *bufio.Writer, head, tail string, missing, share int) {
	const gap = 40 // of the line that says what is missing
	if missing == 0 {
		if whole, left := fit(head+tail, share); left == 0 {
			w.WriteString(whole) //nolint:errcheck // a bufio.Writer keeps its first error for Flush
			return
		}
	}
	share = max(0, share-gap)
	all := len(head) + len(tail) + missing
	begin, left := fit(head, share/3)
	if tail == "" {
		tail = head[len(head)-left:]
	}
	end := fitEnd(tail, share-len(begin))
	shown := len(html.UnescapeString(begin)) + len(html.UnescapeString(end))
	fmt.Fprintf(w, "%s\n<i>… about %d bytes are left out …</i>\n%s", begin, max(0, all-shown), end)
}

// fit escapes the beginning of a text that takes so many bytes at most. left is how many bytes of it remain.
func fit(s string, most int) (escaped string, left int) {
	var b strings.Builder
	for i := 0; i < len(s); {
		e, n := escapeRune(s[i:])
		if b.Len()+len(e) > most {
			return b.String(), len(s) - i
		}
		b.WriteString(e)
		i += n
	}
	return b.String(), 0
}

// fitEnd is fit of the end of a text.
func fitEnd(s string, most int) string {
	size, at := 0, len(s)
	for at > 0 {
		_, n := utf8.DecodeLastRuneInString(s[:at])
		e, _ := escapeRune(s[at-n:])
		if size+len(e) > most {
			break
		}
		size += len(e)
		at -= n
	}
	e, _ := fit(s[at:], most)
	return e
}

// escapeRune returns the first character of a text as HTML, and its length in the text. What no terminal shows is
// replaced: control characters, and those that turn the direction of writing.
func escapeRune(s string) (string, int) {
	switch r, n := utf8.DecodeRuneInString(s); {
	case r == '<':
		return "&lt;", n
	case r == '>':
		return "&gt;", n
	case r == '&':
		return "&amp;", n
	case r == '"':
		return "&#34;", n
	case r == '\'':
		return "&#39;", n
	case r == '\n', r == '\t':
		return s[:n], n
	case r == utf8.RuneError, unicode.IsControl(r), r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return "\uFFFD", n
	default:
		return s[:n], n
	}
}

// short cuts a text to so many characters and takes out what is not to be shown.
func short(s string, most int) string {
	e, left := fit(s, most*6)
	s = html.UnescapeString(e)
	if r := []rune(s); len(r) > most || left > 0 {
		s = string(r[:min(most, len(r))-1]) + "…"
	}
	return s
}

// duration writes a time span: 11ms, 3.1s, 4m05s, 1h02m03s.
func duration(d time.Duration) string {
	switch {
	case d < time.Second:
		return strconv.FormatInt(max(0, d.Milliseconds()), 10) + "ms"
	case d < time.Minute:
		return strconv.FormatFloat(d.Truncate(100*time.Millisecond).Seconds(), 'f', 1, 64) + "s"
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh%02dm%02ds", int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60)
}

const head = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="%s">
<meta name="viewport" content="width=device-width">
<link rel="icon" href="data:,">
<title>%s</title>
<style>
`

const style = `body{font:15px/1.45 system-ui,sans-serif;margin:1.5rem;color:#111;background:#fff}
h2{margin-top:1.6rem}
.wide{overflow:auto;border:1px solid #ccc}
.note{color:#7a4b00}
.colour{padding:.1rem .7rem;border:1px solid #555}
table{border-collapse:collapse}
th,td{text-align:left;vertical-align:top;padding:.2rem .8rem .2rem 0}
.steps td,.steps th{border-bottom:1px solid #ddd;overflow-wrap:break-word}
.steps td:last-child{overflow-wrap:anywhere;min-width:14rem}
.steps td:nth-child(-n+4){white-space:nowrap}
.steps tr.bad td:nth-child(5){color:#b00010;font-weight:bold}
.steps p{margin:0;color:#7a4b00}
pre,code,summary{font:13px/1.35 ui-monospace,Menlo,Consolas,monospace}
pre{margin:.3rem 0;max-height:24rem;overflow:auto;white-space:pre-wrap;background:#f5f5f5;padding:.4rem}
.timeline text{font:12px ui-monospace,Menlo,Consolas,monospace;fill:#111}
.timeline .base{stroke:#ddd}
.timeline .in{fill:#3182bd}
.timeline .bad{fill:#c0161d}
.timeline{max-width:100%;height:auto}
@media (prefers-color-scheme:dark){
body{color:#e6e6e6;background:#16181b}
.note,.steps p{color:#e0b060}
.wide{border-color:#444;background:#fff;color:#111}
.steps td,.steps th{border-color:#333}
.steps tr.bad td:nth-child(5){color:#ff7b72}
pre{background:#22262b}
}
@media print{
body{margin:0;color:#000;background:#fff}
pre{max-height:none;overflow:visible}
.wide{overflow:visible;border:0}
.wide svg{max-width:100%;height:auto}
tr{break-inside:avoid}
}
`
