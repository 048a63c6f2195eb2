package web

import (
	"context"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/app"
	"loops/internal/auth"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/internal/view"
	"loops/persistence"
)

// How much of a run one page holds.
const (
	shownSteps  = 200
	shownEvents = 100
	shownOutput = 64 << 10 // of a step, in bytes
	shownText   = 64 << 10 // of a value or a definition
	shownLog    = 96 << 10
	shownNow    = 4 << 10 // of what is printed now
	rowsNow     = 60      // lines of that
)

// The parts of the page of a run. Each is an address of its own, so that it can be read and sent without a script.
var runTabs = [][2]string{
	{"", "Overview"},
	{"steps", "Steps"},
	{"logs", "Logs"},
	{"context", "Context"},
	{"definition", "Definition"},
	{"events", "Events"},
	{"files", "Files"},
	{"related", "Related"},
}

// A runPage is one run. Of its parts only the one that is asked for is read.
type runPage struct {
	Row           row
	To            string // the address of the run
	Dir           string
	Tab           string
	MoreQuestions string // how many others there are; "" = none
	Tabs          []tab
	Lead          string
	Doing         string
	Facts         []fact
	Receipt       []view.ReceiptLine // of its overview; nil = it has none
	Gauges        []gauge
	Alarms        []raised              // about the run, that are not over
	Questions     []question            // that have no answer
	Answers       []inspect.GivenAnswer // the last ones
	Note          string
	Again         bool // its history is still being read: the page is to be fetched again
	Can           map[string]bool
	Commands      map[string]string // that do the same
	FailedItems   int               // of the list that decided how the run ended
	Items         string            // which items of a list are shown: all, or "failed"
	Raise         string            // limits that a run needs raised to be resumed, as the form has them; "" = none
	Prefix        string            // of the ids of those steps that a fork may begin with

	Overview   *overview
	Steps      *stepsPart
	Log        template.HTML
	LogCut     bool
	Memory     []valueRow
	Lessons    []app.RunFact // what it began with and left in memories of loops
	Definition *definitionPart
	Events     *eventsPart
	Files      *filesPart
	Related    *relatedPart
}

type tab struct {
	Name, Label, Address string
	Count                int
	Here                 bool
}

