package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/engine/project"
	"loops/internal/api"
	"loops/internal/humanize"
	"loops/internal/simulate"
	"loops/internal/terminal"
)

type renderOptions struct {
	name, state string
	context     []string
	json        bool
}

func newRenderCommand(a *program) *cobra.Command {
	var o renderOptions
	cmd := &cobra.Command{
		Use:   "render NAME|PATH STATE",
		Short: "Print a state's action with its templates expanded",
		Long: `render prints what the action of a state would be at the beginning of a run with this context, exactly as it
would go to
bash, to an agent or to a tool. Parameters of a tool follow on a line of their own, as JSON.

What only a run knows, such as ${captured.plan.output}, is left as it is, and named on standard error. So is a
context value that is missing. Nothing is run.` +
			exitHelp(exitOK, exitFailed, exitUsage, exitInvalid, exitNotFound),
		Example: `  loops render fix check
  loops render fix repair --context input="the login page"
  loops render fix check | bash -n`,
		Args: arguments(2, 2, "NAME or PATH of a loop, and STATE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name, o.state = args[0], args[1]
			return runRender(cmd.Context(), a, &o)
		},
	}
	flags := cmd.Flags()
	flagContext(flags, &o.context)
	flags.BoolVarP(&o.json, "json", "j", false, "print a JSON object")
	return cmd
}

func runRender(ctx context.Context, a *program, o *renderOptions) error {
	d, err := a.desk()
	if err != nil {
		return err
	}
	r, err := d.Subject(o.name, nil, o.context, project.Overrides{}, true)
	if err != nil {
		return err
	}
	st, err := r.State(o.state, "render")
	if err != nil {
		return err
	}
	if st.Action == "" {
		why := "it only decides"
		switch {
		case st.Loop != "":
			why = "it runs the loop " + humanize.Clip(st.Loop)
		case st.Await != nil:
			why = "it waits"
		case st.Terminal:
			why = "it is an end"
		}
		return usageError{
			fmt.Sprintf("the state %s has no action: %s", humanize.Quote(st.Name), why),
			"loops render --help",
		}
	}
	got, err := simulate.Render(ctx, r.Loop, st, r.Values, a.getenv, r.Lessons())
	if err != nil && st.Fragment == nil {
		return failure(engine.Failed, "%v", err)
	}
	if err != nil {
		return failure(engine.Usage, "the fragment %s of the state %s: %v", st.Fragment.Name, humanize.Quote(st.Name),
			err)
	}
	if o.json {
		m := api.Rendered{
			Loop: r.Loop.Name, State: st.Name, Type: api.Text(st.ActionType), Action: got.Action,
			Params: got.Params,
		}
		for _, u := range got.Unknown {
			m.Unknown = append(m.Unknown, api.UnknownValue{Reference: u.Ref, Reason: u.Why})
		}
		return terminal.WriteJSON(a.out, m)
	}
	text := got.Action
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	_, err = fmt.Fprint(a.out, text)
	if got.Params != nil {
		err = errors.Join(err, terminal.WriteJSONLine(a.out, got.Params))
	}
	for _, u := range got.Unknown {
		terminal.Say(a.Err, "loops: %s is left as it is: %s\n", humanize.Clip(u.Ref), u.Why)
	}
	return err
}
