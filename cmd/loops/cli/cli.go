// Package cli is the command line of loops: flags, wiring, printing, signals and exit codes. Each command is a
// file of its own (newXCommand, xOptions, runX). What several commands share has a prefix: exit (the exit
// codes, and which one an outcome has), help (the pages of help), flag (flags that mean the same everywhere),
// complete (what shells are offered at a place of a command line), argv (how the words of a command line may be
// shown and kept), signal (what asks a command to end), job (Ctrl-Z on a screen), man and roff (the manual).
// Only exitcode.go knows exit codes; what shows the progress of a run is internal/live.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"loops/engine"
	"loops/engine/notify"
	"loops/engine/project"
	"loops/internal/humanize"
	"loops/internal/live"
	"loops/internal/process"
	"loops/internal/telemetry"
	"loops/internal/terminal"
	"loops/internal/worker"
)

// An IO is what a command line touches of the world besides the project's files.
type IO struct {
	In       io.Reader
	Out, Err io.Writer
	Dir      string   // working directory, absolute; "" = that of the process
	Env      []string // as os.Environ; nil = that of the process
}

// System returns the streams, directory and environment of this process.
func System() IO { return IO{In: os.Stdin, Out: os.Stdout, Err: os.Stderr} }

// A program is one invocation: its IO and the flags that every command has. In it, Out and Err let nothing act
// on a terminal but the styles of this program: see [humanize.PlainWriter].
type program struct {
	IO
	out         *terminal.Sink // Out, for all but the progress of a run
	dir         string         // -C
	color       string         // --color
	colorGiven  bool           // and it is on the command line
	store       string         // --store
	allProjects bool           // --all-projects

	opened *project.Project // what project returned last; nil = nothing yet
	where  [2]string        // the directory and store that it was for

	args     []string       // the command line; of a command that had a run begun, that which does so
	flags    *pflag.FlagSet // those that the command has; nil = that is not known
	instead  bool           // args are not what the user wrote
	detached *detached      // of the process of a run in the background; else nil
	// of the files of the run that this process carries; nil = they stay where they are
	keeper *worker.Keeper
	// starts the process of a run in the background; nil = Handover.Spawn
	spawn func(worker.Handover) (*worker.ChildProcess, error)
	// is called when the run is on record; nil = no other process waits for that
	onRecord  func(live.Header)
	notifier  *notify.Notifier    // of the first engine; nil = no notifications
	publisher *notify.Publisher   // of the first engine; nil = no outlets
	exporter  *telemetry.Exporter // of the first engine; nil = no traces
	// makes this process adopt what its actions leave; nil where it is not ours alone
	adopt func() error

	usual runtime.Cleanup // sets the usual percentage of garbage after the first collection

	// of a run in a job of GitHub Actions: ends what is open in its log; "" = nothing went wrong
	endJob func(message string)
}

// Main runs one command line (without the program's name) and returns its exit code. It prints every error it
// returns a code for, and never exits or panics on bad input.
func Main(args []string, streams IO) int {
	ignorePipe()
	a := &program{IO: streams, adopt: process.AdoptOrphans}
	if err := process.CheckDescriptors(); err != nil {
		return a.begin()(err, func(string) {})
	}
	return a.execute(context.Background(), args)
}

func (a *program) execute(ctx context.Context, args []string) int {
	end := a.begin()
	a.collectFrom(16<<20, 40)
	root := newRootCommand(a, needed(args))
	args = a.byName(root, flagJoinModes(args))
	a.args = args
	if completing(args) {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, completionWait)
		defer cancel()
		a.offerCompletions(root)
	}
	root.SetArgs(args)
	root.SetIn(a.In)
	root.SetErr(a.Err)
	cmd, err := root.ExecuteContextC(ctx)
	return end(err, func(message string) { a.leaveJob(cmd, message) })
}

// begin makes what this invocation writes harmless for a terminal. The caller calls end with the error of what was
// done: end prints the error, passes its message to leave, and returns the exit code.
func (a *program) begin() (end func(err error, leave func(message string)) int) {
	if a.Env == nil {
		a.Env = os.Environ()
	}
	out, errs := humanize.NewPlainWriter(a.Out), humanize.NewPlainWriter(a.Err)
	a.Out, a.Err = out, errs
	a.out = terminal.NewBatchedSink(a.Out)
	return func(err error, leave func(message string)) int {
		if lost := a.out.Close(); err == nil && lost != nil {
			err = failure(engine.Failed, "the answer could not be written out: %v", lost)
		}
		code, message := a.explained(err)
		if message != "" {
			terminal.SayLines(a.Err, terminal.Block("loops: "+message)) // explain made the texts of others clean
		}
		leave(message)
		a.notified()
		a.traced()
		_, _ = out.Flush(), errs.Flush() // half a character, of text that ended in it
		return code
	}
}

