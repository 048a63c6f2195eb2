package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"loops/fsm"
	"loops/persistence"
)

func newStatusCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status NAME|RUN",
		Short: "Say how a run stands",
		Long: `status shows the run RUN, or the run of the loop NAME that goes on now, or its newest one. A run whose owner died shows
as interrupted; nothing is changed.` + exitCodes(exitOK, exitFailed, exitUsage, exitNotFound, exitRecord),
		Example: `  loops status fix
  loops status fix-20261121T103405 --json`,
		Args: arguments(1, 1, "NAME of a loop or id of a RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runStatus(cmd.Context(), a, args[0], asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func runStatus(ctx context.Context, a *app, arg string, asJSON bool) error {
	p, store, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	live, newest, err := finder{p, store}.live(ctx, arg)
	if err != nil {
		return store.failed(err)
	}
	if newest == nil {
		return failure(exitNotFound, "%s has no recorded run; see: loops list --running, loops history NAME", arg)
	}
	run := *newest
	if i := slices.IndexFunc(live, alive); i >= 0 {
		run = live[i]
	}
	var w *fsm.Wait
	if run.Status == persistence.Running || !run.Archived || run.Resumable {
		w, _ = waitOf(ctx, store, run.ID) // what cannot be read is told as damage
	}
	if asJSON {
		m := statusObject(p, store, run)
		if w != nil {
			m.Set("waiting", waitObject(w))
		}
		if at, paused := p.pausedSince(run.ID); paused && run.Resumable {
			m.Set("pause_asked_at", stamp(at))
		}
		return writeJSON(a.out, m)
	}
	printStatus(a, p, store, run, w)
	return nil
}

func printStatus(a *app, p project, store records, r persistence.Run, w *fsm.Wait) {
	row := func(key, value string) {
		if value != "" {
			fmt.Fprintf(a.out, "%-10s %s\n", key+":", value)
		}
	}
	row("Loop", r.Loop)
	row("Run", string(r.ID))
	row("Status", statusWord(r))
	row("State", r.State)
	row("Step", steps(r))
	stands := w != nil && w.Why == fsm.WaitPaused
	if at, paused := p.pausedSince(r.ID); paused && r.Resumable {
		text := "asked for at " + clock(at) + "; it pauses before its next state"
		switch {
		case !alive(r):
			text = "since " + clock(at) + ", also when it is resumed"
		case stands:
			text = "since " + clock(w.Since) + ", before state " + w.State
		}
		row("Paused", text)
		row("Unpause", a.command("unpause", string(r.ID)))
	}
	if w != nil && !stands {
		left := "over"
		if d := time.Until(w.Until); d > 0 {
			left = duration(d) + " left"
		}
		row("Waits for", fmt.Sprintf("%s, until %s (%s)", waitText(w), clock(w.Until), left))
		if alive(r) {
			row("Wake", a.command("retry-now", string(r.ID)))
		}
	}
	if r.Passes > 0 {
		row("Passes", fmt.Sprint(r.Passes))
	}
	if stands && alive(r) {
		row("Elapsed", duration(r.Elapsed)) // its time stands still
	} else {
		row("Elapsed", duration(elapsed(r)))
	}
	if !r.StartedAt.IsZero() {
		row("Started", clock(r.StartedAt))
	}
	if !r.UpdatedAt.IsZero() {
		row("Updated", clock(r.UpdatedAt)+" ("+since(r.UpdatedAt)+")")
	}
	switch {
	case alive(r):
		row("Owner", fmt.Sprintf("pid %d, alive", r.Owner.PID))
	case r.Owner.PID != 0:
		row("Owner", fmt.Sprintf("pid %d, gone", r.Owner.PID))
	}
	row("Ended by", r.Ended)
	row("Error", r.Error)
	row("Continue", firstLine(r.Continuation))
	if r.Events != "" {
		row("Events", p.short(r.Events))
	}
	if !store.files {
		row("Store", store.name)
	}
	if len(r.Damage) > 0 {
		row("Damaged", strings.Join(r.Damage, "; "))
	}
	if r.Resumable && !alive(r) {
		row("Resume", a.resumeCommand(r.Ended, string(r.ID), r.MaxSteps, 0))
	}
}
