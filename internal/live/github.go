package live

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"sync"

	"loops/fsm"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/internal/report"
	"loops/internal/terminal"
	"loops/persistence"
)

// A GitHub shows a run in the log of a job of GitHub Actions: a group for each step, the state that a run
// failed in as a note in its file, and a summary. What actions print is no command of the job: while anything
// but a command of ours is written, commands are off, and only a secret token turns them on again.
type GitHub struct {
	*Text
	job   Job
	log   *guardedLog
	h     Header
	open  bool // a group is open
	notes int
}

// A Job is what a [GitHub] knows of the job around it.
type Job struct {
	// Root returns the directory that the job names files relative to, "" where that is not known.
	Root func() string
	// Summarize adds a report about the run to the summary of the job; next is the command that resumes the
	// run, "" = none.
	Summarize func(id persistence.ID, o fsm.Outcome, next string) error
	// Output adds to the outputs of the job.
	Output func(write func(io.Writer) error) error
	// Code returns the exit code of a run that ended so.
	Code func(o fsm.Outcome) int
}

// NewGitHub returns a printer that writes to the log of a job.
func NewGitHub(out io.Writer, v View, job Job) *GitHub {
	log := &guardedLog{w: terminal.NewSink(out)}
	return &GitHub{job: job, log: log, Text: &Text{
		out: terminal.NewBatchedSink(log), err: terminal.NewSink(log), quiet: v.Quiet, verbose: v.Verbose,
		paint: v.Paint,
	}}
}

// mostWarnings leaves room for what matters most: a job shows ten of each kind.
const mostWarnings = 8

// Leave ends what is open in the log of a run that came to no end, and makes a note of the message about that.
func (p *GitHub) Leave(message string) {
	p.group("")
	switch {
	case message == "":
	case p.h.Loop == nil:
		p.log.command(JobNote(message))
	default:
		p.annotate(fsm.SeverityError, "Loop "+p.h.Loop.Name, clipped(message))
	}
}

// JobNote is a note at no place.
func JobNote(message string) string {
	return "::error title=loops::" + report.EscapeData(clipped(message))
}

// Header implements [Printer].
func (p *GitHub) Header(h Header) {
	p.h = h
	p.Text.Header(h)
	if len(h.Run.Damage) > 0 {
		p.annotate(fsm.SeverityWarning, "Loop "+h.Loop.Name+": damaged record",
			clipped(strings.Join(h.Run.Damage, "\n")))
	}
}

// Event implements [Printer].
func (p *GitHub) Event(e fsm.Event) {
	if e.Kind == fsm.EventStateEnter && e.Depth == 0 && !p.quiet {
		p.group(fmt.Sprintf("[%s/%d] %s", inspect.Text(e.Get("iteration")), p.max, inspect.Text(e.Get("state"))))
	}
	p.Text.Event(e)
	if e.Kind == fsm.EventActionComplete && e.Depth == 0 && inspect.TimedOut(e) && p.notes < mostWarnings {
		p.notes++
		p.annotate(fsm.SeverityWarning, "Loop "+p.h.Loop.Name, "the action of state "+p.state+" "+inspect.Timeout(e))
	}
}

// group ends the group that is open, and begins one of that name; "" = none.
func (p *GitHub) group(title string) {
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
func (p *GitHub) annotate(level fsm.Severity, title, message string) {
	root := p.job.Root()
	if root == "" {
		return // it was known when the run began
	}
	at := p.h.Loop.Pos
	if s := p.h.Loop.States[p.state]; s != nil && s.Pos.Line > 0 {
		at = s.Pos
	}
	if at.File == "" {
		at.File = p.h.Loop.File
	}
	line := report.Annotation(root, fsm.Problem{Pos: at, Severity: level, Rule: title, Message: message})
	p.out.Flush()
	p.log.command(strings.TrimSuffix(line, "\n"))
}

// Finish implements [Printer].
func (p *GitHub) Finish(o fsm.Outcome, resume string) {
	p.group("")
	said := strings.TrimSpace(p.errors + "\n" + p.output)
	p.Text.Finish(o, resume)
	kind := inspect.EndKind(o)
	if !inspect.Succeeded(o) || o.Ignored != "" {
		level := fsm.SeverityWarning
		if kind == "failed" || kind == "stalled" || kind == inspect.Unmerged {
			level = fsm.SeverityError
		}
		message := inspect.EndAt(o, p.max, p.state)
		if said != "" {
			message += "\n\n" + humanize.LastLines(said, 10)
		}
		if resume != "" {
			message += "\n\nResume with: " + resume
		}
		p.annotate(level, "Loop "+p.h.Loop.Name+": "+humanize.Words(kind), clipped(message))
	}
	if err := p.job.Summarize(p.h.Run.ID, o, resume); err != nil {
		p.Note("loops: no summary was written: " + humanize.OneLine(err))
	}
	err := p.job.Output(func(w io.Writer) error {
		for _, out := range [][2]string{
			{"run", string(p.h.Run.ID)},
			{"outcome", kind},
			{"state", o.FinalState},
			{"steps", fmt.Sprint(o.Steps)},
			{"exit-code", fmt.Sprint(p.job.Code(o))},
			{"resume", resume},
			{"reason", o.Reason},
		} {
			end := "loops_" + randomToken()
			if _, err := fmt.Fprintf(w, "%s<<%s\n%s\n%s\n", out[0], end, strings.ReplaceAll(out[1], "\r", ""),
				end); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		p.Note("loops: no outputs were written: " + humanize.OneLine(err))
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

// A guardedLog is the log of a job, in which only command writes commands. It may be used by several goroutines
// at once.
type guardedLog struct {
	mu    sync.Mutex
	w     io.Writer // guarded by mu
	token string    // guarded by mu: turns commands on again; "" = they are on
	mid   bool      // guarded by mu: the last line has no end
}

// Write implements [Printer].
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
