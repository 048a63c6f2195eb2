package watch

import (
	"context"
	"fmt"
	"io"
	"time"

	"loops/engine/project"
	"loops/internal/api"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/internal/terminal"
	"loops/internal/view"
	"loops/persistence"
)

// MonitorLines are how runs are written as lines.
type MonitorLines struct {
	Name     string // of a loop, or the id of the run to begin on; "" = all
	Once     bool   // the status of all, and no more
	JSON     bool
	Interval time.Duration // between two looks; one that takes long has a longer rest
	Out      *terminal.Sink
	Err      io.Writer // for what cannot be read

	day *terminal.Day
}

// Print writes a line for each change, until none of the runs is running or queued any more, nothing reads on
// or ctx ends, whose cause is the error.
func (l *Monitor) Print(ctx context.Context, o MonitorLines) error {
	wanted := func(w *run) bool {
		return o.Name == "" || w.ID == l.named || !l.one && w.Loop == l.loop
	}
	o.day = new(terminal.Day)
	said := map[persistence.ID]string{}
	trouble := ""
	for first := true; ; first = false {
		begun := time.Now()
		_, err := l.look(ctx, l.named)
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			if first {
				return err
			}
			if text := humanize.OneLine(err); text != trouble {
				terminal.Say(o.Err, "loops: the runs cannot be read now: %s; trying again\n", text)
				trouble = text
			}
		} else {
			trouble = ""
		}
		goOn, shown := 0, 0
		for _, w := range l.list() {
			if !wanted(w) {
				continue
			}
			if w.ended.IsZero() {
				goOn++
			}
			shown++
			row := w.row()
			if row.Live && w.Status != persistence.Running && !o.Once {
				continue // its process is about to end
			}
			key := fmt.Sprint(row.Live, row.Status, "/", w.State, "/", w.Step)
			// What ended before watch began is no change.
			if before, known := said[w.ID]; before == key || !known && first && !o.Once && !row.Live {
				said[w.ID] = key
				continue
			}
			said[w.ID] = key
			o.line(w)
		}
		for _, w := range l.waiters {
			if o.Name != "" && (w.Loop != l.loop || l.one && w.Resumes != l.named) {
				continue
			}
			goOn++
			shown++
			if id := persistence.ID(queuedID(w)); said[id] == "" {
				said[id] = view.StatusQueued
				o.waiter(w, l.Project)
			}
		}
		switch {
		case o.Once:
			if shown == 0 && !o.JSON {
				terminal.SayLine(o.Out, "No active runs, and none ended in the last ten minutes.")
			}
			return nil
		case goOn == 0:
			if first && !o.JSON {
				terminal.SayLine(o.Out, "No active runs.")
			}
			return nil
		case o.Out.Gone():
			return nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(max(o.Interval, 30*time.Since(begun))):
			continue
		}
		break
	}
	return context.Cause(ctx)
}

// line writes the status of a run.
func (o MonitorLines) line(w *run) {
	row, now := w.row(), time.Now()
	if !o.JSON {
		o.day.Heading(o.Out, now)
		line := fmt.Sprintf("%s  %s  %-11s  %-16s  %-7s  %s", now.Format(time.TimeOnly), humanize.PlainLine(row.ID),
			row.Status, humanize.PlainLine(row.State), row.Step, row.Elapsed)
		if row.Cost != "" {
			line += "  " + row.Cost
		}
		if row.Note != "" {
			line += "  " + humanize.PlainLine(row.Note)
		}
		terminal.SayLine(o.Out, line)
		return
	}
	line := api.Watched{
		Time: api.Stamp(now), Instance: string(w.ID), RunID: w.RunID, Loop: w.Loop, Status: inspect.StatusWord(w.Run),
		Outcome: inspect.OutcomeNow(w.Run, w.wait),
		Alive:   row.Live, State: w.State, Iteration: w.Step, MaxSteps: api.Int(w.MaxSteps),
		Elapsed: w.elapsed().Milliseconds(), Duration: w.elapsed().Milliseconds(),
		TerminatedBy: api.Text(w.Ended), Error: api.Text(w.Error), Ending: view.EndingOf(w.Run),
	}
	if w.cost.Unknown == 0 {
		line.Cost = new(terminal.MicroDollars(w.cost.CostUSD))
	} else if most, known := w.cost.Most(); known {
		line.Most = new(terminal.MicroDollars(most))
	}
	if w.wait != nil {
		line.Waiting = new(view.Waiting(w.wait))
	}
	o.object(line)
}

func (o MonitorLines) object(v any) {
	_ = terminal.WriteJSONLine(o.Out, v) // a sink never fails
}

// waiter writes that one waits in the queue.
func (o MonitorLines) waiter(w persistence.Waiter, p *project.Project) {
	row, now := queuedRow(p, w), time.Now()
	if o.JSON {
		o.object(api.WatchedWaiter{QueuedStatus: view.QueuedStatus(w), Time: api.Stamp(now)})
		return
	}
	o.day.Heading(o.Out, now)
	terminal.Say(o.Out, "%s  %s  %-11s  %-16s  %-7s  %s  %s\n", now.Format(time.TimeOnly), humanize.PlainLine(row.ID),
		row.Status, row.State, row.Step, row.Elapsed, humanize.PlainLine(row.Note))
}
