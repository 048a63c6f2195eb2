package persistence

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"time"

	"loops/fsm"
	"loops/fsm/value"
)

// The values of state.json that are objects of their own, and how single values are read.

func putResult(e *encoder, s *fsm.Snapshot) bool {
	return s.Result != nil && e.value(resultValue(s.Result))
}

func resultValue(v *fsm.Result) *value.Map {
	m := value.NewMap("output", v.Stdout, "stderr", v.Stderr, "exit_code", v.ExitCode, "duration_ns", int64(v.Duration),
		"timeout_kind", v.TimeoutKind, "bytes", v.Bytes, "truncated", v.Truncated, "file", v.File,
		"background", v.Background, "peak_rss", v.PeakRSS)
	if v.Reply != nil {
		m.Set("reply", replyValue(v.Reply))
	}
	return m
}

func takeResult(r *record, v any) error {
	r.Result = &fsm.Result{}
	return takeResultTo(r.Result, v)
}

func takeResultTo(x *fsm.Result, v any) error {
	return takeParts(v, map[string]func(any) error{
		"output":       func(v any) error { return takeText(&x.Stdout, v) },
		"stderr":       func(v any) error { return takeText(&x.Stderr, v) },
		"exit_code":    func(v any) error { return takeInt(&x.ExitCode, v) },
		"duration_ns":  func(v any) error { return takeInt(&x.Duration, v) },
		"timeout_kind": func(v any) error { return takeText(&x.TimeoutKind, v) },
		"bytes":        func(v any) error { return takeInt(&x.Bytes, v) },
		"truncated":    func(v any) error { return takeBool(&x.Truncated, v) },
		"file":         func(v any) error { return takeText(&x.File, v) },
		"background":   func(v any) error { return takeInt(&x.Background, v) },
		"peak_rss":     func(v any) error { return takeInt(&x.PeakRSS, v) },
		"reply":        func(v any) error { return takeReply(&x.Reply, v) },
	})
}

func putOutcome(e *encoder, s *fsm.Snapshot) bool {
	o := s.Outcome
	if o == nil {
		return false
	}
	return e.value(value.NewMap("terminated_by", o.TerminatedBy, "final_state", o.FinalState, "iterations", o.Steps,
		"failure_terminal", o.Failure, "error", o.Error, "signal", o.Signal, "continuation", o.Continuation,
		"rate_limited", o.Limited, "duration_ns", int64(o.Duration)))
}

func takeOutcome(r *record, v any) error {
	r.Outcome = &fsm.Outcome{}
	x := r.Outcome
	return takeParts(v, map[string]func(any) error{
		"terminated_by":    func(v any) error { return takeText(&x.TerminatedBy, v) },
		"final_state":      func(v any) error { return takeText(&x.FinalState, v) },
		"iterations":       func(v any) error { return takeInt(&x.Steps, v) },
		"failure_terminal": func(v any) error { return takeBool(&x.Failure, v) },
		"error":            func(v any) error { return takeText(&x.Error, v) },
		"signal":           func(v any) error { return takeText(&x.Signal, v) },
		"continuation":     func(v any) error { return takeText(&x.Continuation, v) },
		"rate_limited":     func(v any) error { return takeBool(&x.Limited, v) },
		"duration_ns":      func(v any) error { return takeInt(&x.Duration, v) },
	})
}

func putRing(e *encoder, s *fsm.Snapshot) bool {
	if len(s.StallRing) == 0 {
		return false
	}
	e.open('[')
	for _, x := range s.StallRing {
		e.item()
		e.value([]any{x.State, x.ExitCode, x.Verdict})
	}
	return e.close(']')
}

func takeRing(r *record, v any) error {
	return takeList(v, func(v any) error {
		var x fsm.StallRecord
		l, ok := v.([]any)
		if !ok || len(l) != 3 {
			return wrong("a list of a state, an exit code and a verdict", v)
		}
		err := errors.Join(takeText(&x.State, l[0]), takeInt(&x.ExitCode, l[1]), takeText(&x.Verdict, l[2]))
		r.StallRing = append(r.StallRing, x)
		return err
	})
}

func putEvaluators(e *encoder, s *fsm.Snapshot) bool {
	if len(s.Evaluators) == 0 {
		return false
	}
	e.open('{')
	for _, k := range sortedKeys(s.Evaluators) {
		e.key(k)
		e.repeat(s.Evaluators[k])
	}
	return e.close('}')
}

func (e *encoder) repeat(x fsm.Repeat) {
	e.value(value.NewMap("hash", x.Hash, "count", x.Count, "seen", x.Seen))
}

func takeEvaluators(r *record, v any) error {
	return takeEntries(v, func(k string, v any) error {
		var x fsm.Repeat
		err := takeParts(v, map[string]func(any) error{
			"hash":  func(v any) error { return takeText(&x.Hash, v) },
			"count": func(v any) error { return takeInt(&x.Count, v) },
			"seen":  func(v any) error { return takeBool(&x.Seen, v) },
		})
		put(&r.Evaluators, k, x)
		return err
	})
}

