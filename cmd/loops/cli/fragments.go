package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/engine/project"
	"loops/internal/humanize"
	"loops/internal/terminal"
	"loops/internal/view"
)

func newFragmentsCommand(a *program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "fragments FILE",
		Short: "List the fragments of a library, or of a loop file",
		Long: `fragments lists what states may be built from: the fragments that a library or a loop file has, with what each is for and
the parameters that it takes (* is required). FILE is a path, or a name below .loops or in the catalog, such as
lib/common. A loop file uses them by import: [FILE], and fragment: NAME in a state.` + exitHelpOf(
			exitMeaning{Code: exitOK, Text: "done"},
			exitMeaning{Code: exitFailed, Text: "the answer could not be written out"},
			exitMeaning{Code: exitUsage, Text: "bad command line"},
			exitMeaning{Code: exitInvalid, Text: "the file has mistakes"},
			exitMeaning{Code: exitNotFound, Text: "no such file"}),
		Example: `  loops fragments lib/common
  loops fragments .loops/lib/git.yaml --json | jq -r .[].name`,
		Args: arguments(1, 1, "FILE of a library"),
		RunE: func(_ *cobra.Command, args []string) error { return runFragments(a, args[0], asJSON) },
	}
	cmd.Flags().BoolVarP(&asJSON, "json", "j", false, "print a JSON array")
	return cmd
}

func runFragments(a *program, name string, asJSON bool) error {
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
		terminal.SayLines(a.Err, terminal.Block(a.render(p, problems)))
		return failure(engine.Invalid, "%s has %s", p.Short(path), humanize.Count(n, "error"))
	}
	if asJSON {
		return terminal.WriteJSON(a.out, view.Fragments(list))
	}
	if len(list) == 0 {
		terminal.Say(a.out, "%s has no fragments.\n", p.Short(path))
		return nil
	}
	view.WriteFragments(a.out, list)
	return nil
}
