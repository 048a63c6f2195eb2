package snapshot

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"reflect"
	"slices"
	"time"

	"loops/fsm"
	"loops/fsm/value"
)

// The values of state.json that are objects of their own, and how single values are read.

func putResult(e *Writer, s *fsm.Snapshot) bool {
	return s.Result != nil && e.Value(resultValue(s.Result))
}

func resultValue(v *fsm.Result) *value.Map {
	m := value.NewMap("output", v.Stdout, "stderr", v.Stderr, "exit_code", v.ExitCode, "duration_ns", int64(v.Duration),
		"timeout_kind", v.TimeoutKind, "bytes", v.Bytes, "truncated", v.Truncated, "file", v.File, "stderr_truncated",
		v.StderrCut,
		"background", v.Background, "peak_rss", v.PeakRSS)
	if v.Refused != "" {
		m.Set("refused", v.Refused)
	}
	if v.Reply != nil {
		m.Set("reply", replyValue(v.Reply))
	}
	if r := v.Response; r != nil {
		m.Set("response", value.NewMap("status", r.Status, "headers", r.Headers, "retry_after_ns", int64(r.RetryAfter)))
	}
	return m
}

func takeResult(r *memory, v any) error {
	r.Result = &fsm.Result{}
	return takeResultTo(r.Result, v)
}

func takeResultTo(x *fsm.Result, v any) error {
	return TakeParts(v, map[string]func(any) error{
		"output":           func(v any) error { return TakeText(&x.Stdout, v) },
		"stderr":           func(v any) error { return TakeText(&x.Stderr, v) },
		"exit_code":        func(v any) error { return TakeInt(&x.ExitCode, v) },
		"duration_ns":      func(v any) error { return TakeInt(&x.Duration, v) },
		"timeout_kind":     func(v any) error { return TakeText(&x.TimeoutKind, v) },
		"bytes":            func(v any) error { return TakeInt(&x.Bytes, v) },
		"truncated":        func(v any) error { return takeBool(&x.Truncated, v) },
		"file":             func(v any) error { return TakeText(&x.File, v) },
		"stderr_truncated": func(v any) error { return takeBool(&x.StderrCut, v) },
		"background":       func(v any) error { return TakeInt(&x.Background, v) },
		"peak_rss":         func(v any) error { return TakeInt(&x.PeakRSS, v) },
		"refused":          func(v any) error { return TakeText(&x.Refused, v) },
		"reply":            func(v any) error { return takeReply(&x.Reply, v) },
		"response":         func(v any) error { return takeResponse(&x.Response, v) },
	})
}

func takeResponse(to **fsm.Response, v any) error {
	x := &fsm.Response{}
	*to = x
	return TakeParts(v, map[string]func(any) error{
		"status":         func(v any) error { return TakeInt(&x.Status, v) },
		"headers":        func(v any) error { return takeHeaders(&x.Headers, v) },
		"retry_after_ns": func(v any) error { return TakeInt(&x.RetryAfter, v) },
	})
}

func takeHeaders(to **value.Map, v any) error {
	m, ok := v.(*value.Map)
	if !ok {
		return wrong("an object", v)
	}
	*to = m
	return nil
}

func putOutcome(e *Writer, o *fsm.Outcome) bool {
	if o == nil {
		return false
	}
	m := value.NewMap("terminated_by", o.TerminatedBy, "final_state", o.FinalState, "iterations", o.Steps,
		"failure_terminal", o.Failure, "error", o.Error, "signal", o.Signal, "continuation", o.Continuation,
		"rate_limited", o.Limited, "duration_ns", int64(o.Duration))
	if o.Refused {
		m.Set("refused", true)
	}
	if o.Source != "" {
		m.Set("source", o.Source)
	}
	if o.Message != "" {
		m.Set("message", o.Message)
	}
	if o.Reason != "" {
		m.Set("reason", o.Reason)
	}
	if o.Ignored != "" {
		m.Set("ignored_failures", o.Ignored)
	}
	if o.Merge != "" {
		m.Set("merge", o.Merge)
	}
	for _, f := range []struct{ key, text string }{
		{"suspended_by", o.SuspendedBy},
		{"cause", string(o.Cause)},
		{"remedy", o.Remedy},
	} {
		if f.text != "" {
			m.Set(f.key, f.text)
		}
	}
	if o.FailedItems > 0 {
		m.Set("failed_items", o.FailedItems)
	}
	if o.Receipt != nil {
		if v, err := jsonValue(o.Receipt); err == nil {
			m.Set("receipt", v)
		}
	}
	return e.Value(m)
}

// jsonValue returns what a struct is as a value.
func jsonValue(of any) (any, error) {
	text, err := json.Marshal(of)
	if err != nil {
		return nil, err
	}
	return value.ParseJSON(text)
}

