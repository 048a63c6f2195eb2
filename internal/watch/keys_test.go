package watch

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// TestKeys presses keys on a screen of 80 columns and wants a command, the selected run, and a part of the screen.
func TestKeys(t *testing.T) {
	t.Parallel()
	down := []Key{Down, Down, Down}
	for _, c := range []struct {
		name string
		keys []Key
		want Command
		run  string // a part of its id
		see  string
	}{
		{"nothing", nil, Command{}, "fix", ""},
		{"down", down, Command{}, "nightly", "▸✓ nightly"},
		{"down and up", []Key{"j", "j", "k"}, Command{}, "review", ""},
		{"no further than the end", []Key{"G", Down, "]"}, Command{}, "broken", ""},
		{"no further than the beginning", []Key{Up, "[", PageUp}, Command{}, "fix", ""},
		{"runs from another pane", []Key{"4", "]"}, Command{}, "review", "▸ Log review"},
		{"panes go round", []Key{Tab, Tab, Tab, Tab, BackTab}, Command{}, "fix", "▸ Log"},
		{"quit", []Key{"q"}, Command{Verb: Quit}, "fix", ""},
		{"Ctrl-C in a question", []Key{"s", CtrlC}, Command{Verb: Quit}, "fix", ""},
		{"Ctrl-C in a search", []Key{"/", CtrlC}, Command{Verb: Quit}, "fix", ""},
		{"redraw", []Key{CtrlL}, Command{Verb: Redraw}, "fix", ""},
		{"suspend", []Key{"?", CtrlZ}, Command{Verb: Suspend}, "fix", ""},
		{"pause", []Key{"p"}, Command{Verb: Pause, Run: "fix-20261121T103405"}, "fix", ""},
		{"unpause", []Key{"u"}, Command{Verb: Unpause, Run: "fix-20261121T103405"}, "fix", ""},
		{"retry", []Key{"]", "r"}, Command{Verb: Retry, Run: "review-20261121T103200"}, "review", ""},
		{"stop asks", []Key{"s"}, Command{}, "fix", "Stop fix-20261121T103405? y/n"},
		{"stop", []Key{"s", "y"}, Command{Verb: Stop, Run: "fix-20261121T103405"}, "fix", ""},
		{"stop, no", []Key{"s", Enter}, Command{}, "fix", "Nothing was stopped."},
		{"stop, no, then y is no answer", []Key{"s", "n", "y"}, Command{}, "fix", ""},
		{"stop what has ended", append(down, "s", "y"), Command{}, "nightly", ""},
		{
			"stop what has ended says so", append(down, "s"),
			Command{},
			"nightly",
			"✗ Cannot stop run nightly-20261121T095959: it is completed.",
		},
		{
			"unpause what has ended",
			[]Key{"G", "u"},
			Command{Verb: Unpause, Run: "broken-20261121T093000"},
			"broken",
			"",
		},
		{"search runs", []Key{"/", "D", "o", "c", Enter}, Command{}, "docs", ""},
		{"search goes round", []Key{"G", "/", "f", "i", "x", Enter}, Command{}, "fix", ""},
		{"search again", []Key{"/", "T", "0", "9", Enter, "n", "n"}, Command{}, "lint", ""},
		{"search back", []Key{"/", "T", "0", "9", Enter, "n", "N"}, Command{}, "nightly", ""},
		{"search for nothing there", []Key{"/", "é", "x", Enter}, Command{}, "fix", "✗ No runs with éx."},
		{"search for nothing", []Key{"n"}, Command{}, "fix", "/ begins a search"},
		{"search is fixed", []Key{"/", "x", Backspace, "d", CtrlU, "l", "i", "n", Enter}, Command{}, "lint", ""},
		{"search is left", []Key{"/", "x", Escape}, Command{}, "fix", "? help"},
		{"a search has no commands", []Key{"/", "q"}, Command{}, "fix", "/q"},
		{"filter", []Key{"f", "D", "o", "c"}, Command{}, "docs", "filter: Doc"},
		{
			"filter keeps words anywhere",
			[]Key{"f", "f", "a", "i", "l", " ", "d", "o", Enter},
			Command{},
			"docs",
			"filter fail do: 1 of 7",
		},
		{"filter is cleared", []Key{"f", "d", "o", "c", Enter, Escape}, Command{}, "docs", "▶ fix-"},
		{"filter of nothing", []Key{"f", "q", "q", Enter}, Command{}, "fix", "No run matches qq."},
		{"filter is left", []Key{"f", "d", "o", "c", Escape}, Command{}, "docs", "▶ fix-"},
		{"by name", []Key{"o"}, Command{}, "fix", "sorted by name"},
		{"by name, first", []Key{"o", "g"}, Command{}, "broken", "Run ▾"},
		{"by elapsed time", []Key{"o", "o", "g", Down}, Command{}, "review", "Elapsed ▾"},
		{"by cost", []Key{"o", "o", "o", "g"}, Command{}, "nightly", "Cost ▾"},
		{"by time again", []Key{"o", "o", "o", "o", "g"}, Command{}, "fix", ""},
		{"resume what runs", []Key{"R"}, Command{}, "fix", "✗ Cannot resume run fix-20261121T103405: it is running."},
		{"resume what is completed", append(down, "R", "y"), Command{}, "nightly", ""},
		{
			"resume asks",
			[]Key{"G", Up, "R"},
			Command{},
			"lint",
			"Resume lint-20261121T094000? y/n   It runs in the background.",
		},
		{"resume", []Key{"G", Up, "R", "y"}, Command{Verb: Resume, Run: "lint-20261121T094000"}, "lint", ""},
		{"resume, no", []Key{"G", Up, "R", "n"}, Command{}, "lint", "Nothing was resumed."},
		{"start", []Key{"S", " ", "x", " ", "y", Enter}, Command{Verb: Start, Text: "fix x y"}, "fix", ""},
		{"start another", []Key{"S", CtrlU, "g", "o"}, Command{}, "fix", "run: go"},
		{"start nothing", []Key{"S", CtrlU, Enter}, Command{}, "fix", "? help"},
		{"start is left", []Key{"S", Escape, "s"}, Command{}, "fix", "Stop fix-"},
		{
			"answer what asks nothing",
			[]Key{"a"},
			Command{},
			"fix",
			"✗ Cannot answer run fix-20261121T103405: it asks no question.",
		},
		{
			"answer asks for words",
			[]Key{Down, Down, "a"},
			Command{},
			"deploy",
			"answer:    1 approve, 2 reject   Enter chooses",
		},
		{"answer shows what is approved", []Key{Down, Down, "a"}, Command{}, "deploy", "| and the second"},
		{
			"answer takes no part of a name",
			[]Key{Down, Down, "a", "a", "p", "p", Enter},
			Command{},
			"deploy",
			"is no choice",
		},
		{
			"answer asks for fields",
			[]Key{Down, Down, "a", "1", Enter},
			Command{},
			"deploy",
			"reason:    text, may be empty",
		},
		{"answer is left", []Key{Down, Down, "a", "1", Enter, Escape}, Command{}, "deploy", ""},
		{
			"answer",
			[]Key{Down, Down, "a", "2", Enter, "o", "k", Enter},
			Command{
				Verb: Answer, Run: "deploy-20261121T101500", Text: "reject", Question: "/2:1",
				Fields: map[string]string{"reason": "ok"},
			},
			"deploy", "",
		},
		{"explain", []Key{"e"}, Command{Verb: Explain, Run: "fix-20261121T103405"}, "fix", ""},
		{"log in a pager", append(down, "L"), Command{Verb: Log, Run: "nightly-20261121T095959"}, "nightly", ""},
		{"loop in an editor", []Key{"E"}, Command{Verb: Edit, Run: "fix-20261121T103405", Text: "fix"}, "fix", ""},
		{"help", []Key{"h"}, Command{}, "fix", "What the keys do"},
		{"a key leaves help, and does nothing", []Key{"?", "q"}, Command{}, "fix", "? help"},
		{"open", []Key{Enter}, Command{}, "fix", "▸ Step"},
		{"open and back", []Key{Enter, Escape}, Command{}, "fix", "▶ fix-"},
		{"open, and Tab goes round without the list", []Key{Enter, Tab, Tab}, Command{}, "fix", "▸ Graph"},
		{"zoom", []Key{"3", Enter}, Command{}, "fix", "▸ Step State ────────────────────── Verdict ───"},
		{"zoom and back", []Key{"3", Enter, Escape}, Command{}, "fix", "─ Graph"},
		{"the graph is moved", []Key{"2", Down, Down}, Command{}, "fix", "(held)"},
		{"the graph follows again", []Key{"2", Down, Down, "c"}, Command{}, "fix", "● ▶ check"},
		{"the log is held", []Key{"4", Up}, Command{}, "fix", "==> step 4"},
		{"the log follows at its end", []Key{"4", Up, Down}, Command{}, "fix", "▸ Log fix-20261121T103405 ──"},
	} {
		m := New(false, "")
		m.Show(viewOf(statuses, fixDetail("check")))
		m.Draw(80, 24)
		var got Command
		for _, k := range c.keys {
			got = m.Press(k)
			if d := m.view.Detail; d.ID != m.selected { // the program would hand over that of the run
				other := *d
				other.ID = m.selected
				m.view.Detail = &other
			}
			m.Draw(80, 24)
		}
		shown := strings.Join(m.Draw(80, 24).Lines(), "\n")
		if !reflect.DeepEqual(got, c.want) || !strings.HasPrefix(m.Selected(), c.run) ||
			!strings.Contains(shown, c.see) {
			t.Errorf("%s: %+v on %s, want %+v on %s, and %q on\n%s", c.name, got, m.Selected(), c.want, c.run, c.see,
				shown)
		}
	}
}

