package web

import (
	"cmp"
	"context"
	"errors"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/loopfile"
	"loops/fsm/value"
	"loops/internal/app"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/internal/view"
	"loops/persistence"
)

// memoryInline is how many steps a run has at most whose steps are shown with what they changed: stores find
// that from the beginning on.
const memoryInline = 20_000

// A stepsPart is a window of the steps of a run, and one of them in full.
type stepsPart struct {
	Rows         []stepRow // newest first
	First, All   int       // how many steps are before the window, and how many there are
	Chunk        int
	State        string // only its steps
	States       []tab
	Whole        string // address of all of them, without a filter
	Newer, Older string
	Step         *stepDetail
}

// A stepRow is one visit of a state.
type stepRow struct {
	Number, State, Verdict, To, By, Took, Apart, Exit, Class, Address string
	Said                                                              string
	At                                                                time.Time
	Over, Chosen, Fatal                                               bool
}

func (s *Server) addSteps(r *http.Request, page *runPage, p Project, session *Session, f project.Finder,
	run persistence.Run,
) error {
	part := &stepsPart{State: r.FormValue("state"), Chunk: shownSteps}
	page.Steps = part
	wanted := r.FormValue("step")
	until := int(min(number(r, "until", 0), len64max)) //nolint:gosec // it was made small
	var steps []step
	var told step
	found := false
	ready, err := s.chronicle(r.Context(), p, f, run, func(c *chronicle) {
		page.addNote(c.damage)
		for _, name := range c.account.Order {
			part.States = append(part.States,
				tab{
					Label: name, Count: c.account.Visits(name), Here: name == part.State,
					Address: page.To + query("tab", "steps", "state", name),
				})
		}
		if wanted != "" {
			told, found = c.find(wanted)
		}
		if until == 0 { // the newest two hundred at least, from a place where all windows begin
			_, _, all := c.window(part.State, 0, 0)
			until = all
			steps, part.First, part.All = c.window(part.State, 0, all-max(0, (all-1)/shownSteps-1)*shownSteps)
			return
		}
		steps, part.First, part.All = c.window(part.State, until, shownSteps)
	})
	if err != nil {
		return err
	}
	if page.Again = !ready; page.Again {
		steps = newestSteps(r.Context(), f, run)
		part.All = run.Step
		part.First = max(0, part.All-len(steps))
	}
	for _, s := range slices.Backward(steps) {
		row := s.row()
		row.Address, row.Chosen = page.To+query("tab", "steps", "step", s.number, "state", part.State),
			s.number == wanted
		part.Rows = append(part.Rows, row)
	}
	at := func(n int) string {
		return page.To + query("tab", "steps", "state", part.State, "until", strconv.Itoa(n))
	}
	part.Whole = page.To + query("tab", "steps")
	if part.First > 0 {
		part.Older = at(part.First)
	}
	if last := part.First + len(steps); last < part.All {
		part.Newer = at(min(last+shownSteps, part.All))
	}
	if wanted == "" {
		return nil
	}
	if !ready { // where the step is on record is not known yet
		part.Step = &stepDetail{stepRow: stepRow{Number: wanted}, Later: true}
		return nil
	}
	if !found {
		return engine.Refuse(engine.NotFound, "run %s has no step %s: it has taken %s", run.ID,
			humanize.Quote(wanted), humanize.Count(run.Step, "step"))
	}
	part.Step, err = describeStep(r.Context(), page, session, f, run, told, wanted, r.FormValue("memory") != "")
	return err
}

func (s step) row() stepRow {
	r := stepRow{
		Number: s.number, State: s.path, Verdict: s.verdict, To: s.to, By: s.by,
		Took: humanize.Duration(s.took), Apart: s.apart, Class: s.Class(), Over: s.over, Fatal: s.fatal, Said: s.said,
		At: time.UnixMilli(s.begin),
	}
	if s.exited {
		r.Exit = strconv.Itoa(int(s.exit))
	}
	return r
}

