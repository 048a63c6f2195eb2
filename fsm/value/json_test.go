package value

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"sync"
	"testing"
)

func TestParseJSON(t *testing.T) {
	t.Parallel()
	huge, _ := new(big.Int).SetString("100000000000000000000", 10)
	for text, want := range map[string]any{
		` null `:                     nil,
		`-0`:                         int64(0),
		`9223372036854775807`:        int64(math.MaxInt64),
		`100000000000000000000`:      huge,
		`1.50`:                       1.5,
		`1e400`:                      math.Inf(1),
		`-Infinity`:                  math.Inf(-1),
		`"a\u00e9\ud83d\ude00\/"`:    "aé😀/",
		`"\ud83d x"`:                 "\ufffd x",
		"\"\xff\"":                   "\ufffd",
		`[1, [], {}]`:                []any{int64(1), []any{}, NewMap()},
		`{"b": 1, "a": 2, "b": [3]}`: NewMap("b", []any{int64(3)}, "a", int64(2)),
	} {
		got, err := ParseJSON([]byte(text))
		if err != nil || Repr(got) != Repr(want) { // Repr, because order and type count
			t.Errorf("%s: got %s, %v; want %s", text, Repr(got), err, Repr(want))
		}
	}
	if got, err := ParseJSON([]byte("NaN")); err != nil || !math.IsNaN(got.(float64)) {
		t.Errorf("NaN: got %v, %v", got, err)
	}
}

func TestParseJSONErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		``:                   "expected a value, but the text ends",
		`{"a": 1} x`:         "expected one value only, but more text follows at byte 10",
		`01`:                 "expected one value only, but more text follows at byte 2",
		`{"a" 1}`:            "expected a colon after the key at byte 6",
		`{a: 1}`:             "expected a key in double quotes at byte 2",
		`{"a": 1,}`:          "expected a key in double quotes at byte 9",
		`[1 2]`:              "expected a comma or ] at byte 4",
		`"abc`:               "expected a closing double quote, but the text ends",
		"\"a\nb\"":           "expected no control character inside a string at byte 3",
		`"\x"`:               `expected a valid escape such as \n or \u00e9 at byte 2`,
		`-`:                  "expected a digit, but the text ends",
		`1.`:                 "expected a digit after the point, but the text ends",
		`1e+`:                "expected a digit in the exponent, but the text ends",
		"\ufeff1":            "expected a value at byte 1",
		`nul`:                "expected a value at byte 1",
		`{"event": "a", "ts`: "expected a closing double quote, but the text ends",
	} {
		if _, err := ParseJSON([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
	deep := strings.Repeat("[", 1_000_000)
	if _, err := ParseJSON([]byte(deep)); err == nil || !strings.Contains(err.Error(), "1000 levels") {
		t.Errorf("a million brackets: %v", err)
	}
	if _, err := ParseJSON([]byte(strings.Repeat("7", 1_000_000))); err == nil ||
		!strings.Contains(err.Error(), "4300 digits") {
		t.Errorf("a million digits: %v", err)
	}
}

func TestAppendJSON(t *testing.T) {
	t.Parallel()
	var none *Map
	for _, c := range []struct {
		value any
		want  string
	}{
		{nil, `null`},
		{none, `{}`},
		{true, `true`},
		{7, `7`},
		{uint64(math.MaxUint64), `18446744073709551615`},
		{5.0, `5.0`},
		{1e16, `1e+16`},
		{math.Copysign(0, -1), `-0.0`},
		{math.NaN(), `"NaN"`},
		{math.Inf(-1), `"-Infinity"`},
		{"a\"\\\n\x00\x7f/é😀", `"a\"\\\n\u0000\u007f/\u00e9\ud83d\ude00"`},
		{"cut \xf0\x9f", `"cut \ufffd\ufffd"`},
		{[]any{int64(1), "x", nil}, `[1, "x", null]`},
		{[]string{}, `[]`},
		{NewMap("b", int64(1), "a", []string{"y"}), `{"b": 1, "a": ["y"]}`},
		{map[string]int{"b": 1, "a": 2}, `{"a": 2, "b": 1}`},
		{map[string]string{"b": "x"}, `{"b": "x"}`},
	} {
		if got := string(AppendJSON([]byte("> "), c.value)); got != "> "+c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

func TestAppendJSONIndent(t *testing.T) {
	t.Parallel()
	v := NewMap("a", []any{int64(1), []any{}, NewMap()}, "b", NewMap("c", nil), "d", map[string]int{"x": 1})
	want := `{
  "a": [
    1,
    [],
    {}
  ],
  "b": {
    "c": null
  },
  "d": {
    "x": 1
  }
}`
	if got := string(AppendJSONIndent(nil, v, "  ")); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Of equal keys the first gives the place and the last the value, in objects small and large.
func TestParseJSONEqualKeys(t *testing.T) {
	t.Parallel()
	for _, n := range []int{2, indexFrom - 1, indexFrom, 3 * indexFrom} {
		var text, want []string
		for i := range n {
			text = append(text, fmt.Sprintf(`"k%d": %d`, i, i))
			want = append(want, fmt.Sprintf(`"k%d": %d`, i, i))
		}
		want[1] = `"k1": "later"`
		v, err := ParseJSON([]byte("{" + strings.Join(append(text, `"k1": [true]`, `"k1": "later"`), ", ") + "}"))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(AppendJSON(nil, v)); got != "{"+strings.Join(want, ", ")+"}" {
			t.Errorf("%d keys: %s", n, got)
		}
		m := v.(*Map)
		m.Set("k0", "new")
		m.Set("more", nil)
		if first, _ := m.Get("k0"); first != "new" || m.Len() != n+1 || m.Keys()[n] != "more" {
			t.Errorf("%d keys: after Set: %s", n, Repr(m))
		}
	}
}

// Keys that are met again are what they were, whatever comes between, also where several goroutines read at
// once; an error leaves nothing behind for the text that is read next.
func TestParseJSONManyKeys(t *testing.T) {
	t.Parallel()
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 3000 {
				key := fmt.Sprintf("key %d", i%700*(g+1))
				_, _ = ParseJSON([]byte(`{"left": [1, {"over": ` + key)) // is no JSON
				text := fmt.Sprintf(`{%q: {"\u00e9\n": [%d, {}]}, "\u00e9": []}`, key, i)
				v, err := ParseJSON([]byte(text))
				want := fmt.Sprintf(`{%q: {"\u00e9\n": [%d, {}]}, "\u00e9": []}`, key, i)
				if err != nil || string(AppendJSON(nil, v)) != want {
					t.Errorf("%s became %s, %v", text, AppendJSON(nil, v), err)
					return
				}
			}
		})
	}
	wg.Wait()
}
