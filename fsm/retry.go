package fsm

import (
	"math/rand/v2"
	"strings"
	"time"

	"loops/fsm/pyregexp"
	"loops/fsm/value"
)

// A RateLimit is what the machine remembers of the refusals of one state's prompt.
type RateLimit struct {
	Short, Long int           // waits of either tier
	Waited      time.Duration // in whole milliseconds
	FirstSeen   time.Time
}

// failureOf is FailureClass of a prompt that failed, going by what its host says wherever it says anything.
func failureOf(res Result) (class, kind string) {
	var host Failure
	complete := false
	if res.Reply != nil {
		host, complete = res.Reply.Failure, res.Reply.Complete
	}
	if res.TimeoutKind == TimeoutVelocity {
		return FailureReal, "real"
	}
	if res.TimeoutKind != "" {
		return FailureTransient, "timeout"
	}
	if class, kind = FailureClass("", res.ExitCode, complete); class == FailureInfraRetry {
		return class, kind
	}
	switch host {
	case FailRateLimited:
		return FailureTransient, "rate_limit"
	case FailAuth, FailPermission, FailMissing:
		return FailureNonRecoverable, "auth"
	case FailBilling, FailAdminLimit:
		return FailureNonRecoverable, "limit" // whatever else it says: waiting does not raise it
	case FailModel:
		return FailureNonRecoverable, "model"
	case FailContext:
		return FailureTransient, "context"
	case FailTimeout:
		return FailureTransient, "timeout"
	case FailTransient:
		if gatewayPattern().MatchString(explained(res)) {
			return FailureTransient, "api_error"
		}
		// What the host printed may show more exactly which, in the terms of the language.
		if class, kind = FailureClass(res.Stderr, res.ExitCode, complete); class == FailureTransient {
			return class, kind
		}
		return FailureTransient, "api_error"
	}
	return FailureClass(explained(res), res.ExitCode, complete)
}

// gatewayPattern finds what answers for an API that cannot be reached after it.
var gatewayPattern = pyregexp.Lazy(`(?i)\b(?:502\W+bad gateway|503\W+service (?:temporarily )?unavailable|504\W+gateway time-?out)`)

// ResultMark begins the line of a Result.Stderr that says what a host itself said about its failure.
const ResultMark = "[result] "

// explained is the text in which a failed prompt explains why. What a model wrote is part of it only where nothing
// else says more than the exit code.
func explained(res Result) string {
	switch r := res.Reply; {
	case r == nil || r.Failure == "":
	case !r.Complete: // with what it printed outside of its stream
		return res.Stderr + "\n" + r.Reason
	case strings.HasPrefix(res.Stderr, ResultMark) || strings.Contains(res.Stderr, "\n"+ResultMark):
		return res.Stderr
	}
	return res.Stdout + "\n" + res.Stderr
}

// A retrying is a kind of failure that is waited out a few times.
type retrying struct {
	why     string
	text    string // for users
	spent   string // the kind of event that reports the last attempt
	most    int
	backoff time.Duration
}

var (
	apiRetry   = retrying{WaitAPIError, "the API of the host failed", EventAPIErrorExhausted, 2, 30 * time.Second}
	infraRetry = retrying{
		WaitInfra, "the host was ended from outside after it had answered",
		EventInfraRetryExhausted, 2, 5 * time.Second,
	}
)

// failed looks at the failure of a prompt and says where that leads, if it is not for the routes of the state to say:
// to the same state after a wait, to the state for used up waits, or to on_error.
func (e *Executor) failed(st *State, res *Result) (decision, bool) {
	m := e.mem
	if res == nil || KindOf(st) != KindPrompt {
		return decision{}, false
	}
	if res.ExitCode == 0 {
		m.forgive(st.Name)
		m.Storm = 0
		return decision{}, false
	}
	class, kind := failureOf(*res)
	switch {
	case kind == "rate_limit":
		return e.rateLimited(st, res), true
	case kind == "api_error":
		return e.tryAgain(st, res, apiRetry, m.APIErrors)
	case class == FailureInfraRetry:
		return e.tryAgain(st, res, infraRetry, m.InfraErrors)
	case class == FailureNonRecoverable && st.On["error"] != "":
		target, err := e.target(st.On["error"], e.scope(nil))
		if err != nil {
			return e.exception(st, err), true
		}
		return decision{target: target}, true
	case st.Next != "" && e.refusedAsVerdict(st, res):
		return decision{refused: permanentFailure(st, res).Why}, true
	}
	m.forgive(st.Name)
	return decision{}, false
}

