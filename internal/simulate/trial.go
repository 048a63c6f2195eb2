package simulate

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"loops/engine"
	"loops/engine/action"
	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/api"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/internal/terminal"
	"loops/internal/view"
)

// A Trial is one state that is to be done.
type Trial struct {
	Name, State string
	Context     []string
	Stdin       string // file that is taken as the output; "" = the action is run
	ExitCode    int    // with stdin
	Yes, JSON   bool
	Agents      project.Agents
}

// Test does one state of a loop for real, and shows the result of it.
func (d *Desk) Test(ctx context.Context, o *Trial) (seen Visited, err error) {
	r, err := d.Subject(o.Name, nil, o.Context, project.Overrides{Agents: o.Agents}, o.JSON)
	if err != nil {
		return seen, err
	}
	const see engine.Operation = "test"
	if o.State == "" {
		o.State = r.Loop.Initial
	}
	st, err := r.State(o.State, see)
	if err != nil {
		return seen, err
	}
	if err := o.refuse(r, st); err != nil {
		return seen, err
	}
	if err := engine.VetLoop(ctx, r.project, r.Loop.File); err != nil {
		return seen, err
	}
	given := ""
	if o.Stdin != "" {
		if given, err = d.Read("stdin", o.Stdin, action.DefaultCap); err != nil {
			return seen, err
		}
	}
	conf, err := r.project.Config()
	if err != nil {
		return seen, err
	}
	known, err := r.project.Pricer()
	if err != nil {
		return seen, err
	}
	dir, err := os.MkdirTemp("", "loops-test-*")
	if err != nil {
		return seen, fmt.Errorf("no temporary folder could be made: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	pairs := new(value.Map)
	if err := engine.SetPairs(pairs, o.Context); err != nil {
		return seen, err
	}
	if _, own := pairs.Get("run_dir"); !own {
		r.Values.Set("run_dir", dir+"/")
	}
	runner := &action.Runner{
		Dir: r.project.WorkDir(), Env: engine.ActionEnv(r.project, d.Options),
		Mark:   fmt.Sprintf("%stest-%d-%d", r.project.Mark(), os.Getpid(), time.Now().UnixNano()),
		RunDir: dir, Grace: engine.Grace, ToolCall: d.Options.ToolCall(r.project.Dir), Prices: known,
	}
	engine.ConfigureAgents(r.project, runner, o.Agents, conf)
	engine.ConfigureSandbox(runner, conf)
	var watcher engine.Watcher
	if st.Await != nil && st.Await.Run != "" && r.project.HasRecords() {
		if watcher.Records, err = r.project.Records(ctx, false); err != nil {
			return seen, err
		}
		defer func() { _ = watcher.Records.Close() }()
	}
	tp := &testPrinter{d: d, r: r, st: st, o: o}
	err = d.Guard(ctx, func(ctx context.Context) error {
		var failed error
		seen, failed = VisitState(ctx, fsm.Config{
			Loop: r.Loop,
			Dir:  r.project.WorkDir(),
			World: fsm.World{
				Runner:  shownRunner{runner, tp, o, given},
				Files:   action.Files{Dir: r.project.WorkDir()},
				Getenv:  d.Getenv,
				Watcher: watcher,
				Lessons: engine.LessonsToRead(r.project),
			},
		}, st.Name, r.Values)
		return failed
	})
	_ = runner.Close()
	if err != nil {
		return seen, err
	}
	return seen, tp.finish(&seen)
}

// refuse explains why a state is not done.
func (o *Trial) refuse(r *Subject, st *fsm.State) error {
	const see engine.Operation = "test"
	name := humanize.Quote(st.Name)
	switch {
	case st.Terminal:
		return engine.Misuse(see, "%s", "the state "+name+" is an end: it does nothing")
	case st.Loop != "":
		return engine.Misuse("simulate", "the state %s runs the loop %s: test the states of that one, or "+
			"simulate this one", name, humanize.Clip(st.Loop))
	case o.Stdin != "" && st.Each != nil:
		return engine.Misuse(see, "the state %s works on a list: %s cannot be the output of the action of each item",
			name, engine.Setting{Name: "stdin"})
	case o.Stdin != "" && st.Action == "":
		return engine.Misuse(see, "the state %s has no action whose output %s could be", name,
			engine.Setting{Name: "stdin"})
	case o.Yes:
		return nil
	case fsm.Prompts(st) && o.Stdin == "":
		return engine.Misuse(see, "the action of the state %s is a prompt for an agent, which uses your account and "+
			"may change files: say %s, or %s with what the agent would answer", name, engine.Setting{Name: "yes"},
			engine.Setting{Name: "stdin", Value: "FILE"})
	case AsksJudge(st) && r.Loop.LLM.Enabled:
		return engine.Misuse(see, "the verdict of the state %s is that of a judge, which uses your account: say %s, "+
			"or %s to do without", name, engine.Setting{Name: "yes"}, engine.Setting{Name: "no_llm"})
	}
	return nil
}

// A shownRunner shows actions as they are done, or has one whose output is given.
type shownRunner struct {
	fsm.Runner
	show  *testPrinter
	o     *Trial
	given string
}

// Run implements [fsm.Runner].
func (r shownRunner) Run(ctx context.Context, a fsm.Action, out func(string)) (fsm.Result, error) {
	if a.Quiet {
		return r.Runner.Run(ctx, a, out)
	}
	r.show.begin(a)
	both := func(text string) {
		r.show.output(text)
		if out != nil {
			out(text)
		}
	}
	if r.o.Stdin == "" {
		return r.Runner.Run(ctx, a, both)
	}
	text := strings.ToValidUTF8(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(r.given), "\ufffd")
	if text != "" {
		both(strings.TrimSuffix(text, "\n"))
	}
	res := fsm.Result{Stdout: text, ExitCode: r.o.ExitCode, Bytes: int64(len(r.given))}
	if a.Kind == fsm.KindPrompt {
		res.Reply = &fsm.Reply{Complete: true, Coverage: fsm.CoverageComplete}
	}
	return res, nil
}

// A testPrinter prints the result of one state.
type testPrinter struct {
	d      *Desk
	r      *Subject
	st     *fsm.State
	o      *Trial
	begun  bool // an action was shown
	opened bool // the heading of the output was printed
}

func (p *testPrinter) begin(act fsm.Action) {
	if p.o.JSON {
		return
	}
	p.begun = true
	what := map[fsm.Kind]string{
		fsm.KindPrompt: "prompt", fsm.KindMCP: "tool", fsm.KindHTTP: "http",
		fsm.KindProgram: strings.Join(act.Program, " "),
	}[act.Kind]
	if what == "" {
		what = "shell"
	}
	if p.o.Stdin != "" {
		what += ", not run"
	}
	terminal.Say(p.d.Out, "State %s of loop %s\nAction (%s):\n", p.st.Name, p.r.Loop.Name, what)
	texts := []string{act.Text}
	if act.Kind == fsm.KindMCP {
		texts = append(texts, act.Params)
	}
	for _, text := range texts {
		for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
			terminal.SayLine(p.d.Out, "    "+line)
		}
	}
	p.d.Out.Flush()
}

func (p *testPrinter) output(text string) {
	if p.o.JSON {
		return
	}
	if !p.opened {
		p.opened = true
		terminal.SayLine(p.d.Out, "Output:")
	}
	p.block(text)
}

// block prints output.
func (p *testPrinter) block(text string) {
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		terminal.SayOutput(p.d.Out, "    ", line)
	}
}

