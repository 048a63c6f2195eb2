package watch

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"loops/engine/project"
	"loops/fsm"
	"loops/internal/diagram"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/internal/process"
	"loops/internal/view"
	"loops/persistence"
)

// What is kept of a run to be shown: steps, lines of its log, and bytes of one line.
const (
	mostSteps = 300
	mostLines = 500
	longLine  = 2000
)

// A detail follows one run: its steps, its log, and what it did in each state.
type detail struct {
	items   inspect.ItemKeys
	monitor *Monitor
	run     persistence.Run
	project.Follower
	tally   *inspect.Account
	steps   []*stepRow
	log     []Line
	damaged bool
	errs    process.StderrTail // of actions that run
	said    process.Said       // what was logged of it
	live    bool               // when it was looked at last

	loop    *fsm.Loop // nil = not known
	note    string
	segment int // of the run when its loop was read; below 0 = it was not

	changed bool // since what is shown was made
	drawn   int  // how many transitions and states the graph had counted
	shown   *Detail
}

// A stepRow is a visit of a state that still lasts, or is over.
type stepRow struct {
	Step
	visit *inspect.Visit
	cost  inspect.Cost
	items inspect.Pace
}

// over reports whether the visit is over, unless the run is resumed in it.
func (d *detail) over(row *stepRow) bool {
	return row.visit.Over() || !slices.Contains(d.tally.Reader.Open(), row.visit)
}

func newDetail(l *Monitor, r persistence.Run) *detail {
	return &detail{
		monitor: l, run: r, Follower: project.Follower{Store: l.Store, ID: r.ID},
		tally: inspect.NewAccount(l.known), segment: -1,
	}
}

// update reads what came since, as far as ctx lets it, and makes of it what is shown.
func (d *detail) update(ctx context.Context, w *run) error {
	last := !w.ended.IsZero() && d.live // it has ended since we looked
	d.live = w.ended.IsZero()
	if d.run.Status != w.Status || d.run.Archived != w.Archived || last {
		d.changed = true
		d.Again()
	} else if d.shown != nil && !d.changed && !w.ended.IsZero() {
		return nil
	}
	d.run = w.Run
	if d.segment != w.Segment {
		d.segment = w.Segment
		var file string
		d.loop, file = d.monitor.Ran(w.Run, d.Store.KeptDefinition(ctx, w.ID))
		if d.note = ""; file != "" {
			d.note = "the loop is drawn from " + d.monitor.Project.Short(file) + " as it is now"
		}
	}
	if d.shown != nil && d.live { // what was over before it was looked at is in the events
		d.errs.Dir = d.monitor.Project.RunDir(w.ID)
		d.errs.Read(d.stderr)
	}
	err := d.Read(ctx, w.Run, last, d.event)
	if !d.live {
		d.errs.Close()
	}
	if ctx.Err() != nil {
		return nil // it continues from where it is
	}
	d.show(w)
	return err
}

func (d *detail) event(e fsm.Event, err error) {
	d.changed = true
	if err != nil {
		if !d.damaged {
			d.damaged = true
			d.line(Line{Text: humanize.OneLine(err), Bad: true})
		}
		return
	}
	cost, visit := d.tally.Take(e)
	row := d.row(visit)
	if e.Kind == fsm.EventLoopComplete && inspect.InsideBranch(e) == "" {
		d.line(Line{
			Text: strings.Repeat("  ", e.Depth) + "==> ended: " + view.EventDetail(e, false, false),
			Head: true,
		})
	} else if row != nil && e.Depth == visit.Depth() {
		row.add(e, cost)
	}
	d.write(e, visit)
}

// stderr logs what an action that runs wrote to standard error.
func (d *detail) stderr(file, text string) {
	d.changed = true
	d.said.Add(file, text)
	for part := range strings.SplitSeq(text, "\n") {
		d.line(Line{Text: "stderr: " + part, Dim: true})
	}
}

// row returns the row of a visit, which is made with its first event; nil before the first visit.
func (d *detail) row(v *inspect.Visit) *stepRow {
	if v == nil || v.Index < 0 {
		return nil
	}
	for _, row := range slices.Backward(d.steps) { // it is one of the last: those of each depth
		if row.visit == v {
			return row
		}
		if row.visit.Index < v.Index {
			break
		}
	}
	if n := len(d.steps); n > 0 && v.Index < d.steps[n-1].visit.Index {
		return nil // its row was so long ago that it is not kept
	}
	row := &stepRow{Step: Step{Number: v.Number(), State: humanize.PlainLine(v.State)}, visit: v}
	if d.steps = append(d.steps, row); len(d.steps) > 2*mostSteps {
		d.steps = append(d.steps[:0], d.steps[len(d.steps)-mostSteps:]...)
	}
	return row
}

