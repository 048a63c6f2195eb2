package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"loops/fsm"
	"loops/internal/humanize"
	"loops/persistence"
)

const (
	reasonLength  = 300     // characters of a reason
	quoteLength   = 120     // characters of what it quotes
	mergeLength   = 200     // characters of why the run was not merged
	decidingTurns = 3       // how many visits from the end the one may be that decided a failure
	countedStates = 1000    // states whose verdicts are counted
	eventBytes    = 200     // bytes of an event without its output, about
	leastLately   = 1 << 20 // bytes of events that Lately reads, so that it can count verdicts in a row
	mostLately    = 16 << 20
)

// A Because finds out from the events of a run, in their order, why the run ended. It is given all of them,
// those before it was resumed included; where some are lost it begins with any event. Its memory is bounded.
// The zero Because is ready. It is not safe for concurrent use.
type Because struct {
	turns [decidingTurns]turn // the newest first
	same  map[string]streak   // by state: its newest verdict, and how often in a row it came
	limit fsm.Event           // the newest event of a limit that was reached
	spent *turn               // the visit that a budget ended, which led the run to on_budget; nil = none did
	kept  string              // why the run was not merged; "" = it was, or that was not asked for
	by    string              // who stopped the run; "" = it is not known
	waits string              // what it waits for; "" = it is not known
}

// Lately returns a Because of the newest events of a record, in a time that does not grow with the record.
// newest gives them from the newest backwards until each wants no more; its error is returned. How often a
// verdict came in a row counts in these events.
func Lately(newest func(each func(fsm.Event) bool) error) (*Because, error) {
	var events []fsm.Event // the newest first
	visits, output := 0, false
	n := 0
	items := latelyItems{}
	err := newest(func(e fsm.Event) bool {
		n += eventBytes
		if e.Kind == fsm.EventActionOutput {
			line := str(e, "line")
			if n += len(line); output && !insideBranch(e) {
				return n < mostLately // one line of an action is told, its last
			}
			output = strings.TrimSpace(line) != ""
		} else {
			output = false
		}
		if again, _ := e.Get("resumed").(bool); e.Kind == fsm.EventStateEnter && e.Depth == 0 && !insideBranch(e) &&
			!again {
			visits++
			items = latelyItems{}
		}
		if items.wants(e) {
			if items.drops > 0 {
				events[items.drops-1] = fsm.Event{}
			}
			events = append(events, e)
			items.kept(e, len(events))
		}
		return n < leastLately || visits < decidingTurns && n < mostLately
	})
	b := &Because{}
	for _, e := range slices.Backward(events) {
		b.Add(e)
	}
	return b, err
}

// latelyItems chooses among the events of the items of a list, which may be many: the newest end says how many
// failed, and the oldest one of those that failed is named.
type latelyItems struct {
	ended  bool
	failed int // place of the failed one that is kept, from 1 on; 0 = there is none
	drops  int // that of one that the wanted event takes the place of; 0 = of none
}

// wants reports whether an event is kept. Events come the newest first.
func (l *latelyItems) wants(e fsm.Event) bool {
	l.drops = 0
	if e.Depth > 0 || e.Kind != fsm.EventItemStart && e.Kind != fsm.EventItemEnd {
		return true
	}
	verdict := str(e, "verdict")
	switch {
	case e.Kind == fsm.EventItemStart:
		return false
	case verdict == fsm.ItemInterrupted || !l.ended: // each of the former counts
		return true
	case verdict == "yes" || (&turn{}).failedPart(e) == "":
		return false
	}
	l.drops = l.failed
	return true
}

// kept notes that an event was, in that place from 1 on.
func (l *latelyItems) kept(e fsm.Event, place int) {
	if e.Depth > 0 || e.Kind != fsm.EventItemEnd || str(e, "verdict") == fsm.ItemInterrupted {
		return
	}
	if l.ended {
		l.failed = place
	}
	l.ended = true
}

// A turn is what decided in one visit of a state of the run itself. An event without a kind did not come.
type turn struct {
	state                        string
	step                         int
	verdict, acted, printed, sub fsm.Event
	// something around the action went wrong, and that was followed, not a verdict
	mishap fsm.Event
	led    fsm.Event // a limit that said where the run continued, whatever the verdict was
	times  int
	to     string    // the state it led to
	inner  *Because  // of the sub-loop that runs
	inside string    // what decided in the one that ended
	broken fsm.Event // the newest action inside a branch that failed
	part   string    // the first branch or item that failed, and how
	items  int       // items of the state's own list that failed and may be done again
	cut    int       // those that may not: they were cut short, and must not be repeated
	kept   []string  // what sandboxes did not let it reach or call, in branches, items and sub-loops too
}

