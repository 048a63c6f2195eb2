package main_test

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The matching rules of testdata/conformance/README.md.

// Events a program may emit in addition; ignored unless the case expects the kind.
var allowExtra = []string{
	"action_spawn", "action_killed", "action_signal", "checkpoint", "heartbeat", "note", "run_info", "signal_received",
	"state_saved", "stop_requested", "sub_loop_start", "sub_loop_complete", "warning",
}

// For these keys a missing value, null, false and 0 are the same, and an unexpected value is a difference.
var strictKeys = []string{"depth", "flushed", "resumed", "reason"}

// match says how got fails to satisfy want; "" means that it does.
func match(want, got any, path string) string {
	switch w := want.(type) {
	case nil:
		if got == nil {
			return ""
		}
	case bool:
		if got == any(w) {
			return ""
		}
	case float64:
		if g, ok := got.(float64); ok && near(w, g) {
			return ""
		}
	case string:
		if matchText(w, got) {
			return ""
		}
	case map[string]any:
		return matchMap(w, got, path)
	case []any:
		return matchList(w, got, path)
	}
	return fmt.Sprintf("%s: want %s, got %s", path, short(want), short(got))
}

func matchText(want string, got any) bool {
	if want == "<any>" {
		return true
	}
	g, ok := got.(string)
	if !ok || !strings.Contains(want, "<any>") {
		return ok && want == g
	}
	parts := strings.Split(want, "<any>")
	for i, p := range parts {
		parts[i] = regexp.QuoteMeta(p)
	}
	return regexp.MustCompile(`(?s)\A` + strings.Join(parts, ".*") + `\z`).MatchString(g)
}

func matchMap(want map[string]any, got any, path string) string {
	if any1, ok := want["<one_of>"].([]any); ok {
		for _, w := range any1 {
			if match(w, got, path) == "" {
				return ""
			}
		}
		return fmt.Sprintf("%s: %s is none of %s", path, short(got), short(any1))
	}
	if r, ok := want["<range>"].([]any); ok {
		g, isNum := got.(float64)
		if !isNum || g < r[0].(float64) || g > r[1].(float64) {
			return fmt.Sprintf("%s: %s is not in %v..%v", path, short(got), r[0], r[1])
		}
		return ""
	}
	g, ok := got.(map[string]any)
	if !ok {
		return fmt.Sprintf("%s: want a map, got %s", path, short(got))
	}
	for _, k := range sortedKeys(want) {
		if strings.HasPrefix(k, "<") {
			continue
		}
		if d := match(want[k], g[k], strings.TrimPrefix(path+"."+k, ".")); d != "" {
			return d
		}
	}
	return ""
}

func matchList(want []any, got any, path string) string {
	g, ok := got.([]any)
	if !ok || len(g) != len(want) {
		return fmt.Sprintf("%s: want %d items, got %s", path, len(want), short(got))
	}
	for i := range want {
		if d := match(want[i], g[i], fmt.Sprintf("%s[%d]", path, i)); d != "" {
			return d
		}
	}
	return ""
}

func near(a, b float64) bool {
	return math.Abs(a-b) <= math.Max(1e-9*math.Max(math.Abs(a), math.Abs(b)), 1e-9)
}

func matchEvent(want, got map[string]any) string {
	if want["event"] != got["event"] {
		return fmt.Sprintf("want event %v, got %v", want["event"], got["event"])
	}
	for _, k := range strictKeys {
		w, g := want[k], got[k]
		if w == "<any>" || (falsy(w) && falsy(g)) {
			continue
		}
		if match(w, g, k) != "" {
			return fmt.Sprintf("%v.%s: want %s, got %s", want["event"], k, short(w), short(g))
		}
	}
	return match(want, got, "")
}

func falsy(v any) bool { return v == nil || v == false || v == 0.0 || v == "" }

// matchEvents compares a whole event log with the expected one.
func matchEvents(want, got []map[string]any) string {
	wanted := map[any]bool{}
	for _, w := range want {
		wanted[w["event"]] = true
	}
	got = slices.DeleteFunc(slices.Clone(got), func(e map[string]any) bool {
		kind, _ := e["event"].(string)
		return slices.Contains(allowExtra, kind) && !wanted[kind]
	})
	j := 0
	for i, w := range want {
		if w["<optional>"] == true {
			if j < len(got) && matchEvent(w, got[j]) == "" {
				j++
			}
			continue
		}
		if j >= len(got) {
			return fmt.Sprintf("event %d: want %s, got the end of the log", i+1, short(w))
		}
		if d := matchEvent(w, got[j]); d != "" {
			return fmt.Sprintf("event %d: %s\n  want %s\n  got  %s", i+1, d, cut(toJSON(w), 400),
				cut(toJSON(got[j]), 400))
		}
		j++
	}
	if j < len(got) {
		return fmt.Sprintf("%d unexpected events at the end, first: %s", len(got)-j, cut(toJSON(got[j]), 300))
	}
	return ""
}

