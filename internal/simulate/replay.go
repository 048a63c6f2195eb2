package simulate

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"loops/engine"
	"loops/engine/action"
	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/api"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/internal/terminal"
	"loops/persistence"
)

// A MissError is something that a replayed run would do, and that the run on record did not do.
type MissError struct {
	Text  string
	Lines []string // how it differs from what is on record
}

func (e *MissError) Error() string { return e.Text }

// replayAnswers answer from the record of a run: an action by its state, its text and, where files were kept, by the
// files before it.
type replayAnswers struct {
	*recordedAnswers
	before map[string]*fsm.State // states of the recorded definition, by loop and name; nil = it is not known
	tree   string                // the files as they are now; "" = not known
	in     *stretch              // that was taken last; nil = none was
	diff   func(from, to string) []string
	items  []string // of the list that is being made
}

// act implements answers.
func (r *replayAnswers) act(p *place, a fsm.Action) (fsm.Result, error) {
	if a.At == "" && p.state != nil && p.state.Each != nil {
		list, err := r.list(p)
		return fsm.Result{Stdout: strings.Join(list, "\n")}, err
	}
	var near, stale, again *recordedEntry // one with another text, one with other files, and one that was taken before
	for _, e := range r.entries[p.wayKey()] {
		switch {
		case !e.acted:
		case e.text != a.Text && !p.parts[len(p.parts)-1].each:
			if near == nil || near.used {
				near = e
			}
		case !r.fits(e):
			if stale == nil || stale.used {
				stale = e
			}
		case !e.used:
			return r.answer(p, e), nil
		case e.stretch.entries == 1 && r.known(e.stretch) && e.stretch.before == r.tree:
			again = e
		default:
			near = e
		}
	}
	if again != nil {
		return r.answer(p, again), nil
	}
	where := fmt.Sprintf("state %s, step %s", p, p.at)
	switch {
	case stale != nil:
		return fsm.Result{}, r.otherFiles(where, stale)
	case near == nil:
		return fsm.Result{}, &MissError{Text: where + ": the run did nothing there", Lines: diffLines("", a.Text)}
	case near.text == a.Text:
		return fsm.Result{}, &MissError{Text: where + ": the run did that less often"}
	}
	return fsm.Result{}, &MissError{
		Text:  where + ": the action differs from that on record",
		Lines: diffLines(near.text, a.Text),
	}
}

func short12(commit string) string { return commit[:min(12, len(commit))] }

// list returns what a list had in it.
func (r *replayAnswers) list(p *place) ([]string, error) {
	list, n := r.lists[p.wayKey()], r.counts[p.wayKey()]
	if len(list) == 0 || len(list) != n {
		return nil, &MissError{Text: fmt.Sprintf("state %s, step %s: the list is not on record, or only a part of it",
			p, p.at)}
	}
	return list, nil
}

// judge implements answers.
func (r *replayAnswers) judge(p *place, cfg *fsm.Evaluate, ev fsm.Evidence) (fsm.Verdict, bool, error) {
	switch cfg.Type {
	case "for_each":
		r.items, _ = r.list(p)
		return fsm.Verdict{}, false, nil
	case "parallel", "loop":
		return fsm.Verdict{}, false, nil
	}
	e := r.acting[p.at]
	if !ev.Acted {
		e = nil
		for _, x := range r.entries[p.wayKey()] {
			if !x.used && !x.acted && x.judged {
				x.used = true
				e = x
				break
			}
		}
	}
	if cfg.Type == "wait" {
		switch kind := p.state.Await.Kind(); {
		case e != nil:
			return e.verdict, true, nil
		case kind == fsm.AwaitFor || kind == fsm.AwaitAt:
			return fsm.Verdict{Name: "yes"}, true, nil
		}
		return fsm.Verdict{}, false,
			&MissError{Text: fmt.Sprintf("state %s, step %s: the run did not wait there so often", p, p.at)}
	}
	was := r.evaluator(p)
	same := was == nil && p.state.Evaluate == nil || was != nil && p.state.Evaluate != nil &&
		sameEvaluator(was, p.state.Evaluate)
	switch asked := slices.Contains([]string{"llm_structured", "comparator", "contract"}, cfg.Type); {
	case same && e != nil && e.judged:
		return e.verdict, true, nil
	case asked && !same:
		miss := &MissError{Text: fmt.Sprintf("state %s, step %s: its judge would be asked something else", p, p.at)}
		if was != nil {
			miss.Lines = diffLines(was.Prompt, cfg.Prompt)
		}
		return fsm.Verdict{}, false, miss
	case e != nil && e.cut:
		return fsm.Verdict{}, false,
			&MissError{Text: fmt.Sprintf("state %s, step %s: it is judged in another way, and its output is on "+
				"record only in part", p, p.at)}
	}
	return fsm.Verdict{}, false, nil
}

