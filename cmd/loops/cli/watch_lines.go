package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/inspect"
	"loops/internal/plain"
	"loops/internal/ui"
	"loops/internal/ui/views"
	"loops/persistence"
)

// watchLines prints a line for each change, until no run goes on of those that did, or ctx ends. With once it prints how
// all stand.
func watchLines(ctx context.Context, a *app, l *looker, o watchOptions) error {
	wanted := func(w *watchedRun) bool {
		return o.name == "" || w.ID == l.named || !project.IsNamed(w.Run, o.name) && project.LoopOf(o.name) == "" && w.Loop == l.loop
	}
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
			if text := oneLine(err); text != trouble {
				ui.Say(a.Err, "loops: the runs cannot be read now: %s; trying again\n", text)
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
			if row.Live && w.Status != persistence.Running && !o.once {
				continue // its process is about to end
			}
			key := fmt.Sprint(row.Live, row.Status, "/", w.State, "/", w.Step)
			// What ended before watch began is no change.
			if before, known := said[w.ID]; before == key || !known && first && !o.once && !row.Live {
				said[w.ID] = key
				continue
			}
			said[w.ID] = key
			a.watchLine(w, l.Project, o.json)
		}
		for _, w := range l.waiters {
			if o.name != "" && (w.Loop != l.loop || project.IsNamed(persistence.Run{ID: l.named}, o.name) && w.Resumes != l.named) {
				continue
			}
			goOn++
			shown++
			if id := persistence.ID(queuedID(w)); said[id] == "" {
				said[id] = views.StatusQueued
				a.watchWaiter(w, l.Project, o.json)
			}
		}
		switch {
		case o.once:
			if shown == 0 && !o.json {
				ui.SayLine(a.out, "No run goes on, and none has ended in the last ten minutes.")
			}
			return nil
		case goOn == 0:
			if first && !o.json {
				ui.SayLine(a.out, "No run goes on.")
			}
			return nil
		case a.out.Gone():
			return nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(max(o.interval, 30*time.Since(begun))):
			continue
		}
		break
	}
	if stop, stopped := errors.AsType[*fsm.Stop](context.Cause(ctx)); stopped {
		return endedBy(stop.Signal)
	}
	return context.Cause(ctx)
}

func (a *app) watchLine(w *watchedRun, p *project.Project, asJSON bool) {
	row, now := w.row(), time.Now()
	if !asJSON {
		line := fmt.Sprintf("%s  %s  %-11s  %-16s  %-7s  %s", now.Format(time.TimeOnly), plain.Line(row.ID), row.Status, plain.Line(row.State), row.Step, row.Elapsed)
		if row.Cost != "" {
			line += "  " + row.Cost
		}
		if row.Note != "" {
			line += "  " + plain.Line(row.Note)
		}
		ui.SayLine(a.out, line)
		return
	}
	m := value.NewMap("time", ui.Stamp(now), "instance_id", string(w.ID), "run_id", w.RunID, "loop", w.Loop, "status", inspect.StatusWord(w.Run), "alive", row.Live,
		"current_state", w.State, "iteration", int64(w.Step), "max_steps", views.OrNone(w.MaxSteps), "elapsed_ms", w.elapsed().Milliseconds(),
		"cost_usd", nil, "waiting", nil, "terminated_by", ui.OrNull(w.Ended), "error", ui.OrNull(w.Error))
	if w.cost.Unknown == 0 {
		m.Set("cost_usd", ui.MicroDollars(w.cost.CostUSD))
	}
	if w.wait != nil {
		m.Set("waiting", views.WaitObject(w.wait))
	}
	_, _ = a.out.Write(append(value.AppendJSON(nil, m), '\n')) // a sink never fails
}
