package cli

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"loops/engine"
	"loops/engine/project"
	"loops/internal/api"
	"loops/internal/humanize"
	"loops/internal/process"
	"loops/internal/terminal"
	"loops/internal/view"
	"loops/internal/worker"
)

// queuedInBackground says that a run in the background waits, and continues waiting when this process has ended.
func (a *program) queuedInBackground(p *project.Project, c *worker.ChildProcess, start worker.ChildStart,
	caught string, view viewFlags,
) error {
	switch {
	case caught != "":
		terminal.Say(a.Err, "loops: %s came while the run waited in the queue; nothing was run\n", caught)
		return passOn(c.Wait())
	case view.json:
		return terminal.WriteJSON(a.out,
			api.BackgroundQueued{
				QueueID: start.Queue.ID, Loop: start.Loop, PID: start.PID, Log: api.Text(start.Log),
				For: start.Queue.Text,
			})
	case view.quiet:
		terminal.SayLine(a.out, start.Queue.ID)
		return nil
	}
	terminal.Say(a.out, "%s.\nThe run begins in the background (pid %d) when it is its turn.\n", start.Queue.Text,
		start.PID)
	if start.Log != "" {
		terminal.Say(a.out, "  log: %s\n", p.Short(start.Log))
	}
	terminal.Say(a.out, "  who waits:   %s\n  take it out: %s\n", a.command("queue list"),
		a.command("queue remove", start.Queue.ID[:8]))
	return nil
}

// A waitLog is where a run in the background writes while it waits.
type waitLog struct {
	path string
	log  *process.Log // nil = it cannot be opened
}

// openWaitLog says that the run has to wait for why, and from now on writes to a log of its own, whose path it returns.
func (d *detached) openWaitLog(q engine.Queued) string {
	start := worker.ChildStart{
		Loop: q.Waiter.Loop, PID: os.Getpid(), Log: q.Log,
		Queue: &worker.ChildWait{ID: q.Waiter.ID, Text: view.WaitsFor(q.Why)},
	}
	log, err := process.OpenLog(q.Log, logSize, logKeep, crashTo)
	if err == nil {
		_, err = fmt.Fprintf(log, "# %s (pid %d, %s)\n", d.line, os.Getpid(), humanize.Clock(d.began))
	}
	if err != nil {
		terminal.Say(d.messages, "loops: what the run says while it waits is not kept: %v\n", err)
		_ = debug.SetCrashOutput(nil, debug.CrashOptions{}) // or the reader would wait for more
		start.Log, log = "", nil
		d.use(io.Discard)
	} else {
		d.use(log)
	}
	d.inQueue = &waitLog{start.Log, log}
	start.Report(d.report)
	_ = d.messages.Close()
	_ = d.report.Close()
	return start.Log
}

// begun has the log of a run that waited continue where those of runs are.
func (d *detached) begun(path string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	w := d.inQueue
	if w.log == nil {
		if log, err := process.OpenLog(path, logSize, logKeep, crashTo); err == nil {
			d.log = terminal.NewSink(log)
		}
		return
	}
	err := process.MakeLogFolder(path)
	if err == nil {
		err = os.Rename(w.path, path)
	}
	if err != nil {
		terminal.Say(d.log, "loops: the output of the run stays here: %v\n", err)
		return
	}
	w.log.Path = path // the file is the same
}
