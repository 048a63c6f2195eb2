package pyregexp

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestSearch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"b$\n", "ab\n", true}, // $ before the last line end takes nothing
		{"b$", "b\n\n", false},
		{`b\Z`, "b\n", false},
		{"(?m)^b$", "a\nb\nc", true},
		{"(?m)a$.", "a\nb", false},
		{"(?s)a.b", "a\nb", true},
		{"a|b(?i)", "xB(?i)", false}, // flags in the middle: no pattern
		{"a|b(?i)", "a|b(?i)", true},
		{"(?i:É)x", "éx", true},
		{"(?i:É)x", "éX", false},
		{"x{,2}y", "y", true},
		{"^x{,2}y", "xxxy", false},
		{"x{a}", "x{a}", true},
		{"x{2", "x{2", true},
		{"a**", "a**", true},
		{"a++a", "aaa", false},
		{"(?>a*)a", "aaa", false},
		{"(?P<q>['\"])x(?P=q)", `"x'`, false},
		{`(a)?(?(1)b|c)`, "c", true},
		{`^(a)?(?(1)b|c)$`, "ac", false},
		{"(?<!x)y", "xy", false},
		{"(?<=x+)y", "xxy", false}, // not of fixed width: no pattern
		{"(?<=x+)y", "(?<=x+)y", true},
		{`[^\W\d_]`, "1_", false},
		{`[^\W\d_]`, "é", true},
		{`[\W]`, "é", false},
		{`(?a)\w`, "é", false},
		{`\d`, "٣", true},
		{`\s`, "\x1c", true},
		{`\bé`, "é", true},
		{`e\b`, "eé", false},
		{`\B`, "", false},
		{`\101\x42\u0043`, "ABC", true},
		{"[]a]", "]", true},
		{"[a-]", "-", true},
		{`[\b]`, "\b", true},
		{"(?x) a b # c", "ab", true},
		{"^a{1001}", strings.Repeat("a", 1000), false},
		{"^a{1001}", strings.Repeat("a", 1001), true},
		{"{", "x{", true},
		{"(", "(", true},
		{")", ")", true},
		{"no pattern here", "there is no pattern here.", true},
	} {
		got, err := Search(c.pattern, c.text)
		if err != nil || got != c.want {
			t.Errorf("%q in %q: got %v, %v; want %v", c.pattern, c.text, got, err, c.want)
		}
	}
}

func TestSearchLimits(t *testing.T) {
	t.Parallel()
	if _, err := Search(strings.Repeat("(", 1000)+strings.Repeat(")", 1000), "x"); err == nil ||
		!strings.Contains(err.Error(), "deeper than 200") {
		t.Errorf("a thousand groups: %v", err)
	}
	const forever = `^(?=(a+)+\1b)`
	re, err := patterns.Get(forever).slow()
	if err != nil {
		t.Fatal(err)
	}
	re.MatchTimeout = 10 * time.Millisecond // sooner than users have it
	_, err = Search(forever, strings.Repeat("a", 60))
	if err == nil || !strings.Contains(err.Error(), "took longer than 2s") {
		t.Errorf("a pattern that takes for ever: %v", err)
	}
}

func TestSearchCacheIsBounded(t *testing.T) {
	t.Parallel()
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range cacheSize {
				pattern := fmt.Sprintf("^%d-%d(?=x)", g, i)
				if ok, err := Search(pattern, fmt.Sprintf("%d-%dx", g, i)); !ok || err != nil {
					t.Errorf("%s: %v, %v", pattern, ok, err)
				}
			}
		})
	}
	wg.Wait()
	patterns.mu.Lock()
	defer patterns.mu.Unlock()
	if n := len(patterns.byText); n > cacheSize {
		t.Errorf("%d patterns are kept", n)
	}
}

func TestFindAll(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, text string
		want          []string
	}{
		{`k=(\d)`, "k=1 k=2", []string{"1", "2"}},
		{`a.b`, "a\nb a-b", []string{"a\nb", "a-b"}},
		{`x*`, "ax", []string{"", "x", ""}},
		{`z`, "a", nil},
	} {
		got, err := FindAll(c.pattern, c.text)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%q in %q: got %q, %v; want %q", c.pattern, c.text, got, err, c.want)
		}
	}
	for _, p := range []string{"(a)(b)", "["} {
		if got, err := FindAll(p, "ab"); err == nil {
			t.Errorf("%q found %q, want an error", p, got)
		}
	}
}
