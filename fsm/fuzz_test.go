package fsm

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
)

func FuzzExpand(f *testing.F) {
	_, cases := vectors(f, "interpolation.jsonl")
	for _, c := range cases {
		f.Add(at[string](c, "template"))
	}
	s := &Scope{Context: NewMap("t", int64(5), "s", "abc", "m", NewMap("k", nil)), Messages: []string{"a", "b"}, Prev: NewMap("output", "o")}
	f.Fuzz(func(t *testing.T, text string) {
		refs := References(text)
		got, err := Expand(text, s)
		if err != nil {
			if te, ok := err.(*TemplateError); !ok || !strings.Contains(text, te.Ref) {
				t.Fatalf("%q: %#v", text, err)
			}
			return
		}
		if len(refs) == 0 && got != strings.ReplaceAll(text, "$${", "${") {
			t.Fatalf("%q has no references and became %q", text, got)
		}
		for _, r := range refs {
			i := r.Offset
			if r.Escaped {
				i++
			}
			if !strings.HasPrefix(text[i:], r.Text) {
				t.Fatalf("%q: reference %+v is not there", text, r)
			}
		}
	})
}

func FuzzParseJSON(f *testing.F) {
	for _, text := range []string{`{"a": [1, 2.5, "x\u00e9", null, true, NaN], "b": {}}`, `-Infinity`, `"\ud83d"`, `1e16`, `[[[`, "\"\xff\""} {
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

func FuzzParseEvent(f *testing.F) {
	f.Add([]byte(`{"event": "route", "ts": "2026-11-21T08:37:17.206209+00:00", "seq": 3, "from": "a", "depth": 1}`))
	f.Add([]byte(`{"event": "x", "ts": "9999-12-31T23:59:59-01:00", "seq": -1, "event": "y", "depth": 1e9}`))
	f.Add([]byte(`{"event": "torn", "ts": "2026`))
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := ParseEvent(line)
		if err != nil {
			return
		}
		written := e.AppendJSON(nil)
		back, err := ParseEvent(written)
		if err != nil {
			t.Fatalf("%q was written as %q: %v", line, written, err)
		}
		if again := back.AppendJSON(nil); !bytes.Equal(again, written) {
			t.Fatalf("%q, then %q", written, again)
		}
		if back.Kind != e.Kind || back.Seq != e.Seq || back.Depth != e.Depth || len(back.Fields) != len(e.Fields) {
			t.Fatalf("%+v became %+v", e, back)
		}
	})
}

func FuzzSignalScanner(f *testing.F) {
	_, cases := vectors(f, "signals.jsonl")
	for i, c := range cases {
		f.Add(at[string](c, "output"), uint64(i))
	}
	f.Add("FATAL_ERROR:\u2003\u00a0\n\x1c", uint64(1))
	f.Add("LOOP_STOP:\xe2\x80", uint64(2))
	f.Fuzz(func(t *testing.T, output string, seed uint64) {
		var whole, pieces SignalScanner
		whole.Write(output)
		rest, random := output, rand.New(rand.NewPCG(seed, 0))
		for rest != "" {
			n := 1 + random.IntN(len(rest))
			pieces.Write(rest[:n])
			rest = rest[n:]
		}
		kind, payload, found := whole.Signal()
		kind2, payload2, found2 := pieces.Signal()
		if kind != kind2 || payload != payload2 || found != found2 {
			t.Fatalf("%q: whole %q %q %v, in pieces %q %q %v", output, kind, payload, found, kind2, payload2, found2)
		}
	})
}

func FuzzSearch(f *testing.F) {
	_, cases := vectors(f, "evaluators.jsonl")
	for _, c := range cases {
		if p, ok := at[*Map](c, "config").Get("pattern"); ok {
			f.Add(p.(string), at[string](c, "output"))
		}
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(pattern) > 200 || len(text) > 200 {
			return
		}
		pattern = strings.ToValidUTF8(pattern, "\ufffd")
		first, err := Search(pattern, text)
		if err != nil {
			return
		}
		if m := patterns.get(pattern); m.tree != nil && m.fast != nil { // both engines agree
			if re, err := m.slow(); err == nil {
				if second, err := re.MatchString(text); err == nil && second != first && strings.ToValidUTF8(text, "") == text {
					t.Fatalf("%q in %q: %v, backtracking %v", pattern, text, first, second)
				}
			}
		}
	})
}
