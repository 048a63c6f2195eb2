package fsm

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"loops/fsm/expr"
	"loops/fsm/value"
)

// An Each has the action of a state done once for each item of a list. Exactly one of Glob, Command, Text and
// List is set.
type Each struct {
	Glob    string // pattern of paths, templates in it replaced, whose values are literal; see Files.Glob
	Command string // template; a bash script that prints the items
	Text    string // template; becomes the items
	List    []any  // the items, with templates

	Key      string // template of the name of an item in events and results; "" = its text
	As       string // name of the item: ${item.AS}, LOOPS_ITEM_AS
	Parallel int    // items at once
	Continue bool   // a failed item does not keep others from beginning
	Retries  int    // further tries of an item that failed
}

// DefaultItem is the name of an item where the state gives it none.
const DefaultItem = "value"

// What a state that works on a list comes to, besides yes and no.
const (
	ItemsPartial    = "partial"     // some items are done and some are not
	ItemsEmpty      = "empty"       // there are no items; it is yes where the state has no key for it
	ItemInterrupted = "interrupted" // of an item that must not be repeated and was cut short
)

// MostParallel is how many items can be worked on at once.
const MostParallel = 256

// mostItems is how many items a list can have.
const mostItems = 1_000_000

// String says what the state works on.
func (x *Each) String() string {
	text := "for each item of "
	switch {
	case x.Glob != "":
		text = "for each " + x.Glob
	case x.Command != "":
		text += "$ " + x.Command
	case x.Text != "":
		text += x.Text
	default:
		text += "a list of " + strconv.Itoa(len(x.List))
	}
	if x.Parallel > 1 {
		text += ", " + strconv.Itoa(x.Parallel) + " at once"
	}
	return text
}

// List returns the list that the run is in, also that of a sub-loop or of a branch; nil if it is in none.
func (s *Snapshot) List() *Items {
	if s.Child != nil && s.Child.Memory != nil {
		return s.Child.Memory.List()
	}
	for _, b := range s.Branches {
		if b.Child != nil && b.Child.Memory != nil && b.Child.Memory.List() != nil {
			return b.Child.Memory.List()
		}
	}
	if s.Items != nil && s.Items.State == s.Current && s.Items.Step == s.Step {
		return s.Items
	}
	return nil
}

// each works on a list: its items begin in order, and each end is on record before another item takes its
// place. A resumed run does what is unfinished.
func (e *Executor) each(st *State) decision {
	m := e.mem
	if v, decided := e.given(st, "for_each"); decided {
		return e.eachJudged(st, v.Name, Result{}, v.Details, nil)
	}
	if st.Each.judgesItems(st) {
		if err := e.watch(st); err != nil {
			return e.exception(st, err)
		}
	}
	again := m.Items != nil && m.Items.State == st.Name && m.Items.Step == m.Step
	if !again {
		list, n, err := e.list(st)
		if err != nil {
			return e.exception(st, err)
		}
		m.Items = &Items{State: st.Name, Step: m.Step, List: list, Count: n, Since: e.machine.numbered()}
		m.Attempt = 0 // those so far were of the script that made the list
	}
	r, err := newRound(e, st)
	if err != nil {
		return e.exception(st, err)
	}
	if again {
		if err := r.recall(); err != nil {
			e.machine.broken = err
			return decision{halted: true}
		}
		r.reopen(e.cfg.Again)
		r.remember()
	}
	m.Attempt++
	fields := []Field{{"state", st.Name}, {"items", int64(r.list.count())}, {"parallel", int64(st.Each.Parallel)}}
	if pattern, err := expr.Expand(st.Each.Glob, e.scope(nil)); r.list.count() == 0 && pattern != "" && err == nil {
		fields = append(fields, Field{"pattern", pattern})
	}
	if again {
		fields = append(fields, Field{"done", int64(r.done)}, Field{"failed", int64(r.failed)}, Field{"resumed", true})
		fields = append(fields, e.cfg.Again.fields()...)
	}
	e.emit(EventItemsStart, fields...)
	if !e.record(true) || !e.settle() { // the items can be done again from here
		return decision{halted: true}
	}
	d, left := r.run()
	if err := e.inspect(st); err != nil && !d.halted {
		return e.exception(st, err)
	}
	if left {
		return d
	}
	res, rec, err := r.result()
	if err != nil {
		return e.exception(st, err)
	}
	details := value.NewMap("items", int64(r.list.count()), "done", int64(r.done), "failed", int64(r.failed))
	if !e.settle() { // the last ends would be recorded with what follows, and half of that perhaps
		return decision{halted: true}
	}
	m.Items, m.Branches = nil, nil
	return e.eachJudged(st, r.verdict(), res, details, rec)
}

