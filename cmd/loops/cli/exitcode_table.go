package cli

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
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInvalid     = 3
	exitNotFound    = 4
	exitCapped      = 5
	exitTimeout     = 6
	exitStalled     = 7
	exitHost        = 8
	exitConflict    = 9
	exitAwaiting    = 10
	exitSuspended   = 11
	exitUnmerged    = 12
	exitUntrusted   = 13
	exitRecord      = 74
	exitLimited     = 75
	exitHangup      = 129
	exitInterrupted = 130
	exitQuit        = 131
	exitTerminated  = 143

	exitMissed  = 14 // of loops replay
	exitNoStage = 2  // of loops stage load; the commands of loops stage have codes of their own, see [StageHelp]
)

// table says what each code means and what to do about it, in the order of "loops help exit-codes". A command
// that carries on no run means less by some of them: that is in other.
var table = []struct {
	code                 int
	meaning, hint, other string
}{
	{exitOK, "done: a success terminal was reached, or a text LOOP_STOP was seen", "", "done"},
	{
		exitFailed, "the run ended on a failure terminal, with an error or by a signal to its action",
		"loops explain RUN says why; loops retry RUN does it again from there",
		"it failed, or the answer could not be written out",
	},
	{
		exitUsage, "bad command line, or a context value that the loop needs is missing",
		"loops COMMAND --help; --context KEY=VALUE", "bad command line",
	},
	{
		exitInvalid, "the loop file is not valid, or changed since the run began",
		"loops validate NAME; resume --force",
		"the loop file is not valid",
	},
	{
		exitNotFound, "no such loop or run, nothing to resume or stop, or no such database",
		"loops list; loops history NAME; --store", "no such loop, run or database of runs",
	},
	{exitCapped, "the cap on steps or passes was reached", "loops resume NAME --extend steps=20 (or passes=5)", ""},
	{
		exitTimeout, "the timeout of the loop was reached",
		"raise timeout; loops retry RUN begins a new run with all of the time", "",
	},
	{
		exitStalled, "the run was in a cycle or made no progress: a transition was taken too often, or nothing changed",
		"loops history NAME RUN shows the circle; loops fork RUN --at STEP begins before it, with what you changed",
		"",
	},
	{
		exitHost, "a budget is used up, or the memory limits of the host were reached",
		"loops resume NAME --extend cost=2 (or tokens, prompts, steps, time); raise the limits of host_guard", "",
	},
	{
		exitConflict, "a live run has locked the same files, or owns the run",
		"--queue waits for it, loops stop stops it, --no-lock ignores the lock",
		"another process has the records of runs for too long",
	},
	{exitAwaiting, "the run handed off or was parked, and waits to be resumed", "loops resume NAME", ""},
	{exitSuspended, "the run is suspended: a person has to do something first, such as a login, which " +
		"the reason names", "loops unblock NAME continues all runs that wait for the same; loops resume RUN " +
		"continues one", ""},
	{
		exitUnmerged, "completed but not merged: the work tree or its branch stays, with what the run committed",
		"loops status RUN says why; git merge BRANCH; loops list --unmerged", "",
	},
	{
		exitUntrusted, "others wrote the loop, or changed it, and its user has not seen it yet; nothing was run",
		"loops trust NAME shows it and has it run; LOOPS_TRUST=1 in CI",
		"others wrote the loop, and its user has not seen it yet",
	},
	{
		exitRecord, "the run could not be recorded, so it was stopped",
		"free or repair the disk, then loops resume NAME", "the records of runs cannot be used",
	},
	{exitLimited, "an agent host was rate-limited for longer than the run may wait, or the machine had no process, " +
		"memory or descriptor for an action", "loops resume NAME, later", ""},
	{exitHangup, "stopped by SIGHUP", "loops resume NAME", ""},
	{exitInterrupted, "stopped by SIGINT (Ctrl-C)", "loops resume NAME", ""},
	{exitQuit, "stopped at once by SIGQUIT (Ctrl-\\)", "loops resume NAME", ""},
	{exitTerminated, "stopped by SIGTERM, also by loops stop", "loops resume NAME", ""},
}

