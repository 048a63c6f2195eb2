package web

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/app"
	"loops/persistence"
)

// mostPrefilled is how long a value is that a form holds, in bytes: a longer one can be set, and is not shown there.
const mostPrefilled = 4 << 10

// wasPrefix begins the name of a field of a form whose value is the one that the page had: what was not changed is not
// sent on.
const wasPrefix = "was."

// An againPage has the form by which a run continues, or another one begins from a step of it.
type againPage struct {
	Project, ID, To, Loop, Verb string
	At                          string // the step, of a fork
	States                      []string
	Values                      []valueRow // that the loop declares
	Others                      []valueRow // that its context has besides
	Long                        []string   // values that are too long for a form
	Note                        string
	Command                     string
}

// again shows the form of a verb: resume or fork.
func (s *Server) again(verb string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.with(w, r, func(p Project, session *Session) error {
			f, err := session.Finder(r.Context())
			if err != nil {
				return err
			}
			run, err := app.OneRun(r.Context(), f, r.PathValue("run"))
			if err != nil {
				return err
			}
			page := againPage{
				Project: p.Name, ID: string(run.ID), To: s.runAddress(p.Name, string(run.ID)),
				Loop: run.Loop, Verb: verb,
			}
			var m *fsm.Snapshot
			switch verb {
			case "fork":
				if page.At = r.FormValue("at"); page.At == "" {
					page.At = "last"
				}
				page.Command = session.Page.CommandWith("fork", []string{"-b", "--at=" + page.At}, page.ID)
				m, err = s.before(r.Context(), p, f, run, page.At)
			default:
				page.Command = session.Page.CommandWith("resume", []string{"-b"}, page.ID)
				m, err = f.Store.MemoryOf(r.Context(), run)
			}
			if err != nil {
				page.Note = "What the run remembers cannot be read: " + err.Error()
			}
			page.Values, page.Long = prefilled(m)
			if def, _ := f.Store.ReadDefinitionOf(r.Context(), run); def != nil {
				if l, _ := f.Ran(run, def); l != nil {
					page.States = l.Order
					page.Values, page.Others = declared(l, page.Values)
				}
			}
			s.render(w, r, "again", strings.ToUpper(verb[:1])+verb[1:]+" "+page.ID, page)
			return nil
		})
	}
}

// before is what a run remembered before a step: nil where that is not known.
func (s *Server) before(ctx context.Context, p Project, f project.Finder, run persistence.Run,
	at string,
) (m *fsm.Snapshot, err error) {
	var first uint64
	if _, err := s.chronicle(ctx, p, f, run, func(c *chronicle) {
		if step, found := c.find(at); found {
			first = step.first
		}
	}); err != nil || first == 0 {
		return nil, err
	}
	moment, after, err := f.Store.Around(ctx, run.ID, first)
	if moment.Memory == nil {
		moment = after // the first step: the memory it began with
	}
	return moment.Memory, err
}

// prefilled are the values of the context that a form may change, and the names of those that are too long for it.
func prefilled(m *fsm.Snapshot) (values []valueRow, long []string) {
	if m == nil {
		return nil, nil
	}
	for _, v := range valuesOf(m, true) {
		switch {
		case !v.Plain:
		case len(v.Text) > mostPrefilled:
			long = append(long, v.Key)
		default:
			if v.Lines = 1; strings.ContainsAny(v.Text, "\r\n") {
				v.Lines = min(strings.Count(v.Text, "\n")+2, 12)
			}
			values = append(values, v)
		}
	}
	return values, long
}

// declared parts the values that a loop declares, as parameters or in its context, from the others.
func declared(l *fsm.Loop, values []valueRow) (own, others []valueRow) {
	for _, v := range values {
		_, ok := l.Context.Get(v.Key)
		if ok || slices.ContainsFunc(l.Parameters, func(p fsm.Parameter) bool { return p.Name == v.Key }) {
			own = append(own, v)
		} else {
			others = append(others, v)
		}
	}
	return own, others
}

// bundleTime is how long a browser may take to fetch a bundle.
const bundleTime = time.Hour

// bundleFile answers with the bundle of a run, which is made first: half a bundle is not usable.
func (s *Server) bundleFile(w http.ResponseWriter, r *http.Request) {
	s.with(w, r, func(p Project, session *Session) error {
		select {
		case s.bundles <- struct{}{}:
			defer func() { <-s.bundles }()
		case <-r.Context().Done():
			return context.Cause(r.Context())
		}
		f, err := session.Finder(r.Context())
		if err != nil {
			return err
		}
		run, err := app.OneRun(r.Context(), f, r.PathValue("run"))
		if err != nil {
			return err
		}
		if run, err = app.RecordedRun(r.Context(), f.Store, run); err != nil {
			return err
		}
		dir, err := os.MkdirTemp("", "loops-bundle-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir) //nolint:errcheck // the system removes it one day
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(bundleTime))
		name := filepath.Base(string(run.ID)) + ".tar.zst"
		written, _, err := app.ExportRun(r.Context(), filepath.Join(dir, name), true, nil, f.Store, run,
			app.WorkFolderOf(f.Project, run), nil)
		s.audit(r, p, "bundle", string(run.ID), nil, err)
		if err != nil {
			return engine.Refuse(engine.Failed, "run %s was not exported: %s", string(run.ID), err)
		}
		file, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		defer file.Close()
		w.Header().Set("Content-Type", "application/zstd")
		w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", name))
		w.Header().Set("Loops-SHA256", written.Digest.Hash)
		http.ServeContent(w, r, "", time.Time{}, file)
		return nil
	})
}
