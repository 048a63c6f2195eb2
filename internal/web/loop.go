package web

import (
	"cmp"
	"fmt"
	"html/template"
	"net/http"
	"os"
	"slices"
	"strings"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/loopfile"
	"loops/fsm/value"
	"loops/internal/diagram"
	"loops/internal/dryrun"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/internal/service"
	"loops/internal/tryout"
	"loops/persistence"
)

// A loopsPage has the loops of all projects.
type loopsPage struct {
	Rows     []loopRow
	Projects []string
}

// A loopRow is a loop with what became of its last runs, oldest first.
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
	all, err := session.Loops(service.LoopFilter{})
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

// loopRow reads what became of the last runs of a loop.
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
	for _, run := range project.Current(runs) {
		l.Last = append(l.Last, rowOf(p, run))
		if run.Status == persistence.Completed {
			good++
		}
		if project.Alive(run) || run.Resumable {
			continue
		}
		ended++
		times = append(times, inspect.Elapsed(run).Seconds())
		if cost := s.spent.read(r.Context(), f, p.Name, run); cost.asked && cost.known {
			costs = append(costs, cost.usd)
		}
	}
	slices.Reverse(l.Last)
	if ended > 0 {
		l.Rate, l.MedianTime = fmt.Sprintf("%d%%", 100*good/max(ended, good)), humanize.InSeconds(median(times))
	}
	if len(costs) > 0 {
		l.MedianCost = humanize.USD(median(costs))
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
			page.Facts = append(page.Facts, [2]string{"States", fmt.Sprint(len(l.Order))}, [2]string{"Step cap", fmt.Sprint(l.MaxSteps)})
		}
		if page.Row, err = s.loopRow(r, p, session, entry); err != nil {
			return err
		}
		for _, f := range [][2]string{{"Completed", page.Row.Rate}, {"Median time", page.Row.MedianTime}, {"Median cost", page.Row.MedianCost}} {
			if f[1] != "" {
				page.Facts = append(page.Facts, f)
			}
		}
		lines := strings.Split(string(text), "\n")
		for _, pr := range loaded.All() {
			page.Problems = append(page.Problems, found(session, pr, path, lines))
		}
		s.render(w, r, "loop", name, page)
		return nil
	})
}

// found is a problem as a page shows it.
func found(session *Session, pr fsm.Problem, path string, lines []string) finding {
	f := finding{Error: pr.Severity == fsm.SeverityError, Text: pr.Message, Rule: pr.Rule, Where: fmt.Sprintf("%s:%d:%d", session.Project.Short(cmp.Or(pr.Pos.File, path)), pr.Pos.Line, pr.Pos.Col)}
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
	if err := inside(name); err != nil {
		return loaded, "", err
	}
	if path, err = lib.Find(name); err != nil {
		return loaded, "", err
	}
	loaded, err = lib.Load(path)
	return loaded, path, err
}

// A startForm is what a run is started with.
type startForm struct {
	Project, Loop, Title string
	Inputs               []input
	Input                string
	Problem              string
	Broken               bool
	Command              string
	Walk                 *walk // of a dry run; nil = none was asked for
}

// An input is a field of a form.
type input struct {
	Name, Kind, Value, About string
	Given                    string // in the form that a dry run was asked with
	Required                 bool
	Values                   []string
}

// A walk is what a dry run did.
type walk struct {
	Scenarios []tab
	Steps     []walked
	More      int
	End       string
	Problem   string
}

type walked struct{ State, Action, Verdict, Class string }

// Limits of a dry run in a page.
const (
	mostWalked  = 2000
	shownWalked = 100
)

