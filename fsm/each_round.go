package fsm

import (
	"context"
	"errors"
	"strings"
	"time"

	"loops/fsm/expr"
	"loops/fsm/value"
)

// A round works on the items of one visit.
type round struct {
	e       *Executor
	st      *State
	list    *roll
	ends    []itemEnd      // by item
	starts  map[int]int    // of items that have not ended, where that is not what ends says; see started
	entries map[int]string // of the capture, where there is no history to read them from
	holds   []uint32       // which end holds for each item, once that is known; see holding
	next    int            // the first item that may have to begin
	first   []int          // items with a memory of their own that come before it
	begun   map[int]bool   // such items that began, or continued, since nothing was at work
	done    int            // items that have ended, of which
	failed  int            // did not end with yes
	fresh   int            // ends that the memory does not have
	kept    time.Time      // when the memory took in the others
	running int
	results []itemResult // of items that have ended, which were not taken yet
	crew    *crew        // of items with a memory of their own; nil = they have none
	path    string       // of the branches that the loop is in
	window  window
	taken   bool         // the memory took in the ends, and was not recorded yet
	again   []itemResult // of items that are tried once more, as soon as the run is not paused
	retries bool         // such tries begin now: unlike first ones they are in no window
	check   *CheckRun    // with which files the items run; nil = as they are
}

// An itemResult is the result of one item.
type itemResult struct {
	item  int
	tries int           // after the first
	took  time.Duration // of all tries
	res   Result
	left  *value.Map // by an item with a memory of its own, in place of res
	err   error      // it could not be attempted
}

func newRound(e *Executor, st *State) (*round, error) {
	list, err := e.roll(st, e.mem.Items)
	if err != nil {
		return nil, err
	}
	r := &round{
		e: e, st: st, list: list, ends: make([]itemEnd, list.count()), starts: map[int]int{}, kept: e.now(),
		path: e.branchPath(),
	}
	if e.cfg.History == nil {
		r.entries = map[int]string{}
	}
	if r.check, err = e.checkRun(st); err != nil {
		return nil, err
	}
	r.window.on = !st.Once && e.flows()
	if st.Each.inside(st) {
		r.crew = newCrew(e, st)
		r.crew.most = st.Each.Parallel
	}
	return r, nil
}

// recall finds out which items have ended: from the memory, and from the history after the events that the
// memory has taken in.
func (r *round) recall() error {
	from := r.e.mem.Items
	r.window.forget()
	if err := decodeEnds(from.Ends, from.Step, r.ends); err != nil {
		return err
	}
	if err := r.decodeStarts(from.Starts, from.Step); err != nil {
		return err
	}
	for _, end := range r.ends {
		r.count(end)
	}
	for ev, err := range r.e.history(max(from.Through, from.Since)) {
		if err != nil {
			return &HistoryError{err}
		}
		r.learn(ev)
	}
	r.window.suspect(r)
	return nil
}

// learn notes one event of the history.
func (r *round) learn(ev Event) {
	if !r.own(ev) {
		return
	}
	switch ev.Kind {
	case EventStateEnter: // whatever items ended before are those of another visit
		if ev.Get("resumed") == nil {
			clear(r.ends)
			clear(r.starts)
			r.done, r.failed = 0, 0
		}
	case EventItemsStart:
		r.window.forget()
		r.reopen(againOf(ev))
	case EventItemStart:
		if i, ok := r.indexOf(ev); ok && !r.ends[i].over() {
			r.window.learn(i, ev, r.e.cfg.Boot)
			n, _ := ev.Get("attempt").(int64)
			r.start(i, max(int(n), r.started(i), 1))
		}
	case EventItemEnd, EventItemTaken:
		if i, ok := r.indexOf(ev); ok && !r.ends[i].over() {
			name, _ := ev.Get("verdict").(string)
			r.settle(i, endOf(name))
		}
	}
}

// own reports whether an event is of the loop whose state this is, and not of one inside it or beside it.
func (r *round) own(ev Event) bool {
	branch, _ := ev.Get("branch").(string)
	return ev.Depth == r.e.depth && branch == r.path
}

