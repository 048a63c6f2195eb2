package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"loops/internal/app"
	"loops/internal/terminal"
)

type listOptions struct {
	running, json, whole bool
	runs                 app.OpenFilter
	loops                loopFilter
}

func newListCommand(a *program) *cobra.Command {
	var o listOptions
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"l"},
		Short:   "List loops, or open runs",
		Long: `list shows the loops of the project, the files under .loops, and those of the folder LOOPS_CATALOG, if it is set. A file
that cannot be read, or that lacks name, initial or states, is listed with that mistake. LAST RUN is how the newest run of a loop
ended, and when; loops runs lists all.

These choose among the loops: --category, --label, and --visibility, --internal or --examples, which leave out files that
cannot run. Loops with visibility: internal are left out, unless these or --all ask for them.

With --running it shows running runs, those in the queue, and those of the newest 200 that can be resumed; one whose owner died
is interrupted. IDLE is the time since a run's last event or line of output, or since it ended.

These choose among the runs, also without --running; given together, all must hold:

  --stuck          is running, waits for nothing, was silent for 10 minutes, or DURATION
  --waiting        waits: paused, for a rate limit, between states, handed off, or in the queue
  --failed-since   ended badly since WHEN: failed, timed out, capped, budget used up, not merged, or found dead, but not
                   stopped by a user; whether it can be resumed or not; every run of the project is looked at
  --status         has one of these: running, paused, parked, handed_off, suspended (--suspended), interrupted, stopped,
                   killed, capped, budget, limited, failed, queued, starting, "unknown owner", unreadable` + exitHelp(exitOK, exitFailed, exitUsage, exitNotFound, exitRecord),
		Example: `  loops list
  loops list --category quality --label python
  loops list --visibility public --json
  loops list --running
  loops list --stuck 30m
  loops list --waiting
  loops list --failed-since 1d --json
  loops list --json | jq -r .[].name`,
		Args: arguments(0, 1, "DURATION of --stuck"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkOpen(&o.runs, cmd, args); err != nil {
				return err
			}
			runs := o.running || o.runs.Chooses()
			if err := o.loops.check(cmd, runs); err != nil {
				return err
			}
			if runs {
				return runListRunning(cmd.Context(), a, o)
			}
			return runList(cmd.Context(), a, o)
		},
	}
	cmd.Flags().BoolVar(&o.running, "running", false, "list runs that are running or can be resumed")
	addOpenFlags(&o.runs, cmd.Flags())
	o.loops.addFlags(cmd.Flags())
	cmd.Flags().BoolVarP(&o.json, "json", "j", false, "print a JSON array")
	flagWhole(cmd.Flags(), &o.whole, "do not cut descriptions at the width of the terminal", "long", "no-truncate")
	flagLong(cmd.Flags())
	return cmd
}

func runList(ctx context.Context, a *program, o listOptions) error {
	s, err := a.service()
	if err != nil {
		return err
	}
	loops, err := s.Loops(o.loops.LoopFilter)
	if err != nil {
		return err
	}
	unread := s.AddLast(ctx, loops) // the loops are listed in any case
	s.NoteUnattended(ctx, loops)
	if o.json {
		return errors.Join(terminal.WriteJSON(a.out, loops.Objects()), unread)
	}
	p := s.Project
	if len(loops.Own)+len(loops.Catalog) == 0 && o.loops.Chooses() {
		terminal.SayLine(a.out, "No loop is of that kind. All of them: "+a.command("list --all"))
		return nil
	}
	if len(loops.Own)+len(loops.Catalog) == 0 {
		if _, err := os.Stat(p.Loops); errors.Is(err, fs.ErrNotExist) {
			terminal.Say(a.out, "No loops: neither %s nor a folder above it has a folder .loops. To begin with a "+
				"loop that runs: %s\n", p.Dir, a.command("new --list"))
			return nil
		}
		terminal.Say(a.out, "No loops in %s. A loop is a file NAME.yaml there; to begin with one that runs: %s\n",
			p.Short(p.Loops), a.command("new --list"))
		return nil
	}
	width := a.width()
	if o.whole {
		width = 0
	}
	loops.Print(a.out, p.Short(p.Catalog), width)
	return unread
}
