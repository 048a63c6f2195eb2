package cli

import (
	"testing"
	"time"
)

func TestCut(t *testing.T) {
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
		if got := cut(c.in, c.limit); got != c.want {
			t.Errorf("cut(%q, %d) = %q, want %q", c.in, c.limit, got, c.want)
		}
		if w := widthOf(cut(c.in, c.limit)); w > c.limit {
			t.Errorf("cut(%q, %d) is %d columns wide", c.in, c.limit, w)
		}
	}
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                     "plain",
		"\x1b[31mred\x1b[0m":        `\x1b[31mred\x1b[0m`,
		"a\tb":                      "a    b",
		"bell\a back\b":             `bell\a back\b`,
		"keeps é and 日本":            "keeps é and 日本",
		"yes\nLoop completed: done": `yes\nLoop completed: done`,
	} {
		if got := clean(in); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second:            "0s",
		0:                       "0ms",
		11 * time.Millisecond:   "11ms",
		999 * time.Millisecond:  "999ms",
		time.Second:             "1.0s",
		3190 * time.Millisecond: "3.1s",
		9999 * time.Millisecond: "9.9s",
		45 * time.Second:        "45s",
		245 * time.Second:       "4m05s",
		3723 * time.Second:      "1h02m03s",
		100 * time.Hour:         "100h00m00s",
	} {
		if got := duration(d); got != want {
			t.Errorf("duration(%d) = %q, want %q", d, got, want)
		}
	}
}

func TestFirstLine(t *testing.T) {
	for in, want := range map[string]string{
		"":               "",
		"one":            "one",
		"\n  one  \n":    "one",
		"one\ntwo":       "one …",
		"one  \r\n two ": "one …",
	} {
		if got := firstLine(in); got != want {
			t.Errorf("firstLine(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestLastLines(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{
		{"a\nb\nc", 2, "b\nc"}, {"a\nb\nc", 3, "a\nb\nc"}, {"a\nb\nc", 9, "a\nb\nc"}, {"a", 1, "a"}, {"", 1, ""}, {"a\nb", 1, "b"},
	} {
		if got := lastLines(c.in, c.n); got != c.want {
			t.Errorf("lastLines(%q, %d) = %q, want %q", c.in, c.n, got, c.want)
		}
	}
}

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{
		"fix-20261121T103405": "fix-20261121T103405", "a b": "'a b'", "it's": `'it'\''s'`, "": "''", "a/b.yaml": "a/b.yaml", "$x": "'$x'",
		"a\nb": `$'a\x0ab'`, "it's \x1b": `$'it\'s \x1b'`, "\\\u202e": `$'\\\xe2\x80\xae'`, "\xff": `$'\xff'`,
	} {
		if got := quote(in); got != want {
			t.Errorf("quote(%q) = %s, want %s", in, got, want)
		}
	}
}
