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
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/internal/lookup"
	"loops/internal/ui"
	"loops/internal/ui/views"
	"loops/persistence"
)

// How much of a run one page holds.
const (
	shownSteps  = 200
	shownEvents = 100
	shownOutput = 64 << 10 // of a step, in bytes
	shownText   = 64 << 10 // of a value or a definition
)

// A runPage is one run.
type runPage struct {
	Row      row
	Vitals   *inspect.Vitals
	Why      string
	Where    string
	Used     string
	Limits   string
	Next     string // the command that continues it
	Question *views.Pending
	Graph    template.HTML
	Note     string
	Steps    []stepRow // newest first
	Lanes    []lane
	All      int // how many steps there are
	Page     int
	Older    bool
	Told     *inspect.Part // the step that is asked for
	Output   string
	Memory   [][2]string
	Files    [][2]string // the definition, as recorded
	Events   []string    // newest first
	Can      map[string]bool
	Commands map[string]string // that do the same
	Wanted   string
}

// A stepRow is one visit of a state.
type stepRow struct {
	Number, State, Verdict, To, Evaluator, Took, Apart string
	Exit                                               string
	Failed, Over                                       bool
	begin, end                                         time.Time
}

// A lane of the timeline has the visits of a state, in thousandths of the time that is shown.
type lane struct {
	State string
	Bars  []bar
}

type bar struct {
	X, Width int
	Class    string
	Number   string
	Title    string
}

func (s *Server) runPage(w http.ResponseWriter, r *http.Request) {
	s.with(w, r, func(p Project, session *Session) error {
		page, err := s.readRun(r, p, session)
		if err == nil {
			s.render(w, r, "run", page.Row.ID, page)
		}
		return err
	})
}

// readRun reads all that the page of a run shows.
func (s *Server) readRun(r *http.Request, p Project, session *Session) (*runPage, error) {
	ctx := r.Context()
	status, err := session.Status(ctx, r.PathValue("run"))
	if err != nil {
		return nil, err
	}
	if status.Vitals == nil {
		return nil, &project.NoRunError{Arg: r.PathValue("run")}
	}
	v := status.Vitals
	f, err := session.Finder(ctx)
	if err != nil {
		return nil, err
	}
	run := v.Run
	page := &runPage{
		Row: rowOf(p, run), Vitals: v, Why: v.Why(), Where: v.WhereText(), Used: v.UsedText(), Limits: v.LimitsText(), Next: v.Resume, Wanted: r.FormValue("step"),
		Page: int(min(number(r, "page", 0), 1<<20)), //nolint:gosec // it was made small
	}
	if err := page.addSteps(ctx, f, run); err != nil {
		return nil, err
	}
	if page.Wanted != "" {
		if err := page.addStep(ctx, session, f, run); err != nil {
			return nil, err
		}
	}
	page.addQuestion(ctx, f, run)
	page.addMemory(ctx, f, run)
	page.addDefinition(ctx, f, run)
	page.addEvents(ctx, f, run)
	page.addCan(session, run)
	return page, nil
}

// addSteps reads what the run did: the newest steps, the timeline of them, and the graph.
func (page *runPage) addSteps(ctx context.Context, f project.Finder, run persistence.Run) error {
	prices, err := f.Project.Pricer()
	if err != nil {
		return err
	}
	account := inspect.NewAccount(prices)
	var visits []*inspect.Visit
	reader := &inspect.Reader{Done: func(v *inspect.Visit) { visits = append(visits, v) }}
	for e, err := range f.Store.EventsOf(ctx, run, 0) {
		if project.IsDamage(err) {
			page.Note = err.Error()
			continue
		}
		if err != nil {
			return f.Store.Failed(err)
		}
		account.Take(e)
		reader.Add(e)
	}
	reader.Close()
	slices.SortFunc(visits, func(a, b *inspect.Visit) int { return b.Index - a.Index })
	page.All = len(visits)
	first := min(page.Page*shownSteps, len(visits))
	last := min(first+shownSteps, len(visits))
	page.Older = last < len(visits)
	for _, v := range visits[first:last] {
		page.Steps = append(page.Steps, stepOf(v))
	}
	page.Lanes = lanes(page.Steps)
	g, note, err := lookup.GraphOfRun(ctx, f, run, account, "visits")
	if err != nil {
		note = err.Error()
	}
	if note != "" {
		page.Note = note
	}
	page.Graph = template.HTML(g.Picture()) //nolint:gosec // the drawing escapes all texts in it
	return nil
}

func stepOf(v *inspect.Visit) stepRow {
	s := stepRow{
		Number: v.Number(), State: v.Path(), Verdict: v.Verdict(), To: v.To(), Took: humanize.Duration(v.Took()), Apart: v.Apart(), Failed: v.Failed(), Over: v.Over() || v.To() != "" || v.Verdict() != "",
		begin: v.Begin, end: v.End,
	}
	s.Evaluator = v.Evaluator()
	if code, ended := v.Exit(); ended {
		s.Exit = strconv.Itoa(code)
	}
	return s
}

