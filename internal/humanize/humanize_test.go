package humanize

import (
	"slices"
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	operators := []string{"eq", "ne", "lt", "le", "gt", "ge"}
	tests := []struct {
		word  string
		words []string
		want  string
	}{
		{"gte", operators, "ge"},
		{"lte", operators, "le"},
		{"neq", operators, "ne"},
		{"equal", operators, ""},
		{">=", operators, "ge"},
		{"==", operators, "eq"},
		{">=", []string{"over"}, ""},
		{"GE", operators, "ge"},
		{"fxi", []string{"fix", "done"}, "fix"},
		{"fix", []string{"fix", "fox"}, "fox"},
		{"xy", []string{"ab"}, ""},
		{"a", []string{"b"}, ""},
		{"tests", []string{"test", "rests"}, "test"},
		{"", []string{"a"}, ""},
		{strings.Repeat("a", 65), []string{strings.Repeat("a", 64)}, ""},
		{"anything", nil, ""},
	}
	for _, tt := range tests {
		if got := Nearest(tt.word, tt.words); got != tt.want {
			t.Errorf("Nearest(%q, %q) = %q, want %q", tt.word, tt.words, got, tt.want)
		}
	}
}

func TestDistance(t *testing.T) {
	t.Parallel()
	tests := []struct {
		a, b  string
		limit int
		want  int
	}{
		{"", "", 5, 0},
		{"abc", "", 5, 3},
		{"abc", "acb", 5, 1},
		{"kitten", "sitting", 5, 3},
		{"kitten", "sitting", 2, 2},
		{"", "abcdef", 3, 3},
	}
	for _, tt := range tests {
		if got := Distance(tt.a, tt.b, tt.limit); got != tt.want {
			t.Errorf("Distance(%q, %q, %d) = %d, want %d", tt.a, tt.b, tt.limit, got, tt.want)
		}
	}
}

func TestQuote(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"fix":                    `"fix"`,
		"two\nlines\x1b[1m":      `"two\nlines\x1b[1m"`,
		strings.Repeat("ä", 60):  `"` + strings.Repeat("ä", 60) + `"`,
		strings.Repeat("ä", 100): `"` + strings.Repeat("ä", 60) + `…"`,
	} {
		if got := Quote(s); got != want {
			t.Errorf("Quote(%q) = %s, want %s", s, got, want)
		}
	}
	if got := Clip(`a"b`); got != `a\"b` {
		t.Errorf("Clip = %s", got)
	}
}

func TestLists(t *testing.T) {
	t.Parallel()
	many := strings.Split(strings.Repeat("x ", 20), " ")[:20]
	if got := List(many); !strings.HasSuffix(got, "x and 5 more") || strings.Count(got, "x") != 15 {
		t.Errorf("List = %s", got)
	}
	if got := List(many[:16]); strings.Contains(got, "more") {
		t.Errorf("List of 16 = %s", got)
	}
	var got []string
	for n := range 4 {
		got = append(got, And([]string{"a", "b", "c"}[:n]))
	}
	if want := []string{"", "a", "a and b", "a, b and c"}; !slices.Equal(got, want) {
		t.Errorf("And = %q, want %q", got, want)
	}
	if got := DidYouMean("fxi", []string{"fix"}); got != `; did you mean "fix"?` {
		t.Errorf("DidYouMean = %s", got)
	}
	if got := DidYouMean("zzzz", []string{"fix"}); got != "" {
		t.Errorf("DidYouMean = %s", got)
	}
}
