package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"loops/fsm"
	"loops/internal/diagram"
	"loops/internal/plain"
	"loops/internal/watch"
	"loops/persistence"
)

// What is kept of a run to be shown: steps, lines of its log, and bytes of one line.
const (
	mostSteps = 300
	mostLines = 500
	longLine  = 2000
)

// A runDetail follows one run: its steps, its log, and what it did in each state.
type runDetail struct {
	looker *looker
	run    persistence.Run
	follower
	tally   *tally
	steps   []*stepRow
	open    []*stepRow // of them, that of each depth
	log     []watch.Line
	path    []string // the state at each depth
	damaged bool
	live    bool // when it was looked at last

	loop    *fsm.Loop // nil = not known
	note    string
	segment int // of the run when its loop was read; below 0 = it was not

	changed bool // since what is shown was made
	drawn   int  // how many ways and states the graph had counted
	shown   *watch.Detail
}

// A stepRow is a visit of a state that is still going on, or is over.
type stepRow struct {
	watch.Step
	began time.Time
	cost  costLine
	over  bool
}

func newRunDetail(l *looker, r persistence.Run) *runDetail {
	return &runDetail{looker: l, run: r, follower: follower{store: l.store, id: r.ID}, tally: newTally(l.known), segment: -1}
}

// update reads what came since, as far as ctx lets it, and makes of it what is shown.
func (d *runDetail) update(ctx context.Context, w *watchedRun) error {
	last := !w.ended.IsZero() && d.live // it has ended since we looked
	d.live = w.ended.IsZero()
	if d.run.Status != w.Status || d.run.Archived != w.Archived || last {
		d.changed, d.looked = true, nil
	} else if d.shown != nil && !d.changed && !w.ended.IsZero() {
		return nil
	}
	d.run = w.Run
	if d.segment != w.Segment {
		d.segment = w.Segment
		var file string
		d.loop, file = d.looker.app.ranLoop(d.looker.finder, w.Run, d.store.definition(ctx, w.ID))
		if d.note = ""; file != "" {
			d.note = "the loop is drawn from " + d.looker.project.short(file) + " as it is now"
		}
	}
	err := d.read(ctx, w.Run, last, d.event)
	if ctx.Err() != nil {
		return nil // it goes on where it stands
	}
	d.show(w)
	return err
}

func (d *runDetail) event(e fsm.Event, err error) {
	d.changed = true
	if err != nil {
		if !d.damaged {
			d.damaged = true
			d.line(watch.Line{Text: oneLine(err), Bad: true})
		}
		return
	}
	cost := d.tally.add(e)
	switch e.Kind {
	case "state_enter":
		d.enter(e)
	case "loop_complete":
		d.leave(e.Depth, e.Time)
		d.line(watch.Line{Text: strings.Repeat("  ", e.Depth) + "==> ended: " + eventDetail(e, false, false), Head: true})
	default:
		d.step(e, cost)
	}
	d.write(e)
}

// enter begins a row, unless the same visit goes on after a resume.
func (d *runDetail) enter(e fsm.Event) {
	state, n := text(e.Get("state")), text(e.Get("iteration"))
	d.path = append(d.path[:min(e.Depth, len(d.path))], state)
	if e.Depth > 0 && e.Depth <= len(d.open) && d.open[e.Depth-1] != nil {
		n = d.open[e.Depth-1].Number + "." + n
	}
	if again, _ := e.Get("resumed").(bool); again && e.Depth < len(d.open) && d.open[e.Depth] != nil && d.open[e.Depth].Number == n {
		return
	}
	d.leave(e.Depth, e.Time)
	for len(d.open) <= e.Depth {
		d.open = append(d.open, nil)
	}
	row := &stepRow{Step: watch.Step{Number: n, State: clean(state)}, began: e.Time}
	d.open[e.Depth] = row
	if d.steps = append(d.steps, row); len(d.steps) > 2*mostSteps {
		d.steps = append(d.steps[:0], d.steps[len(d.steps)-mostSteps:]...)
	}
}

