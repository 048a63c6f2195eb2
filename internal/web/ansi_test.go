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
