package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"loops/engine"
	"loops/internal/api"
	"loops/internal/terminal"
	"loops/internal/worker"
)

// checkBackground refuses what a run in the background cannot do.
func checkBackground(background, dryRun bool, command string) error {
	if background && dryRun {
		return usageError{"--background and --dry-run exclude each other", command + " --help"}
	}
	return nil
}

// inBackground has a process of its own carry a run, and returns when the run is on record. Where that does not
// come about it says and returns what the process did.
func (a *program) inBackground(ctx context.Context, view viewFlags, r engine.Request) error {
	if err := view.checkBackground("loops " + a.args[0]); err != nil {
		return err
	}
	p, err := a.project()
	if err != nil {
		return err
	}
	if err := a.vet(ctx, r); err != nil {
		return err
	}
	h := a.handOver(p, view, r)
	h.Log = true
	spawn := a.spawn
	if spawn == nil {
		spawn = func(h worker.Handover) (*worker.ChildProcess, error) { return h.Spawn(a.Env) }
	}
	c, err := spawn(h)
	if err != nil {
		return failure(engine.Failed, "a process for the run cannot be started: %v", err)
	}
	start, caught, err := await(ctx, c, terminal.Verbatim(a.Err))
	switch {
	case err != nil:
		return err
	case start.Queue != nil:
		return a.queuedInBackground(p, c, start, caught, view)
	case caught != "":
		terminal.Say(a.Err, "loops: run %s was on record when %s came, and was stopped; resume it: %s\n", start.ID,
			caught, a.command("resume", start.ID))
		return passOn(c.Wait())
	case view.json:
		return terminal.WriteJSON(a.out, api.Background{
			Instance: start.ID, RunID: start.RunID, Loop: start.Loop,
			PID: start.PID, Log: api.Text(start.Log),
		})
	case view.quiet:
		terminal.SayLine(a.out, start.ID)
		return nil
	}
	terminal.Say(a.out, "Run %s is running in the background (pid %d).\n", start.ID, start.PID)
	if start.Log != "" {
		terminal.Say(a.out, "  log: %s\n", p.Short(start.Log))
	}
	terminal.Say(a.out, "  watch it: %s\n  stop it:  %s\n", a.command("attach", start.ID), a.command("stop", start.ID))
	return nil
}

// await returns when the run is on record, and passes on what the process says until then. A signal that comes
// meanwhile is passed to the process, and named in caught where the run was on record all the same. The error of a
// process that ended before has its exit code; what it said was printed.
func await(ctx context.Context, c *worker.ChildProcess, to io.Writer) (start worker.ChildStart, caught string,
	err error,
) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, signalEnds...)
	defer signal.Stop(signals)
	said := make(chan struct{})
	go func() {
		defer close(said)
		_, _ = io.Copy(to, c.Messages) // ends when the process closes it
	}()
	line := make(chan []byte, 1)
	go func() {
		b, _ := bufio.NewReader(c.Report).ReadBytes('\n') // without a line the process has ended
		line <- b
	}()
	for {
		select {
		case s := <-signals:
			caught = signalName(s)
			_ = c.Cmd.Process.Signal(s) // one that has ended says so itself
		case <-ctx.Done():
			_ = c.Cmd.Process.Signal(syscall.SIGTERM)
			ctx = context.WithoutCancel(ctx)
		case b := <-line:
			<-said
			if len(b) == 0 || b[0] == '"' { // it died, or reported why it refused, which it printed too
				return start, caught, endedEarly(c)
			}
			if err := json.Unmarshal(b, &start); err != nil {
				return start, caught, fmt.Errorf("the process of the run (pid %d) says %q: %w", c.Cmd.Process.Pid, b,
					err)
			}
			return start, caught, nil
		}
	}
}

// ended is the error of a process that ended before its run was on record.
func endedEarly(c *worker.ChildProcess) error {
	switch code := c.Wait(); {
	case succeeded(code):
		return failure(engine.Failed, "the process of the run (pid %d) ended before anything was on record",
			c.Cmd.Process.Pid)
	case c.Cmd.ProcessState.ExitCode() < 0:
		return failureOf(code, "the process of the run (pid %d) was killed before anything was on record: %s",
			c.Cmd.Process.Pid, c.Cmd.ProcessState)
	default:
		return passOn(code)
	}
}
