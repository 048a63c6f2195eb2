package mcpserver

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"loops/engine"
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/api"
	"loops/internal/app"
	"loops/internal/inspect"
	"loops/persistence"
)

// taskPoll is how often a client asks for a task, as a suggestion.
const taskPoll = time.Second

// RunTasks returns runs as tasks: the id of a task is the id of its run, so tasks outlive the server and the client.
func RunTasks(h *Host) *Tasks {
	return &Tasks{
		Get: func(ctx context.Context, id string) (task *Task, err error) {
			err = h.ofRun(ctx, id, func(_ *Session, status *app.Status) error {
				task = taskOf(status)
				return nil
			})
			return task, err
		},
		Update: func(ctx context.Context, id string, replies map[string]Reply) error {
			return h.ofRun(ctx, id, func(s *Session, status *app.Status) error {
				return h.updateTask(ctx, s, status, replies)
			})
		},
		Cancel: func(ctx context.Context, id string) error {
			return h.ofRun(ctx, id, func(s *Session, status *app.Status) error {
				if !status.Status.Alive {
					return nil // nothing of it is at work
				}
				_, err := s.Stop(ctx, id, app.Stopping{Grace: engine.StopGrace}, nil, nil)
				return err
			})
		},
	}
}

// ofRun calls do with the status of the run that has this id. The names of loops are no ids.
func (h *Host) ofRun(ctx context.Context, id string, do func(*Session, *app.Status) error) error {
	s, err := h.Session()
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.Project.CheckInside(id); err != nil {
		return s.InWords(err)
	}
	status, err := s.Status(ctx, id)
	if err != nil {
		return s.InWords(err)
	}
	if status.Status == nil || string(status.Status.Run.ID) != id {
		return fmt.Errorf("%s is not the id of a run", id)
	}
	if err := do(s, status); err != nil {
		return s.InWords(err)
	}
	return nil
}

// taskOf returns a run as a task. A run that was killed, parked, suspended or drained is working: it can continue.
func taskOf(status *app.Status) *Task {
	v := status.Status
	run := v.Run
	t := &Task{
		ID: string(run.ID), Status: TaskCompleted, Poll: taskPoll.Milliseconds(),
		Created: run.StartedAt.UTC().Format(time.RFC3339Nano),
		Updated: run.UpdatedAt.UTC().Format(time.RFC3339Nano),
		Message: inspect.OutcomeNow(run, v.Wait) + " in state " + run.State,
	}
	if why := inspect.ReasonNow(run, v.Wait); why != "" {
		t.Message += ": " + why
	}
	open := v.Alive || run.Resumable && (run.Status == persistence.Awaiting ||
		run.Status == persistence.Interrupted && (run.Ended == "" || run.Ended == fsm.EndSystemSignal))
	switch {
	case open && len(v.Asks) > 0:
		t.Status, t.Asks = TaskInput, map[string]*AskUser{}
		for _, q := range v.Asks {
			t.Asks[q.Address] = askOf(q)
		}
	case open:
		t.Status = TaskWorking
		if !v.Alive {
			t.Message += "; the tool resume continues it"
		}
	case run.Status == persistence.UserStopped:
		t.Status = TaskCancelled
	default:
		t.Result = value.AppendJSON(nil, api.StartedRun{
			Instance: t.ID, RunID: run.RunID, PID: run.Owner.PID,
			Ended: true, Status: status.Object(),
		})
	}
	return t
}

// updateTask records answers to the questions of a run, by the addresses of the questions. Answers to others are
// ignored, and a question whose form was closed stays open. A parked run that can continue then does.
func (h *Host) updateTask(ctx context.Context, s *Session, status *app.Status, replies map[string]Reply) error {
	run := status.Status.Run
	for _, address := range slices.Sorted(maps.Keys(replies)) {
		i := slices.IndexFunc(status.Status.Asks, func(q *fsm.OpenQuestion) bool { return q.Address == address })
		if i < 0 || !replies[address].Given {
			continue
		}
		said := h.answerer()
		fillAnswer(&said, status.Status.Asks[i], replies[address])
		if _, err := s.Answer(ctx, string(run.ID), said); err != nil {
			return err
		}
	}
	if status.Status.Alive {
		return nil
	}
	f, err := s.Finder(ctx)
	if err != nil {
		return err
	}
	due, err := engine.DueRuns(ctx, f.Store, time.Now(), nil)
	due = slices.DeleteFunc(due, func(d engine.Due) bool { return d.Run.ID != run.ID })
	if err != nil && len(due) == 0 {
		return err
	}
	_, err = engine.Wake(ctx, due, h.continueRun)
	return err
}

// continueRun has another process continue a run.
func (h *Host) continueRun(ctx context.Context, request engine.Request) error {
	_, _, err := h.Begin(ctx, request, []string{"resume", request.Resume.Run, "--park"}, false)
	return err
}

// answerer returns an answer without a choice by the user of this server.
func (h *Host) answerer() engine.Answer {
	return engine.Answer{From: h.User + ", by MCP", Person: h.User, Known: h.Known, Fields: map[string]string{}}
}

// askOf returns the form of a question.
func askOf(q *fsm.OpenQuestion) *AskUser {
	return &AskUser{Message: strings.TrimSpace(q.Question + "\n\n" + q.Show), Form: formOf(q)}
}

// fillAnswer takes the answer of the user from a form that was filled in.
func fillAnswer(said *engine.Answer, q *fsm.OpenQuestion, reply Reply) {
	said.Address, said.From = q.Address, "the user, "+said.From
	said.Choice, _ = reply.Fields[choiceField].(string)
	said.Confirmed, _ = reply.Fields[confirmField].(bool)
	for _, f := range q.Fields {
		if v, ok := reply.Fields[f.Name]; ok && v != nil && v != "" {
			said.Fields[f.Name] = textOf(v)
		}
	}
}
