package inspect

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/humanize"
)

// mostChecks is how many verdicts a receipt has.
const mostChecks = 50

// Deciding returns the verdicts that decided how a run completed: those of states with check, or else all after
// the last prompt; of a run without prompts the last one. Newest gives events from the newest backwards until
// each wants no more. A run whose loop has checks is read further back. Read reads a file with a long output.
func Deciding(checks bool, read func(file string) (string, error), newest func(each func(fsm.Event) bool) error) (
	[]fsm.CheckResult, error,
) {
	var events []fsm.Event // the newest first
	n, prompt, judged, items := 0, false, false, newestItems{}
	err := newest(func(e fsm.Event) bool {
		n += eventBytes + len(str(e, "line"))
		if items.keep(e) {
			events = append(events, e)
		}
		top := e.Depth == 0 && !insideBranch(e)
		switch is, _ := e.Get("is_prompt").(bool); {
		case e.Kind == fsm.EventActionStart && is:
			prompt = true
		case e.Kind == fsm.EventEvaluate && top:
			judged = true
		case e.Kind == fsm.EventStateEnter && top && (prompt || judged && !checks && n > leastLately):
			return false
		}
		return n < mostLately
	})
	d := &deciders{read: read, acts: map[*Visit]*act{}}
	r := &Reader{Each: d.take, Inside: func(v *Visit) { delete(d.acts, v) }, Done: func(v *Visit) { delete(d.acts, v) }}
	for _, e := range slices.Backward(events) {
		r.Add(e)
	}
	return d.chosen(), err
}

// newestItems are the numbers of items of each list that a receipt may have: the newest of its last visit.
type newestItems map[string]map[int]bool

// keep reports whether a receipt may depend on an event. Events are given from the newest backwards.
func (n newestItems) keep(e fsm.Event) bool {
	switch e.Kind {
	case fsm.EventStateEnter:
		delete(n, placeOf(e))
	case fsm.EventItemStart, fsm.EventItemEnd:
		list, item := n[placeOf(e)], whole(e, "item")
		if list[item] || len(list) >= mostChecks {
			return list[item]
		}
		if list == nil {
			list = map[int]bool{}
			n[placeOf(e)] = list
		}
		if e.Kind == fsm.EventItemStart { // an item that ended late may have begun long before
			list[item] = true
		}
	}
	return true
}

// placeOf names the loop that an event is of.
func placeOf(e fsm.Event) string { return strconv.Itoa(e.Depth) + " " + str(e, "branch") }

// deciders are the verdicts that may have decided.
type deciders struct {
	read     func(file string) (string, error)
	checks   []fsm.CheckResult
	prompted bool
	acts     map[*Visit]*act
}

// An act is an action of a visit.
type act struct {
	text   string
	prompt bool
	lines  []string
	ended  fsm.Event
	items  []fsm.CheckResult // of a check that is a list
}

func (d *deciders) take(e fsm.Event, v *Visit) {
	if v == nil || slices.ContainsFunc(v.Within, func(name string) bool { return fsm.ItemOf(name) > 0 }) {
		return
	}
	a := d.acts[v]
	switch e.Kind {
	case fsm.EventActionStart:
		a = &act{text: str(e, "action")}
		if a.prompt, _ = e.Get("is_prompt").(bool); a.prompt {
			d.prompted, d.checks = true, nil
		}
		d.acts[v] = a
	case fsm.EventActionOutput:
		if a != nil {
			a.lines = append(a.lines, str(e, "line"))
		}
	case fsm.EventActionComplete:
		if a != nil {
			a.ended = e
		}
	case fsm.EventItemStart:
		if e.Get("action") == nil {
			return
		}
		if a == nil {
			a = &act{}
			d.acts[v] = a
		}
		number := whole(e, "item")
		a.items = slices.DeleteFunc(a.items, func(c fsm.CheckResult) bool { return c.Item == number }) // the try before
		a.items = append(a.items[max(0, len(a.items)+2-mostChecks):],
			fsm.CheckResult{Item: number, Value: str(e, "value"), Command: str(e, "action"), Evaluator: "exit_code"})
	case fsm.EventItemEnd:
		d.itemEnded(e, a)
	case fsm.EventEvaluate:
		d.judge(e, v, a)
	}
}