type streak struct {
	verdict string
	times   int
}

// Add takes the next event.
func (b *Because) Add(e fsm.Event) {
	now := &b.turns[0]
	if e.Kind == fsm.EventNote && str(e, "wait") == fsm.WaitState {
		_, b.waits, _ = strings.Cut(str(e, "message"), " waits for ")
	}
	now.keep(e)
	if insideBranch(e) { // its result counts with the state around it
		if e.Kind == fsm.EventActionComplete && whole(e, "exit_code") != 0 {
			now.broken = e
		}
		return
	}
	if e.Depth > 0 {
		now.enclose(e)
	}
	switch e.Kind {
	case fsm.EventActionOutput:
		if strings.TrimSpace(str(e, "line")) != "" {
			now.printed = e
		}
	case fsm.EventStateEnter:
		// what it did before it was resumed counts
		if again, _ := e.Get("resumed").(bool); e.Depth == 0 && !(again && now.state == str(e, "state")) {
			b.enter(str(e, "state"), whole(e, "iteration"))
		}
	case fsm.EventLoopResume:
		if e.Depth == 0 && now.state == "" {
			now.state = str(e, "from_state")
		}
		if e.Depth == 0 {
			b.spent = nil // the budget is looked at again
		}
	case fsm.EventBranchEnd, fsm.EventItemEnd:
		if e.Depth == 0 && e.Kind == fsm.EventItemEnd {
			if str(e, "verdict") == fsm.ItemInterrupted {
				now.cut++
			}
			now.items = whole(e, "failed") - now.cut
		}
		if e.Depth == 0 && now.part == "" && str(e, "verdict") != "yes" {
			now.part = now.failedPart(e)
		}
	case fsm.EventActionStart:
		now.printed = fsm.Event{}
	case fsm.EventActionComplete:
		now.acted = e
	case fsm.EventRoute:
		if e.Depth == 0 {
			now.to = str(e, "to")
		}
	case fsm.EventActionError:
		if e.Depth == 0 && str(e, "route") != "" {
			now.mishap = e
		}
	case fsm.EventEvaluate:
		if e.Depth == 0 {
			b.judge(now, e)
		}
	case fsm.EventLoopComplete:
		switch e.Depth {
		case 0:
			b.by, b.kept = str(e, "by"), str(e, "merge_error")
		case 1:
			now.sub = e
		}
	case fsm.EventCycleDetected, fsm.EventStallDetected, fsm.EventBudgetExceeded, fsm.EventHostPressureAbort,
		fsm.EventHostBudgetExceeded, fsm.EventCostCeilingExceeded,
		fsm.EventWorkdirVanished:
		b.limit = e
	}
	if e.Depth == 0 && leads(e) && (e.Kind != fsm.EventRetryExhausted || !now.failed()) {
		if now.led = e; e.Kind == fsm.EventBudgetExceeded {
			spent := *now
			b.spent = &spent
		}
	}
}

// mostKept is how many refusals of a visit are named.
const mostKept = 5

// keep notes what an event says that a sandbox did not let an action reach.
func (t *turn) keep(e fsm.Event) {
	hosts, _ := e.Get("refused").([]any)
	for _, h := range hosts {
		if host := Text(h); len(t.kept) < mostKept && !slices.Contains(t.kept, host) {
			t.kept = append(t.kept, host)
		}
	}
}

// leads reports whether an event says that a limit led the run to another state.
func leads(e fsm.Event) bool {
	switch e.Kind {
	case fsm.EventBudgetExceeded, fsm.EventThrottleHard, fsm.EventRateLimitExhausted, fsm.EventRetryExhausted,
		fsm.EventActionInterrupted:
		return str(e, "next") != ""
	case fsm.EventStallDetected, fsm.EventHostPressure, fsm.EventHostBudgetExceeded:
		return strings.HasPrefix(str(e, "action"), "route:")
	}
	return false
}

// enclose takes an event of the sub-loop that the state runs.
func (t *turn) enclose(e fsm.Event) {
	if t.inner == nil {
		t.inner, t.inside = &Because{}, ""
	}
	e.Depth--
	t.inner.Add(e)
	if e.Kind != fsm.EventLoopComplete || e.Depth > 0 {
		return
	}
	failure, _ := e.Get("failure_terminal").(bool)
	if last := t.inner.decided(failure || str(e, "terminated_by") != fsm.EndTerminal, nil); last != nil {
		t.inside = ": " + last.text()
	}
	t.inner = nil
}

