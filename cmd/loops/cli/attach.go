package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/inspect"
	"loops/internal/ui/progress"
	"loops/persistence"
)

type attachOptions struct {
	name string
	all  bool
	view viewFlags
}

func newAttachCommand(a *app) *cobra.Command {
	var o attachOptions
	cmd := &cobra.Command{
		Use:     "attach NAME|RUN",
		Aliases: []string{"monitor"},
		Short:   "Watch a run that goes on",
		Long: `attach shows the run RUN, or the run of the loop NAME that goes on, as run would show it: from the state it is in, or
with --all from its beginning. It ends when the run does, with the exit code of the run; of a run that has ended it shows
the end. It may be in any store, and its owner on another machine.

Ctrl-C ends attach, and not the run.` + runExitCodes(exitMeaning{exitInt, "stopped by SIGINT; or Ctrl-C ended attach, and the run goes on"},
			exitMeaning{exitTerm, "stopped by SIGTERM, also by loops stop; or SIGTERM ended attach, and the run goes on"},
			exitMeaning{exitQuit, "stopped by SIGQUIT; or Ctrl-\\ ended attach, and the run goes on"},
			exitMeaning{exitHangup, "stopped by SIGHUP; or the terminal went away, and the run goes on"},
			exitMeaning{exitNotFound, "no such run, or no database of runs there"}),
		Example: `  loops attach fix
  loops attach fix-20261121T103405 --all
  loops run -b fix && loops attach fix`,
		Args: arguments(1, 1, "NAME of a loop or id of a RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args[0]
			if err := o.view.check(cmd.CommandPath()); err != nil {
				return err
			}
			return runAttach(cmd.Context(), a, o)
		},
	}
	cmd.Flags().BoolVar(&o.all, "all", false, "show the run from its beginning")
	o.view.addFlags(cmd.Flags())
	return cmd
}

func runAttach(ctx context.Context, a *app, o attachOptions) error {
	p, store, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	r, err := pickAttached(ctx, store.Finder(), o.name)
	if err != nil {
		return err
	}
	// The end of this process is nothing to the run. These signals only say so to the person.
	ctx, detach := context.WithCancelCause(ctx)
	defer detach(nil)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, ends...)
	defer signal.Stop(signals)
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case s := <-signals:
			detach(&fsm.Stop{Signal: signalName(s)})
		case <-done:
		}
	}()
	v := &viewer{app: a, project: p, print: a.newPrinter(o.view), Follower: project.Follower{Store: store, ID: r.ID}}
	if r, err = v.show(ctx, r, o.all); err != nil {
		if stop, detached := errors.AsType[*fsm.Stop](err); detached {
			v.print.Note(fmt.Sprintf("Detached; run %s goes on. Back to it: %s. Stop it: %s", r.ID, a.command("attach", string(r.ID)), a.command("stop", string(r.ID))))
			return endedBy(stop.Signal)
		}
		return err
	}
	return v.end(ctx, r)
}

// pickAttached returns the run to show: the one that goes on, or else the newest.
func pickAttached(ctx context.Context, f project.Finder, arg string) (persistence.Run, error) {
	live, newest, err := f.Live(ctx, arg)
	if err != nil {
		return persistence.Run{}, f.Store.Failed(err)
	}
	if newest == nil {
		return persistence.Run{}, nothingTo(ctx, f, "attach to", arg, "; see: loops list --running, loops history NAME")
	}
	live = slices.DeleteFunc(live, func(r persistence.Run) bool { return !project.Alive(r) })
	switch len(live) {
	case 0:
		return *newest, nil
	case 1:
		return live[0], nil
	}
	return persistence.Run{}, &project.AmbiguousError{Arg: arg, What: fmt.Sprintf("%s has %d runs that go on", arg, len(live)), Runs: live}
}

// A viewer shows a run that another process carries on. It is not safe for concurrent use.
type viewer struct {
	app     *app
	project *project.Project
	print   progress.Printer
	project.Follower

	past  []fsm.Event // of the state the run is in, while it catches up
	clock runClock
	said  map[string]bool // damage that was told
}

