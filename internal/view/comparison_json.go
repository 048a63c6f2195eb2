package view

import (
	"io"
	"time"

	"loops/fsm/value"
	"loops/internal/inspect"
	"loops/internal/terminal"
)

// WriteJSON writes the comparison as one object. There can be very many steps, so they are written one by one.
func (d *Comparison) WriteJSON(out io.Writer) error {
	var first any
	if d.first < len(d.pairs) {
		first = value.NewMap("same_before", int64(d.first), "first", StepObject(d.next(0)), "second", StepObject(d.next(1)))
	}
	more := inspect.Elapsed(d.Sides[1].Run) - inspect.Elapsed(d.Sides[0].Run)
	m := value.NewMap("first", PathObject(d.Sides[0]), "second", PathObject(d.Sides[1]), "second_took_longer_ms", more.Round(time.Millisecond).Milliseconds(),
		"steps_before_fork", int64(d.shared), "divergence", first, "steps", nil, "values", terminal.Texts(d.values), "notes", terminal.Texts(d.Notes))
	return terminal.WriteLongJSON(out, m, "steps", len(d.pairs), func(i int) any {
		p := d.pairs[i]
		return value.NewMap("same", p.Same, "first", StepObject(d.at(0, p.A)), "second", StepObject(d.at(1, p.B)))
	})
}
