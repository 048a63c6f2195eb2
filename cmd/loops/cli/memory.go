package cli

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/internal/app"
	"loops/internal/humanize"
	"loops/internal/terminal"
	"loops/internal/view"
)

func newMemoryCommand(a *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "memory",
		Short: "What runs of a loop left for later ones",
		Long: `memory shows the facts that runs of a loop left for later ones, and removes them (loops help memory has the keys of a loop). They are
in .loops/memory/NAME.jsonl of the project, whatever store its runs are in. prune and rm do not remove them.` + exitHelp(exitOK, exitUsage),
		Example: `  loops memory show fix
  loops memory forget fix fix-20261121T103405/3
  loops memory diff fix`,
		Args: noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newMemoryShowCommand(a), newMemoryForgetCommand(a), newMemoryDiffCommand(a))
	return cmd
}

func newMemoryShowCommand(a *program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Print the facts of a memory, and which runs saw them",
		Long: `show prints the facts of the memory of the loop NAME, or of the memory NAME, the oldest first: the id, whether it is about an attempt that
failed, and how many of the runs that began with it completed. --json has these runs.` + exitHelp(exitOK, exitFailed, exitUsage, exitNotFound),
		Example: "  loops memory show fix\n  loops memory show fix --json | jq -r '.facts[].fact'",
		Args:    arguments(1, 1, "NAME of a loop"),
		RunE: func(_ *cobra.Command, args []string) error {
			m, err := a.memory(args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return terminal.WriteJSON(a.out, m.Object())
			}
			a.tellMemory(m)
			for _, f := range m.Facts() {
				terminal.Say(a.out, "%s  %s%s\n", f.ID, view.FactSeen(f),
					map[bool]string{true: "  failed attempt"}[f.Failed])
				terminal.Say(a.out, "    %s\n", humanize.PlainLine(f.Fact))
			}
			return nil
		},
	}
	cmd.Flags().BoolVarP(&asJSON, "json", "j", false, "print a JSON object")
	return cmd
}

func newMemoryForgetCommand(a *program) *cobra.Command {
	var failed, all, asJSON bool
	cmd := &cobra.Command{
		Use:   "forget NAME [ID...]",
		Short: "Remove facts from a memory",
		Long: `forget removes facts from the memory of the loop NAME, or from the memory NAME: those with an ID as show prints it, or of a run with that id.
Their ids stay in the file, so that neither a run that is resumed nor a merge of git brings them back. Runs that began with them keep them on record.
An action of a run cannot forget.` + exitHelp(exitOK, exitFailed, exitUsage, exitNotFound),
		Example: "  loops memory forget fix fix-20261121T103405/3\n  loops memory forget fix --failed\n" +
			"  loops memory forget fix --all",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 || (len(args) > 1) == (failed || all) || failed && all {
				return usageError{
					"forget takes the NAME of a loop, and IDs, --failed or --all",
					"loops memory forget --help",
				}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if id, _ := a.getenv(engine.EnvRunID); id != "" {
				return failure(engine.Failed, "an action of a run (%s) cannot forget; do it in a shell of your own", id)
			}
			m, err := a.memory(args[0])
			if err != nil {
				return err
			}
			removed, err := m.Forget(cmd.Context(), args[1:], failed, all)
			if err != nil {
				return a.refused(err)
			}
			if asJSON {
				return terminal.WriteJSON(a.out, removed)
			}
			terminal.Say(a.out, "Forgot %s of %s.\n", humanize.Count(len(removed), "fact"), m.Name)
			return nil
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&failed, "failed", false, "remove what is about attempts that failed")
	flags.BoolVar(&all, "all", false, "remove all facts")
	flags.BoolVarP(&asJSON, "json", "j", false, "print a JSON array of what was removed")
	return cmd
}

func newMemoryDiffCommand(a *program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "diff NAME [ID]",
		Short: "Compare a memory with what a run began with",
		Long: `diff prints what the memory of the loop NAME, or the memory NAME, has that the run with the id ID did not begin with (+), and the ids of what it
began with and the memory lacks (-). Without ID it is the newest run that ended.` + exitHelp(exitOK, exitFailed, exitUsage, exitNotFound),
		Example: "  loops memory diff fix\n  loops memory diff fix fix-20261121T103405",
		Args:    arguments(1, 2, "NAME of a loop"),
		RunE: func(_ *cobra.Command, args []string) error {
			m, err := a.memory(args[0])
			if err != nil {
				return err
			}
			d, err := m.Diff(append(args, "")[1])
			if err != nil {
				return a.refused(err)
			}
			if asJSON {
				return terminal.WriteJSON(a.out, d)
			}
			terminal.Say(a.out, "memory %s since run %s began\n", d.Memory, d.Run)
			for _, f := range d.Added {
				terminal.Say(a.out, "+ %s  %s\n", f.ID, humanize.PlainLine(f.Fact))
			}
			for _, id := range d.Gone {
				terminal.Say(a.out, "- %s\n", id)
			}
			return nil
		},
	}
	cmd.Flags().BoolVarP(&asJSON, "json", "j", false, "print a JSON object")
	return cmd
}

// memory finds a memory.
func (a *program) memory(name string) (*app.MemoryFile, error) {
	p, err := a.project()
	if err != nil {
		return nil, err
	}
	m, err := app.FindMemory(p, name)
	return m, a.refused(err)
}

func (a *program) tellMemory(m *app.MemoryFile) {
	terminal.Say(a.out, "%s: %s in %s\n", m.Name, humanize.Count(len(m.Content.Facts), "fact"), m.Path)
	if n := m.Content.Damaged; n > 0 {
		terminal.Say(a.Err, "loops: %s of %s cannot be read\n", humanize.Count(n, "line"), m.Path)
	}
}

// statsOfMemory prints whether runs that began with a fact completed more often than the others.
func (a *program) statsOfMemory(_ context.Context, name string, asJSON bool) error {
	m, err := a.memory(name)
	if err != nil {
		return err
	}
	facts := m.Facts()
	if asJSON {
		return terminal.WriteJSON(a.out, facts)
	}
	a.tellMemory(m)
	rows := [][]string{{"FACT", "SAW IT", "COMPLETED", "OTHERS", "COMPLETED", ""}}
	for _, f := range facts {
		rows = append(rows, []string{
			f.ID, strconv.Itoa(len(f.SeenBy)), app.Share(f.SeenCompleted, len(f.SeenBy)), strconv.Itoa(f.Others),
			app.Share(f.OthersCompleted, f.Others), f.Fact,
		})
	}
	terminal.WriteTable(a.out, terminal.Fit(rows, a.width()))
	return nil
}
