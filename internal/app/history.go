package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/api"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/internal/terminal"
	"loops/internal/view"
	"loops/persistence"
)

// How many runs and events a history has by default, and of how many states it is noted that a run was in them.
const (
	lastRuns   = 20
	lastEvents = 50
	mostStates = 1000
)

// A HistoryQuery asks for the runs of a loop, for the events of one run, or with [Service.AllRuns] for the runs
// of all loops.
type HistoryQuery struct {
	Loop, Run    string // the id of a run instead of the loop means that run
	Limit        int    // how many at most, 0 = all; below 0 = the usual number
	Event, State string // of events
	Since, Until string // an age or a date
	Text         string // is in an event
	Status       []string
	Failed       bool     // only runs that ended badly, but not those that a user stopped
	Reason       string   // is in the reason of a run, in whatever case
	Labels       []string // of its loop: one of them
	Group        string   // "outcome", "day", or "" for each run by itself
	Cost         bool     // of each run
	Output       bool     // what actions printed is wanted too
	OneByOne     bool     // of runs, only [History.Each] is asked
}

// A History is what was asked for: runs, or events of one run.
type History struct {
	Run    *persistence.Run // whose events they are; nil = runs were asked for
	Events []fsm.Event      // oldest first
	More   string           // says that there are more events; "" = there are none, or a limit was given

	Runs  []persistence.Run // newest first; nil where they are asked for one by one
	Limit int               // of runs; 0 = none
	Table view.RunTable
	Days  []inspect.Day // newest first, where runs are counted by day

	group string
	each  iter.Seq2[persistence.Run, error] // nil = they are in Runs
}

// Each yields the runs, newest first.
func (h *History) Each() iter.Seq2[persistence.Run, error] {
	if h.each != nil {
		return h.each
	}
	return persistence.EachOf(func() ([]persistence.Run, error) { return h.Runs, nil })
}

// Statuses are what a status of a run may be asked for: those of the records, one for a record that cannot be
// read, and the outcomes that are distinguished among them.
var Statuses = append([]string{
	string(persistence.Running), string(persistence.Completed), string(persistence.Failed),
	string(persistence.Interrupted),
	string(persistence.TimedOut), string(persistence.Awaiting), string(persistence.UserStopped),
	string(persistence.Queued), "unreadable",
}, inspect.Outcomes...)

// ByOutcome and ByDay are what runs can be counted by.
const (
	ByOutcome = "outcome"
	ByDay     = "day"
)

// Groups are all of these.
var Groups = []string{ByOutcome, ByDay}

// check refuses what does not go together. The help on see explains it.
func (q *HistoryQuery) check(see engine.Operation) error {
	misuse := func(format string, args ...any) error { return engine.Misuse(see, format, args...) }
	for _, s := range q.Status {
		if !slices.Contains(Statuses, s) {
			return misuse("%s: expected %s%s", engine.Setting{Name: "status", Value: strconv.Quote(s)},
				strings.Join(Statuses, ", "), humanize.DidYouMean(s, Statuses))
		}
	}
	switch {
	case q.Group != "" && !slices.Contains(Groups, q.Group):
		return misuse("%s: expected %s", engine.Setting{Name: "group_by", Value: strconv.Quote(q.Group)},
			strings.Join(Groups, " or "))
	case q.Group == ByDay && q.Cost:
		return misuse("%s does not go with %s", engine.Setting{Name: "cost"},
			engine.Setting{Name: "group_by", Value: ByDay})
	case q.Run == "" && q.Event != "":
		return misuse("%s selects events: name the run too", engine.Setting{Name: "event"})
	case q.Run != "" && (q.Failed || q.Reason != "" || len(q.Labels) > 0):
		return misuse("%s, %s and %s are about runs: leave out the run", engine.Setting{Name: "failed"},
			engine.Setting{Name: "reason"}, engine.Setting{Name: "label"})
	case q.Run != "" && (len(q.Status) > 0 || q.Group != "" || q.Cost):
		return misuse("%s, %s and %s are about runs: leave out the run, or see: %s",
			engine.Setting{Name: "status"}, engine.Setting{Name: "group_by"}, engine.Setting{Name: "cost"},
			engine.Do("cost", "RUN"))
	}
	return nil
}

// History returns the runs of a loop or the events of a run.
func (s *Service) History(ctx context.Context, q HistoryQuery) (*History, error) {
	when, err := NewPeriod(q.Since, q.Until, engine.OpHistory)
	if err != nil {
		return nil, err
	}
	byID := q.Run == "" && (project.LoopOf(q.Loop) != "" || q.Loop == project.Last) // perhaps the name is that of a run
	if err := q.check(engine.OpHistory); err != nil && !byID {
		return nil, err
	}
	f, err := s.Finder(ctx)
	if err != nil {
		return nil, err
	}
	if q.Run != "" {
		run, err := PickRun(ctx, f, q.Loop, q.Run)
		if err != nil {
			return nil, err
		}
		return s.events(ctx, f, run, q, when)
	}
	run, err := f.Named(ctx, q.Loop)
	if err != nil {
		return nil, err
	}
	if run != nil {
		q.Loop, q.Run = run.Loop, string(run.ID)
	}
	if err := q.check(engine.OpHistory); err != nil {
		return nil, err
	}
	if run != nil {
		return s.events(ctx, f, *run, q, when)
	}
	return s.runs(ctx, f, q, when, engine.OpHistory)
}

