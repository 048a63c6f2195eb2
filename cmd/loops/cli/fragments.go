package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"loops/cmd/loops/cli/exitcode"
	"loops/engine"
	"loops/engine/project"
	"loops/internal/humanize"
	"loops/internal/ui"
	"loops/internal/ui/views"
)

func newFragmentsCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "fragments FILE",
		Short: "List the fragments of a library, or of a loop file",
		Long: `fragments lists what states may be built from: the fragments that a library or a loop file has, with what each is for and
the parameters that it takes (* is required). FILE is a path, or a name below .loops or in the catalog, such as
lib/common. A loop file uses them by import: [FILE], and fragment: NAME in a state.` + exitcode.HelpOf(
			exitcode.Meaning{Code: exitcode.OK, Text: "done"}, exitcode.Meaning{Code: exitcode.Failed, Text: "the answer could not be written out"}, exitcode.Meaning{Code: exitcode.Usage, Text: "bad command line"},
			exitcode.Meaning{Code: exitcode.Invalid, Text: "the file has mistakes"}, exitcode.Meaning{Code: exitcode.NotFound, Text: "no such file"}),
		Example: `  loops fragments lib/common
  loops fragments .loops/lib/git.yaml --json | jq -r .[].name`,
		Args: arguments(1, 1, "FILE of a library"),
		RunE: func(_ *cobra.Command, args []string) error { return runFragments(a, args[0], asJSON) },
	}
	cmd.Flags().BoolVarP(&asJSON, "json", "j", false, "print a JSON array")
	return cmd
}

func runFragments(a *app, name string, asJSON bool) error {
	p, err := a.project()
	if err != nil {
		return err
	}
	lib, err := p.Library()
	if err != nil {
		return err
	}
	path, err := project.FindFragments(p, lib, name)
	if missing, ok := errors.AsType[*project.LoopNotFoundError](err); ok {
		return failure(engine.NotFound, "%s", missing.Library())
	}
	if err != nil {
		return err
	}
	list, problems, err := lib.Files.Fragments(path)
	if err != nil {
		return project.Unreadable(p, path, err)
	}
	if n := project.CountErrors(problems); n > 0 {
		ui.SayLines(a.Err, ui.Block(a.render(p, problems)))
		return failure(engine.Invalid, "%s has %s", p.Short(path), humanize.Count(n, "error"))
	}
	if asJSON {
		return ui.WriteJSON(a.out, views.FragmentObjects(list))
	}
	if len(list) == 0 {
		ui.Say(a.out, "%s has no fragments.\n", p.Short(path))
		return nil
	}
	views.WriteFragments(a.out, list)
	return nil
}
