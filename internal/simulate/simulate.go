package simulate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"loops/fsm"
	"loops/fsm/value"
)

// MostSteps is how many states one simulation enters at most, those of sub-loops among them.
const MostSteps = 100_000

// ErrEndless means that a simulation was given up after [MostSteps].
var ErrEndless = fmt.Errorf("the loop did not end within %d states, those of its sub-loops among them", MostSteps)

// madeUp is what the output of an action that was not done begins with, in the words of little-loops.
const madeUp = "[simulated output for: "

// A Simulation is what one walk through a loop needs.
type Simulation struct {
	Loop    *fsm.Loop
	Values  *value.Map // the context, which Simulate takes over
	Library fsm.Library
	Files   fsm.Files   // is read, and not written to
	Lessons fsm.Lessons // are read, and not written to
	Dir     string      // see [fsm.Config.Dir]
	Getenv  func(name string) (string, bool)
	Replies Replies
	Observe func(fsm.Event) // receives every event, numbered; may be nil
	Verify  bool            // see [fsm.Config.Verify]
}

// Simulate walks a loop to its end without doing anything: no process is started, no file written, no user asked,
// nothing waited for. Actions come to what Replies say; their output is made up. What only made-up output, a judge, or
// a look at the project after the action could decide is decided by the same reply; all other evaluators look for
// themselves.
//
// The error is a [*ScriptError], [ErrEndless], or the cause of ctx; the outcome then is the zero one.
func Simulate(ctx context.Context, s Simulation) (fsm.Outcome, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	loop := *s.Loop
	loop.Backoff = 0
	w := &walk{sim: s, cancel: cancel, loops: map[string]*fsm.Loop{"": &loop}, state: nil}
	awake := make(chan struct{})
	close(awake) // nothing is waited for
	w.run = fsm.Start(fsm.Config{
		Loop: &loop,
		Run:  runOf(&loop),
		Dir:  s.Dir,
		World: fsm.World{
			Runner:  w,
			Files:   forgetful{s.Files},
			Lessons: s.Lessons,
			Library: w,
			Random:  func() float64 { return 0 },
			Getenv:  s.Getenv,
			Verdict: w.verdict,
			MadeUp:  true,
		},
		Journal: fsm.Journal{
			Recorder: w,
			Observe:  s.Observe,
			Verify:   s.Verify,
		},
		Control: fsm.Control{
			Wake: awake,
		},
	}, s.Values, time.Now())
	outcome, err := w.run.Run(ctx)
	switch {
	case w.failed != nil:
		return fsm.Outcome{}, w.failed
	case err != nil:
		return fsm.Outcome{}, err
	case ctx.Err() != nil:
		return fsm.Outcome{}, context.Cause(ctx)
	}
	return outcome, s.Replies.rest()
}

// runOf returns the name of a run that is tried out: its schedule, if the loop has one, starts it this minute.
func runOf(l *fsm.Loop) (name fsm.RunName) {
	if l.Schedule == nil {
		return name
	}
	now := time.Now().Truncate(time.Minute)
	if zone, err := time.LoadLocation(l.Schedule.Timezone); err == nil && l.Schedule.Timezone != "" {
		now = now.In(zone)
	}
	name.ScheduledAt = now.Format(time.RFC3339)
	return name
}

// A walk is a simulation under way: it is the Runner, Recorder and Library of the executor, which calls it from one
// goroutine.
type walk struct {
	sim    Simulation
	run    *fsm.Executor
	cancel context.CancelCauseFunc
	failed error // what ended the simulation before the run

	loops  map[string]*fsm.Loop // by file and digest; "" is the outermost
	state  *fsm.State           // the innermost state the run is in
	steps  int
	seq    uint64
	answer reply // to the action done last
}

func (w *walk) fail(err error) error {
	if w.failed == nil {
		w.failed = err
		w.cancel(err)
	}
	return err
}

// Record implements [fsm.Recorder]. It numbers events, and forgets them.
func (w *walk) Record(_ context.Context, b *fsm.Batch) error {
	if w.failed != nil {
		return w.failed
	}
	for i := range b.Events {
		w.seq++
		b.Events[i].Seq = w.seq
		if b.Events[i].Kind == fsm.EventStateEnter {
			w.steps++
		}
	}
	if w.steps > MostSteps {
		return w.fail(ErrEndless)
	}
	if b.Snapshot != nil {
		loop, m := w.loops[""], b.Snapshot
		for m.Child != nil {
			loop, m = w.loops[m.Child.File+m.Child.SHA256], m.Child.Memory
		}
		w.state = loop.States[m.Current]
	}
	return nil
}

// Run implements [fsm.Runner]. It makes up the result of an action.
func (w *walk) Run(_ context.Context, a fsm.Action, _ func(string)) (fsm.Result, error) {
	if a.Quiet {
		return fsm.Result{}, nil // git, about a work tree that is not made
	}
	var err error
	if w.answer, err = w.sim.Replies.next(w.state); err != nil {
		return fsm.Result{}, w.fail(err)
	}
	text := madeUp + short(a.Text) + "]"
	res := fsm.Result{Stdout: text, ExitCode: w.answer.code, Bytes: int64(len(text))}
	if a.Kind == fsm.KindHTTP {
		res.Response = &fsm.Response{
			Status:  [3]int{200, 404, 500}[min(max(res.ExitCode, 0), 2)],
			Headers: new(value.Map),
		}
	}
	if a.Kind == fsm.KindPrompt {
		// Usage without a known price would end a run with a budget.
		res.Reply = &fsm.Reply{Complete: true, Coverage: fsm.CoverageComplete}
		if res.ExitCode != 0 {
			// Any other class would be guessed from the text, and might have the prompt sent again.
			res.Reply.Failure = fsm.FailTimeout
		}
	}
	return res, nil
}

