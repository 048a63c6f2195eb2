package watch

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"loops/fsm"
	"loops/internal/diagram"
	"loops/internal/testenv"
)

func at(clock string) time.Time {
	t, err := time.Parse("15:04:05", clock)
	if err != nil {
		panic(err)
	}
	return t
}

// asked is a question with a field.
var asked = &fsm.OpenQuestion{Address: "/2:1", Wait: &fsm.Wait{State: "ship"}, Ask: fsm.Ask{
	Question: "Ship 1.4.2\nto production?", Show: "the first line\nand the second",
	Choices: []string{"approve", "reject"}, Fields: []fsm.AskField{{Name: "reason", Type: "text"}},
	Who: []string{"release-team"},
}}

// fixLoop is a loop of four states; measured as a run that is in check would be.
func fixLoop(current, failed string) *diagram.Graph {
	g := diagram.Of(&fsm.Loop{
		Name: "fix", Initial: "check", Order: []string{"check", "fix", "done", "failed"},
		States: map[string]*fsm.State{
			"check": {
				Name: "check", Action: "go test ./...",
				On: map[string]string{"yes": "done", "no": "fix", "error": "failed"},
			},
			"fix":    {Name: "fix", Action: "mend what fails", ActionType: "prompt", Next: "check"},
			"done":   {Name: "done", Terminal: true},
			"failed": {Name: "failed", Terminal: true, Failure: true},
		},
	})
	g.Measure(diagram.Measure{
		By: "visits", Order: []string{"check", "fix"}, Current: current, Failed: failed,
		States: map[string]diagram.Amount{
			"check": {Value: 3, Text: "3 visits"}, "fix": {Value: 2, Text: "2 visits"},
		}, Taken: []diagram.Step{{From: "check", To: "fix", Times: 2}, {From: "fix", To: "check", Times: 2}},
	})
	return g
}

// longLoop is a loop that no screen has room for.
func longLoop() *diagram.Graph {
	l := &fsm.Loop{Name: "long", Initial: "s01", States: map[string]*fsm.State{}}
	for i := 1; i <= 40; i++ {
		s := &fsm.State{Name: fmt.Sprintf("s%02d", i), Action: "make part", Next: fmt.Sprintf("s%02d", i+1)}
		if i%7 == 0 {
			s.On, s.Next = map[string]string{
				"yes": fmt.Sprintf("s%02d", i+1), "no": "s01",
				"error": fmt.Sprintf("s%02d", i-3),
			}, ""
		}
		l.Order, l.States[s.Name] = append(l.Order, s.Name), s
	}
	l.Order, l.States["s41"] = append(l.Order, "s41"), &fsm.State{Name: "s41", Terminal: true}
	g := diagram.Of(l)
	g.Measure(diagram.Measure{
		By: "visits", Order: []string{"s20", "s21"}, Current: "s21",
		Taken: []diagram.Step{{From: "s20", To: "s21", Times: 12}},
	})
	return g
}

var statuses = []Run{
	{
		ID: "fix-20261121T103405", Loop: "fix", Health: Running, Status: "running", Live: true, State: "check",
		Step: "5/50", Elapsed: "1h02m03s", Cost: "$0.4210", Lasted: 3723 * time.Second, Dollars: 0.421,
	},
	{
		ID: "review-20261121T103200", Loop: "review", Health: Waiting, Status: "waiting", Live: true, State: "ask",
		Step: "12/200", Elapsed: "45m10s", Cost: ">$1.2000", Note: "the rate limit of claude (state ask), 4m05s left",
		Lasted: 2710 * time.Second, Dollars: 1.2,
	},
	{
		ID: "deploy-20261121T101500", Loop: "deploy", Health: Paused, Status: "paused", Live: true, State: "ship",
		Step: "2/50", Elapsed: "3.1s", Note: "before state ship", Lasted: 3 * time.Second,
		Questions: []*fsm.OpenQuestion{asked},
	},
	{
		ID: "nightly-20261121T095959", Loop: "nightly", Health: Completed, Status: "completed", State: "done",
		Step: "9/50", Elapsed: "12m00s", Cost: "$3.0000", Note: "ended 2m ago", Lasted: 720 * time.Second, Dollars: 3,
	},
	{
		ID: "docs-20261121T095000", Loop: "docs", Health: Failed, Status: "failed", State: "failed", Step: "4/50",
		Elapsed: "40s", Note: "failure terminal",
	},
	{
		ID: "lint-20261121T094000", Loop: "lint", Health: Stopped, Status: "interrupted",
		State: "deploy > build > work",
		Step:  "1/50", Elapsed: "2s", Note: "interrupted by SIGTERM in state work, after 2 s; go test ./... was " +
			"running and had printed 14 lines, the last of which are in its log", Resumable: true,
	},
	{
		ID: "broken-20261121T093000", Loop: "broken", Health: Unreadable, Status: "unreadable", Step: "0",
		Note: "state.json: the checksum does not hold",
	},
}

