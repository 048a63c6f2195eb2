package fork

import (
	"strings"

	"loops/fsm"
)

// A Move says that a folder has another path now.
type Move struct{ From, To string }

// Rebase puts the new paths of folders in the place of the old ones in all texts that a run remembers: its context, what it
// captured, its messages and last results. It returns how many texts that were. The moves are tried in their order; the new
// path of one must not contain the old one of another.
func Rebase(m *fsm.Snapshot, moves []Move) (changed int) {
	r := &rebase{moves: moves}
	for _, part := range []**fsm.Map{&m.Context, &m.Captured, &m.PrevResult, &m.LastResult} {
		if *part != nil {
			*part, _ = r.value(*part).(*fsm.Map)
		}
	}
	messages := make([]string, len(m.Messages))
	for i, text := range m.Messages {
		messages[i] = r.text(text)
	}
	if len(messages) > 0 {
		m.Messages = messages
	}
	return r.changed
}

type rebase struct {
	moves   []Move
	changed int
}

// value returns a copy with the new paths.
func (r *rebase) value(v any) any {
	switch x := v.(type) {
	case string:
		return r.text(x)
	case *fsm.Map:
		to := fsm.NewMap()
		for _, k := range x.Keys() {
			y, _ := x.Get(k)
			to.Set(k, r.value(y))
		}
		return to
	case []any:
		to := make([]any, len(x))
		for i, y := range x {
			to[i] = r.value(y)
		}
		return to
	}
	return v
}

func (r *rebase) text(s string) string {
	now := s
	for _, m := range r.moves {
		now = replace(now, m.From, m.To)
	}
	if now != s {
		r.changed++
	}
	return now
}

// replace replaces a path where it ends as a path does: not in one that begins with it and goes on.
func replace(s, from, to string) string {
	if from == "" || !strings.Contains(s, from) {
		return s
	}
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(s, from)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		if rest != "" && isNameByte(rest[0]) {
			b.WriteString(from)
		} else {
			b.WriteString(to)
		}
		s = rest
	}
}

func isNameByte(c byte) bool {
	return c == '-' || c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