// newestSteps are the last steps of a run, read from its end: as many as a window holds, however many there are.
func newestSteps(ctx context.Context, f project.Finder, run persistence.Run) []step {
	var events []fsm.Event
	entered := 0
	// what cannot be read is missing in the window, and reported with the whole
	_ = f.Store.Newest(ctx, run.ID, func(e fsm.Event) bool {
		events = append(events, e)
		if e.Kind == fsm.EventStateEnter && e.Depth == 0 {
			entered++
		}
		return entered < shownSteps
	})
	c := &chronicle{account: inspect.NewAccount(nil), words: map[string]string{}, said: map[int]string{}}
	c.account.Reader.Done = c.keep
	for _, e := range slices.Backward(events) {
		_, v := c.account.Take(e)
		c.listen(e, v)
	}
	for _, v := range c.account.Reader.Open() {
		c.keep(v)
	}
	c.markFatal(run)
	return slices.DeleteFunc(c.steps, func(s step) bool { return s.path == "" })
}

// A stepDetail is all there is to say about a step.
type stepDetail struct {
	stepRow
	Later    bool // it is shown when the page is fetched again
	Said     []inspect.Sentence
	Action   string
	Prompt   bool
	Out, Err template.HTML
	Live     bool
	Judged   []judged
	Items    *itemTable // of a list; nil = it is none
	// steps in its branches and items, in the order in which they ended; not more than mostInside
	Inside         []stepRow
	MoreInside     int    // that are left out
	Files          string // how many files it changed; "" = none, or it is not known
	Diff           string
	Undo           string // the command that takes them back
	Cost           string
	Tokens         string
	Changes        []change
	Remember       string // address of the page with them: of a long run they take seconds; "" = they are here
	Remembered     string // why the memory around the step is not known
	Before         []valueRow
	Explain        string // the command
	Newer, Older   string // addresses of the steps beside it
	ForkAt, ForkBy string
}

// A judged is one evaluation.
type judged struct {
	By, Verdict string
	Lines       []string
}

// A change is a value that a step changed.
type change struct{ Key, Was, Now string }

// A valueRow is a value of the memory.
type valueRow struct {
	Key, Text string
	Plain     bool // a text or number of the context, which a fork may change
	Lines     int  // in a form
}