func (b *Because) enter(state string, step int) {
	copy(b.turns[1:], b.turns[:])
	b.turns[0] = turn{state: state, step: step}
}

// Decided returns the step that decided how a run ended, which its reason names, and its state: the last, of a
// run that came to no terminal state. 0 and "" where none did, or it is not known.
func (b *Because) Decided(r persistence.Run) (step int, state string) {
	t := &b.turns[0]
	if r.Ended == fsm.EndTerminal {
		t = b.decided(r.Status == persistence.Failed, nil)
	}
	if t == nil {
		return 0, ""
	}
	return t.step, t.state
}

// FailedItems returns how many items failed of the list that decided how a run ended badly; 0 = no list did.
func (b *Because) FailedItems(o fsm.Outcome) int {
	t := &b.turns[0]
	if o.TerminatedBy == fsm.EndTerminal {
		t = b.decided(o.Failure, nil)
	}
	if t == nil || o.TerminatedBy == fsm.EndTerminal && !o.Failure {
		return 0
	}
	return t.items
}

func (b *Because) judge(now *turn, e fsm.Event) {
	now.verdict, now.times = e, 1
	r, known := b.same[now.state]
	if verdict := str(e, "verdict"); known && r.verdict == verdict {
		r.times++
	} else {
		r = streak{verdict, 1}
	}
	if known || len(b.same) < countedStates {
		if b.same == nil {
			b.same = map[string]streak{}
		}
		b.same[now.state], now.times = r, r.times
	}
}

// NotMerged begins the reason of a run that completed and was not merged.
const NotMerged = "not merged: "

// Reason says in one bounded line of harmless text why a run ended so: the state that decided, its verdict and
// the evidence for that, or the cap with its number. l is the loop with the limits that held at the end; those
// that are 0 are not known.
func (b *Because) Reason(o fsm.Outcome, l *fsm.Loop) string {
	return bounded(b.reason(o, l))
}

func (b *Because) reason(o fsm.Outcome, l *fsm.Loop) string {
	state := o.FinalState
	if o.Signal != "" {
		return "stopped by " + o.Signal + " in state " + state
	}
	switch o.TerminatedBy {
	case fsm.EndTerminal:
		kept := ""
		if b.kept != "" {
			kept = NotMerged + humanize.Cut(b.kept, mergeLength) + "; "
		}
		if t := b.decided(o.Failure, l); t != nil {
			return kept + t.text() + t.chose(l) + b.after(t, l)
		}
		return kept + map[bool]string{
			true:  "state " + state + " is a failure state",
			false: "state " + state + " is a terminal state",
		}[o.Failure]
	case fsm.EndMaxSteps:
		return b.lastly("the cap "+numberOr(l.MaxSteps > 0, "of "+humanize.Count(l.MaxSteps, "step"), "on steps")+
			" was reached (max_steps)", l)
	case fsm.EndMaxIterations:
		return b.lastly("the cap "+numberOr(l.MaxIterations > 0, "of "+passes(l.MaxIterations), "on passes")+
			" was reached (max_iterations)", l)
	case fsm.EndTimeout:
		return b.lastly("the run took longer than its timeout"+
			numberOr(l.Timeout > 0, " of "+humanize.Duration(l.Timeout), ""), l)
	case fsm.EndInterrupted:
		if o.Error != "" {
			return b.broken(o, l)
		}
		// The run is before the state that was to come next.
		return "the output of state " + cmp.Or(b.turns[0].state, state) + " asked for the end (LOOP_STOP)"
	case fsm.EndUserStopped:
		return "stopped by " + cmp.Or(b.by, "a user") + " in state " + state
	case fsm.EndSystemSignal:
		return "the action of state " + state + " was ended by a signal"
	case fsm.EndHandoff:
		return "state " + state + " handed off" + quotation(o.Continuation)
	case fsm.EndSuspended:
		return suspendedText(o)
	case fsm.EndParked:
		return "parked in state " + state + ", which waits" + strings.TrimSuffix(" for "+b.waits, " for ")
	case fsm.EndError:
		return b.broken(o, l)
	}
	return b.limited(o)
}

// leastWhy is how much of the cause is left where what to do is long.
const leastWhy = 80