// run works until nothing more is to be done here. It reports true if the state is left for another reason than
// its verdict.
func (r *round) run() (decision, bool) {
	e := r.e
	for {
		before, held := r.done, false
		if r.crew != nil {
			r.crew.cut = false
			r.workInside()
		} else {
			r.work()
		}
		switch {
		case e.machine.broken != nil || e.ending():
			r.remember()
			return decision{halted: true}, true
		case r.crew != nil && e.mem.PendingRequest == "error":
			return decision{}, true
		case r.crew != nil && r.crew.hands:
			r.remember()
			e.mem.PendingRequest, e.mem.PendingPayload = "handoff", r.crew.handoff
			return decision{}, true
		case r.crew != nil && r.crew.refused != nil:
			r.remember()
			return e.unanswered(r.st, r.crew.refused), true
		case len(r.again) == 0 && (r.done == r.list.count() || r.failed > 0 && !r.st.Each.Continue):
			return decision{}, false
		case e.drained():
			r.remember()
			return decision{halted: true}, true
		case e.over():
			r.remember()
			if e.loopTimeout() != pass {
				return decision{halted: true}, true
			}
		case e.isHeld():
			r.remember()
			if e.held() == ended {
				return decision{halted: true}, true
			}
			held = true
		}
		if over := e.usedUp(needTime); over != nil {
			r.remember()
			return e.overspent(r.st, over), true
		}
		if r.crew != nil {
			if err := e.affordable(); err != nil {
				r.remember()
				return e.exception(r.st, err), true
			}
			if e.mem.parkedBranch() {
				r.remember()
				return decision{halted: true, parked: true}, true
			}
			if r.done == before && !held && !r.crew.goesOn() { // what is left cannot continue now
				r.remember()
				return decision{halted: true}, true
			}
			r.next = 0 // those that were cut short continue
		}
	}
}

// work begins items for as long as it may, and returns when none runs any more.
func (r *round) work() {
	e := r.e
	for {
		var jobs []func()
		r.window.open(e.machine)
		r.taken = r.takeIn() // before items begin: their start has to be after what the memory has
		if r.retries = len(r.again) > 0 && !e.isHeld(); r.retries {
			for _, out := range r.again {
				if job := r.try(out); job != nil {
					jobs = append(jobs, job)
				}
			}
			r.again = nil
		}
		for r.running+len(jobs)+len(r.again) < r.st.Each.Parallel && r.mayBegin() && !r.window.shut(r.next) {
			if job := r.begin(); job != nil {
				jobs = append(jobs, job)
			} else if len(e.batch.Events) >= mostAtOnce && r.save() {
				e.settleMany()
			}
		}
		if !r.save() {
			jobs = nil
		}
		r.running += len(jobs)
		for _, job := range jobs {
			job()
		}
		shut := r.running < r.st.Each.Parallel && r.mayBegin() && r.window.shut(r.next)
		if r.running == 0 && !shut {
			return
		}
		e.rest(func() bool { return len(r.results) > 0 || shut && r.window.opens(e.machine) }, nil)
		for _, res := range r.results {
			if r.ended(res) {
				r.again = append(r.again, res)
			}
		}
		r.results = r.results[:0]
	}
}

// mayBegin reports whether another item may begin now.
func (r *round) mayBegin() bool {
	e := r.e
	return r.next < r.list.count() && e.machine.broken == nil && (r.crew == nil || r.crew.refused == nil) &&
		!e.ending() && (r.failed == 0 || r.st.Each.Continue) && !e.over() && !e.isHeld() && !e.drained() &&
		e.usedUp(needTime) == nil
}

// begin reports that the next item begins, and returns what is to be done for it; nil = nothing.
func (r *round) begin() func() {
	i := r.next
	r.next++
	if r.ends[i].over() {
		return nil
	}
	if r.ends[i] == itemBegun && r.st.Once {
		r.tell(itemResult{item: i, err: errCutShort}, ItemInterrupted)
		return nil
	}
	return r.try(itemResult{item: i, tries: -1})
}

// try reports that a try of an item begins, and returns what is to be done for it; nil = nothing. out is the result of
// the one before: each is on record, so that the next process knows how often the item was started.
func (r *round) try(out itemResult) func() {
	e, i := r.e, out.item
	out = itemResult{item: i, tries: out.tries + 1, took: out.took}
	n := r.started(i) + 1
	r.start(i, n)
	fields := []Field{{"item", int64(i + 1)}, {"key", shortKey(r.list.key(i))}}
	if n > 1 {
		fields = append(fields, Field{"attempt", int64(n)})
	}
	text, err := expr.Expand(r.st.Action, r.itemScope(i))
	if r.st.Check != nil && err == nil { // the receipt of the run has them
		fields = append(fields, Field{"action", text}, Field{"value", r.list.itemText(i)})
	}
	e.emit(EventItemStart, fields...)
	if err != nil {
		out.err = err
		r.tell(out, "error")
		return nil
	}
	m := e.mem
	wall, idle := timeoutsOf(e.cfg.Loop, r.st, KindShell)
	a := Action{
		Kind: KindShell, Text: text, State: r.st.Name, Step: m.Step, Attempt: m.Attempt,
		Item: AttemptMark(i+1, out.tries+1), Started: n, Outer: e.outer,
		At:  e.visitAddress() + branchSign + itemName(i+1, 1),
		Dir: e.dir, Sandbox: e.sandbox(r.st), Vars: append(e.vars(), r.itemVars(i)...), Timeout: wall, Idle: idle,
		Quiet: true, Check: r.check,
	}
	return func() {
		x := e.start(func(ctx context.Context) { out.res, out.err = e.cfg.Runner.Run(ctx, a, nil) })
		x.then = func() {
			out.took += x.took
			r.results = append(r.results, out)
		}
	}
}