// explained returns the exit code of an error and the lines to print for it, with commands that work here and
// no password.
func (a *program) explained(err error) (int, string) {
	if several, ok := errors.AsType[engine.Several](err); ok {
		err = a.refused(several)
	} else if refusal, ok := errors.AsType[*engine.Refusal](err); ok {
		err = a.refused(refusal)
	} else if nothing, ok := errors.AsType[*engine.NothingError](err); ok {
		err = a.refused(nothing)
	}
	code, message := explain(err)
	if several, ok := errors.AsType[*project.AmbiguousError](err); ok && a.args != nil {
		message += again(several, a.args)
	}
	return code, a.discreet(message)
}

// ignorePipe keeps a reader that goes away (loops run x | head -1) from ending the run. Catching the signal,
// unlike ignoring it, is not inherited by actions.
func ignorePipe() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// getenv returns the value of a variable and whether it is set.
func (a *program) getenv(name string) (string, bool) { return project.LookEnv(a.Env, name) }

// project returns the project that the command line is about.
func (a *program) project() (*project.Project, error) {
	where := [2]string{a.dir, a.store}
	if a.opened != nil && a.where == where {
		return a.opened, nil
	}
	p, err := project.Open(a.dir, project.Options{Cwd: a.Dir, Env: a.Env, Store: a.store, AllProjects: a.allProjects})
	if err != nil {
		return nil, err
	}
	a.opened, a.where = p, where
	return p, nil
}

// newRootCommand is loops with one of its commands, or with all of them if only is "".
func newRootCommand(a *program, only string) *cobra.Command {
	var showVersion bool
	root := &cobra.Command{
		Use:   "loops",
		Short: "Run state machines written in YAML until they are done",
		Long: `loops runs state machines written in YAML until they are done, and records every step.

A loop is a file .loops/NAME.yaml: states, what each one does, and where each verdict leads. A run records every transition
before the next one begins; whatever stops it, "loops resume" continues it from there.

The name of a loop in place of a command runs it, unless a command has that name: "loops fix" is "loops run fix".`,
		Example: `  loops new fix --from fix-until-clean    write .loops/fix.yaml from a pattern
  loops run fix                           run it until it is done
  loops resume fix                        continue a run that was stopped or killed
  loops status fix                        where its run is
  loops explain fix                       why it ended as it did`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          a.noSuchName,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if showVersion {
				return printVersion(a, false)
			}
			_, err := io.WriteString(a.out, helpOverview(cmd))
			return err
		},
	}
	for _, group := range []string{groupRun, groupLook, groupWrite, groupKeep, groupSetUp, groupPlumbing} {
		root.AddGroup(&cobra.Group{ID: group, Title: group})
	}
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { helpPrint(cmd) })
	root.SetHelpCommandGroupID(groupPlumbing)
	root.SetCompletionCommandGroupID(groupSetUp)
	root.Flags().BoolVar(&showVersion, "version", false, "print the version")
	flags := root.PersistentFlags()
	flags.StringVarP(&a.dir, "dir", "C", "", "project `directory` (default: the nearest one upwards that has .loops)")
	flags.StringVar(&a.color, "color", "auto", "colours: `WHEN` is auto, always or never")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return a.checkColor(cmd) }
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if at, _ := argvFirstWord(a.args); at >= 0 && !cmd.HasParent() { // flags of a command that there is not
			return usageError{helpNoCommand(a.args[at], helpNear(cmd, a.args[at])), "loops --help"}
		}
		return usageError{flagErrorText(cmd, err), cmd.CommandPath() + " --help"}
	})
	root.SetHelpCommand(newHelpCommand(a, root))
	for _, b := range tree() {
		if only == "" || b.name == only {
			b.grow(a, root)
		}
	}
	root.SetOut(a.out) // before addCompletion, which keeps it
	root.CompletionOptions.DisableDefaultCmd = only != ""
	addCompletion(root)
	addFilters(a, root)
	refuseEmpty(root)
	flagLittleLoops(root, func(note string) { terminal.SayLine(a.Err, "loops: "+note) })
	return root
}

// arguments checks the number of positional arguments; max below 0 means no limit.
func arguments(low, high int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < low:
			return usageError{"missing argument: " + what, cmd.CommandPath() + " --help"}
		case high >= 0 && len(args) > high:
			return usageError{fmt.Sprintf("unexpected argument %q", args[high]), cmd.CommandPath() + " --help"}
		}
		return nil
	}
}
