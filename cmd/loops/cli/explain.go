package cli

import (
	"context"

	"github.com/spf13/cobra"

	"loops/internal/app"
	"loops/internal/terminal"
	"loops/internal/view"
)

type explainOptions struct {
	name, step string
	json       bool
}

func newExplainCommand(a *program) *cobra.Command {
	var o explainOptions
	cmd := &cobra.Command{
		Use:   "explain NAME|RUN [STEP]",
		Short: "Explain why a run ended, or why it took a transition",
		Long: `explain says in sentences why a run ended, or what it is doing: what its last step did, how the result was
judged and from
what evidence, which rule chose the next state, and which limits were reached. With STEP it explains that step: a
number as history
shows it, "last", 3/2 for step 2 of the sub-loop that step 3 ran, 2/lint/1 for step 1 of the branch lint of step 2,
2/#4/1 for step 1 of item 4, 2/lint and 2/#4 for all of the branch or item. NAME means the newest run of the loop.

Numbers in brackets are the numbers of the events behind a sentence: loops events RUN --after N. Rules and limits come
from the definition recorded with the run. If there is none, they come from the current file, and explain says so.` +
			exitHelp(exitOK, exitFailed, exitUsage, exitNotFound, exitRecord),
		Example: `  loops explain fix
  loops explain fix-20261121T103405 7
  loops explain fix last --json`,
		Args: arguments(1, 2, "NAME of a loop or id of a RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args[0]
			if len(args) > 1 {
				o.step = args[1]
			}
			return runExplain(cmd.Context(), a, o)
		},
	}
	cmd.Flags().BoolVarP(&o.json, "json", "j", false, "print one JSON object")
	return cmd
}

func runExplain(ctx context.Context, a *program, o explainOptions) error {
	return a.ask(func(s *app.Service) error {
		story, err := s.Explain(ctx, o.name, o.step)
		if err != nil {
			return err
		}
		if o.json {
			return terminal.WriteJSON(a.out, view.Explanation(story))
		}
		a.page().PrintExplanation(story, o.step != "")
		return nil
	})
}