// keeps returns what chooses among events.
func (q *HistoryQuery) keeps(when Period) func(fsm.Event) bool {
	return func(e fsm.Event) bool {
		switch {
		case q.Event != "" && e.Kind != q.Event,
			!q.Output && q.Event == "" && q.Text == "" && e.Kind == fsm.EventActionOutput,
			!when.Contains(e.Time),
			q.Text != "" && !inspect.Mentions(e, q.Text),
			q.State != "" && e.Get("state") != q.State && e.Get("from") != q.State && e.Get("to") != q.State &&
				e.Get("final_state") != q.State:
			return false
		}
		return true
	}
}

// events returns events of a run.
func (s *Service) events(ctx context.Context, f project.Finder, run persistence.Run, q HistoryQuery,
	when Period,
) (*History, error) {
	limit := q.Limit
	if limit < 0 {
		limit = lastEvents
	}
	all, keeps := 0, q.keeps(when)
	events, damage, err := LastEvents(f.Store.EventsOf(ctx, run, 0), func(e fsm.Event) bool {
		keep := keeps(e)
		if keep {
			all++
		}
		return keep
	}, limit)
	for _, d := range damage {
		s.Note("%v; reading continues after it", d)
	}
	if err != nil {
		return nil, err
	}
	if all == 0 && q.Event != "" {
		if err := UnknownEvent(ctx, f, run, q.Event, engine.OpHistory); err != nil {
			return nil, err
		}
	}
	if all == 0 && q.State != "" {
		if err := UnknownState(ctx, f, run, q.State, engine.OpHistory); err != nil {
			return nil, err
		}
	}
	h := &History{Run: &run, Events: events, Table: view.RunTable{Page: s.Page}}
	if q.Limit < 0 && all > len(events) {
		h.More = fmt.Sprintf("The newest %d of %d events; all of them: %s", len(events), all,
			s.Page.Command("history -n 0", q.Loop, q.Run))
	}
	return h, nil
}

// countDays has the store count the runs of each day. It reports false where that would read each of them.
func (h *History) countDays(ctx context.Context, f project.Finder, of persistence.Query) (bool, error) {
	counts, err := f.Store.Count(ctx, of, inspect.WithinDays(time.Local))
	if errors.Is(err, errors.ErrUnsupported) {
		return false, nil
	}
	if err != nil {
		return false, f.Store.Failed(err)
	}
	of.Live = true
	live, err := f.Store.Runs(ctx, of)
	if err != nil {
		return false, f.Store.Failed(err)
	}
	h.Days = inspect.Days(project.Current(live), counts, time.Local)
	return true, nil
}