// eachJudged leaves a state that worked on a list by its verdict. rec is what it captures, nil for nothing.
func (e *Executor) eachJudged(st *State, verdict string, res Result, details, rec *value.Map) decision {
	m := e.mem
	if verdict != "yes" && verdict != ItemsEmpty && res.ExitCode == 0 {
		res.ExitCode = 1
	}
	if st.Capture != "" {
		if rec == nil {
			rec = value.NewMap("output", "[]", "failed", "")
		}
		rec.Set("exit_code", int64(res.ExitCode))
		rec.Set("verdict", verdict)
		m.setCapture(st.Capture, rec)
	}
	m.PrevResult = prevResult(st, &res)
	if err := e.assign(st, m.PrevResult); err != nil {
		return e.exception(st, err)
	}
	fields := []Field{{"type", "for_each"}, {"verdict", verdict}}
	for _, k := range details.Keys() {
		fields = append(fields, Field{k, details.Value(k)})
	}
	e.emit(EventEvaluate, append(fields, st.Check.fields()...)...)
	m.LastResult = value.NewMap("verdict", verdict, "details", details)
	scope := e.scope(value.NewMap("verdict", verdict, "details", details))
	var target string
	var err error
	if st.Next != "" {
		target, err = e.target(e.onward(st, verdict), scope)
	} else {
		target, err = e.route(st, Followed(st, verdict), scope)
	}
	if err != nil {
		return e.exception(st, err)
	}
	return decision{target: target}
}

// followedItems is the verdict whose key a state with for_each follows: partial goes where no does, unless the
// state has a key for it.
func followedItems(st *State, verdict string) string {
	if verdict == ItemsPartial && !declaresVerdict(st, verdict) && (st.Route == nil || st.Route.Default == "") {
		return "no"
	}
	return verdict
}

// list makes the items of a state that was entered, as a JSON list, and how many there are.
func (e *Executor) list(st *State) (string, int, error) {
	text, n, err := e.unbounded(st)
	if err == nil && n > mostItems {
		err = fmt.Errorf("for_each: the list has %d items, and can have %d; divide the work among several runs", n,
			mostItems)
	}
	return text, n, err
}

// unbounded is list of any length.
func (e *Executor) unbounded(st *State) (string, int, error) {
	x, scope := st.Each, e.scope(nil)
	switch {
	case x.Glob != "":
		names, err := e.matches(st, scope)
		if err != nil {
			return "", 0, err
		}
		list, n := textList(slices.Values(names), 0)
		return list, n, nil
	case x.Command != "":
		script, err := expr.Expand(x.Command, scope)
		if err != nil {
			return "", 0, err
		}
		text, err := e.listed(st, script)
		if err != nil {
			return "", 0, err
		}
		return itemsOf(text)
	case x.Text != "":
		text, err := expr.Expand(x.Text, asData(scope))
		if err != nil {
			return "", 0, err
		}
		return itemsOf(text)
	}
	v, err := expr.ExpandValue(x.List, asData(scope))
	if err != nil {
		return "", 0, err
	}
	list, _ := v.([]any)
	return string(value.AppendJSON(nil, list)), len(list), nil
}

// listed returns what a script prints that makes a list. Its marker is on record before it is started.
func (e *Executor) listed(st *State, script string) (string, error) {
	m := e.mem
	m.Attempt++
	if !e.record(true) {
		return "", errHalted
	}
	check, err := e.checkRun(st)
	if err != nil {
		return "", err
	}
	wall, idle := timeoutsOf(e.cfg.Loop, &State{Name: st.Name}, KindShell)
	res, err := e.attempt(Action{
		Kind: KindShell, Text: script, State: st.Name, Step: m.Step, Attempt: m.Attempt, Outer: e.outer, Dir: e.dir,
		Sandbox: e.sandbox(st),
		Vars:    e.vars(), Timeout: wall, Idle: idle, Quiet: true, Check: check,
	}, nil)
	switch {
	case e.machine.broken != nil || e.ending():
		return "", errHalted
	case err != nil:
		return "", fmt.Errorf("for_each: the list cannot be made: %w", err)
	case res.ExitCode != 0:
		why := strings.TrimSpace(preview(res.Stderr))
		if why != "" {
			why = ": " + why
		}
		return "", fmt.Errorf("for_each: the list cannot be made: its script ended with exit code %d%s", res.ExitCode,
			why)
	case !res.Truncated:
		return res.Stdout, nil
	case res.File == "":
		return "", fmt.Errorf("for_each: the list is too long: %d bytes, and there is no folder to keep it in",
			res.Bytes)
	}
	text, err := e.readText(res.File)
	if err != nil {
		return "", fmt.Errorf("for_each: the list cannot be read: %w", err)
	}
	return text, nil
}

