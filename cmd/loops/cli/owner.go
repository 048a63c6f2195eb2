package cli

import (
	"fmt"

	"loops/engine/project"
	"loops/persistence"
	"loops/reconcile"
)

// outOfSight reports whether the process that owns a run cannot be seen from here: it is another machine's, or in another
// PID namespace, where pids mean other processes.
func outOfSight(r persistence.Run) bool {
	return !project.Seen(r)
}

// awayText says that a run is owned by a process that cannot be seen from here, and what to do about it.
func awayText(r persistence.Run) string {
	text := fmt.Sprintf("run %s is owned by %s; wait for it, or: loops stop %s", r.ID, process(r.Owner), quote(string(r.ID)))
	if id := reconcile.Identity(r.Owner); !id.Near() && !id.Elsewhere() {
		text += "; if the machine was started again, the lease ends by itself, then: loops resume " + quote(string(r.ID))
	}
	return text
}

// process names a recorded process for a person, with its place where that is another one.
func process(o persistence.Owner) string {
	if where := project.Where(o); where != "" {
		return fmt.Sprintf("pid %d %s", o.PID, where)
	}
	return fmt.Sprintf("pid %d", o.PID)
}
