package fsm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"loops/fsm/template"
	"loops/fsm/value"
)

// A round works on the items of one visit. All but the actions themselves happens on the goroutine that runs the machine.
type round struct {
	e       *Executor
	st      *State
	items   []any
	keys    []string
	ends    []string       // verdict by item; "" = it has not ended
	begun   []bool         // by an earlier process, which did not live to see the end
	entries map[int]string // of the capture, where there is no history to read them from
	next    int            // the first item that may have to begin
	done    int            // items that have ended, of which
	failed  int            // did not come to yes
	running int
	results chan itemResult
	path    string // of the branches that the loop is in
}

// An itemResult is what came of one item.
type itemResult struct {
	item  int
	tries int // after the first
	took  time.Duration
	res   Result
	err   error // it could not be attempted
}

func newRound(e *Executor, st *State) (*round, error) {
	m := e.mem
	v, err := value.ParseJSON([]byte(m.Items.List))
	list, ok := v.([]any)
	if err != nil || !ok || len(list) != m.Items.Count {
		return nil, fmt.Errorf("for_each: the list of state %s on record cannot be read", st.Name)
	}
	n := len(list)
	keys, err := e.itemKeys(st, list)
	if err != nil {
		return nil, err
	}
	r := &round{e: e, st: st, items: list, keys: keys, ends: make([]string, n), begun: make([]bool, n), results: make(chan itemResult, st.Each.Parallel), path: e.branchPath()}
	if e.cfg.History == nil {
		r.entries = map[int]string{}
	}
	return r, nil
}

// recall finds out from the history which items have ended.
func (r *round) recall(ctx context.Context) error {
	for ev, err := range r.e.history(ctx) {
		if err != nil {
			return fmt.Errorf("the history of the run cannot be read: %w", err)
		}
		r.learn(ev)
	}
	return nil
}

// learn takes in one event of the history.
func (r *round) learn(ev Event) {
	if !r.own(ev) {
		return
	}
	switch ev.Kind {
	case EventStateEnter: // whatever items ended before are those of another visit
		if ev.Get("resumed") == nil {
			clear(r.ends)
			clear(r.begun)
			r.done, r.failed = 0, 0
		}
	case EventItemsStart:
		r.reopen(againOf(ev))
	case EventItemStart:
		if i, ok := r.indexOf(ev); ok {
			r.begun[i] = true
		}
	case EventItemEnd:
		if i, ok := r.indexOf(ev); ok && r.ends[i] == "" {
			name, _ := ev.Get("verdict").(string)
			r.settle(i, name)
		}
	}
}

// own reports whether an event is of the loop whose state this is, and not of one inside it or beside it.
func (r *round) own(ev Event) bool {
	branch, _ := ev.Get("branch").(string)
	return ev.Depth == r.e.depth && branch == r.path
}

// run works until nothing more is to be done here. It reports true if the state is left for another reason than its verdict.
func (r *round) run(ctx context.Context) (decision, bool) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	e := r.e
	for {
		r.work(ctx, cancel)
		switch {
		case e.broken != nil || ctx.Err() != nil:
			return decision{halted: true}, true
		case r.done == len(r.items) || r.failed > 0 && !r.st.Each.Continue:
			return decision{}, false
		case e.over():
			if e.loopTimeout(ctx) != pass {
				return decision{halted: true}, true
			}
		case e.isHeld():
			if e.held(ctx) == ended {
				return decision{halted: true}, true
			}
		}
		if over := e.wallSpent(); over != nil {
			return e.overspent(r.st, over), true
		}
	}
}

// work begins items for as long as it may, and returns when none runs any more.
func (r *round) work(ctx context.Context, cancel context.CancelCauseFunc) {
	e := r.e
	for {
		var jobs []func()
		for r.running+len(jobs) < r.st.Each.Parallel && r.mayBegin(ctx) {
			if job := r.begin(ctx); job != nil {
				jobs = append(jobs, job)
			} else if r.next >= len(r.items) {
				break
			}
		}
		if !e.save(ctx) {
			cancel(e.broken) // nothing of what still runs can be remembered
			jobs = nil
		}
		r.running += len(jobs)
		for _, job := range jobs {
			go job()
		}
		if r.running == 0 {
			return
		}
		var first itemResult
		e.away(ctx, func() { first = <-r.results })
		r.ended(ctx, first)
		for more := true; more && r.running > 0; {
			select {
			case res := <-r.results:
				r.ended(ctx, res)
			default:
				more = false
			}
		}
	}
}

