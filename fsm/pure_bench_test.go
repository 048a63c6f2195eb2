package fsm

import (
	"strings"
	"testing"
	"time"

	"loops/fsm/expr"
)

func BenchmarkEventAppendJSON(b *testing.B) {
	e := Event{
		Kind: "evaluate", Time: time.Date(2026, 11, 21, 8, 37, 17, 206209000, time.UTC), Seq: 12345,
		Fields: []Field{
			{"type", "output_numeric"},
			{"verdict", "yes"},
			{"value", 5.0},
			{"target", 5.0},
			{"operator", "eq"},
		},
	}
	buf := make([]byte, 0, 512)
	for b.Loop() {
		buf = e.AppendJSON(buf[:0])
	}
}

func BenchmarkParseEvent(b *testing.B) {
	line := []byte(
		`{"event": "evaluate", "ts": "2026-11-21T08:37:17.206209+00:00", "seq": 12345, "type": "output_numeric", "verdict": "yes", "value": 5.0}`)
	for b.Loop() {
		if _, err := ParseEvent(line); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkJudgeNumericKey(b *testing.B) {
	cfg := DefaultEvaluate("output_numeric")
	cfg.Target, cfg.Key = int64(5), "score"
	ev := Evidence{Output: "score = 5\n", Scope: &expr.Scope{}}
	for b.Loop() {
		if v, _, err := Judge(&cfg, ev); err != nil || v.Name != "yes" {
			b.Fatal(v, err)
		}
	}
}

func BenchmarkSignalScanner(b *testing.B) {
	text := strings.Repeat("FAIL: a line of output that CONTAINS letters the LOOKUP may stop at\n", 1000)
	b.SetBytes(int64(len(text)))
	var s SignalScanner
	for b.Loop() {
		s.Write(text)
	}
}