func fixDetail(current string) *Detail {
	return &Detail{
		ID: "fix-20261121T103405", Graph: fixLoop(current, ""), Previous: "fix", Current: current,
		Steps: []Step{
			{Number: "1", State: "check", Verdict: "error", To: "fix", Took: "12s", Bad: true},
			{Number: "2", State: "fix", To: "check", Took: "3m10s", Cost: "$0.2000"},
			{Number: "3", State: "check", Verdict: "no", To: "fix", Took: "11s"},
			{Number: "4", State: "fix", To: "check", Took: "2m02s", Cost: "$0.2210"},
			{Number: "5", State: "check", Took: "5s"},
		},
		Log: []Line{
			{Text: "==> step 4, fix: mend what fails", Head: true},
			{Text: "I changed parse.go and its test."},
			{Text: "==> step 5, check: go test ./...", Head: true},
			{Text: "ok  \tloops/fsm\t0.2s"},
			{Text: "--- FAIL: TestParse (0.00s)", Bad: true},
			{Text: "    parse_test.go:12: got 1, want 2"},
		},
	}
}

func viewOf(runs []Run, d *Detail) View {
	return View{Now: at("12:30:05"), Project: "shop", Runs: runs, Detail: d}
}

// screens are what people see, each drawn at several sizes.
var screens = []struct {
	name  string
	view  View
	keys  []Key
	then  func(*Model)
	sizes [][2]int
	ascii bool
}{
	{name: "statuses", view: viewOf(statuses, fixDetail("check"))},
	{name: "ascii", view: viewOf(statuses, fixDetail("check")), ascii: true},
	{name: "none", view: viewOf(nil, nil)},
	{name: "first", view: View{}},
	{name: "help", view: viewOf(statuses, fixDetail("check")), keys: []Key{"?"}},
	{name: "search", view: viewOf(statuses, fixDetail("check")), keys: []Key{"4", "/", "F", "A", "I", "L"}},
	{name: "found", view: viewOf(statuses, fixDetail("check")), keys: []Key{"4", "/", "f", "a", "i", "l", Enter}},
	{name: "filtered", view: viewOf(statuses, fixDetail("check")), keys: []Key{"f", "l", "i", "n", "t", Enter}},
	{name: "resume", view: viewOf(statuses, fixDetail("check")), keys: []Key{"f", "l", "i", "n", "t", Enter, "R"}},
	{name: "answer", view: viewOf(statuses, fixDetail("check")), keys: []Key{Down, Down, "a", "1", Enter, "o", "k"}},
	{name: "explained", view: viewOf(statuses, fixDetail("check")), then: func(m *Model) {
		m.Read("fix-20261121T103405", "Run fix-20261121T103405 is running.\nIt is in state check, which has taken 5 "+
			"s so far.\n\nStep 5, check\n  Its action go test ./... has printed 3 lines, the last one --- FAIL: "+
			"TestParse (0.00s), and is running.\n")
	}},
	{name: "confirm", view: viewOf(statuses, fixDetail("check")), keys: []Key{"s"}},
	{name: "done", view: viewOf(statuses, fixDetail("check")), then: func(m *Model) {
		m.Say("Paused fix-20261121T103405 (pid 4711) before state check.", false)
	}},
	{name: "error", view: func() View {
		v := viewOf(statuses, fixDetail("check"))
		v.Problem = "the runs cannot be read now: .loops: input/output error; trying again"
		return v
	}()},
	{name: "big", view: viewOf(
		[]Run{{
			ID: "long-20261121T103405", Loop: "long", Status: "running", Live: true, State: "s21", Step: "77/500",
			Elapsed: "9m",
		}}, &Detail{
			ID: "long-20261121T103405", Graph: longLoop(), Previous: "s20", Current: "s21",
			Steps: []Step{
				{Number: "76", State: "s20", To: "s21", Took: "1s"},
				{Number: "77", State: "s21", Took: "0s"},
			},
		})},
	{name: "opened", view: viewOf(statuses, fixDetail("check")), keys: []Key{Enter}},
	{
		name: "parked",
		view: viewOf([]Run{
			statuses[0],
			{
				ID: "review-20261121T103200", Loop: "review", Health: Waiting, Status: "parked", Parked: true,
				State: "ask", Step: "12/200", Elapsed: "45m10s", Note: "parked 2m ago: waits for an answer",
				Resumable: true,
			},
			statuses[3],
		}, fixDetail("check")),
	},
	{name: "zoomed", view: viewOf(statuses, fixDetail("check")), keys: []Key{"2", Enter}},
	{
		name: "waiting",
		view: viewOf(statuses,
			&Detail{ID: "review-20261121T103200", Note: "the loop is drawn from .loops/review.yaml as it is now"}),
		keys: []Key{Down},
	},
	{name: "ended", view: viewOf([]Run{statuses[4]},
		&Detail{
			ID: "docs-20261121T095000", Graph: fixLoop("", "failed"), Steps: fixDetail("").Steps,
			Log: fixDetail("").Log,
		})},
	{name: "names", view: viewOf([]Run{
		{
			ID: "漢字のとても長い名前漢字のとても長い名前-20261121T103405", Loop: "漢字", Status: "running", Live: true, State: "確認する状態です",
			Step: "5/50", Elapsed: "1s",
		},
		{
			ID: "a-very-long-name-of-a-loop-that-nobody-would-want-to-read-in-full-20261121T103405", Status: "running",
			Live: true, State: "a-very-long-name-of-a-state-too", Step: "1000000/1000000", Elapsed: "1000h02m03s",
			Cost: "$1000.00", Note: "x",
		},
		{
			ID: "🤖🦊-20261121T103405", Status: "running", Live: true, State: "👩‍👩‍👧 family ❤️ 👍🏽", Step: "1",
			Elapsed: "1s",
		},
		{
			ID: "evil\x1b[2J\x1b]0;title\x07\u202e-20261121T103405", Status: "run\rning", Live: true,
			State: "new\nline\ttab", Step: "1", Elapsed: "1s",
		},
	}, &Detail{
		ID: "漢字のとても長い名前漢字のとても長い名前-20261121T103405", Current: "漢",
		Log: []Line{
			{Text: "漢字のとても長い名前漢字のとても長い名前漢字のとても長い名前漢字のとても長い名前漢字のとても長い名前"},
			{Text: "\x1b[31mred\x1b[0m \x9b31m e\u0301 ok\x00"},
		},
		Steps: []Step{{Number: "1.2.3", State: "漢字のとても長い名前漢字のとても長い名前", Verdict: "🦊", To: "漢", Took: "1s"}},
	})},
	{name: "nested", view: viewOf([]Run{
		{
			ID: "release-20261121T103405", Loop: "release", Health: Running, Status: "running", Live: true,
			State: "tests", Step: "2/50", Elapsed: "3m10s",
		},
		{
			ID: "fix-20261121T103500", Depth: 1, Loop: "fix", Health: Running, Status: "running", Live: true,
			State: "check", Step: "5/50", Elapsed: "2m15s",
		},
		{
			ID: "lint-20261121T103601", Depth: 2, Loop: "lint", Health: Completed, Status: "completed", State: "done",
			Step: "3/50", Elapsed: "1s",
		},
		statuses[1],
	}, nil), sizes: [][2]int{{40, 20}, {80, 24}}},
	{
		name: "nested-ascii",
		view: viewOf([]Run{statuses[0], {
			ID: "lint-20261121T103601", Depth: 1, Loop: "lint", Status: "running",
			Live: true, State: "a",
		}}, nil), ascii: true, sizes: [][2]int{{80, 24}},
	},
	{
		name: "tiny", view: viewOf(statuses, fixDetail("check")),
		sizes: [][2]int{{20, 5}, {20, 3}, {10, 2}, {5, 1}, {1, 1}},
	},
}