// forgive forgets the failures of a state.
func (m *Snapshot) forgive(state string) {
	delete(m.RateLimits, state)
	delete(m.APIErrors, state)
	delete(m.InfraErrors, state)
}

// tryAgain waits before the prompt is sent again, or reports false if that was done often enough.
func (e *Executor) tryAgain(st *State, res *Result, r retrying, counts map[string]int) (decision, bool) {
	m := e.mem
	n := counts[st.Name]
	if n >= r.most {
		delete(counts, st.Name)
		if r.why != WaitInfra {
			m.Session = nil
		}
		e.emit(r.spent, Field{"state", st.Name}, Field{"retries", int64(n)})
		return decision{}, false
	}
	if counts == nil {
		counts = make(map[string]int)
		if r.why == WaitAPIError {
			m.APIErrors = counts
		} else {
			m.InfraErrors = counts
		}
	}
	counts[st.Name]++
	e.plan(r.why, "", st.Name, r.backoff)
	e.announceWait(reason(r.text, res))
	return e.waitToRetry(st), true
}

// rateLimited climbs one step of the ladder: short waits that double, then the long ones, until the waits are
// used up ("The rate limit ladder" in docs/decisions.md). Where the host said when it may be asked again, that
// is how long the wait is.
func (e *Executor) rateLimited(st *State, res *Result) decision {
	if !e.climb(st, res, WaitRateLimit) {
		return e.rateLimitExhausted(st)
	}
	return e.waitToRetry(st)
}

// climb plans the next wait of a state that is refused. It reports false if all waits are used up.
func (e *Executor) climb(st *State, res *Result, why string) bool {
	m := e.mem
	if m.RateLimits == nil {
		m.RateLimits = make(map[string]RateLimit)
	}
	rec := m.RateLimits[st.Name]
	if rec.FirstSeen.IsZero() {
		rec.FirstSeen = e.wall()
	}
	left := st.RateLimitMaxWait - rec.Waited
	var told time.Duration
	if res.Reply != nil && !res.Reply.ResetAt.IsZero() {
		told = res.Reply.ResetAt.Sub(e.wall())
	}
	if told > 0 && left <= 0 {
		m.RateLimits[st.Name] = rec
		return false
	}
	var d time.Duration
	var tier string
	if rec.Short < st.MaxRateLimitRetries {
		rec.Short++
		d, tier = e.backoff(st, rec.Short), tierShort
	} else {
		rec.Long++
		d, tier = ladder(st.RateLimitLadder, rec.Long), tierLong
	}
	text := reason("the host is rate-limited", res)
	if told > 0 {
		// A second more, because clocks differ.
		d, tier = told+time.Second, tierReset
		if d > left {
			text += "; it will for longer than is left of rate_limit_max_wait_seconds"
			d = left
		}
	}
	m.RateLimits[st.Name] = rec
	e.plan(why, tier, st.Name, d)
	e.announceWait(text)
	return true
}

// judgeAgain waits where the host of a judge is rate-limited, after it called lost: the answer counts no more. It
// reports false if the answer is to be taken as it is. A resumed run asks at once, unless the circuit says that it is
// too early.
func (e *Executor) judgeAgain(st *State, res *Result, lost func()) (bool, error) {
	m := e.mem
	if res.Reply == nil || res.Reply.Failure != FailRateLimited || !e.climb(st, res, WaitJudge) {
		delete(m.RateLimits, st.Name)
		return false, nil
	}
	e.tellCircuit(res.Reply.Host)
	lost()
	w := *m.Wait
	e.sleep()
	if e.halts() {
		return false, errHalted
	}
	early := !e.woken && !m.Flushing && e.wall().Before(w.Until)
	if early && e.loopTimeout() != pass {
		return false, errHalted // with the wait on record
	}
	m.Wait = nil
	if waited := e.waitedFor(w); waited >= st.RateLimitMaxWait && w.Tier == tierLong && !e.woken ||
		early && e.usedUp(needTime) != nil {
		delete(m.RateLimits, st.Name)
		r := *res.Reply
		r.Usage, r.Cost = Usage{}, nil // they count already
		res.Reply = &r
		return false, nil
	}
	return true, nil
}

