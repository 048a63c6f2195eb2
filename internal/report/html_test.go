package report_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"loops/fsm"
	"loops/internal/diagram"
	"loops/internal/inspect"
	"loops/internal/report"
	"loops/internal/testenv"
)

// begin is when the runs of these tests began.
var begin = time.Date(2026, 11, 21, 10, 34, 5, 0, time.UTC)

// A reader gives events to an HTML with the visits they belong to.
type reader struct {
	report.HTML
	visits inspect.Reader
}

func (r *reader) Add(e fsm.Event) *report.Step { return r.HTML.Add(e, r.visits.Add(e)) }

// read reads events, one line of JSON each.
func read(t *testing.T, file string) *reader {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var r reader
	for line := range strings.Lines(string(text)) {
		e, err := fsm.ParseEvent([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		r.Add(e)
	}
	return &r
}

func TestPage(t *testing.T) {
	t.Parallel()
	r := read(t, "testdata/run.jsonl")
	page := report.Page{
		Title: "Run outer-20261121T103405",
		Facts: [][2]string{{"Loop", "outer"}, {"Error", "<b>\"it\" broke</b> & more"}},
		Notes: []string{"<script>a note</script>"}, More: "loops history outer last -v",
	}
	page.Graph = &diagram.Graph{Name: "outer"}
	page.Graph.Measure(diagram.Measure{By: "visits"})
	got := write(t, page, r)
	testenv.Golden(t, "testdata/run.html", got)
}

func write(t *testing.T, p report.Page, r *reader) string {
	t.Helper()
	var b strings.Builder
	if err := p.Write(&b, &r.HTML); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// long feeds a run of n steps, each with an action, its output and a verdict; text is in all of them.
func long(r *reader, n int, text string) {
	at := begin
	add := func(kind string, fields ...fsm.Field) {
		at = at.Add(time.Millisecond)
		r.Add(fsm.Event{Kind: kind, Time: at, Fields: fields})
	}
	for i := range n {
		state := fmt.Sprintf("%.40s%d", text, i%7)
		add("state_enter", fsm.Field{Key: "state", Value: state}, fsm.Field{Key: "iteration", Value: int64(i + 1)})
		add("action_start", fsm.Field{Key: "action", Value: text})
		add("action_output", fsm.Field{Key: "line", Value: text})
		add("action_output", fsm.Field{Key: "line", Value: fmt.Sprintf("last line of step %d", i+1)})
		add("action_complete", fsm.Field{Key: "exit_code", Value: int64(i % 3)},
			fsm.Field{Key: "duration_ms", Value: int64(1)})
		add("evaluate", fsm.Field{Key: "verdict", Value: text})
		add("route", fsm.Field{Key: "from", Value: state}, fsm.Field{Key: "to", Value: text})
	}
}

// TestSize: a page of 10,000 steps has 5 MB at most, whatever they print; all steps are there.
func TestSize(t *testing.T) {
	t.Parallel()
	for what, text := range map[string]string{
		"plain":   strings.Repeat("a line of the output of a test that failed\n", 200),
		"hostile": strings.Repeat("<&\"'>\x00\x1b\xff", 600),
		"wide":    strings.Repeat("漢🤖", 3000), "short": "ok",
	} {
		var r reader
		long(&r, 10_000, text)
		page := write(t, report.Page{Title: text, Notes: []string{text}, Facts: [][2]string{{text, text}}}, &r)
		if len(page) > 5_000_000 {
			t.Errorf("%s: the page has %d bytes", what, len(page))
		}
		if n := strings.Count(page, "\n<tr"); n < 10_000 {
			t.Errorf("%s: %d rows", what, n)
		}
		if strings.ContainsAny(page, "\x00\x1b") || strings.Contains(page, "<&") {
			t.Errorf("%s: not escaped", what)
		}
		if what == "short" && !strings.Contains(page, "last line of step 10000") {
			t.Error("a short output is not there in full")
		}
		if what == "plain" && !regexp.MustCompile(`about \d+ bytes are left out`).MatchString(page) {
			t.Error("what was cut is not said")
		}
		t.Logf("%s: %d bytes", what, len(page))
	}
}

// TestVeryLong: of a run of more steps the first and the last are there, and the page says what is not.
func TestVeryLong(t *testing.T) {
	t.Parallel()
	var r reader
	long(&r, 25_003, "x")
	page := write(t, report.Page{Title: "long", More: "loops history long last"}, &r)
	for _, want := range []string{
		"<td>1<td>", "<td>1000<td>", "<td>16004<td>", "<td>25003<td>", "15003 steps are left out",
		"The run has 25003 steps: the first 1000 and the last 9000 are here. All of them: loops history long last",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, not := range []string{"<td>1001<td>", "<td>16003<td>"} {
		if strings.Contains(page, not) {
			t.Errorf("the page has %q", not)
		}
	}
	if len(page) > 5_000_000 {
		t.Errorf("the page has %d bytes", len(page))
	}
}

// TestOutputEnds: of a long output the beginning and the end are there.
func TestOutputEnds(t *testing.T) {
	t.Parallel()
	var r reader
	r.Add(fsm.Event{Kind: "state_enter", Time: begin, Fields: []fsm.Field{{Key: "state", Value: "a"}}})
	for i := range 10_000 {
		r.Add(fsm.Event{Kind: "action_output", Fields: []fsm.Field{{Key: "line", Value: fmt.Sprintf("line %d.", i)}}})
	}
	page := write(t, report.Page{}, &r)
	for _, want := range []string{"line 0.", "line 1.", "line 9998.", "line 9999."} {
		if !strings.Contains(page, want) {
			t.Errorf("lacks %s", want)
		}
	}
	if strings.Contains(page, "line 5000.") {
		t.Error("has the middle")
	}
}

// TestNothing: a run of which nothing is recorded has a page.
func TestNothing(t *testing.T) {
	t.Parallel()
	if page := write(t, report.Page{Title: "nothing"}, &reader{}); !strings.Contains(page, "No step was recorded.") {
		t.Error(page)
	}
}

// TestLostEvents: events without those around them are no reason to fail.
func TestLostEvents(t *testing.T) {
	t.Parallel()
	var r reader
	for _, e := range []fsm.Event{
		{Kind: "route", Depth: 3},
		{Kind: "state_enter", Depth: 2, Fields: []fsm.Field{{Key: "state", Value: "deep"}}},
		{Kind: "loop_complete", Depth: 1},
		{Kind: "action_output", Depth: 9, Fields: []fsm.Field{{Key: "line", Value: int64(3)}}},
		{Kind: "state_enter"},
		{Kind: "action_complete"},
		{Kind: "loop_complete"},
	} {
		r.Add(e)
	}
	if page := write(t, report.Page{}, &r); !strings.Contains(page, "deep") {
		t.Error(page)
	}
}

// A note and an action without output do not run together: "interrupted for 3.0s", then "sleep 2".
func TestInterruptedStepWithoutOutput(t *testing.T) {
	t.Parallel()
	var r reader
	at := begin
	add := func(after time.Duration, kind string, fields ...fsm.Field) {
		at = at.Add(after)
		r.Add(fsm.Event{Kind: kind, Time: at, Fields: fields})
	}
	state, step, action := fsm.Field{Key: "state", Value: "rest"}, fsm.Field{Key: "iteration", Value: int64(1)},
		fsm.Field{Key: "action", Value: "sleep 2"}
	add(0, "state_enter", state, step)
	add(0, "action_start", action)
	add(3*time.Second, "loop_resume")
	add(0, "state_enter", state, step, fsm.Field{Key: "resumed", Value: true})
	add(0, "action_start", action)
	add(2*time.Second, "action_complete", fsm.Field{Key: "exit_code", Value: int64(0)})
	if page := write(t, report.Page{}, &r); !strings.Contains(page,
		"<p>2 attempts, interrupted for 3.0s</p>sleep 2\n") {
		t.Error(page)
	}
}

// A step whose verdict was no with exit code 1, as that of a check, was red like one that broke.
func TestOrdinaryNoIsNoFailure(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		verdict string
		red     bool
	}{{"yes", false}, {"no", false}, {"error", true}, {"", true}} {
		var r reader
		for _, line := range []string{
			`{"event": "loop_start", "ts": "2026-11-21T10:34:05+00:00", "loop": "a"}`,
			`{"event": "state_enter", "ts": "2026-11-21T10:34:05+00:00", "state": "check", "iteration": 1}`,
			`{"event": "action_start", "ts": "2026-11-21T10:34:05+00:00", "action": "make", "is_prompt": false}`,
			`{"event": "action_complete", "ts": "2026-11-21T10:34:06+00:00", "exit_code": 1, "duration_ms": 1000, "is_prompt": false}`,
			`{"event": "evaluate", "ts": "2026-11-21T10:34:06+00:00", "type": "exit_code", "verdict": "` + c.verdict +
				`"}`,
		} {
			if c.verdict == "" && strings.Contains(line, "evaluate") {
				continue
			}
			e, err := fsm.ParseEvent([]byte(line))
			if err != nil {
				t.Fatal(err)
			}
			r.Add(e)
		}
		if got := strings.Contains(write(t, report.Page{}, &r), `<tr class="bad">`); got != c.red {
			t.Errorf("exit code 1, verdict %q: red is %v, want %v", c.verdict, got, c.red)
		}
	}
}
