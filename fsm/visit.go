package fsm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"loops/fsm/expr"
	"loops/fsm/value"
)

// errHalted means that nothing may be decided: a stop was asked for while acting, or writing failed.
var errHalted = errors.New("halted")

// The fallbacks where neither the state nor the loop sets a timeout.
const (
	mcpTimeout   = 30 * time.Second
	httpTimeout  = 30 * time.Second
	shellTimeout = time.Hour
	gitTimeout   = 30 * time.Second
	judgeTimeout = 30 * time.Minute
)

// acts reports whether a visit to the state carries out an action.
func acts(st *State) bool {
	return st.Action != "" && (st.Next != "" || KindOf(st) != KindContract)
}

// visit carries out an entered state and decides where to go.
func (e *Executor) visit(st *State) decision {
	if e.lastBefore, e.outcome = e.mem.LastResult, ""; e.mem.Tries > 0 {
		e.followsTry(st)
	}
	if err := e.bindParam(st); err != nil {
		return e.exception(st, err)
	}
	if d, ok := e.failFirst(st); !ok {
		return d
	}
	switch {
	case st.Each != nil:
		return e.each(st)
	case st.Await != nil:
		return e.await(st)
	case st.Branches != nil:
		return e.branches(st)
	case st.Loop != "":
		return e.subloop(st)
	case acts(st):
		return e.try(st)
	}
	// What the run remembered as it came here stays on record, so that it can be forked here.
	if len(st.Set) > 0 && !(e.record(false) && e.settle()) {
		return decision{halted: true}
	}
	if err := e.assign(st, e.mem.PrevResult); err != nil {
		return e.exception(st, err)
	}
	if st.Next != "" {
		target, err := e.target(st.Next, e.scope(nil))
		if err != nil {
			return e.exception(st, err)
		}
		return decision{target: target}
	}
	return e.judged(st, nil)
}

// bindParam makes ${param.*} of a state that was built from a fragment.
func (e *Executor) bindParam(st *State) error {
	e.mem.Param = nil
	if st.Fragment == nil {
		return nil
	}
	given := any(value.NewMap())
	if st.Fragment.Bindings != nil {
		var err error
		if given, err = expr.ExpandValue(st.Fragment.Bindings, asData(e.scope(nil))); err != nil {
			return err
		}
	}
	bound, err := Bind(st.Fragment.Parameters, given.(*value.Map))
	if err != nil {
		return fmt.Errorf("fragment %s: %w", st.Fragment.Name, err)
	}
	e.mem.Param = bound
	return nil
}