func (p *testPrinter) finish(v *Visited) error {
	if p.o.JSON {
		return terminal.WriteJSON(p.d.Out, p.object(v))
	}
	w := p.d.Out
	if !p.begun {
		terminal.Say(w, "State %s of loop %s\n", p.st.Name, p.r.Loop.Name)
	}
	if res := v.Result; res != nil {
		if strings.TrimSpace(res.Stderr) != "" {
			terminal.SayLine(w, "Standard error:")
			p.block(res.Stderr)
		}
		line := fmt.Sprintf("Exit code: %d", res.ExitCode)
		if res.TimeoutKind != "" {
			line += ", timed out"
		}
		if p.o.Stdin == "" {
			line += " (" + humanize.Duration(res.Duration) + ")"
		}
		terminal.SayLine(w, line)
		if res.Background > 0 {
			terminal.Say(w, "It left %s running.\n", humanize.Count(res.Background, "process"))
		}
	}
	if v.Evaluator != "" {
		by := v.Evaluator
		if by == "default" {
			by = EvaluatorOf(p.st) + ", by default"
		}
		terminal.Say(w, "Verdict: %s (%s)\n", shownVerdict(v.Verdict), by)
		for _, k := range v.Details.Keys() {
			d, _ := v.Details.Get(k)
			terminal.Say(w, "    %s: %s\n", k, humanize.Cut(humanize.PlainLine(humanize.FirstLine(inspect.Text(d))),
				200))
		}
	}
	for _, e := range v.Notes {
		switch e.Kind {
		case fsm.EventNote:
			terminal.SayLine(w, inspect.NoteText(e))
			continue
		case fsm.EventItemsStart, fsm.EventItemStart, fsm.EventBranchesStart, fsm.EventBranchStart:
			continue
		case fsm.EventItemEnd, fsm.EventBranchEnd:
			terminal.SayLine(w, inspect.EventText(e))
			continue
		}
		terminal.Say(w, "%s: %s\n", strings.ReplaceAll(e.Kind, "_", " "), inspect.Pairs(e))
	}
	switch {
	case v.Next != "":
		kind := ""
		if to := p.r.Loop.States[v.Next]; to.Terminal {
			kind = " (" + strings.TrimSpace(view.KindOf(to)) + ")"
		}
		terminal.Say(w, "Would transition: %s -> %s%s\n", p.st.Name, v.Next, kind)
	case v.Waits != nil && v.Outcome.Signal == "":
		terminal.Say(w, "Would wait for %s\n", inspect.WaitLine(v.Waits))
	case v.Outcome.Signal != "":
		terminal.SayLine(w, "Stopped by "+v.Outcome.Signal)
	default:
		line := "Would end: " + inspect.EndWord(v.Outcome, p.r.Loop.MaxSteps)
		if v.Outcome.Error != "" {
			line += ": " + v.Outcome.Error
		}
		if v.Outcome.Error == inspect.NoTransition && v.Evaluator != "" {
			line += fmt.Sprintf(": the state has no transition for verdict %s", shownVerdict(v.Verdict))
		}
		terminal.SayLine(w, line)
	}
	return nil
}