func putDefinition(e *encoder, r *record) bool {
	if r.file == "" && r.sha == "" && r.def.sha == "" {
		return false
	}
	m := value.NewMap("file", r.file, "sha256", r.sha)
	if r.def.sha != "" {
		m.Set("text_sha256", r.def.sha)
	}
	return e.value(m)
}

func takeDefinition(r *record, v any) error {
	return takeParts(v, map[string]func(any) error{
		"file":   func(v any) error { return takeText(&r.file, v) },
		"sha256": func(v any) error { return takeText(&r.sha, v) },

		"text_sha256": func(v any) error { return takeText(&r.def.sha, v) },
	})
}

func putOwner(e *encoder, r *record) bool {
	o := r.owner
	if o.Host == "" && o.Boot == "" && o.Start == 0 {
		return false // pid says it all
	}
	m := value.NewMap("host", o.Host, "boot", o.Boot, "pid", o.PID, "start", o.Start)
	if o.PIDNS != 0 {
		m.Set("pid_ns", o.PIDNS)
	}
	return e.value(m)
}

func takeOwner(r *record, v any) error {
	return takeParts(v, map[string]func(any) error{
		"host":   func(v any) error { return takeText(&r.owner.Host, v) },
		"boot":   func(v any) error { return takeText(&r.owner.Boot, v) },
		"pid":    func(v any) error { return takeInt(&r.owner.PID, v) },
		"start":  func(v any) error { return takeInt(&r.owner.Start, v) },
		"pid_ns": func(v any) error { return takeInt(&r.owner.PIDNS, v) },
	})
}

func wrong(want string, v any) error {
	s := string(value.AppendJSON(nil, v))
	if len(s) > 40 {
		s = s[:40] + "…"
	}
	return fmt.Errorf("expected %s, found %s", want, s)
}

func takeText[T ~string](to *T, v any) error {
	s, ok := v.(string)
	if !ok {
		if m, is := v.(*value.Map); is {
			if _, _, ref := blobRef(m); ref {
				return nil // a large text that nobody asked for
			}
		}
		return wrong("text", v)
	}
	*to = T(s)
	return nil
}

func takeInt[T ~int | ~int64 | ~uint64](to *T, v any) error {
	switch n := v.(type) {
	case int64:
		if x := T(n); int64(x) == n && (n < 0) == (x < 0) {
			*to = x
			return nil
		}
	case float64: // a hand may have written 3.0
		if n == math.Trunc(n) && math.Abs(n) < 1<<53 {
			return takeInt(to, int64(n))
		}
	}
	return wrong("a whole number", v)
}

func takeFloat(to *float64, v any) error {
	switch n := v.(type) {
	case float64:
		*to = n
	case int64:
		*to = float64(n)
	case *big.Int:
		*to, _ = new(big.Float).SetInt(n).Float64()
	default:
		return wrong("a number", v)
	}
	return nil
}

func takeMillis(to *time.Duration, v any) error {
	var f float64
	if err := takeFloat(&f, v); err != nil {
		return err
	}
	if math.IsNaN(f) || f < 0 || f > math.MaxInt64/float64(2*time.Millisecond) {
		return wrong("milliseconds", v)
	}
	*to = time.Duration(f) * time.Millisecond
	return nil
}

func takeBool(to *bool, v any) error {
	b, ok := v.(bool)
	if !ok {
		return wrong("true or false", v)
	}
	*to = b
	return nil
}

func takeTime(to *time.Time, v any) error {
	s, ok := v.(string)
	if !ok {
		return wrong("a time", v)
	}
	if s == "" {
		return nil // the reference tool's word for unknown
	}
	t, err := fsm.ParseTime(s)
	if err != nil {
		return err
	}
	*to = t
	return nil
}

func takeMap(to **value.Map, v any) error {
	m, ok := v.(*value.Map)
	if !ok {
		return wrong("an object", v)
	}
	*to = m
	return nil
}

func takeList(v any, each func(any) error) error {
	l, ok := v.([]any)
	if !ok {
		return wrong("a list", v)
	}
	for i, x := range l {
		if err := each(x); err != nil {
			return fmt.Errorf("item %d: %w", i+1, err)
		}
	}
	return nil
}

func takeTexts(to *[]string, v any) error {
	return takeList(v, func(v any) error {
		var s string
		err := takeText(&s, v)
		*to = append(*to, s)
		return err
	})
}

func takeEntries(v any, each func(string, any) error) error {
	m, ok := v.(*value.Map)
	if !ok {
		return wrong("an object", v)
	}
	for _, k := range m.Keys() {
		x, _ := m.Get(k)
		if x == nil {
			continue
		}
		if err := each(k, x); err != nil {
			return fmt.Errorf("%s: %w", k, err)
		}
	}
	return nil
}

// takeParts reads an object of known keys; others are ignored.
func takeParts(v any, parts map[string]func(any) error) error {
	return takeEntries(v, func(k string, v any) error {
		if f := parts[k]; f != nil {
			return f(v)
		}
		return nil
	})
}

func put[V any](m *map[string]V, k string, v V) {
	if *m == nil {
		*m = make(map[string]V)
	}
	(*m)[k] = v
}