// evaluator returns how the recorded definition judges a state; nil = as its action says, or that is not known.
func (r *replayAnswers) evaluator(p *place) *fsm.Evaluate {
	if p.loop == nil || r.before[p.loop.Name+"\x00"+p.state.Name] == nil {
		return nil
	}
	return r.before[p.loop.Name+"\x00"+p.state.Name].Evaluate
}

// sameEvaluator reports whether two evaluators decide the same, wherever they stand.
func sameEvaluator(a, b *fsm.Evaluate) bool {
	x, y := *a, *b
	x.Pos, y.Pos = fsm.Pos{}, fsm.Pos{}
	if (x.Expression == nil) != (y.Expression == nil) || x.Expression != nil &&
		fmt.Sprint(x.Expression) != fmt.Sprint(y.Expression) {
		return false
	}
	if (x.Filter == nil) != (y.Filter == nil) || x.Filter != nil && fmt.Sprint(x.Filter) != fmt.Sprint(y.Filter) {
		return false
	}
	x.Expression, y.Expression, x.Filter, y.Filter = nil, nil, nil, nil
	return reflect.DeepEqual(x, y)
}

// replayFiles answer what lists match from the record.
type replayFiles struct {
	caseFiles
	r *replayAnswers
}

// Glob implements [fsm.Files].
func (f replayFiles) Glob(context.Context, string, string) ([]string, error) { return f.r.items, nil }

// Replay says which runs are replayed, and with what.
type Replay struct {
	Run        string    // a run, or a loop for its newest run; with All the loop, "" = that of Definition
	Definition string    // name or path of a loop; "" = as it is recorded with the run
	Since      time.Time // with All: runs that began since then; zero = all
	All, JSON  bool

	LiveFrom string // a step, a state for its first visit, or [LiveFromMiss]; "" = nothing is done for real
	Rerun    bool   // with LiveFrom: also states with idempotent: false
	DryRun   bool   // with LiveFrom: only say from where
}

// A Replayed is the result of replaying runs.
type Replayed struct {
	Missed bool  // a run would do something that is not on record
	Other  bool  // a run would have ended otherwise
	Live   *Live // what is to be done for real; nil = nothing
}

// recordedLibrary has the loops of a recorded definition, and else those of the project.
type recordedLibrary struct {
	def *project.Definition
	now fsm.Library
}

// Loop implements [fsm.Library].
func (l recordedLibrary) Loop(name string, from *fsm.Loop) (*fsm.Loop, error) {
	if r := l.def.Of(from.File); r != nil {
		if known := l.def.Of(r.Meant(name)); known != nil {
			return known.Load()
		}
	}
	return l.now.Loop(name, from)
}

// Replay walks again through runs of the record, in memory: nothing is started, and nothing recorded.
func (d *Desk) Replay(ctx context.Context, o *Replay) (seen Replayed, err error) {
	records, err := d.Project.Records(ctx, false)
	if err != nil {
		return seen, err
	}
	defer func() { _ = records.Close() }()
	runs, err := d.replayRuns(ctx, o, records.Finder())
	if err != nil {
		return seen, err
	}
	all := []api.Replayed{}
	for _, run := range runs {
		one, live, err := d.replayOne(ctx, o, records, run)
		if err != nil && (!o.All || ctx.Err() != nil) {
			return seen, err
		}
		if err != nil {
			one = api.Replayed{
				Run: string(run.ID), Loop: run.Loop, Miss: api.Text(err.Error()),
				Differences: []string{},
			}
		}
		if live != nil {
			return Replayed{Live: live}, nil
		}
		seen.Missed, seen.Other = seen.Missed || one.Miss != "", seen.Other || one.Miss == "" && !one.Same
		all = append(all, one)
	}
	switch {
	case o.JSON && o.All:
		return seen, terminal.WriteJSON(d.Out, all)
	case o.JSON:
		return seen, terminal.WriteJSON(d.Out, all[0])
	case o.All:
		d.printReplays(all)
	default:
		d.printReplay(&all[0])
	}
	return seen, nil
}