// mayBegin reports whether another item may begin now.
func (r *round) mayBegin(ctx context.Context) bool {
	e := r.e
	return r.next < len(r.items) && e.broken == nil && ctx.Err() == nil && (r.failed == 0 || r.st.Each.Continue) && !e.over() && !e.isHeld() && e.wallSpent() == nil
}

// begin tells that the next item begins, and returns what is to be done for it; nil = nothing.
func (r *round) begin(ctx context.Context) func() {
	e, i := r.e, r.next
	r.next++
	if r.ends[i] != "" {
		return nil
	}
	if r.begun[i] && r.st.Once {
		r.tell(itemResult{item: i, err: errors.New("it was cut short, and idempotent: false does not let it be done again")}, ItemInterrupted)
		return nil
	}
	e.emit(EventItemStart, Field{"item", int64(i + 1)}, Field{"key", shortKey(r.keys[i])})
	text, err := template.Expand(r.st.Action, r.itemScope(i))
	if err != nil {
		r.tell(itemResult{item: i, err: err}, "error")
		return nil
	}
	m := e.mem
	wall, idle := timeoutsOf(e.cfg.Loop, r.st, KindShell)
	a := Action{
		Kind: KindShell, Text: text, State: r.st.Name, Step: m.Step, Attempt: m.Attempt, Outer: e.outer, Dir: e.dir,
		Vars: append(e.vars(), r.itemVars(i)...), Timeout: wall, Idle: idle, Quiet: true,
	}
	return func() { r.results <- r.do(ctx, a, i) }
}

// do does an item. It is called by a goroutine of its own.
func (r *round) do(ctx context.Context, a Action, i int) itemResult {
	out, began := itemResult{item: i}, time.Now()
	for ; ; out.tries++ {
		a.Item = AttemptMark(i+1, out.tries+1)
		out.res, out.err = r.e.cfg.Runner.Run(ctx, a, nil)
		out.took = time.Since(began)
		if ctx.Err() != nil || out.tries >= r.st.Each.Retries || out.err == nil && r.judge(out.res) == "yes" {
			return out
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

// ended takes in what came of an item. What a stop cut short is not remembered.
func (r *round) ended(ctx context.Context, out itemResult) {
	r.running--
	r.e.breaks(out.err)
	if ctx.Err() != nil || r.e.broken != nil {
		return
	}
	verdict := "error"
	if out.err == nil {
		verdict = r.judge(out.res)
	}
	r.tell(out, verdict)
}

// tell tells how an item ended.
func (r *round) tell(out itemResult, verdict string) {
	r.settle(out.item, verdict)
	res := out.res
	fields := []Field{{"item", int64(out.item + 1)}, {"key", shortKey(r.keys[out.item])}, {"verdict", verdict}}
	if out.err != nil {
		fields = append(fields, Field{"error", value.Truncate(out.err.Error(), 500)})
	} else {
		fields = append(fields, Field{"exit_code", int64(res.ExitCode)}, Field{"duration_ms", milliseconds(out.took)})
	}
	if out.tries > 0 {
		fields = append(fields, Field{"retries", int64(out.tries)})
	}
	if res.TimeoutKind != "" {
		fields = append(fields, Field{"timeout_kind", res.TimeoutKind})
	}
	if res.File != "" {
		fields = append(fields, Field{"output", preview(res.Stdout)}, Field{"output_file", res.File}, Field{"output_bytes", res.Bytes})
	} else if text := strings.TrimRight(res.Stdout, "\r\n"); text != "" {
		fields = append(fields, Field{"output", text})
	}
	if text := preview(res.Stderr); text != "" && verdict != "yes" {
		fields = append(fields, Field{"stderr_preview", text})
	}
	fields = append(fields, Field{"done", int64(r.done)}, Field{"failed", int64(r.failed)}, Field{"running", int64(r.running)}, Field{"items", int64(len(r.items))})
	ev := Event{Kind: EventItemEnd, Time: time.Now(), Fields: fields}
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

// save makes the events so far durable, without the memory, which has not changed. It reports whether that worked.
func (e *Executor) save(ctx context.Context) bool {
	if e.broken != nil {
		return false
	}
	if len(e.batch.Events) == 0 {
		return true
	}
	e.batch.Snapshot, e.batch.Checkpoint = nil, true
	return e.write(ctx, &e.batch)
}
