package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/loopfile"
	"loops/fsm/value"
	"loops/internal/api"
	"loops/internal/app"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/internal/process"
	"loops/internal/report"
	"loops/internal/view"
	"loops/persistence"
)

// liveStderr is what the action that runs wrote to standard error: it is recorded with the action when that ends.
func liveStderr(f project.Finder, run persistence.Run) string {
	if !project.Alive(run) {
		return ""
	}
	tail := process.StderrTail{Dir: f.Project.RunDir(run.ID)}
	defer tail.Close()
	var b strings.Builder
	tail.Read(func(_, text string) {
		if b.Len() < shownOutput {
			b.WriteString(text + "\n")
		}
	})
	return b.String()
}

// tailOfLog is the end of what the actions of a run printed, at most so many lines and bytes of it, with a
// heading a step, and whether there is more before it.
func tailOfLog(ctx context.Context, f project.Finder, v *inspect.Status, rows, most int) (text string, more bool) {
	var lines []string
	size := 0
	// what cannot be read is left out; the history reports it
	_ = f.Store.Newest(ctx, v.Run.ID, func(e fsm.Event) bool {
		line := ""
		switch e.Kind {
		case fsm.EventActionOutput:
			line = cutLine(inspect.Text(e.Get("line")))
		case fsm.EventActionComplete, fsm.EventItemEnd:
			if line, _ = e.Get("stderr_preview").(string); line != "" {
				line = "\x1b[2m" + strings.ReplaceAll(cut(strings.TrimRight(line, "\n")), "\n", "\n\x1b[2m") + "\x1b[0m"
			}
		case fsm.EventStateEnter:
			line = "\x1b[1;34m── " + strconv.FormatInt(inspect.Whole(e.Get("iteration")), 10) + " " +
				inspect.Text(e.Get("state")) + "\x1b[0m"
		}
		if line == "" {
			return true
		}
		if size += len(line) + 1; size > most || len(lines) == rows {
			more = true
			return false
		}
		lines = append(lines, line)
		return true
	})
	slices.Reverse(lines)
	text = strings.Join(lines, "\n")
	if live := liveStderr(f, v.Run); live != "" && v.Acting() > 0 {
		text += "\n\x1b[2m" + strings.ReplaceAll(strings.TrimRight(live, "\n"), "\n", "\n\x1b[2m")
	}
	return text, more
}

// cutLine is the beginning of a line that is too long to look at.
func cutLine(line string) string {
	const most = 4 << 10
	if len(line) <= most {
		return line
	}
	return line[:most] + fmt.Sprintf(" … %d bytes more", len(line)-most)
}

func (page *runPage) addLog(ctx context.Context, f project.Finder, v *inspect.Status) {
	text, more := tailOfLog(ctx, f, v, shownLog, shownLog)
	page.Log, page.LogCut = coloured(text), more
}

func (page *runPage) addMemory(ctx context.Context, f project.Finder, run persistence.Run) {
	m, err := f.Store.MemoryOf(ctx, run)
	if err != nil {
		page.addNote("What the run remembers cannot be read: " + err.Error())
	}
	if m != nil {
		page.Memory = valuesOf(m, false)
	}
	if page.Lessons, err = app.RunFacts(f.Project, run.ID, m); err != nil {
		page.addNote("What the run began with and left in memories cannot be read: " + err.Error())
	}
}

// A definitionPart is what the run was begun with, and how the file differs from that now.
type definitionPart struct {
	Files   []definedFile
	Changes []string
	Same    bool
	Note    string
}

type definedFile struct{ Name, Text string }

func (page *runPage) addDefinition(ctx context.Context, session *Session, f project.Finder, run persistence.Run) {
	part := &definitionPart{}
	page.Definition = part
	def, err := f.Store.ReadDefinitionOf(ctx, run)
	if err != nil || def == nil {
		part.Note = "The definition is not recorded, or cannot be read."
		return
	}
	for _, l := range def.Loops {
		part.Files = append(part.Files, definedFile{f.Project.Short(l.File), cut(string(l.Text()))})
	}
	was, _ := f.Ran(run, def)
	if was == nil {
		part.Note = "The recorded definition cannot be read by this version."
		return
	}
	now, err := loopNow(session, run, def)
	if err != nil {
		part.Note = "The file cannot be compared with it: " + session.InWords(err).Error()
		return
	}
	part.Changes = loopfile.Differences(was, now)
	part.Same = len(part.Changes) == 0
}

