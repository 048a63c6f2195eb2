package web

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"loops/internal/app"
	"loops/internal/terminal"
)

// examinedFor is how long what doctor found holds: to look again starts programs.
const examinedFor = 30 * time.Second

// examined remembers what doctor found, by project. The zero value is ready, for several goroutines at once,
// which wait for one another.
type examined struct {
	mu  sync.Mutex
	all map[string]examination // guarded by mu
}

type examination struct {
	at    time.Time
	found []app.Finding
}

func (e *examined) of(ctx context.Context, p Project) ([]app.Finding, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if x, ok := e.all[p.Name]; ok && time.Since(x.at) < examinedFor {
		return x.found, nil
	}
	found, err := p.Examine(ctx)
	if err != nil || ctx.Err() != nil { // a client that went away ended the programs
		return found, err
	}
	if e.all == nil {
		e.all = map[string]examination{}
	}
	e.all[p.Name] = examination{time.Now(), found}
	return found, nil
}

// examine returns what doctor finds in a project, and in the file of users of this server.
func (s *Server) examine(ctx context.Context, p Project) ([]app.Finding, error) {
	all, err := s.examined.of(ctx, p)
	return append(slices.Clip(all), app.CheckUsers(s.Access.File)...), err
}

// findings are what doctor finds in a project.
func (s *Server) findings(ctx context.Context, p Project, _ *Session, b *board) error {
	all, err := s.examine(ctx, p)
	b.Head = []string{"Level", "What", "Found", "To do"}
	for _, f := range all {
		mark := cell{Status: f.Level}
		if f.Level == app.FindingUntested {
			mark = cell{Text: f.Level}
		}
		b.Rows = append(b.Rows, boardRow{Cells: []cell{mark, {Text: f.Check}, {Text: f.Text}, {Text: f.Todo}}})
	}
	return err
}

func (s *Server) findingObjects(w http.ResponseWriter, r *http.Request) {
	s.with(w, r, func(p Project, _ *Session) error {
		all, err := s.examine(r.Context(), p)
		if err == nil {
			writeJSON(w, http.StatusOK, terminal.List(all, func(f app.Finding) any { return f.Object() }))
		}
		return err
	})
}
