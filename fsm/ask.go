package fsm

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"loops/fsm/value"
)

// errNoLLM is what a verdict says where no model may be asked.
const errNoLLM = "LLM evaluation disabled via --no-llm"

// An asker puts the questions of one evaluation to a judge.
//
// Every question is a start of its own of the step, with a marker of its own, so that a judge that outlived its runner
// is ended like any action. Every answer is durable before the next question: none is asked again after a crash.
type asker struct {
	e       *Executor
	st      *State
	cfg     *Evaluate
	model   string // "" = the host's own for judges
	timeout time.Duration
	next    int     // the question's place in Snapshot.Answers
	asked   []any   // a *Map a question, for the event
	last    Result  // the answer to the last question
	most    float64 // US dollars that the last question costs at most; 0 = not known
}

func (e *Executor) asker(st *State, cfg *Evaluate) *asker {
	q := &asker{e: e, st: st, cfg: cfg, timeout: cfg.Timeout, model: cmp.Or(cfg.Model, st.Model, e.cfg.Loop.LLM.Model)}
	if st.Evaluate == nil {
		q.timeout = e.cfg.Loop.LLM.Timeout
	}
	return q
}

// verdict asks what has to be asked. An error is an exception or errHalted.
func (q *asker) verdict(question *Question, ev Evidence) (Verdict, error) {
	if !q.e.cfg.Loop.LLM.Enabled {
		return errorVerdict("error", errNoLLM), nil
	}
	var v Verdict
	var err error
	switch question.Evaluator {
	case "comparator":
		v, err = q.compare(question, ev)
	case "contract":
		v, err = q.contract(question)
	default:
		v, err = q.structured(question, ev)
	}
	if none := (&noJudge{}); errors.As(err, &none) {
		q.judged("error")
		return none.Verdict, nil
	}
	return v, err
}

// A noJudge ends an evaluation with the verdict error: no judge answers until a user does something.
type noJudge struct{ Verdict }

func (*noJudge) Error() string { return "there is no judge" }

// ask puts one question to the judge and reads its answer. failed is the verdict where there is none. The error is
// errHalted, an [*oddAnswer], a [*noJudge], or why the judge could not be asked.
func (q *asker) ask(text, schema string, strict bool) (payload *value.Map, failed *Verdict, err error) {
	e, m := q.e, q.e.mem
	a := q.action(text, schema, strict)
	id := fingerprint(a)
	if q.next >= len(m.Answers) || m.Answers[q.next].Question != id {
		// What was answered to another question, because a file has changed since, is of no use from here on.
		answers := slices.Clip(m.Answers[:min(q.next, len(m.Answers))])
		m.Answers, q.most = answers, 0
		res, err := q.put(a)
		if err != nil {
			return nil, nil, err
		}
		m.Answers = append(answers, Answer{Question: id, Result: gist(res), Most: q.most})
		if !e.record(true) {
			return nil, nil, errHalted
		}
	}
	q.last, q.most = m.Answers[q.next].Result, m.Answers[q.next].Most
	q.next++
	payload, failed, err = judgement(&q.last)
	q.asked = append(q.asked, q.account(failed != nil || err != nil))
	if r := q.last.Reply; failed != nil && r != nil && r.Failure.permanent() && !e.cfg.PermanentVerdicts {
		return nil, nil, &noJudge{*failed}
	}
	return payload, failed, err
}

// action returns the question as an action.
func (q *asker) action(text, schema string, strict bool) Action {
	e := q.e
	return Action{
		Kind: KindJudge, Text: text, State: q.st.Name, Step: e.mem.Step, Outer: e.outer, Dir: e.dir,
		Sandbox: e.sandbox(q.st), Quiet: true,
		Host: cmp.Or(q.cfg.Host, q.st.Host, e.cfg.Loop.LLM.Host), Model: q.model,
		Effort: cmp.Or(q.cfg.Effort, q.st.Effort, e.cfg.Loop.LLM.Effort), Timeout: q.timeout, Schema: schema,
		Strict: strict,
	}
}

