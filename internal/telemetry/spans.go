package telemetry

import (
	"strconv"
	"strings"
	"time"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/inspect"
	"loops/persistence"
)

// A Span is one part of a trace that has ended.
type Span struct {
	Trace      TraceID
	ID, Parent string // in hexadecimal; Parent "" = none
	Name       string
	Begin, End time.Time
	Client     bool // it asks a host
	Attrs      []Attr
	Links      []Link
	Failed     string // why it failed; "" = it did not
}

// An Attr is a name with a text, int64, float64 or bool.
type Attr struct {
	Key   string
	Value any
}

// A Link leads to a span of another trace, or to another one without a parent.
type Link struct {
	Trace TraceID
	Span  string
}

// A Tracer makes spans of the events of one run, which are added in their order from the first one on. The same events
// make the same spans, whichever process adds them. It is not safe for concurrent use.
type Tracer struct {
	Send    func(*Span) // receives each span when it has ended, inner ones first; it may not keep it
	Content bool        // with the texts of prompts and of what answered them

	run    persistence.Run
	trace  TraceID
	reader inspect.Reader
	root   *Span                     // of the part of the run that is not over; nil = there is none
	last   time.Time                 // of the newest event
	before string                    // the span of the part before
	parts  map[string]string         // by the address of a step of the run: the part that it began in
	open   map[string]*Span          // by their names: tasks, attempts and waits that have not ended
	visits map[string]*inspect.Visit // by their addresses: those that have not ended
	at     *inspect.Visit            // of the newest event
	name   string                    // of at
}

// NewTracer returns a tracer that has seen nothing of a run.
func NewTracer(run persistence.Run, send func(*Span)) *Tracer {
	t := &Tracer{
		Send: send, run: run, trace: TraceOf(run.ID), parts: map[string]string{}, open: map[string]*Span{},
		visits: map[string]*inspect.Visit{},
	}
	t.reader = inspect.Reader{Done: t.left, Inside: t.left, Each: t.each}
	return t
}

// Add takes the next event of the run, and returns the visit that it belongs to, as [inspect.Reader.Add] does.
func (t *Tracer) Add(e fsm.Event) *inspect.Visit {
	if e.Kind == fsm.EventActionOutput || e.Kind == fsm.EventCheckpoint {
		return nil
	}
	e.Time = e.Time.Truncate(time.Microsecond) // as it is on record
	if e.Depth == 0 {
		switch e.Kind {
		case fsm.EventLoopStart, fsm.EventLoopResume:
			t.begin(e)
		case fsm.EventLoopComplete:
			v := t.reader.Add(e)
			t.finish(e)
			return v
		}
	}
	v := t.reader.Add(e)
	t.last = e.Time
	return v
}

// begin begins a part of the run. The process of one that has no end is gone.
func (t *Tracer) begin(e fsm.Event) {
	links := t.origins()
	if t.root != nil {
		t.root.End, t.root.Failed = t.last, "its process was gone"
		t.give(t.root)
		t.cut("its process was gone")
	}
	if t.before != "" {
		links = []Link{{t.trace, t.before}}
	}
	t.root = &Span{
		Trace: t.trace, ID: t.trace.span(segment(e.Seq)), Name: t.run.Loop, Begin: e.Time, Links: links,
		Attrs: []Attr{
			{"loops.run.id", string(t.run.ID)},
			{"loops.loop", t.run.Loop},
			{"loops.resumed", e.Kind == fsm.EventLoopResume},
		},
	}
	t.before = t.root.ID
}

// origins are the runs that this one follows from: the one it was forked from, and the one whose action started it.
func (t *Tracer) origins() (all []Link) {
	if t.run.Origin != nil {
		from := TraceOf(t.run.Origin.ID)
		all = append(all, Link{from, from.span(segment(1))})
	}
	if id := inspect.Parent(t.run); id != "" {
		from := TraceOf(id)
		all = append(all, Link{from, from.span(segment(1))})
	}
	return all
}

// finish ends a part of the run, and all that is open: what continues later is sent again, with a later end.
func (t *Tracer) finish(e fsm.Event) {
	t.last = e.Time
	t.cut("")
	for _, v := range t.visits {
		t.visit(v)
	}
	if t.root == nil {
		return
	}
	outcome := outcomeOf(e)
	t.root.End, t.root.Attrs = e.Time,
		append(t.root.Attrs, Attr{"loops.outcome", outcome}, Attr{"loops.state", inspect.Text(e.Get("final_state"))})
	switch outcome {
	case "failed", "timed_out", "stalled", "capped", "budget", "limited":
		if t.root.Failed = inspect.Text(e.Get("error")); t.root.Failed == "" {
			t.root.Failed = outcome
		}
	}
	t.give(t.root)
	t.root = nil
}

// Gone ends the trace of a run whose process died, and that no process continues.
func (t *Tracer) Gone() {
	if t.root == nil {
		return
	}
	t.cut("its process was gone")
	for _, v := range t.visits {
		t.visit(v)
	}
	t.root.End, t.root.Failed = t.last, "its process was gone"
	t.give(t.root)
	t.root = nil
}

// cut ends the attempts and waits that are open. Tasks continue when the run does.
func (t *Tracer) cut(why string) {
	for name, s := range t.open {
		if strings.ContainsAny(name, "!~") {
			t.end(name, t.last, why)
		} else if why == "" {
			one := *s
			one.End = t.last
			t.give(&one)
		}
	}
}

func (t *Tracer) give(s *Span) {
	if s.End.Before(s.Begin) {
		s.End = s.Begin
	}
	t.Send(s)
}

// start opens a span.
func (t *Tracer) start(name, id, parent string, s Span) {
	s.Trace, s.ID, s.Parent = t.trace, t.trace.span(id), t.trace.span(parent)
	t.open[name] = &s
}

// end ends the span with a name, if it is open.
func (t *Tracer) end(name string, at time.Time, failed string, attrs ...Attr) {
	s := t.open[name]
	if s == nil {
		return
	}
	delete(t.open, name)
	s.End, s.Attrs = at, append(s.Attrs, attrs...)
	if failed != "" {
		s.Failed = failed
	}
	t.give(s)
}

// nameOf returns the address of a visit. Most events are of the visit of the one before.
func (t *Tracer) nameOf(v *inspect.Visit) string {
	if v != t.at {
		t.at, t.name = v, visitName(v)
	}
	return t.name
}

// left takes a visit that is over.
func (t *Tracer) left(v *inspect.Visit) {
	if v.Index < 0 {
		return
	}
	t.visit(v)
	delete(t.visits, t.nameOf(v))
	delete(t.parts, t.nameOf(v))
}

// visit sends the span of a visit.
func (t *Tracer) visit(v *inspect.Visit) {
	name := t.nameOf(v)
	s := Span{Trace: t.trace, ID: t.trace.span(name), Name: v.State, Begin: v.Begin, End: v.End}
	s.Attrs = append(make([]Attr, 0, 6), Attr{"loops.state", v.State}, Attr{"loops.step", v.Number()})
	if v.Loop != "" {
		s.Attrs = append(s.Attrs, Attr{"loops.loop", v.Loop})
	}
	for _, a := range []Attr{{"loops.verdict", v.Verdict()}, {"loops.to", v.To()}} {
		if a.Value != "" {
			s.Attrs = append(s.Attrs, a)
		}
	}
	if v.Resumed > 0 {
		s.Attrs = append(s.Attrs, Attr{"loops.resumed", int64(v.Resumed)})
	}
	if v.Verdict() == "error" {
		s.Failed = "error"
	}
	if above := aboveName(v); above != "" {
		s.Parent = t.trace.span(above)
	} else if s.Parent = t.parts[name]; s.Parent == "" && t.root != nil {
		s.Parent = t.root.ID
	}
	t.give(&s)
}

// each takes an event and the visit that it belongs to.
func (t *Tracer) each(e fsm.Event, v *inspect.Visit) {
	if v == nil || v.Index < 0 {
		return
	}
	name := t.nameOf(v)
	if t.root != nil && len(v.Above) == 0 && t.parts[name] == "" {
		t.parts[name] = t.root.ID
	}
	t.visits[name] = v
	t.end(name+"~", e.Time, "")
	switch e.Kind {
	case fsm.EventActionStart:
		t.attempt(e, name)
	case fsm.EventActionComplete, fsm.EventActionKilled, fsm.EventActionError, fsm.EventActionInterrupted:
		t.ended(e, name)
	case fsm.EventBranchStart, fsm.EventItemStart:
		task := taskName(name, taskOf(e))
		if t.open[task] == nil { // else it was cut short, and begins again
			t.start(task, task, name, Span{Name: taskOf(e), Begin: e.Time, Attrs: []Attr{{"loops.task", task}}})
		}
	case fsm.EventBranchEnd, fsm.EventItemEnd:
		verdict := inspect.Text(e.Get("verdict"))
		failed := inspect.Text(e.Get("error"))
		if failed == "" && verdict == "error" {
			failed = verdict
		}
		task := taskName(name, taskOf(e))
		if t.open[task] == nil { // an item whose start has no event of its own
			t.start(task, task, name,
				Span{Name: taskOf(e), Begin: e.Time.Add(-took(e.Get)), Attrs: []Attr{{"loops.task", task}}})
		}
		t.end(task, e.Time, failed, Attr{"loops.verdict", verdict})
	case fsm.EventNote, fsm.EventRateLimitWaiting, fsm.EventHostCooldown:
		why := inspect.Text(e.Get("wait"))
		if e.Kind != fsm.EventNote {
			why = e.Kind
		}
		if why != "" {
			t.start(name+"~", name+"~"+decimal(e.Seq), name,
				Span{Name: "wait " + waitWhy(e, why), Begin: e.Time, Attrs: []Attr{{"loops.wait", waitWhy(e, why)}}})
		}
	}
	judges, _ := e.Get("judges").([]any)
	for i, j := range judges {
		if m, ok := j.(*value.Map); ok {
			t.judge(e, name, i, m)
		}
	}
}

// taskOf returns the name of the branch or the item that an event is about.
func taskOf(e fsm.Event) string {
	if n := inspect.Whole(e.Get("item")); n > 0 {
		return "#" + strconv.FormatInt(n, 10)
	}
	branch := inspect.Text(e.Get("branch"))
	return branch[strings.LastIndexByte(branch, '/')+1:]
}

// attempt begins the span of an attempt of an action. One that has no end was cut short.
func (t *Tracer) attempt(e fsm.Event, name string) {
	t.end(name+"!", e.Time, "cut short")
	s := Span{Name: "action", Begin: e.Time}
	if prompt, _ := e.Get("is_prompt").(bool); prompt {
		s.Name, s.Client = "prompt", true
		s.Attrs = append(s.Attrs, Attr{"gen_ai.operation.name", operationPrompt})
		if t.Content {
			s.Attrs = append(s.Attrs, message("gen_ai.input.messages", "user", inspect.Text(e.Get("action"))))
		}
	}
	t.start(name+"!", name+"!"+decimal(e.Seq), name, s)
}

// ended ends the span of an attempt.
func (t *Tracer) ended(e fsm.Event, name string) {
	var attrs []Attr
	failed := inspect.Text(e.Get("error"))
	if code, ok := inspect.Number(e.Get("exit_code")); ok {
		attrs = append(attrs, Attr{"loops.exit_code", int64(code)})
		if code != 0 {
			failed = "exit code " + strconv.FormatInt(int64(code), 10)
		}
	}
	if e.Kind == fsm.EventActionKilled || e.Kind == fsm.EventActionInterrupted {
		failed = "ended before it was done"
	}
	if prompt, _ := e.Get("is_prompt").(bool); prompt {
		attrs = append(attrs, genAI(e.Get, failed != "")...)
		if text := inspect.Text(e.Get("output_preview")); t.Content && text != "" {
			attrs = append(attrs, message("gen_ai.output.messages", "assistant", text))
		}
	}
	t.end(name+"!", e.Time, failed, attrs...)
}

// judge sends the span of a question to a judge, whose end is about that of the event with it.
func (t *Tracer) judge(e fsm.Event, name string, i int, m *value.Map) {
	get := func(key string) any { v, _ := m.Get(key); return v }
	s := Span{
		Trace: t.trace, ID: t.trace.span(name + "?" + decimal(e.Seq) + "." + strconv.Itoa(i)),
		Parent: t.trace.span(name), Name: "judge", Client: true,
		Begin: e.Time.Add(-took(get)), End: e.Time, Failed: inspect.Text(get("failure")),
	}
	s.Attrs = append([]Attr{
		{"gen_ai.operation.name", operationJudge},
		{"loops.evaluator", inspect.Text(get("evaluator"))},
	}, genAI(get, s.Failed != "")...)
	t.give(&s)
}

func took(get func(string) any) time.Duration {
	return time.Duration(inspect.Whole(get("duration_ms"))) * time.Millisecond
}

func decimal(n uint64) string { return strconv.FormatUint(n, 10) }
