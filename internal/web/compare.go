package web

import (
	"bytes"
	"net/http"

	"loops/engine"
	"loops/internal/terminal"
)

// A comparison is two runs beside each other, as loops diff shows them.
type comparison struct {
	Project, A, B, Text, Command string
	All                          bool
}

// comparePage shows where two runs took different transitions.
func (s *Server) comparePage(w http.ResponseWriter, r *http.Request) {
	s.with(w, r, func(p Project, session *Session) error {
		page := comparison{Project: p.Name, A: r.FormValue("a"), B: r.FormValue("b"), All: r.FormValue("all") != ""}
		if page.A == "" || page.B == "" {
			return engine.Refuse(engine.Usage, "expected two runs to compare, as a=RUN and b=RUN; the page of a run "+
				"names those that it can be compared with")
		}
		d, err := session.Compare(r.Context(), page.A, page.B)
		if err != nil {
			return err
		}
		d.All = page.All
		var text bytes.Buffer
		view := *session.Page
		view.Out, view.Err = terminal.NewSink(&text), &text
		if err := d.Print(&view); err != nil {
			return err
		}
		view.Out.Flush()
		page.Text, page.Command = cut(text.String()), session.Page.Command("diff", page.A, page.B)
		s.render(w, r, "compare", "Compare", page)
		return nil
	})
}