// TestNoRuns wants keys about a run to say that there is none.
func TestNoRuns(t *testing.T) {
	t.Parallel()
	for _, k := range []Key{"s", "p", "u", "r", "R", "a", "e", "L", "E"} {
		m := New(false, "")
		m.Show(View{Now: at("12:00:00")})
		if c := m.Press(k); c.Verb != None ||
			!strings.Contains(strings.Join(m.Draw(80, 24).Lines(), "\n"), "There is no run to") {
			t.Errorf("%s: %+v", k, c)
		}
	}
}

// TestRead wants a text on the whole screen, as often as it is moved, and the runs again after another key.
func TestRead(t *testing.T) {
	t.Parallel()
	m := New(false, "")
	m.Show(viewOf(statuses, fixDetail("check")))
	m.Read("docs-20261121T095000", "It failed.\n  Because a test that is told of in more words than there is room "+
		"for in one row of this screen did.\n"+strings.Repeat("more\n", 40)+"end\n")
	see := func(text string) {
		t.Helper()
		if s := strings.Join(m.Draw(40, 10).Lines(), "\n"); !strings.Contains(s, text) {
			t.Errorf("no %q in\n%s", text, s)
		}
	}
	see("docs-20261121T095000\n\nIt failed.\n  Because a test that is told of in more\n  words")
	for range 10 {
		m.Press(PageDown)
		m.Draw(40, 10)
	}
	see("more\nend\narrows move")
	m.Press("q")
	see("▸▶ fix")
}

