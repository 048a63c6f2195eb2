package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"loops/engine/project"
	"loops/fsm"
	"loops/internal/disk"
	"loops/internal/inspect"
	"loops/internal/lookup"
	"loops/internal/phrase"
	"loops/internal/plain"
	"loops/internal/ui"
	"loops/persistence"
)

type logsOptions struct {
	name, state               string
	follow, stderr, bare, raw bool
}

func newLogsCommand(a *app) *cobra.Command {
	var o logsOptions
	cmd := &cobra.Command{
		Use:   "logs NAME|RUN",
		Short: "Print what the actions of a run wrote",
		Long: `logs prints the output of the actions of a run, oldest first, under a line for each that names its step and state. NAME means
the newest run of the loop. With -f it goes on until the run ends, or has no process any more; Ctrl-C ends the command, not
the run.

Long output is in a file in the run's folder, from where it is printed whole, as long as the file is there. With -f output
is printed as it comes, and where that breaks off, the file is named.

Colours in output pass. What else in it acts on a terminal is shown as \x1b and the like, in a pipe too. With --raw the
output is printed as it was written, and nothing else.

With --stderr it prints what actions wrote to standard error instead. The records keep the end of that; all of it where it
is in a file.` + exitCodes(exitOK, exitFailed, exitUsage, exitNotFound, exitRecord, exitInt),
		Example: `  loops logs fix -f
  loops logs fix --state test
  loops logs fix-20261121T103405 --stderr`,
		Args: arguments(1, 1, "NAME of a loop or id of a RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args[0]
			return runLogs(cmd.Context(), a, o)
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&o.follow, "follow", "f", false, "go on as long as the run does")
	flags.StringVarP(&o.state, "state", "s", "", "only actions of this `STATE`, in sub-loops too")
	flags.BoolVar(&o.stderr, "stderr", false, "print standard error instead")
	flags.BoolVar(&o.bare, "bare", false, "print no lines that name steps")
	flags.BoolVar(&o.raw, "raw", false, "print output as it was written, with all it holds; without lines that name steps")
	return cmd
}

func runLogs(ctx context.Context, a *app, o logsOptions) error {
	p, store, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	f := store.Finder()
	run, err := lookup.OneRun(ctx, f, o.name)
	if err != nil {
		return err
	}
	out := a.out
	if o.raw {
		out = ui.NewBatchedSink(ui.Verbatim(a.Out))
		defer out.Flush()
	}
	acted, err := a.logsOf(ctx, p, f, run, o, out)
	if err != nil {
		return err
	}
	if !acted && o.state != "" {
		if err := lookup.UnknownState(ctx, f, run, o.state, "loops logs --help"); err != nil {
			return err
		}
	}
	if !acted {
		what := "action"
		if o.state != "" {
			what = "action of " + o.state
		}
		ui.Say(a.Err, "loops: run %s has recorded no %s\n", run.ID, what)
	}
	return nil
}

// logsOf writes the output of the actions of a run to out, and reports whether there was an action.
func (a *app) logsOf(ctx context.Context, p *project.Project, f project.Finder, run persistence.Run, o logsOptions, out io.Writer) (acted bool, err error) {
	l := &logPrinter{logsOptions: o, out: out, p: p, dir: filepath.Join(p.Loops, "runs", string(run.ID)), paint: ui.Paint(a.coloured(a.Out))}
	if err := a.tail(ctx, f, run, 0, o.follow, l.event); err != nil {
		return false, err
	}
	l.end()
	return l.acted, nil
}

// A logPrinter prints the output of actions from the events of a run.
type logPrinter struct {
	logsOptions
	out   io.Writer
	p     *project.Project
	paint ui.Paint

	dir      string   // of the run
	attempts int      // of the state the run is in
	states   []string // at each depth
	steps    []string
	waits    strings.Builder // output of the action that has not ended, which may be in a file as a whole
	head     string          // of that action, not printed yet
	acted    bool
	begun    bool // an action has not ended
}

func (l *logPrinter) event(e fsm.Event) {
	if e.Kind == fsm.EventStateEnter {
		l.end()
		if resumed, _ := e.Get("resumed").(bool); !resumed {
			l.attempts = 0
		}
		n := min(e.Depth, len(l.states))
		l.states, l.steps = append(l.states[:n], inspect.Text(e.Get("state"))), append(l.steps[:n], inspect.Text(e.Get("iteration")))
		return
	}
	if e.Depth >= len(l.states) || l.state != "" && l.states[e.Depth] != l.state {
		return
	}
	switch e.Kind {
	case fsm.EventActionStart:
		l.end()
		l.acted, l.begun = true, true
		l.attempts++
		path := strings.Join(l.states[:e.Depth+1], " > ")
		l.head = fmt.Sprintf("==> step %s, %s: %s", strings.Join(l.steps[:e.Depth+1], "."), path, plain.Cut(plain.Line(phrase.FirstLine(inspect.Text(e.Get("action")))), 100))
	case fsm.EventActionOutput:
		switch {
		case l.stderr:
		case l.follow:
			l.print(inspect.Text(e.Get("line")))
		default:
			l.waits.WriteString(inspect.Text(e.Get("line")) + "\n")
		}
	case fsm.EventActionComplete:
		l.complete(e)
	}
}

// complete prints the output of an action that has ended, from its file where there is one.
func (l *logPrinter) complete(e fsm.Event) {
	file := inspect.Text(e.Get("output_file"))
	cutOff, _ := e.Get("output_truncated").(bool)
	switch {
	case l.stderr:
		errs := strings.TrimSuffix(inspect.Text(e.Get("stderr_preview")), "\n")
		if long := l.errorFile(e.Depth, file); len(errs) >= wholeStderr && l.copy(long) {
			errs = ""
		}
		if errs != "" {
			l.print(errs)
		}
	case l.follow && cutOff && file != "":
		l.print("[all of this output is in " + l.p.Short(file) + "]")
	case !l.follow && file != "" && l.copy(file):
		l.waits.Reset()
	case cutOff && file != "":
		l.flush()
		l.print("[all of this output was in " + l.p.Short(file) + ", which is gone]")
	}
	l.end()
}

// wholeStderr is how long the end of what an action wrote to standard error has to be for there to be more of it.
const wholeStderr = 1000

// errorFile is where all of standard error is, if it is in a file: beside the file of the output, whose name it shares.
func (l *logPrinter) errorFile(depth int, output string) string {
	if output != "" || depth > 0 {
		return strings.TrimSuffix(output, ".out") + ".err"
	}
	name := fmt.Sprintf("%06s-%s", l.steps[0], l.states[0])
	if l.attempts > 1 {
		name += fmt.Sprintf("-%d", l.attempts)
	}
	return filepath.Join(l.dir, "output", name+".err")
}

// copy prints a file of the run. It reports false if there is none.
func (l *logPrinter) copy(path string) bool {
	if !filepath.IsAbs(path) {
		path = filepath.Join(l.p.Dir, path)
	}
	f, err := disk.Open(path, os.O_RDONLY)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			l.print("[" + l.p.Short(path) + " cannot be read: " + project.Cause(err).Error() + "]")
		}
		return false
	}
	defer f.Close()
	l.title()
	if err := eachPiece(f, l.piece); err != nil {
		l.print("[" + l.p.Short(path) + " cannot be read to its end: " + project.Cause(err).Error() + "]")
	}
	return true
}

