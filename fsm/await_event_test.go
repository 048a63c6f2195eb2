package fsm_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"loops/fsm"
	"loops/fsm/value"
)

// A box is an inbox with all that was ever sent.
type box []fsm.Signal

func (b box) Signals(_ context.Context, name string, after uint64) (list []fsm.Signal, _ error) {
	for _, s := range b {
		if s.Name == name && s.N > after {
			list = append(list, s)
		}
	}
	return list, nil
}

// A post is an inbox to which more is sent while the run goes on.
type post struct {
	mu   sync.Mutex
	sent box
}

func (p *post) Signals(ctx context.Context, name string, after uint64) ([]fsm.Signal, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sent.Signals(ctx, name, after)
}

func (p *post) send(more ...fsm.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent = append(slices.Clip(p.sent), more...)
}

const toldLoop = `name: told
initial: first
states:
  first:
    wait: {event: go}
    next: act
  act:
    action: out ${event.data}
    append_to_messages: ${captured.x.output:default=}${event.number}
    next: second
  second:
    wait: {event: go}
    capture: last
    append_to_messages: ${event.number}
    next: third
  third:
    wait: {event: go}
    timeout: 1h
    on_yes: failed
    on_timeout: done
  done: {terminal: true}
  failed: {terminal: true}
`

// Each signal is taken by one wait, the oldest first, however often the process dies.
func TestSignalsAtEveryLostRecord(t *testing.T) {
	t.Parallel()
	sent := box{
		{N: 2, Name: "go", Data: "a"},
		{N: 3, Name: "other"},
		{N: 7, Name: "go", Data: value.NewMap("number", "b", "x", int64(1))},
	}
	synctest.Test(t, func(t *testing.T) {
		loop := loadLoop(t, toldLoop)
		whole := &tape{}
		cfg, _, _ := config(loop, whole)
		cfg.Inbox = sent
		want, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(context.Background())
		last := whole.saved[len(whole.saved)-1]
		if err != nil || want.FinalState != "done" || !slices.Equal(last.Messages, []string{"2", "7"}) ||
			last.Taken["go"] != 7 {
			t.Fatalf("the unbroken run ended as %+v (%v), with %q and %v", want, err, last.Messages, last.Taken)
		}
		for die := 2; die <= whole.count; die++ {
			rec := &tape{die: die}
			cfg, _, _ := config(loop, rec)
			cfg.Inbox = sent
			if _, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(context.Background()); !errors.Is(err,
				errDied) {
				t.Fatalf("batch %d lost: the run was carried further: %v", die, err)
			}
			at := len(rec.saved) - 1
			rec.die, rec.events = 0, rec.events[:rec.points[at]]
			got, err := fsm.Resume(cfg, clone(rec.saved[at])).Run(context.Background())
			last := rec.saved[len(rec.saved)-1]
			if err != nil || got.FinalState != want.FinalState || !slices.Equal(last.Messages, []string{"2", "7"}) {
				t.Errorf("batch %d lost: it ended as %+v (%v), with %q", die, got, err, last.Messages)
			}
		}
	})
}

// A signal that comes in the wait is taken at once; those of other names, and a pause, are not what is waited for.
func TestASignalInAWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		loop := loadLoop(t, awaitingLoop)
		loop.States["ready"].Await = &fsm.Await{Event: "go"}
		rec := &tape{}
		cfg, _, ctx := config(loop, rec)
		var sent box
		changed := make(chan struct{})
		cfg.Inbox, cfg.Changed = &sent, func() <-chan struct{} { return changed }
		ring := func() {
			synctest.Wait() // the machine waits, and reads nothing of this until the channel is closed
			old := changed
			changed = make(chan struct{})
			close(old)
		}
		time.AfterFunc(10*time.Second, ring)
		time.AfterFunc(20*time.Second, func() {
			synctest.Wait()
			sent = append(sent, fsm.Signal{N: 1, Name: "other"})
			ring()
		})
		time.AfterFunc(30*time.Second, func() {
			synctest.Wait()
			sent = append(sent, fsm.Signal{N: 2, Name: "go", From: "ada"})
			ring()
		})
		begin := time.Now()
		out, err := fsm.Start(cfg, loop.Context.Clone(), begin).Run(ctx)
		if err != nil || out.FinalState != "done" {
			t.Fatalf("it ended as %+v, %v", out, err)
		}
		if took := time.Since(begin); took != 30*time.Second {
			t.Errorf("it took %s, want 30s", took)
		}
		last := rec.saved[len(rec.saved)-1]
		if from := fmt.Sprint(last.Event.Value("from"), last.Event.Value("number")); from != "ada2" {
			t.Errorf("it took the signal %s", from)
		}
		if n := len(rec.saved); n > 6 {
			t.Errorf("%d records of a wait in which nothing else happened", n)
		}
	})
}

