package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/fsm"
	"loops/internal/phrase"
	"loops/internal/runlog"
	"loops/internal/ui"
	"loops/internal/ui/progress"
	"loops/persistence"
)

// backgroundName is the command that run --background starts. It is for this program only.
const backgroundName = "background-run"

// The files that it gets: see spawned.
const (
	fdReport = 3 + iota
	fdMessages
	fdCommand
)

// A detached is a run in the background, as its own process sees it. Until the run is on record, what it says goes to
// whoever started it; from then on to its log alone. It may be used by several goroutines at once.
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

func newBackgroundCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   backgroundName,
		Short: "Carry on a run that run --background handed over",
		Long: `background-run carries on the run whose command line it reads from a pipe, as run --background or resume --background was
given it. They start it with three pipes; it is of no use without.` + runExitCodes(),
		Example: "  loops run --background fix    starts it",
		Hidden:  true,
		Args:    arguments(0, 0, ""),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runDetached(cmd.Context(), a) },
	}
}

func runDetached(ctx context.Context, a *app) error {
	if !piped(fdReport, fdCommand) {
		return usageError{"this command is what run --background starts, and is of no use to anybody else", "loops run --help"}
	}
	d := &detached{report: os.NewFile(fdReport, "report"), messages: os.NewFile(fdMessages, "messages"), began: time.Now()}
	if err := debug.SetCrashOutput(d.messages, debug.CrashOptions{}); err != nil {
		return err
	}
	spec, err := takeOver(fdCommand)
	if err != nil {
		ui.Say(d.messages, "loops: the run cannot be read by its process: %v\n", err)
		return told(engine.Failed)
	}
	d.line = commandText(keptArguments(spec.Args))
	inner := &app{IO: IO{In: a.In, Out: d, Err: d.toPerson(), Dir: spec.Dir, Env: a.Env}, detached: d}
	code := inner.execute(ctx, spec.Args)
	d.close(code)
	return passOn(code)
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
		_, _ = t.d.messages.Write(b) // nobody may read it any more
	}
	return t.d.Write(b)
}

// recorded says that the run is on record, and from now on writes to its log.
func (d *detached) recorded(a *app, h progress.Header) {
	start := backgroundStart{ID: string(h.Run.ID), RunID: h.Run.RunID, Loop: h.Run.Loop, PID: os.Getpid()}
	if p, err := a.project(); err == nil && d.inQueue != nil { // whoever started it is not there any more
		d.begun(p.LogPath(h.Run.ID))
		return
	}
	log, err := d.openLog(a, h)
	if err != nil {
		ui.Say(d.messages, "loops: the output of run %s is not kept: %v\n", h.Run.ID, err)
		_ = debug.SetCrashOutput(nil, debug.CrashOptions{}) // or the reader would wait for more
		d.use(io.Discard)
	} else {
		start.Log = log.Path
		d.use(log)
	}
	b, err := json.Marshal(start)
	if err == nil {
		_, _ = d.report.Write(append(b, '\n')) // whoever started the run may be gone
	}
	_ = d.messages.Close()
	_ = d.report.Close()
}

func (d *detached) openLog(a *app, h progress.Header) (*runlog.Log, error) {
	p, err := a.project()
	if err != nil {
		return nil, err
	}
	log, err := runlog.Open(p.LogPath(h.Run.ID), logSize, logKeep, crashTo)
	if err != nil {
		return nil, err
	}
	_, err = fmt.Fprintf(log, "# %s (pid %d, %s)\n", d.line, os.Getpid(), phrase.Clock(d.began))
	return log, err
}

// use writes what was held back, and everything after it, to w.
func (d *detached) use(w io.Writer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.log = ui.NewSink(w) // a full disk is no reason to end the run
	_, _ = d.log.Write(d.held)
	d.held = nil
}

// close writes how the process ended to the log, if there is one.
func (d *detached) close(code int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.log != nil {
		ui.Say(d.log, "# ended with exit code %d (%s)\n", code, phrase.Clock(time.Now()))
	}
}

// A detachedPrinter tells of the first event of a run, which is on record then, and has its work tree if it is to have one.
type detachedPrinter struct {
	progress.Printer
	a    *app
	h    progress.Header
	told bool
}

func (p *detachedPrinter) Header(h progress.Header) {
	p.h = h
	p.Printer.Header(h)
}

func (p *detachedPrinter) Event(e fsm.Event) {
	first := e.Kind == fsm.EventLoopStart || e.Kind == fsm.EventLoopResume
	if !p.told && (p.h.Worktree == "" || !first) { // the work tree is made after the first event
		p.told = true
		p.a.detached.recorded(p.a, p.h)
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
