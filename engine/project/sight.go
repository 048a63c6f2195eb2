package project

import (
	"loops/internal/humanize"
	"loops/persistence"
	"loops/reconcile"
)

// Seen reports whether the process that owns a run, if any does, can be seen from here: it is not another
// machine's, and not in another PID namespace, where pids mean other processes.
func Seen(r persistence.Run) bool {
	return r.Owner.PID == 0 || reconcile.Sight(r.Owner) == persistence.Visible
}

// Where says where a recorded process is that cannot be seen from here; "" = it can.
func Where(o persistence.Owner) string {
	id := reconcile.Identity(o)
	switch {
	case id.Visible():
		return ""
	case id.Near():
		return "in another PID namespace of this machine (a container or a sandbox)"
	case !id.Elsewhere():
		return humanize.PlainLine("on another machine with the name " + o.Host +
			", or on this one before it was started again")
	}
	return humanize.PlainLine("on host " + o.Host)
}