// joinOutput joins consecutive action_output events of one depth, so that batching is free.
func joinOutput(events []map[string]any) []map[string]any {
	var out []map[string]any
	for _, e := range events {
		if e["event"] == "action_output" {
			line, _ := e["line"].(string)
			line = strings.TrimSuffix(line, "\n")
			if n := len(out) - 1; n >= 0 && out[n]["event"] == "action_output" && out[n]["depth"] == e["depth"] {
				out[n]["line"] = out[n]["line"].(string) + "\n" + line
				continue
			}
			e["line"] = line
		}
		out = append(out, e)
	}
	return out
}

var normRules = []struct {
	re *regexp.Regexp
	to string
}{
	{regexp.MustCompile(`\.loops/runs/[^/\s'"\\\])]+`), ".loops/runs/<INST>"},
	{regexp.MustCompile(`\d{8}-\d{6}-subloop-`), "<TS>-subloop-"},
	{regexp.MustCompile(`\b([\w.-]+?)-\d{8}T\d{6}\b[\w-]*`), "${1}-<INST>"},
}

func normText(s, cwd string) string {
	s = strings.ReplaceAll(s, cwd, "<CWD>")
	for _, r := range normRules {
		s = r.re.ReplaceAllString(s, r.to)
	}
	return s
}

// norm returns v without what differs from run to run.
func norm(v any, cwd string) any {
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, x := range v {
			if k != "ts" && k != "seq" && k != "duration_ms" {
				m[k] = norm(x, cwd)
			}
		}
		return m
	case []any:
		l := make([]any, len(v))
		for i, x := range v {
			l[i] = norm(x, cwd)
		}
		return l
	case string:
		return normText(v, cwd)
	}
	return v
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func toJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

func short(v any) string { return cut(toJSON(v), 160) }

func cut(s string, n int) string {
	if len(s) > n {
		return s[:n] + "..."
	}
	return s
}

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		want, got string
		ok        bool
	}{
		{`"<any>"`, `null`, true},
		{`"a<any>c"`, `"a\nbc"`, true},
		{`"a<any>c"`, `"abcd"`, false},
		{`1`, `1.0`, true},
		{`1`, `true`, false},
		{`1`, `"1"`, false},
		{`null`, `false`, false},
		{`{"a":1}`, `{"a":1,"b":2}`, true},
		{`{"a":1,"b":null}`, `{"a":1}`, true},
		{`{"a":1}`, `{"a":2}`, false},
		{`[1,2]`, `[1]`, false},
		{`{"<one_of>":[1,2]}`, `2`, true},
		{`{"<one_of>":[1,2]}`, `3`, false},
		{`{"<range>":[1,2]}`, `1.5`, true},
		{`{"<range>":[1,2]}`, `2.5`, false},
	} {
		if d := match(decode(t, c.want), decode(t, c.got), "x"); (d == "") != c.ok {
			t.Errorf("match(%s, %s) = %q, want ok %v", c.want, c.got, d, c.ok)
		}
	}
	ev := func(s string) map[string]any { return decode(t, s).(map[string]any) }
	if d := matchEvent(ev(`{"event":"x"}`), ev(`{"event":"x","depth":1}`)); d == "" {
		t.Error("an unexpected depth is not a difference")
	}
	if d := matchEvent(ev(`{"event":"x"}`), ev(`{"event":"x","depth":0,"more":1}`)); d != "" {
		t.Error(d)
	}
	log := []map[string]any{ev(`{"event":"a"}`), ev(`{"event":"note"}`), ev(`{"event":"b"}`)}
	if d := matchEvents([]map[string]any{
		ev(`{"event":"a"}`), ev(`{"event":"o","<optional>":true}`),
		ev(`{"event":"b"}`),
	}, log); d != "" {
		t.Error(d)
	}
	if d := matchEvents([]map[string]any{ev(`{"event":"a"}`)}, log); d == "" {
		t.Error("an event too many is not a difference")
	}
}

func decode(t testing.TB, s string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		t.Fatalf("%v in %s", err, cut(s, 200))
	}
	return v
}
