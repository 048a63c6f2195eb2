package view

import (
	"cmp"
	"fmt"
	"time"

	"loops/engine/project"
	"loops/internal/humanize"
	"loops/persistence"
)

// OwnerText says which process carries a run on, and whether it lives.
func OwnerText(r persistence.Run) string {
	elsewhere := OutOfSight(r)
	switch {
	case r.Owner.PID == 0:
		return ""
	case elsewhere && r.Held && r.Leased.IsZero():
		return Process(r.Owner) + ", which holds its lock; from here it cannot be asked more"
	case elsewhere && r.Held:
		return Process(r.Owner) + ", which keeps its lease; from here it cannot be asked more"
	case elsewhere && r.Lapsed:
		return Process(r.Owner) + ", whose lease ran out; loops resume takes the run over"
	case elsewhere && project.Alive(r):
		return Process(r.Owner) + "; whether it lives cannot be asked from here"
	case project.Alive(r):
		return fmt.Sprintf("pid %d, alive", r.Owner.PID)
	}
	return fmt.Sprintf("pid %d, gone", r.Owner.PID)
}

// LeaseText says how long the owner of a run in a database keeps it without being heard of.
func LeaseText(r persistence.Run) string {
	switch d := time.Until(r.Leased); {
	case r.Leased.IsZero():
		return ""
	case r.Lapsed:
		return "ran out at " + humanize.Clock(r.Leased)
	default:
		return fmt.Sprintf("until %s (%s left), unless it is renewed", humanize.Clock(r.Leased),
			humanize.Duration(max(0, d)))
	}
}

// WaiterText says in one line that a user waits in the queue.
func WaiterText(p *project.Project, w persistence.Waiter) string {
	return fmt.Sprintf("pid %d waits for %s, for %s", w.Owner.PID, ObstacleText(p, w),
		humanize.Duration(time.Since(w.Since)))
}

// ObstacleText is what a waiter waits for.
func ObstacleText(p *project.Project, w persistence.Waiter) string {
	o := w.For
	path := humanize.PlainLine(cmp.Or(p.Short(o.Path), ShortScope(p, w), "its scope"))
	switch {
	case o.Run != "":
		return fmt.Sprintf("%s, which run %s has", path, o.Run)
	case o.Waiter != "":
		return fmt.Sprintf("%s, which loop %s waits for since %s", path, o.Loop, humanize.Clock(o.Since))
	case o.Loop != "":
		return fmt.Sprintf("%s, which loop %s has", path, o.Loop)
	}
	return path
}
