package view

import (
	"loops/engine"
	"loops/internal/api"
)

// ExtendedLines say which limits of a run were raised.
func ExtendedLines(page *Page, s engine.Effect) (lines []string) {
	id := string(s.Before.ID)
	for _, line := range s.Raised {
		lines = append(lines, id+": "+string(page.Text(line)))
	}
	if !s.Taken {
		lines = append(lines, id+" takes them when its action or wait ends.")
	}
	return lines
}

// Extended returns which limits of a run were raised.
func Extended(page *Page, s engine.Effect) api.Extended {
	r := s.Before
	raised := each(s.Raised, func(t engine.Text) string { return string(page.Text(t)) })
	return api.Extended{
		Instance: string(r.ID), RunID: r.RunID, Loop: r.Loop, PID: r.Owner.PID, Raised: raised,
		Taken: s.Taken,
	}
}
