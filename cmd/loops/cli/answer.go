package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/internal/app"
	"loops/internal/humanize"
	"loops/internal/terminal"
)

func newAnswerCommand(a *program) *cobra.Command {
	var fields []string
	var asJSON bool
	said := engine.Answer{Fields: map[string]string{}}
	cmd := &cobra.Command{
		Use:   "answer NAME|RUN CHOICE",
		Short: "Answer the question that a run asks",
		Long: `answer answers the question that the run RUN, or the run of the loop NAME, asks in a state with ask. CHOICE is the name
of a choice, or its number. The answer is recorded when the command returns, also for a run that has no process. A
question is answered once; a second answer is refused and shows the first. Without CHOICE, answer prints the question
and its address; without arguments, all open questions. ADDRESS is that of its step, as 4/1 or 2/lint/1, with or
without the number of the question (4/1:3). Without --question an answer is accepted only while the run has
asked one question in all. A choice that the question lists under confirm is asked for again on a terminal, and needs
--yes elsewhere.
LOOPS_IDENTITY=USER,TEAM,... is the identity of the user; a question with who accepts only the users and teams listed
there.` +
			exitHelp(exitOK, exitFailed, exitUsage, exitNotFound, exitRecord),
		Example: `  loops answer
  loops answer --question 3:1 release approve --field reason="tests are green"
  loops answer release --withdraw`,
		Args: arguments(0, 2, "NAME of a loop or id of a RUN, and CHOICE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if said.From, said.Known = a.sender(), a.identity(); len(args) == 2 {
				said.Choice = args[1]
			}
			for _, pair := range fields {
				name, text, ok := strings.Cut(pair, "=")
				if !ok || said.Choice == "" {
					return usageError{
						fmt.Sprintf("--field %s: expected NAME=TEXT, and a choice", pair),
						"loops answer --help",
					}
				}
				said.Fields[name] = text
			}
			return runAnswer(cmd.Context(), a, firstOf(args), said, asJSON)
		},
	}
	cmd.Flags().StringArrayVar(&fields, "field", nil, "fill in a field of the question, `NAME=TEXT` (repeatable)")
	cmd.Flags().StringVar(&said.Address, "question", "", "answer the question at this `ADDRESS`; required once the "+
		"run has asked several")
	cmd.Flags().BoolVarP(&said.Confirmed, "yes", "y", false, "confirm a choice that the question lists under confirm")
	cmd.Flags().BoolVar(&said.Withdraw, "withdraw", false, "withdraw the question")
	cmd.Flags().BoolVarP(&asJSON, "json", "j", false, "print JSON")
	return cmd
}

func runAnswer(ctx context.Context, a *program, run string, said engine.Answer, asJSON bool) error {
	return a.ask(func(s *app.Service) error {
		given, err := s.Answer(ctx, run, said)
		if errors.Is(err, engine.ErrUnconfirmed) && !asJSON &&
			(&terminal.YesNo{In: a.In, Err: a.Err}).Ask(ctx, "Answer "+humanize.PlainLine(said.Choice)+"?") {
			said.Confirmed = true
			given, err = s.Answer(ctx, run, said)
		}
		if err != nil {
			return err
		}
		if asJSON {
			return terminal.WriteJSON(a.out, given.Object())
		}
		given.Print(ctx)
		return nil
	})
}
