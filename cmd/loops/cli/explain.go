package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/engine/project"
	"loops/internal/inspect"
	"loops/internal/lookup"
	"loops/internal/phrase"
	"loops/internal/ui/views"
	"loops/persistence"
)

type explainOptions struct {
	name, step string
	json       bool
}

func newExplainCommand(a *app) *cobra.Command {
	var o explainOptions
	cmd := &cobra.Command{
		Use:   "explain NAME|RUN [STEP]",
		Short: "Explain why a run ended, or why it took a transition",
		Long: `explain says in sentences why a run ended, or where it stands: what its last step did, how that was judged, from what and by
which limits, which rule led on, and which limits were met on the way. With STEP it explains that step: a number as history
shows it, "last", or 3.2 for step 2 of the sub-loop that step 3 ran. NAME means the newest run of the loop.

Numbers in brackets are those of the events a sentence is taken from: loops events RUN --since N. Rules and limits are
read from the definition that is recorded with the run; where none is, from the file as it is now, which is then said.` +
			exitCodes(exitOK, exitFailed, exitUsage, exitNotFound, exitRecord),
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

func runExplain(ctx context.Context, a *app, o explainOptions) error {
	if err := checkStep(o.step); err != nil {
		return err
	}
	_, store, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	f := store.Finder()
	run, err := lookup.OneRun(ctx, f, o.name)
	if err != nil {
		return err
	}
	rules := lookup.RulebookOf(ctx, f, run)
	story := inspect.Story{Wanted: o.step, Rules: rules, Note: rules.Note, Alive: project.Alive(run), Resume: views.GoOn(ctx, a.page(), store, run)}
	if story.Path, err = lookup.Path(ctx, f, run, &inspect.Reader{Keep: true, Done: story.Add}, a.damaged); err != nil {
		return err
	}
	if o.step == "" {
		story.WholeRun()
	} else if !story.Steps() {
		return noSuchStep(run, o.step, story.Last())
	}
	if o.json {
		return a.reply(views.ExplanationObject(&story))
	}
	views.PrintExplanation(a.out, &story)
	return nil
}

// checkStep refuses what is no step.
func checkStep(step string) error {
	if step == "" || step == "last" {
		return nil
	}
	for part := range strings.SplitSeq(step, ".") {
		if n, err := strconv.Atoi(part); err != nil || n < 1 {
			return usageError{fmt.Sprintf("%q is no step: expected a number from 1, a path such as 3.2, or last", step), "loops explain --help"}
		}
	}
	return nil
}

// noSuchStep is the error for a step that the run has not, which came to last; nil = to no step.
func noSuchStep(r persistence.Run, number string, last *inspect.Visit) error {
	if last == nil {
		return failure(engine.NotFound, "nothing is recorded of the steps of run %s", r.ID)
	}
	return failure(engine.NotFound, "run %s has no step %s: it has taken %s; see: loops history %s %s -e state_enter -n 0",
		r.ID, number, phrase.Count(last.Step, "step"), quote(r.Loop), quote(r.RunID))
}
