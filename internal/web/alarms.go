package web

import (
	"context"
	"net/http"

	"loops/engine/notify"
	"loops/engine/project"
	"loops/fsm/value"
	"loops/internal/terminal"
)

// A raised is an alarm of a project that is not over.
type raised struct {
	notify.Alarm
	Project string
}

// raisedIn are the alarms of a project. Where they cannot be read there are none: its runs are shown all the same.
func raisedIn(ctx context.Context, p Project, f project.Finder) (all []raised) {
	open, _ := notify.OpenAlarms(ctx, f.Store)
	for _, a := range open {
		all = append(all, raised{a, p.Name})
	}
	return all
}

// listAlarms answers with the alarms of all projects.
func (s *Server) listAlarms(w http.ResponseWriter, r *http.Request) {
	var all []raised
	err := s.openAll(r.Context(), func(p Project, f project.Finder) error {
		all = append(all, raisedIn(r.Context(), p, f)...)
		return nil
	})
	if err != nil {
		s.refuse(w, r, statusOf(err), err.Error())
		return
	}
	writeJSON(w, http.StatusOK, terminal.List(all, func(a raised) any {
		return value.NewMap("project", a.Project, "kind", a.Kind, "instance_id", terminal.OrNull(string(a.Run)), "loop", a.Loop, "text", a.Text, "since", terminal.Stamp(a.Since),
			"restarts", int64(a.Restarts))
	}))
}
