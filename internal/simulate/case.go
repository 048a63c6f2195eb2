package simulate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"loops/engine"
	"loops/engine/action"
	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/loopfile"
	"loops/fsm/value"
	"loops/internal/humanize"
	"loops/internal/inspect"
)

// testRunDir is the run_dir of a case, in the folder of the case.
const testRunDir = "run/"

// A caseResult is the result of one case.
type caseResult struct {
	Case        *loopfile.Case
	Steps       int
	Took        time.Duration
	Differences []string // lines; none = it passed
	Path        []string
}

// rehearseCase runs a case in a folder of its own, and compares the result of it. The error is that of the folder, or
// the cause of ctx.
func rehearseCase(ctx context.Context, p *project.Project, c *loopfile.Case, l *fsm.Loop, lib fsm.Library,
	run *recordedAnswers,
) (caseResult, error) {
	begin := time.Now()
	out := caseResult{Case: c}
	fails := func(text string) (caseResult, error) {
		out.Differences, out.Took = strings.Split(text, "\n"), time.Since(begin)
		return out, nil
	}
	values, err := caseValues(p, c, l, run)
	if err != nil {
		return fails("it cannot begin: " + strings.ReplaceAll(err.Error(), "loops: ", ""))
	}
	dir, err := os.MkdirTemp("", "loops-case-*")
	if err != nil {
		return out, fmt.Errorf("no temporary folder could be made: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := writeCaseFiles(dir, c.Files); err != nil {
		return out, err
	}
	seen, err := rehearse(ctx, rehearsal{
		Loop: l, Values: values, Library: lib, Files: caseFiles{action.Files{Dir: dir}, dir}, Dir: dir, Begin: begin,
		Answers: newCaseAnswers(c, run), Name: runOf(l),
		Getenv: func(name string) (string, bool) { v, ok := c.Env[name]; return v, ok },
	})
	if ctx.Err() != nil {
		return out, context.Cause(ctx)
	}
	out.Steps, out.Took, out.Path = len(seen.steps), time.Since(begin), seen.way(c.Expect.Path)
	if err != nil {
		text := err.Error()
		if mistake, ok := errors.AsType[*AnswerError](err); ok && mistake.Pos.Line > 0 {
			mistake.Pos.File = p.Short(mistake.Pos.File)
			text = mistake.Pos.String() + ": " + text
		}
		out.Differences = append(strings.Split(text, "\n"),
			"until then: "+humanize.Dash(strings.Join(shownEnd(seen.way(nil)), ", ")))
		return out, nil
	}
	out.Differences = seen.differ(&c.Expect)
	return out, nil
}

// shownEnd returns the last states of a path.
func shownEnd(path []string) []string {
	const most = 10
	if len(path) > most {
		return append([]string{"…"}, path[len(path)-most:]...)
	}
	return path
}

// caseValues returns the context that a case begins with: that of the run that answers, or what a run would begin with,
// and over that what the case says.
func caseValues(p *project.Project, c *loopfile.Case, l *fsm.Loop, run *recordedAnswers) (*value.Map, error) {
	values, err := engine.Seed(l, c.Input, nil)
	if err != nil {
		return nil, err
	}
	if run != nil && run.begin != nil {
		values = engine.Overlay(values, run.begin.Context)
	}
	if c.Context != nil {
		if err := engine.CheckGiven(l, c.Context); err != nil {
			return nil, err
		}
		values = engine.Overlay(values, c.Context)
	}
	engine.Fill(values, l, testRunDir)
	return values, engine.Preflight(p, l, values)
}

func writeCaseFiles(dir string, files []loopfile.CaseFile) error {
	for _, f := range files {
		path := filepath.Join(dir, filepath.FromSlash(f.Name.Text))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return fmt.Errorf("a file of the case cannot be written: %w", err)
		}
		if err := os.WriteFile(path, []byte(f.Text), 0o600); err != nil {
			return fmt.Errorf("a file of the case cannot be written: %w", err)
		}
	}
	return nil
}

// way returns the states that were entered. Those of sub-loops count if one of the expected ones is inside
// another; those of branches and items never do, because they run beside each other.
// The end of the run is the last of them.
func (r *rehearsed) way(expected []loopfile.Word) []string {
	path := wayOf(r.steps, expected)
	if o := r.outcome; o.TerminatedBy == fsm.EndTerminal && (len(path) == 0 || path[len(path)-1] != o.FinalState) {
		path = append(path, o.FinalState)
	}
	return path
}

