package cli

import (
	"context"

	"loops/internal/app"
	"loops/internal/terminal"
	"loops/internal/view"
)

func runListRunning(ctx context.Context, a *program, o listOptions) error {
	return a.ask(func(s *app.Service) error {
		open, err := s.OpenRuns(ctx, o.runs, o.json)
		if err != nil {
			return err
		}
		switch lines := open.Lines(); {
		case o.json:
			err = terminal.WriteJSON(a.out, open.Objects())
		case len(lines) == 0:
			terminal.SayLine(a.out, o.runs.None())
		default:
			view.WriteRuns(a.out, lines, a.width())
		}
		return joined([]error{err, open.Unread()})
	})
}
