package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/inspect"
	"loops/internal/plain"
	"loops/internal/ui"
	"loops/internal/ui/views"
	"loops/persistence"
)

// The exit codes of every command. This file is the only one that knows them.
const (
	exitOK       = 0
	exitFailed   = 1
	exitUsage    = 2
	exitInvalid  = 3
	exitNotFound = 4
	exitCapped   = 5
	exitTimeout  = 6
	exitStalled  = 7
	exitHost     = 8
	exitConflict = 9
	exitAwaiting = 10
	exitRecord   = 74
	exitLimited  = 75
	exitHangup   = 129
	exitInt      = 130
	exitQuit     = 131
	exitTerm     = 143

	exitNoStage = 2 // of loops stage load; its commands have codes of their own, see stageExitCodes
)

// exitTable says what each code means and what to do about it, in the order of "loops help exit-codes". A command
// that carries on no run means less by some of them: that is in other.
var exitTable = []struct {
	code                 int
	meaning, hint, other string
}{
	{exitOK, "done: a success terminal was reached, or a text LOOP_STOP was seen", "", "done"},
	{exitFailed, "the run ended on a failure terminal, with an error or by a signal to its action", "loops explain RUN says why; loops fork RUN --at STEP repeats a step", "it failed, or the answer could not be written out"},
	{exitUsage, "bad command line, or a context value that the loop needs is missing", "loops COMMAND --help; --context KEY=VALUE", "bad command line"},
	{exitInvalid, "the loop file is not valid, or changed since the run began", "loops validate NAME; resume --force", "the loop file is not valid"},
	{exitNotFound, "no such loop or run, nothing to resume or stop, or no such database", "loops list; loops history NAME; --store", "no such loop, run or database of runs"},
	{exitCapped, "the cap on steps or passes was reached", "loops resume NAME --extend steps=20 (or passes=5)", ""},
	{exitTimeout, "the timeout of the loop was reached", "raise timeout; loops fork RUN --at last continues with all of the time", ""},
	{exitStalled, "the run went in circles: an edge was taken too often or nothing changed any more", "loops history NAME RUN shows the circle; loops fork RUN --at STEP begins before it, with what you changed", ""},
	{exitHost, "a budget is used up, or the memory limits of the host were reached", "loops resume NAME --extend cost=2 (or tokens, prompts, steps, time); raise the limits of host_guard", ""},
	{exitConflict, "a live run has locked the same files, or owns the run", "--queue waits for it, loops stop stops it, --no-lock ignores the lock", "another process has the records of runs for too long"},
	{exitAwaiting, "the run handed off or was parked, and waits to be resumed", "loops resume NAME", ""},
	{exitRecord, "the run could not be recorded, so it was stopped", "free or repair the disk, then loops resume NAME", "the records of runs cannot be used"},
	{exitLimited, "an agent host was rate-limited for longer than the run may wait", "loops resume NAME, later", ""},
	{exitHangup, "stopped by SIGHUP", "loops resume NAME", ""},
	{exitInt, "stopped by SIGINT (Ctrl-C)", "loops resume NAME", ""},
	{exitQuit, "stopped at once by SIGQUIT (Ctrl-\\)", "loops resume NAME", ""},
	{exitTerm, "stopped by SIGTERM, also by loops stop", "loops resume NAME", ""},
}

// codeOf returns the exit code of a run that ended so.
func codeOf(o fsm.Outcome) int {
	if inspect.Succeeded(o) {
		return exitOK
	}
	switch o.Signal {
	case "SIGHUP":
		return exitHangup
	case "SIGINT":
		return exitInt
	case "SIGQUIT":
		return exitQuit
	case "SIGTERM":
		return exitTerm
	}
	switch o.TerminatedBy {
	case fsm.EndUserStopped:
		return exitTerm
	case fsm.EndMaxSteps, fsm.EndMaxIterations:
		return exitCapped
	case fsm.EndTimeout:
		return exitTimeout
	case fsm.EndCycle, fsm.EndStall:
		return exitStalled
	case fsm.EndHostPressure, fsm.EndHostBudget, fsm.EndBudget:
		return exitHost
	case fsm.EndHandoff, fsm.EndParked:
		return exitAwaiting
	case fsm.EndError:
		if o.Limited {
			return exitLimited
		}
	}
	return exitFailed
}