func wayOf(steps []rehearsedStep, expected []loopfile.Word) []string {
	inner := slices.ContainsFunc(expected, func(w loopfile.Word) bool { return len(splitWay(w.Text)) > 1 })
	path := []string{}
	for _, s := range steps {
		if !s.apart() && (inner || s.Depth() == 0) {
			path = append(path, s.Path())
		}
	}
	return path
}

// differ returns what came otherwise than expected, in lines.
func (r *rehearsed) differ(x *loopfile.Expectation) (lines []string) {
	if x.Path != nil {
		expected := make([]string, len(x.Path))
		for i, w := range x.Path {
			expected[i] = strings.Join(splitWay(w.Text), between)
		}
		lines = append(lines, besidePaths(expected, r.way(x.Path), "EXPECTED", "CAME")...)
	}
	differs := func(what, want, got string) {
		if want != got {
			lines = append(lines, fmt.Sprintf("%s: expected %s, and it is %s", what, shownText(want), shownText(got)))
		}
	}
	if x.Outcome != "" {
		if got := inspect.EndKind(r.outcome); got != x.Outcome {
			line := fmt.Sprintf("outcome: expected %s, and it is %s, in %s", x.Outcome, got,
				humanize.Quote(r.outcome.FinalState))
			if r.outcome.Error != "" {
				line += ": " + humanize.Cut(humanize.FirstLine(r.outcome.Error), 200)
			}
			lines = append(lines, line)
		}
	}
	if x.State.Text != "" {
		differs("state", x.State.Text, r.outcome.FinalState)
	}
	if x.Message != nil {
		differs("message", strings.TrimSpace(*x.Message), r.outcome.Message)
	}
	for _, v := range x.Verdicts {
		differs("verdicts of "+v.State.Text, strings.Join(v.List, ", "), strings.Join(r.verdictsOf(v.State.Text), ", "))
	}
	for _, name := range x.Never {
		key := splitWay(name.Text)
		if o := r.outcome; o.TerminatedBy == fsm.EndTerminal && name.Text == o.FinalState {
			lines = append(lines, fmt.Sprintf("never: the run ended in %s", humanize.Quote(name.Text)))
			continue
		}
		for i := range r.steps {
			p := place{parts: partsOf(r.steps[i].Visit)}
			if p.ends(key) {
				lines = append(lines, fmt.Sprintf("never: %s was entered, as step %s", humanize.Quote(name.Text),
					r.steps[i].Number()))
				break
			}
		}
	}
	lines = append(lines, r.differLimits("guarded", "guard", x.Guarded, func(a placedAct) bool { return a.guarded })...)
	lines = append(lines, r.differLimits("sandboxed", "sandbox", x.Sandboxed, func(a placedAct) bool {
		return a.sandboxed
	})...)
	lines = append(lines, r.differValues(x)...)
	if x.MaxCost != nil && r.memory != nil && r.memory.Spent.CostUSD > *x.MaxCost {
		lines = append(lines, fmt.Sprintf("max_cost_usd: expected at most $%g, and its prompts cost $%g", *x.MaxCost,
			r.memory.Spent.CostUSD))
	}
	return lines
}

// differLimits returns which of these states did not act, or acted without a limit.
func (r *rehearsed) differLimits(key, limit string, states []loopfile.Word, has func(placedAct) bool) (lines []string) {
	for _, w := range states {
		acted, without := false, ""
		for _, a := range r.acts {
			if a.place.ends(splitWay(w.Text)) {
				acted = true
				if !has(a) && without == "" {
					without = a.place.at
				}
			}
		}
		switch {
		case !acted:
			lines = append(lines, fmt.Sprintf("%s: %s did not act", key, humanize.Quote(w.Text)))
		case without != "":
			lines = append(lines, fmt.Sprintf("%s: %s acted without a %s, as step %s", key, humanize.Quote(w.Text),
				limit, without))
		}
	}
	return lines
}

// shownText is a value in a line: in quotation marks if it is a text that needs them.
func shownText(s string) string {
	if s == "" {
		return "none"
	}
	if strings.ContainsAny(s, "\n\t\"") || len(s) > 200 {
		return humanize.Quote(humanize.Cut(s, 200))
	}
	return s
}

func (r *rehearsed) verdictsOf(state string) (list []string) {
	key := splitWay(state)
	for _, v := range r.verdicts {
		if v.place.ends(key) {
			list = append(list, v.verdict)
		}
	}
	return list
}

