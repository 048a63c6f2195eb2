package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"loops/engine/project"
	"loops/fsm/value"
	"loops/internal/inspect"
	"loops/internal/phrase"
	"loops/internal/plain"
	"loops/persistence"
)

type explainOptions struct {
	name, step string
	json       bool
}

func newExplainCommand(a *app) *cobra.Command {
	var o explainOptions
	cmd := &cobra.Command{
		Use:   "explain NAME|RUN [STEP]",
		Short: "Say why a run ended, or went where it went",
		Long: `explain says in sentences why a run ended, or where it stands: what its last step did, how that was judged, from what and by
which limits, which rule led on, and which limits were met on the way. With STEP it explains that step: a number as history
shows it, "last", or 3.2 for step 2 of the sub-loop that step 3 ran. NAME means the newest run of the loop.

Numbers in brackets are those of the events a sentence is taken from: loops events RUN --since N. Rules and limits are
read from the definition that is recorded with the run; where none is, from the file as it is now, which is then said.` +
			exitCodes(exitOK, exitFailed, exitUsage, exitNotFound, exitRecord),
		Example: `  loops explain fix
  loops explain fix-20261121T103405 7
  loops explain fix last --json`,
		Args: arguments(1, 2, "NAME of a loop or id of a RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args[0]
			if len(args) > 1 {
				o.step = args[1]
			}
			return runExplain(cmd.Context(), a, o)
		},
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

func runExplain(ctx context.Context, a *app, o explainOptions) error {
	if err := checkStep(o.step); err != nil {
		return err
	}
	_, store, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	f := store.Finder()
	run, err := oneRun(ctx, f, o.name)
	if err != nil {
		return err
	}
	story := explanation{wanted: o.step, rules: a.rulebook(ctx, f, run), resume: a.goOn(ctx, store, run)}
	if story.path, err = a.path(ctx, f, run, &inspect.Reader{Keep: true, Done: story.visited}); err != nil {
		return err
	}
	if o.step == "" {
		story.wholeRun()
	} else if err := story.step(o.step); err != nil {
		return err
	}
	if o.json {
		return writeJSON(a.out, story.object())
	}
	story.print(a.out)
	return nil
}

// checkStep refuses what is no step.
func checkStep(step string) error {
	if step == "" || step == "last" {
		return nil
	}
	for part := range strings.SplitSeq(step, ".") {
		if n, err := strconv.Atoi(part); err != nil || n < 1 {
			return usageError{fmt.Sprintf("%q is no step: expected a number from 1, a path such as 3.2, or last", step), "loops explain --help"}
		}
	}
	return nil
}

// An explanation is what is said about a run, in parts: of the run first, then of its steps.
type explanation struct {
	path   *runPath
	rules  *rulebook
	resume string // the command that goes on with it
	wanted string // the step to explain: a number, "last", or "" for the whole run
	parts  []explained

	seen explainedSoFar
}

// An explained is a few sentences about one step, or about the run where there is no step.
type explained struct {
	visit *inspect.Visit
	said  []inspect.Sentence
}

// wholeRun explains how the run ended, or stands: by its last step, and the limits it met before.
func (x *explanation) wholeRun() {
	r := x.path.run
	var said []inspect.Sentence
	add := func(format string, args ...any) {
		said = append(said, inspect.Sentence{Text: fmt.Sprintf(format, args...)})
	}
	if o := r.Origin; o != nil {
		add("It is a fork of run %s, and began with step %d, behind event %d of that.", o.ID, o.Step, o.Seq)
	}
	switch v := x.seen.last; {
	case x.path.end != nil:
		end := honest(*x.path.end, r)
		s := inspect.Ending(end, x.rules.main)
		if v != nil && text(end.Get("error")) == noTransition {
			s.Text = strings.TrimSuffix(s.Text, ".") + fmt.Sprintf(": the state %s has no way on for %s.", v.State, verdictOrNone(v))
		}
		said = append(said, s)
	case project.Alive(r):
		add("It goes on: it is in %s.", r.State)
	case r.Status == persistence.Interrupted || r.Status == persistence.Running:
		add("It was interrupted in %s: its process is gone, and recorded nothing about why.", r.State)
	case v == nil:
		add("Nothing is recorded of what it did.")
	}
	if r.Why != "" {
		add("What was found when its process was gone: %s.", strings.TrimRight(r.Why, "."))
	}
	if r.Error != "" && x.path.end == nil {
		add("Its error: %s.", strings.TrimRight(honestError(r), "."))
	}
	if x.path.sheet.Asked() {
		t := x.path.sheet.Total
		add("%s and %s cost %s and used %s tokens.", phrase.Count(t.Prompts, "prompt"), phrase.Count(t.Judges, "judge"), t.Text(),
			phrase.Tokens(t.Tokens()))
	}
	if x.rules.note != "" {
		add("%s", x.rules.note)
	}
	if r.Resumable && !project.Alive(r) {
		add("It can be gone on with: %s", x.resume)
	}
	if met := &x.seen.met; met.count > 0 {
		add("On the way it met these limits:")
		kept := met.newest()
		if n := met.count - len(kept); n > 0 {
			add("(%s before these are left out.)", phrase.Count(n, "limit"))
		}
		said = append(said, kept...)
	}
	x.parts = append(x.parts, explained{said: said})
	x.lastSteps()
}

// lastSteps explains the last step, and that of the sub-loop it ran.
func (x *explanation) lastSteps() {
	last, newest := x.seen.last, x.seen.newest
	if last == nil {
		return
	}
	chain := []*inspect.Visit{last}
	if newest != last {
		chain = append(slices.Clone(newest.Above), newest)
	}
	for _, v := range chain {
		x.explain(v)
	}
}

func (x *explanation) explain(v *inspect.Visit) {
	x.parts = append(x.parts, explained{v, inspect.Explain(v, x.rules.of(v))})
}

// step explains the visits with one number; a cap handler can have the number of none.
func (x *explanation) step(number string) error {
	if number == "last" {
		x.lastSteps()
		return nil
	}
	found := x.seen.found
	slices.SortFunc(found, func(a, b *inspect.Visit) int { return a.Index - b.Index })
	for _, v := range found {
		x.explain(v)
	}
	last := x.seen.last
	switch {
	case len(found) > 0:
		return nil
	case last == nil:
		return failure(exitNotFound, "nothing is recorded of the steps of run %s", x.path.run.ID)
	}
	return failure(exitNotFound, "run %s has no step %s: it has taken %s; see: loops history %s %s -e state_enter -n 0",
		x.path.run.ID, number, phrase.Count(last.Step, "step"), quote(x.path.run.Loop), quote(x.path.run.RunID))
}

func verdictOrNone(v *inspect.Visit) string {
	if verdict := v.Verdict(); verdict != "" {
		return "the verdict " + verdict
	}
	if code, ended := v.Exit(); ended {
		return fmt.Sprintf("exit code %d", code)
	}
	return "what came of it"
}

func (x *explanation) print(out io.Writer) {
	r := x.path.run
	say(out, "Run %s of %s: %s, %s, %s\n", r.ID, r.Loop, statusWord(r), phrase.Count(r.Step, "step"), phrase.Duration(elapsed(r)))
	for _, p := range x.parts {
		front := ""
		if p.visit != nil {
			from, to := p.visit.Span()
			took := phrase.Duration(p.visit.Took())
			if apart := p.visit.Apart(); apart != "" {
				took += ", " + apart
			}
			say(out, "\nStep %s, %s, %s (events %d to %d)\n", p.visit.Number(), p.visit.Path(), took, from, to)
			front = "  "
		}
		for _, s := range p.said {
			sayLine(out, front+plain.Line(s.Text)+brackets(s.Events))
		}
		if p.visit != nil && len(p.said) == 0 {
			sayLine(out, front+"Nothing more is recorded of it.")
		}
	}
}

// brackets writes the numbers of events behind a sentence.
func brackets(events []uint64) string {
	if len(events) == 0 {
		return ""
	}
	words := make([]string, len(events))
	for i, n := range events {
		words[i] = strconv.FormatUint(n, 10)
	}
	return " [" + strings.Join(words, ", ") + "]"
}

func (x *explanation) object() *value.Map {
	r := x.path.run
	sentences := func(said []inspect.Sentence) any {
		return list(said, func(s inspect.Sentence) any {
			return value.NewMap("text", s.Text, "events", list(s.Events, func(n uint64) any { return int64(n) }))
		})
	}
	m := value.NewMap("instance_id", string(r.ID), "loop", r.Loop, "status", orNull(string(r.Status)), "terminated_by", orNull(r.Ended))
	addOrigin(m, r)
	var run any = []any{}
	steps := []any{}
	for _, p := range x.parts {
		if p.visit == nil {
			run = sentences(p.said)
			continue
		}
		from, to := p.visit.Span()
		steps = append(steps, value.NewMap("step", p.visit.Number(), "state", p.visit.Path(), "verdict", orNull(p.visit.Verdict()), "to", orNull(p.visit.To()),
			"duration_ms", p.visit.Took().Milliseconds(), "attempts", int64(p.visit.Attempts), "waited_ms", p.visit.Waited.Milliseconds(),
			"paused_ms", p.visit.Paused.Milliseconds(), "interrupted_ms", p.visit.Gap.Milliseconds(), "first_event", int64(from), "last_event", int64(to), "sentences", sentences(p.said)))
	}
	m.Set("run", run)
	m.Set("steps", steps)
	return m
}
