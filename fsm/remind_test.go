package fsm_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"loops/fsm"
	"loops/fsm/value"
)

const remindingLoop = `name: reminds
initial: outer
states:
  outer:
    parallel:
      one: {ask: {question: "Ship it?", remind: 4h, escalate: {after: 9h, to: [team]}}}
    on_yes: done
    on_no: failed
  done: {terminal: true}
  failed: {terminal: true}
`

// reminders returns what was recorded of reminders, with the hours since begin.
func reminders(events []fsm.Event, begin time.Time) (all []string) {
	for _, e := range events {
		switch e.Kind {
		case fsm.EventHumanReminded:
			all = append(all, fmt.Sprintf("%g: %v", e.Time.Sub(begin).Round(time.Minute).Hours(), e.Get("number")))
		case fsm.EventHumanEscalated:
			all = append(all, fmt.Sprintf("%g: %v", e.Time.Sub(begin).Round(time.Minute).Hours(), e.Get("to")))
		}
	}
	return all
}

// carry carries a run for so long, and then stops it: a new one, or what is on record of it.
func carry(t *testing.T, cfg fsm.Config, rec *tape, lasts time.Duration) {
	t.Helper()
	ctx, stop := context.WithCancelCause(context.Background())
	time.AfterFunc(lasts, func() { stop(&fsm.Stop{Signal: "SIGTERM"}) })
	x := fsm.Start(cfg, cfg.Loop.Context.Clone(), time.Now())
	if n := len(rec.saved); n > 0 {
		x = fsm.Resume(cfg, clone(rec.saved[n-1]))
	}
	if _, err := x.Run(ctx); err != nil {
		t.Fatal(err)
	}
}

// resumeAt resumes a run at a time, and stops it after some more.
func resumeAt(t *testing.T, cfg fsm.Config, rec *tape, at time.Time, lasts time.Duration) {
	t.Helper()
	time.Sleep(time.Until(at)) // in a bubble
	carry(t, cfg, rec, lasts)
}

// A question in a branch is reminded of each four hours from when it was asked, also by the process that
// resumes the run: what became due while there was none is one reminder, and none is sent twice.
func TestRemindersOverAResume(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		loop := loadLoop(t, remindingLoop)
		rec := &tape{}
		cfg, _, _ := config(loop, rec)
		begin := time.Now()
		carry(t, cfg, rec, 5*time.Hour)
		for _, hours := range []int{6, 18, 22} { // resumed, and stopped an hour later
			resumeAt(t, cfg, rec, begin.Add(time.Duration(hours)*time.Hour), time.Hour+time.Minute)
		}
		want := []string{"4: 1", "18: 2", "18: [team]", "22: 3"}
		if got := reminders(rec.events, begin); !slices.Equal(got, want) {
			t.Errorf("recorded were %q, want %q", got, want)
		}
		q := rec.saved[len(rec.saved)-1].Questions()
		if len(q) != 1 || q[0].Reminders != 3 ||
			!q[0].RemindAt.Equal(begin.Add(24*time.Hour).UTC().Truncate(time.Microsecond)) {
			t.Errorf("the question is %+v", q)
		}
	})
}

// A reminder that was late, after a pause or without a process, was followed by the next one at once.
func TestALateReminderIsOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		loop := loadLoop(t, remindingLoop)
		rec := &tape{}
		cfg, _, _ := config(loop, rec)
		begin := time.Now()
		carry(t, cfg, rec, time.Hour)
		resumeAt(t, cfg, rec, begin.Add(8*time.Hour-time.Second), 5*time.Hour)
		if got, want := reminders(rec.events, begin), []string{"8: 1", "9: [team]", "12: 2"}; !slices.Equal(got, want) {
			t.Errorf("recorded were %q, want %q", got, want)
		}
	})
}

// In a pause nobody is reminded: what became due in it is one reminder after it.
func TestNoReminderInAPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		loop := loadLoop(t, remindingLoop)
		rec := &tape{}
		cfg, _, _ := config(loop, rec)
		begin := time.Now()
		watched(&cfg).pause(3*time.Hour, 11*time.Hour)
		carry(t, cfg, rec, 13*time.Hour)
		if got, want := reminders(rec.events, begin), []string{"11: 1", "11: [team]"}; !slices.Equal(got, want) {
			t.Errorf("recorded were %q, want %q", got, want)
		}
	})
}

// There are 20 reminders at most, and none once it was answered.
func TestRemindersEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		loop := loadLoop(t, remindingLoop)
		rec := &tape{}
		cfg, _, _ := config(loop, rec)
		var sent post
		cfg.Inbox = &sent
		begin := time.Now()
		time.AfterFunc(200*time.Hour, func() {
			sent.send(fsm.Signal{N: 1, Name: fsm.AnswerName("/1+one/1:1"), Data: value.NewMap("choice", "approve")})
		})
		out, err := fsm.Start(cfg, loop.Context.Clone(), begin).Run(context.Background())
		if err != nil || out.FinalState != "done" {
			t.Fatalf("it ended as %+v, %v", out, err)
		}
		got := reminders(rec.events, begin)
		if len(got) != fsm.MaxReminders+1 || got[len(got)-1] != "80: 20" {
			t.Errorf("recorded were %q", got)
		}
	})
}
