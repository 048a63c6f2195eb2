package cli

import (
	"context"

	"github.com/spf13/cobra"

	"loops/fsm"
	"loops/internal/api"
	"loops/internal/app"
	"loops/internal/terminal"
)

type eventsOptions struct {
	name                  string
	after                 uint64
	follow, verbose, json bool
}

func newEventsCommand(a *program) *cobra.Command {
	var o eventsOptions
	cmd := &cobra.Command{
		Use:   "events NAME|RUN",
		Short: "Print the events of a run, also while it is running",
		Long: `events prints all events of a run, oldest first, each with its number. NAME means the newest run of the loop.
With --after
it begins after the event with that number; with -f it continues until the run ends or its process is gone. Ctrl-C ends
the command, not the run.

With --json each event is a line of JSON, as run --json prints it, so that a program can read them as they come. "seq" is
the number to continue after. In text, output of actions is left out unless -v is given.` +
			exitHelp(exitOK, exitFailed, exitUsage, exitNotFound, exitRecord, exitInterrupted),
		Example: `  loops events fix -f
  loops events fix-20261121T103405 --after 120
  loops events fix --json -f | jq -r 'select(.event == "route").to'`,
		Args: arguments(1, 1, "NAME of a loop or id of a RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args[0]
			return runEvents(cmd.Context(), a, o)
		},
	}
	flags := cmd.Flags()
	flags.Uint64Var(&o.after, "after", 0, "only events after the one with this `NUMBER`")
	flagAlias(flags, "since", "after") // as earlier versions called it
	flags.BoolVarP(&o.follow, "follow", "f", false, "follow the run until it ends")
	flags.BoolVarP(&o.verbose, "verbose", "v", false, "show output of actions too")
	flags.BoolVarP(&o.json, "json", "j", false, "print a JSON object a line")
	return cmd
}

func runEvents(ctx context.Context, a *program, o eventsOptions) error {
	_, store, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	f := store.Finder()
	run, err := app.OneRun(ctx, f, o.name)
	if err != nil {
		return err
	}
	if o.after > 0 {
		if err := app.PastTheEnd(ctx, f, run, o.after, "events"); err != nil {
			return err
		}
	}
	page := a.page()
	return a.tail(ctx, f, run, o.after, o.follow, nil, func(e fsm.Event) {
		switch {
		case o.json:
			_ = terminal.WriteJSONLine(a.out, api.EventOf(e)) // a sink never fails
		case o.verbose || e.Kind != fsm.EventActionOutput:
			page.Day.Heading(page.Out, e.Time)
			terminal.Say(page.Out, "%6d  ", e.Seq)
			page.PrintEvent(e, o.verbose)
		}
	})
}