// suspendedText says who has to do what before a run can continue.
func suspendedText(o fsm.Outcome) string {
	what := map[fsm.Failure]string{
		fsm.FailAuth: "the login expired or is refused", fsm.FailBilling: "the account is unpaid or out of credit",
		fsm.FailModel: "there is no such model for this account", fsm.FailMissing: "its program is missing",
		fsm.FailPermission: "it needs a permission",
	}[o.Cause]
	remedy := "; " + cmp.Or(o.Remedy, "see to it") + unblocking(o.SuspendedBy)
	why := humanize.PlainLine(humanize.FirstLine(o.SuspendedBy + ": " + cmp.Or(what, o.Error)))
	return humanize.Cut(why, max(leastWhy, reasonLength-humanize.Width(remedy))) + remedy // what to do is never cut off
}

// unblockName returns what loops unblock is given to continue the runs that wait for something.
func unblockName(by string) string { return humanize.ShellWord(by) }

// UnfetchedBy returns what a submitted run waits for that no worker could begin, because a login was refused:
// what loops unblock is given, from the note that a worker left; "" = it is another note.
func UnfetchedBy(note string) string {
	by, _, _ := strings.Cut(note, ": ")
	if !strings.HasSuffix(note, unblocking(by)) {
		return ""
	}
	return by
}

// unblocking is how the reason of a suspended run ends.
func unblocking(by string) string { return ", then `loops unblock " + unblockName(by) + "`" }

// limited says which limit ended a run.
func (b *Because) limited(o fsm.Outcome) string {
	if b.limit.Kind != "" {
		if text := reachedLimit(b.limit, o.FinalState); text != "" {
			return text
		}
	}
	if o.Error != "" {
		return strings.TrimSuffix(o.Error, ".")
	}
	return "it " + EndWord(o, 0) + " in state " + o.FinalState
}

// broken explains why a run ended with an error.
func (b *Because) broken(o fsm.Outcome, l *fsm.Loop) string {
	switch {
	case o.Limited && o.Error == NoTransition:
		return "state " + o.FinalState + ": " + RateLimited
	case o.Error == NoTransition:
		if t := &b.turns[0]; t.verdict.Kind != "" {
			return fmt.Sprintf("state %s has no transition for verdict %s%s", t.state, str(t.verdict, "verdict"),
				t.brackets())
		}
		return "state " + o.FinalState + " has no transition for what happened" + b.turns[0].brackets()
	case o.Error == "":
		return b.lastly("an error in state "+o.FinalState, l)
	}
	return errorText(o.FinalState, o.Error)
}

// lastly adds what the newest visit came to.
func (b *Because) lastly(text string, l *fsm.Loop) string {
	if t := b.decided(true, l); t != nil {
		return text + "; last, " + t.text() + t.chose(l)
	}
	return text
}

// decided returns the visit that decided how the run ended: where it failed, one that failed shortly before the
// end rather than the ones that led on from there. nil = nothing was decided.
func (b *Because) decided(failed bool, l *fsm.Loop) *turn {
	var last *turn
	for i := range b.turns {
		t := &b.turns[i]
		switch {
		case !t.decides(l):
		case failed && t.failed():
			return t
		case last == nil:
			last = t
		}
	}
	if failed && b.spent != nil {
		return b.spent // what came after that came of it
	}
	return last
}

// after says that states between the one that decided and the end did not change that.
func (b *Because) after(decided *turn, l *fsm.Loop) string {
	if last := &b.turns[0]; last != decided && last.state != "" && last.decides(l) {
		return "; state " + last.state + " led from there to the end" + last.chose(l)
	}
	return ""
}

// chose names the condition of a route list by which the visit was left; "" = another rule led on.
func (t *turn) chose(l *fsm.Loop) string {
	var st *fsm.State
	if l != nil {
		st = l.States[t.state]
	}
	if st == nil || st.Next != "" || st.Route == nil || st.Route.Cases == nil || t.mishap.Kind != "" ||
		t.led.Kind != "" || str(t.verdict, "verdict") == "error" {
		return ""
	}
	for _, row := range st.Route.Cases {
		if row.To == t.to {
			return ", by its route: " + row.Condition()
		}
	}
	return ""
}

func (t *turn) decides(l *fsm.Loop) bool {
	return t.chose(l) != "" || t.verdict.Kind != "" || t.acted.Kind != "" || t.sub.Kind != "" ||
		t.mishap.Kind != "" || t.led.Kind != ""
}

func (t *turn) failed() bool {
	if t.mishap.Kind != "" || t.led.Kind != "" || t.promptFailed() {
		return true
	}
	switch str(t.verdict, "verdict") {
	case "":
	case "yes", "success", "target", "progress":
		return false
	default:
		return true
	}
	if t.sub.Kind != "" {
		failure, _ := t.sub.Get("failure_terminal").(bool)
		return failure || str(t.sub, "terminated_by") != fsm.EndTerminal
	}
	return whole(t.acted, "exit_code") != 0
}
