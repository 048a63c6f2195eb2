package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"loops/engine/project"
	"loops/internal/inspect"
	"loops/internal/phrase"
	"loops/internal/plain"
	"loops/internal/ui"
	"loops/persistence"
)

func runListRunning(ctx context.Context, a *app, o listOptions) error {
	p, store, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	f := store.Finder()
	var runs []persistence.Run
	if !o.runs.failed.IsZero() {
		runs, err = failedSince(ctx, store, o.runs.failed)
	} else {
		runs, err = openNow(ctx, store)
	}
	if err != nil {
		return err
	}
	var looked, chosen []*inspect.Vitals
	for _, r := range runs {
		v := glimpse(ctx, f, r)
		looked = append(looked, v)
		if o.runs.keeps(v) {
			chosen = append(chosen, v)
		}
	}
	var waiting []persistence.Waiter
	if o.runs.queued() {
		if waiting, err = inQueue(p); err != nil {
			return err
		}
	}
	if o.json {
		objects := ui.List(chosen, func(v *inspect.Vitals) any { return listedObject(p, store, v) })
		for _, w := range waiting {
			objects = append(objects, waiterStatus(p, w))
		}
		return joined([]error{ui.WriteJSON(a.out, objects), unreadRuns(looked)})
	}
	if len(chosen)+len(waiting) == 0 {
		ui.SayLine(a.out, o.runs.none())
		return unreadRuns(looked)
	}
	var lines []runLine
	for _, v := range chosen {
		lines = append(lines, lineOf(v))
	}
	for _, w := range waiting {
		lines = append(lines, lineOfWaiter(p, w))
	}
	writeRuns(a.out, lines, a.width())
	return unreadRuns(looked)
}

// none says that there is no such run.
func (f *openFilter) none() string {
	switch {
	case f.silent > 0:
		return "No run is stuck: none that goes on was silent for " + phrase.Duration(f.silent) + " without waiting for something."
	case f.waiting:
		return "No run waits."
	case !f.failed.IsZero():
		return "No run ended badly since " + phrase.Clock(f.failed) + "."
	case len(f.status) > 0:
		return "No open run is " + strings.Join(f.status, " or ") + "."
	}
	return noneOpen
}

// failedSince returns the runs that ended badly since then. One that went on for long may have begun before any other.
func failedSince(ctx context.Context, store *project.Records, since time.Time) ([]persistence.Run, error) {
	runs, err := store.Runs(ctx, persistence.Query{})
	if err != nil {
		return nil, store.Failed(err)
	}
	return slices.DeleteFunc(project.Current(runs), func(r persistence.Run) bool { return !endedBadly(r) || r.UpdatedAt.Before(since) }), nil
}

// listedObject is a run of the list as JSON.
func listedObject(p *project.Project, store *project.Records, v *inspect.Vitals) any {
	m := statusObject(p, store, v.Run)
	if v.Run.Limited {
		m.Set("error", ui.OrNull(inspect.HonestError(v.Run)))
	}
	m.Set("idle_ms", nil)
	if project.Alive(v.Run) {
		m.Set("idle_ms", v.Idle().Milliseconds())
	}
	if v.Run.Unowned {
		m.Set("owner_unknown", true)
	}
	m.Set("owner_elsewhere", outOfSight(v.Run))
	if v.Wait != nil {
		m.Set("waiting", waitObject(v.Wait))
	}
	if !v.PausedAt.IsZero() {
		m.Set("pause_asked_at", ui.Stamp(v.PausedAt))
	}
	return m
}

// A runLine is one run of the list, and what there is to add below it.
type runLine struct {
	run, status, state, step, elapsed, idle, pid string
	notes                                        []string
}

