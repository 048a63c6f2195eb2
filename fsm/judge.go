package fsm

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"loops/fsm/expr"
	"loops/fsm/value"
)

// judged evaluates a state and follows its verdict. res is nil for a state that did not act.
func (e *Executor) judged(st *State, res *Result) decision {
	m := e.mem
	why := e.permanent(st, res)
	if why != nil && e.permanentSlot(st, res) == "" {
		return decision{refused: why.Why, suspended: why}
	}
	v, evaluated, err := e.evaluate(st, res)
	if err != nil {
		return e.exception(st, err)
	}
	before := m.PrevResult
	m.PrevResult = prevResult(st, res)
	if rec, ok := m.Captured.Get(st.Capture); ok && st.Capture != "" {
		if rec, ok := rec.(*value.Map); ok {
			with := rec.Clone()
			with.Set("verdict", v.Name)
			if !evaluated {
				with.Set("verdict", "")
			}
			m.setCapture(st.Capture, with)
		}
	}
	if !evaluated {
		v.Name = "yes"
	}
	code := 0
	if res != nil {
		code = res.ExitCode
	}
	if why != nil {
		return e.leadsSuspended(st, e.permanentSlot(st, res), why.Why,
			e.scope(value.NewMap("verdict", v.Name, "details", v.Details)))
	}
	if d, done := e.failed(st, res); done {
		return d // it is tried again: that is not going in circles
	}
	if d, refused := e.judgeRefused(st, v); refused {
		return d
	}
	if e.planRetry(st, res, v.Name) {
		return decision{retry: true}
	}
	forced, stall, err := e.stalled(st, code, v.Name)
	switch {
	case err != nil:
		return e.exception(st, err)
	case stall != "":
		return decision{stall: stall}
	case forced != "":
		return decision{target: forced}
	}
	scope := e.scope(value.NewMap("verdict", v.Name, "details", v.Details))
	// until its waits were used up
	limited := v.Name == "error" && v.Details.Value("failure") == string(FailRateLimited)
	if limited && st.OnRateLimitExhausted != "" {
		target, err := e.target(st.OnRateLimitExhausted, scope)
		if err != nil {
			return e.exception(st, err)
		}
		return decision{target: target}
	}
	if limited && e.inline {
		return decision{unjudged: true}
	}
	if v.Name == "error" && st.RetryableExitCodes != nil && !slices.Contains(st.RetryableExitCodes, code) {
		slot := st.OnRetryExhausted
		if slot == "" {
			slot = st.On["error"]
		}
		if slot != "" {
			target, err := e.target(slot, scope)
			if err != nil {
				return e.exception(st, err)
			}
			return decision{target: target}
		}
	}
	name := v.Name
	if e.refusedAsVerdict(st, res) && !judgesFailure(st) {
		name = "error"
	}
	if res == nil && st.Route != nil && st.Route.Cases != nil {
		scope.Prev = before // as set and evaluate see it
	}
	target, err := e.route(st, name, scope)
	switch {
	case err != nil:
		return e.exception(st, err)
	case target != "":
		return decision{target: target}
	case e.refusedAsVerdict(st, res):
		return decision{refused: permanentFailure(st, res).Why}
	}
	return decision{unjudged: limited}
}

// evaluate finds the verdict on a result. It reports false where there is nothing to evaluate.
func (e *Executor) evaluate(st *State, res *Result) (Verdict, bool, error) {
	m := e.mem
	cfg, label := st.Evaluate, ""
	if cfg == nil {
		if res == nil {
			return Verdict{}, false, nil
		}
		d := DefaultEvaluate(defaultEvaluator(KindOf(st)))
		cfg, label = &d, "default"
	} else {
		label = cfg.Type
	}
	scope := e.scope(nil)
	ev, err := e.evidence(cfg, scope, res)
	if err != nil {
		return Verdict{}, false, err
	}
	ev.Memory = m.Evaluators[st.Name]
	if cfg.Expression != nil && res != nil {
		scope.Prev = prevResult(st, res) // as set and the conditions of a route see it; a source does not
	}
	if cfg.Type == "diff_stall" {
		ev.Diff = func() (Result, error) { return e.gitDiff(st, cfg) }
	}
	var v Verdict
	var q *asker
	decided := false
	if e.cfg.Verdict != nil {
		if res == nil && !(e.record(false) && e.settle()) { // it looks at what is on record
			return Verdict{}, false, errHalted
		}
		ev.At = e.visitAddress()
		v, decided = e.cfg.Verdict(e.cfg.Loop, st, cfg, ev)
	}
	// What was done is remembered before anything that may take a while looks at it.
	if !decided && res != nil && slow(cfg.Type) && cfg.Type != "llm_structured" &&
		!(e.record(cfg.Type != "output_contains") && e.settle()) {
		return Verdict{}, false, errHalted
	}
	switch {
	case decided:
	case cfg.Type != "exit_code" && cfg.Type != "mcp_result" && e.permanent(st, res) != nil:
		v = exitedBadly(res.ExitCode)
	case cfg.Type == "llm_structured" && !e.cfg.Loop.LLM.Enabled:
		v = errorVerdict("error", errNoLLM)
	default:
		if ev, err = e.whole(st, cfg, ev, res); err != nil {
			break
		}
		if v, ev.Memory, err = Judge(cfg, ev); !errors.Is(err, ErrNeedsJudge) {
			break
		}
		if res != nil && res.ExitCode != 0 && KindOf(st) == KindPrompt {
			// An attempt that failed is not paid for twice, and no judge talks it into a success.
			v, err = exitedBadly(res.ExitCode), nil
		} else {
			v, q, err = e.ask(st, cfg, ev, err)
			if !e.settle() { // the answers would be recorded with what follows, and half of that perhaps
				return Verdict{}, false, errHalted
			}
		}
	}
	if e.machine.broken != nil || e.ending() && slow(cfg.Type) {
		return Verdict{}, false, errHalted
	}
	if err != nil {
		return Verdict{}, false, err
	}
	if ev.Memory != m.Evaluators[st.Name] {
		if m.Evaluators == nil {
			m.Evaluators = make(map[string]Repeat)
		}
		m.Evaluators[st.Name] = ev.Memory
	}
	fields := []Field{{"type", label}, {"verdict", v.Name}}
	for _, k := range v.Details.Keys() {
		d, _ := v.Details.Get(k)
		fields = append(fields, Field{k, d})
	}
	e.emit(EventEvaluate, q.tell(append(fields, st.Check.fields()...))...)
	m.LastResult = value.NewMap("verdict", v.Name, "details", v.Details)
	return v, true, nil
}

