package cli

import (
	"context"
	"errors"
	"os"
	"syscall"

	"loops/engine"
	"loops/engine/project"
	"loops/internal/app"
	"loops/internal/humanize"
	"loops/internal/live"
	"loops/internal/telemetry"
	"loops/internal/terminal"
	"loops/internal/view"
	"loops/persistence"
)

// engineOptions are those of the engine of this command line.
func (a *program) engineOptions() engine.Options {
	o := engine.Options{Env: a.Env, Detached: a.detached != nil, Adopt: a.adopt, ToolCall: toolCall}
	o.Command = func(r engine.Remedy) string {
		r.Plain = true // agents work in the folder of the project, and find its store there
		return a.remedy(r)
	}
	if a.detached != nil {
		o.WaitLog = a.detached.openWaitLog
	}
	return o
}

// engine returns an engine for the project of this command line, of whose runs those are notified that the
// settings name. The caller closes it.
func (a *program) engine() (*engine.Engine, error) {
	p, err := a.project()
	if err != nil {
		return nil, err
	}
	o := a.engineOptions()
	o.Files, o.Forget = a.keeper.Files, a.keeper.Forget(p, a.Env)
	if a.exporter == nil {
		a.exporter = telemetry.NewExporter(p, a.getenv)
	}
	o.Trace = a.exporter.Parents()
	e := engine.New(p, o)
	a.notify(e)
	a.exporter.Follow(e)
	return e, nil
}

// warner prints what a person should know before a run begins, unless quiet.
func (a *program) warner(p *project.Project, quiet bool) engine.Warn {
	if quiet {
		return nil
	}
	return func(w engine.Warning) {
		if w.File == "" {
			terminal.SayLines(a.Err, "loops: "+a.text(w.Text))
			return
		}
		a.tellProblems(p, w)
	}
}

// text is a text of the engine for a person: its commands work here, and the texts of others in it are harmless.
func (a *program) text(t engine.Text) terminal.Block {
	return terminal.Block(t.With(func(arg any) any {
		switch v := arg.(type) {
		case engine.Remedy:
			return terminal.Block(humanize.PlainLine(a.remedy(v)))
		case engine.Setting:
			return terminal.Block(humanize.PlainLine(a.named(v)))
		case engine.Lines:
			return terminal.BlockOf(v.Front, v.Texts)
		case engine.Trouble:
			_, text := explain(v.Err)
			return terminal.Block(text)
		case *persistence.ConflictError:
			return terminal.Block(view.InTheWayLine(v))
		case *engine.BehindError:
			return terminal.Block(view.InTheWayLine(v))
		}
		return terminal.Safe(arg)
	}))
}

// remedy is the command line that a remedy is, with -C and --store if this one had them; "" for none.
func (a *program) remedy(r engine.Remedy) string {
	if r.Operation == "" {
		return ""
	}
	there := *a
	if r.Plain {
		there.dir, there.store = "", ""
	}
	if r.Dir != "" {
		there.dir = r.Dir
	}
	if r.Store != "" {
		there.store = r.Store
	}
	words := []string{string(r.Operation)}
	for _, s := range r.With {
		words[0] += " " + commandFlag(s)
	}
	if r.Help {
		return a.helpOn(r.Operation)
	}
	if r.Target != "" {
		words = append(words, r.Target)
	}
	return there.command(words...)
}

