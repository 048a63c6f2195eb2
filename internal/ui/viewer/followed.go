package viewer

import (
	"io"

	"loops/fsm"
	"loops/internal/inspect"
	"loops/internal/ui"
	"loops/internal/ui/progress"
	"loops/internal/ui/views"
	"loops/persistence"
)

// A followed shows the events of a run as history does, a line each, and how it ended.
type followed struct {
	progress.Printer // says what is no event
	page             *views.Page
	run              persistence.Run
	verbose          bool
}

// NewFollowed returns a printer for run --follow, which writes to out and, what is no event, to errs.
func NewFollowed(page *views.Page, out, errs io.Writer, verbose bool) progress.Printer {
	at := *page
	at.Out = ui.NewSink(out) // what happened is shown when it did
	return &followed{Printer: progress.NewText(out, errs, progress.View{Quiet: true, Paint: page.Paint}), page: &at, verbose: verbose}
}

func (p *followed) Header(h progress.Header) {
	p.run = h.Run
	p.Printer.Header(h)
}

func (p *followed) Event(e fsm.Event) {
	if p.verbose || e.Kind != fsm.EventActionOutput {
		p.page.PrintEvent(inspect.Honest(e, p.run), p.verbose)
	}
	p.Printer.Event(e)
}
