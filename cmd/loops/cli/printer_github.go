package cli

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"loops/fsm"
	"loops/internal/inspect"
	"loops/internal/phrase"
	"loops/internal/report"
	"loops/internal/ui"
)

// Files of a job of GitHub Actions, and how much of a summary it shows, in bytes.
const (
	envSummary  = "GITHUB_STEP_SUMMARY"
	envOutputs  = "GITHUB_OUTPUT"
	mostSummary = 1 << 20
)

// A githubPrinter shows a run in the log of a job of GitHub Actions: a group for each step, the state that a run failed in
// as a note in its file, and a summary. What actions print is no command of the job: while anything but a command of ours
// is written, commands are off, and only a token that nobody knows turns them on again.
type githubPrinter struct {
	*textPrinter
	a     *app
	log   *guardedLog
	h     header
	open  bool // a group is open
	notes int
}

// mostWarnings leaves room for what matters most: a job shows ten of each kind.
const mostWarnings = 8

func (a *app) newGitHubPrinter(v viewFlags) printer {
	log := &guardedLog{w: ui.NewSink(a.Out)}
	p := &githubPrinter{a: a, log: log, textPrinter: &textPrinter{
		out: ui.NewBatchedSink(log), err: ui.NewSink(log), quiet: v.quiet, verbose: v.verbose, paint: ui.Paint(a.coloured(a.Out)),
	}}
	a.endJob = p.leave
	return p
}

// leave ends what is open in the log of a run that came to no end, and makes a note of what was said of that.
func (p *githubPrinter) leave(message string) {
	p.group("")
	switch {
	case message == "":
	case p.h.Loop == nil:
		p.log.command(noteOf(message))
	default:
		p.annotate(fsm.SeverityError, "Loop "+p.h.Loop.Name, clipped(message))
	}
}

// leaveJob is leave for every command line that asked for a job's log, also one that was refused before it had a printer.
func (a *app) leaveJob(cmd *cobra.Command, message string) {
	format := cmd.Flags().Lookup("format")
	switch {
	case a.endJob != nil:
		a.endJob(message)
	case message != "" && format != nil && format.Value.String() == "github" && slices.Contains([]string{"run", "resume", "fork"}, cmd.Name()):
		fmt.Fprintln(a.Out, noteOf(message))
	}
}

// noteOf is a note at no place.
func noteOf(message string) string {
	return "::error title=loops::" + report.EscapeData(clipped(message))
}

func (p *githubPrinter) header(h header) {
	p.h = h
	p.textPrinter.header(h)
}

func (p *githubPrinter) event(e fsm.Event) {
	if e.Kind == fsm.EventStateEnter && e.Depth == 0 && !p.quiet {
		p.group(fmt.Sprintf("[%s/%d] %s", inspect.Text(e.Get("iteration")), p.h.Loop.MaxSteps, inspect.Text(e.Get("state"))))
	}
	p.textPrinter.event(e)
	if e.Kind == fsm.EventActionComplete && e.Depth == 0 && inspect.Text(e.Get("exit_code")) == "124" && p.notes < mostWarnings {
		p.notes++
		p.annotate(fsm.SeverityWarning, "Loop "+p.h.Loop.Name, "the action of state "+p.state+" timed out")
	}
}

// group ends the group that is open, and begins one of that name; "" = none.
func (p *githubPrinter) group(title string) {
	p.out.Flush()
	var lines []string
	if p.open {
		lines = append(lines, "::endgroup::")
	}
	if p.open = title != ""; p.open {
		lines = append(lines, "::group::"+report.EscapeData(title))
	}
	p.log.command(lines...)
}

// annotate writes a note at the state that the run is in.
func (p *githubPrinter) annotate(level fsm.Severity, title, message string) {
	pr, err := p.a.project()
	if err != nil {
		return // it was there when the run began
	}
	at := p.h.Loop.Pos
	if s := p.h.Loop.States[p.state]; s != nil && s.Pos.Line > 0 {
		at = s.Pos
	}
	if at.File == "" {
		at.File = p.h.Loop.File
	}
	line := report.Annotation(p.a.sourceRoot(pr), fsm.Problem{Pos: at, Severity: level, Rule: title, Message: message})
	p.out.Flush()
	p.log.command(strings.TrimSuffix(line, "\n"))
}

func (p *githubPrinter) finish(o fsm.Outcome, resume string) {
	p.group("")
	said := strings.TrimSpace(p.errors + "\n" + p.output)
	p.textPrinter.finish(o, resume)
	kind := inspect.EndKind(o)
	if kind != "completed" && codeOf(o) != exitOK {
		level := fsm.SeverityWarning
		if kind == "failed" || kind == "stalled" {
			level = fsm.SeverityError
		}
		message := inspect.EndAt(o, p.max, p.state)
		if said != "" {
			message += "\n\n" + phrase.LastLines(said, 10)
		}
		if resume != "" {
			message += "\n\nResume with: " + resume
		}
		p.annotate(level, "Loop "+p.h.Loop.Name+": "+phrase.Words(kind), clipped(message))
	}
	err := p.a.faceOf(context.Background(), p.h.Run.ID, &o, func(r *report.Suite, run report.Run) error {
		run.Next = resume
		return p.a.appendTo(envSummary, mostSummary, func(w io.Writer, room int) error { return r.Markdown(w, run, room) })
	})
	if err != nil {
		p.note("loops: no summary was written: " + oneLine(err))
	}
	err = p.a.appendTo(envOutputs, 0, func(w io.Writer, _ int) error {
		for _, out := range [][2]string{
			{"run", string(p.h.Run.ID)}, {"outcome", kind}, {"state", o.FinalState}, {"steps", fmt.Sprint(o.Steps)}, {"exit-code", fmt.Sprint(codeOf(o))}, {"resume", resume},
		} {
			end := "loops_" + randomToken()
			if _, err := fmt.Fprintf(w, "%s<<%s\n%s\n%s\n", out[0], end, strings.ReplaceAll(out[1], "\r", ""), end); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		p.note("loops: no outputs were written: " + oneLine(err))
	}
	p.out.Flush()
	p.log.command()
}

// clipped keeps a message short enough for a note.
func clipped(s string) string {
	if r := []rune(s); len(r) > 4_000 {
		return string(r[:4_000]) + "…"
	}
	return s
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

// A guardedLog is the log of a job, in which only command writes commands. It may be used by several goroutines at once.
type guardedLog struct {
	mu    sync.Mutex
	w     io.Writer // guarded by mu
	token string    // guarded by mu: turns commands on again; "" = they are on
	mid   bool      // guarded by mu: the last line has no end
}

func (g *guardedLog) Write(b []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(b) == 0 {
		return 0, nil
	}
	if g.token == "" {
		g.token = randomToken()
		fmt.Fprintf(g.w, "::stop-commands::%s\n", g.token)
	}
	g.mid = b[len(b)-1] != '\n'
	return g.w.Write(b)
}

// command writes commands, and lets the job read commands again.
func (g *guardedLog) command(lines ...string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mid {
		fmt.Fprintln(g.w)
	}
	if g.token != "" {
		fmt.Fprintf(g.w, "::%s::\n", g.token)
	}
	g.token, g.mid = "", false
	for _, l := range lines {
		fmt.Fprintln(g.w, l)
	}
}

func randomToken() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}
