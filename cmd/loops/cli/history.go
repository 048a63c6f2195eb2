package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/inspect"
	"loops/internal/lookup"
	"loops/internal/ui"
	"loops/internal/ui/views"
	"loops/persistence"
)

// How many lines history prints unless told.
const (
	tailRuns   = 20
	tailEvents = 50
)

type historyOptions struct {
	name, run     string
	tail          int // -1 = the default
	event, state  string
	since, until  string
	text, group   string
	status        []string
	cost          bool
	verbose, json bool
	full          bool
}

func newHistoryCommand(a *app) *cobra.Command {
	o := historyOptions{tail: -1}
	cmd := &cobra.Command{
		Use:     "history NAME [RUN]",
		Aliases: []string{"h"},
		Short:   "List the runs of a loop, or the events of one",
		Long: `history NAME lists the runs of a loop, newest first. history NAME RUN shows the events of one run, oldest first; RUN is
an id as the list shows it, or "last".

Runs are chosen by --status, --since, --until and --text, events by -e, -s, --since, --until and --text. The newest 20 runs
or 50 events of those are shown, and it is said where there are more. WHEN is an age (45s, 30m, 1h, 2d) or a date
(2026-11-21, 2026-11-21T10:34; with --until, a date is that whole day). With --text the events of every run have to be
read, and with --cost those of the runs that are shown: that takes its time.

--group-by outcome counts runs by how they ended, instead of listing them.

Output of actions is left out unless -v is given. With --json nothing else is left out. --full shows all that is recorded of
each event, whole.` +
			exitCodes(exitOK, exitFailed, exitUsage, exitNotFound, exitRecord),
		Example: `  loops history fix
  loops history fix last
  loops history fix 2026-11-21T103405 --event route --tail 10
  loops history fix --status failed,timed_out --since 2d --json
  loops history fix --text "no space left"
  loops history fix --group-by outcome`,
		Args: arguments(1, 2, "NAME of a loop"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args[0]
			if len(args) > 1 {
				o.run = args[1]
			}
			for _, name := range []string{"tail", "limit"} {
				if cmd.Flags().Changed(name) && o.tail < 0 {
					return usageError{fmt.Sprintf("--%s %d: expected 0 (all) or more", name, o.tail), "loops history --help"}
				}
			}
			if cmd.Flags().Changed("tail") && cmd.Flags().Changed("limit") {
				return usageError{"--limit and --tail are the same: give one of them", "loops history --help"}
			}
			if o.full {
				o.verbose = true
			}
			return runHistory(cmd.Context(), a, o)
		},
	}
	flags := cmd.Flags()
	flags.IntVarP(&o.tail, "tail", "n", -1, "the last `N` only, 0 = all (default 20 runs or 50 events)")
	flags.Lookup("tail").DefValue = "0" // -1 is no default to show
	flags.StringVarP(&o.event, "event", "e", "", "only events of this `KIND`")
	flags.StringVarP(&o.state, "state", "s", "", "only events about this `STATE`")
	flags.IntVar(&o.tail, "limit", -1, "the same as --tail: the last `N` only")
	flags.Lookup("limit").DefValue = "0"
	flags.StringVarP(&o.since, "since", "S", "", "only what is newer than `WHEN`: 45s, 30m, 1h, 2d, or a date")
	flags.StringVar(&o.until, "until", "", "only what is older than `WHEN`: an age or a date")
	flags.StringVar(&o.text, "text", "", "only events with this `TEXT` in them, or runs with such events; upper and lower case are the same")
	flags.StringSliceVar(&o.status, "status", nil, "only runs with this `STATUS`, or one of several: failed,interrupted")
	flags.StringVar(&o.group, "group-by", "", "count runs by `WHAT`: outcome")
	flags.BoolVar(&o.cost, "cost", false, "show what each run cost")
	flags.BoolVarP(&o.verbose, "verbose", "v", false, "show output of actions too")
	flags.BoolVar(&o.full, "full", false, "show output of actions and every other field of each event, whole")
	flags.BoolVarP(&o.json, "json", "j", false, "print a JSON array")
	return cmd
}

func runHistory(ctx context.Context, a *app, o historyOptions) error {
	when, err := lookup.NewPeriod(o.since, o.until, engine.OpHistory)
	if err != nil {
		return err
	}
	byID := o.run == "" && (project.LoopOf(o.name) != "" || o.name == project.Last) // perhaps the name is that of a run
	if err := o.check(); err != nil && !byID {
		return err
	}
	_, store, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	f := store.Finder()
	if o.run == "" {
		// The id of a run in the place of the loop's name means that run.
		run, err := f.Named(ctx, o.name)
		if err != nil {
			return err
		}
		if run == nil {
			if err := o.check(); err != nil {
				return err
			}
			return historyRuns(ctx, a, f, o, when)
		}
		o.name, o.run = run.Loop, string(run.ID)
		if err := o.check(); err != nil {
			return err
		}
		return historyEvents(ctx, a, f, *run, o, when)
	}
	run, err := lookup.PickRun(ctx, f, o.name, o.run)
	if err != nil {
		return err
	}
	return historyEvents(ctx, a, f, run, o, when)
}

func historyEvents(ctx context.Context, a *app, f project.Finder, run persistence.Run, o historyOptions, when lookup.Period) error {
	limit := o.tail
	if limit < 0 {
		limit = tailEvents
	}
	all := 0
	keep := func(e fsm.Event) bool {
		switch {
		case o.event != "" && e.Kind != o.event,
			!o.verbose && !o.json && o.event == "" && o.text == "" && e.Kind == fsm.EventActionOutput,
			!when.Contains(e.Time),
			o.text != "" && !views.Mentions(e, o.text),
			o.state != "" && e.Get("state") != o.state && e.Get("from") != o.state && e.Get("to") != o.state && e.Get("final_state") != o.state:
			return false
		}
		all++
		return true
	}
	events, damage, err := lookup.LastEvents(f.Store.EventsOf(ctx, run, 0), keep, limit)
	for _, d := range damage {
		ui.Say(a.Err, "loops: %v; reading goes on behind it\n", d)
	}
	if err != nil {
		return err
	}
	if all == 0 && o.event != "" {
		if err := lookup.UnknownEvent(ctx, f, run, o.event, engine.OpHistory); err != nil {
			return err
		}
	}
	if all == 0 && o.state != "" {
		if err := lookup.UnknownState(ctx, f, run, o.state, engine.OpHistory); err != nil {
			return err
		}
	}
	more := ""
	if o.tail < 0 && all > len(events) {
		more = fmt.Sprintf("The newest %d of %d events; all of them: %s", len(events), all, a.command("history -n 0", o.name, o.run))
	}
	if o.json {
		if more != "" {
			ui.SayLine(a.Err, "loops: "+more)
		}
		return a.reply(ui.List(events, func(e fsm.Event) any { return ui.EventObject(e) }))
	}
	if len(events) == 0 {
		ui.Say(a.out, "No such events in run %s.\n", run.ID)
		return nil
	}
	page := a.page()
	for _, e := range events {
		page.PrintEvent(inspect.Honest(e, run), o.verbose)
		if o.full && e.Kind != fsm.EventActionOutput {
			page.PrintFields(e)
		}
	}
	if more != "" {
		ui.SayLine(a.out, more)
	}
	return nil
}