func shownVerdict(name string) string {
	if name == "" {
		return `""`
	}
	return name
}

func (p *testPrinter) object(v *Visited) api.Tested {
	o := api.Tested{Loop: p.r.Loop.Name, File: p.r.Loop.File, State: p.st.Name, Next: api.Text(v.Next)}
	if a := v.Action; a != nil {
		o.Kind, o.Action, o.Run = new(string(a.Kind)), &a.Text, new(p.o.Stdin == "")
		if a.Params != "" {
			o.Params = &a.Params
		}
	}
	if res := v.Result; res != nil {
		o.ExitCode, o.TimeoutKind, o.Duration = &res.ExitCode, new(api.Text(res.TimeoutKind)),
			new(res.Duration.Milliseconds())
		o.Output, o.Stderr = &res.Stdout, &res.Stderr
	}
	if v.Evaluator != "" {
		o.Evaluator, o.Verdict, o.Details = &v.Evaluator, &v.Verdict, view.OrEmpty(v.Details)
	}
	if v.Waits != nil {
		o.Waits = new(view.Waiting(v.Waits))
	} else if v.Next == "" {
		o.End = new(p.d.endOf(v.Outcome))
	}
	for _, e := range v.Notes {
		note := api.Pairs[any]{{Key: "event", Value: e.Kind}}
		for _, f := range e.Fields {
			note = append(note, api.Pair[any]{Key: f.Key, Value: f.Value})
		}
		o.Events = append(o.Events, note)
	}
	return o
}
