package live

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/disk"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/internal/process"
	"loops/internal/terminal"
)

// ActionLogOptions choose what is written of the output of actions.
type ActionLogOptions struct {
	State                     string
	At                        fsm.Address // only what is there, or inside it; without hops = everywhere
	Follow, Stderr, Bare, Raw bool
	Failed                    bool // only the last action that failed, with both streams
	Several                   bool // of several runs: each line names its run and state
}

// An ActionLog prints the output of actions from the events of a run.
type ActionLog struct {
	ActionLogOptions
	out   io.Writer
	p     *project.Project
	paint terminal.Paint

	dir   string           // of the run
	lanes map[string]*lane // by the path of the branch; "" is the run itself
	last  *lane            // that something was printed of
	items inspect.ItemKeys
	heard process.Said // what was printed of standard error as it came
	began *lane        // of the action that began last
	Acted bool

	run    string
	only   uint64 // the event that began the action which alone is printed; 0 = all are
	failed uint64 // the same of the last action that failed
}

// A lane is what runs one after the other: the run itself, or a branch or an item beside others.
type lane struct {
	base     int             // depth of its first state
	label    string          // of the branch; "" = of the run itself
	attempts int             // of the state the run is in
	states   []string        // at each depth, those around the branch too
	hops     []fsm.Hop       // the steps at each depth, and what they lead into
	waits    strings.Builder // output of the action that has not ended, which may be in a file as a whole
	title    string          // of that action
	told     bool            // it was printed
	begun    bool            // an action has not ended
	start    uint64          // the event that began it
	skip     bool            // it is not asked for
}

// lane returns that of an event.
func (l *ActionLog) lane(e fsm.Event) *lane {
	branch := inspect.InsideBranch(e)
	n := l.lanes[branch]
	if n == nil {
		n = &lane{}
		if branch != "" {
			if around := l.lanes[branch[:max(0, strings.LastIndexByte(branch, '/'))]]; around != nil {
				n.states, n.hops = slices.Clone(around.states), slices.Clone(around.hops)
			}
			if d := e.Depth - 1; d >= 0 && d < len(n.hops) {
				n.hops[d].Branch = branch[strings.LastIndexByte(branch, '/')+1:]
			}
			label := l.items.Label(branch)
			n.base, n.label = e.Depth, label[strings.LastIndexByte(label, '/')+1:]
		}
		l.lanes[branch] = n
	}
	return n
}

// Event takes the next event.
func (l *ActionLog) Event(e fsm.Event) {
	l.items.Add(e)
	if e.Kind == fsm.EventBranchStart || e.Kind == fsm.EventBranchEnd {
		return
	}
	n := l.lane(e)
	switch {
	case e.Kind == fsm.EventStateEnter:
		l.end(n)
		if resumed, _ := e.Get("resumed").(bool); !resumed {
			n.attempts = 0
		}
		i := min(e.Depth, len(n.states))
		n.states, n.hops = append(n.states[:i], inspect.Text(e.Get("state"))),
			append(n.hops[:i], fsm.Hop{Step: int(inspect.Whole(e.Get("iteration")))})
		return
	case e.Kind == fsm.EventLoopResume && e.Depth == 0: // what ran beside others in the process before was cut short
		l.End()
		for branch := range l.lanes {
			if branch != "" {
				delete(l.lanes, branch)
			}
		}
		return
	case e.Kind == fsm.EventLoopComplete && n.label != "" && e.Depth == n.base:
		l.end(n)
		delete(l.lanes, inspect.InsideBranch(e))
		return
	case e.Depth >= len(n.states) || l.State != "" && n.states[e.Depth] != l.State:
		return
	case len(l.At.Hops) > 0 && !l.At.Contains(n.at(e)):
		return
	}
	switch e.Kind {
	case fsm.EventActionStart:
		l.end(n)
		l.Acted, n.begun, n.told = true, true, false
		n.start, n.skip = e.Seq, l.only != 0 && e.Seq != l.only
		n.attempts++
		l.began = n
		n.title = fmt.Sprintf("==> step %s, %s: %s", n.at(e), n.path(e.Depth),
			humanize.Cut(humanize.PlainLine(humanize.FirstLine(inspect.Text(e.Get("action")))), 100))
	case fsm.EventActionOutput:
		switch {
		case l.Stderr, n.skip:
		case l.Follow:
			l.print(n, inspect.Text(e.Get("line")))
		default:
			n.waits.WriteString(inspect.Text(e.Get("line")) + "\n")
		}
	case fsm.EventActionComplete:
		if inspect.Text(e.Get("exit_code")) != "0" {
			l.failed = n.start
		}
		l.complete(n, e)
	case fsm.EventItemEnd:
		if e.Get("exit_code") != nil { // else it ran a loop, whose actions have events of their own, or nothing
			l.item(n, e)
		}
	}
}

