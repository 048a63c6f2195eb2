package cli

import (
	"io"
	"sync"

	"loops/engine"
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/ui"
)

// A jsonPrinter writes one JSON object a line on standard output: run_info first, then every event as it stands
// in the event file. Notes go to standard error.
type jsonPrinter struct {
	mu       sync.Mutex // of err
	out, err io.Writer
	buf      []byte
}

func (p *jsonPrinter) line(b []byte) {
	p.buf = append(b, '\n')
	p.out.Write(p.buf) //nolint:errcheck // a sink never fails
}

func (p *jsonPrinter) header(h header) {
	m := value.NewMap(
		"event", "run_info", "ts", ui.Stamp(h.Begin), "loop", h.Loop.Name, "instance_id", string(h.Run.ID),
		"run_id", h.Run.RunID, "resumed", h.Resumed, "max_steps", int64(h.Loop.MaxSteps), "file", h.Loop.File,
		"run_dir", h.RunDir,
	)
	addOrigin(m, h.Run)
	if h.Worktree != "" {
		m.Set("worktree", h.Worktree)
		m.Set("branch", ui.OrNull(h.Branch))
	}
	p.line(value.AppendJSON(p.buf[:0], m))
}

func (p *jsonPrinter) queued(q queued) {
	p.line(value.AppendJSON(p.buf[:0], value.NewMap(
		"event", "queue_wait", "ts", ui.Stamp(q.Now), "loop", q.Waiter.Loop, "queue_id", q.Waiter.ID, "resumes", ui.OrNull(string(q.Waiter.Resumes)),
		"waits_for", waitsForJSON(q.For),
	)))
}

func (p *jsonPrinter) watch(run func()) { run() }

func (p *jsonPrinter) event(e fsm.Event) { p.line(e.AppendJSON(p.buf[:0])) }

func (p *jsonPrinter) note(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ui.SayLine(p.err, text)
}

func (p *jsonPrinter) finish(fsm.Outcome, string) {}

func (p *jsonPrinter) tree(r engine.TreeReport) { p.line(value.AppendJSON(p.buf[:0], treeObject(r))) }