// differValues compares captures and the context at the end.
func (r *rehearsed) differValues(x *loopfile.Expectation) (lines []string) {
	memory := r.memory
	if memory == nil {
		memory = &fsm.Snapshot{}
	}
	for _, name := range x.Captures.Keys() {
		want := x.Captures.Value(name)
		got, _ := memory.Captured.Value(name).(*value.Map)
		if got == nil {
			lines = append(lines, fmt.Sprintf("captures: nothing is captured as %s%s", humanize.Quote(name),
				humanize.DidYouMean(name, memory.Captured.Keys())))
			continue
		}
		fields, ok := want.(*value.Map)
		if !ok {
			fields = new(value.Map)
			fields.Set("output", strings.TrimRight(inspect.Text(want), "\r\n"))
		}
		for _, k := range fields.Keys() {
			lines = append(lines, differValue("captures: "+name+"."+k, fields.Value(k), got.Value(k))...)
		}
	}
	for _, name := range x.Context.Keys() {
		got, ok := memory.Context.Get(name)
		if !ok {
			lines = append(lines,
				fmt.Sprintf("context: there is no %s%s", humanize.Quote(name),
					humanize.DidYouMean(name, memory.Context.Keys())))
			continue
		}
		lines = append(lines, differValue("context: "+name, x.Context.Value(name), got)...)
	}
	return lines
}

// differValue compares two values; a text and a number are the same if they read the same.
func differValue(what string, want, got any) []string {
	a, b := inspect.Text(want), inspect.Text(got)
	if is, ok := want.(bool); ok && (b == "yes" || b == "no") { // as a verdict is written in YAML
		a = map[bool]string{true: "yes", false: "no"}[is]
	}
	if a == b || loopfile.SameValue(want, got) {
		return nil
	}
	if !strings.Contains(a+b, "\n") {
		return []string{fmt.Sprintf("%s: expected %s, and it is %s", what, shownText(a), shownText(b))}
	}
	return append([]string{what + " differs:"}, diffLines(a, b)...)
}

// diffLines shows where two texts differ, in a few lines: - is of the first, + of the second.
func diffLines(a, b string) (lines []string) {
	const most = 6 // lines of each
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	from := 0
	for from < len(x) && from < len(y) && x[from] == y[from] {
		from++
	}
	toX, toY := len(x), len(y)
	for toX > from && toY > from && x[toX-1] == y[toY-1] {
		toX, toY = toX-1, toY-1
	}
	if from > 0 {
		lines = append(lines, fmt.Sprintf("  (line %d)", from+1))
	}
	show := func(mark string, part []string) {
		for i, line := range part {
			if i == most {
				lines = append(lines, fmt.Sprintf("%s … %s more", mark, humanize.Count(len(part)-most, "line")))
				return
			}
			lines = append(lines, mark+" "+humanize.Cut(line, 160))
		}
	}
	show("  -", x[from:toX])
	show("  +", y[from:toY])
	return lines
}

// besidePaths sets two paths beside each other; nothing where they are the same.
func besidePaths(a, b []string, headA, headB string) []string {
	if slices.Equal(a, b) {
		return nil
	}
	var kinds inspect.StepKinds
	list := func(path []string) *inspect.StepList {
		steps := inspect.NewStepList(&kinds)
		for i, name := range path {
			steps.Add(&inspect.Visit{State: name, Step: i + 1, Index: i})
		}
		return steps
	}
	pairs := inspect.CompareSteps(list(a), list(b), 0, 0)
	first := slices.IndexFunc(pairs, func(p inspect.StepPair) bool { return !p.Same })
	width := len(headA)
	for _, name := range a {
		width = max(width, len(name))
	}
	row := func(mark, x, y string) string {
		return strings.TrimRight(fmt.Sprintf("  %s %-*s  %s", mark, width, x, y), " ")
	}
	lines := []string{fmt.Sprintf("path: it differs from step %d on", first+1), row(" ", headA, headB)}
	const near = 3
	skipped := 0
	for i, p := range pairs {
		shown := slices.ContainsFunc(pairs[max(0, i-near):min(len(pairs), i+near+1)], func(p inspect.StepPair) bool {
			return !p.Same
		})
		if !shown {
			skipped++
			continue
		}
		if skipped > 0 {
			lines = append(lines, fmt.Sprintf("    … %s the same", humanize.Count(skipped, "step")))
			skipped = 0
		}
		x, y, mark := "", "", "="
		if p.A != inspect.NoStep {
			x = a[p.A]
		}
		if p.B != inspect.NoStep {
			y = b[p.B]
		}
		if !p.Same {
			mark = cmp.Or(map[bool]string{true: "<"}[y == ""], map[bool]string{true: ">"}[x == ""], "!")
		}
		lines = append(lines, row(mark, x, y))
	}
	if skipped > 0 {
		lines = append(lines, fmt.Sprintf("    … %s the same", humanize.Count(skipped, "step")))
	}
	return lines
}
