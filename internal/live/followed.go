package live

import (
	"io"

	"loops/fsm"
	"loops/internal/inspect"
	"loops/internal/terminal"
	"loops/internal/view"
	"loops/persistence"
)

// A followed shows the events of a run as history does, a line each, and how it ended.
type followed struct {
	Printer // says what is no event
	page    *view.Page
	run     persistence.Run
	verbose bool
}

// NewFollowed returns a printer for run --follow, which writes to out and, what is no event, to errs.
func NewFollowed(page *view.Page, out, errs io.Writer, verbose bool) Printer {
	at := *page
	at.Out = terminal.NewSink(out) // what happened is shown when it did
	return &followed{Printer: NewText(out, errs, View{Quiet: true, Paint: page.Paint}), page: &at, verbose: verbose}
}

func (p *followed) Header(h Header) {
	p.run = h.Run
	p.Printer.Header(h)
}

func (p *followed) Event(e fsm.Event) {
	if p.verbose || e.Kind != fsm.EventActionOutput {
		p.page.PrintEvent(inspect.Honest(e, p.run), p.verbose)
	}
	p.Printer.Event(e)
}
