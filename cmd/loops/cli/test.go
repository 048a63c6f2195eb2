package cli

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/engine/action"
	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/inspect"
	"loops/internal/phrase"
	"loops/internal/plain"
	"loops/internal/rehearse"
	"loops/internal/ui"
	"loops/internal/ui/views"
)

type testOptions struct {
	name, state string
	context     []string
	stdin       string // file that is taken as the output; "" = the action is run
	exitCode    int    // with stdin
	yes, json   bool
	agents      project.Agents
}

func newTestCommand(a *app) *cobra.Command {
	var o testOptions
	cmd := &cobra.Command{
		Use:     "test NAME|PATH",
		Aliases: []string{"t"},
		Short:   "Do what one state does, and say where it would go",
		Long: `test runs the action of one state for real, in the project directory and with its real templates and evaluator, prints its
output, the verdict with what led to it, and the state it would go to. It is as if a run had just begun there: there are
no captures and no state before. Nothing is recorded, evaluators write no baselines, and no lock is taken. The run_dir is
an empty folder that is removed afterwards.

With --stdin the action is not run: FILE is taken as its output, and --exit-code as its exit code.

A state whose action is a prompt, or whose verdict is that of a judge, uses your account, and the agent may change files:
that is done with --yes only.` + exitMeanings(
			exitMeaning{exitOK, "done, whatever the verdict, unless it is error"}, exitMeaning{exitFailed, "the verdict is error, or there is none"},
			exitMeaning{exitUsage, "bad command line, or --yes is missing"}, exitMeaning{exitInvalid, "the loop file is not valid"},
			exitMeaning{exitNotFound, "no such loop"}, exitMeaning{exitHangup, "stopped by SIGHUP"}, exitMeaning{exitInt, "stopped by SIGINT (Ctrl-C)"},
			exitMeaning{exitQuit, "stopped by SIGQUIT (Ctrl-\\)"}, exitMeaning{exitTerm, "stopped by SIGTERM"}),
		Example: `  loops test fix --state check
  loops test fix --state check --stdin failed.log --exit-code 1
  loops test fix --state repair --context input="the login page" --yes`,
		Args: arguments(1, 1, "NAME or PATH of a loop"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args[0]
			const see = "loops test --help"
			flags := cmd.Flags()
			switch {
			case flags.Changed("exit-code") && o.stdin == "":
				return usageError{"--exit-code goes with --stdin: otherwise the action has one of its own", see}
			case o.exitCode < -64 || o.exitCode > 255:
				return usageError{fmt.Sprintf("--exit-code %d: expected a number from 0 to 255, or the negative number of a signal", o.exitCode), see}
			}
			if err := checkAgents(&o.agents, cmd); err != nil {
				return err
			}
			return runTest(cmd.Context(), a, &o)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&o.state, "state", "s", "", "`STATE` to do (default: the initial one)")
	flags.StringArrayVar(&o.context, "context", nil, "set a context value, `KEY=VALUE` (repeatable)")
	flags.StringVar(&o.stdin, "stdin", "", "take `FILE` as the output, and run nothing; - is standard input")
	flags.IntVar(&o.exitCode, "exit-code", 0, "with --stdin: exit `CODE` of the action")
	flags.BoolVarP(&o.yes, "yes", "y", false, "ask agents too")
	addAgentFlags(&o.agents, flags)
	flags.BoolVarP(&o.json, "json", "j", false, "print a JSON object")
	return cmd
}

func runTest(ctx context.Context, a *app, o *testOptions) error {
	r, err := a.rehearsal(o.name, nil, o.context, project.Overrides{Agents: o.agents}, o.json)
	if err != nil {
		return err
	}
	const see = "loops test --help"
	if o.state == "" {
		o.state = r.loop.Initial
	}
	st, err := r.state(o.state, see)
	if err != nil {
		return err
	}
	if err := o.refuse(a, r, st); err != nil {
		return err
	}
	given := ""
	if o.stdin != "" {
		if given, err = a.readGiven("stdin", o.stdin, action.DefaultCap); err != nil {
			return err
		}
	}
	conf, err := r.project.Config()
	if err != nil {
		return err
	}
	known, err := r.project.Pricer()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "loops-test-*")
	if err != nil {
		return fmt.Errorf("there is no room for a temporary folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	pairs := value.NewMap()
	if err := engine.SetPairs(pairs, o.context); err != nil {
		return err
	}
	if _, own := pairs.Get("run_dir"); !own {
		r.values.Set("run_dir", dir+"/")
	}
	runner := &action.Runner{
		Dir: r.project.WorkDir(), Env: engine.ActionEnv(r.project, a.engineOptions()), Mark: fmt.Sprintf("%stest-%d-%d", r.project.Mark(), os.Getpid(), time.Now().UnixNano()),
		RunDir: dir, Grace: engine.Grace, ToolCall: toolCall(r.project.Dir), Prices: known,
	}
	engine.ConfigureAgents(r.project, runner, o.agents, conf)
	tp := &testPrinter{a: a, r: r, st: st, o: o}
	var seen rehearse.Visited
	stops := catchSignals()
	defer stops.release()
	err = stops.before(ctx, func(ctx context.Context) error {
		var failed error
		seen, failed = rehearse.Visit(ctx, fsm.Config{
			Loop: r.loop, Runner: shownRunner{runner, tp, o, given}, Files: action.Files{Dir: r.project.WorkDir()}, Dir: r.project.WorkDir(), Getenv: a.getenv,
		}, st.Name, r.values)
		return failed
	})
	_ = runner.Close()
	if err != nil {
		return err
	}
	if err := tp.finish(&seen); err != nil {
		return err
	}
	switch {
	case seen.Outcome.Signal != "":
		return endedBy(seen.Outcome.Signal)
	case seen.Verdict == "error" || seen.Next == "" && seen.Outcome.TerminatedBy == fsm.EndError:
		return told(engine.Failed)
	}
	return nil
}

// refuse says why a state is not done.
func (o *testOptions) refuse(a *app, r *rehearsal, st *fsm.State) error {
	const see = "loops test --help"
	name := phrase.Quote(st.Name)
	switch {
	case st.Terminal:
		return usageError{"the state " + name + " is an end: it does nothing", see}
	case st.Loop != "":
		return usageError{fmt.Sprintf("the state %s runs the loop %s: test the states of that one, or simulate this one", name, phrase.Clip(st.Loop)), "loops simulate --help"}
	case o.stdin != "" && st.Action == "":
		return usageError{"the state " + name + " has no action whose output --stdin could be", see}
	case o.yes:
		return nil
	case fsm.Prompts(st) && o.stdin == "":
		return usageError{fmt.Sprintf("the action of the state %s is a prompt for an agent, which uses your account and may change files: say --yes, or --stdin FILE with what the agent would answer", name), see}
	case rehearse.AsksJudge(st) && r.loop.LLM.Enabled:
		return usageError{fmt.Sprintf("the verdict of the state %s is that of a judge, which uses your account: say --yes, or --no-llm to do without", name), see}
	}
	return nil
}

// A shownRunner shows actions as they are done, or has one whose output is given.
type shownRunner struct {
	fsm.Runner
	show  *testPrinter
	o     *testOptions
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
	if r.o.stdin == "" {
		return r.Runner.Run(ctx, a, both)
	}
	text := strings.ToValidUTF8(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(r.given), "\ufffd")
	if text != "" {
		both(strings.TrimSuffix(text, "\n"))
	}
	res := fsm.Result{Stdout: text, ExitCode: r.o.exitCode, Bytes: int64(len(r.given))}
	if a.Kind == fsm.KindPrompt {
		res.Reply = &fsm.Reply{Complete: true, Coverage: fsm.CoverageComplete}
	}
	return res, nil
}

// A testPrinter prints what came of one state.
type testPrinter struct {
	a      *app
	r      *rehearsal
	st     *fsm.State
	o      *testOptions
	opened bool // the heading of the output was printed
}

func (p *testPrinter) begin(act fsm.Action) {
	if p.o.json {
		return
	}
	what := map[fsm.Kind]string{fsm.KindPrompt: "prompt", fsm.KindMCP: "tool"}[act.Kind]
	if what == "" {
		what = "shell"
	}
	if p.o.stdin != "" {
		what += ", not run"
	}
	ui.Say(p.a.out, "State %s of loop %s\nAction (%s):\n", p.st.Name, p.r.loop.Name, what)
	texts := []string{act.Text}
	if act.Kind == fsm.KindMCP {
		texts = append(texts, act.Params)
	}
	for _, text := range texts {
		for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
			ui.SayLine(p.a.out, "    "+line)
		}
	}
	p.a.out.Flush()
}

func (p *testPrinter) output(text string) {
	if p.o.json {
		return
	}
	if !p.opened {
		p.opened = true
		ui.SayLine(p.a.out, "Output:")
	}
	p.block(text)
}

// block prints output.
func (p *testPrinter) block(text string) {
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		ui.SayOutput(p.a.out, "    ", line)
	}
}

