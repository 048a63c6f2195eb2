package expr

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"

	"loops/fsm/value"
)

// maxDepth is how deep lists and mappings may be nested.
const maxDepth = 100

// namespace returns what an expression sees under one of the names: the keys it uses, all with nil.
func (p *Program) namespace(s *Scope, name string, keys []string) (any, error) {
	switch name {
	case "messages":
		return fromValue(s.Messages)
	case "memory":
		if s.Memory == nil {
			return []any{}, nil
		}
		return fromValue(s.Memory.Values())
	case "state":
		return map[string]any{"name": s.State, "iteration": s.Step, "visits": s.Visited()}, nil
	case "loop":
		return map[string]any{
			"name": s.Loop, "started_at": s.StartedAt, "elapsed_ms": s.ElapsedMS,
			"elapsed": Elapsed(s.ElapsedMS),
		}, nil
	case "run":
		run := map[string]any{"id": s.RunID, "attempt": s.RunAttempt, "scheduled_at": nil}
		if s.ScheduledAt != "" {
			run["scheduled_at"] = s.ScheduledAt
		}
		return run, nil
	case "env", "secret":
		find := s.secret
		if name == "env" {
			find = s.Getenv
		}
		found := map[string]any{}
		for _, k := range keys {
			if find == nil {
				break
			}
			if v, ok := find(k); ok {
				found[k] = v
			}
		}
		return found, nil
	}
	if output, ok := s.Prev.Value("output").(string); ok && name == "prev" { // as that of a capture
		prev := s.Prev.Clone()
		prev.Set("output", strings.TrimRight(output, "\r\n"))
		own := *s
		own.Prev = prev
		s = &own
	}
	in := reader{scope: s, refs: p.refs}
	m := map[string]*value.Map{
		"context": s.Context, "captured": s.Captured, "param": s.Param, "prev": s.Prev,
		"event": s.Event, "result": s.Result, "item": s.Item,
	}[name]
	if m == nil {
		return map[string]any{}, nil
	}
	if keys == nil || name == "prev" {
		return in.read(m, name)
	}
	out := map[string]any{}
	for _, k := range keys {
		if v, ok := m.Get(k); ok {
			v, err := in.read(v, name, k)
			if err != nil {
				return nil, err
			}
			out[k] = v
		}
	}
	return out, nil
}

// fromValue turns a value of the language into one of expressions.
func fromValue(v any) (any, error) { return reader{}.read(v) }

// A reader turns the values of a scope into those of an expression.
type reader struct {
	scope *Scope // nil = the values are in none
	refs  []Ref  // of the expression
}

// read turns the value under a path, its namespace first.
func (r reader) read(v any, path ...string) (any, error) {
	if len(path) > maxDepth {
		return nil, fmt.Errorf("a value is nested more than %d deep", maxDepth)
	}
	switch v := v.(type) {
	case *value.Map:
		m := make(map[string]any, v.Len())
		for _, k := range v.Keys() {
			in, err := r.read(v.Value(k), append(path[:len(path):len(path)], k)...)
			if err == nil && IsCut(v, k) && r.uses(append(path[:len(path):len(path)], k)) {
				in, err = r.scope.WholeText(v, k, strings.Join(path, "."))
			}
			if err != nil {
				return nil, err
			}
			m[k] = in
		}
		return m, nil
	case []any:
		return listOf(v, func(item any) (any, error) {
			return r.read(item, append(path[:len(path):len(path)], "[]")...)
		})
	case []string:
		return listOf(v, func(item string) (any, error) { return item, nil })
	case *big.Int:
		f, _ := new(big.Float).SetInt(v).Float64()
		return f, nil
	}
	return v, nil
}

// uses reports whether the expression may look at the value under a path. Only these namespaces have records of
// actions.
func (r reader) uses(path []string) bool {
	if r.scope == nil || path[0] != "captured" && path[0] != "prev" && path[0] != "item" {
		return false
	}
	return slices.ContainsFunc(r.refs, func(ref Ref) bool {
		n := min(len(ref.Path), len(path)-1)
		return ref.Namespace == path[0] && slices.Equal(ref.Path[:n], path[1:n+1])
	})
}

// toValue turns what an expression gave into a value of the language.
func toValue(v any, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("the value is nested more than %d deep", maxDepth)
	}
	switch v := v.(type) {
	case nil, bool, int64, string:
		return v, nil
	case int:
		return int64(v), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("the number is too large")
		}
		return v, nil
	case []any:
		return listOf(v, func(item any) (any, error) { return toValue(item, depth+1) })
	case []int:
		return listOf(v, func(item int) (any, error) { return int64(item), nil })
	case []string:
		return listOf(v, func(item string) (any, error) { return item, nil })
	case map[string]any:
		m := value.NewMap()
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out, err := toValue(v[k], depth+1)
			if err != nil {
				return nil, err
			}
			m.Set(k, out)
		}
		return m, nil
	}
	return nil, fmt.Errorf("the expression gives a %T, which is not a value of a loop", v)
}

// listOf is a list of what each makes of the items.
func listOf[T any](items []T, each func(T) (any, error)) (any, error) {
	list := make([]any, len(items))
	for i, item := range items {
		v, err := each(item)
		if err != nil {
			return nil, err
		}
		list[i] = v
	}
	return list, nil
}

// fromJSON reads a JSON text as the language does: whole numbers stay whole.
func fromJSON(args ...any) (any, error) {
	text, ok := args[0].(string)
	if !ok {
		given := named(args[0])
		if args[0] == nil {
			given = "nil"
		}
		return nil, fmt.Errorf("fromJSON needs a text, and got %s", given)
	}
	v, err := value.ParseJSON([]byte(text))
	if err != nil {
		return nil, &operandError{"fromJSON: " + err.Error()}
	}
	return fromValue(v)
}
