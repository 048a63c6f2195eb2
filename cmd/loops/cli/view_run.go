package cli

import (
	"context"
	"io"

	"loops/fsm"
	"loops/internal/lookup"
	"loops/internal/ui"
	"loops/internal/ui/progress"
	"loops/persistence"
)

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
