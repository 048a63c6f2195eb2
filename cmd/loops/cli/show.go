package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/app"
	"loops/internal/humanize"
	"loops/internal/terminal"
	"loops/internal/view"
)

type showOptions struct {
	effective, json, origins, resolved, whole bool
	diagrams                                  string // "" = none
}

func newShowCommand(a *program) *cobra.Command {
	var o showOptions
	cmd := &cobra.Command{
		Use:     "show NAME|PATH|RUN",
		Aliases: []string{"s"},
		Short:   "Show a loop's states, inputs and limits",
		Long: `show prints a summary of a loop: its inputs and limits, and for each state what it does and where each result leads.
Of a run it shows the loop as it was recorded with it; so it does of a loop that no file of the project has, because it
was run by its path: as its newest run recorded it.

--effective prints the whole definition as one loop file: what it inherits, its flow and its fragments are written out, and
a comment behind each value names its file and line. What is printed loads to the same loop.

--json prints the same definition as one JSON object: what the file says, no more and no less. Keys that have an older name
have their proper one (on_success is on_yes), and times are in seconds; it is a loop file too. With --origins it has the
place of every value besides, and with --resolved each state that runs another loop has that loop's definition as
"_subloop".` + exitHelpOf(
			exitMeaning{Code: exitOK, Text: "done"},
			exitMeaning{Code: exitFailed, Text: "the answer could not be written out"},
			exitMeaning{Code: exitUsage, Text: "bad command line"},
			exitMeaning{Code: exitInvalid, Text: "the loop file is not valid; --effective prints it all the same"},
			exitMeaning{Code: exitNotFound, Text: "no such loop or run"},
			exitMeaning{Code: exitRecord, Text: "the records of runs cannot be used"}),
		Example: `  loops show fix
  loops show fix --effective
  loops show fix-20261121T103405
  loops show fix --json | jq -r '.states | keys[]'`,
		Args: arguments(1, 1, "NAME or PATH of a loop"),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case o.effective && o.json:
				return usageError{"--effective and --json exclude each other", "loops show --help"}
			case o.origins && !o.json:
				return usageError{"--origins goes with --json; --effective has them anyway", "loops show --help"}
			case o.resolved && !o.json:
				return usageError{"--resolved goes with --json", "loops show --help"}
			}
			return runShow(cmd.Context(), a, args[0], o)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.effective, "effective", false,
		"print the merged definition as YAML, with the place of every value")
	flags.BoolVarP(&o.json, "json", "j", false, "print the merged definition as one JSON object")
	flags.BoolVar(&o.origins, "origins", false, "with --json: the place of every value, by its path, in \"origins\"")
	flagWhole(flags, &o.whole, "also print whole actions and prompts of judges")
	flagDiagrams(flags, &o.diagrams, nil)
	flags.BoolVar(&o.resolved, "resolved", false, "with --json: the definitions of the loops that states run, "+
		"in \"_subloop\"")
	return cmd
}

func runShow(ctx context.Context, a *program, name string, o showOptions) error {
	p, err := a.project()
	if err != nil {
		return err
	}
	lib, err := p.Library()
	if err != nil {
		return err
	}
	path, err := lib.Find(name)
	if err != nil {
		r, err := a.orRecorded(ctx, p, name, err)
		if err != nil {
			return err
		}
		return a.showRecorded(p, r, o)
	}
	f, err := lib.Load(path)
	if err != nil {
		return project.Unreadable(p, path, err)
	}
	var invalid error
	if f.Loop == nil {
		fmt.Fprint(a.Err, a.render(p, f.All()))
		invalid = failure(engine.Invalid, "%s has %s", p.Short(path),
			humanize.Count(project.CountErrors(f.All()), "error"))
	}
	switch {
	case o.effective:
		text, _, err := lib.Files.Effective(path, true)
		if err != nil {
			return errors.Join(invalid, failure(engine.Invalid, "%v", err))
		}
		_, err = a.out.Write(text)
		return errors.Join(invalid, err)
	case invalid != nil:
		return invalid
	}
	return a.showLoop(p, f.Loop,
		view.Resolver{Child: lib.Subloops(project.Overrides{}, nil).Loop, Document: lib.Files.Document}, o)
}

// showRecorded shows a loop as a run recorded it.
func (a *program) showRecorded(p *project.Project, r *app.RecordedLoop, o showOptions) error {
	switch {
	case o.effective:
		_, err := a.out.Write(r.Def.Main().Text())
		return err
	case o.origins:
		return failure(engine.Usage, "--origins: run %s has no record of where the values of its loop came from",
			r.Run.ID)
	}
	return a.showLoop(p, r.Loop, view.Resolver{Child: r.Child, Document: r.Document}, o)
}

// showLoop shows a loop that is valid. others finds the loops that its states run.
func (a *program) showLoop(p *project.Project, l *fsm.Loop, others view.Resolver, o showOptions) error {
	if !o.json {
		a.page().PrintLoop(p, l)
		if o.whole {
			terminal.WriteActions(a.out, terminal.Paint(a.coloured(a.Out)), l)
		}
		if o.diagrams != "" {
			terminal.Say(a.out, "\n%s",
				terminal.Block(view.Drawing(l, cmp.Or(terminal.Columns(a.Out, a.getenv), graphColumns),
					a.coloured(a.Out))))
		}
		return nil
	}
	m, err := others.Document(l.File)
	if err != nil {
		return failure(engine.Invalid, "%v", err)
	}
	if o.origins {
		m.Set("origins", view.OriginsOf(p, l, m))
	}
	if o.resolved {
		others.Tell = func(text string) { terminal.SayLine(a.Err, "loops: "+text) }
		others.Resolve(m, l)
	}
	return terminal.WriteJSON(a.out, m)
}

// orRecorded is [program.recorded] where err says that there is no file of that name; else it returns err.
func (a *program) orRecorded(ctx context.Context, p *project.Project, arg string, err error) (*app.RecordedLoop,
	error,
) {
	if _, missing := errors.AsType[*project.LoopNotFoundError](err); !missing {
		return nil, err
	}
	r, problem := app.Recorded(ctx, p, arg)
	switch {
	case problem != nil:
		return nil, problem
	case r == nil:
		return nil, err
	}
	if project.IsNamed(r.Run, arg) || arg == project.Last { // no loop has that name
		return r, nil
	}
	terminal.Say(a.Err, "loops: no loop of the project has this name; this is %s as run %s recorded it\n",
		p.Short(r.Loop.File), r.Run.ID)
	return r, nil
}
