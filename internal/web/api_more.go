package web

import (
	"net/http"

	"loops/engine"
	"loops/internal/diagram"
)

func cost(r *http.Request, s *Session) (any, error) { return s.Cost(r.Context(), r.PathValue("run")) }

func questions(r *http.Request, s *Session) (any, error) {
	return s.Questions(r.Context(), r.FormValue("run"))
}

func queue(_ *http.Request, s *Session) (any, error) { return s.Queue() }

func definition(r *http.Request, s *Session) (any, error) {
	loaded, path, err := loadLoop(s, r.PathValue("loop"))
	if err != nil {
		return nil, err
	}
	if loaded.Loop == nil {
		return nil, engine.Refuse(engine.Invalid, "the loop has mistakes; see: %s",
			s.Page.Command("validate", r.PathValue("loop")))
	}
	lib, err := s.Project.Library()
	if err != nil {
		return nil, err
	}
	return lib.Files.Document(path)
}

// diff writes a comparison, which can be long, as it is made.
func (s *Server) diff(w http.ResponseWriter, r *http.Request) {
	s.with(w, r, func(_ Project, session *Session) error {
		with := r.FormValue("with")
		if with == "" {
			return engine.Refuse(engine.Usage, "with: expected the id of another run")
		}
		d, err := session.Compare(r.Context(), r.PathValue("run"), with)
		if err != nil {
			return err
		}
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_ = d.WriteJSON(w) // the client may be gone
		return nil
	})
}

func (s *Server) loopGraph(w http.ResponseWriter, r *http.Request) {
	s.with(w, r, func(_ Project, session *Session) error {
		loaded, _, err := loadLoop(session, r.PathValue("loop"))
		if err != nil {
			return err
		}
		if loaded.Loop == nil {
			return engine.Refuse(engine.Invalid, "the loop has mistakes; see: %s",
				session.Page.Command("validate", r.PathValue("loop")))
		}
		return draw(w, r, diagram.Of(loaded.Loop))
	})
}

func (s *Server) runGraph(w http.ResponseWriter, r *http.Request) {
	s.with(w, r, func(_ Project, session *Session) error {
		graph, _, err := session.RunGraph(r.Context(), r.PathValue("run"))
		if graph == nil {
			return err
		}
		return draw(w, r, graph)
	})
}

func draw(w http.ResponseWriter, r *http.Request, g *diagram.Graph) error {
	kind, text := "text/plain; charset=utf-8", ""
	switch format := r.FormValue("format"); format {
	case "", "svg":
		kind, text = "image/svg+xml", g.SVG()
	case "mermaid":
		text = g.Mermaid()
	case "dot":
		text = g.DOT()
	default:
		return engine.Refuse(engine.Usage, "format: expected svg, mermaid or dot")
	}
	w.Header().Set("Content-Type", kind)
	// a drawing runs nothing, and has its own style
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox")
	// the client may be gone
	_, _ = w.Write([]byte(text))
	return nil
}
