package fsm_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"loops/fsm"
	"loops/fsm/value"
)

// A mortal records until it dies.
type mortal struct {
	tape
	dead bool
}

func (r *mortal) Record(ctx context.Context, b *fsm.Batch) error {
	if r.dead {
		return errDied
	}
	return r.tape.Record(ctx, b)
}

// endings are loops that end in different ways, after their action or before one.
var endings = map[string]string{
	"a verdict that leads nowhere": `s: {action: echo, on_no: done}`,
	"an error that leads nowhere":  `s: {action: echo bad, evaluate: {type: output_numeric, operator: eq, target: 1}, on_yes: done}`,
	"a list that failed":           `s: {for_each: [bad], action: 'echo ${item.value}', on_item_failure: continue, on_yes: done, on_no: '${captured.none.output}'}`,
	"circles":                      `s: {action: echo, next: s}`,
	"the handler of max_steps": `s: {action: echo, next: t}` + "\n  " + `t: {action: echo, next: s}` + "\n  " +
		`cap: {action: echo handler, on_no: done}`,
	"a terminal state":                `s: {action: echo, next: done}`,
	"a terminal state that is failed": `s: {action: echo bad, next: done, on_error: failed}`,
	"a request that is fatal":         `s: {action: 'echo FATAL_ERROR: no', next: done}`,
}