// itemEnded notes what an item of a check came to.
func (d *deciders) itemEnded(e fsm.Event, a *act) {
	if a == nil {
		return
	}
	i := slices.IndexFunc(a.items, func(c fsm.CheckResult) bool { return c.Item == whole(e, "item") })
	if i < 0 {
		return
	}
	c := &a.items[i]
	c.ExitCode, c.Verdict = whole(e, "exit_code"), str(e, "verdict")
	text, err := str(e, "output"), error(nil)
	if file := str(e, "output_file"); file != "" {
		text, err = d.read(file)
	}
	if err == nil {
		c.Output = OutputSHA256(text)
	}
}

func (d *deciders) judge(e fsm.Event, v *Visit, a *act) {
	if str(e, "verdict") == fsm.VerdictGuarded {
		return
	}
	c := fsm.CheckResult{
		State: v.State, Path: v.Path(), Step: v.Number(), Evaluator: str(e, "type"),
		Verdict: str(e, "verdict"),
	}
	if v.Depth() > 0 && !v.Inline {
		c.Loop = v.Loop
	}
	files, marked := e.Get("check").([]any)
	c.Marked = marked
	for _, f := range files {
		c.Files = append(c.Files, Text(f))
	}
	if c.Evaluator == "for_each" {
		c.Items = whole(e, "items")
	} else if a != nil {
		c.ExitCode = whole(a.ended, "exit_code")
		if !a.prompt {
			if c.Evaluator == "default" {
				c.Evaluator = "exit_code"
			}
			c.Command, c.Output = a.text, OutputSHA256(strings.Join(a.lines, "\n"))
			if cut, _ := a.ended.Get("output_truncated").(bool); cut {
				text, err := d.read(str(a.ended, "output_file"))
				if c.Output = OutputSHA256(text); err != nil {
					c.Output = ""
				}
			}
		}
	}
	judges, _ := e.Get("judges").([]any)
	for _, j := range judges {
		if m, ok := j.(*value.Map); ok {
			c.Judges = append(c.Judges, strings.Trim(Text(m.Value("host"))+" "+Text(m.Value("model")), " -"))
		}
	}
	d.checks = slices.DeleteFunc(d.checks, func(old fsm.CheckResult) bool { return old.Path == c.Path })
	if a != nil && marked {
		for _, item := range a.items {
			item.State, item.Path, item.Step, item.Loop, item.Marked, item.Files = c.State, c.Path, c.Step, c.Loop,
				true, c.Files
			d.checks = append(d.checks, item)
		}
	}
	d.checks = append(d.checks, c)
	d.checks = d.checks[max(0, len(d.checks)-mostChecks):]
}

// chosen returns those that decided.
func (d *deciders) chosen() []fsm.CheckResult {
	isMarked := func(c fsm.CheckResult) bool { return c.Marked }
	switch {
	case slices.ContainsFunc(d.checks, isMarked):
		return slices.DeleteFunc(d.checks, func(c fsm.CheckResult) bool { return !isMarked(c) })
	case !d.prompted && len(d.checks) > 1:
		return d.checks[len(d.checks)-1:]
	}
	return d.checks
}

// OutputSHA256 returns the hash of an output, without line ends at its end.
func OutputSHA256(text string) string {
	sum := sha256.Sum256([]byte(strings.TrimRight(text, "\n")))
	return hex.EncodeToString(sum[:])
}

// CheckText says what decided in a step.
func CheckText(c fsm.CheckResult) string {
	text := fmt.Sprintf("%s (step %s): %s by %s", CheckPlace(c), c.Step, c.Verdict, judgedBy(c))
	if c.Command != "" {
		text += fmt.Sprintf(", exit code %d, output sha256 %s", c.ExitCode, cmp.Or(c.Output, "-"))
	}
	if len(c.Files) > 0 {
		text += ", with " + strings.Join(c.Files, ", ") + " as the run began"
	}
	if c.Command != "" {
		text += "\n" + strings.TrimRight(c.Command, "\n")
	}
	return text
}

// CheckPlace names the state of a verdict, with the states it is inside and the item that it is about.
func CheckPlace(c fsm.CheckResult) string {
	if c.Item == 0 {
		return c.Path
	}
	return fmt.Sprintf("%s #%d (%s)", c.Path, c.Item, humanize.PlainLine(value.Truncate(c.Value, 60)))
}

// judgedBy says in words what gave a verdict.
func judgedBy(c fsm.CheckResult) string {
	if len(c.Judges) > 0 {
		return c.Evaluator + " (" + strings.Join(c.Judges, ", ") + ")"
	}
	return c.Evaluator
}
