package diagram_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/width"

	"loops/fsm"
	"loops/fsm/loopfile"
	"loops/internal/diagram"
	"loops/internal/testenv"
)

// formats are all drawings of a graph, by the ending of the file with the expected one.
var formats = map[string]func(*diagram.Graph) string{
	"40.txt":     func(g *diagram.Graph) string { return g.Text(40, false) },
	"80.txt":     func(g *diagram.Graph) string { return g.Text(80, false) },
	"200.txt":    func(g *diagram.Graph) string { return g.Text(200, false) },
	"colour.txt": func(g *diagram.Graph) string { return g.Text(80, true) },
	"mmd":        (*diagram.Graph).Mermaid,
	"dot":        (*diagram.Graph).DOT,
	"svg":        (*diagram.Graph).SVG,
	"html":       (*diagram.Graph).HTML,
}

// measured is what a run of testdata/fix.yaml did.
var measured = diagram.Measure{
	By:    "time",
	Order: []string{"check", "mend", "vanished"},
	States: map[string]diagram.Amount{
		"check": {Value: 12, Text: "12s"}, "mend": {Value: 90, Text: "1m30s"},
		"vanished": {Value: 0.1, Text: "0.1s"},
	},
	Taken: []diagram.Step{
		{From: "check", To: "mend", Times: 3},
		{From: "mend", To: "check", Times: 2},
		{From: "mend", To: "vanished", Times: 1},
	},
	Failed: "vanished",
}

// TestGolden draws every loop of testdata in every format.
func TestGolden(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no loops in testdata", err)
	}
	for _, file := range files {
		g := load(t, file)
		name := strings.TrimSuffix(file, ".yaml")
		for ending, draw := range formats {
			testenv.Golden(t, name+"."+ending, draw(g))
		}
	}
	g := load(t, "testdata/fix.yaml")
	g.Measure(measured)
	for ending, draw := range formats {
		testenv.Golden(t, "testdata/fix.run."+ending, draw(g))
	}
	// A run of a loop that does not exist any more.
	g = &diagram.Graph{Name: "gone"}
	g.Measure(measured)
	testenv.Golden(t, "testdata/gone.run.80.txt", g.Text(80, false))
}

func load(t *testing.T, file string) *diagram.Graph {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	l, problems := loopfile.Parse(file, text, nil)
	if l == nil {
		t.Fatal(problems)
	}
	return diagram.Of(l)
}

// hostile is a loop whose names and texts try to be more than text.
func hostile() *diagram.Graph {
	names := []string{
		`"; } digraph x {`, "<script>alert(1)</script>", "]]></style><script src=//x>", "a\"|b --> c[\"d",
		"zeile\numbruch\tund\x1b[31mrot", "漢字のとても長い名前漢字のとても長い名前漢字の",
		"🤖🦊", "e\u0301\u0302\u0303", "\u202egnp.exe", "bad\xff\xfeutf8", "end", `\N\G\l\`, "&lt;&amp;#quot;", "#35;",
		strings.Repeat("x", 3000), "", " ", "%%{init}%%", "{{.}}${x}", "--!><!--",
	}
	l := &fsm.Loop{
		Name: "<img src=x onerror=alert(1)>\"\\\n%%{}", Initial: names[0], States: map[string]*fsm.State{},
		Order: names,
	}
	for i, name := range names {
		l.States[name] = &fsm.State{
			Name: name, Action: names[(i+3)%len(names)], Next: names[(i+1)%len(names)],
			On: map[string]string{names[(i+5)%len(names)]: names[(i*7+2)%len(names)], "error": name},
		}
	}
	return diagram.Of(l)
}

func TestHostileText(t *testing.T) {
	t.Parallel()
	g := hostile()
	testenv.Golden(t, "testdata/hostile.mmd", g.Mermaid())
	testenv.Golden(t, "testdata/hostile.dot", g.DOT())
	testenv.Golden(t, "testdata/hostile.200.txt", g.Text(200, false))
	svg, page := g.SVG(), g.HTML()
	wellFormed(t, svg)
	for what, text := range map[string]string{"svg": svg, "html": page} {
		for _, bad := range []string{"<script", "<img", "--><", "\x1b"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s has %q in it", what, bad)
			}
		}
	}
	for line := range strings.Lines(g.DOT()) {
		if n := strings.Count(strings.ReplaceAll(strings.ReplaceAll(line, `\\`, ""), `\"`, ""), `"`); n%2 != 0 {
			t.Errorf("a line of DOT has %d quotes: %s", n, line)
		}
	}
	for line := range strings.Lines(g.Mermaid()) {
		if n := strings.Count(line, `"`); n != 0 && n != 2 && !strings.HasPrefix(line, "%%") {
			t.Errorf("a line of Mermaid has %d quotes: %s", n, line)
		}
	}
	for _, text := range []string{g.Text(40, false), g.Text(2000, false), g.DOT(), g.Mermaid(), svg} {
		for _, r := range text {
			if r == '\x1b' || r == '\u202e' || r == '\r' || r == '\t' {
				t.Fatalf("%q is in %.200q", r, text)
			}
		}
		if !utf8.ValidString(text) {
			t.Error("not UTF-8")
		}
	}
}

// TestTextFits: no line is wider than was asked for, whatever the loop.
func TestTextFits(t *testing.T) {
	t.Parallel()
	for _, g := range []*diagram.Graph{
		hostile(), load(t, "testdata/fix.yaml"), load(t, "testdata/triage.yaml"),
		chain(40),
	} {
		for _, most := range []int{20, 21, 40, 79, 80, 120, 200} {
			for line := range strings.Lines(g.Text(most, false)) {
				if n := columns(strings.TrimSuffix(line, "\n")); n > most {
					t.Errorf("%s at %d: a line has %d columns: %s", g.Name, most, n, line)
				}
			}
		}
	}
}