func (s *Server) startPage(w http.ResponseWriter, r *http.Request) {
	s.with(w, r, func(p Project, session *Session) error {
		name := r.FormValue("loop")
		loaded, _, err := loadLoop(session, name)
		if err != nil {
			return err
		}
		given := fields{}
		for key, values := range r.URL.Query() {
			given[key] = values[0]
		}
		form := startForm{Project: p.Name, Loop: name, Input: given["input"], Command: session.Page.CommandWith("run", append([]string{"-b"}, flags("--context", given.pairs())...), name)}
		if form.Broken = loaded.Loop == nil; form.Broken {
			form.Problem = "This loop has mistakes and cannot run. See them with: " + session.Page.Command("validate", name)
		} else {
			form.Title, form.Inputs = strings.TrimSpace(loaded.Loop.Description), inputs(loaded.Loop, given)
			if given["dry"] != "" {
				form.Walk = rehearse(r, session, loaded.Loop, name, given)
			}
		}
		s.render(w, r, "start", "Start "+name, form)
		return nil
	})
}

// rehearse walks through a loop with made-up results. Nothing is run.
func rehearse(r *http.Request, session *Session, l *fsm.Loop, name string, given fields) *walk {
	scenario := given["scenario"]
	if !slices.Contains(dryrun.Scenarios(), scenario) {
		scenario = dryrun.Scenarios()[0]
	}
	out := &walk{}
	for _, sc := range dryrun.Scenarios() {
		q := r.URL.Query()
		q.Set("scenario", sc)
		out.Scenarios = append(out.Scenarios, tab{Label: sc, Address: "?" + q.Encode(), Here: sc == scenario})
	}
	desk := tryout.Desk{
		Project: session.Project, Getenv: func(string) (string, bool) { return "", false }, Warn: func(bool) engine.Warn { return nil },
		Shown: func(err error) error { return err }, Code: func(fsm.Outcome) int { return 0 },
	}
	try := tryout.Simulation{Name: name, Context: given.pairs(), Scenario: scenario, Runs: 1, JSON: true, Quiet: true}
	if given["input"] != "" {
		input := given["input"]
		try.Input = &input
	}
	if l.MaxSteps > mostWalked {
		try.MaxSteps = mostWalked
	}
	try.Describe()
	o, err := desk.Simulate(r.Context(), &try)
	if err != nil {
		out.Problem = session.InWords(err).Error()
	}
	if o == nil {
		return out
	}
	path, _ := o.Value("path").([]any)
	for i, at := range path {
		if i == shownWalked {
			out.More = len(path) - i
			break
		}
		m, ok := at.(*value.Map)
		if !ok {
			continue
		}
		v := inspect.Text(m.Value("verdict"))
		out.Steps = append(out.Steps, walked{inspect.Text(m.Value("state")), humanize.FirstLine(inspect.Text(m.Value("action"))), v, step{over: true, verdict: v}.Class()})
	}
	if end, ok := o.Value("end").(*value.Map); ok {
		out.End = fmt.Sprintf("It would end in %s: %s, after %s.", inspect.Text(end.Value("final_state")), inspect.Text(end.Value("terminated_by")), humanize.Count(len(path), "step"))
	}
	return out
}

// inputs are the fields of a form that starts a loop: its parameters, and those values of its context that are no objects.
func inputs(l *fsm.Loop, given fields) []input {
	var all []input
	named := map[string]bool{}
	for _, p := range l.Parameters {
		in := input{Name: p.Name, Kind: p.Type, About: p.Description, Required: p.Required, Given: given[fieldPrefix+p.Name]}
		if p.Default != nil {
			in.Value = inspect.Text(p.Default)
		}
		for _, v := range p.Values {
			in.Values = append(in.Values, inspect.Text(v))
		}
		all, named[p.Name] = append(all, in), true
	}
	if l.Context == nil {
		return all
	}
	for key, v := range l.Context.All() {
		switch v.(type) {
		case *value.Map, []any:
			continue
		}
		if !named[key] {
			all = append(all, input{Name: key, Kind: "string", Value: inspect.Text(v), Given: given[fieldPrefix+key]})
		}
	}
	return all
}
