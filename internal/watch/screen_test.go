package watch

import "testing"

func TestPrintable(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain":              "plain",
		"a\tb\nc\rd":         "a b c d",
		"\x1b[31mred\x1b[0m": "[31mred[0m", // the program takes sequences out before
		"\x00\x07\x7f\u009b": "",
		"\u202egnp.exe":      "gnp.exe",
		"👩‍👩‍👧":              "👩👩👧",
		"❤\ufe0f 👍🏽":         "❤ 👍",
		"🇩🇪":                 "DE",
		"e\u0301":            "e\u0301",
		"bad\xff":            "bad\uFFFD",
	} {
		if got := printable(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestClip(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		limit int
		want  string
	}{
		{"short", 5, "short"},
		{"longer", 5, "long…"},
		{"漢字漢字", 8, "漢字漢字"},
		{"漢字漢字", 7, "漢字漢…"},
		{"漢字漢字", 6, "漢字…"},
		{"漢", 1, "…"},
		{"x", 0, ""},
		{"e\u0301x", 2, "e\u0301x"},
	} {
		if got := clip(c.text, c.limit); got != c.want || columns(got) > c.limit {
			t.Errorf("%q in %d: %q, want %q", c.text, c.limit, got, c.want)
		}
	}
}

func TestSqueeze(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		limit int
		want  string
	}{
		{"fix-20261121T103405", 19, "fix-20261121T103405"},
		{"fix-20261121T103405", 15, "fix-202…T103405"},
		{"fix-20261121T103405", 8, "fix-202…"},
		{"漢字のとても長い名前-20261121T103405", 16, "漢字のと…T103405"},
		{"漢字のとても長い名前漢字のとても長い名前", 17, "漢字のとて…い名前"},
	} {
		if got := squeeze(c.text, c.limit); got != c.want || columns(got) > c.limit {
			t.Errorf("%q in %d: %q, want %q", c.text, c.limit, got, c.want)
		}
	}
}