// add enters what an event of the visit says about it.
func (row *stepRow) add(e fsm.Event, cost inspect.Cost) {
	if cost.Prompts+cost.Judges > 0 {
		row.cost.Plus(cost)
		row.Cost = row.cost.Text()
	}
	switch e.Kind {
	case fsm.EventActionComplete:
		row.Bad = inspect.Text(e.Get("exit_code")) != "0"
	case fsm.EventActionError:
		row.Bad = true
	case fsm.EventItemsStart, fsm.EventItemEnd:
		// until there is a verdict
		row.Verdict = cmp.Or(inspect.Text(e.Get("done")), "0") + "/" + inspect.Text(e.Get("items"))
		row.Left = ""
		if left := row.items.Left(e); left >= time.Second {
			row.Left = "about " + humanize.Duration(left) + " left"
		}
	case fsm.EventEvaluate:
		row.Verdict, row.Left = humanize.PlainLine(inspect.Text(e.Get("verdict"))), ""
		row.Bad = row.Verdict == "error" // an ordinary no is no failure
	case fsm.EventRoute:
		row.To = humanize.PlainLine(inspect.Text(e.Get("to")))
	}
}

// write adds what an event says to the log.
func (d *detail) write(e fsm.Event, v *inspect.Visit) {
	d.items.Add(e)
	label, path := "", ""
	if branch := inspect.InsideBranch(e); branch != "" {
		label = d.items.Label(branch)
		label, path = label+": ", " > "+label
	}
	switch e.Kind {
	case fsm.EventStateEnter:
		if e.Depth == 0 {
			d.errs.Since = e.Time
		}
	case fsm.EventActionStart:
		if v == nil {
			return
		}
		d.line(Line{Text: fmt.Sprintf("==> step %s, %s%s: %s", v.Number(), v.Path(), path,
			humanize.FirstLine(inspect.Text(e.Get("action")))), Head: true})
	case fsm.EventActionOutput:
		for part := range strings.SplitSeq(inspect.Text(e.Get("line")), "\n") {
			d.line(Line{Text: label + part})
		}
	case fsm.EventActionComplete:
		if d.errs.Dir != "" {
			d.errs.Read(d.stderr)
		}
		code := inspect.Text(e.Get("exit_code"))
		if errs := strings.TrimSpace(inspect.Text(e.Get("stderr_preview"))); errs != "" && !d.said.Covers(errs) {
			for part := range strings.SplitSeq(humanize.LastLines(errs, 8), "\n") {
				d.line(Line{Text: label + "stderr: " + part, Bad: code != "0" && code != "1"})
			}
		}
		if code != "0" {
			d.line(Line{Text: label + "exit code " + code, Bad: code != "1"}) // 1 is an ordinary no
		}
	case fsm.EventActionError:
		d.line(Line{Text: label + inspect.Text(e.Get("error")), Bad: true})
	case fsm.EventNote, fsm.EventWarning:
		d.line(Line{Text: "-- " + label + inspect.NoteText(e)})
	default:
		if said := inspect.EventText(e); said != "" {
			d.line(Line{Text: "-- " + label + said})
		}
	}
}

// line adds a line to the log. Escape sequences do not get there.
func (d *detail) line(l Line) {
	if len(l.Text) > longLine {
		l.Text = strings.ToValidUTF8(l.Text[:longLine], "") + "…"
	}
	l.Text = humanize.PlainLine(humanize.Uncoloured(l.Text))
	if d.log = append(d.log, l); len(d.log) > 2*mostLines {
		d.log = append(d.log[:0], d.log[len(d.log)-mostLines:]...)
	}
}

// show makes what is shown, of its own: it is read while more is added here.
func (d *detail) show(w *run) {
	live := w.ended.IsZero()
	if d.shown != nil && !d.changed && !live {
		return
	}
	s := &Detail{ID: string(w.ID), Note: humanize.PlainLine(d.note)}
	if live {
		s.Current = humanize.PlainLine(d.tally.Current())
	}
	for _, row := range d.steps[max(0, len(d.steps)-mostSteps):] {
		step := row.Step
		step.Took = humanize.Duration(row.visit.Took())
		if live && !d.over(row) {
			step.Took = humanize.Seconds(d.tally.Reader.Now(row.visit, time.Now()))
		}
		s.Steps = append(s.Steps, step)
	}
	for _, row := range d.steps {
		if d.over(row) && row.visit.Depth() == 0 {
			s.Previous = row.State
		}
	}
	if d.shown != nil && !d.changed {
		s.Graph, s.Log = d.shown.Graph, d.shown.Log
		d.shown = s
		return
	}
	s.Log = append(s.Log, d.log[max(0, len(d.log)-mostLines):]...)
	if n := d.counted(live); d.shown != nil && n == d.drawn {
		s.Graph = d.shown.Graph
	} else {
		s.Graph, d.drawn = d.graph(live), n
	}
	d.shown, d.changed = s, false
}

// counted changes whenever the graph does.
func (d *detail) counted(live bool) int {
	n := len(d.tally.Order)
	for _, way := range d.tally.Taken {
		n += 2 * way.Times
	}
	if n *= 2; live {
		n++
	}
	return n
}

// graph draws the loop with what the run did.
func (d *detail) graph(live bool) *diagram.Graph {
	g := &diagram.Graph{Name: d.run.Loop}
	if d.loop != nil {
		g = diagram.Of(d.loop)
	}
	m := d.tally.Measure(d.run, inspect.ByOutcome)
	if live {
		m.Current = d.tally.Current()
	}
	g.Measure(m)
	return g
}
