package cli

import (
	"time"

	"loops/engine"
	"loops/fsm"
	"loops/internal/ui"
	"loops/persistence"
)

// A printer shows a run to whoever started it. Only note may be called from another goroutine.
type printer interface {
	// queued is called before header, when the run has to wait for others, and again when it waits for somebody else.
	queued(q queued)
	// header is called once, before the first event.
	header(h header)
	// watch calls run, keeping what is on the screen up to date until it returns.
	watch(run func())
	// event shows something that was recorded.
	event(e fsm.Event)
	// note says something to the person that is no part of the run's history.
	note(text string)
	// finish is called once, after the last event, with the command that goes on with the run ("" = none).
	finish(o fsm.Outcome, resume string)
	// tree is called after finish where the run is in a work tree, with what became of it.
	tree(r engine.TreeReport)
}

// noteLines is note of several lines, the first behind front.
func noteLines(p printer, front string, lines []string) {
	for _, line := range lines {
		p.note(front + line)
		front = ""
	}
}

// A header is what is known when a run begins or goes on.
type header struct {
	Loop     *fsm.Loop
	File     string // as a person would write it
	Run      persistence.Run
	RunDir   string // absolute, with a slash
	ShortDir string // the same as a person would write it
	Resumed  bool
	Attached bool          // another process carries the run on
	Elapsed  time.Duration // before this process took over
	Begin    time.Time     // of this process's part
	Agents   string        // which it uses, and what they may do; "" = none
	Wake     string        // the command that ends a wait of the run; "" = none
	Worktree string        // of the run, absolute; "" = it is in the main checkout
	Branch   string        // of the work tree; "" where another run's is used
	Where    string        // of a run that is under way: its state, and those of its sub-loops

	Origin *persistence.Origin // of a fork; nil = it is none
	Notes  []string            // what else there is to say, a line each
}

// viewFlags are the flags of run and resume that choose a printer.
type viewFlags struct {
	quiet, verbose, json bool

	format, file string // see addFormat
}

func (v viewFlags) check(command string) error {
	if v.quiet && v.verbose {
		return usageError{"--quiet and --verbose exclude each other", command + " --help"}
	}
	return v.checkFormat(command)
}

// newPrinter returns the printer for these flags, and for a run in the background one that writes its log.
func (a *app) newPrinter(v viewFlags) printer {
	if a.detached == nil {
		return a.facePrinter(v)
	}
	v.json = false // that was asked of whoever started it
	return &detachedPrinter{printer: a.facePrinter(v), a: a}
}

func (a *app) foregroundPrinter(v viewFlags) printer {
	if v.json {
		return &jsonPrinter{out: ui.NewSink(a.Out), err: ui.NewSink(a.Err)}
	}
	t := &textPrinter{
		out: ui.NewBatchedSink(a.Out), err: ui.NewSink(a.Err), quiet: v.quiet, verbose: v.verbose, paint: ui.Paint(a.coloured(a.Out)),
	}
	if f, ok := ui.Terminal(a.Out); ok && !v.quiet {
		if kind, _ := a.getenv("TERM"); kind != "dumb" && !v.verbose {
			t.live, t.out = newLive(f), ui.NewSink(a.Out) // both write to the screen, in turn
		}
	}
	return t
}