// runs returns runs of a loop. The help on see explains what is refused.
func (s *Service) runs(ctx context.Context, f project.Finder, q HistoryQuery, when Period,
	see engine.Operation,
) (*History, error) {
	h := &History{
		Limit: q.Limit, Table: view.RunTable{Page: s.Page, Costs: map[persistence.ID]*inspect.Cost{}},
		group: q.Group,
	}
	switch {
	case q.Limit < 0 && h.group != "":
		h.Limit = 0
	case q.Limit < 0:
		h.Limit = lastRuns
	}
	if q.Group == ByDay && h.Limit == 0 && !q.narrows() {
		counted, err := h.countDays(ctx, f, persistence.Query{Loop: q.Loop, Filter: when.Filter()})
		if counted || err != nil {
			return h, err
		}
	}
	labelled, err := s.labelled(q.Labels, see)
	if err != nil {
		return nil, err
	}
	var problem error
	states := map[string]bool{}       // of the runs that were looked at, where one is asked for
	seen := map[persistence.ID]bool{} // whether a run has the state and the text: it is read once
	filter := when.Filter()
	sums := NewSummaries(f, s.damaged)
	defer sums.Close()
	filter.Keep = func(r persistence.Run) bool {
		if q.State != "" && len(states) < mostStates {
			states[r.State] = true
		}
		if problem != nil || !q.chooses(ctx, f, r) || labelled != nil && !labelled[r.Loop] {
			return false
		}
		inside := q.State != "" && r.State != q.State
		if q.Text == "" && !inside {
			return true
		}
		if _, known := seen[r.ID]; !known {
			seen[r.ID] = true
			if inside {
				var sum *inspect.Summary
				if sum, problem = sums.Of(ctx, r); problem == nil {
					seen[r.ID] = sum.WasInside(q.State)
				}
			}
			if q.Text != "" && seen[r.ID] && problem == nil {
				seen[r.ID], problem = s.hasText(ctx, f, r, q.Text)
			}
		}
		return seen[r.ID]
	}
	filter.Statuses, filter.Ends = inspect.RecordedAs(q.Status...)
	if q.Failed && len(q.Status) == 0 {
		bad := Bad()
		filter.Statuses, filter.Unmerged = bad.Statuses, bad.Unmerged
	}
	if q.OneByOne && h.Limit == 0 && h.group == "" && !q.Cost && q.Text+q.State == "" {
		h.Table.Waits = map[persistence.ID]*fsm.Wait{}
		h.each = func(yield func(persistence.Run, error) bool) {
			for r, err := range EachOf(ctx, f, q.Loop, 0, filter) {
				if w := WaitNow(ctx, f, r); w != nil {
					h.Table.Waits[r.ID] = w
				}
				if !yield(r, err) {
					return
				}
			}
		}
		return h, nil
	}
	runs, err := RunsOf(ctx, f, q.Loop, h.Limit, filter)
	if err == nil {
		err = problem
	}
	if err == nil && len(runs) == 0 && q.Loop == "" && q.State != "" {
		err = UnknownStateOfAny(ctx, f, slices.Collect(maps.Keys(states)), q.State, see)
	}
	if err == nil && len(runs) == 0 && q.Loop != "" && q.State != "" {
		var newest []persistence.Run
		if newest, err = f.Store.Runs(ctx, persistence.Query{Loop: q.Loop, Limit: 1}); err == nil && len(newest) > 0 {
			err = UnknownState(ctx, f, project.Current(newest)[0], q.State, see)
		}
	}
	if err != nil {
		return nil, err
	}
	if q.Group == ByDay {
		h.Days = inspect.Days(runs, nil, time.Local)
		return h, nil
	}
	if h.Runs = runs; h.group == "" {
		h.Table.Waits = Waits(ctx, f, runs...)
	}
	if q.Cost {
		if err := s.addCosts(ctx, f, &h.Table, runs); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// hasText reports whether a text is in an event of a run.
func (s *Service) hasText(ctx context.Context, f project.Finder, r persistence.Run, text string) (bool, error) {
	for e, err := range f.Store.Events(ctx, r.ID, 0) {
		switch {
		case project.IsDamage(err):
			s.Note("%v; reading continues after it", err)
		case err != nil:
			return false, f.Store.Failed(err)
		case inspect.Mentions(e, text):
			return true, nil
		}
	}
	return false, nil
}

// WriteJSON writes the runs, the groups of runs or the events for a program, one by one. Runs that are asked for so are
// written as they are read.
func (h *History) WriteJSON(w io.Writer) error {
	if h.group != "" {
		return terminal.WriteJSON(w, h.Objects())
	}
	return terminal.WriteJSONList(w, func(yield func(any, error) bool) {
		if h.Run != nil {
			for _, e := range h.Events {
				if !yield(api.EventOf(e), nil) {
					return
				}
			}
			return
		}
		for r, err := range h.Each() {
			if !yield(h.Table.Run(r), err) {
				return
			}
		}
	})
}

// Objects returns the runs, the groups of runs or the events for a program.
func (h *History) Objects() []any {
	switch {
	case h.Run != nil:
		return terminal.List(h.Events, func(e fsm.Event) any { return api.EventOf(e) })
	case h.group == ByDay:
		return terminal.List(h.Days, func(d inspect.Day) any { return view.Day(d) })
	case h.group != "":
		return terminal.List(view.Groups(h.Runs), func(g view.Group) any { return h.Table.Group(g) })
	}
	return terminal.List(h.Runs, func(r persistence.Run) any { return h.Table.Run(r) })
}

// Counted reports whether there are counts of runs instead of runs.
func (h *History) Counted() bool { return h.group != "" && len(h.Runs)+len(h.Days) > 0 }

// PrintCounts writes these.
func (h *History) PrintCounts() error {
	if h.group == ByDay {
		return h.Table.PrintDays(h.Days)
	}
	return h.Table.PrintGroups(view.Groups(h.Runs))
}

// PrintEvents writes the events of a run: with verbose, what actions printed is whole, with full so is each
// other field.
func (h *History) PrintEvents(verbose, full bool) {
	page := h.Table.Page
	if len(h.Events) == 0 {
		if h.Run.Status == persistence.Starting {
			terminal.Say(page.Out, "Run %s is starting, and has recorded nothing yet.\n", h.Run.ID)
			return
		}
		terminal.Say(page.Out, "No such events in run %s.\n", h.Run.ID)
		return
	}
	for _, e := range h.Events {
		page.PrintEvent(inspect.Honest(e, *h.Run), verbose)
		if full && e.Kind != fsm.EventActionOutput {
			page.PrintFields(e)
		}
	}
	if h.More != "" {
		terminal.SayLine(page.Out, h.More)
	}
}
