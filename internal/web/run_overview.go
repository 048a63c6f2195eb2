package web

import (
	"context"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"loops/engine/project"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/internal/lookup"
	"loops/persistence"
)

// An overview is the graph of a run, its timeline, and what is printed now.
type overview struct {
	Graph    template.HTML
	By       string
	Measures []tab
	Lanes    []lane
	Marks    []string // times below the lanes
	Zooms    []tab
	Earlier  string
	Now      template.HTML
}

// A lane of the timeline has the visits of a state, in thousandths of the time that is shown.
type lane struct {
	State string
	Bars  []bar
}

type bar struct {
	X, Width int
	Class    string
	Address  string
	Title    string
	steps    int
}

// zooms are how many steps a timeline can show; 0 = all.
var zooms = []int{25, 100, 400, 0}

const usualZoom = 100

func (s *Server) addOverview(r *http.Request, page *runPage, p Project, f project.Finder, v *inspect.Status) error {
	ctx := r.Context()
	o := &overview{By: r.FormValue("by")}
	page.Overview = o
	if !slices.Contains([]string{inspect.ByVisits, inspect.ByTime, inspect.ByCost}, o.By) {
		o.By = inspect.ByVisits
	}
	zoom, err := strconv.Atoi(r.FormValue("zoom"))
	if err != nil || !slices.Contains(zooms, zoom) {
		zoom = usualZoom
	}
	until := int(number(r, "until", 0)) //nolint:gosec // the window cuts it
	most := zoom
	if zoom == 0 {
		most = len64max
	}
	ready, err := s.chronicle(ctx, p, f, v.Run, func(c *chronicle) {
		steps, first, _ := c.window("", until, most)
		o.Lanes, o.Marks = lanes(steps, first, page.To)
		if first > 0 {
			o.Earlier = page.To + query("zoom", strconv.Itoa(zoom), "until", strconv.Itoa(first), "by", o.By)
		}
		page.drawGraph(ctx, f, v.Run, c)
	})
	if err != nil {
		return err
	}
	if page.Again = !ready; page.Again {
		page.drawGraph(ctx, f, v.Run, nil)
	}
	for _, by := range []string{inspect.ByVisits, inspect.ByTime, inspect.ByCost} {
		o.Measures = append(o.Measures, tab{Label: by, Address: page.To + query("by", by, "zoom", r.FormValue("zoom")), Here: by == o.By})
	}
	for _, z := range zooms {
		label := fmt.Sprintf("last %d", z)
		if z == 0 {
			label = "all"
		}
		o.Zooms = append(o.Zooms, tab{Label: label, Address: page.To + query("zoom", strconv.Itoa(z), "by", r.FormValue("by")), Here: z == zoom})
	}
	text, _ := tailOfLog(ctx, f, v, rowsNow, shownNow)
	o.Now = coloured(text)
	return nil
}

const len64max = 1 << 30

// drawGraph draws the loop, with what the run did where that was read.
func (page *runPage) drawGraph(ctx context.Context, f project.Finder, run persistence.Run, c *chronicle) {
	account := inspect.NewAccount(nil)
	if c != nil {
		account = c.account
		page.addNote(c.damage)
	}
	g, note, err := lookup.GraphOfRun(ctx, f, run, account, page.Overview.By)
	if err != nil {
		note = err.Error()
	}
	page.addNote(note)
	for i, n := range g.Nodes {
		g.Nodes[i].Current = n.Name == run.State && project.Alive(run)
	}
	g.Address = func(state string) string { return page.To + query("tab", "steps", "state", state) }
	page.Overview.Graph = template.HTML(g.Picture()) //nolint:gosec // the drawing escapes all texts in it
}

func (page *runPage) addNote(note string) {
	if note != "" && page.Note == "" {
		page.Note = note
	}
}

// lanes lays steps out in time, a lane for each state in the order in which they came. first is the place of the first of them.
func lanes(steps []step, first int, to string) (all []lane, marks []string) {
	if len(steps) == 0 {
		return nil, nil
	}
	begin, end := steps[0].begin, steps[0].end
	for _, s := range steps {
		begin, end = min(begin, s.begin), max(end, s.end)
	}
	whole := max(end-begin, 1)
	place := func(t int64) int { return int(1000 * (t - begin) / whole) }
	index := map[string]int{}
	for i, s := range steps {
		if s.path == "" {
			continue
		}
		k, ok := index[s.path]
		if !ok {
			k = len(all)
			all, index[s.path] = append(all, lane{State: s.path}), k
		}
		b := bar{X: place(s.begin), Class: s.Class(), steps: 1, Address: to + query("tab", "steps", "step", s.number)}
		b.Width = max(place(s.end)-b.X, 3)
		b.Title = strings.TrimSpace(fmt.Sprintf("%s %s %s, %s %s", s.number, s.path, s.verdict, humanize.Duration(s.took), s.apart))
		bars := all[k].Bars
		if n := len(bars); n > 0 && b.X < bars[n-1].X+bars[n-1].Width && b.Width <= 3 {
			last := &bars[n-1] // too close to tell apart: the bar stands for all of them, and shows the worst
			last.Width, last.steps = max(last.Width, b.X+b.Width-last.X), last.steps+1
			if worse(b.Class, last.Class) {
				last.Class = b.Class
			}
			last.Title = fmt.Sprintf("%s, %s", s.path, humanize.Count(last.steps, "step"))
			last.Address = to + query("tab", "steps", "until", strconv.Itoa(first+i+1))
			continue
		}
		all[k].Bars = append(bars, b)
	}
	for i := range 5 {
		marks = append(marks, clockOf(begin+whole*int64(i)/4, whole))
	}
	return all, marks
}

// clockOf is a moment below a timeline that spans so many milliseconds.
func clockOf(ms, whole int64) string {
	t := time.UnixMilli(ms)
	switch {
	case whole > 48*3600_000:
		return t.Format("Jan 2 15:04")
	case whole > 10_000:
		return t.Format("15:04:05")
	}
	return t.Format("05.000")
}

func worse(a, b string) bool {
	order := []string{"yes", "no", "now", "bad"}
	return slices.Index(order, a) > slices.Index(order, b)
}

// Class is how a step looks.
func (s step) Class() string {
	switch {
	case !s.over:
		return "now"
	case s.verdict == "error" || s.failed && s.verdict == "":
		return "bad"
	case s.verdict != "" && s.verdict != "yes":
		return "no"
	}
	return "yes"
}
