package live

import (
	"io"
	"sync"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/api"
	"loops/internal/terminal"
	"loops/internal/view"
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
	info := api.RunInfo{
		Event: "run_info", Time: api.Stamp(h.Begin), Loop: h.Loop.Name, Instance: string(h.Run.ID),
		RunID: h.Run.RunID, Resumed: h.Resumed,
		MaxSteps: h.Loop.MaxSteps, File: h.Loop.File, RunDir: h.RunDir, RunOrigin: view.OriginOf(h.Run),
	}
	if h.Worktree != "" {
		info.Worktree, info.Branch = h.Worktree, new(api.Text(h.Branch))
	}
	p.line(value.AppendJSON(p.buf[:0], info))
}

// Queued implements [Printer].
func (p *JSON) Queued(q Queued) {
	p.line(value.AppendJSON(p.buf[:0], api.QueueWait{
		Event: "queue_wait", Time: api.Stamp(q.Now), Loop: q.Waiter.Loop, QueueID: q.Waiter.ID,
		Resumes: api.Text(q.Waiter.Resumes), For: view.Obstacle(q.For),
	}))
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