// put has the judge asked, and asked again as long as that is worth the wait. A paused run asks none.
func (q *asker) put(a Action) (Result, error) {
	e, first := q.e, AgentChoice{a.Host, a.Model}
	for {
		if e.held() != pass {
			return Result{}, errHalted
		}
		list := e.cfg.Loop.JudgeHosts(q.st, q.cfg)
		e.passQuota(q.st, list, first.Model, true)
		c := e.choose(q.st, list, first.Host, first.Model)
		a.Host, a.Model = c.Host, c.Model
		if s := e.blocked(q.st, a.Host, a.Model); s != nil {
			host, _, _ := strings.Cut(s.By, "/")
			return Result{
				ExitCode: 1,
				Reply:    &Reply{Host: host, Coverage: CoverageNone, Failure: s.Cause, Reason: s.Why},
			}, nil
		}
		if !e.awaitCircuit(q.st, a.Host) || !e.awaitPurse(q.st) || !e.awaitQuota(q.st, a.Host, a.Model) {
			return Result{}, errHalted
		}
		res, err := q.putOnce(a)
		if errors.Is(err, errSettled) {
			continue
		}
		if err != nil {
			return Result{}, err
		}
		e.clearCircuit(res, a.Model)
		if r := res.Reply; r != nil && r.Failure.permanent() {
			e.tellBlocked(&Suspension{By: r.suspends(a.Model), Cause: r.Failure, Why: r.refusal(res.Stderr)})
		}
		if e.failsOver(q.st, list, c, first.Model, &res, true) {
			q.givenUp(res)
			if !e.nextAgent() {
				return Result{}, errHalted
			}
			continue
		}
		wait, err := e.judgeAgain(q.st, &res, func() {
			if spentOn(res, q.most).Prompts > 0 { // it was not merely refused
				q.givenUp(res)
			}
		})
		if err != nil || !wait {
			return res, err
		}
	}
}

// putOnce has the judge asked, if the budgets leave something, and counts what it used.
func (q *asker) putOnce(a Action) (Result, error) {
	e, m := q.e, q.e.mem
	_, settle, err := e.reserve(&a)
	if err != nil {
		return Result{}, err
	}
	defer settle()
	m.Attempt++
	q.most = e.boundOf(&a)
	m.Asking, m.AskingMost, a.Attempt = true, q.most, m.Attempt
	heard := e.asked(q.most)
	if !e.record(true) {
		return Result{}, errHalted
	}
	res, err := e.attempt(a, nil)
	heard()
	m.Asking, m.AskingMost = false, 0
	if e.machine.broken == nil && e.ending() {
		q.cutShort(res)
	}
	if e.machine.broken != nil || e.ending() {
		return Result{}, errHalted
	}
	if _, cut := errors.AsType[*overrun](err); cut {
		q.cutShort(res)
	}
	if err == nil {
		e.spend(spentOn(res, q.most))
	}
	return res, err
}

