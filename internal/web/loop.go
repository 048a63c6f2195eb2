package web

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"loops/engine/project"
	"loops/engine/trigger"
	"loops/fsm"
	"loops/fsm/loopfile"
	"loops/internal/app"
	"loops/internal/diagram"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/internal/view"
	"loops/persistence"
)

// A loopsPage has the loops of all projects.
type loopsPage struct {
	Rows     []loopRow
	Projects []string
}

// A loopRow is a loop with the result of its last runs, oldest first.
type loopRow struct {
	Project string
	loopfile.Entry
	Last       []row
	Rate       string // how many of those that ended were completed
	MedianTime string
	MedianCost string
}

const sparkRuns = 20

func (s *Server) loopsPage(w http.ResponseWriter, r *http.Request) {
	var rows []loopRow
	for _, p := range s.Projects {
		session, err := p.Open()
		if err == nil {
			rows, err = s.appendLoops(r, rows, p, session)
			session.Close()
		}
		if err != nil {
			s.refuse(w, r, http.StatusInternalServerError, err.Error())
			return
		}
	}
	page := loopsPage{Rows: rows}
	for _, p := range s.Projects {
		page.Projects = append(page.Projects, p.Name)
	}
	s.render(w, r, "loops", "Loops", page)
}

func (s *Server) appendLoops(r *http.Request, rows []loopRow, p Project, session *Session) ([]loopRow, error) {
	all, err := session.Loops(app.LoopFilter{})
	if err != nil {
		return nil, session.InWords(err)
	}
	for _, e := range slices.Concat(all.Own, all.Catalog) {
		l, err := s.loopRow(r, p, session, e)
		if err != nil {
			return nil, session.InWords(err)
		}
		rows = append(rows, l)
	}
	return rows, nil
}

// loopRow reads the result of the last runs of a loop.
func (s *Server) loopRow(r *http.Request, p Project, session *Session, e loopfile.Entry) (loopRow, error) {
	l := loopRow{Project: p.Name, Entry: e}
	f, err := session.Finder(r.Context())
	if err != nil {
		return l, err
	}
	runs, err := f.Store.Runs(r.Context(), persistence.Query{Loop: e.Loop, Limit: sparkRuns})
	if err != nil {
		return l, f.Store.Failed(err)
	}
	good, ended := 0, 0
	var times, costs []float64
	unknown := false // what a run cost
	for _, run := range project.Current(runs) {
		l.Last = append(l.Last, rowOf(p, run))
		if run.Status == persistence.Completed && !run.Unmerged() {
			good++
		}
		if project.Alive(run) || run.Resumable {
			continue
		}
		ended++
		times = append(times, inspect.Elapsed(run).Seconds())
		switch cost := s.spent.read(r.Context(), f, p.Name, run); {
		case cost.spent.Asked() && cost.spent.Unknown > 0:
			unknown = true
		case cost.spent.Asked():
			costs = append(costs, cost.spent.CostUSD)
		}
	}
	slices.Reverse(l.Last)
	if ended > 0 {
		l.Rate, l.MedianTime = fmt.Sprintf("%d%%", 100*good/max(ended, good)), humanize.InSeconds(median(times))
	}
	switch {
	case len(costs) > 0:
		l.MedianCost = humanize.USD(median(costs))
	case unknown:
		l.MedianCost = "unknown"
	}
	return l, nil
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[(len(all)-1)/2]
}

// A loopPage is one loop.
type loopPage struct {
	Project, Name, About, File, Text string
	Effective                        bool // the text is the loop as it is put together, each key with its place
	Row                              loopRow
	Facts                            [][2]string
	Next                             time.Time       // when its schedule starts it; zero = never, or it has none
	Memory                           *app.MemoryFile // what runs left for later ones; nil = nothing
	Problems                         []finding
	Graph                            template.HTML
}

// A finding is a problem of a loop, with the line it is in and a caret below.
type finding struct {
	Error                     bool
	Where, Text, Rule, Source string
}