// TakeOutcome reads how a run ended.
func TakeOutcome(to **fsm.Outcome, v any) error {
	x := &fsm.Outcome{}
	*to = x
	return TakeParts(v, map[string]func(any) error{
		"terminated_by":    func(v any) error { return TakeText(&x.TerminatedBy, v) },
		"final_state":      func(v any) error { return TakeText(&x.FinalState, v) },
		"iterations":       func(v any) error { return TakeInt(&x.Steps, v) },
		"failure_terminal": func(v any) error { return takeBool(&x.Failure, v) },
		"error":            func(v any) error { return TakeText(&x.Error, v) },
		"source":           func(v any) error { return TakeText(&x.Source, v) },
		"signal":           func(v any) error { return TakeText(&x.Signal, v) },
		"continuation":     func(v any) error { return TakeText(&x.Continuation, v) },
		"rate_limited":     func(v any) error { return takeBool(&x.Limited, v) },
		"message":          func(v any) error { return TakeText(&x.Message, v) },
		"reason":           func(v any) error { return TakeText(&x.Reason, v) },
		"ignored_failures": func(v any) error { return TakeText(&x.Ignored, v) },
		"merge":            func(v any) error { return TakeText(&x.Merge, v) },
		"failed_items":     func(v any) error { return TakeInt(&x.FailedItems, v) },
		"suspended_by":     func(v any) error { return TakeText(&x.SuspendedBy, v) },
		"cause":            func(v any) error { return TakeText(&x.Cause, v) },
		"remedy":           func(v any) error { return TakeText(&x.Remedy, v) },
		"refused":          func(v any) error { return takeBool(&x.Refused, v) },
		"duration_ns":      func(v any) error { return TakeInt(&x.Duration, v) },
		"receipt": func(v any) error {
			x.Receipt = &fsm.Receipt{}
			return json.Unmarshal(value.AppendJSON(nil, v), x.Receipt)
		},
	})
}

func putRing(e *Writer, s *fsm.Snapshot) bool {
	if len(s.StallRing) == 0 {
		return false
	}
	e.Open('[')
	for _, x := range s.StallRing {
		e.item()
		e.Value([]any{x.State, x.ExitCode, x.Verdict})
	}
	return e.Close(']')
}

func takeRing(r *memory, v any) error {
	return takeList(v, func(v any) error {
		var x fsm.StallRecord
		l, ok := v.([]any)
		if !ok || len(l) != 3 {
			return wrong("a list of a state, an exit code and a verdict", v)
		}
		err := errors.Join(TakeText(&x.State, l[0]), TakeInt(&x.ExitCode, l[1]), TakeText(&x.Verdict, l[2]))
		r.StallRing = append(r.StallRing, x)
		return err
	})
}

func putEvaluators(e *Writer, s *fsm.Snapshot) bool {
	if len(s.Evaluators) == 0 {
		return false
	}
	e.Open('{')
	for _, k := range slices.Sorted(maps.Keys(s.Evaluators)) {
		e.Key(k)
		e.repeat(s.Evaluators[k])
	}
	return e.Close('}')
}

func (e *Writer) repeat(x fsm.Repeat) {
	e.Value(value.NewMap("hash", x.Hash, "count", x.Count, "seen", x.Seen))
}

func takeEvaluators(r *memory, v any) error {
	return takeEntries(v, func(k string, v any) error {
		var x fsm.Repeat
		err := TakeParts(v, map[string]func(any) error{
			"hash":  func(v any) error { return TakeText(&x.Hash, v) },
			"count": func(v any) error { return TakeInt(&x.Count, v) },
			"seen":  func(v any) error { return takeBool(&x.Seen, v) },
		})
		put(&r.Evaluators, k, x)
		return err
	})
}

func wrong(want string, v any) error {
	s := string(value.AppendJSON(nil, v))
	if len(s) > 40 {
		s = s[:40] + "…"
	}
	return fmt.Errorf("expected %s, found %s", want, s)
}

// TakeText reads a text.
func TakeText[T ~string](to *T, v any) error {
	s, ok := v.(string)
	if !ok {
		if m, is := v.(*value.Map); is {
			if _, _, ref := blobRef(m); ref {
				return nil // a large text that was not asked for
			}
		}
		return wrong("text", v)
	}
	*to = T(s)
	return nil
}

// TakeInt reads a whole number.
func TakeInt[T ~int | ~int64 | ~uint64](to *T, v any) error {
	switch n := v.(type) {
	case int64:
		if x := T(n); int64(x) == n && (n < 0) == (x < 0) {
			*to = x
			return nil
		}
	case float64: // a hand may have written 3.0
		if n == math.Trunc(n) && math.Abs(n) < 1<<53 {
			return TakeInt(to, int64(n))
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

// TakeTime reads a time; "" is the zero time.
func TakeTime(to *time.Time, v any) error {
	s, ok := v.(string)
	if !ok {
		return wrong("a time", v)
	}
	if s == "" {
		return nil // little-loops writes this for unknown
	}
	t, err := fsm.ParseTime(s)
	if err != nil {
		return err
	}
	*to = t
	return nil
}

// TakeMap reads an object.
func TakeMap(to **value.Map, v any) error {
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
		err := TakeText(&s, v)
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

// TakeParts reads an object of known keys; others are ignored.
func TakeParts(v any, parts map[string]func(any) error) error {
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

// parsed is a field that is written as its type has it in JSON, and not changed once it was recorded.
func parsed[T any](key, name string, at func(*fsm.Snapshot) **T) field {
	return field{
		key: key, name: name,
		put: func(e *Writer, s *fsm.Snapshot) bool {
			x := *at(s)
			if x == nil {
				return false
			}
			v, err := jsonValue(x)
			return err == nil && e.Value(v)
		},
		take: func(r *memory, v any) error {
			x := new(T)
			*at(&r.Snapshot) = x
			return json.Unmarshal(value.AppendJSON(nil, v), x)
		},
		same: func(a, b *fsm.Snapshot) bool { return *at(a) == *at(b) || reflect.DeepEqual(*at(a), *at(b)) },
	}
}
