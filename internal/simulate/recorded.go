package simulate

import (
	"context"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"time"

	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/inspect"
	"loops/persistence"
)

// A recordedEntry is what a state did once: an action, a verdict, or both.
type recordedEntry struct {
	place   place // without state and loop
	acted   bool
	prompt  bool
	text    string // of the action, as it was recorded
	result  fsm.Result
	cut     bool // the output is on record in part only
	judged  bool
	by      string // what judged it
	verdict fsm.Verdict
	before  string // commit with the files before the action, of files.mode git; "" = not kept
	after   string // the same after it
	used    bool
	stretch *stretch // that it is part of; nil = it did not act

	lines []string
	done  bool
}

// recordedAnswers are what a run did, as answers for another one: by state and number of visit.
type recordedAnswers struct {
	run     persistence.Run
	all     []*recordedEntry
	entries map[string][]*recordedEntry // by way
	taken   map[string]int
	acting  map[string]*recordedEntry // by the address of the run that asks
	lists   map[string][]string       // what lists had in them, by way
	counts  map[string]int            // how many items these had
	parts   []*stretch                // of the run, in order
	steps   []rehearsedStep
	memory  *fsm.Snapshot // nil = it cannot be read
	begin   *fsm.Snapshot // before the first state; nil = it is not known
}

// wayKey is a way without tries.
func (p *place) wayKey() string { return p.String() }

// readRecord reads what a run did. Damage of its record is an error: answers would be missing.
func readRecord(ctx context.Context, records *project.Records, run persistence.Run) (*recordedAnswers, error) {
	r := &recordedAnswers{
		run: run, entries: map[string][]*recordedEntry{}, taken: map[string]int{},
		acting: map[string]*recordedEntry{}, lists: map[string][]string{}, counts: map[string]int{},
	}
	first, err := r.read(records.EventsOf(ctx, run, 0))
	if err != nil {
		return nil, fmt.Errorf("the record of run %s cannot be read: %w", run.ID, err)
	}
	if first != nil {
		before, after, err := records.Around(ctx, run.ID, first.Seq)
		if err == nil {
			r.begin = first.Memory(inspect.Recorded(before), inspect.Recorded(after))
		}
	}
	if r.memory, err = records.MemoryOf(ctx, run); err != nil {
		return nil, fmt.Errorf("the memory of run %s cannot be read: %w", run.ID, err)
	}
	for _, e := range r.all {
		if file := e.result.File; file != "" && e.cut {
			if text, err := os.ReadFile(file); err == nil {
				e.result.Stdout, e.cut = string(text), false
			}
		}
	}
	return r, nil
}

// read takes the events of the run. It returns its first step; nil = it had none.
func (r *recordedAnswers) read(events iter.Seq2[fsm.Event, error]) (first *inspect.ForkPoint, err error) {
	var track inspect.ForkTrack
	open := map[*inspect.Visit]*recordedEntry{}
	commit := ""
	var reader inspect.Reader
	reader.Inside = func(*inspect.Visit) {}
	reader.Each = func(e fsm.Event, v *inspect.Visit) {
		if e.Kind == fsm.EventFiles {
			commit, _ = e.Get("commit").(string)
			for _, x := range open { // it was taken after the action that ended last
				if x.done && x.after == "" {
					x.after = commit
				}
			}
		}
		if v == nil {
			return
		}
		r.take(e, v, open, commit)
	}
	for e, err := range events {
		if err != nil {
			return nil, err
		}
		if point := track.Add(e); first == nil {
			first = point
		}
		reader.Add(e)
	}
	reader.Close()
	r.all = slices.DeleteFunc(r.all, func(e *recordedEntry) bool { return e.acted && !e.done })
	for _, e := range r.all {
		key := e.place.wayKey()
		r.entries[key] = append(r.entries[key], e)
	}
	return first, nil
}

