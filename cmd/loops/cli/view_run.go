package cli

import (
	"context"
	"io"

	"loops/fsm"
	"loops/internal/inspect"
	"loops/internal/lookup"
	"loops/internal/ui"
	"loops/internal/ui/progress"
	"loops/internal/ui/views"
	"loops/persistence"
)

// A followPrinter shows the events of a run as history does, a line each, and how it ended.
type followPrinter struct {
	progress.Printer // says what is no event
	page             *views.Page
	run              persistence.Run
	verbose          bool
}

// newFollowPrinter returns a printer for run --follow.
func (a *app) newFollowPrinter(v viewFlags) progress.Printer {
	page := a.page()
	page.Out = ui.NewSink(a.Out) // what happened is shown when it did
	return &followPrinter{Printer: progress.NewText(a.Out, a.Err, progress.View{Quiet: true, Paint: page.Paint}), page: page, verbose: v.verbose}
}

func (p *followPrinter) Header(h progress.Header) {
	p.run = h.Run
	p.Printer.Header(h)
}

func (p *followPrinter) Event(e fsm.Event) {
	if p.verbose || e.Kind != fsm.EventActionOutput {
		p.page.PrintEvent(inspect.Honest(e, p.run), p.verbose)
	}
	p.Printer.Event(e)
}

// A costPrinter writes what a run cost to a file when it has ended, and shows it meanwhile as another printer does.
type costPrinter struct {
	progress.Printer
	a    *app
	file string
	id   persistence.ID
}

func (p *costPrinter) Header(h progress.Header) {
	p.id = h.Run.ID
	p.Printer.Header(h)
}

func (p *costPrinter) Finish(o fsm.Outcome, resume string) {
	p.Printer.Finish(o, resume)
	if err := p.write(context.Background()); err != nil {
		p.Note("loops: the costs could not be written: " + oneLine(err) + "; to see them: " + p.a.command("cost", string(p.id)))
	}
}

func (p *costPrinter) write(ctx context.Context) error {
	pr, store, err := p.a.open(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	f := store.Finder()
	run, err := lookup.OneRun(ctx, f, string(p.id))
	if err != nil {
		return err
	}
	known, err := pr.Pricer()
	if err != nil {
		return err
	}
	sheet, err := lookup.CostSheet(ctx, f, run, known, p.a.damaged)
	if err != nil {
		return err
	}
	return p.a.writeFile(pr, p.file, func(w io.Writer) error { return ui.WriteJSON(w, ui.CostReport(sheet)) })
}