const askingLoop = `name: asks
initial: ask
states:
  ask:
    ask: {question: "Ship ${context.what:default=it}?", choices: [approve, reject], fields: {text: text}}
    timeout: 24h
    on_approve: outer
    on_reject: failed
    on_timeout: failed
  outer:
    set: {what: "'other'"}
    ask: {question: "Sure?"}
    on_approve: done
    on_reject: failed
  done: {terminal: true}
  failed: {terminal: true}
`

// A question is asked once, its answer is taken once, and nothing but the first one counts, however often the
// process dies.
func TestAnswersAtEveryLostRecord(t *testing.T) {
	t.Parallel()
	answer := func(n uint64, to, choice string) fsm.Signal {
		return fsm.Signal{
			N: n, Name: fsm.AnswerName(to),
			Data: value.NewMap("choice", choice, "fields", value.NewMap("text", "as edited")), From: "ada",
		}
	}
	sent := box{answer(1, "/1:1", "approve"), answer(2, "/1:1", "reject"), answer(3, "/2:2", "approve")}
	synctest.Test(t, func(t *testing.T) {
		loop := loadLoop(t, askingLoop)
		whole := &tape{}
		cfg, _, _ := config(loop, whole)
		cfg.Inbox = sent
		want, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(context.Background())
		if err != nil || want.FinalState != "done" {
			t.Fatalf("the unbroken run ended as %+v, %v", want, err)
		}
		got, _ := whole.saved[len(whole.saved)-1].Captured.Value("ask").(*value.Map)
		if got.Value("choice") != "approve" || got.Value("output") != "as edited" || got.Value("by") != "ada" ||
			got.Value("verdict") != "approve" {
			t.Errorf("captured: %v", got)
		}
		for die := 2; die <= whole.count; die++ {
			rec := &tape{die: die}
			cfg, _, _ := config(loop, rec)
			cfg.Inbox = sent
			if _, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(context.Background()); !errors.Is(err,
				errDied) {
				t.Fatalf("batch %d lost: the run was carried further: %v", die, err)
			}
			at := len(rec.saved) - 1
			rec.die, rec.events = 0, rec.events[:rec.points[at]]
			out, err := fsm.Resume(cfg, clone(rec.saved[at])).Run(context.Background())
			if err != nil || out.FinalState != "done" {
				t.Errorf("batch %d lost: it ended as %+v, %v", die, out, err)
			}
			answered := 0
			for _, e := range rec.events {
				if e.Kind == fsm.EventHumanResponse {
					answered++
				}
			}
			if answered != 2 {
				t.Errorf("batch %d lost: %d answers are on record, want 2", die, answered)
			}
		}
	})
}

// What is asked is kept as it was when the state was entered, and what does not fit it is refused.
func TestAnOpenQuestion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		loop := loadLoop(t, askingLoop)
		rec := &tape{}
		cfg, runner, ctx := config(loop, rec)
		time.AfterFunc(time.Hour, func() { runner.stop(&fsm.Stop{Signal: "SIGTERM"}) })
		if _, err := fsm.Start(cfg, loop.Context.Clone(), time.Now()).Run(ctx); err != nil {
			t.Fatal(err)
		}
		last := rec.saved[len(rec.saved)-1]
		open := last.Questions()
		if len(open) != 1 {
			t.Fatalf("it asks %+v", open)
		}
		q := open[0]
		if q.Address != "/1:1" || q.Question != "Ship it?" || !slices.Equal(q.Choices, []string{"approve", "reject"}) {
			t.Fatalf("it asks %+v", q)
		}
		for _, c := range []struct {
			choice string
			said   map[string]string
			wrong  string
		}{
			{"approve", nil, ""},
			{"approve", map[string]string{"text": "x"}, ""},
			{"2", nil, ""},
			{"edit", nil, `"edit" is no choice; the choices are 1 approve, 2 reject`},
			{"app", nil, `"app" is no choice; the choices are 1 approve, 2 reject`},
			{"3", nil, `"3" is no choice; the choices are 1 approve, 2 reject`},
			{"02", nil, `"02" is no choice; the choices are 1 approve, 2 reject`},
			{"approve", map[string]string{"txt": "x"}, `"txt" is no field of the question; the fields are text`},
		} {
			_, err := q.Chosen(c.choice)
			if err == nil {
				_, err = q.Fill(c.said)
			}
			if got := fmt.Sprint(err); (err != nil || c.wrong != "") && got != c.wrong {
				t.Errorf("%s %v: %q, want %q", c.choice, c.said, got, c.wrong)
			}
		}
	})
}
