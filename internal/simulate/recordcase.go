package simulate

import (
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/loopfile"
	"loops/fsm/value"
	"loops/internal/api"
	"loops/internal/disk"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/internal/terminal"
)

// recordCase makes a case of a run that ended, and adds it to the file of tests beside its loop. The case passes with
// the loop as it is now; one that would not is refused with what differs, and nothing is written.
func (d *Desk) recordCase(ctx context.Context, arg string, asJSON bool) error {
	p := d.Project
	records, err := p.Records(ctx, false)
	if err != nil {
		return err
	}
	defer func() { _ = records.Close() }()
	run, err := records.Finder().One(ctx, arg)
	if err != nil {
		return err
	}
	rec, err := readRecord(ctx, records, run)
	switch {
	case err != nil:
		return err
	case rec.memory == nil || rec.memory.Outcome == nil:
		return engine.Refuse(engine.Failed, "run %s has not ended; a case can be made of it then", run.ID)
	case rec.begin == nil:
		return engine.Refuse(engine.NotFound, "what run %s began with is not on record, so no case can be made of it",
			run.ID)
	}
	l, err := engine.Load(p, run.Loop, d.Warn(asJSON))
	if err != nil {
		return d.Shown(err)
	}
	lib, err := p.Library()
	if err != nil {
		return err
	}
	m := &caseMaker{
		ctx, p, l,
		&readOnce{lib: lib.Subloops(project.Overrides{}, nil), loops: map[[2]string]func() (*fsm.Loop, error){}}, rec,
	}
	c, res, err := m.passing()
	if err != nil {
		return err
	}
	if len(res.Differences) > 0 {
		return engine.Refuse(engine.Failed, "no case was written: with the loop as it is now, and without its "+
			"files, the run would take another way:\n  %s", strings.Join(res.Differences, "\n  "))
	}
	file := SuiteOf(l.File)
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return p.CannotOpen(err)
	}
	added, err := loopfile.WithCase(file, text, c)
	if err != nil {
		return engine.Refuse(engine.Failed, "the case cannot be added to %s: %v", p.Short(file), err)
	}
	if err := disk.WriteWhole(file, func(w io.Writer) error { _, err := w.Write(added); return err }); err != nil {
		return engine.Refuse(engine.Failed, "%s cannot be written: %v", p.Short(file), err)
	}
	if asJSON {
		return terminal.WriteJSON(d.Out,
			api.RecordedCase{Run: string(run.ID), File: file, Case: c.Name, Path: nonNil(res.Path)})
	}
	terminal.Say(d.Out, "%s: a case of run %s, %s; it passes\n", p.Short(file), run.ID,
		humanize.Count(res.Steps, "step"))
	return nil
}

// A caseMaker makes a case of a run.
type caseMaker struct {
	ctx context.Context //nolint:containedctx // it lives as long as one call
	p   *project.Project
	l   *fsm.Loop
	lib fsm.Library
	rec *recordedAnswers
}

// passing returns the case with the result of it. Evaluators judge the recorded outputs where they come to the same;
// otherwise the recorded verdicts are answers. A message, a capture or a value of the context that holds what no case
// has, as the id of the run, is not expected.
func (m *caseMaker) passing() (c *loopfile.Case, res caseResult, err error) {
	for _, verdicts := range []bool{false, true} {
		if c, err = m.make(verdicts); err != nil {
			return nil, res, err
		}
		if res, err = rehearseCase(m.ctx, m.p, c, m.l, m.lib, nil); err != nil {
			return nil, res, err
		}
		if loosen(c, res.Differences) {
			if res, err = rehearseCase(m.ctx, m.p, c, m.l, m.lib, nil); err != nil {
				return nil, res, err
			}
		}
		if len(res.Differences) == 0 {
			break
		}
	}
	return c, res, nil
}

// loosen leaves out what a case expects of texts that came otherwise. It reports whether there was such a text.
func loosen(c *loopfile.Case, differences []string) (some bool) {
	for _, line := range differences {
		what, rest, _ := strings.Cut(line, ": ")
		name, _, _ := strings.Cut(rest, ".")
		switch what {
		case "message":
			c.Expect.Message, some = nil, true
		case "captures":
			c.Expect.Captures.Delete(name)
			some = true
		}
	}
	if c.Expect.Captures.Len() == 0 {
		c.Expect.Captures = nil
	}
	return some
}

