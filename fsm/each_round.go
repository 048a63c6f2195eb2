package fsm

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// fields tell of it in the event of the list.
func (a ItemsAgain) fields() (fields []Field) {
	if a.Failed {
		fields = append(fields, Field{"retry_failed", true})
	}
	if a.Interrupted {
		fields = append(fields, Field{"rerun", true})
	}
	return fields
}

func againOf(ev Event) ItemsAgain {
	return ItemsAgain{Failed: ev.Get("retry_failed") == true, Interrupted: ev.Get("rerun") == true}
}

// takes reports whether an item that came to a verdict is done again.
func (a ItemsAgain) takes(verdict string) bool {
	switch verdict {
	case "", "yes":
		return false
	case ItemInterrupted:
		return a.Interrupted
	}
	return a.Failed
}

// reopen takes the ends of items back that are done again.
func (r *round) reopen(again ItemsAgain) {
	if again == (ItemsAgain{}) {
		return
	}
	for i, verdict := range r.ends {
		if again.takes(verdict) {
			r.ends[i] = ""
			r.done--
			r.failed--
		}
	}
	if again.Interrupted {
		clear(r.begun)
	}
}

func (r *round) indexOf(ev Event) (int, bool) {
	n, ok := ev.Get("item").(int64)
	return int(n) - 1, ok && n >= 1 && n <= int64(len(r.items))
}

func (r *round) settle(i int, verdict string) {
	r.ends[i] = verdict
	r.done++
	if verdict != "yes" {
		r.failed++
	}
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

// verdict is what the items came to together.
func (r *round) verdict() string {
	switch good := r.done - r.failed; {
	case good == len(r.items):
		return "yes"
	case good > 0:
		return ItemsPartial
	}
	return "no"
}

// mostOutput is how long the list of results may be that a capture holds whole, in bytes.
const mostOutput = 1 << 20

// result makes the result of the state, and what it captures.
func (r *round) result(ctx context.Context) (Result, *value.Map, error) {
	e, m := r.e, r.e.mem
	res := Result{Stdout: fmt.Sprintf("%d of %d items are done, %d of them failed", r.done, len(r.items), r.failed)}
	if r.st.Capture == "" {
		return res, nil, nil
	}
	var failed []string
	for i, verdict := range r.ends {
		if verdict != "" && verdict != "yes" {
			failed = append(failed, r.keys[i])
		}
	}
	list, err := r.list(ctx)
	if err != nil {
		return res, nil, err
	}
	rec := value.NewMap("output", list, "failed", strings.Join(failed, "\n"), "items", int64(len(r.items)), "done", int64(r.done))
	dir, _ := m.Context.Value("run_dir").(string)
	if dir != "" && (len(list) > mostOutput || e.keep[r.st.Capture]) {
		name := strings.TrimRight(dir, "/") + "/" + fmt.Sprintf("items-%s%d-%s.json", strings.ReplaceAll(strings.TrimPrefix(e.outer+"/", "/"), "/", "-"), m.Step, VarName(r.st.Name))
		if err := e.cfg.Files.WriteFile(name, []byte(list)); err != nil {
			return res, nil, err
		}
		rec.Set("file", name)
	}
	if len(list) > mostOutput {
		cut := max(strings.LastIndex(list[:mostOutput], "\n"), 1)
		rec.Set("output", strings.TrimSuffix(list[:cut], ",")+"\n]")
		rec.Set("truncated", true)
		rec.Set("bytes", int64(len(list)))
	}
	return res, rec, nil
}

// list is the JSON list of the results, in the order of the items, one a line.
func (r *round) list(ctx context.Context) (string, error) {
	entries, verdicts := make([]string, len(r.items)), make([]string, len(r.items))
	for i, text := range r.entries {
		entries[i] = text
	}
	for ev, err := range r.e.history(ctx) {
		if err != nil {
			return "", fmt.Errorf("the history of the run cannot be read: %w", err)
		}
		switch {
		case !r.own(ev):
		case ev.Kind == EventStateEnter && ev.Get("resumed") == nil:
			clear(entries)
		case ev.Kind == EventItemsStart:
			again := againOf(ev)
			for i, verdict := range verdicts {
				if again.takes(verdict) {
					entries[i], verdicts[i] = "", ""
				}
			}
		case ev.Kind == EventItemEnd:
			if i, ok := r.indexOf(ev); ok && entries[i] == "" {
				entries[i] = r.entry(ev)
				verdicts[i], _ = ev.Get("verdict").(string)
			}
		}
	}
	entries = slices.DeleteFunc(entries, func(text string) bool { return text == "" })
	if len(entries) == 0 {
		return "[]", nil
	}
	return "[\n" + strings.Join(entries, ",\n") + "\n]", nil
}

// entry is the result of one item as JSON.
func (r *round) entry(ev Event) string {
	i, _ := r.indexOf(ev)
	m := value.NewMap("item", r.items[i], "key", r.keys[i])
	for _, key := range []string{"verdict", "exit_code", "duration_ms", "output", "output_file", "error"} {
		if v := ev.Get(key); v != nil {
			if key == "output_file" {
				key = "file"
			}
			m.Set(key, v)
		} else if key == "output" {
			m.Set(key, "")
		}
	}
	return string(value.AppendJSON(nil, m))
}