// lanes lays steps out in time, a lane for each state in the order in which they came.
func lanes(steps []stepRow) []lane {
	if len(steps) == 0 {
		return nil
	}
	begin, end := steps[len(steps)-1].begin, steps[0].end
	for _, s := range steps {
		if s.begin.Before(begin) {
			begin = s.begin
		}
		if s.end.After(end) {
			end = s.end
		}
	}
	whole := max(end.Sub(begin), time.Millisecond)
	place := func(t time.Time) int { return int(1000 * t.Sub(begin) / whole) }
	var all []lane
	index := map[string]int{}
	for _, s := range slices.Backward(steps) {
		i, ok := index[s.State]
		if !ok {
			i = len(all)
			all, index[s.State] = append(all, lane{State: s.State}), i
		}
		b := bar{X: place(s.begin), Number: s.Number, Title: s.Number + " " + s.State + " " + s.Verdict + " " + s.Took, Class: verdictClass(s)}
		b.Width = max(place(s.end)-b.X, 3)
		all[i].Bars = append(all[i].Bars, b)
	}
	return all
}

func verdictClass(s stepRow) string {
	switch {
	case !s.Over:
		return "now"
	case s.Failed:
		return "bad"
	case s.Verdict == "no":
		return "no"
	}
	return "yes"
}

// addStep reads why the step that is asked for went where it went, and what it printed.
func (page *runPage) addStep(ctx context.Context, session *Session, f project.Finder, run persistence.Run) error {
	story, err := session.Explain(ctx, string(run.ID), page.Wanted)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(story.Parts, func(p inspect.Part) bool { return p.Visit != nil })
	if i < 0 {
		return nil
	}
	page.Told = &story.Parts[i]
	first, last := page.Told.Visit.Span()
	var out strings.Builder
	for e, err := range f.Store.EventsOf(ctx, run, first) {
		if err != nil || e.Seq > last || out.Len() > shownOutput {
			break
		}
		if e.Kind == fsm.EventActionOutput && e.Depth == page.Told.Visit.Depth() {
			out.WriteString(value.Text(e.Get("line")) + "\n")
		}
	}
	page.Output = cut(out.String())
	return nil
}

// cut is the beginning of a text that is too long for a page.
func cut(text string) string {
	if len(text) <= shownText {
		return text
	}
	return text[:shownText] + fmt.Sprintf("\n… %d bytes more", len(text)-shownText)
}

func (page *runPage) addQuestion(ctx context.Context, f project.Finder, run persistence.Run) {
	open, err := lookup.Asked(ctx, f.Store, string(run.ID))
	if err != nil || len(open) == 0 {
		return
	}
	page.Question = &views.Pending{Run: open[0].Run, Question: open[0].Question, Several: len(open) > 1}
}

func (page *runPage) addMemory(ctx context.Context, f project.Finder, run persistence.Run) {
	m, err := f.Store.MemoryOf(ctx, run)
	if err != nil || m == nil {
		return
	}
	for _, part := range []struct {
		name string
		m    *value.Map
	}{{"context", m.Context}, {"captured", m.Captured}} {
		if part.m == nil {
			continue
		}
		for key, v := range part.m.All() {
			text, ok := v.(string)
			if !ok {
				text = string(value.AppendJSON(nil, v))
			}
			page.Memory = append(page.Memory, [2]string{part.name + "." + key, cut(text)})
		}
	}
}

func (page *runPage) addDefinition(ctx context.Context, f project.Finder, run persistence.Run) {
	def, err := f.Store.ReadDefinitionOf(ctx, run)
	if err != nil || def == nil {
		return
	}
	for _, l := range def.Loops {
		page.Files = append(page.Files, [2]string{l.File, cut(string(l.Text()))})
	}
}

func (page *runPage) addEvents(ctx context.Context, f project.Finder, run persistence.Run) {
	last, _, _ := lookup.LastEvents(f.Store.EventsOf(ctx, run, 0), func(fsm.Event) bool { return true }, shownEvents)
	for _, e := range slices.Backward(last) {
		page.Events = append(page.Events, cut(string(value.AppendJSON(nil, ui.EventObject(e)))))
	}
}

// addCan says what can be done to the run now, and which commands do the same.
func (page *runPage) addCan(session *Session, run persistence.Run) {
	alive, stands := project.Alive(run), page.Vitals.Stands()
	page.Can = map[string]bool{"stop": alive, "pause": alive && !stands, "unpause": stands, "resume": !alive && run.Resumable, "extend": alive, "fork": true, "signal": alive || run.Resumable}
	command, id := session.Page.Command, string(run.ID)
	page.Commands = map[string]string{
		"stop": command("stop", id), "pause": command("pause", id), "unpause": command("unpause", id), "resume": command("resume -b", id),
		"extend": command("extend", id, "steps=20"), "fork": command("fork -b --at=last", id), "signal": command("signal", id, "EVENT"), "answer": command("answer", id, "CHOICE"),
	}
}
