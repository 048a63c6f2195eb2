package simtest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"loops/fsm"
	"loops/fsm/value"
)

// attend has a user answer what is asked, and send what is waited for.
func (w *World) attend(m *fsm.Snapshot) {
	for _, q := range m.Questions() {
		if w.asked[q.Address] {
			continue
		}
		w.asked[q.Address] = true
		steps, _, _ := strings.Cut(q.Address, ":")
		choice := []string{"approve", "approve", "reject"}[w.hash("answer", steps)%3]
		w.later("answer "+q.Address, fsm.AnswerName(q.Address), value.NewMap("choice", choice))
	}
	clear(w.awaited)
	for _, o := range m.Waits() {
		if o.Event == "" {
			continue
		}
		key := "event " + o.Address
		w.awaited[key] = true
		if !w.asked[key] {
			w.asked[key] = true
			w.later(key, o.Event, nil)
		}
		if !w.watched[key] {
			w.watched[key] = true
			w.again(key, o.Event)
		}
	}
}

// again sends an event again for as long as it is waited for: another wait may have taken the one that was sent
// for this one.
func (w *World) again(key, name string) {
	time.AfterFunc(2*time.Minute, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if !w.awaited[key] || w.over {
			delete(w.watched, key)
			return
		}
		w.send(name, nil)
		w.again(key, name)
	})
}

func (w *World) later(key, name string, data any) {
	time.AfterFunc(time.Duration(1+w.hash(key, "later")%20_000_000_000), func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.send(name, data)
	})
}

func (w *World) send(name string, data any) {
	w.inbox = append(w.inbox, fsm.Signal{
		N: uint64(len(w.inbox) + 1), Name: name, Data: data, At: time.Now(),
		From: "ada",
	})
	w.tell()
}

func (w *World) tell() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// Signals implements [fsm.Inbox].
func (w *World) Signals(_ context.Context, name string, after uint64) (list []fsm.Signal, _ error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.inbox {
		if s.Name == name && s.N > after {
			list = append(list, s)
		}
	}
	return list, nil
}

// does disturbs the run. The caller holds the lock.
func (w *World) does(d Disturbance) {
	l := w.life
	switch d.What {
	case Pause:
		if w.hold != nil {
			return
		}
		w.hold, w.heldAt = make(chan struct{}), time.Now()
		w.tell()
		time.AfterFunc(time.Duration(1+w.hash("unpause", d.After)%50_000_000_000), func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			close(w.hold)
			w.hold = nil
			w.tell()
		})
	case Extend:
		w.raises = append(w.raises, fsm.Raise{Time: 7 * time.Second, Prompts: 1, CostUSD: 0.1, Tokens: 20})
		w.tell()
	case Wake:
		select {
		case l.wake <- struct{}{}:
		default:
		}
	case Send:
		w.send("go", nil)
	case Stop, UserStop:
		if !l.dead && !l.asked {
			l.asked = true
			l.cancel(&fsm.Stop{Signal: map[What]string{Stop: "SIGTERM"}[d.What], ByUser: d.What == UserStop})
		}
	case Drain:
		if !l.dead && !l.asked {
			l.asked = true
			close(l.drain)
		}
	case CrashOver:
		if !l.dead {
			l.dead = true
			l.cancel(errDied)
		}
	case PowerCut:
		if !l.dead {
			w.cutPower()
			l.dead = true
			l.cancel(errDied)
		}
	case CrashLost, CrashKept, Broken: // where a batch is recorded
	}
}

// takes notes which signal ended a wait, by its event: none ends two.
func (w *World) takes(ev fsm.Event) {
	seen, _ := ev.Get("seen").(string)
	var n uint64
	if _, err := fmt.Sscanf(seen, "number %d", &n); ev.Kind != fsm.EventEvaluate || err != nil {
		return
	}
	if w.taken[n] {
		w.fault(fmt.Sprintf("signal %d ended two waits", n))
	}
	w.taken[n] = true
}

// allTaken checks that each signal that the memory has as taken ended a wait.
func (w *World) allTaken(m *fsm.Snapshot) {
	for _, s := range w.inbox {
		if s.N <= uint64(m.Taken[s.Name]) && !w.taken[s.N] { //nolint:gosec // there are never so many
			w.fault(fmt.Sprintf("signal %d is taken, and ended no wait", s.N))
		}
	}
}
