package cli

import (
	"fmt"
	"slices"

	"loops/persistence"
)

// queuedAs returns those in the queue that arg means, and with "" all.
func (f finder) queuedAs(arg string) []persistence.Waiter {
	line, _ := inQueue(f.project) // a queue that cannot be read is not what stop is about
	return slices.DeleteFunc(line, func(w persistence.Waiter) bool { return arg != "" && !isWaiter(f, w, arg) })
}

// onlyQueued is err, which says that there is nothing of arg to stop, unless somebody of it waits in the queue: then it
// says so, and how to take him out.
func (a *app) onlyQueued(f finder, arg string, err error) error {
	line := f.queuedAs(arg)
	if code, _ := explain(err); code != exitNotFound || len(line) == 0 {
		return err
	}
	of := ""
	if arg != "" {
		of = " of " + arg
	}
	return failure(exitNotFound, "nothing to stop: no run%s goes on, but %s", of, a.takeOutText(arg, line))
}

// tellQueued says who of arg waits in the queue beside runs that are stopped: he may begin when they end.
func (a *app) tellQueued(f finder, arg string) {
	if line := f.queuedAs(arg); len(line) > 0 {
		fmt.Fprintf(a.Err, "loops: %s, and may begin now\n", a.takeOutText(arg, line))
	}
}

// takeOutText says that those of arg wait in the queue, and how to take them out.
func (a *app) takeOutText(arg string, line []persistence.Waiter) string {
	waits := "1 waits"
	if len(line) > 1 {
		waits = fmt.Sprintf("%d wait", len(line))
	}
	how := "to take it out: " + a.command("queue remove", shortWaiter(line[0].ID))
	switch {
	case arg == "":
		how = "to take all out: " + a.command("queue remove --all")
	case len(line) > 1:
		how = "see: " + a.command("queue list")
	}
	return fmt.Sprintf("%s in the queue (%s)", waits, how)
}