// exitOf returns the exit code of a run that ended so.
func exitOf(o fsm.Outcome) int {
	if inspect.Succeeded(o) {
		return exitOK
	}
	if inspect.EndKind(o) == inspect.Unmerged {
		return exitUnmerged
	}
	switch o.Signal {
	case "SIGHUP":
		return exitHangup
	case "SIGINT":
		return exitInterrupted
	case "SIGQUIT":
		return exitQuit
	case "SIGTERM":
		return exitTerminated
	}
	switch o.TerminatedBy {
	case fsm.EndUserStopped:
		return exitTerminated
	case fsm.EndMaxSteps, fsm.EndMaxIterations:
		return exitCapped
	case fsm.EndTimeout:
		return exitTimeout
	case fsm.EndCycle, fsm.EndStall:
		return exitStalled
	case fsm.EndHostPressure, fsm.EndHostBudget, fsm.EndBudget:
		return exitHost
	case fsm.EndSuspended:
		return exitSuspended
	case fsm.EndHandoff, fsm.EndParked:
		return exitAwaiting
	case fsm.EndError, fsm.EndInterrupted:
		if o.Limited {
			return exitLimited
		}
	}
	return exitFailed
}

// exitOfKind returns the exit code of what keeps something from being done.
func exitOfKind(k engine.Kind) int {
	switch k {
	case engine.Usage:
		return exitUsage
	case engine.Invalid:
		return exitInvalid
	case engine.NotFound:
		return exitNotFound
	case engine.Conflict:
		return exitConflict
	case engine.Capped:
		return exitCapped
	case engine.Exhausted:
		return exitHost
	case engine.Undecided:
		return exitAwaiting
	case engine.NotRecorded:
		return exitRecord
	case engine.TakenOut:
		return exitTerminated
	case engine.Scarce:
		return exitLimited
	case engine.Untrusted:
		return exitUntrusted
	}
	return exitFailed
}

// exitText says what an exit code of a run means.
func exitText(code int) string {
	for _, row := range table {
		if row.code == code {
			return row.meaning
		}
	}
	return "its process was killed"
}

// exitHelp returns the part of a command's help that lists its exit codes. The command carries on no run.
func exitHelp(codes ...int) string {
	var rows []exitMeaning
	for _, row := range table {
		if slices.Contains(codes, row.code) {
			rows = append(rows, exitMeaning{row.code, cmp.Or(row.other, row.meaning)})
		}
	}
	return exitHelpOf(rows...)
}

// exitRunHelp is Help of run and resume, which can end with every code. Of some, they mean less.
func exitRunHelp(less ...exitMeaning) string {
	var rows []exitMeaning
	for _, row := range table {
		meaning := exitMeaning{row.code, row.meaning}
		for _, l := range less {
			if l.Code == row.code {
				meaning = l
			}
		}
		rows = append(rows, meaning)
	}
	return exitHelpOf(rows...)
}

// An exitMeaning is what a command means by a code.
type exitMeaning struct {
	Code int
	Text string
}

// exitStageHelp is Help of the commands of loops stage, which scripts ask: a failure of any kind is 1, so that
// nothing but "not completed" is 2.
func exitStageHelp(load bool) string {
	rows := []exitMeaning{
		{exitOK, "done"},
		{exitFailed, "it failed: bad command line, bad JSON, or the files cannot be read or written"},
	}
	if load {
		rows = append(rows, exitMeaning{exitNoStage, "the stage is not completed"})
	}
	return exitHelpOf(rows...)
}

// exitHelpOf is Help with the texts of the command.
func exitHelpOf(rows ...exitMeaning) string {
	var b strings.Builder
	b.WriteString("\n\nExit codes:")
	for _, row := range rows {
		fmt.Fprintf(&b, "\n  %3d  %s", row.Code, row.Text)
	}
	return b.String()
}

// exitTopic is the topic "loops help exit-codes".
func exitTopic() *cobra.Command {
	var b strings.Builder
	b.WriteString("Exit codes of loops, the same for every command but loops stage, which has its own:\n")
	for _, row := range table {
		fmt.Fprintf(&b, "\n  %3d  %s", row.code, row.meaning)
		if row.hint != "" {
			fmt.Fprintf(&b, "\n       -> %s", row.hint)
		}
	}
	b.WriteString("\n\nA run that ends with 5, 8, 10, 11, 74, 75, 129, 130, 131 or 143 can be resumed. So can one " +
		"that ends with 0 by LOOP_STOP.")
	return &cobra.Command{Use: "exit-codes", Short: "What the exit codes mean", Long: b.String()}
}