// leave ends the rows at a depth and below.
func (d *runDetail) leave(depth int, at time.Time) {
	for i := depth; i < len(d.open); i++ {
		if row := d.open[i]; row != nil && !row.over {
			row.over = true
			row.Took = duration(at.Sub(row.began))
		}
	}
	d.open = d.open[:min(depth, len(d.open))]
}

// step enters what an event says about the visit it belongs to.
func (d *runDetail) step(e fsm.Event, cost costLine) {
	if e.Depth >= len(d.open) || d.open[e.Depth] == nil {
		return
	}
	row := d.open[e.Depth]
	if cost.Prompts+cost.Judges > 0 {
		row.cost.plus(cost)
		row.Cost = row.cost.cost()
	}
	switch e.Kind {
	case "action_complete":
		row.Bad = text(e.Get("exit_code")) != "0"
	case "action_error":
		row.Bad = true
	case "evaluate":
		row.Verdict = clean(text(e.Get("verdict")))
		row.Bad = row.Bad || row.Verdict == "error"
	case "route":
		row.To = clean(text(e.Get("to")))
	}
}

// write adds what an event says to the log.
func (d *runDetail) write(e fsm.Event) {
	switch e.Kind {
	case "action_start":
		number := ""
		if e.Depth < len(d.open) && d.open[e.Depth] != nil {
			number = d.open[e.Depth].Number
		}
		d.line(watch.Line{Text: fmt.Sprintf("==> step %s, %s: %s", number, strings.Join(d.path, " > "), firstLine(text(e.Get("action")))), Head: true})
	case "action_output":
		for part := range strings.SplitSeq(strings.TrimSuffix(text(e.Get("line")), "\n"), "\n") {
			d.line(watch.Line{Text: part})
		}
	case "action_complete":
		code := text(e.Get("exit_code"))
		if errs := strings.TrimSpace(text(e.Get("stderr_preview"))); errs != "" {
			for part := range strings.SplitSeq(lastLines(errs, 8), "\n") {
				d.line(watch.Line{Text: "stderr: " + part, Bad: code != "0"})
			}
		}
		if code != "0" {
			d.line(watch.Line{Text: "exit code " + code, Bad: true})
		}
	case "action_error":
		d.line(watch.Line{Text: text(e.Get("error")), Bad: true})
	case "note", "warning":
		d.line(watch.Line{Text: "-- " + noteText(e)})
	default:
		if said := sentence(e); said != "" {
			d.line(watch.Line{Text: "-- " + said})
		}
	}
}

// line adds a line to the log. Escape sequences do not get there.
func (d *runDetail) line(l watch.Line) {
	if len(l.Text) > longLine {
		l.Text = strings.ToValidUTF8(l.Text[:longLine], "") + "…"
	}
	l.Text = clean(plain.Uncoloured(l.Text))
	if d.log = append(d.log, l); len(d.log) > 2*mostLines {
		d.log = append(d.log[:0], d.log[len(d.log)-mostLines:]...)
	}
}

// show makes what is shown, of its own: it is read while more is added here.
func (d *runDetail) show(w *watchedRun) {
	live := w.ended.IsZero()
	if d.shown != nil && !d.changed && !live {
		return
	}
	s := &watch.Detail{ID: string(w.ID), Note: clean(d.note)}
	if live {
		s.Current = clean(d.tally.Current())
	}
	for _, row := range d.steps[max(0, len(d.steps)-mostSteps):] {
		step := row.Step
		if !row.over && live && !row.began.IsZero() {
			step.Took = seconds(time.Since(row.began))
		}
		s.Steps = append(s.Steps, step)
	}
	for _, row := range d.steps {
		if row.over && !strings.Contains(row.Number, ".") {
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
func (d *runDetail) counted(live bool) int {
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
func (d *runDetail) graph(live bool) *diagram.Graph {
	g := &diagram.Graph{Name: d.run.Loop}
	if d.loop != nil {
		g = diagram.Of(d.loop)
	}
	m := d.tally.measure(d.run, byVisits)
	if live {
		m.Current = d.tally.Current()
	}
	g.Measure(m)
	return g
}