// fingerprint distinguishes questions.
func fingerprint(a Action) string {
	h := sha256.New()
	for _, part := range []string{a.Text, a.Schema, a.Host, a.Model, a.Effort} {
		h.Write([]byte(strconv.Itoa(len(part)) + ":" + part))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// gist is what is remembered of an answer.
func gist(res Result) Result {
	short := Result{
		Stderr: value.Truncate(res.Stderr, 500), ExitCode: res.ExitCode, Duration: res.Duration,
		TimeoutKind: res.TimeoutKind,
	}
	if res.Reply != nil {
		r := *res.Reply
		r.Text, r.Raw = value.Truncate(r.Text, judgedText), value.Truncate(r.Raw, judgedText)
		short.Reply = &r
	}
	return short
}

// cutShort counts what a judge used that a stop has ended.
func (q *asker) cutShort(res Result) {
	if !wasAsked(res) {
		return
	}
	q.e.spend(spentOn(res, q.most))
	q.last = res
	q.e.emit(EventNote, Field{"state", q.st.Name}, Field{"message", "the judge was ended before it answered"},
		Field{"judges", []any{q.account(true)}})
}

// givenUp counts what a judge used whose answer is no verdict: another one takes over, or it is asked again.
func (q *asker) givenUp(res Result) {
	if used := spentOn(res, q.most); used.Prompts == 0 && used.Unsure.Count == 0 {
		return
	}
	q.last = res
	q.e.emit(EventNote, Field{"state", q.st.Name}, Field{"message", "the costs of the judge that failed are counted"},
		Field{"judges", []any{q.account(true)}})
}

// lostJudge records that the process of a judge was killed with the run: what it used is not known.
func (e *Executor) lostJudge() {
	m := e.mem
	st := e.cfg.Loop.States[m.Current]
	if !m.Asking || st == nil {
		return
	}
	lost := value.NewMap("evaluator", "", "coverage", CoverageNone)
	if st.Evaluate != nil {
		lost.Set("evaluator", st.Evaluate.Type)
	}
	if m.AskingMost > 0 {
		lost.Set(maxCostField, m.AskingMost)
	}
	m.Asking, m.AskingMost = false, 0
	e.emit(EventNote, Field{"state", st.Name}, Field{"message", "the judge was killed before it answered"},
		Field{"judges", []any{lost}})
}

// account is what the events say of one question: who answered, and what it took.
func (q *asker) account(failed bool) *value.Map {
	m := value.NewMap("evaluator", q.cfg.Type, "duration_ms", q.last.Duration.Milliseconds())
	r := q.last.Reply
	if r == nil {
		return m
	}
	var cost any
	if r.Cost != nil {
		cost = *r.Cost
	}
	if q.most > 0 && (r.Cost == nil || r.Coverage == CoveragePartial) {
		m.Set(maxCostField, q.most)
	}
	for _, f := range []Field{
		{"host", r.Host},
		{"model", cmp.Or(r.Model, q.model)},
		{"session_id", r.Session},
		{"input_tokens", r.Usage.Input},
		{"output_tokens", r.Usage.Output},
		{"cache_read_tokens", r.Usage.CacheRead},
		{"cache_creation_tokens", r.Usage.CacheWrite},
		{"coverage", r.Coverage},
		{"cost_usd", cost},
	} {
		m.Set(f.Key, f.Value)
	}
	if r.Failure != "" {
		m.Set("failure", string(r.Failure))
		m.Set("reason", r.Reason)
	} else if failed {
		m.Set("failure", string(FailSchema))
	}
	return m
}

// judged notes the verdict that the last question led to.
func (q *asker) judged(verdict string) {
	if len(q.asked) > 0 {
		m, _ := q.asked[len(q.asked)-1].(*value.Map)
		m.Set("verdict", verdict)
	}
}

// tell adds the questions to the fields of an event.
func (q *asker) tell(fields []Field) []Field {
	if q == nil || len(q.asked) == 0 {
		return fields
	}
	return append(fields, Field{"judges", q.asked})
}

// tellRest reports the questions that no evaluate event reported.
func (e *Executor) tellRest(st *State) {
	if len(e.untold) > 0 {
		e.emit(EventNote, Field{"state", st.Name}, Field{"note", "what the judge was asked led to no verdict"},
			Field{"judges", e.untold})
		e.untold = nil
	}
}

// ask finds the verdict on a question that Judge has returned as its error. The asker knows what it took.
func (e *Executor) ask(st *State, cfg *Evaluate, ev Evidence, err error) (Verdict, *asker, error) {
	question, ok := errors.AsType[*Question](err)
	if !ok {
		return Verdict{}, nil, err
	}
	q := e.asker(st, cfg)
	v, err := q.verdict(question, ev)
	if err != nil {
		e.untold = q.asked
	}
	return v, q, err
}
