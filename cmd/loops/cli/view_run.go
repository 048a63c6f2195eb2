package cli

import (
	"context"
	"io"

	"loops/fsm"
	"loops/internal/app"
	"loops/internal/live"
	"loops/internal/terminal"
	"loops/persistence"
)

// A costPrinter writes what a run cost to a file when it has ended, and shows it meanwhile as another printer does.
type costPrinter struct {
	live.Printer
	a    *program
	file string
	id   persistence.ID
}

func (p *costPrinter) Header(h live.Header) {
	p.id = h.Run.ID
	p.Printer.Header(h)
}

func (p *costPrinter) Finish(o fsm.Outcome, resume string) {
	p.Printer.Finish(o, resume)
	if err := p.write(context.Background()); err != nil {
		p.Note("loops: the costs could not be written: " + oneLine(err) + "; to see them: " +
			p.a.command("cost", string(p.id)))
	}
}

func (p *costPrinter) write(ctx context.Context) error {
	pr, store, err := p.a.open(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	f := store.Finder()
	run, err := app.OneRun(ctx, f, string(p.id))
	if err != nil {
		return err
	}
	known, err := pr.Pricer()
	if err != nil {
		return err
	}
	sheet, err := app.CostSheet(ctx, f, run, known, p.a.damaged)
	if err != nil {
		return err
	}
	return p.a.writeFile(pr, p.file, func(w io.Writer) error {
		return terminal.WriteJSON(w, terminal.NewCostReport(sheet))
	})
}
