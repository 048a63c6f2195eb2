package live

import (
	"io"
	"sync"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/terminal"
)

// JSON writes one JSON object a line on standard output: run_info first, then every event as it is in the event file.
// Notes go to standard error.
type JSON struct {
	mu       sync.Mutex // of err
	out, err io.Writer
	buf      []byte
}

// NewJSON returns a printer that writes objects to out, and notes to err.
func NewJSON(out, err io.Writer) *JSON {
	return &JSON{out: terminal.NewSink(out), err: terminal.NewSink(err)}
}

func (p *JSON) line(b []byte) {
	p.buf = append(b, '\n')
	p.out.Write(p.buf) //nolint:errcheck // a sink never fails
}

// Header implements [Printer].
func (p *JSON) Header(h Header) {
	m := value.NewMap(
		"event", "run_info", "ts", terminal.Stamp(h.Begin), "loop", h.Loop.Name, "instance_id", string(h.Run.ID),
		"run_id", h.Run.RunID, "resumed", h.Resumed, "max_steps", int64(h.Loop.MaxSteps), "file", h.Loop.File,
		"run_dir", h.RunDir,
	)
	terminal.AddOrigin(m, h.Run)
	if h.Worktree != "" {
		m.Set("worktree", h.Worktree)
		m.Set("branch", terminal.OrNull(h.Branch))
	}
	p.line(value.AppendJSON(p.buf[:0], m))
}

// Queued implements [Printer].
func (p *JSON) Queued(q Queued) {
	p.line(value.AppendJSON(p.buf[:0], value.NewMap(
		"event", "queue_wait", "ts", terminal.Stamp(q.Now), "loop", q.Waiter.Loop, "queue_id", q.Waiter.ID, "resumes", terminal.OrNull(string(q.Waiter.Resumes)),
		"waits_for", terminal.ObstacleObject(q.For),
	)))
}

// Watch implements [Printer].
func (p *JSON) Watch(run func()) { run() }

// Event implements [Printer].
func (p *JSON) Event(e fsm.Event) { p.line(e.AppendJSON(p.buf[:0])) }

// Note implements [Printer].
func (p *JSON) Note(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	terminal.SayLine(p.err, text)
}

// Finish implements [Printer].
func (p *JSON) Finish(fsm.Outcome, string) {}

// Tree implements [Printer].
func (p *JSON) Tree(t Tree) { p.line(value.AppendJSON(p.buf[:0], t.Object)) }
