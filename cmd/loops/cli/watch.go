package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/fsm"
	"loops/internal/app"
	"loops/internal/humanize"
	"loops/internal/terminal"
	"loops/internal/watch"
	"loops/persistence"
)

type watchOptions struct {
	name       string // "" = all
	once, json bool
	interval   time.Duration
}

// How often watch looks by default, and the bounds of --interval.
const (
	watchInterval = 400 * time.Millisecond
	watchLeast    = 100 * time.Millisecond
	watchMost     = time.Hour
)

func newWatchCommand(a *program) *cobra.Command {
	var o watchOptions
	cmd := &cobra.Command{
		Use:     "watch [NAME|RUN]",
		Aliases: []string{"top"},
		Short:   "Watch all runs on one screen",
		Long: `watch shows the running runs, those in the queue and those that ended in the last ten minutes. Of the selected run it
shows the graph, the steps and the end of the log. With NAME or RUN it begins there. Leaving it touches no run.

Keys (? shows all of them):
  arrows select a run; Tab changes the pane, Enter opens it or zooms the pane, / searches it; q leaves
  s stop, R resume, p pause, u unpause, r retry now, a answer, S start a loop
  e explain, L log in $PAGER, E loop in $EDITOR, f filter, o order

It needs no colours. In a locale without UTF-8 the screen is ASCII. Where the output is no terminal, or TERM is dumb, it
prints a line for each change, until no run is running or queued. --once prints a line for each run, and ends.` +
			exitHelpOf(exitMeaning{Code: exitOK, Text: "left by q, or no run is running any more"},
				exitMeaning{
					Code: exitFailed,
					Text: "the terminal cannot be used, or the answer could not be written out",
				},
				exitMeaning{Code: exitUsage, Text: "bad command line, or an id that several runs have"},
				exitMeaning{Code: exitNotFound, Text: "no such loop, run or database of runs"},
				exitMeaning{Code: exitRecord, Text: "the records of runs cannot be used"},
				exitMeaning{Code: exitHangup, Text: "the terminal went away"},
				exitMeaning{Code: exitInterrupted, Text: "Ctrl-C, where lines are printed"},
				exitMeaning{Code: exitQuit, Text: "Ctrl-\\"},
				exitMeaning{Code: exitTerminated, Text: "ended by SIGTERM"}),
		Example: `  loops watch
  loops watch fix
  loops watch --once
  loops watch fix --json | jq -r .current_state`,
		Args: arguments(0, 1, "NAME of a loop or id of a RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = firstOf(args)
			if o.interval < watchLeast || o.interval > watchMost {
				return usageError{fmt.Sprintf("--interval %s: expected a time from %s to %s, such as 2s", o.interval,
					humanize.Duration(watchLeast), "1h"), cmd.CommandPath() + " --help"}
			}
			return runWatch(cmd.Context(), a, o)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.once, "once", false, "print the status of the runs once")
	flags.BoolVarP(&o.json, "json", "j", false, "print lines, each a JSON object, also on a terminal")
	flags.DurationVar(&o.interval, "interval", watchInterval,
		"`TIME` between two looks at the runs; a look that takes long has a longer rest")
	return cmd
}

func runWatch(ctx context.Context, a *program, o watchOptions) error {
	p, store, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	l, err := watch.NewMonitor(store.Finder(), func() ([]persistence.Waiter, error) { return app.InQueue(p) })
	if err != nil {
		return err
	}
	if o.name != "" {
		if err := l.Begin(ctx, o.name); err != nil {
			return a.refused(err)
		}
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, signalEnds...)
	defer signal.Stop(signals)
	if a.watchesScreen(o) {
		jobs := jobHeed()
		defer jobs.Release()
		board := a.board(l, o, signals)
		board.Jobs, board.Stop = jobs.Signals, jobs.Stop
		return a.watchExit(watch.Show(ctx, watchScreen{l, a, jobs}, board))
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case s := <-signals:
			cancel(&fsm.Stop{Signal: signalName(s)})
		case <-ctx.Done():
		}
	}()
	err = l.Print(ctx, watch.MonitorLines{
		Name: o.name, Once: o.once, JSON: o.json, Interval: o.interval, Out: a.out,
		Err: a.Err,
	})
	// err may be of a call to the store that the signal cut off
	if stop, stopped := errors.AsType[*fsm.Stop](context.Cause(ctx)); stopped && err != nil {
		return endedBy(stop.Signal)
	}
	return err
}

// board is how the screen of watch is.
func (a *program) board(l *watch.Monitor, o watchOptions, signals <-chan os.Signal) watch.ScreenOptions {
	f, _ := terminal.Terminal(a.Out)
	return watch.ScreenOptions{
		First: l.First(), Interval: o.interval, ASCII: terminal.OnlyASCII(a.getenv), Colour: a.coloured(a.Out),
		Terminal: f, Signals: signals,
		Explain: func(err error) string { _, text := explain(err); return text },
	}
}

// watchExit is the error of the command for what ended its screen.
func (a *program) watchExit(err error) error {
	if stop, ok := errors.AsType[*watch.SignalError](err); ok {
		return endedBy(signalName(stop.Signal))
	}
	if none, ok := errors.AsType[*watch.ScreenError](err); ok {
		return failure(engine.Failed, "the terminal cannot be used: %v; loops watch --once, or a pipe, prints lines",
			none.Err)
	}
	if errors.Is(err, watch.ErrGone) {
		return endedBy("SIGHUP")
	}
	return err
}

// watchesScreen reports whether there is a screen to draw on.
func (a *program) watchesScreen(o watchOptions) bool {
	_, is := terminal.Terminal(a.Out)
	kind, _ := a.getenv("TERM")
	return is && !o.once && !o.json && kind != "dumb" && kind != ""
}
