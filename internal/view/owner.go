package view

import (
	"fmt"

	"loops/engine/project"
	"loops/internal/humanize"
	"loops/persistence"
	"loops/reconcile"
)

// OutOfSight reports whether the process that owns a run cannot be seen from here: it is another machine's, or
// in another PID namespace, where pids mean other processes.
func OutOfSight(r persistence.Run) bool {
	return !project.Seen(r)
}

// awayText says that a run is owned by a process that cannot be seen from here, and what to do about it.
func awayText(r persistence.Run) string {
	text := fmt.Sprintf("run %s is owned by %s; wait for it, or: loops stop %s", r.ID, Process(r.Owner),
		humanize.ShellWord(string(r.ID)))
	if id := reconcile.Identity(r.Owner); !id.Near() && !id.Elsewhere() {
		text += "; if the machine was started again, the lease ends by itself, then: loops resume " +
			humanize.ShellWord(string(r.ID))
	}
	return text
}

// Process names a recorded process for a person, with its place where that is another one.
func Process(o persistence.Owner) string {
	if where := project.Where(o); where != "" {
		return fmt.Sprintf("pid %d %s", o.PID, where)
	}
	return fmt.Sprintf("pid %d", o.PID)
}
