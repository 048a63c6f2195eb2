package fsm

import (
	"fmt"
	"slices"
	"time"
)

// A Retry has an action done again in the same step when a try of it fails.
type Retry struct {
	Times       int           // tries after the first one
	First, Most time.Duration // of the waits, which double from First to Most
	On          []string      // what a try has to come to: error, timeout or no
}

// What a try can come to that a retry is for.
const (
	RetryError   = "error"   // the verdict error; of a next state, a failed action
	RetryTimeout = "timeout" // the action was ended because its time was up
	RetryNo      = "no"      // the verdict no
)

// wait is the length of the nth wait, from 1.
func (r *Retry) wait(n int) time.Duration {
	d := r.First
	for ; n > 1 && d < r.Most; n-- {
		d *= 2
	}
	return min(d, r.Most)
}

// due returns what a try came to, if the state retries that; "" = it does not.
func (r *Retry) due(st *State, res *Result, verdict string) string {
	switch {
	case r == nil || res == nil || KindOf(st) == KindPrompt && permanentFailure(st, res) != nil:
		return ""
	case res.TimeoutKind == TimeoutVelocity && verdict != "yes":
		verdict = RetryError
	case res.TimeoutKind != "" && verdict != "yes":
		verdict = RetryTimeout
	case verdict == "no" && res.Response.Passing():
		verdict = RetryError
	case verdict == "tool_error": // a tool that is not there will not be there the next time either
		verdict = RetryError
	case verdict == RetryError && st.RetryableExitCodes != nil && !slices.Contains(st.RetryableExitCodes, res.ExitCode):
		return ""
	}
	if !slices.Contains(r.On, verdict) {
		return ""
	}
	return verdict
}

// try carries out the action of an entered state and decides where to go. Where the state says so, it does that again
// when a try failed.
func (e *Executor) try(st *State) decision {
	res, err := e.perform(st)
	if err != nil {
		return e.exception(st, err)
	}
	return e.again(st, e.afterAction(st, res))
}

// again has the action done again as long as the result of it asks for that.
func (e *Executor) again(st *State, d decision) decision {
	for d.retry {
		if d = e.retry(st); d.retry {
			res, err := e.perform(st)
			if err != nil {
				if d = e.exception(st, err); !d.halted && d.overrun == nil {
					e.mem.Wait = nil
				}
				return d
			}
			d = e.afterAction(st, res)
		}
	}
	return d
}

// planRetry plans the next try of an action that failed. It reports false if the verdict is to be followed: nothing is
// retried, or all tries are used up.
func (e *Executor) planRetry(st *State, res *Result, verdict string) bool {
	m := e.mem
	why := st.Retry.due(st, res, verdict)
	if why == "" || m.PendingRequest != "" || m.Flushing {
		return false
	}
	if m.Tries >= st.Retry.Times {
		e.emit(EventActionRetriesSpent, Field{"state", st.Name}, Field{"retries", int64(m.Tries)}, Field{"on", why})
		return false
	}
	wait := res.Response.waitAsked(st.Retry.wait(m.Tries + 1))
	if e.plan(WaitRetry, "", st.Name, wait); wait == 0 {
		return true
	}
	e.announceWait(fmt.Sprintf("%s: retry %d of %d follows", failedTry(why, res), m.Tries+1, st.Retry.Times))
	return true
}

// failedTry says what a try came to.
func failedTry(why string, res *Result) string {
	switch {
	case why == RetryTimeout:
		return "the action timed out"
	case res.ExitCode < 0:
		return fmt.Sprintf("the action was ended by signal %d", -res.ExitCode)
	}
	if r := res.Response; r != nil && r.Status != 0 {
		return fmt.Sprintf("the try came to %s (status %d)", why, r.Status)
	}
	return fmt.Sprintf("the try came to %s (exit code %d)", why, res.ExitCode)
}

// retry waits for the next try, which the memory holds, and begins it: then the decision says so. A resumed run
// waits the rest. What ends or leads the run elsewhere before the wait is over keeps the wait on record.
func (e *Executor) retry(st *State) decision {
	m := e.mem
	w := *m.Wait
	if w.Until.After(w.Since) { // without a wait, the record that the next try was started is enough
		e.sleep()
	}
	if e.halts() || e.loopTimeout() != pass || e.held() != pass {
		return decision{halted: true}
	}
	if over := e.usedUp(needTime); over != nil {
		d := e.overspent(st, over)
		if d.overrun == nil {
			m.Wait = nil
		}
		return d
	}
	return decision{retry: true}
}

// countTry counts the try that the action begins, if it is one after another. Until then the wait for it is on
// record, also while a host or a budget lets it wait longer: a run that is resumed there has the try before it.
func (e *Executor) countTry(st *State) {
	m := e.mem
	w := m.Wait
	if w == nil || w.Why != WaitRetry {
		return
	}
	m.Wait = nil
	m.Tries++
	e.emit(EventActionRetry, Field{"state", st.Name}, Field{"retry", int64(m.Tries)},
		Field{"times", int64(st.Retry.Times)},
		Field{"backoff_seconds", seconds(w.Until.Sub(w.Since))})
}