// A run whose process died while its end was noted in its memory, its receipt was made, its branch was merged
// or its files were looked at did its last action again when it was resumed.
func TestProcessDiesAtTheEndOfARun(t *testing.T) {
	t.Parallel()
	for name, states := range endings {
		keys := "max_edge_revisits: 2"
		if name == "the handler of max_steps" {
			keys = "max_steps: 2\non_max_steps: cap"
		}
		plain := guardLoop(t, "name: x\ndescription: d\ninitial: s\n"+keys+"\nstates:\n  "+states+
			"\n  done: {terminal: true}\n  failed: {terminal: true, failure: true}\n")
		remembering := *plain
		remembering.Lessons = &fsm.LessonBook{}
		for _, moment := range []string{"", "note", "receipt", "merge", "files", "files without a memory"} {
			t.Run(name+"/"+moment, func(t *testing.T) {
				t.Parallel()
				loop, moment := &remembering, moment
				if moment == "files without a memory" {
					loop, moment = plain, "files"
				}
				world, act, rec := &books{}, &echo{}, &mortal{}
				seen := []string{}
				at := func(what string) {
					if seen = append(seen, what); what == moment && !rec.dead {
						rec.dead = true
					}
				}
				cfg := fsm.Config{
					Run: fsm.RunName{ID: "run"}, Loop: loop, Journal: fsm.Journal{Recorder: rec, Verify: true},
					World: fsm.World{
						Runner: act, Lessons: &noting{world, func() { at("note") }},
						Facts: func(_ context.Context, ends bool) []fsm.Field {
							if ends {
								at("files")
							}
							return nil
						},
						Receipt: func(context.Context, fsm.Spent, []fsm.Event) *fsm.Receipt {
							at("receipt")
							return &fsm.Receipt{Run: "run"}
						},
						Merge: func(context.Context) (string, string) { at("merge"); return fsm.MergeDone, "" },
					},
				}
				o, err := fsm.Start(cfg, value.NewMap(), time.Now()).Run(t.Context())
				done := len(act.texts)
				if rec.dead {
					if !errors.Is(err, errDied) {
						t.Fatalf("%+v, %v", o, err)
					}
					mem := clone(rec.last())
					if mem.InFlight() {
						t.Error("an action counts as in flight")
					}
					if state, err := mem.Unrepeatable(loop, nil); state != "" || err != nil {
						t.Errorf("whether %q may run again is asked, %v", state, err)
					}
					rec.dead, moment = false, ""
					if o, err = fsm.Resume(cfg, mem).Run(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				if len(act.texts) != done {
					t.Errorf("after that it did %q", act.texts[done:])
				}
				if n := rec.has(fsm.EventLoopComplete); n != 1 {
					t.Errorf("it ended %d times", n)
				}
				if m := rec.last(); m.Ending != nil || m.Outcome == nil || *m.Outcome != o {
					t.Errorf("on record is the end %+v, and that it ends as %+v", m.Outcome, m.Ending)
				}
				if u := world.uses["x run"]; loop == &remembering &&
					(u.Ended != o.TerminatedBy || u.Good != (o.TerminatedBy == fsm.EndTerminal && !o.Failure)) {
					t.Errorf("noted is %+v of %+v", u, o)
				}
				if completed := o.TerminatedBy == fsm.EndTerminal && !o.Failure; completed != (o.Receipt != nil) ||
					completed != (o.Merge == fsm.MergeDone) || !slices.Contains(seen, "files") {
					t.Errorf("it ended as %+v after %q", o, seen)
				}
			})
		}
	}
}

// noting are memories that call a function when the end of a run is noted.
type noting struct {
	*books
	ended func()
}

func (n *noting) Ended(ctx context.Context, memory string, u fsm.LessonUse) error {
	n.ended()
	return n.books.Ended(ctx, memory, u)
}

// A run whose process died while it ended at a limit, and whose limit was raised, continues.
func TestLimitIsRaisedAtTheEndOfARun(t *testing.T) {
	t.Parallel()
	const text = "name: x\ndescription: d\ninitial: s\nmemory: {}\nbudget: {allow_unknown_cost: true, prompts: 2}\n" +
		"states:\n" +
		"  s: {action_type: prompt, action: do, evaluate: {type: exit_code}, next: t}\n" +
		"  t: {action_type: prompt, action: do, next: u}\n  u: {action_type: prompt, action: do, next: done}\n" +
		"  done: {terminal: true}\n"
	for _, c := range []struct {
		name, by     string
		limit, raise func(*fsm.Loop)
	}{
		{"max_steps", fsm.EndMaxSteps, func(l *fsm.Loop) { l.MaxSteps, l.Budget = 2, nil }, func(l *fsm.Loop) {
			l.MaxSteps = 9
		}},
		{"budget", fsm.EndBudget, func(*fsm.Loop) {}, func(l *fsm.Loop) { l.Budget = nil }},
	} {
		for _, raised := range []bool{true, false} {
			loop, act, rec := guardLoop(t, text), &echo{}, &mortal{}
			c.limit(loop)
			cfg := fsm.Config{
				Run: fsm.RunName{ID: "run"}, Loop: loop, Journal: fsm.Journal{Recorder: rec, Verify: true},
				World: fsm.World{Runner: act, Lessons: &noting{&books{}, func() { rec.dead = true }}},
			}
			if _, err := fsm.Start(cfg, value.NewMap(), time.Now()).Run(t.Context()); !errors.Is(err, errDied) {
				t.Fatal(c.name, err)
			}
			mem := clone(rec.last())
			if rec.dead = false; raised {
				c.raise(loop)
			}
			cfg.Lessons = &books{}
			o, err := fsm.Resume(cfg, mem).Run(t.Context())
			want, texts := c.by, 2
			if raised {
				want, texts = fsm.EndTerminal, 3
			}
			if err != nil || o.TerminatedBy != want || len(act.texts) != texts {
				t.Errorf("%s, raised: %t: it ended by %s after %q, %v", c.name, raised, o.TerminatedBy, act.texts, err)
			}
		}
	}
}

// A run whose process died while it ended with an error in the handler of max_steps ends there, also where max_steps is
// higher by then.
func TestErrorInAHandlerEndsTheRun(t *testing.T) {
	t.Parallel()
	loop, act, rec := guardLoop(t,
		"name: x\ndescription: d\ninitial: s\nmemory: {}\nmax_steps: 1\non_max_steps: cap\nstates:\n"+
			"  s: {action: echo, next: t}\n  t: {action: echo, next: done}\n"+
			"  cap: {action: echo, next: '${captured.none.output}'}\n  done: {terminal: true}\n"), &echo{}, &mortal{}
	cfg := fsm.Config{
		Run: fsm.RunName{ID: "run"}, Loop: loop, Journal: fsm.Journal{Recorder: rec, Verify: true},
		World: fsm.World{Runner: act, Lessons: &noting{&books{}, func() { rec.dead = true }}},
	}
	if _, err := fsm.Start(cfg, value.NewMap(), time.Now()).Run(t.Context()); !errors.Is(err, errDied) {
		t.Fatal(err)
	}
	rec.dead, loop.MaxSteps, cfg.Lessons = false, 9, &books{}
	o, err := fsm.Resume(cfg, clone(rec.last())).Run(t.Context())
	if err != nil || o.TerminatedBy != fsm.EndError || o.FinalState != "cap" || len(act.texts) != 2 {
		t.Errorf("it ended as %+v after %q, %v", o, act.texts, err)
	}
}