func (s *Server) loopPage(w http.ResponseWriter, r *http.Request) {
	s.with(w, r, func(p Project, session *Session) error {
		name := r.FormValue("loop")
		loaded, path, err := loadLoop(session, name)
		if err != nil {
			return err
		}
		page := loopPage{Project: p.Name, Name: name, File: session.Project.Short(path)}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		page.Text = cut(string(text))
		if page.Effective = r.FormValue("view") == "effective" && loaded.Loop != nil; page.Effective {
			lib, err := session.Project.Library()
			if err != nil {
				return err
			}
			whole, _, err := lib.Files.Effective(path, true)
			if err != nil {
				return err
			}
			page.Text = cut(string(whole))
		}
		entry := loopfile.Entry{Name: name, Loop: name, Path: path}
		if l := loaded.Loop; l != nil {
			page.About, entry.Loop = strings.TrimSpace(l.Description), l.Name
			page.Graph = template.HTML(diagram.Of(l).Picture()) //nolint:gosec // the drawing escapes all texts in it
			page.Facts = append(page.Facts, [2]string{"States", fmt.Sprint(len(l.Order))},
				[2]string{"Step cap", fmt.Sprint(l.MaxSteps)})
		}
		if page.Row, err = s.loopRow(r, p, session, entry); err != nil {
			return err
		}
		for _, f := range [][2]string{
			{"Completed", page.Row.Rate},
			{"Median time", page.Row.MedianTime},
			{"Median cost", page.Row.MedianCost},
		} {
			if f[1] != "" {
				page.Facts = append(page.Facts, f)
			}
		}
		if err := page.addSchedule(r.Context(), session, entry.Loop); err != nil {
			return err
		}
		if m, err := app.FindMemory(session.Project, entry.Loop); err == nil { // most loops have none
			page.Memory = m
		}
		lines := strings.Split(string(text), "\n")
		for _, pr := range loaded.All() {
			page.Problems = append(page.Problems, found(session, pr, path, lines))
		}
		s.render(w, r, "loop", name, page)
		return nil
	})
}

// addSchedule adds when the loop runs by itself.
func (page *loopPage) addSchedule(ctx context.Context, session *Session, loop string) error {
	all, _, err := trigger.ListSchedules(ctx, session.Project, time.Now()) // files with mistakes have findings
	if err != nil {
		return session.InWords(err)
	}
	for _, l := range all {
		if l.Loop != loop && l.Loop != page.Name {
			continue
		}
		line := view.ScheduleLine(&l.Schedule)
		if l.Paused != nil {
			line += ", paused by " + l.Paused.By
		}
		page.Facts, page.Next = append(page.Facts, [2]string{"Schedule", line}), l.Next
	}
	return nil
}

// found is a problem as a page shows it.
func found(session *Session, pr fsm.Problem, path string, lines []string) finding {
	f := finding{
		Error: pr.Severity == fsm.SeverityError, Text: pr.Message, Rule: pr.Rule,
		Where: fmt.Sprintf("%s:%d:%d", session.Project.Short(cmp.Or(pr.Pos.File, path)), pr.Pos.Line, pr.Pos.Col),
	}
	if (pr.Pos.File == "" || pr.Pos.File == path) && pr.Pos.Line > 0 && pr.Pos.Line <= len(lines) {
		f.Source = lines[pr.Pos.Line-1] + "\n" + strings.Repeat(" ", min(max(0, pr.Pos.Col-1), 200)) + "^"
	}
	return f
}

// loadLoop reads a loop of the project.
func loadLoop(session *Session, name string) (loaded project.Loaded, path string, err error) {
	lib, err := session.Project.Library()
	if err != nil {
		return loaded, "", err
	}
	if err := session.Project.CheckInside(name); err != nil {
		return loaded, "", err
	}
	if path, err = lib.Find(name); err != nil {
		return loaded, "", err
	}
	loaded, err = lib.Load(path)
	return loaded, path, err
}