// act carries out the action of a state and remembers the result of it. The error is errHalted, or an
// exception in the sense of D11.
func (e *Executor) act(st *State) (Result, error) {
	m := e.mem
	scope := e.scope(nil)
	mode := KindOf(st)
	text, call, err := expandAction(st, scope)
	if err != nil {
		return Result{}, err
	}
	if mode == KindContract {
		mode = KindShell // only reached through next, where the action of a contract state does run
	}
	a := Action{
		Kind: mode, Text: text, Call: call, State: st.Name, Step: m.Step, Keep: e.keep.has(st.Capture),
		Model: st.Model, Agent: st.Agent, Tools: st.Tools,
		RSS: e.budgeted(), Outer: e.outer, At: e.visitAddress(), Dir: e.dir, Sandbox: e.sandbox(st),
	}
	switch mode {
	case KindProgram:
		a.Program = st.Extension.Program
		fallthrough
	case KindShell:
		a.Vars = e.vars()
	}
	if a.Check, err = e.checkRun(st); err != nil {
		return Result{}, err
	}
	a.Timeout, a.Idle = timeoutsOf(e.cfg.Loop, st, mode)
	if st.Params.Len() > 0 || mode == KindMCP {
		params := any(st.Params)
		if st.Params == nil {
			params = value.NewMap()
		}
		if params, err = expr.ExpandValue(params, asData(scope)); err != nil {
			return Result{}, err
		}
		a.Params = string(value.AppendJSON(nil, params))
	}
	var chosen AgentChoice
	told := ""
	if mode == KindPrompt {
		a.Text += m.Handover
		var settle func()
		if chosen, told, settle, err = e.mayAsk(st, &a); err != nil {
			return Result{}, err
		}
		defer settle()
		a.Velocity, a.Quota = e.velocity(), e.quota() != nil
		e.address(st, &a)
		a.Host = chosen.Host
	}
	if mode != KindHTTP {
		if err := e.watch(st); err != nil {
			return Result{}, err
		}
	}
	e.countTry(st)
	e.warnSize(st, text)
	m.Attempt++
	a.Attempt, m.Answers, m.Asking, m.AskingMost = m.Attempt, nil, false, 0
	m.Phase, m.Result = PhaseActing, nil // also where the try before failed
	started := []Field{{"action", text}, {"is_prompt", mode == KindPrompt}}
	if told != "" {
		started = append(started, Field{"budget_left", told})
	}
	most, heard := e.boundOf(&a), func() {}
	if mode == KindPrompt {
		heard = e.asked(most)
		started = append(started, e.askedOf(&a)...)
	}
	if mode == KindPrompt && most > 0 {
		started = append(started, Field{maxCostField, most})
	}
	e.emit(EventActionStart, started...)
	if !e.record(true) {
		return Result{}, errHalted
	}

	var signals SignalScanner
	out := newOutput(e, &signals)
	res, err := e.attempt(a, out.write)
	heard()
	if e.machine.broken == nil && e.ending() && mode == KindPrompt {
		e.cutShort(st, res, most, nil)
	}
	if e.machine.broken != nil || e.ending() {
		_ = e.inspect(st) // a breach is on record: the state is left by it when the run is resumed
		return Result{}, errHalted
	}
	if over, cut := errors.AsType[*overrun](err); cut {
		e.cutShort(st, res, most, over)
	}
	if err != nil {
		return Result{}, cmp.Or(e.inspect(st), err)
	}
	e.completed(st, mode, res, out.dropped)
	if kind, payload, found := signals.Signal(); found {
		m.PendingRequest, m.PendingPayload = kind, payload
	}
	m.Phase, m.Result = PhaseActed, &res
	if mode == KindPrompt {
		e.spend(spentOn(res, most))
		e.clearCircuit(res, chosen.Model)
		e.keepSession(st, res)
		if e.failsOver(st, e.cfg.Loop.PromptHosts(st), chosen, st.Model, &res, false) {
			// what the first agent came to is not judged, even if the process dies now
			m.Phase, m.Result = PhaseActing, nil
			return res, errFailover
		}
		m.Handover = ""
	}
	if a.RSS {
		e.countMemory(st, res)
	}
	if err := e.capture(st, res); err != nil {
		return res, err
	}
	if m.Guard != nil && !e.record(true) {
		return res, errHalted
	}
	return res, e.inspect(st)
}

// askedOf returns the fields of an event that say which agent is asked: if the process dies, nothing else does.
func (e *Executor) askedOf(a *Action) (fields []Field) {
	host := a.Host
	if e.cfg.Agents != nil {
		if name, found := e.cfg.Agents.HostFor(host); found {
			host = name
		}
	}
	for _, f := range []Field{{"host", host}, {"model", a.Model}} {
		if f.Value != "" {
			fields = append(fields, f)
		}
	}
	return fields
}

// mayAsk chooses the agent of a prompt, and waits until it may be asked and the budgets have something for it, which is
// reserved until settle is called. The error is errHalted, or why the prompt cannot be sent.
func (e *Executor) mayAsk(st *State, a *Action) (chosen AgentChoice, told string, settle func(), err error) {
	list := e.cfg.Loop.PromptHosts(st)
	for {
		e.passQuota(st, list, st.Model, false)
		if chosen = e.choose(st, list, e.cfg.Loop.PromptHost(st), st.Model); chosen != (AgentChoice{}) {
			a.Model = chosen.Model
		}
		if s := e.blocked(st, chosen.Host, chosen.Model); s != nil {
			return chosen, "", nil, s
		}
		if !e.awaitCircuit(st, chosen.Host) || !e.awaitPurse(st) || !e.awaitQuota(st, chosen.Host, chosen.Model) {
			return chosen, "", nil, errHalted
		}
		if told, settle, err = e.reserve(a); !errors.Is(err, errSettled) {
			return chosen, told, settle, err
		}
	}
}

// run has something done, if there is room and a place for it. Without that nothing is decided, as no state can
// help it.
func (e *Executor) run(a Action, out func(string)) (Result, error) {
	var res Result
	var err error
	do := func(ctx context.Context) { res, err = e.cfg.Runner.Run(ctx, a, out) }
	if a.Kind != KindPrompt && a.Kind != KindJudge {
		e.do(do)
	} else if over := e.doAsked(do); over != nil && !errors.Is(err, ErrScarce) {
		e.breaks(err)
		return res, over
	}
	e.breaks(err)
	if a.Quiet || a.Kind == KindJudge {
		e.tellRefused(a.State, res.Refused)
	}
	return res, err
}