// at returns the address of the step that an event is of, or of the item that it ends.
func (n *lane) at(e fsm.Event) fsm.Address {
	hops := slices.Clone(n.hops[:e.Depth+1])
	if hops[e.Depth].Branch = ""; e.Kind == fsm.EventItemEnd {
		hops[e.Depth].Branch = fmt.Sprintf("#%d", inspect.Whole(e.Get("item")))
	}
	return fsm.Address{Hops: hops}
}

// item prints what the action of an item of a list printed, which is recorded with its end.
func (l *ActionLog) item(n *lane, e fsm.Event) {
	l.end(n)
	l.Acted, n.begun, n.told = true, true, false
	n.start, n.skip = e.Seq, l.only != 0 && e.Seq != l.only
	n.title = fmt.Sprintf("==> step %s, %s: item %s of %s, %s", n.at(e), n.path(e.Depth), inspect.Text(e.Get("item")),
		inspect.Text(e.Get("items")), humanize.PlainLine(inspect.Text(e.Get("key"))))
	if inspect.Text(e.Get("exit_code")) != "0" {
		l.failed = n.start
	}
	if text := inspect.Text(e.Get("output")); text != "" && !l.Stderr && !n.skip &&
		(!l.Follow || e.Get("output_file") == nil) {
		n.waits.WriteString(text + "\n")
	}
	l.complete(n, e)
}

// Live prints what an action wrote to standard error while it runs: whole lines, joined by \n, of its file.
// Whose it is where several run side by side is not known: it is under the one of them that began last.
func (l *ActionLog) Live(file, text string) {
	if l.State != "" && (l.began == nil || !l.began.begun) || l.Raw && !l.Stderr {
		return
	}
	n := l.began
	if n == nil || !n.begun {
		for _, other := range slices.Sorted(maps.Keys(l.lanes)) {
			if l.lanes[other].begun {
				n = l.lanes[other]
			}
		}
	}
	if n == nil {
		return
	}
	l.heard.Add(file, text)
	l.said(n, text)
}

// said prints lines of standard error.
func (l *ActionLog) said(n *lane, text string) {
	l.title(n)
	front := l.front(n, true)
	for line := range strings.SplitSeq(text, "\n") {
		l.piece(front+line, true)
	}
}

// front is what is in front of each line: of which run and state it is, where that is not in a line above, and a mark
// where standard error is among standard output.
func (l *ActionLog) front(n *lane, stderr bool) (front string) {
	if l.Several {
		front = l.paint.Dim(l.run + " " + humanize.PlainLine(n.path(len(n.states)-1)) + ": ")
	}
	if stderr && !l.Stderr {
		front += l.paint.Dim("! ")
	}
	return front
}

// path names the states that lead to an action, and the branch before its own.
func (n *lane) path(depth int) string {
	states := slices.Clone(n.states[:depth+1])
	if n.label != "" && n.base < len(states) && states[n.base] != n.label {
		states = slices.Insert(states, n.base, n.label)
	}
	return strings.Join(states, " > ")
}

// complete prints the output of an action that has ended, from its file where there is one.
func (l *ActionLog) complete(n *lane, e fsm.Event) {
	file := inspect.Text(e.Get("output_file"))
	cutOff, _ := e.Get("output_truncated").(bool)
	cutOff = cutOff || e.Kind == fsm.EventItemEnd && file != ""
	switch {
	case n.skip:
	case l.Stderr:
		l.errors(n, e, file)
	case l.Follow && cutOff && file != "":
		l.print(n, "[all of this output is in "+l.p.Short(file)+"]")
	case !l.Follow && file != "" && l.copy(n, file, false):
		n.waits.Reset()
	case cutOff && file != "":
		l.flush(n)
		l.print(n, "[all of this output was in "+l.p.Short(file)+", which is gone]")
	}
	if (l.Follow || l.Failed || !l.Bare) && !n.skip && !l.Stderr && !l.Raw {
		l.flush(n)
		l.errors(n, e, file)
	}
	l.end(n)
}

