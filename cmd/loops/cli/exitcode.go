package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"syscall"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/humanize"
	"loops/internal/simulate"
	"loops/internal/terminal"
	"loops/internal/view"
	"loops/persistence"
)

// A usageError is a mistake on the command line.
type usageError struct{ text, see string }

func (e usageError) Error() string { return e.text }

// An exitError carries a code of its own. Without text nothing is printed: it was printed already.
type exitError struct {
	code int
	text string
}

func (e exitError) Error() string { return e.text }

// failure returns an error of a kind with a line for a person. The texts among args are of others, as in
// [terminal.Say].
func failure(kind engine.Kind, format string, args ...any) error {
	return failureOf(exitOfKind(kind), format, args...)
}

// failureOf is failure with the exit code of something else that failed: a process, or what an error already explained.
func failureOf(code int, format string, args ...any) error {
	for i := range args {
		args[i] = terminal.Safe(args[i])
	}
	return exitError{code, fmt.Sprintf(format, args...)}
}

// told is the error of a command that failed and has already reported that.
func told(kind engine.Kind) error { return exitError{code: exitOfKind(kind)} }

// passOn is the error of a command that ends with the exit code of a process, or of what it checked, that said why.
func passOn(code int) error { return exitError{code: code} }

// endedAs is the error of a command that carried or showed a run that ended so; nil where that is a success.
func endedAs(o fsm.Outcome) error {
	if code := exitOf(o); code != exitOK {
		return exitError{code: code}
	}
	return nil
}

// endedBy is the error of a command that a signal ended.
func endedBy(signal string) error { return exitError{code: exitOf(fsm.Outcome{Signal: signal})} }

// endedByText is endedBy with a line for a person.
func endedByText(signal, format string, args ...any) error {
	return failureOf(exitOf(fsm.Outcome{Signal: signal}), format, args...)
}

// stageMissing is the error of loops stage load where the stage is not completed.
func stageMissing(name string) error {
	return failureOf(exitNoStage, "stage %s is not completed", name)
}

// replayed is the error of a command that replayed runs, which it has reported; nil where all would have ended as they
// did.
func replayed(seen simulate.Replayed) error {
	switch {
	case seen.Other:
		return told(engine.Failed)
	case seen.Missed:
		return exitError{code: exitMissed}
	}
	return nil
}

// succeeded reports whether a command ended well, by its exit code.
func succeeded(code int) bool { return code == exitOK }

// isOfKind reports whether the exit code of an error is that of a kind.
func isOfKind(err error, kind engine.Kind) bool {
	code, _ := explain(err)
	return code == exitOfKind(kind)
}

// explain returns the exit code of an error and the lines to print for it.
func explain(err error) (int, string) {
	var (
		usage     usageError
		exit      exitError
		held      *persistence.HeldError
		starting  *persistence.StartingError
		ambiguous *project.AmbiguousError
		conflict  *persistence.ConflictError
		ended     *persistence.NotResumableError
		damage    *persistence.DamageError
		closed    *persistence.UnreadableError
		operation *fs.PathError
		resumable *engine.ResumableError
		database  project.DatabaseError
		elsewhere *persistence.ElsewhereError
	)
	if several, ok := errors.AsType[engine.Several](err); ok {
		return explain(joined(several))
	}
	if refusal, ok := errors.AsType[*engine.Refusal](err); ok {
		return explain((&program{}).refused(refusal))
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
		return exitUsage, humanize.PlainLine(usage.text) + "\nTry: " + humanize.PlainLine(usage.see)
	case errors.As(err, &resumable):
		return exitConflict, humanize.PlainLine(resumable.Error()) + "; to remove it all the same: --force"
	case errors.As(err, &held):
		return exitConflict, humanize.PlainLine(view.HeldText(held))
	case errors.As(err, &ambiguous):
		return exitUsage, view.AmbiguousText(ambiguous)
	case errors.As(err, &conflict):
		return exitConflict, humanize.PlainLine(conflictLine(conflict))
	case errors.Is(err, persistence.ErrBusy):
		return exitConflict, humanize.PlainLine(oneLine(err)) + "; a stopped or hanging process has it (fuser names " +
			"it): let it continue or end it, then try again"
	case errors.Is(err, persistence.ErrName):
		return exitInvalid, humanize.PlainLine(oneLine(err)) + "; give the loop a shorter name"
	case errors.As(err, &ended):
		return exitNotFound, humanize.PlainLine(oneLine(err))
	case errors.As(err, &starting):
		return exitNotFound, humanize.PlainLine(starting.Error()) + "; try again in a moment"
	case errors.As(err, &elsewhere):
		return exitNotFound, humanize.PlainLine(terminal.ElsewhereText(elsewhere))
	case errors.Is(err, persistence.ErrNotFound):
		return exitNotFound, humanize.PlainLine(oneLine(err)) + "; see: loops list, loops history NAME"
	case errors.As(err, &damage), errors.As(err, &closed):
		return exitRecord, humanize.PlainLine(oneLine(err)) + "; the file was left as it is"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return exitRecord, "runs cannot be recorded: " + humanize.PlainLine(oneLine(err)) +
			"; free space, then try again"
	case errors.Is(err, syscall.EROFS):
		return exitRecord, "runs cannot be recorded: " + humanize.PlainLine(oneLine(err)) +
			"; make it writable, then try again"
	case errors.Is(err, fs.ErrPermission):
		return exitRecord, "the records of runs cannot be used: " + humanize.PlainLine(oneLine(err)) +
			"; give this user the right to read and write there, then try again"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return exitRecord, "the records of runs cannot be used: " + humanize.PlainLine(oneLine(err)) +
			"; let the program open more files (ulimit -n 256), then try again"
	case errors.As(err, &operation):
		return exitRecord, "the records of runs cannot be used: " + humanize.PlainLine(oneLine(err)) +
			"; fix or remove what is there, then try again"
	case errors.As(err, &database):
		return exitRecord, "the database of runs cannot be used: " + humanize.PlainLine(oneLine(err))
	}
	return exitFailed, humanize.PlainLine(oneLine(err))
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

// conflictLine says what is in the way and what to do.
func conflictLine(c *persistence.ConflictError) string {
	if c.Holder == "" {
		return view.InTheWayLine(c) + "; wait for it"
	}
	if _, command := view.Unblock(c, (&program{}).remedy); command != "" {
		return view.InTheWayLine(c) + "; wait for it, or: " + command + ", or: " + (&program{}).stopHolder(c)
	}
	return view.InTheWayLine(c) + "; wait for it, or: " + (&program{}).stopHolder(c)
}
