package cli

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/engine/trigger"
	"loops/internal/terminal"
	"loops/internal/view"
	"loops/internal/worker"
	"loops/persistence"
)

type submitOptions struct {
	request engine.StartRequest
	job     persistence.Job
	at      string
	json    bool
	quiet   bool
}

func newSubmitCommand(a *program) *cobra.Command {
	o := submitOptions{request: engine.StartRequest{Lock: projectLock}}
	cmd := &cobra.Command{
		Use:   "submit NAME|PATH [INPUT]",
		Short: "Submit a run for workers",
		Long: `submit records a run as queued, tells the workers of its queue and prints the id. A worker (loops worker) begins it, and
another one continues it when that one dies. Runs are shared through PostgreSQL: give --store, or set it for the project.

A worker takes a run only if it has all of its labels, and has the same definition of the loop in its own checkout or accepts
the key that signed it (loops sign). Runs with a --key take turns with those of other keys, and dispatch.limits in the settings
says how many of one key are carried at once. TIME is a time such as 2026-11-21T22:00 or from now such as 30m; the run does not
begin before. stop takes a queued run out of its queue; status, history, logs -f and attach work from anywhere.` + exitHelp(exitOK, exitFailed, exitUsage, exitInvalid, exitNotFound, exitUntrusted, exitRecord),
		Example: `  loops submit fix
  loops submit fix "the login page" --queue nightly --label gpu --key api --priority 1
  loops submit fix --at 22:00
  loops status "$(loops submit fix --quiet)"`,
		Args: arguments(1, 2, "NAME or PATH of a loop"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.request.Loop = args[0]
			if len(args) > 1 {
				o.request.Input = &args[1]
			}
			if err := checkOverrides(&o.request.Over, cmd); err != nil {
				return err
			}
			return runSubmit(cmd.Context(), a, o)
		},
	}
	flags := cmd.Flags()
	flagContext(flags, &o.request.Context)
	flags.StringVar(&o.job.Queue, "queue", trigger.DefaultQueue, "the `NAME` of the queue")
	flags.StringSliceVar(&o.job.Labels, "label", nil, "only workers with this `LABEL`, or all of several")
	flags.StringVar(&o.job.Key, "key", "", "runs of one `KEY` share a limit, and take turns with others")
	flags.IntVar(&o.job.Priority, "priority", trigger.DefaultPriority, "1 (first) to 4 (last)")
	flags.StringVar(&o.at, "at", "", "do not begin before `TIME`")
	flags.BoolVar(&o.request.Lock.None, "no-lock", false, "lock no files, and do not ask whether others did")
	addOverrides(&o.request.Over, flags)
	flags.BoolVarP(&o.quiet, "quiet", "q", false, "print the id alone")
	flags.BoolVarP(&o.json, "json", "j", false, "print one JSON object")
	return cmd
}

func runSubmit(ctx context.Context, a *program, o submitOptions) error {
	e, err := a.engine()
	if err != nil {
		return err
	}
	defer e.Close()
	if o.at != "" {
		if o.job.At, err = worker.ParseAt(o.at, time.Now()); err != nil {
			return usageError{"--at: " + err.Error(), "loops submit --help"}
		}
	}
	slices.Sort(o.job.Labels)
	o.request.Warn = a.warner(e.Project(), o.quiet)
	run, err := worker.Submit(ctx, e, o.request, o.job)
	return a.submitted(run, o.job, err, o.json, o.quiet)
}

// submitted prints a run that was submitted, or returns why it was not.
func (a *program) submitted(run persistence.Run, job persistence.Job, err error, json, quiet bool) error {
	switch {
	case err != nil:
		return a.refused(err)
	case json:
		return terminal.WriteJSON(a.out, view.Submitted(run, job))
	case quiet:
		terminal.SayLine(a.out, string(run.ID))
		return nil
	}
	terminal.SayLines(a.out, terminal.Block(view.SubmittedText(a.page(), run, job)))
	return nil
}

// resubmit retries a run that was submitted, see [worker.Retry].
func (a *program) resubmit(ctx context.Context, r engine.ForkRequest, quiet bool) (run persistence.Run,
	job persistence.Job, done bool, err error,
) {
	e, err := a.engine()
	if err != nil {
		return run, job, true, err
	}
	defer e.Close()
	r.Warn = a.warner(e.Project(), quiet)
	return worker.Retry(ctx, e, r)
}
