package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/fsm"
	"loops/internal/app"
	"loops/internal/terminal"
)

type signalOptions struct {
	run, name, data string
	hasData, json   bool
}

func newSignalCommand(a *program) *cobra.Command {
	var o signalOptions
	cmd := &cobra.Command{
		Use:   "signal NAME|RUN EVENT",
		Short: "Send an event to a run",
		Long: `signal sends the event EVENT to the run RUN, or to the run of the loop NAME. A state with wait: {event: EVENT}
receives it,
with its data in ${event.KEY}. The event is recorded when signal returns. A run that has no process receives it when it
is resumed. Events are kept in order, and each is received once.` +
			exitHelp(exitOK, exitFailed, exitUsage, exitNotFound, exitRecord),
		Example: `  loops signal release deploy-finished
  loops signal release-20261121T103405 deploy-finished --data '{"version": "1.4.2"}'`,
		Args: arguments(2, 2, "NAME of a loop or id of a RUN, and EVENT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.run, o.name = args[0], args[1]
			o.hasData = cmd.Flags().Changed("data")
			return runSignal(cmd.Context(), a, o)
		},
	}
	cmd.Flags().StringVar(&o.data, "data", "", "data of the event, as `JSON`")
	cmd.Flags().BoolVarP(&o.json, "json", "j", false, "print a JSON object")
	return cmd
}

func runSignal(ctx context.Context, a *program, o signalOptions) error {
	event := fsm.Signal{Name: o.name, From: a.sender()}
	if o.hasData {
		var err error
		if event.Data, err = app.SignalData(o.data); err != nil {
			return usageError{
				fmt.Sprintf("--data is not JSON: %v; a text needs its own quotation marks: --data '\"text\"'", err),
				"loops signal --help",
			}
		}
	}
	s, err := a.service()
	if err != nil {
		return err
	}
	defer s.Close()
	sent, err := s.Signal(ctx, o.run, event)
	if err != nil {
		return err
	}
	if o.json {
		return terminal.WriteJSON(a.out, sent.Object())
	}
	terminal.SayLine(a.out, sent.Text(ctx))
	return nil
}

// sender is the run or the user that uses the program, as far as the environment says.
func (a *program) sender() string {
	if id, ok := a.getenv(engine.EnvRunID); ok && id != "" {
		return "run " + id
	}
	if known := a.identity(); len(known) > 0 {
		return known[0]
	}
	for _, name := range []string{"USER", "LOGNAME"} {
		if who, ok := a.getenv(name); ok && who != "" {
			return who
		}
	}
	return ""
}

// identity are the names of the user of this command line, the user's own first and then those of teams; nil = the user
// is not known.
func (a *program) identity() (names []string) {
	text, _ := a.getenv(engine.EnvIdentity)
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}