// describeStep reads one step: its events, and the memory on both sides of it.
func describeStep(ctx context.Context, page *runPage, session *Session, f project.Finder, run persistence.Run, s step,
	wanted string, memory bool,
) (*stepDetail, error) {
	t := &stepDetail{stepRow: s.row(), Explain: session.Page.Command("explain", string(run.ID), wanted), ForkAt: wanted}
	at, typed := fsm.ParseAddress(wanted)
	at.Question = 0                            // a step is shown with its questions
	inside := typed && at.String() != s.number // wanted is in a branch or an item of the step
	if typed {
		t.ForkAt = strconv.Itoa(at.Hops[0].Step)
	}
	if n, err := strconv.Atoi(s.number); err == nil {
		t.Newer = page.To + query("tab", "steps", "step", strconv.Itoa(n+1))
		if n >= run.Step {
			t.Newer = ""
		}
		if n > 1 {
			t.Older = page.To + query("tab", "steps", "step", strconv.Itoa(n-1))
		}
	}
	t.ForkBy = session.Page.CommandWith("fork", []string{"-b", "--at=" + t.ForkAt}, string(run.ID))
	prices, err := f.Project.Pricer()
	if err != nil {
		return nil, err
	}
	sheet := inspect.CostSheet{Prices: prices}
	var visit *inspect.Visit
	own, _ := fsm.ParseAddress(s.number)
	around := slices.Clip(own.Hops[:max(0, len(own.Hops)-1)]) // what is read begins inside these
	reader := &inspect.Reader{Keep: true, Done: func(v *inspect.Visit) {
		if first, _ := v.Span(); first == s.first && !inside {
			visit = v
		}
	}, Inside: func(v *inspect.Visit) {
		address := v.Address()
		address.Hops = append(around, address.Hops...)
		switch {
		case inside && at.Step() && at.Covers(address) && (visit == nil || v.Index > visit.Index):
			visit = v
		case len(t.Inside) >= mostInside:
			t.MoreInside++
		case !inside || at.Contains(address):
			row := visitRow(v)
			row.Number = address.String()
			row.Address = page.To + query("tab", "steps", "step", row.Number)
			t.Inside = append(t.Inside, row)
		}
	}}
	var out, errs strings.Builder
	read := 0
	for e, err := range f.Store.EventsOf(ctx, run, max(1, s.first)-1) {
		if err != nil || s.last > 0 && e.Seq > s.last && s.over {
			break
		}
		sheet.AddTo(reader.Add(e), e)
		if read++; e.Depth != int(s.depth) || inside {
			continue
		}
		t.take(e, &out, &errs)
	}
	reader.Close()
	if inside && !at.Step() { // a branch or an item: the steps in it, and what its end says
		t.stepRow = stepRow{Number: at.String(), State: s.path, Over: s.over}
	} else if inside {
		if visit == nil {
			return nil, engine.Refuse(engine.NotFound, "run %s has no step %s", run.ID, humanize.Quote(wanted))
		}
		t.stepRow, t.Inside = visitRow(visit),
			slices.DeleteFunc(t.Inside, func(r stepRow) bool { return r.Number == at.String() })
		t.Number = at.String()
		for _, e := range visit.Events {
			t.take(e, &out, &errs)
		}
	}
	if s.depth == 0 && visit != nil && !inside {
		rules := app.RulebookOf(ctx, f, run)
		t.Said = append(t.Said, inspect.Explain(visit, rules.Main())...)
	} else if story, err := session.Explain(ctx, string(run.ID), wanted); err != nil {
		if inside && visit == nil {
			return nil, err
		}
	} else { // what it ran inside decides about it
		for _, part := range story.Parts {
			if part.Visit != nil {
				t.Said = append(t.Said, part.Said...)
			}
		}
	}
	t.addFiles(ctx, session, run)
	if t.Items != nil {
		failed := t.Items.show(func(items string) string {
			return page.To + query("tab", "steps", "step", wanted, "items", items) + "#step"
		}, page.Items, project.Alive(run))
		if failed > 0 && page.Can["fork"] && !project.Alive(run) {
			t.Items.Again = &itemsAgain{
				page.To + "/fork", wanted,
				session.Page.CommandWith("fork", []string{"-b", "--at=" + wanted, "--retry-failed"}, string(run.ID)),
			}
			if s.fatal && page.Can["retry"] { // which works on the branch of its work tree
				t.Items.Again = &itemsAgain{
					page.To + "/retry", "",
					session.Page.CommandWith("retry", []string{"-b", "--retry-failed"}, string(run.ID)),
				}
			}
		}
	}
	t.Out, t.Err, t.Live = coloured(cut(out.String())), coloured(cut(errs.String())), !s.over && project.Alive(run)
	if t.Live && errs.Len() == 0 {
		t.Err = coloured(liveStderr(f, run))
	}
	if sheet.Total.Asked() {
		t.Cost, t.Tokens = sheet.Total.Text(), sheet.Total.TokenText(sheet.Total.Tokens())
	}
	if inside {
		t.Remembered = "What it changed is shown with step " + s.number + "."
		return t, nil
	}
	if run.Step > memoryInline && !memory {
		t.Remember = page.To + query("tab", "steps", "step", wanted, "memory", "1")
		return t, nil
	}
	t.addChanges(ctx, f, run, s)
	return t, nil
}

// addFiles adds what the step changed in files, where that was kept.
func (t *stepDetail) addFiles(ctx context.Context, session *Session, run persistence.Run) {
	diff, err := session.StepDiff(ctx, run, t.Number)
	if err != nil || diff == nil {
		return // the step can be shown without it
	}
	t.Files, t.Diff = humanize.Count(diff.Files, "file"), cut(diff.Text)
	t.Undo = session.Page.CommandWith("undo", []string{"--to=" + t.Number}, string(run.ID))
}

