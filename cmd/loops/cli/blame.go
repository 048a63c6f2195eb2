package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"loops/internal/app"
	"loops/internal/view"
)

func newBlameCommand(a *program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "blame FILE:LINE",
		Short: "Show which step of a run wrote a line",
		Long: `blame finds the step that wrote line LINE of FILE, as the file is now, and prints the run, the step, and what explain says of it:
what its action or prompt was. It looks at the runs whose files were kept (see undo), the newest first, so it needs no commit, and a
line that was committed since is found as well. A line that no recorded step wrote is not found: git blame says who committed it.` +
			exitHelpOf(exitMeaning{Code: exitOK, Text: "the step was printed"},
				exitMeaning{Code: exitFailed, Text: "git failed"},
				exitMeaning{Code: exitUsage, Text: "bad command line"},
				exitMeaning{Code: exitNotFound, Text: "no such line, or no step of a recorded run wrote it"},
				exitMeaning{Code: exitRecord, Text: "the records of runs cannot be used"}),
		Example: `  loops blame main.go:12
  loops blame src/parser.go:120 --json`,
		Args: arguments(1, 1, "FILE:LINE"),
		RunE: func(cmd *cobra.Command, args []string) error { return runBlame(cmd.Context(), a, args[0], asJSON) },
	}
	cmd.Flags().BoolVarP(&asJSON, "json", "j", false, "print one JSON object")
	return cmd
}

func runBlame(ctx context.Context, a *program, arg string, asJSON bool) error {
	at := strings.LastIndexByte(arg, ':')
	line, err := strconv.Atoi(arg[at+1:])
	if at <= 0 || err != nil || line < 1 {
		return usageError{
			fmt.Sprintf("%q: expected a file and a line of it, such as main.go:12", arg),
			"loops blame --help",
		}
	}
	file, err := filepath.Abs(arg[:at])
	if err != nil {
		return err
	}
	return a.ask(func(s *app.Service) error {
		b, story, err := s.Blame(ctx, file, line)
		if err != nil {
			return a.refused(err)
		}
		return view.PrintBlamed(a.page(), b, story, asJSON)
	})
}