func (p *testPrinter) finish(v *rehearse.Visited) error {
	if p.o.json {
		return ui.WriteJSON(p.a.out, p.object(v))
	}
	w := p.a.out
	if v.Action == nil {
		ui.Say(w, "State %s of loop %s\n", p.st.Name, p.r.loop.Name)
	}
	if res := v.Result; res != nil {
		if strings.TrimSpace(res.Stderr) != "" {
			ui.SayLine(w, "Standard error:")
			p.block(res.Stderr)
		}
		line := fmt.Sprintf("Exit code: %d", res.ExitCode)
		if res.TimeoutKind != "" {
			line += ", timed out"
		}
		if p.o.stdin == "" {
			line += " (" + phrase.Duration(res.Duration) + ")"
		}
		ui.SayLine(w, line)
		if res.Background > 0 {
			ui.Say(w, "It left %s running.\n", phrase.Count(res.Background, "process"))
		}
	}
	if v.Evaluator != "" {
		by := v.Evaluator
		if by == "default" {
			by = rehearse.EvaluatorOf(p.st) + ", by default"
		}
		ui.Say(w, "Verdict: %s (%s)\n", shownVerdict(v.Verdict), by)
		for _, k := range v.Details.Keys() {
			d, _ := v.Details.Get(k)
			ui.Say(w, "    %s: %s\n", k, plain.Cut(plain.Line(phrase.FirstLine(inspect.Text(d))), 200))
		}
	}
	for _, e := range v.Notes {
		if e.Kind == fsm.EventNote {
			ui.SayLine(w, inspect.NoteText(e))
			continue
		}
		ui.Say(w, "%s: %s\n", strings.ReplaceAll(e.Kind, "_", " "), inspect.Pairs(e))
	}
	switch {
	case v.Next != "":
		kind := ""
		if to := p.r.loop.States[v.Next]; to.Terminal {
			kind = " (" + strings.TrimSpace(views.KindOf(to)) + ")"
		}
		ui.Say(w, "Would transition: %s -> %s%s\n", p.st.Name, v.Next, kind)
	case v.Outcome.Signal != "":
		ui.SayLine(w, "Stopped by "+v.Outcome.Signal)
	default:
		line := "Would end: " + inspect.EndWord(v.Outcome, p.r.loop.MaxSteps)
		if v.Outcome.Error != "" {
			line += ": " + v.Outcome.Error
		}
		if v.Outcome.Error == inspect.NoTransition && v.Evaluator != "" {
			line += fmt.Sprintf(": the state has no way for the verdict %s", shownVerdict(v.Verdict))
		}
		ui.SayLine(w, line)
	}
	return nil
}

