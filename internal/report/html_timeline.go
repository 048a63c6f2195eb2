package report

import (
	"fmt"
	"html"
	"io"
	"strings"
	"time"
)

// lanes holds when the run was in which state, for the timeline: spans of one state that nearly touch are one.
type lanes struct {
	names []string
	spans map[string][]span
	steps int
}

type span struct {
	begin, end time.Time
	failed     bool
}

// mostLanes is how many states the timeline has lines for; mostSpans is how finely it is kept for each.
const (
	mostLanes = 60
	mostSpans = 4_000
)

// add takes the time of a step since it was begun, or resumed.
func (l *lanes) add(s *htmlStep) {
	since := s.since
	if since.IsZero() || s.visit.Index < 0 {
		return
	}
	s.since = time.Time{}
	if l.spans == nil {
		l.spans = map[string][]span{}
	}
	spans, ok := l.spans[s.State]
	if !ok {
		l.names = append(l.names, s.State)
		if len(l.names) > mostLanes {
			l.spans[s.State] = nil
			return
		}
	} else if spans == nil {
		return
	}
	l.steps++
	spans = append(spans, span{since, s.visit.End, s.bad()})
	if len(spans) > mostSpans {
		spans = halve(spans)
	}
	l.spans[s.State] = spans
}

// halve joins every two spans.
func halve(spans []span) []span {
	out := spans[:0]
	for i := 0; i < len(spans); i += 2 {
		joined := spans[i]
		if i+1 < len(spans) {
			joined.end, joined.failed = spans[i+1].end, joined.failed || spans[i+1].failed
		}
		out = append(out, joined)
	}
	return out
}

// Measures of the timeline, in pixels.
const (
	laneHeight = 18
	laneLabel  = 220
	laneWidth  = 900
)

// timeline writes a line for each state with a bar where the run was in it.
func (h *HTML) timeline(w io.Writer) {
	names := h.lanes.names[:min(len(h.lanes.names), mostLanes)]
	whole := h.end.Sub(h.begin)
	if len(names) == 0 || whole <= 0 {
		return
	}
	height := len(names)*laneHeight + 24
	fmt.Fprintf(w, "<h2>Timeline</h2>\n<div class=\"wide\"><svg class=\"timeline\" role=\"img\" width=\"%d\" "+
		"height=\"%d\" viewBox=\"0 0 %[1]d %[2]d\">\n<title>when the run was in which state</title>\n",
		laneLabel+laneWidth+20, height)
	at := func(t time.Time) int { return laneLabel + int(float64(t.Sub(h.begin))/float64(whole)*laneWidth) }
	for i, name := range names {
		y := i * laneHeight
		fmt.Fprintf(w, "<text x=\"4\" y=\"%d\">%s</text><path class=\"base\" d=\"M%d %dh%d\"/>", y+13,
			html.EscapeString(short(name, 26)), laneLabel, y+laneHeight/2, laneWidth)
		for _, failed := range []bool{false, true} {
			if d := bars(h.lanes.spans[name], failed, y+3, at); d != "" {
				fmt.Fprintf(w, "<path class=\"%s\" d=\"%s\"/>", map[bool]string{false: "in", true: "bad"}[failed], d)
			}
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "<text x=\"%d\" y=\"%d\">%s</text><text x=\"%d\" y=\"%[2]d\" text-anchor=\"end\">%[5]s</text>\n"+
		"</svg></div>\n",
		laneLabel, height-6, clock(h.begin), laneLabel+laneWidth, clock(h.end))
	if n := len(h.lanes.names) - len(names); n > 0 {
		fmt.Fprintf(w, "<p>%d more states are not in the timeline.</p>\n", n)
	}
}

// bars draws the spans that failed, or that did not; those that touch are one bar.
func bars(spans []span, failed bool, y int, at func(time.Time) int) string {
	var b strings.Builder
	from, to := -1, -1
	flush := func() {
		if from >= 0 {
			fmt.Fprintf(&b, "M%d %dh%dv12h-%[3]dz", from, y, max(2, to-from))
		}
	}
	for _, s := range spans {
		if s.failed != failed {
			continue
		}
		x0, x1 := at(s.begin), at(s.end)
		if from >= 0 && x0 <= max(from+2, to)+1 {
			to = max(to, x1)
			continue
		}
		flush()
		from, to = x0, x1
	}
	flush()
	return b.String()
}

func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }
