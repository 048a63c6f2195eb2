package fsm

import (
	"time"

	"loops/fsm/value"
)

// MaxReminders is how many reminders of one question are sent at most.
const MaxReminders = 20

// An Escalation says which targets of notifications are told of a question that has no answer for some time.
// The zero value is none.
type Escalation struct {
	After time.Duration // since the question was asked
	To    []string      // names of targets in the settings
}

// planReminders sets when a question that is asked now is reminded of and escalated, and keeps how in its form.
func (a *Ask) planReminders(w *Awaiting, form *value.Map) {
	if a.Remind > 0 {
		w.RemindAt = w.Since.Add(a.Remind)
		form.Set("remind", a.Remind.Seconds())
	}
	if len(a.Escalate.To) > 0 {
		w.EscalateAt = w.Since.Add(a.Escalate.After)
		form.Set("escalate", value.NewMap("after", a.Escalate.After.Seconds(), "to", anyTexts(a.Escalate.To)))
	}
}

// readReminders reads what planReminders kept. texts reads a list of texts of a map.
func (a *Ask) readReminders(form *value.Map, texts func(m *value.Map, key string) []string) {
	a.Remind = secondsIn(form.Value("remind"))
	if e, ok := form.Value("escalate").(*value.Map); ok {
		a.Escalate = Escalation{secondsIn(e.Value("after")), texts(e, "to")}
	}
}

// secondsIn reads a number of seconds from a form.
func secondsIn(v any) time.Duration {
	switch v := v.(type) {
	case int64:
		return time.Duration(v) * time.Second
	case float64:
		return time.Duration(v * float64(time.Second))
	}
	return 0
}

// remind records that a question without an answer is reminded of, and that it is escalated, if that is due.
// Reminders that became due while no process carried the run are one. A paused run sends none.
func (x *awaiter) remind(w *Awaiting) {
	now := x.e.wall()
	reminds, escalates := due(w.RemindAt, now), due(w.EscalateAt, now)
	if w.Kind != AwaitAsk || !reminds && !escalates || x.e.mayBeHeld() && x.e.isHeld() {
		return
	}
	x.announce()
	a := w.ask()
	if reminds {
		w.Reminders++
		w.RemindAt = nextReminder(w, a.Remind, now)
		x.tellAgain(EventHumanReminded, w, Field{"number", int64(w.Reminders)})
	}
	if escalates {
		w.EscalateAt = time.Time{}
		x.tellAgain(EventHumanEscalated, w, Field{"to", anyTexts(a.Escalate.To)})
	}
}

// nextReminder returns when the reminder after one that is sent now is due: a multiple of every after the
// first, and not earlier than half of every from now, so that one that was late is not followed by another at
// once. Zero = that was the last one.
func nextReminder(w *Awaiting, every time.Duration, now time.Time) time.Time {
	if every <= 0 || w.Reminders >= MaxReminders {
		return time.Time{}
	}
	next := w.RemindAt.Add(every * (now.Sub(w.RemindAt)/every + 1))
	if next.Sub(now) < every/2 {
		next = next.Add(every)
	}
	return next
}

// tellAgain records in the history that those who may answer a question are told of it again.
func (x *awaiter) tellAgain(kind string, w *Awaiting, what Field) {
	fields := []Field{
		{"state", w.State},
		{"address", questionAddress(x.e.visitAddress(), w)},
		{"question", w.What},
		{"choices", anyTexts(w.ask().Choices)},
		what,
		{"since", FormatTime(w.Since)},
	}
	fields = append(fields, w.ask().whoField()...)
	if !w.Deadline.IsZero() {
		fields = append(fields, Field{"until", FormatTime(w.Deadline)})
	}
	x.e.emit(kind, fields...)
}

// due reports whether a time has come; zero never does.
func due(at, now time.Time) bool { return !at.IsZero() && !now.Before(at) }

// sooner returns a time moved back, and zero for zero.
func sooner(at time.Time, by time.Duration) time.Time {
	if at.IsZero() {
		return at
	}
	return at.Add(-by)
}