// kindCode returns the exit code of what keeps something from being done.
func kindCode(k engine.Kind) int {
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
		return exitTerm
	}
	return exitFailed
}

// exitText says what an exit code of a run means.
func exitText(code int) string {
	for _, row := range exitTable {
		if row.code == code {
			return row.meaning
		}
	}
	return "its process was killed"
}

// A usageError is a mistake on the command line.
type usageError struct{ text, see string }

func (e usageError) Error() string { return e.text }

// An exitError carries a code of its own. Without text nothing is printed: it was said already.
type exitError struct {
	code int
	text string
}

func (e exitError) Error() string { return e.text }

// failure returns an error of a kind with a line for a person. The texts among args are of others, as in [ui.Say].
func failure(kind engine.Kind, format string, args ...any) error {
	return failureOf(kindCode(kind), format, args...)
}

// failureOf is failure with the exit code of something else that failed: a process, or what an error already explained.
func failureOf(code int, format string, args ...any) error {
	for i := range args {
		args[i] = ui.Safe(args[i])
	}
	return exitError{code, fmt.Sprintf(format, args...)}
}

// told is the error of a command that failed and has said so already.
func told(kind engine.Kind) error { return exitError{code: kindCode(kind)} }

// passOn is the error of a command that ends with the exit code of a process, or of what it checked, that said why.
func passOn(code int) error { return exitError{code: code} }

// endedAs is the error of a command that carried or showed a run that ended so; nil where that is a success.
func endedAs(o fsm.Outcome) error {
	if code := codeOf(o); code != exitOK {
		return exitError{code: code}
	}
	return nil
}

// endedBy is the error of a command that a signal ended.
func endedBy(signal string) error { return exitError{code: codeOf(fsm.Outcome{Signal: signal})} }

// endedByText is endedBy with a line for a person.
func endedByText(signal, format string, args ...any) error {
	return failureOf(codeOf(fsm.Outcome{Signal: signal}), format, args...)
}

// stageMissing is the error of loops stage load where the stage is not completed.
func stageMissing(name string) error {
	return failureOf(exitNoStage, "stage %s is not completed", name)
}

// succeeded reports whether a command ended well, by its exit code.
func succeeded(code int) bool { return code == exitOK }

// isOfKind reports whether the exit code of an error is that of a kind.
func isOfKind(err error, kind engine.Kind) bool {
	code, _ := explain(err)
	return code == kindCode(kind)
}

// explain returns the exit code of an error and the lines to print for it.
func explain(err error) (int, string) {
	var (
		usage     usageError
		exit      exitError
		held      *persistence.HeldError
		ambiguous *project.AmbiguousError
		conflict  *persistence.ConflictError
		ended     *persistence.NotResumableError
		damage    *persistence.DamageError
		closed    *persistence.UnreadableError
		operation *fs.PathError
		resumable *engine.ResumableError
		database  project.DatabaseError
	)
	if several, ok := errors.AsType[engine.Several](err); ok {
		return explain(joined(several))
	}
	if refusal, ok := errors.AsType[*engine.Refusal](err); ok {
		return explain((&app{}).refused(refusal))
	}
	if code, text := explainProject(err); text != "" {
		return code, text
	}
	switch {
	case err == nil:
		return exitOK, ""
	case errors.As(err, &exit):
		return exit.code, exit.text
	case errors.As(err, &usage):
		return exitUsage, plain.Line(usage.text) + "\nTry: " + plain.Line(usage.see)
	case errors.As(err, &resumable):
		return exitConflict, plain.Line(resumable.Error()) + "; to remove it all the same: --force"
	case errors.As(err, &held):
		return exitConflict, plain.Line(views.HeldText(held))
	case errors.As(err, &ambiguous):
		return exitUsage, views.AmbiguousText(ambiguous)
	case errors.As(err, &conflict):
		return exitConflict, plain.Line(conflictLine(conflict))
	case errors.Is(err, persistence.ErrBusy):
		return exitConflict, plain.Line(oneLine(err)) + "; a stopped or hanging process has it (fuser names it): let it continue or end it, then try again"
	case errors.Is(err, persistence.ErrName):
		return exitInvalid, plain.Line(oneLine(err)) + "; give the loop a shorter name"
	case errors.As(err, &ended):
		return exitNotFound, plain.Line(oneLine(err))
	case errors.Is(err, persistence.ErrNotFound):
		return exitNotFound, plain.Line(oneLine(err)) + "; see: loops list, loops history NAME"
	case errors.As(err, &damage), errors.As(err, &closed):
		return exitRecord, plain.Line(oneLine(err)) + "; the file was left as it is"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.EDQUOT), errors.Is(err, fs.ErrPermission):
		return exitRecord, "runs cannot be recorded: " + plain.Line(oneLine(err)) + "; make room or give this user the right to write there, then try again"
	case errors.As(err, &operation):
		return exitRecord, "the records of runs cannot be used: " + plain.Line(oneLine(err)) + "; fix or remove what is there, then try again"
	case errors.As(err, &database):
		return exitRecord, "the database of runs cannot be used: " + plain.Line(oneLine(err))
	}
	return exitFailed, plain.Line(oneLine(err))
}