// waitedFor counts a wait for a rate limit that is over. It returns how long all of them took.
func (e *Executor) waitedFor(w Wait) time.Duration {
	m := e.mem
	if m.RateLimits == nil {
		m.RateLimits = make(map[string]RateLimit)
	}
	rec := m.RateLimits[w.State]
	rec.Waited += max(0, min(e.wall().Sub(w.Since), w.Until.Sub(w.Since))).Round(time.Millisecond)
	m.RateLimits[w.State] = rec
	return rec.Waited
}

// reason is what happened, and what the host says about it.
func reason(what string, res *Result) string {
	if res.Reply == nil || res.Reply.Reason == "" {
		return what
	}
	return what + ": " + value.Truncate(res.Reply.Reason, 200)
}

// longestShort caps the short waits, which double each time.
const longestShort = 24 * time.Hour

// backoff is the length of the nth short wait.
func (e *Executor) backoff(st *State, n int) time.Duration {
	base := st.RateLimitBackoff
	random := e.cfg.Random
	if random == nil {
		random = rand.Float64
	}
	d := base
	for ; n > 1 && d < longestShort; n-- {
		d *= 2
	}
	return min(d+time.Duration(random()*float64(base)), longestShort)
}

func ladder(steps []time.Duration, n int) time.Duration {
	if len(steps) == 0 {
		return 0
	}
	return steps[min(n, len(steps))-1]
}

// waitToRetry waits for what the memory holds and continues: to the same state, or to where used up waits lead.
// A resumed run waits the rest.
func (e *Executor) waitToRetry(st *State) decision {
	m := e.mem
	w := *m.Wait
	if w.Why == WaitRateLimit {
		host := ""
		if m.Result != nil && m.Result.Reply != nil {
			host = m.Result.Reply.Host
		}
		e.tellCircuit(host)
	}
	e.sleep()
	if e.halts() {
		return decision{halted: true}
	}
	if !e.woken && !m.Flushing && e.wall().Before(w.Until) && e.loopTimeout() != pass {
		return decision{halted: true} // with the wait on record: when the run is resumed, it waits the rest
	}
	if over := e.usedUp(needTime); over != nil && !e.woken && !m.Flushing && e.wall().Before(w.Until) {
		d := e.overspent(st, over)
		if d.overrun == nil {
			m.Wait = nil
		}
		return d
	}
	m.Wait = nil
	m.Spared = ""
	switch w.Why {
	case WaitAPIError:
		e.emit(EventAPIErrorRetry, Field{"state", st.Name}, Field{"attempt", int64(m.APIErrors[st.Name])},
			Field{"backoff", int64(apiRetry.backoff.Seconds())})
	case WaitInfra:
		e.emit(EventInfraRetry, Field{"state", st.Name}, Field{"attempt", int64(m.InfraErrors[st.Name])},
			Field{"backoff", int64(infraRetry.backoff.Seconds())})
	default:
		if waited := e.waitedFor(w); w.Tier == tierLong && waited >= st.RateLimitMaxWait && !e.woken {
			return e.rateLimitExhausted(st)
		}
		m.Spared = st.Name
	}
	return decision{target: m.Current, waited: true}
}

// stormAt is how many rate limits in a row have to be waited out without success to be called a storm.
const stormAt = 3

func (e *Executor) rateLimitExhausted(st *State) decision {
	m := e.mem
	rec := m.RateLimits[st.Name]
	delete(m.RateLimits, st.Name)
	m.Session = nil
	m.Storm++
	slot := st.OnRateLimitExhausted
	if slot == "" && !e.inline {
		slot = st.On["error"]
	}
	target, err := e.target(slot, e.scope(nil))
	if err != nil {
		return e.exception(st, err)
	}
	var next any
	if target != "" {
		next = target
	}
	e.emit(EventRateLimitExhausted, Field{"state", st.Name}, Field{"retries", int64(rec.Short + rec.Long)},
		Field{"short_retries", int64(rec.Short)},
		Field{"long_retries", int64(rec.Long)}, Field{"total_wait_seconds", seconds(rec.Waited)}, Field{"next", next})
	if m.Storm >= stormAt {
		e.emit(EventRateLimitStorm, Field{"state", st.Name}, Field{"count", int64(m.Storm)})
	}
	return decision{target: target, limited: target == ""}
}