func TestScreens(t *testing.T) {
	t.Parallel()
	for _, c := range screens {
		sizes := c.sizes
		if sizes == nil {
			sizes = [][2]int{{40, 20}, {80, 24}, {200, 50}}
		}
		for _, size := range sizes {
			name := fmt.Sprintf("%s.%dx%d", c.name, size[0], size[1])
			m := New(c.ascii, "")
			m.Show(c.view)
			m.Draw(size[0], size[1])
			for _, k := range c.keys {
				m.Press(k)
			}
			if c.then != nil {
				c.then(m)
			}
			s := m.Draw(size[0], size[1])
			check(t, name, s)
			testenv.Golden(t, filepath.Join("testdata", name+".txt"), strings.Join(s.Lines(), "\n")+"\n")
		}
	}
}

// check holds what is true of every screen: each row takes as many columns as the terminal has, and no character moves
// the cursor.
func check(t *testing.T, name string, s *Screen) {
	t.Helper()
	if len(s.Cells) != s.Width*s.Height {
		t.Fatalf("%s: %d cells in %d times %d", name, len(s.Cells), s.Width, s.Height)
	}
	for y := range s.Height {
		used := 0
		for x := range s.Width {
			text := s.At(x, y).Text
			for _, r := range text {
				if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
					t.Errorf("%s: %q in row %d", name, text, y)
				}
				if s.ascii && r >= utf8.RuneSelf {
					t.Errorf("%s: %q is not ASCII", name, text)
				}
			}
			used += columns(text)
		}
		if used != s.Width {
			t.Errorf("%s: row %d takes %d columns of %d: %q", name, y, used, s.Width, s.Lines()[y])
		}
	}
}