// take keeps what an event of the step says.
func (t *stepDetail) take(e fsm.Event, out, errs *strings.Builder) {
	switch e.Kind {
	case fsm.EventItemStart, fsm.EventItemEnd, fsm.EventItemTaken:
		if inspect.InsideBranch(e) == "" {
			t.Items = cmp.Or(t.Items, &itemTable{})
			t.Items.take(e)
		}
	}
	switch e.Kind {
	case fsm.EventActionStart:
		t.Action, t.Prompt = cut(inspect.Text(e.Get("action"))), e.Get("is_prompt") == true
	case fsm.EventActionOutput:
		if out.Len() <= shownOutput {
			out.WriteString(inspect.Text(e.Get("line")) + "\n")
		}
	case fsm.EventItemEnd:
		if text, _ := e.Get("stderr_preview").(string); text != "" && errs.Len() <= shownOutput {
			errs.WriteString(inspect.Text(e.Get("key")) + ": " + text + "\n")
		}
	case fsm.EventActionComplete:
		if text, _ := e.Get("stderr_preview").(string); text != "" {
			errs.WriteString(text + "\n")
		}
		if text, _ := e.Get("output_preview").(string); out.Len() == 0 {
			out.WriteString(text)
		}
	case fsm.EventEvaluate:
		t.Judged = append(t.Judged, judged{
			By: inspect.Text(e.Get("type")), Verdict: inspect.Text(e.Get("verdict")),
			Lines: inspect.VerdictLines(e),
		})
	}
}

// addChanges reads what the run remembered before the step and after it.
func (t *stepDetail) addChanges(ctx context.Context, f project.Finder, run persistence.Run, s step) {
	if s.first == 0 {
		t.Remembered = "The memory of earlier steps is not on record."
		return
	}
	before, at, err := f.Store.Around(ctx, run.ID, s.first)
	after := at
	if err == nil && s.last > s.first {
		_, after, err = f.Store.Around(ctx, run.ID, s.last)
	}
	if before.Memory == nil {
		before = at // the first step: the memory it began with
	}
	if err != nil && !errors.Is(err, persistence.ErrNotFound) {
		t.Remembered = "The memory around this step cannot be read: " + err.Error()
		return
	}
	if before.Memory == nil || after.Memory == nil {
		t.Remembered = "The memory around this step is not on record."
		return
	}
	t.Before, _ = prefilled(before.Memory)
	for _, part := range []struct {
		name     string
		was, now *value.Map
	}{
		{"context.", before.Memory.Context, after.Memory.Context},
		{"captured.", before.Memory.Captured, after.Memory.Captured},
	} {
		was, now := view.OrEmpty(part.was), view.OrEmpty(part.now)
		for _, key := range loopfile.KeysOfBoth(was, now) {
			x, first := was.Get(key)
			y, second := now.Get(key)
			if first && second && loopfile.SameValue(x, y) {
				continue
			}
			c := change{Key: part.name + key}
			if first {
				c.Was = valueText(x)
			}
			if second {
				c.Now = valueText(y)
			}
			t.Changes = append(t.Changes, c)
		}
	}
}

func valueText(v any) string {
	text, ok := v.(string)
	if !ok {
		text = string(value.AppendJSON(nil, v))
	}
	return cut(text)
}

// valuesOf are the values of a memory.
func valuesOf(m *fsm.Snapshot, contextOnly bool) (all []valueRow) {
	for _, part := range []struct {
		name string
		m    *value.Map
	}{{"context", m.Context}, {"captured", m.Captured}} {
		if part.m == nil || contextOnly && part.name != "context" {
			continue
		}
		for key, v := range part.m.All() {
			_, isMap := v.(*value.Map)
			_, isList := v.([]any)
			row := valueRow{Key: part.name + "." + key, Text: valueText(v), Plain: part.name == "context" && !isMap &&
				!isList && key != "run_dir"}
			if contextOnly {
				row.Key = key
			}
			all = append(all, row)
		}
	}
	return all
}
