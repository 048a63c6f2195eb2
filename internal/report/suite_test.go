package report

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"loops/fsm"
	"loops/internal/diagram"
	"loops/internal/inspect"
	"loops/internal/testenv"
)

// at makes an event so many seconds into the run.
func at(seconds float64, depth int, kind string, fields ...any) fsm.Event {
	e := fsm.Event{
		Kind: kind, Depth: depth,
		Time: time.Unix(1_700_000_000, 0).Add(time.Duration(seconds * float64(time.Second))),
	}
	for i := 0; i < len(fields); i += 2 {
		e.Fields = append(e.Fields, fsm.Field{Key: fields[i].(string), Value: fields[i+1]})
	}
	return e
}

// history is a run that checks, fixes in a sub-loop, was resumed in between, and gives up.
func history() []fsm.Event {
	return []fsm.Event{
		at(0, 0, "loop_start", "loop", "fix"),
		at(0, 0, "state_enter", "state", "check", "iteration", int64(1)),
		at(0, 0, "action_start", "action", "make test"),
		at(1, 0, "action_output", "line", "\x1b[31mFAIL\x1b[0m <a> & ]]>"),
		at(2, 0, "action_complete", "exit_code", int64(1), "output_preview", "FAIL", "stderr_preview",
			"no\x00t \xff good"),
		at(2, 0, "evaluate", "verdict", "no"),
		at(2, 0, "route", "from", "check", "to", "mend"),
		at(2, 0, "state_enter", "state", "mend", "iteration", int64(2)),
		at(3, 1, "loop_start", "loop", "review"),
		at(3, 1, "state_enter", "state", "check", "iteration", int64(1)),
		at(3.5, 1, "action_complete", "exit_code", int64(0), "output_preview", "fine | `x`"),
		at(3.5, 1, "loop_complete", "final_state", "done"),
		at(100, 0, "loop_resume", "loop", "fix"),
		at(100, 0, "state_enter", "state", "check", "iteration", int64(3)),
		at(101, 0, "action_complete", "exit_code", int64(2), "output_preview",
			"\x1b[31mFAIL\x1b[0m \a\x00again\xff <a> & ]]>\n```\n@team"),
		at(101, 0, "evaluate", "verdict", "no"),
		at(101, 0, "route", "from", "check", "to", "failed"),
		at(101, 0, "loop_complete", "final_state", "failed", "terminated_by", "terminal"),
	}
}

// A feeder gives events to a Suite with the visits they belong to.
type feeder struct {
	*Suite
	visits inspect.Reader
}

func (f *feeder) Add(e fsm.Event) *Step { return f.Suite.Add(e, f.visits.Add(e)) }

func read(events []fsm.Event) *Suite {
	r := feeder{Suite: &Suite{}}
	for _, e := range events {
		if s := r.Add(e); s != nil && s.State == "mend" {
			s.Cost = "$0.12"
		}
	}
	return r.Suite
}

func run() Run {
	g := diagram.Of(&fsm.Loop{
		Name: "fix", Initial: "check", Order: []string{"check", "mend", "push", "failed"},
		States: map[string]*fsm.State{
			"check": {Name: "check", Action: "make test"}, "mend": {Name: "mend"}, "push": {Name: "push"},
			"failed": {Name: "failed", Terminal: true},
		},
	})
	return Run{
		ID: "fix-20231114T221320", Loop: "fix", End: Failed, EndedBy: "terminal",
		Text: "Loop failed: failed (3 steps, 4s)", Reason: "it <b>did</b> not work",
		Begun: time.Unix(1_700_000_000, 0), Took: 4 * time.Second,
		Facts: [][2]string{{"Status", "failed"}, {"Cost", "$0.12"}},
		Graph: g, Notes: []string{"line 7 is damaged"}, Next: "loops resume fix-20231114T221320",
	}
}

// TestGolden: both forms of a run that failed.
func TestGolden(t *testing.T) {
	t.Parallel()
	for file, write := range map[string]func(*Suite, io.Writer) error{
		"testdata/failed.xml": func(r *Suite, w io.Writer) error { return r.JUnit(w, run()) },
		"testdata/failed.md":  func(r *Suite, w io.Writer) error { return r.Markdown(w, run(), 1<<20) },
	} {
		var b strings.Builder
		if err := write(read(history()), &b); err != nil {
			t.Fatal(err)
		}
		testenv.Golden(t, file, b.String())
	}
}

// A suite is what a service reads of JUnit XML.
type suite struct {
	Tests    int `xml:"tests,attr"`
	Failures int `xml:"failures,attr"`
	Errors   int `xml:"errors,attr"`
	Skipped  int `xml:"skipped,attr"`
	Cases    []struct {
		Name    string    `xml:"name,attr"`
		Class   string    `xml:"classname,attr"`
		Time    float64   `xml:"time,attr"`
		Failure *string   `xml:"failure"`
		Error   *string   `xml:"error"`
		Skipped *struct{} `xml:"skipped"`
		Out     string    `xml:"system-out"`
	} `xml:"testcase"`
}

