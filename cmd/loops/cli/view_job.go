package cli

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"loops/fsm"
	"loops/internal/live"
	"loops/internal/report"
	"loops/persistence"
)

// Files of a job of GitHub Actions, and how much of a summary it shows, in bytes.
const (
	envSummary  = "GITHUB_STEP_SUMMARY"
	envOutputs  = "GITHUB_OUTPUT"
	mostSummary = 1 << 20
)

func (a *program) newGitHubPrinter(v viewFlags) live.Printer {
	p := live.NewGitHub(a.Out, a.viewOf(v), live.Job{
		Root: func() string {
			pr, err := a.project()
			if err != nil {
				return ""
			}
			return a.sourceRoot(pr)
		},
		Summarize: func(id persistence.ID, o fsm.Outcome, next string) error {
			return a.faceOf(context.Background(), id, &o, func(r *report.Suite, run report.Run) error {
				run.Next = next
				return a.appendTo(envSummary, mostSummary, func(w io.Writer, room int) error {
					return r.Markdown(w, run, room)
				})
			})
		},
		Output: func(write func(io.Writer) error) error {
			return a.appendTo(envOutputs, 0, func(w io.Writer, _ int) error { return write(w) })
		},
		Code: exitOf,
	})
	a.endJob = p.Leave
	return p
}

// leaveJob is leave for every command line that asked for a job's log, also one that was refused before it had
// a printer.
func (a *program) leaveJob(cmd *cobra.Command, message string) {
	format := cmd.Flags().Lookup("format")
	switch {
	case a.endJob != nil:
		a.endJob(message)
	case message != "" && format != nil && format.Value.String() == "github" &&
		slices.Contains([]string{"run", "resume", "retry", "fork"}, cmd.Name()):
		fmt.Fprintln(a.Out, live.JobNote(message))
	}
}

// appendTo adds to the file that a variable of the job names, if there is one.
func (a *program) appendTo(name string, most int, write func(w io.Writer, room int) error) error {
	path, _ := a.getenv(name)
	return live.AppendToJob(name, path, most, write)
}