func columns(s string) int {
	n := 0
	for _, r := range s {
		switch k := width.LookupRune(r).Kind(); {
		case r >= 0x300 && r < 0x370:
		case k == width.EastAsianWide || k == width.EastAsianFullwidth:
			n += 2
		default:
			n++
		}
	}
	return n
}

// chain is a loop of n states in a row, each of which can fail, go back and leap.
func chain(n int) *diagram.Graph {
	l := &fsm.Loop{Name: "chain", Initial: "s0", States: map[string]*fsm.State{}}
	add := func(s *fsm.State) {
		l.States[s.Name] = s
		l.Order = append(l.Order, s.Name)
	}
	name := func(i int) string { return fmt.Sprintf("s%d", max(0, i)) }
	for i := range n {
		next := name(i + 1)
		if i == n-1 {
			next = "done"
		}
		add(&fsm.State{Name: name(i), Action: "true", Next: next, On: map[string]string{
			"error": "failed", "back": name(i - 1 - i*7%23), "leap": name(min(n-1, i+i*13%31)), "start": "s0",
			"again": name(i),
		}})
	}
	add(&fsm.State{Name: "done", Terminal: true})
	add(&fsm.State{Name: "failed", Terminal: true, Failure: true})
	return diagram.Of(l)
}

// TestManyStates: 500 states are drawn in every format, in bounded size.
func TestManyStates(t *testing.T) {
	t.Parallel()
	g := chain(500)
	for format, draw := range formats {
		text := draw(g)
		if len(text) > 3<<20 {
			t.Errorf("%s has %d bytes", format, len(text))
		}
		if format == "svg" {
			wellFormed(t, text)
		}
		for _, name := range []string{"s0", "s250", "s499", "done", "failed"} {
			if !strings.Contains(text, name) {
				t.Errorf("%s lacks state %s", format, name)
			}
		}
	}
}

// TestTextShowsEverything: what is drawn in boxes has every state once and an arrow into every state that has a way in.
func TestTextShowsEverything(t *testing.T) {
	t.Parallel()
	g := chain(12)
	text := g.Text(5000, false)
	if !strings.Contains(text, "╭") {
		t.Fatal("not drawn in boxes")
	}
	for _, n := range g.Nodes {
		if strings.Count(text, " "+n.Name+" ") != 1 {
			t.Errorf("state %s is there %d times:\n%s", n.Name, strings.Count(text, " "+n.Name+" "), text)
		}
	}
	for what, n := range map[string]int{"error": 12, "leap": 12, "↻": 12, "▼": 13, "├─▶": 0} {
		if got := strings.Count(text, what); got != n {
			t.Errorf("%q is there %d times, want %d:\n%s", what, got, n, text)
		}
	}
}

// TestNothing: a graph of no states at all is drawn too.
func TestNothing(t *testing.T) {
	t.Parallel()
	for format, draw := range formats {
		if draw(&diagram.Graph{Name: "empty"}) == "" {
			t.Errorf("%s: nothing", format)
		}
	}
}

func wellFormed(t *testing.T, text string) {
	t.Helper()
	for dec := xml.NewDecoder(bytes.NewReader([]byte(text))); ; {
		if _, err := dec.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("no XML: %v", err)
		}
	}
}

// TestUnreachable: a template may lead anywhere, so nothing is unreachable behind one.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	l := &fsm.Loop{Name: "x", Initial: "a", Order: []string{"a", "b", "c"}, States: map[string]*fsm.State{
		"a": {Name: "a", Next: "${context.to}"}, "b": {Name: "b", Terminal: true}, "c": {Name: "c", Next: "b"},
	}}
	for _, n := range diagram.Of(l).Nodes {
		if n.Unreachable {
			t.Errorf("%s is marked as unreachable", n.Name)
		}
	}
	l.States["a"].Next = "b"
	g := diagram.Of(l)
	if !g.Nodes[2].Unreachable || g.Nodes[0].Unreachable || g.Nodes[1].Unreachable {
		t.Errorf("got %+v", g.Nodes)
	}
}

// TestPicturesHaveNoBlocks: heat is a colour, in a picture and on a terminal, and no character.
func TestPicturesHaveNoBlocks(t *testing.T) {
	t.Parallel()
	g := load(t, "testdata/fix.yaml")
	g.Measure(measured)
	for _, picture := range []string{g.Picture(), g.Mermaid(), g.DOT()} {
		if strings.ContainsAny(picture, "▁▃▅▆█") || !strings.Contains(picture, "1m30s") {
			t.Errorf("the picture is %s", picture)
		}
	}
}

// TestTones: the states of a run have the colours of how they came out last, and one that is a failure is never
// a success.
func TestTones(t *testing.T) {
	t.Parallel()
	g := load(t, "testdata/fix.yaml")
	g.Measure(diagram.Measure{
		By: "outcome", Order: []string{"check", "mend"},
		States: map[string]diagram.Amount{
			"check": {Text: "error, exit 3", Tone: diagram.Fell},
			"mend":  {Text: "yes", Tone: diagram.Good},
		},
	})
	for _, text := range []string{
		`<g class="bad"><title>check`, `<g class="good"><title>mend`, "error, exit 3",
		".bad rect.box{fill:",
	} {
		if svg := g.SVG(); !strings.Contains(svg, text) {
			t.Errorf("the picture lacks %s:\n%s", text, svg)
		}
	}
	if page := g.HTML(); !strings.Contains(page, "success") || strings.Contains(page, "least") {
		t.Errorf("the legend of the page is that of heat")
	}
}
