package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/fsm"
	"loops/internal/humanize"
	"loops/internal/live"
	"loops/internal/process"
	"loops/internal/terminal"
	"loops/internal/worker"
	"loops/persistence"
)

// A detached is a run in the background, as its own process sees it. Until the run is on record, what it says goes to
// the process that started it; from then on to its log alone. It may be used by several goroutines at once.
type detached struct {
	report   *os.File
	messages *os.File
	line     string // the command line, for the log
	began    time.Time

	mu   sync.Mutex
	held []byte    // guarded by mu: for the log, which is not open yet
	log  io.Writer // guarded by mu; nil = not open yet

	inQueue *waitLog // the run had to wait first
}

func newBackgroundCommand(a *program) *cobra.Command {
	return &cobra.Command{
		Use:   worker.BackgroundCommand,
		Short: "Carry a run that run --background or an agent requested",
		Long: `background-run carries the run that it reads of from a pipe: what run, resume and fork with --background, or an agent
through loops mcp, asked for. They start it with three pipes, so that nothing of it is for every user of the machine to
see; it is of no use without.` + exitRunHelp(),
		Example: "  loops run --background fix    starts it",
		Hidden:  true,
		Args:    arguments(0, 0, ""),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runHandedOver(cmd.Context(), a) },
	}
}

func runHandedOver(ctx context.Context, a *program) error {
	if !worker.Piped(worker.FDReport, worker.FDRequest) {
		return usageError{
			"this command is what run --background starts, and is of no use to anybody else",
			"loops run --help",
		}
	}
	report, messages, request := os.NewFile(worker.FDReport, "report"), os.NewFile(worker.FDMessages, "messages"),
		os.NewFile(worker.FDRequest, "request")
	if err := debug.SetCrashOutput(messages, debug.CrashOptions{}); err != nil {
		return err
	}
	h, err := worker.ReadHandover(request)
	if err = errors.Join(err, request.Close()); err == nil {
		err = h.Obey()
	}
	if err == nil {
		a.keeper, err = worker.Settle(ctx, &h, a.Env)
	}
	if err != nil {
		terminal.Say(messages, "loops: the run cannot be begun by its process: %v\n", err)
		return told(engine.Failed)
	}
	if h.Log {
		return passOn(carryDetached(ctx, a, h, report, messages))
	}
	return passOn(carryWatched(ctx, a, h, report, messages))
}

// carryDetached carries a run that no process waits for once it is on record, and returns its exit code.
func carryDetached(ctx context.Context, a *program, h worker.Handover, report, messages *os.File) int {
	h.View.JSON = false // that was requested from the process that started it
	d := &detached{report: report, messages: messages, began: time.Now(), line: argvText(argvKept(h.Words))}
	inner := handedApp(h, IO{In: a.In, Out: d, Err: d.toPerson(), Env: a.Env})
	inner.detached, inner.adopt, inner.keeper = d, a.adopt, a.keeper
	inner.onRecord = func(header live.Header) { d.recorded(inner, header) }
	code := inner.carryHandedOver(ctx, h, report)
	d.close(code)
	return code
}

// carryWatched carries a run for a process that waits for its end, and reads until then what is said. It
// returns its exit code.
func carryWatched(ctx context.Context, a *program, h worker.Handover, report, messages *os.File) int {
	inner := handedApp(h, IO{In: a.In, Out: io.Discard, Err: messages, Env: a.Env})
	inner.adopt, inner.keeper = a.adopt, a.keeper
	inner.onRecord = func(header live.Header) {
		startOf(header).Report(report)
		_ = report.Close()
	}
	return inner.carryHandedOver(ctx, h, report)
}

// carryHandedOver does what a handover asks for, and returns the exit code. A run that did not begin is
// reported with the reason; report is closed once the run is on record.
func (a *program) carryHandedOver(ctx context.Context, h worker.Handover, report io.Writer) int {
	end := a.begin()
	return end(a.carryRequest(ctx, handedFlags(h.View), h.Request), func(reason string) {
		if reason != "" {
			worker.ReportRefusal(report, reason)
		}
	})
}

// startOf is what a process says of its run when that is on record.
func startOf(h live.Header) worker.ChildStart {
	return worker.ChildStart{ID: string(h.Run.ID), RunID: h.Run.RunID, Loop: h.Run.Loop, PID: os.Getpid()}
}

// Write adds to the log of the run.
func (d *detached) Write(b []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.log == nil {
		d.held = append(d.held, b...)
		return len(b), nil
	}
	return d.log.Write(b)
}

// A toPerson is what a detached run has for standard error.
type toPerson struct{ d *detached }

func (d *detached) toPerson() io.Writer { return toPerson{d} }

func (t toPerson) Write(b []byte) (int, error) {
	t.d.mu.Lock()
	waiting := t.d.log == nil
	t.d.mu.Unlock()
	if waiting {
		_, _ = t.d.messages.Write(b) // it may be that no process reads it any more
	}
	return t.d.Write(b)
}

// recorded says that the run is on record, and from now on writes to its log.
func (d *detached) recorded(a *program, h live.Header) {
	start := startOf(h)
	if p, err := a.project(); err == nil && d.inQueue != nil { // the process that started it has ended
		d.begun(p.LogPath(h.Run.ID))
		return
	}
	log, err := d.openLog(a, h)
	if err != nil {
		terminal.Say(d.messages, "loops: the output of run %s is not kept: %v\n", h.Run.ID, err)
		_ = debug.SetCrashOutput(nil, debug.CrashOptions{}) // or the reader would wait for more
		d.use(io.Discard)
	} else {
		start.Log = log.Path
		d.use(log)
	}
	start.Report(d.report)
	_ = d.messages.Close()
	_ = d.report.Close()
}

func (d *detached) openLog(a *program, h live.Header) (*process.Log, error) {
	p, err := a.project()
	if err != nil {
		return nil, err
	}
	log, err := process.OpenLog(p.LogPath(h.Run.ID), logSize, logKeep, crashTo)
	if err != nil {
		return nil, err
	}
	_, err = fmt.Fprintf(log, "# %s (pid %d, %s)\n", d.line, os.Getpid(), humanize.Clock(d.began))
	return log, err
}

// use writes what was held back, and everything after it, to w.
func (d *detached) use(w io.Writer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.log = terminal.NewSink(w) // a full disk is no reason to end the run
	_, _ = d.log.Write(d.held)
	d.held = nil
}

// close writes how the process ended to the log, if there is one.
func (d *detached) close(code int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.log != nil {
		terminal.Say(d.log, "# ended with exit code %d (%s)\n", code, humanize.Clock(time.Now()))
	}
}

// A recordPrinter calls tell at the first event of a run, which is on record then, and has its work tree if it is to
// have one.
type recordPrinter struct {
	live.Printer
	tell func(live.Header)
	h    live.Header
	told bool
}

func (p *recordPrinter) Header(h live.Header) {
	p.h = h
	p.Printer.Header(h)
}

func (p *recordPrinter) Event(e fsm.Event) {
	first := e.Kind == fsm.EventLoopStart || e.Kind == fsm.EventLoopResume
	if !p.told && (p.h.Worktree == "" || !first) { // the work tree is made after the first event
		p.told = true
		p.tell(p.h)
	}
	p.Printer.Event(e)
}

// The log of a run in the background: how large one file gets, in bytes, and how many older ones are kept.
const (
	logSize = 8 << 20
	logKeep = persistence.KeptLogs
)

// crashTo has what the Go runtime says when it gives up go to a log, too.
func crashTo(f *os.File) error { return debug.SetCrashOutput(f, debug.CrashOptions{}) }
