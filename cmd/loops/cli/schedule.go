package cli

import (
	"cmp"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/engine/project"
	"loops/engine/trigger"
	"loops/internal/app"
	"loops/internal/terminal"
	"loops/internal/view"
)

func newScheduleCommand(a *program) *cobra.Command {
	cmd := &cobra.Command{
		Use: "schedule", Short: "List, pause and start schedules of loops", Args: noSuchCommand,
		Example: "  loops schedule list\n  loops schedule pause nightly",
		Long: `The key schedule of a loop file says when the loop is to be run: {cron: "0 3 * * *"}. loops serve fires the schedules of the loops
in .loops while it is running, each time once, however many servers look after the folder or database. overlap says what becomes of a time at
which the run before has not ended, catch_up what becomes of times at which no server was running.` + exitHelp(exitOK, exitUsage),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	o, json := app.NextTimes{Project: a.project}, false
	next := &cobra.Command{
		Use: "next NAME", Short: "List the next times of a loop's schedule", Args: arguments(1, 1, "NAME of a loop"),
		Long: `next lists the next times of the schedule of a loop, in its time zone, without running anything. A time that is skipped
when clocks are put forward is listed as that moment; one that comes twice is listed once, unless the hour is *.` +
			exitHelp(exitOK, exitUsage, exitInvalid, exitNotFound),
		Example: "  loops schedule next nightly -n 10\n  loops schedule next nightly --after 2026-03-28",
		RunE: func(_ *cobra.Command, args []string) error {
			l, times, err := o.Of(args[0], time.Now())
			switch {
			case err != nil:
				return a.shown(err)
			case json:
				return terminal.WriteJSON(a.out, view.NextTimes(l, times))
			}
			return view.WriteNextTimes(a.out, times, time.Now())
		},
	}
	next.Flags().IntVarP(&o.Count, "limit", "n", 5, "list `N` times")
	next.Flags().StringVarP(&o.After, "since", "S", "",
		"list times after `WHEN`: a date such as 2026-11-21 or 2026-11-21T10:34 (default: now)")
	flagAlias(next.Flags(), "count", "limit")
	flagAlias(next.Flags(), "after", "since") // of earlier versions; elsewhere it is the number of an event
	next.Flags().BoolVarP(&json, "json", "j", false, "print a JSON object")
	cmd.AddCommand(next, a.addStore(newScheduleListCommand(a)), a.addStore(newSchedulePauseCommand(a, true)),
		a.addStore(newSchedulePauseCommand(a, false)), a.addStore(newScheduleRunNowCommand(a)),
		a.addStore(newScheduleFireCommand(a)), a.addStore(newScheduleInstallCommand(a)))
	return cmd
}

func newScheduleListCommand(a *program) *cobra.Command {
	var json bool
	cmd := &cobra.Command{
		Use: "list", Short: "List schedules, their next times and the result of the last", Args: arguments(0, 0, ""),
		Example: "  loops schedule list --json",
		Long: `list shows the schedules of the project's loops: when each comes next, what became of its newest time, and its line. With --json
all times come that are on record.` + exitHelp(exitOK, exitFailed, exitUsage, exitRecord),
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := a.project()
			if err != nil {
				return err
			}
			all, wrong, err := trigger.ListSchedules(cmd.Context(), p, time.Now())
			if err != nil {
				return err
			}
			if wrong != nil {
				for line := range strings.SplitSeq(wrong.Error(), "\n") {
					terminal.SayLine(a.Err, "warning: "+line)
				}
			}
			if line := trigger.Notice(all, time.Now(), a.command("schedule install")); line != "" {
				terminal.SayLine(a.Err, "warning: "+line)
			}
			trigger.Vet(cmd.Context(), p, all)
			for _, l := range all {
				if l.Untrusted != "" {
					terminal.Say(a.Err, "warning: %s is not going to start: %s; %s\n", l.Loop, l.Untrusted,
						a.command("trust", l.Loop))
				}
			}
			if json {
				return terminal.WriteJSON(a.out, view.Schedules(all))
			}
			return view.WriteSchedules(a.out, all, wrong == nil, time.Now())
		},
	}
	cmd.Flags().BoolVarP(&json, "json", "j", false, "print a JSON array")
	return cmd
}

