package cli

import (
	"context"
	"os"
	"os/signal"
	"strings"
	"time"

	"loops/engine"
	"loops/engine/notify"
	"loops/engine/project"
	"loops/internal/humanize"
	"loops/internal/terminal"
)

const (
	// notifyWait is how long a command waits at its end until all notifications are delivered.
	notifyWait = 30 * time.Second
	// notifyQuiet is how long it waits before it says what for.
	notifyQuiet = 2 * time.Second
)

// notify has those notified of the runs of an engine that the settings name.
func (a *program) notify(e *engine.Engine) {
	if a.notifier == nil {
		a.notifier = notify.New(e.Project(), a.notifierOptions())
	}
	a.notifier.Follow(e)
	a.publisher = a.publisher.Follow(e, a.Env)
}

// traced waits until traces are sent, for a few seconds at most, and says what was not.
func (a *program) traced() {
	if err := a.exporter.Close(); err != nil {
		terminal.SayLine(a.Err, "loops: "+humanize.OneLine(err))
	}
}

// notifierOptions are those of the notifier of this command line.
func (a *program) notifierOptions() notify.Options {
	return notify.Options{Env: a.Env, Detached: a.detached != nil, Remedy: a.remedy, ExitCode: exitOf}
}

// notified waits until all notifications are delivered, half a minute at most and until a signal comes, and reports
// those that could not be.
func (a *program) notified() {
	if a.notifier == nil && a.publisher == nil {
		return
	}
	results, log, unsent := a.waitNotified()
	if unsent != nil {
		terminal.Say(a.Err, "loops: events are still to be delivered, when the run is resumed or by loops sweep "+
			"or serve: %s\n", humanize.OneLine(unsent))
	}
	for _, r := range results {
		if r.Err != nil {
			line := "loops: " + r.Event.Run + " (" + humanize.Words(r.Event.Kind) + "): not told by " + r.Target +
				": " + r.Err.Error()
			// A job of GitHub Actions takes "##[" for a command, wherever it is, and texts of others must not contain
			// one.
			terminal.SayLine(a.Err, strings.ReplaceAll(line, "##[", "#["))
		}
	}
	if log != nil {
		terminal.Say(a.Err, "loops: what became of notifications is not kept: %v\n", project.Cause(log))
	}
}

func (a *program) waitNotified() (results []notify.Result, log, unsent error) {
	ctx, cancel := context.WithTimeout(context.Background(), notifyWait)
	defer cancel()
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, signalEnds...)
	defer signal.Stop(signals)
	done := make(chan struct{})
	go func() {
		defer close(done)
		unsent = a.publisher.Close(ctx)
		results, log = a.notifier.Close(ctx)
	}()
	quiet := time.NewTimer(notifyQuiet)
	defer quiet.Stop()
	for {
		select {
		case <-done:
			return results, log, unsent
		case <-signals:
			cancel()
		case <-quiet.C:
			terminal.Say(a.Err, "loops: waiting until notifications are delivered, %s at most; Ctrl-C ends that\n",
				humanize.Duration(notifyWait))
		}
	}
}
