// Package actionlog writes what the actions of a run printed, from its events and the files that hold long output.
package actionlog

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"loops/engine/project"
	"loops/fsm"
	"loops/internal/disk"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/internal/plain"
	"loops/internal/ui"
	"loops/persistence"
)

// Options choose what is written of the output of actions.
type Options struct {
	Name, State               string
	Follow, Stderr, Bare, Raw bool
}

// A Printer prints the output of actions from the events of a run.
type Printer struct {
	Options
	out   io.Writer
	p     *project.Project
	paint ui.Paint

	dir      string   // of the run
	attempts int      // of the state the run is in
	states   []string // at each depth
	steps    []string
	waits    strings.Builder // output of the action that has not ended, which may be in a file as a whole
	head     string          // of that action, not printed yet
	Acted    bool
	begun    bool // an action has not ended
}

// Event takes the next event.
func (l *Printer) Event(e fsm.Event) {
	if e.Kind == fsm.EventStateEnter {
		l.End()
		if resumed, _ := e.Get("resumed").(bool); !resumed {
			l.attempts = 0
		}
		n := min(e.Depth, len(l.states))
		l.states, l.steps = append(l.states[:n], inspect.Text(e.Get("state"))), append(l.steps[:n], inspect.Text(e.Get("iteration")))
		return
	}
	if e.Depth >= len(l.states) || l.State != "" && l.states[e.Depth] != l.State {
		return
	}
	switch e.Kind {
	case fsm.EventActionStart:
		l.End()
		l.Acted, l.begun = true, true
		l.attempts++
		path := strings.Join(l.states[:e.Depth+1], " > ")
		l.head = fmt.Sprintf("==> step %s, %s: %s", strings.Join(l.steps[:e.Depth+1], "."), path, plain.Cut(plain.Line(humanize.FirstLine(inspect.Text(e.Get("action")))), 100))
	case fsm.EventActionOutput:
		switch {
		case l.Stderr:
		case l.Follow:
			l.print(inspect.Text(e.Get("line")))
		default:
			l.waits.WriteString(inspect.Text(e.Get("line")) + "\n")
		}
	case fsm.EventActionComplete:
		l.complete(e)
	}
}

// complete prints the output of an action that has ended, from its file where there is one.
func (l *Printer) complete(e fsm.Event) {
	file := inspect.Text(e.Get("output_file"))
	cutOff, _ := e.Get("output_truncated").(bool)
	switch {
	case l.Stderr:
		errs := strings.TrimSuffix(inspect.Text(e.Get("stderr_preview")), "\n")
		if long := l.errorFile(e.Depth, file); len(errs) >= wholeStderr && l.copy(long) {
			errs = ""
		}
		if errs != "" {
			l.print(errs)
		}
	case l.Follow && cutOff && file != "":
		l.print("[all of this output is in " + l.p.Short(file) + "]")
	case !l.Follow && file != "" && l.copy(file):
		l.waits.Reset()
	case cutOff && file != "":
		l.flush()
		l.print("[all of this output was in " + l.p.Short(file) + ", which is gone]")
	}
	l.End()
}

// wholeStderr is how long the end of what an action wrote to standard error has to be for there to be more of it.
const wholeStderr = 1000

// errorFile is where all of standard error is, if it is in a file: beside the file of the output, whose name it shares.
func (l *Printer) errorFile(depth int, output string) string {
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
func (l *Printer) copy(path string) bool {
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

// End prints what waits, and lets go of the action.
func (l *Printer) End() {
	l.flush()
	if l.begun && !l.Stderr {
		l.title() // it wrote nothing
	}
	l.begun, l.head = false, ""
}

func (l *Printer) flush() {
	if l.waits.Len() > 0 {
		l.print(strings.TrimSuffix(l.waits.String(), "\n"))
		l.waits.Reset()
	}
}

func (l *Printer) title() {
	if l.head != "" && !l.Bare && !l.Raw {
		ui.SayLine(l.out, l.paint.Bold(l.head))
	}
	l.head = ""
}

func (l *Printer) print(lines string) {
	l.title()
	for line := range strings.SplitSeq(lines, "\n") {
		l.line(line)
	}
}

// piece prints a part of a line of output, and its end if it is the last.
func (l *Printer) piece(text string, ends bool) {
	if !l.Raw {
		text = plain.Colours(text)
	}
	if ends {
		text += "\n"
	}
	_, _ = io.WriteString(l.out, text) // a sink never fails
}

// line prints a line of output.
func (l *Printer) line(text string) { l.piece(text, true) }

// New returns a printer of the output of the actions of a run, which is handed the events of the run in their order.
func New(o Options, out io.Writer, p *project.Project, id persistence.ID, paint ui.Paint) *Printer {
	return &Printer{Options: o, out: out, p: p, dir: filepath.Join(p.Loops, "runs", string(id)), paint: paint}
}
