package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/phrase"
	"loops/internal/plain"
	"loops/internal/ui"
	"loops/internal/ui/dashboard"
	"loops/internal/watch"
	"loops/persistence"
)

type watchOptions struct {
	name       string // "" = all
	once, json bool
	interval   time.Duration
}

// How often watch looks, unless told, and how often it may be told to.
const (
	watchInterval = 400 * time.Millisecond
	watchLeast    = 100 * time.Millisecond
	watchMost     = time.Hour
)

func newWatchCommand(a *app) *cobra.Command {
	var o watchOptions
	cmd := &cobra.Command{
		Use:     "watch [NAME|RUN]",
		Aliases: []string{"top"},
		Short:   "Show all runs live on one screen, to stop, pause and wake them",
		Long: `watch shows the runs that go on, those that wait in the queue and those that ended in the last ten minutes: a list of
them, and of the selected one the graph with the state it is in and how often each way was taken, its steps, and the end
of its log. Runs that begin appear. With NAME or RUN it begins on that run. No run is harmed when it ends.

Keys:
` + watchKeys() + `
Marks and words say what colours say too; NO_COLOR and --color never take the colours away. Where the locale (LC_ALL,
LC_CTYPE, LANG) is C, POSIX or one without UTF-8, the screen is ASCII.

Where the output is no terminal, or TERM is dumb, it prints a line for each change of state, step or status, of the run RUN,
the runs of NAME or all, until none of them goes on or is queued any more. --once prints a line for each of them, and ends.` +
			exitMeanings(exitMeaning{exitOK, "left by q, or no run goes on any more"}, exitMeaning{exitFailed, "the terminal cannot be used, or the answer could not be written out"},
				exitMeaning{exitUsage, "bad command line, or an id that several runs have"}, exitMeaning{exitNotFound, "no such loop, run or database of runs"},
				exitMeaning{exitRecord, "the records of runs cannot be used"}, exitMeaning{exitHangup, "the terminal went away"},
				exitMeaning{exitInt, "Ctrl-C, where lines are printed"}, exitMeaning{exitQuit, "Ctrl-\\"}, exitMeaning{exitTerm, "ended by SIGTERM"}),
		Example: `  loops watch
  loops watch fix
  loops watch --once
  loops watch fix --json | jq -r .current_state`,
		Args: arguments(0, 1, "NAME of a loop or id of a RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = firstOf(args)
			if o.interval < watchLeast || o.interval > watchMost {
				return usageError{fmt.Sprintf("--interval %s: expected a time from %s to %s, such as 2s", o.interval, phrase.Duration(watchLeast), "1h"), cmd.CommandPath() + " --help"}
			}
			return runWatch(cmd.Context(), a, o)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.once, "once", false, "print how the runs stand, and end")
	flags.BoolVarP(&o.json, "json", "j", false, "print lines, each a JSON object, also on a terminal")
	flags.DurationVar(&o.interval, "interval", watchInterval, "`TIME` between two looks at the runs; a look that takes long has a longer rest")
	return cmd
}

// watchKeys is the list of keys for the help.
func watchKeys() string {
	var b strings.Builder
	for _, k := range watch.Keys() {
		fmt.Fprintf(&b, "  %s%s%s\n", k[0], strings.Repeat(" ", max(1, 16-plain.Width(k[0]))), k[1])
	}
	return b.String()
}

func runWatch(ctx context.Context, a *app, o watchOptions) error {
	_, store, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	l, err := newLooker(a, store.Finder())
	if err != nil {
		return err
	}
	if o.name != "" {
		if err := l.begin(ctx, o.name); err != nil {
			return err
		}
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, ends...)
	defer signal.Stop(signals)
	if a.watchesScreen(o) {
		jobs := heedJobs()
		defer jobs.release()
		board := a.board(l, o, signals)
		board.Jobs, board.Stop = jobs.signals, jobs.stop
		return a.watchExit(dashboard.Show(ctx, l, board))
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
	return watchLines(ctx, a, l, o)
}

// board is how the screen of watch is.
func (a *app) board(l *looker, o watchOptions, signals <-chan os.Signal) dashboard.Options {
	f, _ := ui.Terminal(a.Out)
	return dashboard.Options{
		First: l.first, Interval: o.interval, ASCII: a.watchASCII(), Colour: a.coloured(a.Out), Terminal: f, Signals: signals,
		Explain: func(err error) string { _, text := explain(err); return text },
	}
}

// watchExit is the error of the command for what ended its screen.
func (a *app) watchExit(err error) error {
	if stop, ok := errors.AsType[*dashboard.SignalError](err); ok {
		return endedBy(signalName(stop.Signal))
	}
	if none, ok := errors.AsType[*dashboard.ScreenError](err); ok {
		return failure(engine.Failed, "the terminal cannot be used: %v; loops watch --once, or a pipe, prints lines", none.Err)
	}
	if errors.Is(err, dashboard.ErrGone) {
		return endedBy("SIGHUP")
	}
	return err
}

// watchesScreen reports whether there is a screen to draw on.
func (a *app) watchesScreen(o watchOptions) bool {
	_, is := ui.Terminal(a.Out)
	kind, _ := a.getenv("TERM")
	return is && !o.once && !o.json && kind != "dumb" && kind != ""
}

// begin has the looker begin on what arg means.
func (l *looker) begin(ctx context.Context, arg string) error {
	r, err := pickWatched(ctx, l.Finder, arg)
	if err == nil {
		l.named, l.loop, l.first = r.ID, r.Loop, string(r.ID)
		return nil
	}
	waiters, _ := inQueue(l.Project) // what cannot be read there is told when it is looked at
	if i := slices.IndexFunc(waiters, func(w persistence.Waiter) bool { return isWaiter(l.Finder, w, arg) }); i >= 0 {
		l.loop, l.first = waiters[i].Loop, queuedID(waiters[i])
		return nil
	}
	return err
}

// pickWatched returns the run to begin on: the newest that goes on, or else the newest.
func pickWatched(ctx context.Context, f project.Finder, arg string) (persistence.Run, error) {
	live, newest, err := f.Live(ctx, arg)
	if err != nil {
		return persistence.Run{}, f.Store.Failed(err)
	}
	if newest == nil {
		return persistence.Run{}, noSuchRun(ctx, f, arg)
	}
	if newest.Archived {
		// The reference tool leaves live files behind, and it is under their name that the list has the run.
		left, err := f.Store.Runs(ctx, persistence.Query{Loop: newest.Loop, Live: true})
		if err != nil {
			return persistence.Run{}, f.Store.Failed(err)
		}
		for _, r := range project.Current(left) {
			if r.RunID == newest.RunID {
				newest = &r
			}
		}
	}
	for _, r := range live {
		if project.Alive(r) {
			return r, nil
		}
	}
	return *newest, nil
}

// watchASCII says whether the locale has no more characters than ASCII.
func (a *app) watchASCII() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		v, _ := a.getenv(name)
		if v == "" {
			continue
		}
		_, set, named := strings.Cut(v, ".")
		set, _, _ = strings.Cut(strings.ToLower(set), "@")
		if named {
			return set != "utf-8" && set != "utf8"
		}
		return v == "C" || v == "POSIX"
	}
	return false
}