// evidence returns what an evaluator looks at.
func (e *Executor) evidence(cfg *Evaluate, scope *expr.Scope, res *Result) (Evidence, error) {
	ev := Evidence{Scope: scope, Files: e.cfg.Files}
	if res != nil {
		ev.Output, ev.ExitCode, ev.Acted, ev.Cut = res.Stdout, res.ExitCode, true, res.Truncated
	}
	if cfg.HasSource {
		text, err := expr.Expand(cfg.Source, asData(scope))
		if _, unread := errors.AsType[*expr.UnreadableError](err); unread || err != nil &&
			cfg.Type == EvaluateLearning {
			return ev, err // targets that are not known are not none
		}
		if err == nil {
			ev.Output, ev.Cut = text, false
		}
	}
	return ev, nil
}

func defaultEvaluator(mode Kind) string {
	switch mode {
	case KindMCP:
		return "mcp_result"
	case KindPrompt:
		return "llm_structured"
	}
	return "exit_code"
}

// slow names the evaluators that run a process or ask a judge, which want what was done to be durable, and
// the one that matches patterns of unknown cost, for which the journal is enough. An asker records by itself.
func slow(typ string) bool {
	switch typ {
	case "diff_stall", "llm_structured", "comparator", "contract", "output_contains":
		return true
	}
	return false
}

// route resolves a verdict to a state, or to "" where no route takes it (D3).
func (e *Executor) route(st *State, verdict string, scope *expr.Scope) (string, error) {
	m := e.mem
	declared := e.declares(st, verdict)
	if verdict == "cannot_judge" || strings.HasPrefix(verdict, "cannot_judge_") {
		if !declared {
			return e.hold(st, scope)
		}
	}
	delete(m.Holds, st.Name)
	if st.Route != nil && st.Route.Cases != nil && verdict != "error" {
		slot, err := st.Route.choose(scope)
		if err != nil {
			return "", err
		}
		return e.target(slot, scope)
	}
	return e.target(slotOf(st, verdict), scope)
}

// slotOf returns the target of a verdict by the on_ keys or the table of a state, "" for none. Of a list of conditions
// only error has one.
func slotOf(st *State, verdict string) string {
	if st.Route == nil {
		slot := st.On[verdict]
		if slot == "" && verdict == "no" {
			slot = st.On["error"]
		}
		if slot == "" && verdict == "interrupted" {
			slot = st.OnInterrupted // the key is taken, the verdict is not
		}
		return slot
	}
	if t, ok := st.Route.Table.Get(verdict); ok {
		slot, _ := t.(string)
		return slot
	}
	slot := st.Route.Default
	switch {
	case st.Route.Cases != nil:
		slot = st.Route.Error
	case verdict == "error" && st.Route.Error != "", verdict == "no" && slot == "":
		slot = st.Route.Error
	}
	return slot
}

// Slot returns where a verdict leads that no run has come to yet: a state, [Current], a template of one, or ""
// where the run ends. Of a route that is a list of conditions only the verdict error is known before.
func Slot(st *State, verdict string) string {
	good := verdict == "yes" || verdict == ItemsEmpty
	switch {
	case st.Loop != "":
		return outcomeSlot(st, verdict, good)
	case st.Next == "":
		return slotOf(st, Followed(st, verdict))
	case good || st.On["error"] == "" || st.Await != nil && st.Await.Ask != nil && verdict != AwaitTimeout &&
		verdict != AwaitWithdrawn && verdict != "error":
		return st.Next
	}
	return st.On["error"]
}

