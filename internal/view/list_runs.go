package view

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"loops/engine/project"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/internal/terminal"
	"loops/persistence"
)

// A RunLine is one run of the list, and what there is to add below it.
type RunLine struct {
	run, status, state, step, elapsed, idle, pid string
	notes                                        []string
	over                                         bool // no process runs it
}

// LineOf is the line of a run in the list.
func LineOf(v *inspect.Status) RunLine {
	r := v.Run
	l := RunLine{
		run: string(r.ID), status: v.StatusText(), state: cmp.Or(r.State, "-"), step: inspect.StepText(r),
		elapsed: ShortTime(v.Elapsed()),
		idle:    "?", pid: "-",
	}
	if v.Memory != nil {
		var path []string
		for _, at := range v.Levels() {
			path = append(path, at.State)
		}
		l.state = strings.Join(path, ">")
	}
	if !v.Heard().IsZero() {
		l.idle = ShortTime(v.Idle())
	}
	if project.Alive(r) {
		l.pid = fmt.Sprint(r.Owner.PID)
	}
	if !v.PausedAt.IsZero() {
		l.notes = append(l.notes, v.PausedText())
	}
	l.notes = append(l.notes, terminal.InProject(r)...)
	if v.Wait != nil && !v.Paused() {
		l.notes = append(l.notes, "waits for "+strings.Join(v.WaitLines(), "; "))
	}
	if project.Alive(r) && OutOfSight(r) {
		l.notes = append(l.notes, project.Where(r.Owner))
	}
	l.over = !project.Alive(r) && r.Status != persistence.Running && r.Status != persistence.Starting &&
		r.Status != persistence.Queued
	if reason := inspect.Reason(r); l.over && reason != "" && v.Wait == nil {
		l.notes = append(l.notes, reason)
	}
	if r.Status == persistence.Queued {
		l.notes = append(l.notes, cmp.Or(inspect.PlacementText(r), "waits for a worker"))
	}
	if n := len(r.Damage); n > 0 {
		l.notes = append(l.notes, "damaged: "+r.Damage[0])
	}
	return l
}

// LineOfWaiter is the line of what waits in the queue.
func LineOfWaiter(p *project.Project, w persistence.Waiter) RunLine {
	return RunLine{
		run: cmp.Or(string(w.Resumes), w.Loop), status: StatusQueued, state: "-", step: "-", elapsed: "-",
		idle: ShortTime(time.Since(w.Since)),
		pid:  fmt.Sprint(w.Owner.PID), notes: []string{"waits for " + ObstacleText(p, w)},
	}
}

// ShortTime is a duration in at most six characters: 250ms, 3.1s, 59s, 4m05s, 1h02m, 3d04h.
func ShortTime(d time.Duration) string {
	switch {
	case d < time.Hour:
		return humanize.Duration(d)
	case d < 100*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd%02dh", int(d.Hours())/24, int(d.Hours())%24)
}

// leastState is how narrow the column of states gets.
const leastState = 8

// WriteRuns prints a table of runs: those that are running or queued, and below them those that no process
// runs. On a terminal of so many columns (0 = none) the names of states are cut so that a line fits; if that is
// not enough the table goes without pids, and then without the time a run took.
func WriteRuns(out io.Writer, lines []RunLine, width int) {
	head := RunLine{
		run: "RUN", status: "STATUS", state: "STATE", step: "STEP", elapsed: "ELAPSED", idle: "IDLE",
		pid: "PID",
	}
	columns := []func(*RunLine) *string{
		func(l *RunLine) *string { return &l.run }, func(l *RunLine) *string { return &l.status },
		func(l *RunLine) *string { return &l.state },
		func(l *RunLine) *string { return &l.step }, func(l *RunLine) *string { return &l.elapsed },
		func(l *RunLine) *string { return &l.idle },
		func(l *RunLine) *string { return &l.pid },
	}
	all := []RunLine{head}
	for _, over := range []bool{false, true} {
		for _, l := range lines {
			if l.over == over {
				all = append(all, l)
			}
		}
	}
	for i := range all {
		for _, c := range columns {
			*c(&all[i]) = humanize.PlainLine(*c(&all[i]))
		}
	}
	const state = 2
	wide := func() (sum int, states int) {
		for i, c := range columns {
			most := 0
			for j := range all {
				most = max(most, humanize.Width(*c(&all[j])))
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
				all[i].state = humanize.Cut(all[i].state, max(leastState, room))
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
	terminal.WriteTable(&b, rows)
	i := 0
	for line := range strings.Lines(b.String()) {
		if i > 1 && all[i].over && !all[i-1].over {
			fmt.Fprint(out, "\nNot running:\n")
		}
		fmt.Fprint(out, line)
		for _, note := range all[i].notes {
			if note = humanize.PlainLine(note); note == "" {
				continue
			}
			if width > 0 {
				note = humanize.Cut(note, max(20, width-3))
			}
			terminal.SayLine(out, "  "+note)
		}
		i++
	}
}