// A gauge is how much of a limit is used.
type gauge struct {
	Title, Amount, Class string
	Percent              int
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

// readRun reads what the page of a run shows.
func (s *Server) readRun(r *http.Request, p Project, session *Session) (*runPage, error) {
	ctx := r.Context()
	status, err := session.Status(ctx, r.PathValue("run"))
	if err != nil {
		return nil, err
	}
	if status.Status == nil {
		return nil, &project.NoRunError{Arg: r.PathValue("run")}
	}
	f, err := session.Finder(ctx)
	if err != nil {
		return nil, err
	}
	v := status.Status
	page := &runPage{
		Row: rowOf(p, v.Run), To: s.runAddress(p.Name, string(v.Run.ID)), Dir: p.Dir,
		Tab: r.FormValue("tab"),
	}
	if r.FormValue("step") != "" && page.Tab == "" {
		page.Tab = "steps"
	}
	page.Row.Status, page.Row.Waits = v.StatusText(), len(v.Asks) > 0
	page.addHead(v)
	if len(v.Run.Damage) > 0 {
		page.addNote("Damaged: " + strings.Join(v.Run.Damage, "; "))
	}
	for _, a := range raisedIn(ctx, p, f) {
		if a.Run == v.Run.ID {
			page.Alarms = append(page.Alarms, a)
		}
	}
	page.addCan(session, v)
	page.addRaise(session, engine.GoOnRemedy(ctx, f.Store, v.Run))
	if !may(r, auth.Operator) {
		page.Can = nil
	}
	page.addQuestions(session, v)
	page.Items = r.FormValue("items")
	if err := s.addTab(ctx, r, page, p, session, f, v); err != nil {
		return nil, err
	}
	for _, t := range runTabs {
		n := 0
		if t[0] == "steps" {
			n = v.Run.Step
		}
		page.Tabs = append(page.Tabs, tab{t[0], t[1], page.To + query("tab", t[0]), n, t[0] == page.Tab})
	}
	return page, nil
}

// addTab reads the part that is asked for.
func (s *Server) addTab(ctx context.Context, r *http.Request, page *runPage, p Project, session *Session,
	f project.Finder, v *inspect.Status,
) error {
	switch page.Tab {
	case "steps":
		return s.addSteps(r, page, p, session, f, v.Run)
	case "logs":
		page.addLog(ctx, f, v)
	case "context":
		page.addMemory(ctx, f, v.Run)
	case "definition":
		page.addDefinition(ctx, session, f, v.Run)
	case "events":
		return page.addEvents(r, f, v.Run)
	case "files":
		return page.addFiles(r, session, v.Run)
	case "related":
		return page.addRelated(ctx, p, f, v.Run)
	default:
		page.Tab = ""
		if err := page.addReceipt(ctx, session, v.Run); err != nil {
			return err
		}
		return s.addOverview(r, page, p, f, v)
	}
	return nil
}

// addReceipt adds the receipt of a run that completed, if it has one.
func (page *runPage) addReceipt(ctx context.Context, session *Session, run persistence.Run) error {
	if run.Status != persistence.Completed {
		return nil
	}
	r, err := session.Receipt(ctx, string(run.ID))
	if err == nil && r.Receipt != nil {
		page.Receipt = view.ReceiptLines(r)
	}
	return err
}

// mostGauges is how many limits a page shows, the nearest first.
const mostGauges = 8

// query writes pairs of a name and a value after an address, without those that are empty.
func query(pairs ...string) string {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	if len(q) == 0 {
		return ""
	}
	return "?" + q.Encode()
}

// addHead adds where the run is, in a sentence and in facts.
func (page *runPage) addHead(v *inspect.Status) {
	run := v.Run
	switch page.Lead = page.Row.Reason; {
	case v.Alive && v.Paused():
		page.Lead = "It is " + v.PausedText() + "."
	case page.Lead != "":
	case v.Wait != nil:
		page.Lead = "It waits for " + strings.Join(v.WaitLines(), "; ") + "."
	default:
		page.Lead = "It is in state " + v.WhereText() + "."
	}
	if v.Alive && v.Wait == nil && v.Glance.Acting != nil {
		page.Doing = v.ActionText()
	}
	add := func(name, text string) {
		if text != "" {
			page.Facts = append(page.Facts, fact{Name: name, Text: text})
		}
	}
	add("State", v.WhereText())
	if i := v.Items(); i != nil {
		text := fmt.Sprintf("%d of %d", i.Done, i.Items)
		if i.Failed > 0 {
			text += fmt.Sprintf(", %d failed", i.Failed)
		}
		add("Items", text)
	}
	add("Branches", v.BranchesText())
	add("Step", inspect.StepText(run))
	add("Took", humanize.Duration(v.Elapsed()))
	page.Facts = append(page.Facts, fact{Name: "Started", At: run.StartedAt})
	if v.Memory != nil && v.Memory.Context != nil {
		input, _ := v.Memory.Context.Value("input").(string)
		add("Input", firstOf(input))
	}
	add("Used", v.UsedText())
	if v.Alive && run.Owner.PID != 0 {
		add("Owner", run.Owner.String())
	}
	for _, l := range v.Limits {
		if !l.Near() || len(page.Gauges) == mostGauges {
			continue
		}
		g := gauge{
			Title: l.Title(l.Loop != run.Loop), Amount: l.Amount(), Percent: min(100, int(100*l.Share())),
			Class: "calm",
		}
		switch {
		case l.Share() >= 0.95:
			g.Class = "full"
		case l.Share() >= 0.75:
			g.Class = "near"
		}
		page.Gauges = append(page.Gauges, g)
	}
	if v.Unread != nil {
		page.Note = v.Unread.Error()
	}
}

// addCan says what can be done to the run now, and which commands do the same.
func (page *runPage) addCan(session *Session, v *inspect.Status) {
	run := v.Run
	alive, stands := project.Alive(run), v.Paused()
	page.Can = map[string]bool{
		"stop": alive || run.Status == persistence.Queued || run.Ended == fsm.EndSuspended, "pause": alive && !stands,
		"unpause": stands, "resume": !alive && run.Resumable && !run.Carried(), "extend": alive, "fork": true,
		"retry": engine.CanRetry(run), "signal": alive || run.Resumable,
		"bundle": !alive && !run.Held, "retry-now": alive && !stands && retries(v), "remove": !alive,
		"unblock": (run.Ended == fsm.EndSuspended || run.Status == persistence.Queued) &&
			inspect.SuspendedBy(run) != "",
	}
	again := []string{"-b"}
	if page.FailedItems = run.FailedItems; page.FailedItems > 0 {
		again = append(again, "--retry-failed")
	}
	command, with, id := session.Page.Command, session.Page.CommandWith, string(run.ID)
	page.Commands = map[string]string{
		"stop": command("stop", id), "pause": command("pause", id), "unpause": command("unpause", id),
		"resume": with("resume", []string{"-b"}, id),
		"extend": command("extend", id, "steps=20"), "fork": with("fork", []string{"-b"}, id),
		"retry": with("retry", again, id), "signal": command("signal", id, "EVENT"),
		"retry-now": command("retry-now", id), "unblock": command("unblock", inspect.SuspendedBy(run)),
		"remove": with("rm", []string{"-f"}, id), "report": command("report", id), "export": command("export", id),
	}
}

// addRaise has a run that ended at a limit resumed with a higher one, as its end says.
func (page *runPage) addRaise(session *Session, remedy engine.Remedy) {
	for _, s := range remedy.With {
		if s.Name == engine.SetExtend && s != engine.AnyLimit {
			page.Raise = s.Value
			page.Commands["resume"] = session.Page.CommandWith("resume", []string{"-b", "--extend", s.Value},
				page.Row.ID)
		}
	}
}

// retries reports whether the run, or a branch or an item of it, waits for what retry-now ends; another one may
// ask a question meanwhile.
func retries(v *inspect.Status) bool {
	return v.Memory != nil && slices.ContainsFunc(v.Memory.Waits(), func(w fsm.OpenWait) bool {
		return w.Why != fsm.WaitPaused && w.Why != fsm.WaitState
	})
}

// addQuestions adds what the run asks, and who answered what before.
func (page *runPage) addQuestions(session *Session, v *inspect.Status) {
	open := v.Asks
	for _, q := range open[:min(len(open), mostQuestions)] {
		asked := question{OpenQuestion: q, Command: session.Page.AnswerCommand(string(v.Run.ID), q)}
		if !(engine.Answer{Known: session.Known}).MayAnswer(q) {
			asked.Others = humanize.And(q.Who)
		}
		page.Questions = append(page.Questions, asked)
	}
	page.Answers = v.Answers[max(0, len(v.Answers)-mostAnswers):]
	if n := len(open) - mostQuestions; n > 0 {
		page.MoreQuestions = humanize.Count(n, "more question")
	}
}

// A question is one that the page asks.
type question struct {
	*fsm.OpenQuestion
	Command string // that answers it
	Others  string // who can answer it, where the user who asks cannot; "" = the user can
}

// Where is the branch or the item that asks it, "" if none does.
func (q question) Where() string {
	if q.Path == "" || q.Path == q.Wait.State {
		return ""
	}
	return inspect.PlaceText(q.Path)
}

// How many questions and answers of a run its page shows.
const (
	mostQuestions = 10
	mostAnswers   = 20
)

// cut is the beginning of a text that is too long for a page.
func cut(text string) string {
	if len(text) <= shownText {
		return text
	}
	return text[:shownText] + fmt.Sprintf("\n… %d bytes more", len(text)-shownText)
}

// A fact is a row of what is known of a run: a text, or a time.
type fact struct {
	Name, Text string
	At         time.Time
}