// tellRefused reports what the sandbox of an action did not let it reach that has no event of its own: a judge,
// a script that makes a list or is waited for. What is waited for is looked at often, and says it once.
func (e *Executor) tellRefused(state, refused string) {
	said := AttemptMark(e.mem.Step, 0) + " " + refused
	if refused == "" || e.notLet == said {
		return
	}
	e.notLet = said
	list := strings.Fields(refused)
	e.emit(EventWarning, Field{"state", state}, Field{"message", "a sandbox " + NotLet(list)},
		Field{"refused", anyTexts(list)})
}

// attempt runs an action whose attempt was counted, and takes that back if the action could not be started.
func (e *Executor) attempt(a Action, out func(string)) (Result, error) {
	res, err := e.run(a, out)
	if errors.Is(err, ErrScarce) {
		e.mem.Attempt--
		e.emit(EventActionError, Field{"state", a.State}, Field{"error", err.Error()})
	}
	return res, err
}

// breaks stops the run for an error that no state can help.
func (e *Executor) breaks(err error) {
	if root := e.root(); root.shortage == nil && errors.Is(err, ErrScarce) {
		root.shortage = err
	}
	if e.machine.broken == nil && (errors.Is(err, ErrDiskFull) || errors.Is(err, ErrMoved)) {
		e.machine.broken = err
	}
}

// ActionTimeouts returns how long the action of a state may take, and how long it may be silent; 0 = as long as
// it likes.
func ActionTimeouts(l *Loop, st *State) (wall, idle time.Duration) {
	return timeoutsOf(l, st, KindOf(st))
}

func timeoutsOf(l *Loop, st *State, mode Kind) (wall, idle time.Duration) {
	if idle = st.Idle; idle == 0 {
		idle = l.DefaultIdle
	}
	if wall = st.Timeout; wall == 0 {
		wall = l.DefaultTimeout
	}
	switch {
	case wall != 0:
	case mode == KindMCP:
		wall = mcpTimeout
	case mode == KindHTTP:
		wall = httpTimeout
	case mode == KindPrompt && idle > 0: // the silence is the limit
	default:
		wall = shellTimeout
	}
	return wall, idle
}

func (e *Executor) warnSize(st *State, text string) {
	g := e.cfg.Loop.PromptSizeGuard
	if !g.Enabled || g.WarnChars <= 0 || len(text) < g.WarnChars {
		return
	}
	if n := len([]rune(text)); n >= g.WarnChars {
		e.emit(EventPromptSizeWarn, Field{"loop", e.mem.Loop}, Field{"state", st.Name}, Field{"size", int64(n)},
			Field{"threshold", int64(g.WarnChars)}, Field{"est_tokens", int64(n / 4)})
	}
}

// previewRunes is how much of the end of an output an action_complete event shows.
const previewRunes = 2000

func preview(text string) string {
	cut := len(text)
	for n := 0; n < previewRunes && cut > 0; n++ {
		cut--
		for cut > 0 && text[cut]&0xC0 == 0x80 {
			cut--
		}
	}
	return strings.TrimSpace(text[cut:])
}

func (e *Executor) completed(st *State, mode Kind, res Result, dropped bool) {
	var out, errs any
	if res.Stdout != "" {
		out = preview(res.Stdout)
	}
	if p := preview(res.Stderr); p != "" {
		errs = p
	}
	fields := []Field{
		{"exit_code", int64(res.ExitCode)},
		{"duration_ms", res.Duration.Milliseconds()},
		{"output_preview", out},
		{"stderr_preview", errs},
		{"is_prompt", mode == KindPrompt},
	}
	if res.TimeoutKind != "" {
		fields = append(fields, Field{"timeout_kind", res.TimeoutKind})
	}
	if res.Truncated || dropped {
		fields = append(fields, Field{"output_bytes", res.Bytes}, Field{"output_truncated", true})
	}
	if res.File != "" {
		fields = append(fields, Field{"output_file", res.File})
	}
	if r := res.Response; r != nil && r.Status != 0 {
		fields = append(fields, Field{"status", int64(r.Status)})
	}
	if res.Background > 0 {
		fields = append(fields, Field{"background", int64(res.Background)})
	}
	fields = append(fields, res.refused()...)
	if mode == KindPrompt {
		fields = append(fields, e.replyFields(res.Reply)...)
	}
	e.emit(EventActionComplete, fields...)
}

// NotLet says what a sandbox did not let an action reach or call, see [Result.Refused].
func NotLet(refused []string) string {
	var hosts, calls []string
	for _, one := range refused {
		switch {
		case strings.HasSuffix(one, ")"):
			calls = append(calls, one)
		case one == "network":
			hosts = append(hosts, "the network")
		default:
			hosts = append(hosts, one)
		}
	}
	text := "did not let it"
	if len(hosts) > 0 {
		text += " reach " + strings.Join(hosts, ", ")
	}
	if len(hosts) > 0 && len(calls) > 0 {
		text += ", nor"
	}
	if len(calls) > 0 {
		text += " call " + strings.Join(calls, ", ")
	}
	return text
}