// joined returns errors as one, with a line each and the code of the first.
func joined(errs []error) error {
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	switch len(errs) {
	case 0:
		return nil
	case 1:
		return errs[0] // with its hint
	}
	code, text := explain(errs[0])
	for _, err := range errs[1:] {
		_, more := explain(err)
		text += "\nloops: " + more
	}
	return exitError{code, text}
}

// conflictLine says who is in the way and what to do.
func conflictLine(c *persistence.ConflictError) string {
	if c.Holder == "" {
		return views.InTheWayLine(c) + "; wait for it"
	}
	return views.InTheWayLine(c) + "; wait for it, or: " + (&app{}).stopHolder(c)
}

// exitCodes returns the part of a command's help that lists its exit codes. The command carries on no run.
func exitCodes(codes ...int) string {
	var rows []exitMeaning
	for _, row := range exitTable {
		if slices.Contains(codes, row.code) {
			rows = append(rows, exitMeaning{row.code, cmp.Or(row.other, row.meaning)})
		}
	}
	return exitMeanings(rows...)
}

// runExitCodes is exitCodes of run and resume, which can end with every code. Of some, they mean less.
func runExitCodes(less ...exitMeaning) string {
	var rows []exitMeaning
	for _, row := range exitTable {
		meaning := exitMeaning{row.code, row.meaning}
		for _, l := range less {
			if l.code == row.code {
				meaning = l
			}
		}
		rows = append(rows, meaning)
	}
	return exitMeanings(rows...)
}

// An exitMeaning is what a command means by a code.
type exitMeaning struct {
	code    int
	meaning string
}

// stageExitCodes is exitCodes of the commands of loops stage, which scripts ask: a failure of any kind is 1, so that
// nothing but "not completed" is 2.
func stageExitCodes(load bool) string {
	rows := []exitMeaning{{exitOK, "done"}, {exitFailed, "it failed: bad command line, bad JSON, or the files cannot be read or written"}}
	if load {
		rows = append(rows, exitMeaning{exitNoStage, "the stage is not completed"})
	}
	return exitMeanings(rows...)
}

// exitMeanings is exitCodes in the words of the command.
func exitMeanings(rows ...exitMeaning) string {
	var b strings.Builder
	b.WriteString("\n\nExit codes:")
	for _, row := range rows {
		fmt.Fprintf(&b, "\n  %3d  %s", row.code, row.meaning)
	}
	return b.String()
}

func newExitCodesTopic() *cobra.Command {
	var b strings.Builder
	b.WriteString("Exit codes of loops, the same for every command but loops stage, which has its own:\n")
	for _, row := range exitTable {
		fmt.Fprintf(&b, "\n  %3d  %s", row.code, row.meaning)
		if row.hint != "" {
			fmt.Fprintf(&b, "\n       -> %s", row.hint)
		}
	}
	b.WriteString("\n\nA run that ends with 5, 8, 10, 74, 75, 129, 130, 131 or 143 can be resumed. So can one that ends with 0 by LOOP_STOP.")
	return &cobra.Command{Use: "exit-codes", Short: "What the exit codes mean", Long: b.String()}
}
