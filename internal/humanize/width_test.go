package humanize

import (
	"testing"
)

func TestCut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in    string
		limit int
		want  string
	}{
		{"hello", 5, "hello"},
		{"hello!", 5, "hell…"},
		{"hello", 0, ""},
		{"hello", 1, "…"},
		{"日本語", 6, "日本語"},
		{"日本語", 5, "日本…"},
		{"日本語", 4, "日…"},
		{"a日b", 2, "a…"},
		{"e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301e\u0301"},
		{"e\u0301e\u0301e\u0301", 2, "e\u0301…"},
		{"🙂🙂", 3, "🙂…"},
		{"", 3, ""},
	} {
		if got := Cut(c.in, c.limit); got != c.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", c.in, c.limit, got, c.want)
		}
		if w := Width(Cut(c.in, c.limit)); w > c.limit {
			t.Errorf("Cut(%q, %d) is %d columns wide", c.in, c.limit, w)
		}
	}
}

func TestLineForPeople(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain":                     "plain",
		"\x1b[31mred\x1b[0m":        `\x1b[31mred\x1b[0m`,
		"a\tb":                      "a    b",
		"bell\a back\b":             `bell\a back\b`,
		"keeps é and 日本":            "keeps é and 日本",
		"yes\nLoop completed: done": `yes\nLoop completed: done`,
	} {
		if got := PlainLine(in); got != want {
			t.Errorf("Line(%q) = %q, want %q", in, got, want)
		}
	}
}
