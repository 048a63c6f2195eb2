package cli

import (
	"slices"

	"loops/persistence"
)

// queuedAs returns those in the queue that arg means, and with "" all.
func (f finder) queuedAs(arg string) []persistence.Waiter {
	line, _ := inQueue(f.project) // a queue that cannot be read is not what stop is about
	return slices.DeleteFunc(line, func(w persistence.Waiter) bool { return arg != "" && !isWaiter(f, w, arg) })
}