// show shows a run until it goes on no more.
func (v *viewer) show(ctx context.Context, r persistence.Run, all bool) (persistence.Run, error) {
	v.said = map[string]bool{}
	enter, entered := fsm.Event{}, runClock{}
	// What happened until now is read once: of it, only what belongs to the state the run is in is shown.
	err := v.Read(ctx, r, true, func(e fsm.Event, err error) {
		if err != nil {
			v.damaged(err)
			return
		}
		v.clock.add(e)
		if e.Depth == 0 && e.Kind == fsm.EventStateEnter {
			enter, entered = e, v.clock
			if !all {
				v.missed()
			}
		}
		v.past = append(v.past, e)
	})
	if err != nil {
		return r, err
	}
	v.header(r, enter)
	v.clock = runClock{}
	if !all {
		v.clock = entered
		v.tell()
	}
	for _, e := range v.past {
		v.event(e)
	}
	v.past = nil
	v.print.Watch(func() {
		r, err = v.Follow(ctx, r, func(e fsm.Event, err error) {
			if err != nil {
				v.damaged(err)
				return
			}
			v.event(e)
		})
	})
	return r, err
}

// missed forgets what belongs to an earlier state, for all but the sums at the end.
func (v *viewer) missed() {
	if t, ok := v.print.(*progress.Text); ok {
		for _, e := range v.past {
			t.Missed(e)
		}
	}
	v.past = v.past[:0]
}

func (v *viewer) header(r persistence.Run, enter fsm.Event) {
	dir := v.project.RunDir(r.ID)
	h := progress.Header{
		Loop: &fsm.Loop{Name: r.Loop, MaxSteps: r.MaxSteps, File: r.File}, File: cmp.Or(v.project.Short(r.File), "(not recorded)"), Run: r,
		RunDir: dir + "/", ShortDir: v.project.Short(dir) + "/", Attached: true, Begin: r.StartedAt, Resumed: r.Segment > 0,
	}
	if step, ok := enter.Get("iteration").(int64); ok {
		h.Where, h.Run.Step, h.Elapsed = inspect.Text(enter.Get("state")), int(step), v.clock.at(enter.Time)
	}
	v.print.Header(h)
}

// tell has the printer count time as the clock does.
func (v *viewer) tell() {
	if t, ok := v.print.(*progress.Text); ok {
		t.Since(v.clock.before, v.clock.begin)
	}
}

// event shows one event; its time counts from the beginning of the run, without the pauses between its parts.
func (v *viewer) event(e fsm.Event) {
	if v.clock.add(e) {
		v.tell()
	}
	v.print.Event(e)
}

func (v *viewer) damaged(err error) {
	if text := oneLine(err); !v.said[text] {
		v.said[text] = true
		v.print.Note("loops: " + text)
	}
}

// end says how a run ended, and returns that as run would have.
func (v *viewer) end(ctx context.Context, r persistence.Run) error {
	m, err := v.Store.MemoryOf(ctx, r)
	if m == nil {
		return v.Store.Failed(err)
	}
	if m.Outcome == nil {
		resume := ""
		if r.Resumable {
			resume = "; go on with it: " + v.app.goOn(ctx, v.Store, r)
		}
		if r.Owner.PID == 0 {
			return failure(engine.Failed, "run %s is %s in state %s; how it ended is not on record%s", r.ID, inspect.StatusWord(r), r.State, resume)
		}
		return failure(engine.Failed, "the process of run %s (pid %d) died in state %s%s", r.ID, r.Owner.PID, r.State, resume)
	}
	o := *m.Outcome
	resume := ""
	if persistence.StatusOf(o).CanGoOn(o.Retriable()) {
		resume = v.app.goOn(ctx, v.Store, r)
	}
	v.print.Finish(o, resume)
	return endedAs(o)
}

// A runClock tells how long a run has run at an event, from the events before it.
type runClock struct {
	before      time.Duration // in the parts of the run before this one
	begin, last time.Time     // of this part
}

// add takes the next event, and says whether a new part begins with it.
func (c *runClock) add(e fsm.Event) (begins bool) {
	if e.Depth == 0 && (e.Kind == fsm.EventLoopStart || e.Kind == fsm.EventLoopResume) {
		c.before += max(0, c.last.Sub(c.begin))
		c.begin, begins = e.Time, true
	}
	c.last = e.Time
	return begins
}

func (c *runClock) at(t time.Time) time.Duration { return c.before + max(0, t.Sub(c.begin)) }
