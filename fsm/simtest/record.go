package simtest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"loops/fsm"
	"loops/persistence/snapshot"
)

// A recorder remembers for one process.
type recorder struct {
	w    *World
	life *life
}

func (r recorder) Record(_ context.Context, b *fsm.Batch) error {
	w := r.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.life.dead {
		return errDied
	}
	w.batches++
	w.steps++
	due := w.due()
	for _, d := range due {
		if d.What == CrashLost {
			r.die()
			return errDied
		}
	}
	for i := range b.Events {
		b.Events[i].Seq = uint64(len(w.events) + 1)
		b.Events[i].Fields = slices.Clone(b.Events[i].Fields)
		w.check(b.Events[i])
		w.events = append(w.events, b.Events[i])
	}
	if b.Snapshot != nil {
		w.remember(b.Snapshot)
	}
	if b.Checkpoint {
		w.safe = mark{len(w.events), len(w.lines)}
	}
	for _, d := range due {
		switch {
		case d.What == PowerCut && d.Delay == 0:
			w.cutPower()
			r.die()
			return errDied
		case d.What == CrashKept:
			r.die()
			return errDied
		case d.What == Broken:
			r.life.dead, r.life.brokenAt = true, time.Now()
			return errDied
		case d.Delay == 0:
			w.does(d)
		default:
			time.AfterFunc(d.Delay, func() {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.does(d)
			})
		}
	}
	return nil
}

// Sync implements [fsm.Syncer].
func (r recorder) Sync(context.Context) error {
	w := r.w
	w.mu.Lock()
	upTo := mark{len(w.events), len(w.lines)}
	d := time.Duration(1 + w.hash("sync", upTo)%500_000_000)
	w.mu.Unlock()
	time.Sleep(d)
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.life.dead {
		return errDied
	}
	if upTo.events > w.safe.events {
		w.safe = upTo
	}
	return nil
}

// A mark is how much of the record is durable.
type mark struct{ events, lines int }

// cutPower loses what is not durable.
func (w *World) cutPower() {
	w.boots++
	w.events, w.lines, w.whole = w.events[:w.safe.events], w.lines[:w.safe.lines], nil
	w.elapsed, w.recalled, w.ended = 0, 0, false
	w.saidNo = ""
	clear(w.unheard)
	clear(w.flushed)
	clear(w.acted)
	clear(w.known)
	clear(w.failed)
	clear(w.out)
	clear(w.results)
	clear(w.asked)
	clear(w.taken)
	for _, ev := range w.events {
		w.count(ev)
	}
}

func (r recorder) die() {
	r.life.dead = true
	r.life.cancel(errDied)
}

// due takes what is to happen at this batch.
func (w *World) due() (due []Disturbance) {
	w.plan = slices.DeleteFunc(w.plan, func(d Disturbance) bool {
		if d.After <= w.batches {
			due = append(due, d)
			return true
		}
		return false
	})
	return due
}

func (w *World) remember(m *fsm.Snapshot) {
	var line []byte
	var err error
	if len(w.lines) == 0 {
		line, err = w.enc.Whole(m)
	} else {
		line, err = w.enc.Patch(m)
	}
	if err != nil {
		w.fault("the memory cannot be written: " + err.Error())
		return
	}
	w.lines = append(w.lines, slices.Clone(line))
	w.whole = nil
	if w.batches%8 == 0 { // it takes as long as all else
		all, _ := snapshot.NewEncoder(nil).Whole(m)
		w.whole = slices.Clone(all)
	}
	w.breach = false
	w.allTaken(m)
	w.verify(m, w.loop, "", "")
	if m.Elapsed.Milliseconds() < w.elapsed.Milliseconds() {
		w.fault(fmt.Sprintf("the used time went from %s to %s", w.elapsed, m.Elapsed))
	}
	w.elapsed = m.Elapsed
	if m.Outcome == nil {
		w.attend(m)
	}
}

func (w *World) raised() (all fsm.Raise) {
	for _, r := range w.raises {
		all = all.Plus(r)
	}
	return all
}

// mostLate is how long a loop may use after its time is up: what was begun before continues, an item of a script
// through its three tries, and no action or judge takes longer than 8 s.
const mostLate = 30 * time.Second

