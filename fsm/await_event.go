package fsm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"loops/fsm/value"
)

// A Signal is an event that was sent to a run.
type Signal struct {
	N    uint64 // among all that was sent to the run
	Name string
	Data any // a value of the language; nil = nothing came with it
	At   time.Time
	From string // who sent it, where known
}

// An Inbox holds the signals that were sent to the run, in all its segments.
type Inbox interface {
	// Signals returns the signals of a name after number after, in their order. It is called again when
	// Config.Changed says that something came, and once a minute.
	Signals(ctx context.Context, name string, after uint64) ([]Signal, error)
}

// root is the executor of the run itself.
func (e *Executor) root() *Executor {
	for e.parent != nil {
		e = e.parent
	}
	return e
}

// seeEvent finds the oldest signal that no wait of the run has taken. It is taken in the step in which the wait
// ends, and that is recorded with where the run goes then: a process that dies before has taken nothing.
func (e *Executor) seeEvent(w *Awaiting) (sight, error) {
	if e.cfg.Inbox == nil {
		return sight{}, nil // none can be sent
	}
	m := e.root().mem
	list, err := e.sent(w.What, uint64(m.Taken[w.What])) //nolint:gosec // it is a number that was one of these
	switch {
	case e.ending():
		return sight{}, errHalted
	case errors.Is(err, ErrMoved):
		return sight{}, err
	case err != nil:
		return sight{seen: oneLine("what was sent cannot be read: " + err.Error())}, nil
	}
	// another wait may have taken some meanwhile
	list = slices.DeleteFunc(list, func(s Signal) bool { return s.N <= uint64(m.Taken[w.What]) }) //nolint:gosec // it is a number that was one of these
	if len(list) == 0 {
		return sight{}, nil
	}
	s := list[0]
	from := ""
	if s.From != "" {
		from = " from " + s.From
	}
	return sight{
		verdict: AwaitCame, seen: fmt.Sprintf("number %d%s", s.N, from),
		result: Result{Stdout: inserted(s.Data)},
		take: func() {
			taken := map[string]int{}
			maps.Copy(taken, m.Taken) // what was recorded is not changed
			taken[s.Name] = int(s.N)  //nolint:gosec // there are never so many
			m.Taken, e.mem.Event = taken, s.event()
		},
	}, nil
}

// sent returns the signals of a name after a number.
func (e *Executor) sent(name string, after uint64) (list []Signal, err error) {
	e.do(func(ctx context.Context) { list, err = e.cfg.Inbox.Signals(ctx, name, after) })
	return list, err
}

// event is what templates see: what the data says, after the fields that every signal has. Data cannot say who
// sent it, or when: of a key with such a name, only event.data has the value.
func (s *Signal) event() *value.Map {
	m := value.NewMap("name", s.Name, "number", int64(s.N), "at", FormatTime(s.At), "from", s.From, "data", s.Data) //nolint:gosec // there are never so many
	if data, ok := s.Data.(*value.Map); ok {
		for _, k := range data.Keys() {
			if _, fixed := m.Get(k); !fixed {
				m.Set(k, data.Value(k))
			}
		}
	}
	return m
}