// judge finds the verdict of an item. It changes nothing.
func (r *round) judge(res Result) string {
	cfg := r.st.Evaluate
	if cfg == nil {
		d := DefaultEvaluate("exit_code")
		cfg = &d
	}
	v, _, err := Judge(cfg, Evidence{Output: res.Stdout, ExitCode: res.ExitCode, Acted: true, Cut: res.Truncated})
	if err != nil || v.Name != "yes" && v.Name != "no" {
		return "error"
	}
	return v.Name
}

// ended notes the result of an item, and reports whether it is to be tried once more. What a stop cut short is not
// remembered.
func (r *round) ended(out itemResult) (again bool) {
	r.running--
	r.e.breaks(out.err)
	if errors.Is(out.err, ErrScarce) {
		r.open(out.item, r.started(out.item)-1) // it has not begun
		return false
	}
	if r.e.ending() || r.e.machine.broken != nil {
		return false
	}
	verdict := "error"
	if out.err == nil {
		verdict = r.judge(out.res)
	}
	if verdict != "yes" && out.tries < r.st.Each.Retries {
		return true
	}
	r.tell(out, verdict)
	return false
}

// tell reports how an item ended.
func (r *round) tell(out itemResult, verdict string) {
	r.settle(out.item, endOf(verdict))
	res := out.res
	fields := []Field{{"item", int64(out.item + 1)}, {"key", shortKey(r.list.key(out.item))}, {"verdict", verdict}}
	switch {
	case out.err != nil:
		fields = append(fields, Field{"error", value.Truncate(out.err.Error(), 500)})
	case out.left != nil:
		fields = append(append(fields, Field{"duration_ms", milliseconds(out.took)}), leftFields(out.left)...)
	default:
		fields = append(fields, Field{"exit_code", int64(res.ExitCode)}, Field{"duration_ms", milliseconds(out.took)})
	}
	if out.tries > 0 {
		fields = append(fields, Field{"retries", int64(out.tries)})
	}
	if res.TimeoutKind != "" {
		fields = append(fields, Field{"timeout_kind", res.TimeoutKind})
	}
	if res.File != "" {
		fields = append(fields, Field{"output", preview(res.Stdout)}, Field{"output_file", res.File},
			Field{"output_bytes", res.Bytes})
	} else if text := strings.TrimRight(res.Stdout, "\r\n"); text != "" {
		fields = append(fields, Field{"output", text})
	}
	fields = append(fields, res.refused()...)
	if text := preview(res.Stderr); text != "" && verdict != "yes" {
		fields = append(fields, Field{"stderr_preview", text})
	}
	fields = append(fields, Field{"done", int64(r.done)}, Field{"failed", int64(r.failed)},
		Field{"running", int64(r.running)}, Field{"items", int64(r.list.count())})
	ev := Event{Kind: EventItemEnd, Time: r.e.now(), Fields: fields}
	if r.entries != nil {
		r.entries[out.item] = r.entry(ev)
	}
	r.e.batch.Events = append(r.e.batch.Events, ev)
}

// shortKey is a key as events have it. The whole of it is in the list.
func shortKey(key string) string {
	if short := value.Truncate(key, 200); short != key {
		return short + "…"
	}
	return key
}

// save has the events so far made durable before anything is started. The memory takes in the ends of items,
// and with them how long the run took, only when there are many that it does not have, or some for long: until
// then they are in the history alone, and the memory has not changed.
//
// Where all items that begin are in the window, and none is tried again, nothing waits until the events are durable.
func (r *round) save() bool {
	e := r.e
	flows, announced := r.window.announce(r)
	if announced {
		defer func() { r.window.at = e.machine.numbered() }()
	}
	if r.taken || r.takeIn() {
		r.taken = false
		return e.record(true)
	}
	return e.save(flows && !r.retries)
}

// takeIn has the memory take in the ends that it does not have, if that is due.
func (r *round) takeIn() bool {
	if r.e.machine.broken != nil || !r.due() {
		return false
	}
	r.remember()
	return true
}

// due reports whether the memory is to take in the ends that it does not have.
func (r *round) due() bool {
	every := r.e.cfg.EndsEvery
	if every == 0 {
		every = endsEvery
	}
	return r.fresh >= every || r.fresh > 0 && r.e.now().Sub(r.kept) >= endsLatest
}

// save has the events so far made durable before anything is started, without the memory, which has not
// changed. It reports whether something can be recorded.
// With flows, the events become durable while items are at work.
func (e *Executor) save(flows bool) bool {
	if e.machine.broken != nil {
		return false
	}
	if len(e.batch.Events) == 0 {
		return true
	}
	e.batch.Snapshot, e.batch.Checkpoint, e.batch.Written = nil, !flows, flows
	return e.write(&e.batch)
}
