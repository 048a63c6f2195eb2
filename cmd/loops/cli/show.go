package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/engine/project"
	"loops/internal/model"
	"loops/internal/phrase"
	"loops/internal/ui"
	"loops/internal/ui/views"
)

type showOptions struct{ effective, json, origins bool }

func newShowCommand(a *app) *cobra.Command {
	var o showOptions
	cmd := &cobra.Command{
		Use:   "show NAME|PATH",
		Short: "Show what a loop is made of",
		Long: `show prints a summary of a loop: its inputs and limits, and for each state what it does and where each result leads.

--effective prints the whole definition as one loop file: what it inherits, its flow and its fragments are written out, and
a comment behind each value says in which file and line it stands. What is printed loads to the same loop.

--json prints the definition with the proper names of all keys, without what is as it would be anyway; it is a loop file
too. With --origins it has the place of every value besides.` + exitMeanings(
			exitMeaning{exitOK, "done"}, exitMeaning{exitFailed, "the answer could not be written out"}, exitMeaning{exitUsage, "bad command line"},
			exitMeaning{exitInvalid, "the loop file is not valid; --effective prints it all the same"}, exitMeaning{exitNotFound, "no such loop"}),
		Example: `  loops show fix
  loops show fix --effective
  loops show fix --json | jq -r '.states | keys[]'`,
		Args: arguments(1, 1, "NAME or PATH of a loop"),
		RunE: func(_ *cobra.Command, args []string) error {
			switch {
			case o.effective && o.json:
				return usageError{"--effective and --json exclude each other", "loops show --help"}
			case o.origins && !o.json:
				return usageError{"--origins goes with --json; --effective has them anyway", "loops show --help"}
			}
			return runShow(a, args[0], o)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.effective, "effective", false, "print the merged definition as YAML, with the place of every value")
	flags.BoolVar(&o.json, "json", false, "print the merged definition as one JSON object")
	flags.BoolVar(&o.origins, "origins", false, "with --json: the place of every value, by its path, in \"origins\"")
	return cmd
}

func runShow(a *app, name string, o showOptions) error {
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
		return err
	}
	f, err := lib.Load(path)
	if err != nil {
		return project.Unreadable(p, path, err)
	}
	var invalid error
	if f.Loop == nil {
		fmt.Fprint(a.Err, a.render(p, f.All()))
		invalid = failure(engine.Invalid, "%s has %s", p.Short(path), phrase.Count(project.CountErrors(f.All()), "error"))
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
	case o.json:
		m := model.Of(f.Loop)
		if o.origins {
			m.Set("origins", views.OriginsOf(p, f.Loop, m))
		}
		return ui.WriteJSON(a.out, m)
	}
	a.printLoop(p, f.Loop)
	return nil
}
