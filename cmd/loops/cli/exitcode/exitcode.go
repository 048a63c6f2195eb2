// Package exitcode is the exit codes of loops: what each means and what to do about it, which one an outcome or a kind of
// error has, and the parts of help that list them.
package exitcode

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/fsm"
	"loops/internal/inspect"
)

// The exit codes of every command.
const (
	OK          = 0
	Failed      = 1
	Usage       = 2
	Invalid     = 3
	NotFound    = 4
	Capped      = 5
	Timeout     = 6
	Stalled     = 7
	Host        = 8
	Conflict    = 9
	Awaiting    = 10
	Unmerged    = 12
	Record      = 74
	Limited     = 75
	Hangup      = 129
	Interrupted = 130
	Quit        = 131
	Terminated  = 143

	NoStage = 2 // of loops stage load; the commands of loops stage have codes of their own, see [StageHelp]
)

// table says what each code means and what to do about it, in the order of "loops help exit-codes". A command
// that carries on no run means less by some of them: that is in other.
var table = []struct {
	code                 int
	meaning, hint, other string
}{
	{OK, "done: a success terminal was reached, or a text LOOP_STOP was seen", "", "done"},
	{Failed, "the run ended on a failure terminal, with an error or by a signal to its action", "loops explain RUN says why; loops retry RUN does it again from there", "it failed, or the answer could not be written out"},
	{Usage, "bad command line, or a context value that the loop needs is missing", "loops COMMAND --help; --context KEY=VALUE", "bad command line"},
	{Invalid, "the loop file is not valid, or changed since the run began", "loops validate NAME; resume --force", "the loop file is not valid"},
	{NotFound, "no such loop or run, nothing to resume or stop, or no such database", "loops list; loops history NAME; --store", "no such loop, run or database of runs"},
	{Capped, "the cap on steps or passes was reached", "loops resume NAME --extend steps=20 (or passes=5)", ""},
	{Timeout, "the timeout of the loop was reached", "raise timeout; loops retry RUN begins a new run with all of the time", ""},
	{Stalled, "the run was in a cycle or made no progress: a transition was taken too often, or nothing changed", "loops history NAME RUN shows the circle; loops fork RUN --at STEP begins before it, with what you changed", ""},
	{Host, "a budget is used up, or the memory limits of the host were reached", "loops resume NAME --extend cost=2 (or tokens, prompts, steps, time); raise the limits of host_guard", ""},
	{Conflict, "a live run has locked the same files, or owns the run", "--queue waits for it, loops stop stops it, --no-lock ignores the lock", "another process has the records of runs for too long"},
	{Awaiting, "the run handed off or was parked, and waits to be resumed", "loops resume NAME", ""},
	{Unmerged, "completed but not merged: the work tree or its branch stays, with what the run committed", "loops status RUN says why; git merge BRANCH; loops list --unmerged", ""},
	{Record, "the run could not be recorded, so it was stopped", "free or repair the disk, then loops resume NAME", "the records of runs cannot be used"},
	{Limited, "an agent host was rate-limited for longer than the run may wait, or the machine had no process, memory or descriptor for an action", "loops resume NAME, later", ""},
	{Hangup, "stopped by SIGHUP", "loops resume NAME", ""},
	{Interrupted, "stopped by SIGINT (Ctrl-C)", "loops resume NAME", ""},
	{Quit, "stopped at once by SIGQUIT (Ctrl-\\)", "loops resume NAME", ""},
	{Terminated, "stopped by SIGTERM, also by loops stop", "loops resume NAME", ""},
}

// Of returns the exit code of a run that ended so.
func Of(o fsm.Outcome) int {
	if inspect.Succeeded(o) {
		return OK
	}
	if inspect.EndKind(o) == inspect.Unmerged {
		return Unmerged
	}
	switch o.Signal {
	case "SIGHUP":
		return Hangup
	case "SIGINT":
		return Interrupted
	case "SIGQUIT":
		return Quit
	case "SIGTERM":
		return Terminated
	}
	switch o.TerminatedBy {
	case fsm.EndUserStopped:
		return Terminated
	case fsm.EndMaxSteps, fsm.EndMaxIterations:
		return Capped
	case fsm.EndTimeout:
		return Timeout
	case fsm.EndCycle, fsm.EndStall:
		return Stalled
	case fsm.EndHostPressure, fsm.EndHostBudget, fsm.EndBudget:
		return Host
	case fsm.EndHandoff, fsm.EndParked:
		return Awaiting
	case fsm.EndError, fsm.EndInterrupted:
		if o.Limited {
			return Limited
		}
	}
	return Failed
}

// OfKind returns the exit code of what keeps something from being done.
func OfKind(k engine.Kind) int {
	switch k {
	case engine.Usage:
		return Usage
	case engine.Invalid:
		return Invalid
	case engine.NotFound:
		return NotFound
	case engine.Conflict:
		return Conflict
	case engine.Capped:
		return Capped
	case engine.Exhausted:
		return Host
	case engine.Undecided:
		return Awaiting
	case engine.NotRecorded:
		return Record
	case engine.TakenOut:
		return Terminated
	case engine.Scarce:
		return Limited
	}
	return Failed
}

// Text says what an exit code of a run means.
func Text(code int) string {
	for _, row := range table {
		if row.code == code {
			return row.meaning
		}
	}
	return "its process was killed"
}

// Help returns the part of a command's help that lists its exit codes. The command carries on no run.
func Help(codes ...int) string {
	var rows []Meaning
	for _, row := range table {
		if slices.Contains(codes, row.code) {
			rows = append(rows, Meaning{row.code, cmp.Or(row.other, row.meaning)})
		}
	}
	return HelpOf(rows...)
}

// RunHelp is Help of run and resume, which can end with every code. Of some, they mean less.
func RunHelp(less ...Meaning) string {
	var rows []Meaning
	for _, row := range table {
		meaning := Meaning{row.code, row.meaning}
		for _, l := range less {
			if l.Code == row.code {
				meaning = l
			}
		}
		rows = append(rows, meaning)
	}
	return HelpOf(rows...)
}

// An Meaning is what a command means by a code.
type Meaning struct {
	Code int
	Text string
}

// StageHelp is Help of the commands of loops stage, which scripts ask: a failure of any kind is 1, so that
// nothing but "not completed" is 2.
func StageHelp(load bool) string {
	rows := []Meaning{{OK, "done"}, {Failed, "it failed: bad command line, bad JSON, or the files cannot be read or written"}}
	if load {
		rows = append(rows, Meaning{NoStage, "the stage is not completed"})
	}
	return HelpOf(rows...)
}

// HelpOf is Help with the texts of the command.
func HelpOf(rows ...Meaning) string {
	var b strings.Builder
	b.WriteString("\n\nExit codes:")
	for _, row := range rows {
		fmt.Fprintf(&b, "\n  %3d  %s", row.Code, row.Text)
	}
	return b.String()
}

// Topic is the topic "loops help exit-codes".
func Topic() *cobra.Command {
	var b strings.Builder
	b.WriteString("Exit codes of loops, the same for every command but loops stage, which has its own:\n")
	for _, row := range table {
		fmt.Fprintf(&b, "\n  %3d  %s", row.code, row.meaning)
		if row.hint != "" {
			fmt.Fprintf(&b, "\n       -> %s", row.hint)
		}
	}
	b.WriteString("\n\nA run that ends with 5, 8, 10, 74, 75, 129, 130, 131 or 143 can be resumed. So can one that ends with 0 by LOOP_STOP.")
	return &cobra.Command{Use: "exit-codes", Short: "What the exit codes mean", Long: b.String()}
}
