package project

import (
	"loops/persistence"
	"loops/reconcile"
)

// Seen reports whether the process that owns a run, if any does, can be seen from here: it is not another machine's, and not in
// another PID namespace, where pids mean other processes.
func Seen(r persistence.Run) bool {
	return r.Owner.PID == 0 || reconcile.Sight(r.Owner) == persistence.Visible
}
