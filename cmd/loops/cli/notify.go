package cli

import (
	"context"
	"fmt"
	"os/signal"
	"strconv"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/engine/notify"
	"loops/internal/humanize"
	"loops/internal/view"
)

func newNotifyCommand(a *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "notify",
		Short: "Explain notifications, and send a test",
		Long: `The key notify of .loops/config.yaml, and of the user's file, lists the notifications that runs send:

  notify:
    - command: mail -s "$LOOPS_NOTIFY_TEXT" me@example.com </dev/null
    - desktop: true
      on: [failed, waiting]
    - webhook: https://hooks.example.com/loops
      secret_env: LOOPS_HOOK_KEY
      loops: [release, nightly-*]

A command is a bash script in the project directory, with the event as JSON on its standard input, and in the variables
LOOPS_NOTIFY_... (docs/notify.md). A desktop message is shown by notify-send, or osascript on macOS. A webhook gets the JSON by
POST, signed with the key in the variable secret_env; after no answer, 429 or 5xx it is tried again, 3 times or as retries
sets. timeout limits one attempt; the default is 10s.

loops help notifications lists what on can have. A run never waits for its notifications; at its end loops waits for them for
half a minute at most, or until Ctrl-C. Failures are printed in a line, and all are in .loops/logs/notify.log. Runs that
actions of other runs start send none.` + exitHelp(exitOK, exitUsage),
		Example: `  loops notify test
  loops notify test 2 --json`,
		Args: noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newNotifyTestCommand(a))
	return cmd
}

type notifyTestOptions struct {
	number string // "" = all
	json   bool
}

func newNotifyTestCommand(a *program) *cobra.Command {
	var o notifyTestOptions
	cmd := &cobra.Command{
		Use:   "test [NUMBER]",
		Short: "Send a test notification",
		Long: `test sends a made-up event to each target in notify, or to the one with that NUMBER in the list, from 1, and reports
whether it arrived. The event has "test": true; LOOPS_NOTIFY_TEST is 1.` +
			exitHelpOf(exitMeaning{Code: exitOK, Text: "all of it was delivered"},
				exitMeaning{Code: exitFailed, Text: "something was not"},
				exitMeaning{Code: exitUsage, Text: "bad command line"},
				exitMeaning{Code: exitInvalid, Text: "a file with settings is not valid"},
				exitMeaning{Code: exitNotFound, Text: "no target is set, or none with that number"}),
		Example: `  loops notify test
  loops notify test 2 --json`,
		Args: arguments(0, 1, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.number = args[0]
			}
			return runNotifyTest(cmd.Context(), a, o)
		},
	}
	cmd.Flags().BoolVarP(&o.json, "json", "j", false, "print a JSON array")
	return cmd
}

func runNotifyTest(ctx context.Context, a *program, o notifyTestOptions) error {
	p, err := a.project()
	if err != nil {
		return err
	}
	conf, err := p.Config()
	if err != nil {
		return err
	}
	if len(conf.Notify) == 0 {
		return failure(engine.NotFound, "there are no notifications: %s has no notify; see: loops notify --help",
			p.Short(p.Layers.Project))
	}
	chosen := make([]int, len(conf.Notify))
	for i := range chosen {
		chosen[i] = i
	}
	if o.number != "" {
		n, err := strconv.Atoi(o.number)
		switch {
		case err != nil || n < 1:
			return usageError{
				fmt.Sprintf("%q: expected the number of a notification, from 1", o.number),
				"loops notify test --help",
			}
		case n > len(conf.Notify):
			return failure(engine.NotFound, "there is no number %d: notify names %s", n,
				humanize.Count(len(conf.Notify), "target"))
		}
		chosen = []int{n - 1}
	}
	ctx, stop := signal.NotifyContext(ctx, signalEnds...)
	defer stop()
	n := notify.To(p, conf.Notify, a.notifierOptions())
	zero := 0
	for _, i := range chosen {
		kind := "completed"
		if on := conf.Notify[i].On; len(on) > 0 {
			kind = on[0]
		}
		n.Try(i, notify.Event{
			Kind: kind, Text: "test: this is how loops reports that a run is " + humanize.Words(kind),
			Run: "test-20260102T030405", Loop: "test", Status: "completed", EndedBy: "terminal",
			State: "done", Steps: 1, Seconds: 1, ExitCode: &zero, Test: true,
		})
	}
	results := make([]*notify.Result, len(conf.Notify))
	for _, r := range n.Tried(ctx) {
		results[r.Place] = &r
	}
	if failed, err := view.PrintNotified(a.page(), chosen, results, o.json); err != nil {
		return err
	} else if failed {
		return told(engine.Failed)
	}
	return nil
}
