package inspect

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/humanize"
)

// A Sentence says one thing about a run. It can be read without the others, and names the events it is taken from.
type Sentence struct {
	Text   string
	Events []uint64
	Source string // lines of a file that it is about, and a caret
}

// say says something about an event. Those that little-loops recorded carry no number: read from the end of a
// journal they have none.
func say(e fsm.Event, format string, args ...any) Sentence {
	s := Sentence{Text: fmt.Sprintf(format, args...), Source: Source(e)}
	if e.Seq > 0 {
		s.Events = []uint64{e.Seq}
	}
	return s
}

// timeoutCode is the exit code of an action that timed out.
const timeoutCode = 124

// TimedOut reports whether an action was ended by a limit of time, of its action_complete. A program may end
// with that exit code by itself, as one that coreutils' timeout ended; of little-loops, whose events carry no
// number, only the code is known.
func TimedOut(e fsm.Event) bool {
	return str(e, "timeout_kind") != "" || e.Seq == 0 && whole(e, "exit_code") == timeoutCode
}

// Timeout says which kind of limit ended an action that [TimedOut].
func Timeout(e fsm.Event) string {
	if str(e, "timeout_kind") == fsm.TimeoutVelocity {
		return "used too much within a minute"
	}
	return "timed out"
}

// Explain says what happened in a visit and why it led where it led. l is the loop the state belongs to, or nil where
// that is not known: then the rules that were used are not named.
func Explain(v *Visit, l *fsm.Loop) []Sentence {
	x := explainer{v: v, l: l}
	if l != nil {
		x.st = l.States[v.State]
	}
	if flushed, _ := v.Entered.Get("flushed").(bool); flushed {
		x.add(say(v.Entered, "A limit of the run was reached: the state acted once more, and was not judged."))
	}
	for i, e := range v.Events {
		if v.Left > 0 && i == firstEvents {
			x.add(Sentence{Text: fmt.Sprintf("(%s that came then are left out.)", humanize.Count(v.Left, "event"))})
		}
		x.event(i, e)
	}
	if x.started != nil {
		x.add(say(*x.started, "Its action was started (%s), and nothing is recorded of its end.", x.what(*x.started)))
	}
	return x.said
}

// An explainer collects the sentences about one visit.
type explainer struct {
	v       *Visit
	l       *fsm.Loop
	st      *fsm.State // nil = not known
	started *fsm.Event // an action that has not ended
	said    []Sentence
	failed  int // items that did not end with yes
}

// SetText says what a state gave the context: tries = 3, mood = "good".
func SetText(e fsm.Event) string {
	values, _ := e.Get("values").(*value.Map)
	var all []string
	for _, k := range values.Keys() {
		all = append(all, k+" = "+value.Truncate(string(value.AppendJSON(nil, values.Value(k))), 80))
	}
	return strings.Join(all, ", ")
}

func (x *explainer) add(s Sentence) { x.said = append(x.said, s) }

func (x *explainer) event(i int, e fsm.Event) {
	switch e.Kind {
	case fsm.EventActionStart:
		x.started = &x.v.Events[i]
	case fsm.EventActionComplete:
		x.action(e)
		x.started = nil
	case fsm.EventActionKilled: // what it used is paid for
		x.killed(e)
		x.started = nil
	case fsm.EventItemEnd:
		x.item(e)
	case fsm.EventEvaluate:
		x.moreItems(e)
		x.said = append(x.said, x.judged(e)...)
	case fsm.EventActionError:
		x.mishap(e)
	case fsm.EventSet:
		x.add(say(e, "It set %s.", SetText(e)))
	case fsm.EventRoute:
		x.route(e)
	case fsm.EventLoopResume:
		x.moreItems(e)
		x.resumed(e)
	case fsm.EventStateEnter, fsm.EventMessagesAppend, fsm.EventHostSubprocRSS, fsm.EventLoopStart, fsm.EventCheckpoint:
	case fsm.EventLoopComplete:
		x.moreItems(e)
		if x.v.Inline { // the end of its action says it
		} else if e.Depth > 0 {
			x.add(say(e, "The %s ended here: %s",
				map[bool]string{true: "sub-loop", false: "loop"}[x.v.Into(len(x.v.Above)-1) == ""],
				lower(Ending(e, x.l).Text)))
		} else if by := str(e, "terminated_by"); by == fsm.EndInterrupted || by == fsm.EndUserStopped {
			x.add(say(e, "The run was %s here.",
				map[bool]string{true: "stopped", false: "interrupted"}[by == fsm.EndUserStopped]))
		} else if Source(e) != "" {
			x.add(say(e, "It ended with an error: %s.", strings.TrimRight(str(e, "error"), ".")))
		}
	default:
		if s := x.limit(e); s != "" {
			x.add(say(e, "%s", s))
		}
	}
}

// mishap explains an error around an action. One that had begun did not run, or nothing is known of what it did.
func (x *explainer) mishap(e fsm.Event) {
	why := strings.TrimRight(str(e, "error"), ".")
	switch {
	case x.started == nil:
		x.add(say(e, "An error occurred around its action: %s.", why))
	case str(e, "route") == "":
		x.add(say(e, "Its action was not started (%s): %s.", x.what(*x.started), why))
	default:
		x.add(say(e, "Its action could not be done (%s): %s.", x.what(*x.started), why))
	}
	x.started = nil
}