func lineOf(v *inspect.Vitals) runLine {
	r := v.Run
	l := runLine{
		run: string(r.ID), status: inspect.StatusWord(r), state: cmp.Or(r.State, "-"), step: inspect.StepText(r), elapsed: shortTime(v.Elapsed()),
		idle: "?", pid: "-",
	}
	if v.Memory != nil {
		var path []string
		for _, at := range v.Levels() {
			path = append(path, at.State)
		}
		l.state = strings.Join(path, ">")
	}
	if !v.Heard().IsZero() {
		l.idle = shortTime(v.Idle())
	}
	if project.Alive(r) {
		l.pid = fmt.Sprint(r.Owner.PID)
	}
	if !v.PausedAt.IsZero() {
		l.notes = append(l.notes, v.PausedText())
	}
	if v.Wait != nil && !v.Stands() {
		l.notes = append(l.notes, "waits for "+inspect.WaitLine(v.Wait))
	}
	if project.Alive(r) && outOfSight(r) {
		l.notes = append(l.notes, project.Where(r.Owner))
	}
	if inspect.Wasted(r) {
		l.notes = append(l.notes, inspect.HonestError(r))
	}
	if n := len(r.Damage); n > 0 {
		l.notes = append(l.notes, "damaged: "+r.Damage[0])
	}
	return l
}

func lineOfWaiter(p *project.Project, w persistence.Waiter) runLine {
	return runLine{
		run: cmp.Or(string(w.Resumes), w.Loop), status: statusQueued, state: "-", step: "-", elapsed: "-", idle: shortTime(time.Since(w.Since)),
		pid: fmt.Sprint(w.Owner.PID), notes: []string{"waits for " + obstacleText(p, w)},
	}
}

// shortTime is a duration in at most six characters: 250ms, 3.1s, 59s, 4m05s, 1h02m, 3d04h.
func shortTime(d time.Duration) string {
	switch {
	case d < time.Hour:
		return phrase.Duration(d)
	case d < 100*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd%02dh", int(d.Hours())/24, int(d.Hours())%24)
}

// leastState is how narrow the column of states gets.
const leastState = 8

// writeRuns prints a table of runs. On a terminal of so many columns (0 = none) the names of states are cut so that a line
// fits; if that is not enough the table goes without pids, and then without the time a run took.
func writeRuns(out io.Writer, lines []runLine, width int) {
	head := runLine{run: "RUN", status: "STATUS", state: "STATE", step: "STEP", elapsed: "ELAPSED", idle: "IDLE", pid: "PID"}
	columns := []func(*runLine) *string{
		func(l *runLine) *string { return &l.run }, func(l *runLine) *string { return &l.status }, func(l *runLine) *string { return &l.state },
		func(l *runLine) *string { return &l.step }, func(l *runLine) *string { return &l.elapsed }, func(l *runLine) *string { return &l.idle },
		func(l *runLine) *string { return &l.pid },
	}
	all := append([]runLine{head}, lines...)
	for i := range all {
		for _, c := range columns {
			*c(&all[i]) = plain.Line(*c(&all[i]))
		}
	}
	const state = 2
	wide := func() (sum int, states int) {
		for i, c := range columns {
			most := 0
			for j := range all {
				most = max(most, plain.Width(*c(&all[j])))
			}
			if sum += most + 2; i == state {
				states = most
			}
		}
		return sum - 2, states
	}
	for _, drop := range []int{-1, 6, 4} {
		if drop >= 0 {
			columns = slices.Delete(columns, drop, drop+1)
		}
		sum, states := wide()
		if over := sum - width; width == 0 || over <= 0 {
			break
		} else if room := states - over; room >= leastState || drop == 4 {
			for i := range all {
				all[i].state = plain.Cut(all[i].state, max(leastState, room))
			}
			break
		}
	}
	var rows [][]string
	for i := range all {
		var cells []string
		for _, c := range columns {
			cells = append(cells, *c(&all[i]))
		}
		rows = append(rows, cells)
	}
	var b strings.Builder
	writeTable(&b, rows)
	i := 0
	for line := range strings.Lines(b.String()) {
		fmt.Fprint(out, line)
		for _, note := range all[i].notes {
			if note = plain.Line(note); note == "" {
				continue
			}
			if width > 0 {
				note = plain.Cut(note, max(20, width-3))
			}
			ui.SayLine(out, "  "+note)
		}
		i++
	}
}
