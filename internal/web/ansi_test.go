package web

import "testing"

// TestColoured shows what actions print: colours become classes, and all else stays text.
func TestColoured(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain":                                "plain",
		"\x1b[31mred\x1b[0m after":             `<span class="f1">red</span> after`,
		"\x1b[1;32mbold\x1b[22m not\x1b[m off": `<span class="ab f2">bold</span><span class="f2"> not</span> off`,
		"\x1b[31mtwo\nlines":                   "<span class=\"f1\">two</span>\n<span class=\"f1\">lines</span>",
		"\x1b[38;5;196mx\x1b[39my":             `<span class="f1">x</span>y`,
		"\x1b[38;2;10;220;10mx":                `<span class="f2">x</span>`,
		"\x1b[48;5;4mx\x1b[49m":                `<span class="g4">x</span>`,
		"\x1b[97mx":                            `<span class="f7">x</span>`,
		"<script>\x1b[31m<b>\x1b[0m":           `&lt;script&gt;<span class="f1">&lt;b&gt;</span>`,
		"\x1b[2J\x1b[31":                       `\x1b[2J\x1b[31`,
		"\x1b]8;;javascript:alert(1)\x07x":     `\x1b]8;;javascript:alert(1)\ax`,
		"\u202ex":                              `\u202ex`,
		"a\r":                                  "a",
		"\x1b[38;5mx":                          "x",
		"\x1b[38mx":                            "x",
	} {
		if got := string(coloured(text)); got != want {
			t.Errorf("%q became\n%s\nwant\n%s", text, got, want)
		}
	}
}

// TestLanes lays steps out in time: those that are too close to tell apart are one bar, which shows the worst of them.
func TestLanes(t *testing.T) {
	t.Parallel()
	steps := []step{{number: "1", path: "test", verdict: "no", over: true, begin: 0, end: 500}, {number: "2", path: "fix", over: true, begin: 500, end: 1000}}
	all, marks := lanes(steps, 0, "/r")
	if len(all) != 2 || all[0].State != "test" || all[0].Bars[0] != (bar{X: 0, Width: 500, Class: "no", Address: "/r?step=1&tab=steps", Title: "1 test no, 0ms", steps: 1}) || all[1].Bars[0].X != 500 || len(marks) != 5 {
		t.Errorf("two steps are %+v with %q", all, marks)
	}
	steps = nil
	for i := range int64(100_000) {
		s := step{number: "1", path: "test", verdict: "yes", over: true, begin: i * 10, end: i*10 + 5}
		if i == 50_000 {
			s.verdict = "error"
		}
		steps = append(steps, s)
	}
	all, _ = lanes(steps, 0, "/r")
	bad := 0
	for _, b := range all[0].Bars {
		if b.Class == "bad" {
			bad++
		}
	}
	if n := len(all[0].Bars); n > 400 || bad != 1 {
		t.Errorf("100,000 steps are %d bars, %d of which are bad", n, bad)
	}
	if all, marks := lanes(nil, 0, "/r"); all != nil || marks != nil {
		t.Errorf("no steps are %v and %v", all, marks)
	}
}
