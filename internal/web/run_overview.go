package web

import (
	"context"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strconv"

	"loops/engine/project"
	"loops/internal/app"
	"loops/internal/inspect"
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

// zooms are how many steps a timeline can show; 0 = all.
var zooms = []int{25, 100, 400, 0}

const usualZoom = 100

func (s *Server) addOverview(r *http.Request, page *runPage, p Project, f project.Finder, v *inspect.Status) error {
	ctx := r.Context()
	o := &overview{By: r.FormValue("by")}
	page.Overview = o
	if !slices.Contains(inspect.Measures(), o.By) {
		o.By = inspect.ByOutcome
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
		o.Lanes, o.Marks = lanes(steps, c.parts.of(first, first+len(steps)), first, page.To)
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
	for _, by := range inspect.Measures() {
		o.Measures = append(o.Measures,
			tab{Label: by, Address: page.To + query("by", by, "zoom", r.FormValue("zoom")), Here: by == o.By})
	}
	for _, z := range zooms {
		label := fmt.Sprintf("last %d", z)
		if z == 0 {
			label = "all"
		}
		o.Zooms = append(o.Zooms,
			tab{
				Label: label, Address: page.To + query("zoom", strconv.Itoa(z), "by", r.FormValue("by")),
				Here: z == zoom,
			})
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
	g, note, err := app.GraphOfRun(ctx, f, run, account, page.Overview.By)
	if err != nil {
		note = err.Error()
	}
	page.addNote(note)
	for i, n := range g.Nodes {
		g.Nodes[i].Current = n.Name == run.State && (project.Alive(run) || run.Resumable)
	}
	g.Address = func(state string) string { return page.To + query("tab", "steps", "state", state) }
	page.Overview.Graph = template.HTML(g.Picture()) //nolint:gosec // the drawing escapes all texts in it
}

func (page *runPage) addNote(note string) {
	if note != "" && page.Note == "" {
		page.Note = note
	}
}

// Class is how a step looks.
func (s step) Class() string {
	switch {
	case !s.over:
		return "now"
	case s.fatal:
		return "bad"
	}
	return classOf(s.verdict, s.failed)
}

// classOf returns the class of a verdict: yes is a success, bad a failure, no neither. Without a verdict the
// action decides.
func classOf(verdict string, failed bool) string {
	switch tone := inspect.ToneOf(verdict); {
	case tone == inspect.Failure || verdict == "" && failed:
		return "bad"
	case tone == inspect.Success || verdict == "":
		return "yes"
	}
	return "no"
}
