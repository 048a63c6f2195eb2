package simulate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"loops/engine"
	"loops/fsm"
	"loops/fsm/expr"
	"loops/fsm/value"
)

// An Unknown is a reference that has no value before a run.
type Unknown struct {
	Ref string // as written: ${captured.x.output}
	Why string
}

// Rendered is the action of a state, expanded as far as that goes before a run.
type Rendered struct {
	Action  string
	Params  *value.Map // of an mcp_tool, or what a request has beside its method and address; else nil
	Unknown []Unknown  // references that were left unchanged, each once
}

// Render expands the action of a state as if a run with the given context had just begun in it. References
// without a value are left unchanged. The error is a binding of its fragment that does not fit, or that the memory of
// the loop cannot be read; lessons may be nil.
func Render(ctx context.Context, l *fsm.Loop, st *fsm.State, values *value.Map, getenv func(string) (string, bool),
	lessons fsm.Lessons,
) (*Rendered, error) {
	r := renderer{scope: &expr.Scope{Context: values, State: st.Name, Step: 1, Loop: l.Name, Getenv: getenv}}
	if name := l.MemoryName(); name != "" && lessons != nil {
		all, err := lessons.Read(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("the memory %s cannot be read: %w", name, err)
		}
		r.scope.Memory = fsm.NewRecalled(name, all, l.Lessons.Tokens)
	}
	if st.Fragment != nil {
		given, _ := r.value(st.Fragment.Bindings).(*value.Map)
		if st.Fragment.Bindings == nil {
			given = new(value.Map)
		}
		bound, err := fsm.Bind(st.Fragment.Parameters, given)
		if err != nil {
			return nil, err
		}
		r.scope.Param = bound
	}
	if st.Call != nil { // what it shows is no place for secrets
		r.scope.Getenv = fsm.Shown(getenv)
	}
	out := &Rendered{Action: r.text(st.Action)}
	if st.Call != nil {
		if p := requestParams(st.Call); p != nil {
			out.Params, _ = r.value(p).(*value.Map)
		}
	}
	if st.Params.Len() > 0 {
		out.Params, _ = r.value(st.Params).(*value.Map)
	}
	for _, u := range r.unknown { // those of a parameter that nothing uses do not matter
		if strings.Contains(out.Action+string(value.AppendJSON(nil, out.Params)), u.Ref) {
			out.Unknown = append(out.Unknown, u)
		}
	}
	return out, nil
}

// requestParams are the parts of a request beside its method and address; nil = there are none.
func requestParams(c *fsm.Call) *value.Map {
	m := new(value.Map)
	if c.Headers.Len() > 0 {
		m.Set("headers", c.Headers)
	}
	if c.HasBody {
		m.Set("body", c.Body)
	}
	if c.HasJSON {
		m.Set("json", c.JSON)
	}
	if m.Len() == 0 {
		return nil
	}
	return m
}

type renderer struct {
	scope   *expr.Scope
	unknown []Unknown
}

func (r *renderer) text(text string) string {
	var b strings.Builder
	start := 0
	plain := func(s string) {
		s, _ = expr.Expand(s, r.scope) // there are escapes in it and no references
		b.WriteString(s)
	}
	for _, ref := range expr.References(text) {
		if ref.Escaped {
			continue
		}
		plain(text[start:ref.Offset])
		start = ref.Offset + len(ref.Text)
		v, why := r.reference(ref)
		if why == "" {
			b.WriteString(v)
			continue
		}
		b.WriteString(ref.Text)
		if !slices.ContainsFunc(r.unknown, func(u Unknown) bool { return u.Ref == ref.Text }) {
			r.unknown = append(r.unknown, Unknown{ref.Text, why})
		}
	}
	plain(text[start:])
	return b.String()
}

// reference returns the value of a reference, or why it has none yet.
func (r *renderer) reference(ref expr.Reference) (v, why string) {
	if ref.Namespace == "loop" && ref.Path != "name" {
		return "", "only a run knows it"
	}
	v, err := expr.Expand(ref.Text, r.scope)
	bad := &expr.TemplateError{}
	switch {
	case err == nil:
		return v, ""
	case slices.Contains([]string{"captured", "prev", "result"}, ref.Namespace):
		return "", "only a run knows it"
	case errors.As(err, &bad):
		return "", bad.Message
	}
	return "", err.Error()
}

func (r *renderer) value(v any) any {
	switch v := v.(type) {
	case string:
		return r.text(v)
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = r.value(item)
		}
		return list
	case *value.Map:
		m := new(value.Map)
		for _, k := range v.Keys() {
			item, _ := v.Get(k)
			m.Set(k, r.value(item))
		}
		return m
	}
	return v
}

// Lessons returns the memories of the project, which are read and not written to.
func (r *Subject) Lessons() fsm.Lessons { return engine.LessonsToRead(r.project) }
