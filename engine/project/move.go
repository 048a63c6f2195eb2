package project

import (
	"strings"

	"loops/fsm"
	"loops/fsm/value"
)

// A MovedFolder has another path than it had.
type MovedFolder struct{ From, To string }

// RebasePaths puts the new paths of folders instead of the old ones in all that a run remembers, sub-loops
// included. What it was made of is not changed. It returns how many texts that were. Where an old path is the
// beginning of another one, the longer holds.
func RebasePaths(m *fsm.Snapshot, folders []MovedFolder) (changed int) {
	r := &rebase{folders: folders}
	r.memory(m)
	return r.changed
}

// MovedPath is one path with the new path of the folder that it is in.
func MovedPath(path string, folders []MovedFolder) string {
	return (&rebase{folders: folders}).text(path)
}

type rebase struct {
	folders []MovedFolder
	changed int
}

func (r *rebase) memory(m *fsm.Snapshot) {
	for _, part := range []**value.Map{&m.Context, &m.Param, &m.Captured, &m.PrevResult, &m.LastResult} {
		if *part != nil {
			*part, _ = r.value(*part).(*value.Map)
		}
	}
	m.Messages = r.texts(m.Messages)
	m.Continuation, m.PendingPayload = r.text(m.Continuation), r.text(m.PendingPayload)
	if m.Result != nil {
		res := r.result(*m.Result)
		m.Result = &res
	}
	answers := make([]fsm.Answer, len(m.Answers))
	for i, a := range m.Answers {
		answers[i] = fsm.Answer{Question: a.Question, Result: r.result(a.Result)}
	}
	if len(answers) > 0 {
		m.Answers = answers
	}
	m.Child = r.child(m.Child)
	branches := make([]*fsm.BranchMemory, len(m.Branches))
	for i, b := range m.Branches {
		branches[i] = &fsm.BranchMemory{Name: b.Name, End: b.End, Child: r.child(b.Child)}
	}
	if len(branches) > 0 {
		m.Branches = branches
	}
}

func (r *rebase) child(of *fsm.Child) *fsm.Child {
	if of == nil {
		return nil
	}
	c, inner := *of, *of.Memory
	c.File, c.Worktree, c.Log = r.text(c.File), r.text(c.Worktree), r.texts(c.Log)
	c.Memory = &inner
	r.memory(&inner)
	return &c
}

func (r *rebase) result(res fsm.Result) fsm.Result {
	res.Stdout, res.Stderr, res.File = r.text(res.Stdout), r.text(res.Stderr), r.text(res.File)
	return res
}

func (r *rebase) texts(old []string) []string {
	if len(old) == 0 {
		return old
	}
	now := make([]string, len(old))
	for i, text := range old {
		now[i] = r.text(text)
	}
	return now
}

// value returns a copy with the new paths.
func (r *rebase) value(v any) any {
	switch x := v.(type) {
	case string:
		return r.text(x)
	case *value.Map:
		to := value.NewMap()
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

// text replaces in one pass, so that a new path that contains an old one is not replaced again.
func (r *rebase) text(s string) string {
	var b strings.Builder
	done := 0 // up to here it is written to b
	for {
		at, f := r.next(s, done)
		if at < 0 {
			break
		}
		b.WriteString(s[done:at])
		b.WriteString(f.To)
		done = at + len(f.From)
	}
	if done == 0 {
		return s
	}
	r.changed++
	return b.String() + s[done:]
}

// next finds the next old path in s, and of those that begin at one place the longest.
func (r *rebase) next(s string, from int) (at int, found MovedFolder) {
	at = -1
	for _, f := range r.folders {
		if f.From == "" || f.From == "/" {
			continue
		}
		i := index(s, f.From, from)
		if i >= 0 && (at < 0 || i < at || i == at && len(f.From) > len(found.From)) {
			at, found = i, f
		}
	}
	return at, found
}

// index returns where a path is in s, from a place on; -1 if it does not.
func index(s, path string, from int) int {
	for {
		i := strings.Index(s[from:], path)
		if i < 0 {
			return -1
		}
		if i += from; isPath(s, i, i+len(path)) {
			return i
		}
		from = i + 1
	}
}

// isPath reports whether what is in s from one place to another is a path of its own, or the beginning of one that goes
// on with a slash: not a part of a longer name.
func isPath(s string, from, to int) bool {
	if rest := s[to:]; rest != "" {
		name := isNameByte(rest[0]) || rest[0] == '.' && len(rest) > 1 && (isNameByte(rest[1]) || rest[1] == '.')
		if name {
			return false
		}
	}
	if from == 0 {
		return true
	}
	switch before := s[from-1]; {
	case isNameByte(before):
		return false
	case s[from] != '/':
		return true
	case before == '/':
		return strings.HasSuffix(s[:from], "://")
	default:
		return before != '.' && before != '~' && before != '}'
	}
}

func isNameByte(c byte) bool {
	return c == '-' || c == '_' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
