package web

import (
	"context"
	"net/http"

	"loops/engine/notify"
	"loops/engine/project"
	"loops/internal/api"
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
		return api.ServedAlarm{
			Project: a.Project, Kind: a.Kind, InstanceID: api.Text(a.Run), Loop: a.Loop, Text: a.Text,
			Since: api.Stamp(a.Since), Restarts: a.Restarts,
		}
	}))
}