func (e *Executor) declares(st *State, verdict string) bool {
	if st.Route != nil {
		_, ok := st.Route.Table.Get(verdict)
		return ok
	}
	return st.On[verdict] != ""
}

// maxHolds is how often in a row a judge may abstain before that counts as an error.
const maxHolds = 2

// hold stays in a state whose judge abstained, at most maxHolds times in a row.
func (e *Executor) hold(st *State, scope *expr.Scope) (string, error) {
	m := e.mem
	if m.Holds == nil {
		m.Holds = make(map[string]int)
	}
	if m.Holds[st.Name]++; m.Holds[st.Name] <= maxHolds {
		return st.Name, nil
	}
	delete(m.Holds, st.Name)
	slot := st.On["error"]
	if st.Route != nil {
		slot = st.Route.Error
	}
	return e.target(slot, scope)
}

// target resolves what a transition slot says. "" stays "".
func (e *Executor) target(slot string, scope *expr.Scope) (string, error) {
	if slot == "" {
		return "", nil
	}
	if slot == Current {
		return e.mem.Current, nil
	}
	name, err := expr.Expand(slot, scope)
	if err != nil {
		return "", err
	}
	if name == Current {
		return e.mem.Current, nil
	}
	if e.cfg.Loop.States[name] == nil {
		return "", fmt.Errorf("state %s routes to %q, which is not a state of the loop", e.mem.Current, name)
	}
	return name, nil
}

// scope is what templates see now. result is {verdict, details} while a verdict is being routed.
func (e *Executor) scope(result *value.Map) *expr.Scope {
	m := e.mem
	var item *value.Map
	if p := e.place(); p != nil {
		item = p.round.itemValue(p.item)
	}
	return &expr.Scope{
		Item:    item,
		Context: m.Context, Captured: e.captured(), Param: m.Param, Prev: m.PrevResult, Event: m.Event,
		Result: result, State: m.Current, Step: m.Step,
		Visits: e.visits, RunID: e.cfg.Run.ID, RunAttempt: max(1, e.cfg.Run.Attempt),
		ScheduledAt: e.cfg.Run.ScheduledAt,
		Loop:        m.Loop, StartedAt: e.startAt, ElapsedMS: e.elapsed().Milliseconds(), Messages: m.Messages,
		Getenv: e.cfg.Getenv, Secret: e.cfg.Secret,
		MadeUp: e.cfg.MadeUp, ReadText: e.readText, Memory: e.memoryScope(),
	}
}

// stalled feeds the stall detector. It returns the state to recover in, or the text that ends the run.
func (e *Executor) stalled(st *State, code int, verdict string) (target, end string, err error) {
	cfg := e.cfg.Loop.Stall
	if cfg == nil {
		return "", "", nil
	}
	fire, fired := e.mem.recordStall(cfg, StallRecord{State: st.Name, ExitCode: code, Verdict: verdict},
		e.fingerprint(cfg))
	if !fired {
		return "", "", nil
	}
	action := "abort"
	if cfg.OnRepeated != "" && cfg.OnRepeated != "abort" {
		if target, err = e.target(cfg.OnRepeated, e.scope(nil)); err != nil {
			return "", "", err
		}
		action = "route:" + target
	}
	e.emit(EventStallDetected, Field{"state", st.Name}, Field{"exit_code", int64(code)}, Field{"verdict", verdict},
		Field{fire.Kind, int64(fire.Count)}, Field{"action", action})
	if target != "" {
		return target, "", nil
	}
	times := "times in a row"
	if fire.Kind == "recurrent" {
		times = "times in this run"
	}
	return "", fmt.Sprintf("stalled: state %s ended with exit code %d and verdict %s %d %s", st.Name, code, verdict,
		fire.Count, times), nil
}

// fingerprint is the state of the progress paths; "" where there are none.
func (e *Executor) fingerprint(cfg *Stall) string {
	if len(cfg.ProgressPaths) == 0 || e.cfg.Files == nil {
		return ""
	}
	scope := e.scope(nil)
	excluded := make(map[string]bool)
	for _, p := range cfg.ExcludePaths {
		if path, err := expr.Expand(p, scope); err == nil {
			excluded[filepath.Clean(path)] = true
		}
	}
	var b strings.Builder
	for _, p := range cfg.ProgressPaths {
		path, err := expr.Expand(p, scope)
		if err != nil || excluded[filepath.Clean(path)] {
			continue
		}
		mod, size, err := e.cfg.Files.Stat(path)
		if err != nil {
			e.breaks(err)
			b.WriteString("-;")
			continue
		}
		fmt.Fprintf(&b, "%d,%d;", mod.UnixNano(), size)
	}
	return b.String()
}
