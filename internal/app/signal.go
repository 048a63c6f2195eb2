package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/api"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/persistence"
)

// Sent is an event that is on record for a run.
type Sent struct {
	engine.Sent
	s       *Service
	awaited []string // the events that states of its loop wait for; nil = that is not known
}

// Signal sends an event to the run that arg means.
func (s *Service) Signal(ctx context.Context, arg string, event fsm.Signal) (*Sent, error) {
	if strings.TrimSpace(event.Name) == "" || strings.ContainsAny(event.Name, "\r\n") {
		return nil, engine.Misuse("signal", "%s is no name of an event; expected one such as deploy-finished",
			humanize.Quote(event.Name))
	}
	e, f, err := s.control(ctx)
	if err != nil {
		return nil, err
	}
	run, ok, err := Addressed(ctx, f, arg)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, &engine.NothingError{Finder: f, Verb: "signal", Arg: arg}
	}
	sent, err := e.Signal(ctx, run.ID, event)
	if err != nil {
		return nil, several([]error{err})
	}
	return &Sent{sent, s, AwaitedEvents(ctx, f, run)}, nil
}

// Delivered reports whether a run has an event or an answer of this sender on record: the run that arg means,
// or one of its loop that can still take commands or is the newest. from is a name that no two deliveries
// share.
func (s *Service) Delivered(ctx context.Context, arg, from string) (bool, error) {
	_, f, err := s.control(ctx)
	if err != nil {
		return false, err
	}
	runs, newest, err := f.Live(ctx, arg)
	if err != nil {
		return false, f.Store.Failed(err)
	}
	if newest != nil && !slices.ContainsFunc(runs, func(r persistence.Run) bool { return r.ID == newest.ID }) {
		runs = append(runs, *newest)
	}
	for _, r := range runs {
		commands, err := f.Store.AllCommands(ctx, r.ID)
		// of a run that waits in its first state nothing is on record yet
		if err != nil && !errors.Is(err, persistence.ErrNotFound) {
			return false, f.Store.Failed(err)
		}
		if slices.ContainsFunc(commands, func(c persistence.Command) bool {
			return (c.Kind == persistence.CommandSignal || c.Kind == persistence.CommandAnswer) &&
				c.Args.Value("from") == from
		}) {
			return true, nil
		}
	}
	return false, nil
}

// SignalData reads the data of an event, which is JSON.
func SignalData(text string) (any, error) { return value.ParseJSON([]byte(text)) }

// waitedFor reports whether the run waited for the event when it was sent.
func (t *Sent) waitedFor() bool { return t.Wait != nil && t.Wait.Event == t.Name }

// Object returns what was sent for a program.
func (t *Sent) Object() api.Sent {
	r := t.Run
	return api.Sent{
		Instance: string(r.ID), RunID: r.RunID, Event: t.Name, Number: t.N, At: api.Stamp(t.At),
		From: api.Text(t.From), Alive: project.Alive(r), Waits: t.waitedFor(),
	}
}

// Text says what happens to it.
func (t *Sent) Text(ctx context.Context) string {
	head := fmt.Sprintf("Sent %s to %s (number %d)", t.Name, t.Run.ID, t.N)
	switch {
	case t.awaited != nil && !slices.Contains(t.awaited, t.Name):
		text := head + ". No state of its loop waits for that"
		if len(t.awaited) > 0 {
			text += "; they wait for " + strings.Join(t.awaited, ", ")
		}
		return text + "."
	case !project.Alive(t.Run):
		return fmt.Sprintf("%s. The run is %s, and takes it %s", head, inspect.Outcome(t.Run),
			t.s.continues(ctx, t.Run))
	case t.waitedFor():
		return head + "; state " + t.Wait.State + " waited for it."
	}
	return head + ". The next state that waits for it takes it."
}
