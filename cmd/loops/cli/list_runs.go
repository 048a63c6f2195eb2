package cli

import (
	"context"

	"loops/internal/service"
	"loops/internal/ui"
	"loops/internal/ui/views"
)

func runListRunning(ctx context.Context, a *app, o listOptions) error {
	return a.ask(func(s *service.Service) error {
		open, err := s.OpenRuns(ctx, o.runs, o.json)
		if err != nil {
			return err
		}
		switch lines := open.Lines(); {
		case o.json:
			err = ui.WriteJSON(a.out, open.Objects())
		case len(lines) == 0:
			ui.SayLine(a.out, o.runs.None())
		default:
			views.WriteRuns(a.out, lines, a.width())
		}
		return joined([]error{err, open.Unread()})
	})
}