// refused returns an error of the engine as one of this command line: with its exit code, and commands that work here.
func (a *program) refused(err error) error {
	if several, ok := errors.AsType[engine.Several](err); ok {
		errs := make([]error, len(several))
		for i := range several {
			errs[i] = a.refused(several[i])
		}
		return joined(errs)
	}
	if busy, ok := errors.AsType[*engine.BusyError](err); ok {
		return a.busy(busy.Err, busy.Waited)
	}
	if nothing, ok := errors.AsType[*engine.NothingError](err); ok {
		return nothingTo(context.Background(), nothing.Finder, nothing.Verb, nothing.Arg, string(a.text(nothing.More)))
	}
	if no, ok := errors.AsType[*project.NoRunError](err); ok {
		return app.NoSuchRun(context.Background(), no.Finder, no.Arg)
	}
	refusal, ok := errors.AsType[*engine.Refusal](err)
	if !ok {
		return a.shown(err)
	}
	text := string(a.text(refusal.Text))
	if see := a.remedy(refusal.See); see != "" {
		text += "\nTry: " + humanize.PlainLine(see)
	}
	return failure(refusal.Kind, "%s", terminal.Block(text))
}

// carryRequest begins what is asked for, shows it until it has ended, and returns what the exit code of the command is.
func (a *program) carryRequest(ctx context.Context, view viewFlags, r engine.Request) error {
	e, err := a.engine()
	if err != nil {
		return err
	}
	r.Tell(a.warner(e.Project(), view.quiet))
	return a.carry(ctx, e, view, func(ctx context.Context, to engine.Observer) (*engine.Run, error) {
		run, err := e.Carry(ctx, r, to)
		if a.showForeign(ctx, err) {
			r.Tell(nil) // that was printed
			run, err = e.Carry(ctx, r, to)
		}
		return run, err
	})
}

// carry begins a run by start, shows it until it has ended, and returns what the exit code of the command is.
func (a *program) carry(ctx context.Context, e *engine.Engine, view viewFlags,
	start func(context.Context, engine.Observer) (*engine.Run, error),
) error {
	stops := signalCatch()
	defer stops.Release()
	v := live.NewCarried(e.Project(), a.newPrinter(view), view.quiet, a.page(), a.refused)
	if a.detached != nil {
		v.Starter = a.Err
	}
	ask := a.asker(view)
	if ask != nil {
		v.Seen = ask.See
	}
	var r *engine.Run
	err := beforeSignal(ctx, stops, func(ctx context.Context) (err error) { r, err = start(ctx, v); return err })
	if r == nil {
		close(v.Over)
		e.Close()
		return a.refused(err)
	}
	// A run may take days beside the work it drives: less garbage at a time takes decisions some 8 % more processor
	// time, and two megabytes less memory.
	a.collectFrom(6<<20, 50)
	<-v.Began // the notices before it are shown
	var result engine.Result
	asked := a.beginAsking(ctx, e, ask, r)
	stops.During(r, func(n int, s os.Signal, again bool) {
		switch {
		case n > 1 && !again:
			v.Print.Note("Received " + signalName(s) + ": killing the action.")
			r.Kill()
		case n > 1:
			v.Print.Note("Received " + signalName(s) + " again: killing the action.")
			r.Kill()
		case s == syscall.SIGQUIT:
			v.Print.Note("Received SIGQUIT: killing the action, then ending the run.")
			r.Stop(signalName(s))
			r.Kill()
		default:
			v.Print.Note("Received " + signalName(s) + ": ending the action, then the run. Once more kills the " +
				"action at once.")
			r.Stop(signalName(s))
		}
	}, func() { v.Print.Watch(func() { result, err = r.Wait(ctx) }) })
	asked()
	close(v.Over)
	e.Close()
	if err != nil {
		return a.refused(err)
	}
	return endedAs(result.Outcome)
}

// beforeSignal calls do, which is to begin a run, with a context that a signal ends.
func beforeSignal(ctx context.Context, stops *signalStops, do func(context.Context) error) error {
	stopped, err := stops.Before(ctx, do)
	if stopped != "" {
		return endedByText(stopped, "stopped by %s before the run began; nothing was run", stopped)
	}
	return err
}

// untilSignal is beforeSignal where nothing else catches them.
func untilSignal(ctx context.Context, do func(context.Context) error) error {
	stops := signalCatch()
	defer stops.Release()
	return beforeSignal(ctx, stops, do)
}