// loopNow is the loop of a run as its file is now.
func loopNow(session *Session, run persistence.Run, def *project.Definition) (*fsm.Loop, error) {
	lib, err := session.Project.Library()
	if err != nil {
		return nil, err
	}
	path := run.File
	if path == "" && len(def.Loops) > 0 {
		path = def.Loops[0].File
	}
	loaded, err := lib.Load(path)
	if err != nil {
		return nil, err
	}
	if loaded.Loop == nil {
		return nil, fmt.Errorf("%s has mistakes now; see them with: %s", session.Project.Short(path),
			session.Page.Command("validate", run.Loop))
	}
	return loaded.Loop, nil
}

// An eventsPart is a window of the events of a run.
type eventsPart struct {
	Rows  []eventRow // newest first
	Older string
	Newer string
	All   string
}

type eventRow struct {
	Seq               uint64
	Time              time.Time
	Kind, State, JSON string
	Summary           string
}

// summary is an event on one line, without its kind; "" = its kind says all.
func summary(e fsm.Event) string {
	text := inspect.EventText(e)
	switch {
	case e.Kind == fsm.EventNote || e.Kind == fsm.EventWarning:
		text = inspect.NoteText(e)
	case e.Kind == fsm.EventLoopStart: // the facts about git beside it are in the record
		text = inspect.Text(e.Get("loop"))
	case text == "":
		text = view.EventDetail(e, false, false)
	}
	return humanize.Cut(humanize.PlainLine(humanize.Uncoloured(humanize.FirstLine(text))), 160)
}

func (page *runPage) addEvents(r *http.Request, f project.Finder, run persistence.Run) error {
	part := &eventsPart{All: fmt.Sprintf("api/v1/projects/%s/runs/%s/events", page.Row.Project, page.Row.ID)}
	page.Events = part
	before := number(r, "before", 0)
	var events []fsm.Event // newest first
	if before == 0 {
		err := f.Store.Newest(r.Context(), run.ID, func(e fsm.Event) bool {
			events = append(events, e)
			return len(events) < shownEvents
		})
		if err != nil {
			page.addNote("Not all events can be read: " + err.Error())
		}
	} else {
		after := before - min(before, shownEvents+1)
		for e, err := range f.Store.EventsOf(r.Context(), run, after) {
			if project.IsDamage(err) {
				page.addNote(err.Error())
				continue
			}
			if err != nil {
				return f.Store.Failed(err)
			}
			if e.Seq >= before {
				break
			}
			events = append(events, e)
		}
		slices.Reverse(events)
		part.Newer = page.To + query("tab", "events", "before", strconv.FormatUint(before+shownEvents, 10))
	}
	for _, e := range events {
		part.Rows = append(part.Rows, eventRow{
			e.Seq, e.Time, string(e.Kind), inspect.Text(e.Get("state")),
			cutLine(string(value.AppendJSON(nil, api.EventOf(e)))), summary(e),
		})
	}
	if n := len(events); n > 0 && events[n-1].Seq > 1 {
		part.Older = page.To + query("tab", "events", "before", strconv.FormatUint(events[n-1].Seq, 10))
	}
	return nil
}

// A filesPart is one of the snapshots of the files of a run, and how it differs from the one before.
type filesPart struct {
	Note         string // why there are none
	Number, Of   int
	When         string
	At           time.Time
	Step         string // the address of the page of its step; "" = it is of none
	Older, Newer string
	Changed      string // how many files
	Diff         string
	Undo         string
}

func (page *runPage) addFiles(r *http.Request, session *Session, run persistence.Run) error {
	part := &filesPart{}
	page.Files = part
	d, err := session.SnapshotDiff(r.Context(), run, int(number(r, "at", 0)))
	if err != nil {
		if refused, ok := errors.AsType[*engine.Refusal](err); ok {
			part.Note = session.InWords(refused).Error()
			return nil
		}
		return err
	}
	part.Number, part.Of, part.When, part.At = d.Number, d.Of, d.Label()+view.SnapshotPlace(d.Snapshot), d.Time
	part.Changed, part.Diff = humanize.Count(d.Files, "file"), cut(d.Text)
	at := func(n int) string { return page.To + query("tab", "files", "at", strconv.Itoa(n)) }
	if d.Number > 1 {
		part.Older = at(d.Number - 1)
	}
	if d.Number < d.Of {
		part.Newer = at(d.Number + 1)
	}
	if a, ok := fsm.ParseAddress(d.Step); ok {
		part.Step = page.To + query("step", strconv.Itoa(a.Hops[0].Step))
	}
	if d.To != "" {
		part.Undo = session.Page.CommandWith("undo", []string{"--to=" + d.To}, string(run.ID))
	}
	return nil
}