// TestLit wants the current state reversed in the drawing, so that it is seen without colours.
func TestLit(t *testing.T) {
	t.Parallel()
	m := New(false, "")
	m.Show(viewOf(statuses, fixDetail("check")))
	s := m.Draw(200, 50)
	for y := range s.Height {
		for x := range s.Width {
			if s.At(x, y).Text == "●" && s.At(x+2, y).Text == "▶" && s.At(x, y).Style.Reverse {
				return
			}
		}
	}
	t.Errorf("no reversed ● ▶ check in\n%s", strings.Join(s.Lines(), "\n"))
}

func TestSizes(t *testing.T) {
	t.Parallel()
	step := 3
	if testenv.Raced { // a screen has one goroutine
		step = 40
	}
	for _, c := range screens {
		for w := 1; w < 210; w += step {
			for _, h := range []int{1, 2, 3, 4, 5, 8, 11, 12, 24, 60} {
				m := New(c.ascii, "")
				m.Show(c.view)
				m.Draw(w, h)
				for _, k := range append(c.keys, Down, PageDown, Right) {
					m.Press(k)
				}
				check(t, fmt.Sprintf("%s at %dx%d", c.name, w, h), m.Draw(w, h))
			}
		}
	}
}

// Lines returns the rows as text, without blanks at their ends.
func (s *Screen) Lines() []string {
	out := make([]string, s.Height)
	for y := range out {
		var b strings.Builder
		for x := range s.Width {
			b.WriteString(s.At(x, y).Text)
		}
		out[y] = strings.TrimRight(b.String(), " ")
	}
	return out
}