// errors prints what an action that has ended wrote to standard error, unless that was printed as it came: from
// its file, where that holds more than the record.
func (l *ActionLog) errors(n *lane, e fsm.Event, output string) {
	errs := strings.TrimSuffix(inspect.Text(e.Get("stderr_preview")), "\n")
	if errs == "" || l.heard.Covers(errs) || len(errs) >= wholeStderr &&
		l.copy(n, l.errorFile(n, e.Depth, output), true) {
		return
	}
	l.said(n, errs)
}

// wholeStderr is how long the end of what an action wrote to standard error has to be for there to be more of it.
const wholeStderr = 1000

// errorFile is where all of standard error is, if it is in a file: beside the file of the output, whose name it shares.
func (l *ActionLog) errorFile(n *lane, depth int, output string) string {
	if output != "" || depth > 0 {
		return strings.TrimSuffix(output, ".out") + ".err"
	}
	name := fmt.Sprintf("%06d-%s", n.hops[0].Step, n.states[0])
	if n.attempts > 1 {
		name += fmt.Sprintf("-%d", n.attempts)
	}
	return filepath.Join(l.dir, "output", name+".err")
}

// copy prints a file of the run. It reports false if there is none.
func (l *ActionLog) copy(n *lane, path string, stderr bool) bool {
	if !filepath.IsAbs(path) {
		path = filepath.Join(l.p.Dir, path)
	}
	f, err := disk.Open(path, os.O_RDONLY)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			l.print(n, "["+l.p.Short(path)+" cannot be read: "+project.Cause(err).Error()+"]")
		}
		return false
	}
	defer f.Close()
	l.title(n)
	front, begins := l.front(n, stderr), true
	err = eachPiece(&value.OutputReader{R: f}, func(text string, ends bool) {
		if begins {
			text = front + text
		}
		l.piece(text, ends)
		begins = ends
	})
	if err != nil {
		l.print(n, "["+l.p.Short(path)+" cannot be read to its end: "+project.Cause(err).Error()+"]")
	}
	return true
}

// A piece of a line that is printed at once has so many bytes at most: some programs write hundreds of
// megabytes without ending a line.
const pieceSize = 64 << 10

// eachPiece calls print for the lines of a text, without their ends; a long one comes in several pieces, of
// which the last ends it. What is after the last line end is a line.
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

// beforeSequence cuts a text before the beginning of a sequence that may continue after it.
func beforeSequence(s string) (before, rest string) {
	end := s[len(s)-min(len(s), longestSequence):]
	i := strings.LastIndexByte(end, '\x1b')
	if i < 0 || strings.ContainsRune(end[i:], 'm') {
		return s, ""
	}
	i += len(s) - len(end)
	return s[:i], s[i:]
}

// End prints what waits, and releases the actions.
func (l *ActionLog) End() {
	for _, branch := range slices.Sorted(maps.Keys(l.lanes)) {
		l.end(l.lanes[branch])
	}
}

func (l *ActionLog) end(n *lane) {
	l.flush(n)
	if n.begun && !n.told && !n.skip && !l.Stderr {
		l.title(n) // it wrote nothing
	}
	n.begun, n.title = false, ""
}

func (l *ActionLog) flush(n *lane) {
	if n.waits.Len() > 0 {
		l.print(n, strings.TrimSuffix(n.waits.String(), "\n"))
		n.waits.Reset()
	}
}

// title prints whose output follows, where that was not printed, or something else was printed since.
func (l *ActionLog) title(n *lane) {
	if n.title != "" && (!n.told || l.last != n) && !l.Bare && !l.Raw && !l.Several {
		terminal.SayLine(l.out, l.paint.Bold(n.title))
	}
	n.told, l.last = true, n
}

func (l *ActionLog) print(n *lane, lines string) {
	l.title(n)
	front := l.front(n, false)
	for line := range strings.SplitSeq(lines, "\n") {
		l.piece(front+line, true)
	}
}

// piece prints a part of a line of output, and its end if it is the last.
func (l *ActionLog) piece(text string, ends bool) {
	if !l.Raw {
		text = humanize.Colours(text)
	}
	if ends {
		text += "\n"
	}
	_, _ = io.WriteString(l.out, text) // a sink never fails
}