// A relatedPart are the runs that this one was forked from, and those that were forked from it; the run whose
// action started it, and those that its own actions started.
type relatedPart struct {
	Parent  *row
	Step    int
	Forks   []relatedRow
	Starter *row
	Started []row
	Others  []row // of the same loop
}

type relatedRow struct {
	row
	At int
}

func (page *runPage) addRelated(ctx context.Context, p Project, f project.Finder, run persistence.Run) error {
	part := &relatedPart{}
	page.Related = part
	runs, err := f.Store.Runs(ctx, persistence.Query{Loop: run.Loop, Limit: 500})
	if err != nil {
		return f.Store.Failed(err)
	}
	for _, r := range project.Current(runs) {
		switch {
		case run.Origin != nil && r.ID == run.Origin.ID:
			parent := rowOf(p, r)
			part.Parent, part.Step = &parent, run.Origin.Step
		case r.Origin != nil && r.Origin.ID == run.ID:
			part.Forks = append(part.Forks, relatedRow{rowOf(p, r), r.Origin.Step})
		case r.ID != run.ID && len(part.Others) < 10:
			part.Others = append(part.Others, rowOf(p, r))
		}
	}
	return part.addStarted(ctx, p, f, run)
}

// mostStarted is among how many runs of its time those are looked for that a run started.
const mostStarted = 500

func (part *relatedPart) addStarted(ctx context.Context, p Project, f project.Finder, run persistence.Run) error {
	if id := inspect.Parent(run); id != "" {
		found, err := f.Store.Runs(ctx, persistence.Query{ID: id})
		if err != nil {
			return f.Store.Failed(err)
		}
		if found = project.Current(found); len(found) > 0 {
			starter := rowOf(p, found[0])
			part.Starter = &starter
		}
	}
	during := persistence.Filter{Since: run.StartedAt.Add(-time.Second)}
	if !project.Alive(run) {
		during.Until = run.UpdatedAt.Add(time.Second)
	}
	found, err := f.Store.Runs(ctx, persistence.Query{Limit: mostStarted, Filter: during})
	if err != nil {
		return f.Store.Failed(err)
	}
	for _, r := range project.Current(found) {
		if inspect.Parent(r) == run.ID {
			part.Started = append(part.Started, rowOf(p, r))
		}
	}
	return nil
}

// reportFile answers with the report of a run, to be kept.
func (s *Server) reportFile(w http.ResponseWriter, r *http.Request) {
	s.with(w, r, func(_ Project, session *Session) error {
		ctx := r.Context()
		f, err := session.Finder(ctx)
		if err != nil {
			return err
		}
		run, err := app.OneRun(ctx, f, r.PathValue("run"))
		if err != nil {
			return err
		}
		prices, err := f.Project.Pricer()
		if err != nil {
			return err
		}
		page := report.Page{
			Title: "Run " + string(run.ID),
			More:  session.Page.Command("history -v -n 0", string(run.ID)),
		}
		steps, account := &report.HTML{}, inspect.NewAccount(prices)
		if page.Notes, err = app.ReadSteps(ctx, f.Store, run, account, steps); err != nil {
			return err
		}
		graph, note, err := app.GraphOfRun(ctx, f, run, account, inspect.ByVisits)
		if err != nil {
			note = err.Error()
		}
		if page.Graph = graph; note != "" {
			page.Notes = append(page.Notes, note)
		}
		page.Facts = app.ReportFacts(f.Project, f.Store, run, account.Costs.Total)
		var b bytes.Buffer
		if err := page.Write(&b, steps); err != nil {
			return err
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Disposition", `attachment; filename="`+fileName(run.ID)+`.html"`)
		_, _ = w.Write(b.Bytes()) // the client may be gone
		return nil
	})
}

// fileName is the id of a run as the name of a file that needs no quotes.
func fileName(id persistence.ID) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.' {
			return r
		}
		return '_'
	}, filepath.Base(string(id)))
}