// replayRuns returns the runs that are replayed, the newest first.
func (d *Desk) replayRuns(ctx context.Context, o *Replay, f project.Finder) ([]persistence.Run, error) {
	if !o.All {
		run, err := f.One(ctx, o.Run)
		return []persistence.Run{run}, err
	}
	name := o.Run
	if name == "" {
		l, err := engine.Load(d.Project, o.Definition, d.Warn(true))
		if err != nil {
			return nil, err
		}
		name = l.Name
	}
	runs, err := f.Loop(ctx, name, 0)
	if err != nil {
		return nil, err
	}
	runs = slices.DeleteFunc(runs, func(r persistence.Run) bool {
		return r.StartedAt.Before(o.Since) || r.Status == persistence.Running || r.Foreign
	})
	if len(runs) == 0 {
		return nil, engine.Refuse(engine.NotFound, "no run of %s has ended in that time", name)
	}
	return runs, nil
}

// replayOne replays one run.
func (d *Desk) replayOne(ctx context.Context, o *Replay, records *project.Records,
	run persistence.Run,
) (out api.Replayed, live *Live, err error) {
	p, e := d.Project, engine.New(d.Project, d.Options)
	defer e.Close()
	rec, err := readRecord(ctx, records, run)
	if err != nil {
		return out, nil, err
	}
	files, err := e.StepFiles(ctx, run)
	if err != nil {
		return out, nil, err
	}
	rec.stretches(files)
	if rec.memory == nil || rec.memory.Outcome == nil {
		return out, nil, engine.Refuse(engine.Failed, "run %s has not ended; it can be replayed then", run.ID)
	}
	was := *rec.memory.Outcome
	if rec.begin == nil {
		return out, nil, engine.Refuse(engine.NotFound,
			"what run %s began with is not on record, so it cannot be replayed", run.ID)
	}
	lib, err := p.Library()
	if err != nil {
		return out, nil, err
	}
	def := records.KeptDefinition(ctx, run.ID)
	old, _ := records.Finder().Ran(run, def)
	l, from := old, "the recorded definition"
	var subloops fsm.Library = recordedLibrary{def, lib.Subloops(project.Overrides{}, nil)}
	if o.Definition != "" {
		if l, err = engine.Load(p, o.Definition, d.Warn(true)); err != nil {
			return out, nil, err
		}
		from, subloops = p.Short(l.File), lib.Subloops(project.Overrides{}, nil)
	}
	if l == nil {
		return out, nil, engine.Refuse(engine.NotFound, "the definition of run %s is not on record; name one: %s",
			run.ID, engine.Setting{Name: "definition", Value: "FILE"})
	}
	l, _ = (project.Overrides{}).Over(run.Options).Apply(l)
	r := &replayAnswers{recordedAnswers: rec, before: map[string]*fsm.State{}}
	if old != nil {
		for _, x := range Reachable(old, recordedLibrary{def, lib.Subloops(project.Overrides{}, nil)}) {
			for name, st := range x.States {
				r.before[x.Name+"\x00"+name] = st
			}
		}
	}
	if len(rec.parts) > 0 {
		r.tree = rec.parts[0].before
	}
	r.diff = filesDiff(ctx, e, run)
	var watch *watchpoint
	if o.LiveFrom != "" {
		if err := d.checkLive(l, subloops, o, run, files); err != nil {
			return out, nil, err
		}
		watch = newWatchpoint(r, o.LiveFrom)
		if watch.step == 1 || watch.state == l.Initial {
			return out, nil, engine.Misuse("replay", "nothing is answered from the record before the first step; to "+
				"do all of it again: %s",
				engine.Do(engine.OpFork, string(run.ID), engine.Setting{Name: engine.SetAt, Value: "1"}))
		}
		if watch.state != "" && l.States[watch.state] == nil {
			return out, nil, engine.Misuse("replay", "%s: expected a step, a state of the loop, or %s",
				engine.Setting{Name: "live-from", Value: o.LiveFrom}, LiveFromMiss)
		}
	}
	values := engine.Overlay(new(value.Map), rec.begin.Context)
	got, err := rehearse(ctx, rehearsal{
		Loop: l, Values: values, Library: subloops,
		Files: replayFiles{caseFiles{action.Files{Dir: p.WorkDir()}, ""}, r}, Dir: p.WorkDir(), Getenv: d.Getenv,
		Name: fsm.RunName{ID: string(run.ID), Attempt: 1}, Begin: rec.begin.StartedAt, Answers: r, Watch: watch,
	})
	out = api.Replayed{
		Run: string(run.ID), Loop: run.Loop, Definition: from, Recorded: end(was),
		Differences: []string{},
	}
	recordedPath := wayOf(rec.steps, nil)
	if n := len(recordedPath); was.TerminatedBy == fsm.EndTerminal && (n == 0 || recordedPath[n-1] != was.FinalState) {
		recordedPath = append(recordedPath, was.FinalState)
	}
	miss, missed := errors.AsType[*MissError](err)
	if watch != nil && (missed || errors.Is(err, errReached)) {
		if missed {
			terminal.SayLine(d.Out, "No answer on record: "+miss.Text)
		}
		live, err := d.live(ctx, o, records, run, watch)
		return out, live, err
	}
	if missed {
		out.Miss = api.Text(miss.Text)
		out.Differences = nonNil(miss.Lines)
		out.Path = got.way(nil)
		return out, nil, nil
	}
	if err != nil {
		return out, nil, err
	}
	out.Path = got.way(nil)
	out.Replayed = new(end(got.outcome))
	out.Same = got.outcome.TerminatedBy == was.TerminatedBy && got.outcome.FinalState == was.FinalState
	out.Differences = nonNil(besidePaths(recordedPath, out.Path, "RECORDED", "REPLAYED"))
	return out, nil, nil
}