// newSchedulePauseCommand is pause, or unpause.
func newSchedulePauseCommand(a *program, pause bool) *cobra.Command {
	var json, all bool
	cmd := &cobra.Command{
		Use: "pause NAME", Short: "Stop a schedule until it is unpaused", Args: arguments(0, 1, "NAME of a loop"),
		Example: "  loops schedule pause nightly\n  loops schedule pause --all",
		Long: `pause stops the schedule of a loop until it is unpaused, also when servers are started again. Times that pass meanwhile are
not made up for. A run that it has started continues.` + exitHelp(exitOK, exitFailed, exitUsage, exitInvalid, exitNotFound, exitRecord),
	}
	done, already := "The schedule of %s is paused.\n", "The schedule of %s was paused already.\n"
	if !pause {
		cmd.Use, cmd.Short, cmd.Example = "unpause NAME", "Have a paused schedule fire again",
			"  loops schedule unpause nightly\n  loops schedule unpause --all"
		cmd.Long = `unpause has a schedule that was paused fire again, from its next time on.` +
			exitHelp(exitOK, exitFailed, exitUsage, exitInvalid, exitNotFound, exitRecord)
		done, already = "The schedule of %s fires again.\n", "The schedule of %s was not paused.\n"
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if all == (len(args) == 1) {
			return usageError{"expected the NAME of a loop, or --all", cmd.CommandPath() + " --help"}
		}
		p, err := a.project()
		if err != nil {
			return err
		}
		plans, wrong := trigger.ChosenPlans(p, args, engine.Operation("schedule "+cmd.Name()))
		objects := []any{}
		for _, plan := range plans {
			changed, err := trigger.SetPaused(cmd.Context(), p, plan, pause, cmp.Or(a.sender(), "a user"))
			if err != nil {
				return err
			}
			if objects = append(objects, view.Scheduled(plan.Loop, changed, "")); !json {
				terminal.Say(a.out, map[bool]string{true: done, false: already}[changed], plan.Loop)
			}
		}
		switch {
		case json && all:
			return errors.Join(terminal.WriteJSON(a.out, objects), a.shown(wrong))
		case json && wrong == nil:
			return terminal.WriteJSON(a.out, objects[0])
		}
		return a.shown(wrong)
	}
	cmd.Flags().BoolVar(&all, "all", false, "each schedule of the project")
	cmd.Flags().BoolVarP(&json, "json", "j", false, "print JSON; a list with --all")
	return cmd
}

func newScheduleRunNowCommand(a *program) *cobra.Command {
	var view viewFlags
	cmd := &cobra.Command{
		Use: "run-now NAME", Short: "Start a run of a scheduled loop at once",
		Args: arguments(1, 1, "NAME of a loop"), Example: "  loops schedule run-now nightly",
		Long: `run-now starts a run in the background, as its schedule would, also where that is paused. The times of the schedule stay as they are:
while this run has not ended, overlap says what becomes of them.` + exitHelp(exitOK, exitFailed, exitUsage, exitInvalid, exitNotFound, exitUntrusted, exitRecord),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, plan, err := a.scheduled(args[0], "schedule run-now")
			if err != nil {
				return err
			}
			return a.inBackground(cmd.Context(), view, trigger.RequestNow(plan, projectLock))
		},
	}
	cmd.Flags().BoolVarP(&view.json, "json", "j", false, "print JSON")
	return cmd
}

// scheduled returns a loop that has a schedule, and its project.
func (a *program) scheduled(name string, see engine.Operation) (*project.Project, trigger.Plan, error) {
	p, err := a.project()
	if err != nil {
		return nil, trigger.Plan{}, err
	}
	plan, err := trigger.FindPlan(p, name, see)
	return p, plan, a.shown(err)
}