// refused are what an event has of what the sandbox of an action did not let it reach.
func (r *Result) refused() []Field {
	if r.Refused == "" {
		return nil
	}
	return []Field{{"refused", anyTexts(strings.Fields(r.Refused))}}
}

// capture stores the result under the state's capture name and appends to the message log.
func (e *Executor) capture(st *State, res Result) error {
	m := e.mem
	if st.Capture != "" {
		failure, kind := "", any(nil)
		switch {
		case res.ExitCode == 0:
		case KindOf(st) == KindPrompt:
			failure, _ = failureOf(res)
		default:
			failure = FailureReal // D24
		}
		if res.TimeoutKind != "" {
			kind = res.TimeoutKind
		}
		rec := value.NewMap("output", strings.TrimRight(res.Stdout, "\r\n"), "stderr", res.Stderr, "exit_code",
			int64(res.ExitCode),
			"duration_ms", res.Duration.Milliseconds(), "failure_type", failure, "timeout_kind", kind)
		if res.File != "" {
			rec.Set("file", res.File)
		}
		if res.Truncated {
			rec.Set("truncated", true)
			rec.Set("bytes", res.Bytes)
		}
		if res.StderrCut {
			rec.Set("stderr_truncated", true)
		}
		if r := res.Response; r != nil {
			rec.Set("status", int64(r.Status))
			rec.Set("headers", r.Headers)
		}
		m.setCapture(st.Capture, rec)
	}
	if st.Append == "" {
		return nil
	}
	text, err := expr.Expand(st.Append, e.scope(nil))
	if err != nil {
		return err
	}
	m.Messages = append(m.Messages, text)
	e.emit(EventMessagesAppend, Field{"message", text}, Field{"state", st.Name})
	return nil
}

// afterAction decides on the result of an action.
func (e *Executor) afterAction(st *State, res Result) decision {
	why := e.permanent(st, &res)
	e.tellBlocked(why)
	if why != nil && e.permanentSlot(st, &res) == "" {
		return decision{refused: why.Why, suspended: why}
	}
	if d, done := e.throttle(st); done {
		return d
	}
	prev := prevResult(st, &res)
	if err := e.assign(st, prev); err != nil {
		return e.exception(st, err)
	}
	if st.Next == "" {
		return e.judged(st, &res)
	}
	return e.onNext(st, res, why)
}

// onNext leaves a state by next, after its action; why is what only a person can fix.
func (e *Executor) onNext(st *State, res Result, why *Suspension) decision {
	e.mem.PrevResult = prevResult(st, &res)
	if why == nil {
		if d, done := e.failed(st, &res); done {
			return d
		}
	}
	if res.ExitCode != 0 && why == nil && e.planRetry(st, &res, RetryError) {
		return decision{retry: true}
	}
	scope := e.scope(nil)
	slot, onError := st.Next, st.On["error"]
	switch {
	case why != nil:
		return e.leadsSuspended(st, e.permanentSlot(st, &res), why.Why, scope)
	case res.ExitCode < 0 && onError == "":
		return decision{died: true}
	case res.ExitCode < 0:
		slot = onError
	case res.ExitCode != 0 && onError != "":
		slot = onError
		if st.RetryableExitCodes != nil && !slices.Contains(st.RetryableExitCodes, res.ExitCode) &&
			st.OnRetryExhausted != "" {
			slot = st.OnRetryExhausted
		}
	case res.TimeoutKind == TimeoutVelocity:
		e.ignored(st, "used too much within a minute")
	case res.TimeoutKind != "":
		e.ignored(st, "timed out")
	case res.ExitCode != 0:
		e.ignored(st, fmt.Sprintf("exit %d", res.ExitCode))
	}
	target, err := e.target(slot, scope)
	if err != nil {
		return e.exception(st, err)
	}
	return decision{target: target}
}

func prevResult(st *State, res *Result) *value.Map {
	if res == nil {
		return value.NewMap("output", "", "exit_code", int64(0), "state", st.Name, "timeout_kind", nil)
	}
	kind := any(nil)
	if res.TimeoutKind != "" {
		kind = res.TimeoutKind
	}
	prev := value.NewMap("output", res.Stdout, "exit_code", int64(res.ExitCode), "state", st.Name, "timeout_kind", kind)
	if res.Truncated {
		prev.Set("truncated", true)
		prev.Set("file", res.File)
	}
	return prev
}
