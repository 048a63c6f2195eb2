package watch

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"loops/engine/project"
	"loops/internal/diagram"
	"loops/internal/humanize"
	"loops/internal/view"
	"loops/persistence"
)

// queuedID names a waiter on the screen: it is no run yet, and two of one loop may wait.
func queuedID(w persistence.Waiter) string {
	return fmt.Sprintf("%s %.8s", cmp.Or(string(w.Resumes), w.Loop), w.ID)
}

// queuedRow is a waiter in the list of runs.
func queuedRow(p *project.Project, w persistence.Waiter) Run {
	return Run{
		ID: queuedID(w), Loop: w.Loop, Health: Waiting, Status: view.StatusQueued, Queued: true, State: "-", Step: "-",
		Elapsed: humanize.Seconds(time.Since(w.Since)), Lasted: time.Since(w.Since),
		Note: "waits for " + view.ObstacleText(p, w),
	}
}

// queuedDetail is what there is to see of a waiter: the graph of its loop. nil = no waiter has that id.
func (l *Monitor) queuedDetail(id string) *Detail {
	i := slices.IndexFunc(l.waiters, func(w persistence.Waiter) bool { return queuedID(w) == id })
	if i < 0 {
		return nil
	}
	if l.queued == nil || l.queued.ID != id {
		l.queued = &Detail{ID: id}
		if path, err := l.Project.Resolve(l.waiters[i].Loop); err == nil {
			if def, _, err := l.Project.Loader().Load(path); err == nil && def != nil {
				l.queued.Graph = diagram.Of(def)
			}
		}
	}
	return l.queued
}
