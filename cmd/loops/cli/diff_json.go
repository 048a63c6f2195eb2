package cli

import (
	"io"
	"time"

	"loops/fsm/value"
	"loops/internal/inspect"
	"loops/internal/ui"
)

// writeJSON writes the comparison as one object. There can be very many steps, so they are written one by one.
func (d *comparison) writeJSON(out io.Writer) error {
	var first any
	if d.first < len(d.pairs) {
		first = value.NewMap("same_before", int64(d.first), "first", stepObject(d.next(0)), "second", stepObject(d.next(1)))
	}
	more := inspect.Elapsed(d.sides[1].Run) - inspect.Elapsed(d.sides[0].Run)
	m := value.NewMap("first", pathObject(d.sides[0]), "second", pathObject(d.sides[1]), "second_took_longer_ms", more.Round(time.Millisecond).Milliseconds(),
		"steps_before_fork", int64(d.shared), "divergence", first, "steps", nil, "values", ui.Texts(d.values), "notes", ui.Texts(d.notes))
	return ui.WriteLongJSON(out, m, "steps", len(d.pairs), func(i int) any {
		p := d.pairs[i]
		return value.NewMap("same", p.Same, "first", stepObject(d.at(0, p.A)), "second", stepObject(d.at(1, p.B)))
	})
}

func pathObject(p *inspect.Path) *value.Map {
	m := value.NewMap("instance_id", string(p.Run.ID), "loop", p.Run.Loop, "status", ui.OrNull(string(p.Run.Status)), "terminated_by", ui.OrNull(p.Run.Ended),
		"current_state", p.Run.State, "iterations", int64(p.Run.Step), "duration_ms", inspect.Elapsed(p.Run).Milliseconds(),
		"sha256", ui.OrNull(p.Run.SHA256))
	addCost(m, &p.Costs.Total)
	return m
}

func stepObject(s *inspect.Step) any {
	if s == nil {
		return nil
	}
	var code any
	if s.Exited {
		code = int64(s.Exit)
	}
	return value.NewMap("step", s.Number, "state", s.Path, "exit_code", code, "verdict", ui.OrNull(s.Verdict), "to", ui.OrNull(s.To),
		"duration_ms", s.Took.Milliseconds(), "first_event", int64(s.First), "last_event", int64(s.Last))
}