// endText is an end in words.
func endText(e api.End) string {
	return inspect.EndKind(fsm.Outcome{TerminatedBy: e.TerminatedBy, FinalState: e.State, Failure: e.Failure}) +
		" in " + humanize.Dash(e.State)
}

func (d *Desk) printReplay(r *api.Replayed) {
	w := d.Out
	terminal.Say(w, "Run %s with %s\n", r.Run, r.Definition)
	switch {
	case r.Miss != "":
		terminal.SayLine(w, "No answer on record: "+string(r.Miss))
	case r.Same && len(r.Differences) == 0:
		terminal.SayLine(w, "It took the same way: "+humanize.Count(len(r.Path), "state")+", "+endText(r.Recorded))
	case r.Same:
		terminal.SayLine(w, "It would have ended the same: "+endText(r.Recorded))
	default:
		terminal.SayLine(w, "It ended: "+endText(r.Recorded)+". It would have ended: "+endText(*r.Replayed))
	}
	for _, line := range r.Differences {
		terminal.SayLine(w, "  "+line)
	}
	if r.Miss != "" {
		terminal.SayLine(w, "Until then: "+strings.Join(shownEnd(r.Path), ", "))
	}
}

func (d *Desk) printReplays(all []api.Replayed) {
	rows := [][]string{{"RUN", "ENDED", "WOULD END", ""}}
	same, other, missed := 0, 0, 0
	for _, r := range all {
		row := []string{r.Run, endText(r.Recorded), "", ""}
		switch {
		case r.Miss != "":
			missed++
			row[2], row[3] = "?", humanize.Cut(string(r.Miss), 100)
		case r.Same:
			same++
			row[2] = "the same"
		default:
			other++
			row[2] = endText(*r.Replayed)
		}
		rows = append(rows, row)
	}
	terminal.WriteTable(d.Out, rows)
	terminal.Say(d.Out, "%s: %d the same, %d otherwise, %d with no answer on record\n",
		humanize.Count(len(all), "run"), same, other, missed)
}