func (x *explainer) resumed(e fsm.Event) {
	if x.started == nil {
		x.add(say(e, "The run was resumed."))
		return
	}
	x.add(Sentence{
		Text: fmt.Sprintf("Its action was started (%s) and cut short: the process of the run ended. The "+
			"run was resumed.", x.what(*x.started)),
		Events: []uint64{x.started.Seq, e.Seq},
	})
	x.started = nil
}

// what names an action by its first line.
func (x *explainer) what(start fsm.Event) string {
	line, more, _ := strings.Cut(strings.TrimSpace(str(start, "action")), "\n")
	if more != "" {
		line += " …"
	}
	return humanize.Quote(line)
}

// action says how an action ended.
func (x *explainer) action(e fsm.Event) {
	events := []uint64{e.Seq}
	what := ""
	if x.started != nil {
		what = " " + x.what(*x.started)
		events = []uint64{x.started.Seq, e.Seq}
	}
	took := humanize.Duration(time.Duration(whole(e, "duration_ms")) * time.Millisecond)
	code := whole(e, "exit_code")
	text := ""
	prompt, _ := e.Get("is_prompt").(bool)
	switch kind := str(e, "timeout_kind"); {
	case kind == "idle":
		text = fmt.Sprintf("Its action%s was ended after %s: it had been silent for longer than %s.", what, took,
			x.idle())
	case kind == fsm.TimeoutVelocity:
		text = fmt.Sprintf("Its prompt%s was ended after %s: %s.", what, took,
			cmp.Or(strings.TrimPrefix(str(e, "failure_reason"), "ended because "), "it "+Timeout(e)))
	case TimedOut(e):
		text = fmt.Sprintf("Its action%s was ended after %s: it took longer than %s.", what, took, x.wall())
	case code < 0:
		text = fmt.Sprintf("Its action%s was ended by signal %d after %s.", what, -code, took)
	case prompt:
		text = fmt.Sprintf("Its prompt%s ended with exit code %d after %s%s.", what, code, took,
			askedOf(e, "answered by"))
	default:
		text = fmt.Sprintf("Its action%s ended with exit code %d after %s.", what, code, took)
	}
	if code == timeoutCode && !TimedOut(e) {
		text += " It was not ended by a limit of time."
	}
	if failure := str(e, "failure"); failure != "" && !TimedOut(e) {
		text += fmt.Sprintf(" The host calls that %s%s.", strings.ReplaceAll(failure, "_", " "),
			because(str(e, "reason")))
	}
	if code != 0 {
		if errs := lastLine(str(e, "stderr_preview")); errs != "" {
			text += " Last lines of standard error: " + humanize.Quote(errs) + "."
		}
	}
	text += refusedBy(e)
	x.add(Sentence{Text: text, Events: events})
}

// killed says how a prompt ended that the stop of the run ended, or a limit of a budget.
func (x *explainer) killed(e fsm.Event) {
	s := Sentence{Events: []uint64{e.Seq}}
	what := ""
	if x.started != nil {
		what = " " + x.what(*x.started)
		s.Events = []uint64{x.started.Seq, e.Seq}
	}
	took := humanize.Duration(time.Duration(whole(e, "duration_ms")) * time.Millisecond)
	by := "the stop of the run"
	if limit := str(e, "limit"); limit != "" {
		by = "the limit " + limit + " of a budget"
	}
	s.Text = fmt.Sprintf("Its prompt%s was ended by %s after %s%s.", what, by, took, askedOf(e, "asked of"))
	x.add(s)
}

func (x *explainer) idle() string {
	switch {
	case x.st != nil && x.st.Idle > 0:
		return "its idle limit of " + humanize.Duration(x.st.Idle)
	case x.l != nil && x.l.DefaultIdle > 0:
		return "the loop's idle limit of " + humanize.Duration(x.l.DefaultIdle)
	}
	return "its idle limit allows"
}

func (x *explainer) wall() string {
	switch {
	case x.st != nil && x.st.Timeout > 0:
		return "its timeout of " + humanize.Duration(x.st.Timeout)
	case x.l != nil && x.l.DefaultTimeout > 0:
		return "the loop's default timeout of " + humanize.Duration(x.l.DefaultTimeout)
	}
	return "its timeout allows"
}

// askedOf says who answered a prompt, or was asked without success, and what that took.
func askedOf(e fsm.Event, how string) string {
	var parts []string
	who := str(e, "host")
	if model := str(e, "model"); model != "" {
		if who == "" {
			who = model
		} else {
			who += " (" + model + ")"
		}
	}
	if who != "" {
		parts = append(parts, strings.TrimPrefix(how+" "+who, " "))
	}
	if in, out := whole(e, "input_tokens"), whole(e, "output_tokens"); in+out > 0 {
		parts = append(parts, fmt.Sprintf("%d tokens in, %d out", in, out))
	}
	if cost, ok := Number(e.Get("cost_usd")); ok {
		parts = append(parts, fmt.Sprintf("$%.4f", cost))
	}
	if len(parts) == 0 {
		return ""
	}
	return ", " + strings.Join(parts, ", ")
}

// route says where a visit led, and by which rule.
func (x *explainer) route(e fsm.Event) {
	if x.v.Inline { // its verdict is what it led to
		return
	}
	to := str(e, "to")
	rule := x.rule(e)
	if to == x.v.State {
		x.add(say(e, "So it stayed in %s: %s.", to, rule))
		return
	}
	x.add(say(e, "So it continued to %s: %s.", to, rule))
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ", because: " + humanize.Quote(reason)
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return strings.TrimSpace(s[strings.LastIndexByte(s, '\n')+1:])
}

func lower(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}
