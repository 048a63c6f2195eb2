package value

import (
	"bytes"
	"testing"
)

func FuzzParseJSON(f *testing.F) {
	for _, text := range []string{
		`{"a": [1, 2.5, "x\u00e9", null, true, NaN], "b": {}}`, `-Infinity`, `"\ud83d"`,
		`1e16`, `[[[`, "\"\xff\"",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := ParseJSON(data)
		if err != nil {
			return
		}
		line := AppendJSON(nil, v)
		back, err := ParseJSON(line)
		if err != nil {
			t.Fatalf("%q was written as %q: %v", data, line, err)
		}
		if again := AppendJSON(nil, back); !bytes.Equal(again, line) {
			t.Fatalf("%q, then %q", line, again)
		}
		if !bytes.Contains(line, []byte("NaN")) && !bytes.Contains(line, []byte("Infinity")) && !Equal(v, back) {
			t.Fatalf("%s is not %s", Repr(back), Repr(v))
		}
		indented, err := ParseJSON(AppendJSONIndent(nil, v, "  "))
		if err != nil || !bytes.Equal(AppendJSON(nil, indented), line) {
			t.Fatalf("indented it reads as %s, %v", Repr(indented), err)
		}
		if bytes.ContainsFunc(line, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Fatalf("%q is not one line of ASCII", line)
		}
	})
}