// literal makes a text that stands for itself in a pattern.
var literal = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`, "{", `\{`, "}", `\}`, ",",
	`\,`, "-", `\-`, "!", `\!`, "^", `\^`)

// backslash makes the backslashes of a pattern stand for themselves.
var backslash = strings.NewReplacer(`\`, `\\`)

// matches returns the paths that a pattern means. What its templates insert is literal. It may take as long as
// a script.
func (e *Executor) matches(st *State, scope *expr.Scope) (names []string, err error) {
	glob, err := expr.ExpandEach(st.Each.Glob, scope, backslash.Replace, literal.Replace)
	if err != nil {
		return nil, err
	}
	check, err := e.checkRun(st)
	if err != nil {
		return nil, err
	}
	look := func(ctx context.Context) { names, err = e.cfg.Files.Glob(ctx, "", glob) }
	if check != nil && e.cfg.Laid != nil {
		find := look
		look = func(ctx context.Context) {
			if failed := e.cfg.Laid(ctx, e.dir, check, find); failed != nil {
				err = failed
			}
		}
	}
	if wall, _ := timeoutsOf(e.cfg.Loop, &State{Name: st.Name}, KindShell); wall > 0 {
		look = limited(wall, look)
	}
	e.do(look)
	switch {
	case e.machine.broken != nil || e.ending():
		return nil, errHalted
	case errors.Is(err, context.DeadlineExceeded):
		err = errors.New("it took longer than the timeout of an action")
	}
	if err != nil {
		e.breaks(err)
		return nil, fmt.Errorf("for_each: the list of %s cannot be made: %w", st.Each.Glob, err)
	}
	return names, nil
}

// itemsOf makes a JSON list of a text that is one, or of its lines.
func itemsOf(text string) (string, int, error) {
	if trimmed := strings.TrimSpace(text); strings.HasPrefix(trimmed, "[") && strings.HasSuffix(trimmed, "]") {
		v, err := value.ParseJSON([]byte(trimmed))
		list, ok := v.([]any)
		if err == nil && ok {
			return string(value.AppendJSON(nil, list)), len(list), nil
		}
		if !strings.Contains(trimmed, "\n") {
			return "", 0, fmt.Errorf("for_each: %s is not a JSON list: %w", value.Truncate(trimmed, 60), err)
		}
	}
	list, n := linesOf(text)
	return list, n, nil
}

// linesOf makes a JSON list of the lines of a text. Empty ones are no items.
func linesOf(text string) (list string, n int) {
	return textList(func(yield func(string) bool) {
		for line := range strings.Lines(text) {
			if line = strings.TrimRight(line, "\r\n"); strings.TrimSpace(line) != "" && !yield(line) {
				return
			}
		}
	}, len(text)+3*strings.Count(text, "\n")+len(`["", ]`))
}

// textList makes a JSON list of texts, which is expected to be about size bytes long.
func textList(texts iter.Seq[string], size int) (list string, n int) {
	b := append(make([]byte, 0, size), '[')
	for text := range texts {
		if n++; n > 1 {
			b = append(b, ", "...)
		}
		b = value.AppendJSONString(b, text)
	}
	return string(append(b, ']')), n
}

// itemText is an item as its actions find it in their environment.
func itemText(item any) string {
	switch item.(type) {
	case *value.Map, []any:
		return string(value.AppendJSON(nil, item))
	}
	return inserted(item)
}

// itemScope is what the templates of an item see.
func (r *round) itemScope(i int) *expr.Scope {
	s := r.e.scope(nil)
	s.Item = r.itemValue(i)
	return s
}

// itemValue is ${item.*} of an item.
func (r *round) itemValue(i int) *value.Map {
	return value.NewMap("index", int64(i+1), "count", int64(r.list.count()), "key", r.list.key(i), r.st.Each.As,
		r.list.item(i))
}

// itemVars are the variables of an item's action.
func (r *round) itemVars(i int) []Var {
	return r.st.Each.Vars(r.list.itemText(i), i+1, r.list.count())
}

// Vars returns the variables that the script of an item has: of its text, and its number of so many.
func (x *Each) Vars(text string, number, count int) []Var {
	return []Var{
		{"LOOPS_ITEM", text},
		{"LOOPS_ITEM_" + VarName(x.As), text},
		{"LOOPS_ITEM_INDEX", strconv.Itoa(number)},
		{"LOOPS_ITEM_COUNT", strconv.Itoa(count)},
	}
}

// A HistoryError says that the history of a run cannot be read, so that it is not known what has come of the
// items of its list. Run returns it, and the run can only begin that state again.
type HistoryError struct{ Err error }

func (e *HistoryError) Error() string {
	return "the history of the run cannot be read: " + e.Err.Error()
}

// Unwrap returns what kept it from being read.
func (e *HistoryError) Unwrap() error { return e.Err }

// history yields what was recorded of the run after an event, all that it did so far.
func (e *Executor) history(after uint64) iter.Seq2[Event, error] {
	if e.cfg.History == nil {
		return func(func(Event, error) bool) {}
	}
	if !e.settle() {
		return func(yield func(Event, error) bool) { yield(Event{}, e.machine.broken) }
	}
	return e.machine.driver.history(after)
}

// isHeld reports whether a user paused the run.
func (e *Executor) isHeld() bool { return e.cfg.Held != nil && e.cfg.Held() != nil }

func milliseconds(d time.Duration) int64 { return d.Milliseconds() }