// A piece of a line that is printed at once has so many bytes at most: some programs write hundreds of megabytes without
// ending a line.
const pieceSize = 64 << 10

// eachPiece calls print for the lines of a text, without their ends; a long one comes in several pieces, of which the last
// ends it. What stands behind the last line end is a line.
func eachPiece(r io.Reader, print func(piece string, ends bool)) error {
	in := bufio.NewReaderSize(r, pieceSize)
	open, cut := false, "" // a line was begun; the beginning of a sequence at the end of its last piece
	for {
		b, err := in.ReadSlice('\n')
		piece, ends := strings.CutSuffix(cut+string(b), "\n")
		cut = ""
		if !ends && err == bufio.ErrBufferFull {
			piece, cut = beforeSequence(piece)
		}
		if open = open || piece != ""; open || ends {
			ends = ends || err != nil && err != bufio.ErrBufferFull
			print(piece, ends)
			open = !ends
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && err != bufio.ErrBufferFull:
			return err
		}
	}
}

// longestSequence is how long a sequence that sets a colour is at most, in bytes.
const longestSequence = 40

// beforeSequence cuts a text before the beginning of a sequence that may go on behind it.
func beforeSequence(s string) (before, rest string) {
	end := s[len(s)-min(len(s), longestSequence):]
	i := strings.LastIndexByte(end, '\x1b')
	if i < 0 || strings.ContainsRune(end[i:], 'm') {
		return s, ""
	}
	i += len(s) - len(end)
	return s[:i], s[i:]
}

// end prints what waits, and lets go of the action.
func (l *logPrinter) end() {
	l.flush()
	if l.begun && !l.stderr {
		l.title() // it wrote nothing
	}
	l.begun, l.head = false, ""
}

func (l *logPrinter) flush() {
	if l.waits.Len() > 0 {
		l.print(strings.TrimSuffix(l.waits.String(), "\n"))
		l.waits.Reset()
	}
}

func (l *logPrinter) title() {
	if l.head != "" && !l.bare && !l.raw {
		ui.SayLine(l.out, l.paint.Bold(l.head))
	}
	l.head = ""
}

func (l *logPrinter) print(lines string) {
	l.title()
	for line := range strings.SplitSeq(lines, "\n") {
		l.line(line)
	}
}

// piece prints a part of a line of output, and its end if it is the last.
func (l *logPrinter) piece(text string, ends bool) {
	if !l.raw {
		text = plain.Colours(text)
	}
	if ends {
		text += "\n"
	}
	_, _ = io.WriteString(l.out, text) // a sink never fails
}

// line prints a line of output.
func (l *logPrinter) line(text string) { l.piece(text, true) }
