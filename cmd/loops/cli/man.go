package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/engine/project"
	"loops/internal/humanize"
)

func newManCommand(a *program) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "man -o DIR",
		Short: "Write the manual pages",
		Long: `man writes a manual page for every command into a folder, which is made if need be: loops.1, loops-run.1 and so on. They
say what --help says. The same program writes the same bytes.

For man to find them they belong into a folder man1 of its path; "man -l FILE" shows one from anywhere.` + exitHelpOf(
			exitMeaning{Code: exitOK, Text: "they are written"},
			exitMeaning{Code: exitFailed, Text: "a page could not be written"},
			exitMeaning{Code: exitUsage, Text: "bad command line"}),
		Example: `  loops man -o ~/.local/share/man/man1
  loops man -o /tmp/pages && man -l /tmp/pages/loops-run.1`,
		Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dir == "" {
				return usageError{"missing flag: -o DIR, the folder of the pages", "loops man --help"}
			}
			return runMan(a, cmd.Root(), dir)
		},
	}
	cmd.Flags().StringVarP(&dir, "output", "o", "", "write to `DIR`")
	return cmd
}

func runMan(a *program, root *cobra.Command, dir string) error {
	p, err := a.project()
	if err != nil {
		return err
	}
	path := dir
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.Cwd, path)
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return failure(engine.Failed, "the folder %s cannot be made: %v", dir, project.Cause(err))
	}
	pages := manOf(root, "loops "+buildVersion())
	for _, page := range pages {
		var b bytes.Buffer
		name := fmt.Sprintf("%s.%d", page.Name, page.Section)
		err := page.Write(&b)
		if err == nil {
			err = os.WriteFile(filepath.Join(path, name), b.Bytes(), 0o644)
		}
		if err != nil {
			return failure(engine.Failed, "%s cannot be written to %s: %v", name, dir, project.Cause(err))
		}
	}
	fmt.Fprintf(a.out, "Wrote %s to %s.\n", humanize.Count(len(pages), "page"), dir)
	return nil
}