func junit(t *testing.T, r *Suite, run Run) (suite, string) {
	t.Helper()
	var b strings.Builder
	if err := r.JUnit(&b, run); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Suites []suite `xml:"testsuite"`
	}
	d := xml.NewDecoder(strings.NewReader(b.String()))
	if err := d.Decode(&doc); err != nil || len(doc.Suites) != 1 {
		t.Fatalf("%v in %s", err, b.String())
	}
	if _, err := d.Token(); err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	s := doc.Suites[0]
	var failures, errs, skipped int
	for _, c := range s.Cases {
		switch {
		case c.Failure != nil:
			failures++
		case c.Error != nil:
			errs++
		case c.Skipped != nil:
			skipped++
		}
	}
	if s.Tests != len(s.Cases) || s.Failures != failures || s.Errors != errs || s.Skipped != skipped {
		t.Errorf("the counts are wrong: %d tests, %d failures, %d errors, %d skipped in %s", s.Tests, s.Failures,
			s.Errors, s.Skipped, b.String())
	}
	return s, b.String()
}

// TestVerdictOfSuite: whatever way a run ends, what is no success is not green, exactly once.
func TestVerdictOfSuite(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end              int
		events           []fsm.Event
		failures, errors int
	}{
		"good":    {Good, history(), 0, 0},
		"failed":  {Failed, history(), 1, 0},
		"broken":  {Broken, history(), 0, 1},
		"going":   {Going, history(), 0, 1},
		"nothing": {Broken, nil, 0, 1},
		"fine":    {Good, nil, 0, 0},
	} {
		r := run()
		r.End = c.end
		s, text := junit(t, read(c.events), r)
		if s.Failures != c.failures || s.Errors != c.errors {
			t.Errorf("%s: %d failures, %d errors in %s", name, s.Failures, s.Errors, text)
		}
	}
}

// FuzzJUnit: it is XML whatever a run printed.
func FuzzJUnit(f *testing.F) {
	f.Add("\x00\x1b[1m\xff\ufffe]]>&<\"'\r\n\u0085\U0010ffff")
	f.Fuzz(func(t *testing.T, s string) {
		r := read([]fsm.Event{
			at(0, 0, "loop_start", "loop", s), at(0, 0, "state_enter", "state", s),
			at(1, 0, "action_output", "line", s),
			at(1, 0, "action_complete", "exit_code", s, "stderr_preview", s), at(1, 0, "evaluate", "verdict", s),
			at(1, 0, "route", "to", s),
		})
		one := Run{
			ID: s, Loop: s, End: Failed, EndedBy: s, Text: s, Reason: s, Facts: [][2]string{{s, s}},
			Notes: []string{s}, Next: s,
		}
		junit(t, r, one)
		var b strings.Builder
		if err := r.Markdown(&b, one, 4_000); err != nil {
			t.Error(err)
		}
	})
}

// long is a run of so many steps that print much.
func long(steps int) *Suite {
	r := feeder{Suite: &Suite{}}
	r.Add(at(0, 0, "loop_start", "loop", "long"))
	for i := range steps {
		r.Add(at(float64(i), 0, "state_enter", "state", fmt.Sprintf("state_%d", i%7), "iteration", int64(i+1)))
		for range 40 {
			r.Add(at(float64(i), 0, "action_output", "line", strings.Repeat("x", 1_000)))
		}
		r.Add(at(float64(i)+0.5, 0, "action_complete", "exit_code", int64(0)))
	}
	return r.Suite
}

// TestLong: what is written of a long run is small, whatever room there is, and says what is left out.
func TestLong(t *testing.T) {
	t.Parallel()
	r := long(3_000)
	s, text := junit(t, r, Run{Loop: "long", End: Good})
	if len(text) > 100_000 || len(s.Cases) != 7 || !strings.Contains(s.Cases[0].Out, "bytes are left out") {
		t.Errorf("%d bytes, %d cases", len(text), len(s.Cases))
	}
	for _, v := range r.states {
		if n := cap(v.output.head) + cap(v.output.tail); n > 4*outputTail {
			t.Errorf("%d bytes are kept of the output of %s", n, v.state)
		}
	}
	for _, most := range []int{4_000, 10_000, 50_000, 1 << 20} {
		var b strings.Builder
		if err := r.Markdown(&b, Run{Loop: "long", End: Broken, Text: "it was capped", Graph: run().Graph},
			most); err != nil {
			t.Fatal(err)
		}
		got := b.String()
		if len(got) > most && most > 10_000 || !strings.Contains(got, "it was capped") || most > 10_000 &&
			(!strings.Contains(got, "steps are left out") || !strings.Contains(got, "| 3000 |")) {
			t.Errorf("%d bytes of at most %d:\n%.600s", len(got), most, got)
		}
	}
}

// TestManyStates: sub-loops of ever new names do not fill the memory.
func TestManyStates(t *testing.T) {
	t.Parallel()
	r := feeder{Suite: &Suite{}}
	for i := range mostCases + 10 {
		r.Add(at(0, 0, "state_enter", "state", fmt.Sprint(i)))
	}
	s, text := junit(t, r.Suite, Run{Loop: "many", End: Failed})
	if len(s.Cases) != mostCases+1 || s.Failures != 1 ||
		!strings.Contains(text, "10 visits of states beyond the first 2000 are left out") {
		t.Errorf("%d cases, %d failures", len(s.Cases), s.Failures)
	}
}