// mostText is how much of an action its made-up output repeats, in bytes. Actions that repeat the output of
// actions would otherwise double what there is with each step.
const mostText = 4000

func short(text string) string {
	if len(text) <= mostText {
		return text
	}
	return strings.ToValidUTF8(text[:mostText], "") + "…"
}

// verdict decides what evaluators cannot see in made-up results; see [fsm.Config].
func (w *walk) verdict(l *fsm.Loop, st *fsm.State, cfg *fsm.Evaluate, ev fsm.Evidence) (fsm.Verdict, bool) {
	if cfg.Type == "loop" {
		return fsm.Verdict{}, false
	}
	w.state = st
	answer := w.answer
	_, guided := w.sim.Replies.(*scenario)
	if !guided {
		if !ev.Acted && !w.draw(&answer) {
			return fsm.Verdict{Name: "error"}, true
		}
		return simulated(answer.verdict), true
	}
	switch cfg.Type {
	case "exit_code", "action_stall":
		return fsm.Verdict{}, false
	case "llm_structured", "comparator", "contract":
		if !l.LLM.Enabled {
			return fsm.Verdict{}, false
		}
		fallthrough
	case "wait", "for_each", "parallel", "diff_stall", "score_stall", "open_question_stall":
		if !ev.Acted && !w.draw(&answer) {
			return fsm.Verdict{Name: "error"}, true
		}
	default: // they look at text, and those but two at that of actions that went well only
		anyExit := cfg.Type == "mcp_result" || cfg.Type == "harbor_scorer"
		if !strings.Contains(ev.Output, madeUp) || ev.ExitCode != 0 && !anyExit {
			return fsm.Verdict{}, false
		}
	}
	return simulated(verdictFor(st, answer.code)), true
}

// draw takes a reply for a state that decides without an action.
func (w *walk) draw(answer *reply) bool {
	var err error
	if *answer, err = w.sim.Replies.next(w.state); err != nil {
		_ = w.fail(err) // Record returns it
		return false
	}
	return true
}

func simulated(name string) fsm.Verdict {
	details := new(value.Map)
	details.Set("simulated", true)
	return fsm.Verdict{Name: name, Details: details}
}

// Loop implements [fsm.Library]. A sub-loop whose name is made up is one state that acts.
func (w *walk) Loop(name string, from *fsm.Loop) (*fsm.Loop, error) {
	var found *fsm.Loop
	var err error
	switch {
	case strings.Contains(name, madeUp):
		found = standIn(name)
	case w.sim.Library == nil:
		err = errors.New("no loops can be found here")
	default:
		found, err = w.sim.Library.Loop(name, from)
	}
	if err != nil {
		return nil, err
	}
	own := *found
	own.Backoff = 0
	w.loops[own.File+own.SHA256] = &own
	return &own, nil
}

func standIn(name string) *fsm.Loop {
	text := "[sub-loop: " + name + "]"
	return &fsm.Loop{
		Name: name, File: text, Initial: "simulated", Order: []string{"simulated", "done", "failed"}, MaxSteps: 2,
		MaxEdgeRevisits: 1,
		LLM:             fsm.LLM{Enabled: true},
		States: map[string]*fsm.State{
			"simulated": {
				Name: "simulated", Action: text, ActionType: "shell",
				On: map[string]string{"yes": "done", "no": "failed"},
			},
			"done":   {Name: "done", Terminal: true},
			"failed": {Name: "failed", Terminal: true, Failure: true},
		},
	}
}

// forgetful files can be read, and are not written to.
type forgetful struct{ fsm.Files }

// WriteFile implements [fsm.Files].
func (forgetful) WriteFile(string, []byte) error { return nil }

// Write implements [fsm.Files].
func (forgetful) Write(_ string, content func(io.Writer) error) error { return content(io.Discard) }

// Reachable returns a loop and all that its states run, as far as their names are known before a run, each once.
func Reachable(l *fsm.Loop, lib fsm.Library) []*fsm.Loop {
	list := []*fsm.Loop{l}
	add := func(name string, from *fsm.Loop) {
		if name == "" || strings.Contains(name, "${") || lib == nil {
			return
		}
		child, err := lib.Loop(name, from)
		if err != nil {
			return // is reported when a run comes there
		}
		if !slices.ContainsFunc(list, func(known *fsm.Loop) bool { return known.File == child.File }) {
			list = append(list, child)
		}
	}
	for i := 0; i < len(list); i++ {
		for _, name := range list[i].Order {
			st := list[i].States[name]
			if st == nil {
				continue
			}
			add(st.Loop, list[i])
			if st.Branches != nil {
				for _, b := range st.Branches.List {
					add(b.State.Loop, list[i])
				}
			}
		}
	}
	return list
}