// TestSelect wants the cursor on a run that comes later.
func TestSelect(t *testing.T) {
	t.Parallel()
	m := New(false, "")
	m.Show(View{Runs: []Run{{ID: "a"}}})
	m.Select("b")
	if m.Selected() != "a" {
		t.Errorf("on %s before it is there", m.Selected())
	}
	m.Show(View{Runs: []Run{{ID: "a"}, {ID: "b"}}})
	if m.Selected() != "b" {
		t.Errorf("on %s", m.Selected())
	}
}

// TestShow wants the selected run to stay where the list moves, and its neighbour where it goes away.
func TestShow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ first, then, want string }{
		{"", "a b c", "a"},
		{"b", "a b c", "b"},
		{"b", "x a b c", "b"},
		{"b", "a c", "c"},
		{"c", "a b", "b"},
		{"b", "", "b"}, // it may come back
	} {
		m := New(false, c.first)
		list := func(names string) (v View) {
			for name := range strings.FieldsSeq(names) {
				v.Runs = append(v.Runs, Run{ID: name})
			}
			return v
		}
		m.Show(list("a b c"))
		m.Show(list(c.then))
		if m.Selected() != c.want {
			t.Errorf("%s, then %s: %s, want %s", c.first, c.then, m.Selected(), c.want)
		}
	}
}

// TestFollow wants the end of the log while it grows, unless a person has moved up.
func TestFollow(t *testing.T) {
	t.Parallel()
	m := New(false, "")
	grow := func(n int) string {
		d := &Detail{ID: statuses[0].ID}
		for i := range n {
			d.Log = append(d.Log, Line{Text: fmt.Sprintf("line %d.", i)})
		}
		m.Show(viewOf(statuses[:1], d))
		return strings.Join(m.Draw(80, 24).Lines(), "\n")
	}
	grow(50)
	if s := grow(60); !strings.Contains(s, "line 59.") {
		t.Errorf("the last line is not seen:\n%s", s)
	}
	m.Press("4")
	m.Press(PageUp)
	lines := func(s string) string {
		_, rest, _ := strings.Cut(s, "▸ Log")
		_, rest, _ = strings.Cut(rest, "\n")
		return rest
	} // below its heading, which counts those that are cut off
	held := grow(60)
	if !strings.Contains(held, " ↑") || !strings.Contains(held, " ↓") {
		t.Errorf("nothing says that lines are above and below:\n%s", held)
	}
	if s := grow(100); lines(s) != lines(held) || strings.Contains(s, "line 99.") {
		t.Errorf("held, it moved:\n%s", s)
	}
	m.Press("G")
	if s := grow(120); !strings.Contains(s, "line 119.") {
		t.Errorf("the last line is not seen again:\n%s", s)
	}
}
