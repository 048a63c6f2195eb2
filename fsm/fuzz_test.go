package fsm

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"loops/internal/testenv"
)

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
	_, cases := testenv.Vectors(f, "testdata/vectors/signals.jsonl")
	for i, c := range cases {
		f.Add(testenv.At[string](c, "output"), uint64(i))
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
