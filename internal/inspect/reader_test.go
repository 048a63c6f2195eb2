package inspect

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"loops/fsm"
	"loops/internal/testenv"
)

// read returns the visits of a file of events, in the order they were entered.
func read(t *testing.T, name string) ([]*Visit, []fsm.Event) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var visits []*Visit
	var events []fsm.Event
	r := Reader{Keep: true, Done: func(v *Visit) { visits = append(visits, v) }}
	lines := bufio.NewScanner(f)
	for n := uint64(1); lines.Scan(); n++ {
		e, err := fsm.ParseEvent(lines.Bytes())
		if err != nil {
			t.Fatalf("%s:%d: %v", name, n, err)
		}
		if e.Seq == 0 {
			e.Seq = n
		}
		events = append(events, e)
		r.Add(e)
	}
	r.Close()
	slices.SortFunc(visits, func(a, b *Visit) int { return a.Index - b.Index })
	return visits, events
}

func tell(visits []*Visit, events []fsm.Event, l *fsm.Loop) string {
	var b strings.Builder
	for _, v := range visits {
		first, last := v.Span()
		fmt.Fprintf(&b, "step %s, %s, %v, events %d to %d\n", v.Number(), v.Path(), v.Took(), first, last)
		of := l
		if len(v.Above) > 0 {
			of = nil
		}
		for _, s := range Explain(v, of) {
			fmt.Fprintf(&b, "  %s %v\n", s.Text, s.Events)
		}
	}
	if n := len(events); n > 0 && events[n-1].Kind == "loop_complete" {
		s := Ending(events[n-1], l)
		fmt.Fprintf(&b, "%s %v\n", s.Text, s.Events)
	}
	return b.String()
}

// The story of each testdata/*.jsonl, where it is not known the definition, is in *.out.
func TestExplain(t *testing.T) {
	t.Parallel()
	files, _ := filepath.Glob("testdata/*.jsonl")
	if len(files) < 3 {
		t.Fatalf("only %d files", len(files))
	}
	for _, name := range files {
		visits, events := read(t, name)
		testenv.Golden(t, strings.TrimSuffix(name, ".jsonl")+".out", tell(visits, events, nil))
	}
}

func visit(state string, code int, verdict, to string) *Visit {
	v := &Visit{State: state, Work: time.Second}
	for _, e := range []fsm.Event{
		{Kind: "action_complete", Fields: []fsm.Field{{Key: "exit_code", Value: int64(code)}}},
		{Kind: "evaluate", Fields: []fsm.Field{
			{Key: "type", Value: "exit_code"},
			{Key: "verdict", Value: verdict},
			{Key: "exit_code", Value: int64(code)},
		}},
	} {
		v.add(e, true)
	}
	if to != "" {
		v.add(fsm.Event{Kind: "route", Fields: []fsm.Field{{Key: "from", Value: state}, {Key: "to", Value: to}}}, true)
	}
	return v
}

// path makes visits of letters: upper case for yes, lower case for no.
func path(letters string) []*Visit {
	var visits []*Visit
	for _, r := range letters {
		code, verdict := 0, "yes"
		if r >= 'a' {
			code, verdict = 1, "no"
		}
		visits = append(visits, visit(strings.ToLower(string(r)), code, verdict, "x"))
	}
	return visits
}

func TestTally(t *testing.T) {
	t.Parallel()
	var tally Tally
	for run, letters := range []string{"AB", "AaB", "B", "AB", "B"} {
		for _, v := range path(letters) {
			tally.Add(run, v)
		}
	}
	var lines []string
	for _, s := range tally.States() {
		verdict, always := s.AlwaysYes()
		p50, p95, longest := s.Times()
		lines = append(lines,
			strings.TrimSuffix(fmt.Sprintln(s.Path, s.Visits, s.Runs, s.Failed, s.Names(), s.Judged(), verdict,
				always, p50, p95, longest), "\n"))
	}
	want := "a 4 3 1 [yes no] 4  false 1s 1s 1s\nb 5 5 0 [yes] 5 yes true 1s 1s 1s"
	if got := strings.Join(lines, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestPercentiles(t *testing.T) {
	t.Parallel()
	var times []time.Duration
	if a, b, c := Percentiles(nil); a+b+c != 0 {
		t.Error("of nothing")
	}
	for i := 100; i > 0; i-- {
		times = append(times, time.Duration(i))
	}
	if a, b, c := Percentiles(times); a != 50 || b != 95 || c != 100 {
		t.Error(a, b, c)
	}
	if a, b, c := Percentiles([]time.Duration{3}); a != 3 || b != 3 || c != 3 {
		t.Error(a, b, c)
	}
}

// A glance at a run says the same of its newest verdict and way as its whole story does.
func TestGlance(t *testing.T) {
	t.Parallel()
	files, _ := filepath.Glob("testdata/*.jsonl")
	for _, name := range files {
		_, events := read(t, name)
		for n := len(events); n > 0; n-- { // as if the run had stopped after each of its events
			var g Glance
			for _, e := range slices.Backward(events[:n]) {
				if !g.Add(e) {
					break
				}
			}
			var then []*Visit
			r := Reader{Keep: true, Done: func(v *Visit) { then = append(then, v) }}
			for _, e := range events[:n] {
				r.Add(e)
			}
			r.Close()
			newest := func(kind string) (newest *Visit) {
				for _, v := range then {
					if e := v.find(kind); e != nil && (newest == nil || e.Seq > newest.find(kind).Seq) {
						newest = v
					}
				}
				return newest
			}
			for _, c := range []struct {
				kind string
				got  *Visit
				say  func(*Visit, *fsm.Loop) []Sentence
			}{{"evaluate", g.Judged(), Verdict}, {"route", g.Left(), Way}} {
				want := newest(c.kind)
				if want != nil && c.got != nil && seqOf(c.got.Ended) != seqOf(want.Ended) {
					t.Errorf("%s, %d events: the sub-loop of %s ended with event %d, want %d", name, n, want.Path(),
						seqOf(c.got.Ended), seqOf(want.Ended))
				}
				if (want == nil) != (c.got == nil) {
					t.Errorf("%s, %d events: %s is %v, want %v", name, n, c.kind, c.got, want)
				} else if want != nil &&
					(c.got.Path() != want.Path() || c.got.Number() != want.Number() ||
						fmt.Sprint(c.say(c.got, nil)) != fmt.Sprint(c.say(want, nil))) {
					t.Errorf("%s, %d events: %s %v\nwant %s %v", name, n, c.got.Path(), c.say(c.got, nil),
						want.Path(), c.say(want, nil))
				}
			}
			started := events[n-1].Kind == "action_start"
			if (g.Newest.Seq != events[n-1].Seq) || started && (g.Acting == nil || g.Acting.Seq != events[n-1].Seq) ||
				events[n-1].Kind == "action_complete" && g.Acting != nil {
				t.Errorf("%s, %d events: newest %v, acting %v", name, n, g.Newest, g.Acting)
			}
		}
	}
}

func seqOf(e *fsm.Event) uint64 {
	if e == nil {
		return 0
	}
	return e.Seq
}

// One that prints without end is not read to its beginning.
func TestGlanceIsShort(t *testing.T) {
	t.Parallel()
	var g Glance
	n := 0
	for line := (fsm.Event{
		Kind:   "action_output",
		Fields: []fsm.Field{{Key: "line", Value: strings.Repeat("x", 10_000)}},
	}); g.Add(line); n++ {
		if n > 1000 {
			t.Fatal("it wants more and more")
		}
	}
}
