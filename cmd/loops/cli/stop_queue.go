package cli

import (
	"slices"

	"loops/engine/project"
	"loops/internal/lookup"
	"loops/persistence"
)

// queuedAs returns those in the queue that arg means, and with "" all.
func queuedAs(f project.Finder, arg string) []persistence.Waiter {
	line, _ := lookup.InQueue(f.Project) // a queue that cannot be read is not what stop is about
	return slices.DeleteFunc(line, func(w persistence.Waiter) bool { return arg != "" && !f.IsWaiter(w, arg) })
}
