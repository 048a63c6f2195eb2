package view

import (
	"io"
	"time"

	"loops/internal/api"
	"loops/internal/inspect"
	"loops/internal/terminal"
)

// WriteJSON writes the comparison as one object. There can be very many steps, so they are written one by one.
func (d *Comparison) WriteJSON(out io.Writer) error {
	more := inspect.Elapsed(d.Sides[1].Run) - inspect.Elapsed(d.Sides[0].Run)
	c := api.Comparison{
		First: comparedRun(d.Sides[0]), Second: comparedRun(d.Sides[1]),
		Longer: more.Round(time.Millisecond).Milliseconds(), Shared: d.shared, Values: d.values, Notes: d.Notes,
	}
	if d.first < len(d.pairs) {
		c.Divergence = &api.Divergence{Same: d.first, First: comparedStep(d.next(0)), Second: comparedStep(d.next(1))}
	}
	return terminal.WriteLongJSON(out, c, "steps", len(d.pairs), func(i int) any {
		p := d.pairs[i]
		return api.ComparedPair{Same: p.Same, First: comparedStep(d.at(0, p.A)), Second: comparedStep(d.at(1, p.B))}
	})
}