// verify checks the memory of a loop, and of those inside it. l is nil for a branch or an item with an action.
// outer is as in actions.
func (w *World) verify(m *fsm.Snapshot, l *fsm.Loop, at, outer string) {
	bad := func(format string, args ...any) {
		w.fault(fmt.Sprintf("in "+cmp.Or(at, "the run")+": "+format, args...))
	}
	if most := time.Since(w.begun) + time.Millisecond; m.Elapsed < 0 || m.Elapsed > most {
		bad("the used time is %s of %s", m.Elapsed, most)
	}
	raised := w.raised()
	if l != nil {
		if most := l.Timeout + raised.Time + mostLate; l.Timeout > 0 && m.Elapsed > most {
			bad("the used time is %s, and its timeout %s", m.Elapsed, l.Timeout+raised.Time)
		}
		if b := l.Budget; b != nil && b.Prompts > 0 && m.Spent.Prompts > b.Prompts+raised.Prompts {
			bad("%d prompts of %d", m.Spent.Prompts, b.Prompts+raised.Prompts)
		}
	}
	w.stayOut(m, at+" "+outer)
	w.breach = w.breach || m.Guard != nil && (m.Guard.Breach != nil || m.Guard.Reset != "")
	var st *fsm.State
	if l != nil {
		st = l.States[m.Current]
	}
	outer += fsm.AttemptMark(m.Step, m.Attempt)
	for name, c := range m.Inside() {
		var inner *fsm.Loop
		if !c.Inline(name, m) {
			inner, _ = w.lib.Loop(c.Name, l)
		}
		w.verify(c.Memory, inner, at+"/"+strconv.Itoa(m.Step)+name, outer+member(st, name))
	}
	switch {
	case st == nil:
	case st.Branches != nil && st.Branches.Most > 0:
		w.most[outer] = st.Branches.Most
	case st.Each != nil:
		w.most[outer] = st.Each.Parallel
		w.lists[outer] = true
	}
}

// member is what a branch or an item adds to the marks of its actions.
func member(st *fsm.State, name string) string {
	if st == nil || name == "" {
		return ""
	}
	if fsm.ItemOf(name) > 0 {
		return "+" + name[1:]
	}
	for i, b := range st.Branches.List {
		if b.Name == name {
			return "+" + strconv.Itoa(i+1)
		}
	}
	return ""
}

// check looks at an event that is being recorded.
func (w *World) check(ev fsm.Event) {
	w.count(ev)
	if w.ended = w.ended && ev.Kind != fsm.EventLoopResume; w.ended {
		w.fault(fmt.Sprintf("something is recorded after the end: %s", ev.AppendJSON(nil)))
	}
	at := fmt.Sprint(ev.Depth, ev.Get("branch"))
	switch ev.Kind {
	case fsm.EventLoopComplete:
		w.ended = ev.Depth == 0 && ev.Get("inline") == nil
		if ev.Get("terminated_by") == fsm.EndSuspended { // what is asked again begins again
			w.forget()
		}
	case fsm.EventHandoffDetected: // what hands over was done: it begins again as if it was not
		w.forget()
	case fsm.EventEvaluate:
		if ev.Get("verdict") == fsm.VerdictGuarded { // so is what was put back
			w.forget()
		} else if w.flushed[at] {
			w.fault("a state that acts one last time is judged: " + w.state[at])
		}
	case fsm.EventRemember:
		if w.flushed[at] {
			w.fault("a state that acts one last time remembers something: " + w.state[at])
		}
	case fsm.EventStateEnter, fsm.EventBranchStart, fsm.EventItemStart:
		if w.hold != nil && ev.Time.After(w.heldAt) && ev.Get("resumed") == nil {
			w.fault(fmt.Sprintf("a paused run begins something: %s", ev.AppendJSON(nil)))
		}
	}
}

// forget lets all actions begin again: the event does not say which of them do.
func (w *World) forget() {
	for at, n := range w.started {
		w.undone[at] = max(n, w.undone[at])
	}
	clear(w.marks)
	clear(w.started)
}

// count counts the result that an event has.
func (w *World) count(ev fsm.Event) {
	w.learn(ev)
	w.takes(ev)
	at := fmt.Sprint(ev.Depth, ev.Get("branch"))
	switch ev.Kind {
	case fsm.EventStateEnter:
		w.state[at], _ = ev.Get("state").(string)
		w.flushed[at] = w.limited && (ev.Get("flushed") == true || w.flushed[at] && ev.Get("resumed") == true)
		step, _ := ev.Get("iteration").(int64)
		w.acted[at] = w.acted[at] && (ev.Get("resumed") != nil || w.flushed[at] && step == w.step[at])
		w.step[at] = step
	case fsm.EventEvaluate:
		if ev.Get("verdict") == fsm.VerdictGuarded && !w.acted[at] {
			w.unheard[w.state[at]] = true
		}
		if ev.Depth == 0 && w.step[at] == 1 && ev.Get("verdict") == "no" {
			w.saidNo = w.state[at]
		}
	case fsm.EventCheckFirst:
		path, _ := ev.Get("branch").(string)
		w.failed[path+" "+fmt.Sprint(ev.Get("state"))] = ev.Get("passes") != true
	case fsm.EventActionComplete:
		if w.flushed[at] && w.acted[at] {
			w.fault("a state acts one last time twice: " + w.state[at])
		}
		w.acted[at] = true
		text, _ := ev.Get("output_preview").(string)
		if _, rest, ok := strings.Cut(text, "{"); ok {
			at, _, _ := strings.Cut(rest, "|")
			w.results[at]++
		}
	case fsm.EventActionError: // it could not be started, which is a result
		if ev.Get("error") != fsm.ErrScarce.Error() {
			w.results["error "+fmt.Sprint(ev.Depth, ev.Get("branch"), ev.Get("state"))]++
		}
	}
}