func shownVerdict(name string) string {
	if name == "" {
		return `""`
	}
	return name
}

func (p *testPrinter) object(v *rehearse.Visited) *value.Map {
	m := value.NewMap("loop", p.r.loop.Name, "file", p.r.project.Short(p.r.loop.File), "state", p.st.Name)
	if v.Action != nil {
		m.Set("kind", string(v.Action.Kind))
		m.Set("action", v.Action.Text)
		if v.Action.Params != "" {
			m.Set("params", v.Action.Params)
		}
		m.Set("run", p.o.stdin == "")
	}
	if res := v.Result; res != nil {
		m.Set("exit_code", int64(res.ExitCode))
		m.Set("timeout_kind", ui.OrNull(res.TimeoutKind))
		m.Set("duration_ms", res.Duration.Milliseconds())
		m.Set("output", res.Stdout)
		m.Set("stderr", res.Stderr)
	}
	if v.Evaluator != "" {
		m.Set("evaluator", v.Evaluator)
		m.Set("verdict", v.Verdict)
		m.Set("details", v.Details)
	}
	m.Set("next", ui.OrNull(v.Next))
	if v.Next == "" {
		m.Set("end", endObject(v.Outcome))
	}
	m.Set("events", ui.List(v.Notes, func(e fsm.Event) any {
		o := value.NewMap("event", e.Kind)
		for _, f := range e.Fields {
			o.Set(f.Key, f.Value)
		}
		return o
	}))
	return m
}
