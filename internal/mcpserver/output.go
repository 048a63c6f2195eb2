package mcpserver

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/api"
	"loops/internal/app"
	"loops/internal/live"
	"loops/persistence"
)

// events returns events of a run, from one on.
func events(ctx context.Context, s *Session, v Values) (any, error) {
	f, err := s.Finder(ctx)
	if err != nil {
		return nil, err
	}
	runs, err := f.Runs(ctx, v.Text("run"), 1)
	if err == nil && len(runs) == 0 {
		err = fmt.Errorf("%s has no recorded run; the tool list shows loops and open runs", v.Text("run"))
	}
	if err != nil {
		return nil, err
	}
	return eventsPage(ctx, f.Store, runs[0], v)
}

func eventsPage(ctx context.Context, store *project.Records, run persistence.Run, v Values) (any, error) {
	page, size := api.EventsPage{Instance: string(run.ID), Next: uint64(v.Number("after"))}, 0
	for e, problem := range store.EventsOf(ctx, run, page.Next) {
		if problem != nil {
			if !project.IsDamage(problem) {
				return nil, problem
			}
			if len(page.Damage) < 10 {
				page.Damage = append(page.Damage, problem.Error())
			}
			continue
		}
		if kind := v.Text("event"); kind == "" || e.Kind == kind {
			if page.More = len(page.Events) == v.Number("limit") || size > mcpEventBytes; page.More {
				break
			}
			page.Events = append(page.Events, api.EventOf(e))
			size += len(value.AppendJSON(nil, api.EventOf(e)))
		}
		page.Next = e.Seq
	}
	return page, nil
}

// logs returns the end of what the actions of a run wrote.
func logs(ctx context.Context, s *Session, v Values) (any, error) {
	f, err := s.Finder(ctx)
	if err != nil {
		return nil, err
	}
	run, err := app.OneRun(ctx, f, v.Text("run"))
	if err != nil {
		return nil, err
	}
	tail := &LastBytes{Most: v.Number("bytes")}
	l := live.NewActionLog(live.ActionLogOptions{State: v.Text("state"), Stderr: v.Flag("stderr")}, tail, f.Project,
		run.ID, false)
	in := project.Follower{Store: f.Store, ID: run.ID}
	err = in.Read(ctx, run, true, func(e fsm.Event, err error) {
		if err != nil {
			s.Note("%v; reading continues after it", err)
			return
		}
		l.Event(e)
	})
	if err != nil {
		return nil, err
	}
	l.End()
	return api.OutputText{
		Instance: string(run.ID), Text: strings.ToValidUTF8(string(tail.Kept), "\uFFFD"),
		Before: tail.Lost,
	}, nil
}

// LastBytes keeps the end of what is written to it.
type LastBytes struct {
	Most int
	Kept []byte
	Lost int64 // bytes that were written before
}

func (l *LastBytes) Write(b []byte) (int, error) {
	l.Kept = append(l.Kept, b...)
	if over := len(l.Kept) - l.Most; over > 0 {
		l.Kept = slices.Delete(l.Kept, 0, over)
		l.Lost += int64(over)
	}
	return len(b), nil
}
