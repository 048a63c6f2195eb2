package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"loops/fsm"
	"loops/internal/report"
	"loops/internal/ui/progress"
	"loops/persistence"
)

// Files of a job of GitHub Actions, and how much of a summary it shows, in bytes.
const (
	envSummary  = "GITHUB_STEP_SUMMARY"
	envOutputs  = "GITHUB_OUTPUT"
	mostSummary = 1 << 20
)

func (a *app) newGitHubPrinter(v viewFlags) progress.Printer {
	p := progress.NewGitHub(a.Out, a.viewOf(v), progress.Job{
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
				return a.appendTo(envSummary, mostSummary, func(w io.Writer, room int) error { return r.Markdown(w, run, room) })
			})
		},
		Output: func(write func(io.Writer) error) error {
			return a.appendTo(envOutputs, 0, func(w io.Writer, _ int) error { return write(w) })
		},
		Code: codeOf,
	})
	a.endJob = p.Leave
	return p
}

// leaveJob is leave for every command line that asked for a job's log, also one that was refused before it had a printer.
func (a *app) leaveJob(cmd *cobra.Command, message string) {
	format := cmd.Flags().Lookup("format")
	switch {
	case a.endJob != nil:
		a.endJob(message)
	case message != "" && format != nil && format.Value.String() == "github" && slices.Contains([]string{"run", "resume", "fork"}, cmd.Name()):
		fmt.Fprintln(a.Out, progress.JobNote(message))
	}
}

// appendTo adds to the file that a variable of the job names, if there is one. most is how long it may get, 0 = no limit;
// write gets what is left of that.
func (a *app) appendTo(name string, most int, write func(w io.Writer, room int) error) error {
	path, _ := a.getenv(name)
	if path == "" {
		return nil
	}
	// A pipe that nobody reads is an error, and nothing to wait for.
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NONBLOCK, 0o644)
	if err != nil {
		return err
	}
	room := most
	if info, err := f.Stat(); err == nil && most > 0 && info.Mode().IsRegular() {
		if room = most - 1 - int(min(info.Size(), int64(most))); room < 4_000 {
			return errors.Join(fmt.Errorf("%s has %d bytes already, of at most %d", name, info.Size(), most), f.Close())
		}
	}
	if endsMidLine(path) { // an action, or a step before, wrote to it as well
		if _, err := io.WriteString(f, "\n"); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	return errors.Join(write(f, room), f.Close())
}

// endsMidLine says whether what is added to a file would continue its last line.
func endsMidLine(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return false
	}
	var last [1]byte
	_, err = f.ReadAt(last[:], info.Size()-1)
	return err == nil && last[0] != '\n'
}