// take takes one event of a visit.
func (r *recordedAnswers) take(e fsm.Event, v *inspect.Visit, open map[*inspect.Visit]*recordedEntry, commit string) {
	add := func() *recordedEntry {
		x := &recordedEntry{place: place{at: v.Number(), parts: partsOf(v)}}
		r.all, open[v] = append(r.all, x), x
		return x
	}
	x := open[v]
	switch e.Kind {
	case fsm.EventStateEnter:
		r.steps = append(r.steps, rehearsedStep{v})
	case fsm.EventActionStart:
		if x == nil || x.done || x.judged { // one that was cut short is replaced
			x = add()
		}
		x.acted, x.before = true, commit
		x.text, _ = e.Get("action").(string)
		x.prompt, _ = e.Get("is_prompt").(bool)
		x.lines = nil
	case fsm.EventActionOutput:
		if x != nil && x.acted && !x.done {
			line, _ := e.Get("line").(string)
			x.lines = append(x.lines, line)
		}
	case fsm.EventActionComplete:
		if x != nil && x.acted {
			x.complete(e)
		}
	case fsm.EventEvaluate:
		if x == nil || x.judged || x.acted && !x.done {
			x = add()
		}
		x.judged, x.by, x.verdict = true, text(e, "type"), verdictOf(e)
	case fsm.EventItemsStart:
		p := place{parts: partsOf(v)}
		r.counts[p.wayKey()] = int(inspect.Whole(e.Get("items")))
	case fsm.EventItemStart:
		p := place{parts: partsOf(v)}
		if n := int(inspect.Whole(e.Get("item"))); n == len(r.lists[p.wayKey()])+1 {
			r.lists[p.wayKey()] = append(r.lists[p.wayKey()], text(e, "key"))
		}
	case fsm.EventItemEnd:
		n := int(inspect.Whole(e.Get("item")))
		p := place{at: fmt.Sprintf("%s/#%d", v.Number(), n), parts: append(partsOf(v), partInto(fmt.Sprintf("#%d", n)))}
		item := &recordedEntry{place: p, acted: true, done: true, judged: true, before: commit, verdict: verdictOf(e)}
		item.result = fsm.Result{
			ExitCode:    int(inspect.Whole(e.Get("exit_code"))),
			TimeoutKind: text(e, "timeout_kind"), Stdout: text(e, "output"), Stderr: text(e, "stderr_preview"),
			File: text(e, "output_file"),
		}
		item.cut = item.result.File != ""
		item.result.Bytes = int64(len(item.result.Stdout))
		r.all = append(r.all, item)
	}
}

func text(e fsm.Event, key string) string {
	s, _ := e.Get(key).(string)
	return s
}

// verdictOf returns the verdict of an event with its details.
func verdictOf(e fsm.Event) fsm.Verdict {
	v := fsm.Verdict{Name: text(e, "verdict"), Details: new(value.Map)}
	for _, f := range e.Fields {
		if f.Key != "type" && f.Key != "verdict" {
			v.Details.Set(f.Key, f.Value)
		}
	}
	return v
}

// complete takes the end of an action.
func (x *recordedEntry) complete(e fsm.Event) {
	x.done = true
	res := fsm.Result{
		ExitCode: int(inspect.Whole(e.Get("exit_code"))), TimeoutKind: text(e, "timeout_kind"),
		Stderr: text(e, "stderr_preview"), File: text(e, "output_file"),
		Duration: time.Duration(inspect.Whole(e.Get("duration_ms"))) * time.Millisecond,
	}
	if out := strings.Join(x.lines, "\n"); len(x.lines) > 0 {
		res.Stdout = out + "\n"
	} else if preview := text(e, "output_preview"); preview != "" {
		res.Stdout = preview + "\n"
	}
	x.cut, _ = e.Get("output_truncated").(bool)
	res.Bytes = int64(len(res.Stdout))
	if status := inspect.Whole(e.Get("status")); status != 0 {
		res.Response = &fsm.Response{Status: int(status), Headers: new(value.Map)}
	}
	if x.prompt {
		r := &fsm.Reply{
			Host: text(e, "host"), Model: text(e, "model"), Session: text(e, "session_id"), Complete: true,
			Coverage: fsm.CoverageComplete, Failure: fsm.Failure(text(e, "failure")),
			Reason: text(e, "failure_reason"),
		}
		r.Usage = fsm.Usage{
			Input: inspect.Whole(e.Get("input_tokens")), Output: inspect.Whole(e.Get("output_tokens")),
			CacheRead:  inspect.Whole(e.Get("cache_read_tokens")),
			CacheWrite: inspect.Whole(e.Get("cache_creation_tokens")),
		}
		if cost, ok := inspect.Number(e.Get("cost_usd")); ok {
			r.Cost = &cost
		}
		if c := text(e, "coverage"); c != "" {
			r.Coverage = c
		}
		res.Reply = r
	}
	x.result, x.lines = res, nil
}

// visit returns what the run did on its next visit to a place; nil = it was there no more often.
func (r *recordedAnswers) visit(p *place) *recordedEntry {
	key := p.wayKey()
	n := r.taken[key]
	if n >= len(r.entries[key]) {
		return nil
	}
	r.taken[key]++
	e := r.entries[key][n]
	r.acting[p.at] = e
	return e
}

// verdict returns how the run judged what was answered last at a place; false = it did not.
func (r *recordedAnswers) verdict(p *place) (fsm.Verdict, bool) {
	e := r.acting[p.at]
	if e == nil || !e.judged {
		return fsm.Verdict{}, false
	}
	return e.verdict, true
}
