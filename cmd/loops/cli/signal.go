package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/inspect"
	"loops/internal/lookup"
	"loops/internal/phrase"
	"loops/internal/ui"
	"loops/internal/ui/views"
)

type signalOptions struct {
	run, name, data string
	from            string // who sends it; "" = the user
	hasData, json   bool
}

func newSignalCommand(a *app) *cobra.Command {
	var o signalOptions
	cmd := &cobra.Command{
		Use:   "signal NAME|RUN EVENT",
		Short: "Send an event to a run that waits for it, or will",
		Long: `signal sends the event EVENT to the run RUN, or to the run of the loop NAME. A state with wait: {event: EVENT} takes it, and
finds what came with it in ${event.KEY}. It is recorded when signal returns, also for a run that no process carries: the
state takes it when the run is resumed. Events wait in their order, and each is taken once.` +
			exitCodes(exitOK, exitFailed, exitUsage, exitNotFound, exitRecord),
		Example: `  loops signal release deploy-finished
  loops signal release-20261121T103405 deploy-finished --data '{"version": "1.4.2"}'`,
		Args: arguments(2, 2, "NAME of a loop or id of a RUN, and EVENT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.run, o.name = args[0], args[1]
			o.hasData = cmd.Flags().Changed("data")
			return runSignal(cmd.Context(), a, o)
		},
	}
	cmd.Flags().StringVar(&o.data, "data", "", "what comes with it, `JSON`")
	cmd.Flags().BoolVarP(&o.json, "json", "j", false, "print a JSON object")
	return cmd
}

func runSignal(ctx context.Context, a *app, o signalOptions) error {
	s := fsm.Signal{Name: o.name, From: cmp.Or(o.from, a.sender())}
	if strings.TrimSpace(o.name) == "" || strings.ContainsAny(o.name, "\r\n") {
		return usageError{fmt.Sprintf("%s is no name of an event; expected one such as deploy-finished", phrase.Quote(o.name)), "loops signal --help"}
	}
	if o.hasData {
		var err error
		if s.Data, err = value.ParseJSON([]byte(o.data)); err != nil {
			return usageError{fmt.Sprintf("--data is no JSON: %v; a text needs quotation marks of its own: --data '\"text\"'", err), "loops signal --help"}
		}
	}
	e, store, err := a.controller(ctx)
	if err != nil {
		return err
	}
	defer e.Close()
	run, ok, err := lookup.Told(ctx, store.Finder(), o.run)
	switch {
	case err != nil:
		return a.refused(err)
	case !ok:
		return nothingTo(ctx, store.Finder(), "signal", o.run, "")
	}
	sent, err := e.Signal(ctx, run.ID, s)
	if err != nil {
		return a.refused(err)
	}
	if o.json {
		return a.reply(value.NewMap("instance_id", string(run.ID), "run_id", run.RunID, "event", sent.Name, "number", int64(sent.N), //nolint:gosec // nobody sends so many
			"at", ui.Stamp(sent.At), "from", ui.OrNull(sent.From), "alive", project.Alive(run), "waits", waitsFor(sent)))
	}
	ui.SayLine(a.out, a.sentText(ctx, store, sent))
	return nil
}

func waitsFor(s engine.Sent) bool { return s.Wait != nil && s.Wait.Event == s.Name }

// sentText says what becomes of a signal that is on record.
func (a *app) sentText(ctx context.Context, store *project.Records, s engine.Sent) string {
	head := fmt.Sprintf("Sent %s to %s (number %d)", s.Name, s.Run.ID, s.N)
	switch {
	case !project.Alive(s.Run):
		return fmt.Sprintf("%s. The run is %s, and takes it when it is resumed: %s", head, inspect.StatusWord(s.Run), views.GoOn(ctx, a.page(), store, s.Run))
	case waitsFor(s):
		return head + "; state " + s.Wait.State + " waited for it."
	}
	return head + ". The next state that waits for it takes it."
}

// sender is who uses the program, as far as the environment says.
func (a *app) sender() string {
	if id, ok := a.getenv(engine.EnvRunID); ok && id != "" {
		return "run " + id
	}
	for _, name := range []string{"USER", "LOGNAME"} {
		if who, ok := a.getenv(name); ok && who != "" {
			return who
		}
	}
	return ""
}