// make returns the case. With verdicts, each answer has the recorded one.
func (m *caseMaker) make(verdicts bool) (*loopfile.Case, error) {
	rec, o := m.rec, m.rec.memory.Outcome
	c := &loopfile.Case{Name: string(rec.run.ID), Description: "Recorded of run " + string(rec.run.ID)}
	values, err := engine.Seed(m.l, nil, nil)
	if err != nil {
		return nil, err
	}
	engine.Fill(values, m.l, testRunDir)
	c.Context = new(value.Map)
	for _, k := range rec.begin.Context.Keys() {
		v := rec.begin.Context.Value(k)
		if own, ok := values.Get(k); k != "run_dir" && k != "input_hash" && (!ok || !loopfile.SameValue(own, v)) {
			c.Context.Set(k, v)
		}
	}
	if c.Context.Len() == 0 {
		c.Context = nil
	}
	m.answers(c, verdicts)
	m.lists(c)
	x := &c.Expect
	for _, s := range (&rehearsed{steps: rec.steps, outcome: *o}).way(m.inner()) {
		x.Path = append(x.Path, loopfile.Word{Text: s})
	}
	x.Outcome = inspect.EndKind(*o)
	if o.TerminatedBy == fsm.EndTerminal {
		x.State.Text = o.FinalState
	}
	if o.Message != "" {
		x.Message = &o.Message
	}
	const long = 2000 // bytes of an output that is expected
	for _, k := range rec.memory.Captured.Keys() {
		got, _ := rec.memory.Captured.Value(k).(*value.Map)
		want := new(value.Map)
		for _, field := range []string{"output", "exit_code", "verdict"} {
			v, ok := got.Get(field)
			if text, is := v.(string); ok && v != nil && (!is || len(text) <= long) {
				want.Set(field, v)
			}
		}
		if want.Len() > 0 {
			if x.Captures == nil {
				x.Captures = new(value.Map)
			}
			x.Captures.Set(k, want)
		}
	}
	return c, nil
}

// inner returns the way to a state of a sub-loop, if the run entered one: the path has these states then.
func (m *caseMaker) inner() []loopfile.Word {
	for _, s := range m.rec.steps {
		if !s.apart() && s.Depth() > 0 {
			return []loopfile.Word{{Text: s.Path()}}
		}
	}
	return nil
}

// answers adds what the states of the run came to, by their ways, in the order in which they were first entered.
func (m *caseMaker) answers(c *loopfile.Case, verdicts bool) {
	at := map[string]int{}
	for _, e := range m.rec.all {
		if slices.Contains([]string{"for_each", "parallel", "loop"}, e.by) {
			continue
		}
		way := e.place.String()
		item := e.place.parts[len(e.place.parts)-1].each
		if item && slices.ContainsFunc(m.rec.all, func(x *recordedEntry) bool {
			return strings.HasPrefix(x.place.String(), way+between)
		}) {
			continue // the states in it answer
		}
		a := loopfile.Answer{Details: new(value.Map)}
		if e.acted {
			m.acted(&a, e)
		}
		switch {
		case !e.judged:
		case item && e.verdict.Name == map[int]string{0: "yes", 1: "no"}[e.result.ExitCode]: // its exit code has it
		case verdicts, !e.acted, slices.Contains(beyondOutput, e.by):
			a.Verdict = e.verdict.Name
			if !e.acted {
				a.Details = detailsOf(e)
			}
		}
		if a.Details.Len() == 0 {
			a.Details = nil
		}
		n, ok := at[way]
		if !ok {
			n = len(c.Answers)
			at[way] = n
			c.Answers = append(c.Answers, loopfile.StateAnswers{State: loopfile.Word{Text: way}})
		}
		c.Answers[n].List = append(c.Answers[n].List, a)
		c.Answers[n].Every = len(c.Answers[n].List) == 1
	}
}

// beyondOutput are the evaluators that need more than an output.
var beyondOutput = []string{"llm_structured", "comparator", "contract", "guard", "wait"}

// acted sets what an action came to.
func (m *caseMaker) acted(a *loopfile.Answer, e *recordedEntry) {
	res := &e.result
	a.Output, a.Stderr, a.Timeout = res.Stdout, res.Stderr, res.TimeoutKind
	if res.Response != nil {
		a.Status = res.Response.Status
	}
	if r := res.Reply; r != nil {
		a.Failure, a.Cost, a.Tokens = r.Failure, r.Cost, int(r.Usage.Total())
	}
	if res.ExitCode != 0 || a.Failure == "" && a.Timeout == "" && a.Status == 0 {
		a.ExitCode = new(res.ExitCode)
	}
}

// detailsOf returns the details of an answer of a person.
func detailsOf(e *recordedEntry) *value.Map {
	m := new(value.Map)
	for _, k := range e.verdict.Details.Keys() {
		if !slices.Contains([]string{"waited_seconds", "checks", "seen"}, k) {
			m.Set(k, e.verdict.Details.Value(k))
		}
	}
	return m
}

// lists adds what lists had in them: the output of the command that makes one, or the files that one matches.
func (m *caseMaker) lists(c *loopfile.Case) {
	for _, way := range slices.Sorted(maps.Keys(m.rec.lists)) {
		items := m.rec.lists[way]
		if len(items) != m.rec.counts[way] {
			continue
		}
		names := splitWay(way)
		for _, l := range Reachable(m.l, m.lib) {
			st := l.States[names[len(names)-1]]
			switch {
			case st == nil || st.Each == nil:
				continue
			case st.Each.Command != "":
				c.Answers = append(c.Answers, loopfile.StateAnswers{
					State: loopfile.Word{Text: way}, Every: true,
					List: []loopfile.Answer{{Output: strings.Join(items, "\n") + "\n"}},
				})
			case st.Each.Glob != "":
				for _, name := range items {
					if filepath.IsLocal(name) {
						c.Files = append(c.Files, loopfile.CaseFile{Name: loopfile.Word{Text: name}})
					}
				}
			}
			break
		}
	}
}
