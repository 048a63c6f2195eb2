package engine

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"loops/fsm"
	"loops/fsm/value"
	"loops/persistence"
)

// signalLook is how often the owner of a run that waits for a signal looks for commands in a database, where it may be
// that no process can wake it. waitsAgain is how long after it was asked last it is taken to wait.
const (
	signalLook = 150 * time.Millisecond
	waitsAgain = 2 * time.Minute
)

// An inbox holds what was sent to a run; see [fsm.Inbox].
type inbox struct {
	store persistence.Controller // nil = it keeps no commands
	id    persistence.ID
	asked atomic.Int64 // when the machine looked last, in milliseconds
}

// Signals implements [fsm.Inbox]. What cannot be read in between is skipped: a view of the run reports it.
func (b *inbox) Signals(ctx context.Context, name string, after uint64) ([]fsm.Signal, error) {
	if b.store == nil {
		return nil, errors.New("this store keeps no signals")
	}
	b.asked.Store(time.Now().UnixMilli())
	commands, err := b.store.Commands(ctx, b.id, after)
	if errors.Is(err, persistence.ErrNotFound) { // it waits in its first state: nothing of it is on record yet
		err = nil
	}
	if _, damaged := errors.AsType[*persistence.DamageError](err); damaged {
		err = nil
	}
	var list []fsm.Signal
	for _, c := range commands {
		if s, ok := signalOf(c); ok && s.Name == name {
			list = append(list, s)
		}
	}
	return list, err
}

// awaited reports whether the machine waits for a signal.
func (b *inbox) awaited() bool {
	return time.Since(time.UnixMilli(b.asked.Load())) < waitsAgain
}

// signalOf reads a signal from the command it was recorded as.
func signalOf(c persistence.Command) (fsm.Signal, bool) {
	if c.Kind != persistence.CommandSignal && c.Kind != persistence.CommandAnswer {
		return fsm.Signal{}, false
	}
	s := fsm.Signal{N: c.N, At: c.At, Data: c.Args.Value("data")}
	s.Name, _ = c.Args.Value("name").(string)
	s.From, _ = c.Args.Value("from").(string)
	// No signal is taken for an answer: those are checked.
	return s, strings.HasPrefix(s.Name, fsm.AnswerName("/")) == (c.Kind == persistence.CommandAnswer)
}

// A Sent is a signal that is recorded for a run.
type Sent struct {
	fsm.Signal
	Run  persistence.Run // as it was then
	Wait *fsm.Wait       // that the run was in then; nil = none
}

// Signal records an event for a run, which the oldest wait for its name takes, now or later, also in a process
// that resumes the run. It is recorded when Signal returns, and it is never taken twice. A *Refusal explains why
// the run takes none.
func (e *Engine) Signal(ctx context.Context, id persistence.ID, s fsm.Signal) (Sent, error) {
	store, err := e.Records(ctx)
	if err != nil {
		return Sent{}, err
	}
	a := &asking{e: e, store: store, id: id}
	if a.Before, err = a.now(ctx); err != nil {
		return Sent{}, err
	}
	sent := Sent{Signal: s, Run: a.Before}
	sent.Wait, _ = a.wait(ctx) // it is recorded all the same
	args := value.NewMap("name", s.Name)
	if s.Data != nil {
		args.Set("data", s.Data)
	}
	if s.From != "" {
		args.Set("from", s.From)
	}
	c, err := a.record(ctx, persistence.Command{
		Kind: persistence.CommandSignal, Segment: persistence.AnySegment,
		Args: args,
	})
	if _, over := errors.AsType[*persistence.EndedError](err); over {
		return sent, refuse(NotFound, "run %s is %s: nothing in it will wait for %s again", id, a.Before.Status, s.Name)
	}
	if _, starting := errors.AsType[*persistence.StartingError](err); starting {
		return sent, err
	}
	if err != nil {
		return sent, a.notRecorded(err, "the signal")
	}
	sent.N, sent.At = c.N, c.At
	a.rouse(persistence.CommandSignal)
	return sent, nil
}
