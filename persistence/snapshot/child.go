package snapshot

import (
	"errors"
	"fmt"

	"loops/fsm"
	"loops/fsm/value"
)

// What the machine remembers of a sub-loop is the object sub_loop: what the sub-loop is, and its memory, a flat object
// like that of the run, in which there may be a sub_loop again.
//
// In a patch, sub_loop holds what changed: memory is a patch of its memory, log_add are new lines of its log, the rest
// are whole values. sub_loop_all is another visit or another sub-loop, whole; sub_loop null means that there is none.

func putChild(e *Writer, s *fsm.Snapshot) bool {
	c := s.Child
	if c == nil {
		return false
	}
	e.Open('{')
	e.Key("name")
	e.Value(c.Name)
	e.Key("file")
	e.Value(c.File)
	e.Key("sha256")
	e.Value(c.SHA256)
	e.Entry("timeout_ns", func() bool { return c.Timeout != 0 && e.Value(int64(c.Timeout)) })
	e.Entry("branch", func() bool { return c.Branch != "" && e.Value(c.Branch) })
	e.Entry("worktree", func() bool { return c.Worktree != "" && e.Value(c.Worktree) })
	e.Entry("log", func() bool { return len(c.Log) > 0 && e.log(c.Log) })
	e.Key("memory")
	appendMemory(e, c.Memory)
	return e.Close('}')
}

// appendMemory writes the machine's memory alone, without what a store knows.
func appendMemory(e *Writer, s *fsm.Snapshot) {
	e.Open('{')
	for i := range layout {
		e.field(&layout[i], s)
	}
	e.Close('}')
}

// takeChild reads a sub-loop. One without a memory is dropped: it starts over.
func takeChild(r *memory, v any) error {
	m, ok := v.(*value.Map)
	if !ok {
		return wrong("an object", v)
	}
	v, _ = m.Get("memory")
	if v == nil {
		return nil
	}
	flat, ok := v.(*value.Map)
	if !ok {
		return fmt.Errorf("memory: %w", wrong("an object", v))
	}
	if r.depth == fsm.MaxDepth {
		return fmt.Errorf("sub-loops are nested deeper than %d", fsm.MaxDepth)
	}
	inner := &memory{depth: r.depth + 1}
	c := &fsm.Child{Memory: &inner.Snapshot}
	r.Child = c
	err := TakeParts(m, map[string]func(any) error{
		"name":       func(v any) error { return TakeText(&c.Name, v) },
		"file":       func(v any) error { return TakeText(&c.File, v) },
		"sha256":     func(v any) error { return TakeText(&c.SHA256, v) },
		"timeout_ns": func(v any) error { return TakeInt(&c.Timeout, v) },
		"branch":     func(v any) error { return TakeText(&c.Branch, v) },
		"worktree":   func(v any) error { return TakeText(&c.Worktree, v) },
		"log":        func(v any) error { return takeLog(&c.Log, v) },
	})
	if inside := inner.takeAll(flat); err == nil && inside != nil {
		err = fmt.Errorf("memory: %w", inside)
	}
	return err
}

func patchChild(e *Writer, now, before *fsm.Snapshot) {
	a, b := now.Child, before.Child
	switch {
	case a == nil:
		e.Value(nil)
		return
	case b == nil || !sameVisit(a, b):
		return
	}
	e.Open('{')
	if a.Timeout != b.Timeout {
		e.Key("timeout_ns")
		e.Value(int64(a.Timeout))
	}
	if a.Branch != b.Branch {
		e.Key("branch")
		e.Value(a.Branch)
	}
	if a.Worktree != b.Worktree {
		e.Key("worktree")
		e.Value(a.Worktree)
	}
	if len(a.Log) > len(b.Log) {
		e.Key("log")
		patchTexts(e, a.Log, b.Log)
	}
	mark := len(e.Buf)
	e.Key("memory")
	start := len(e.Buf)
	appendPatch(e, a.Memory, b.Memory)
	if string(e.Buf[start:]) == "{}" {
		e.Buf = e.Buf[:mark]
	}
	e.Close('}')
}

// sameVisit reports whether one continued as the other. Where that is not known the patch is right all the same.
func sameVisit(now, before *fsm.Child) bool {
	return now.Name == before.Name && now.File == before.File && now.SHA256 == before.SHA256 &&
		now.Memory.StartedAt.Equal(before.Memory.StartedAt) && extends(now.Log, before.Log)
}

func applyChild(old, patch any) (any, error) {
	changes, ok := patch.(*value.Map)
	if !ok {
		return nil, wrong("an object", patch)
	}
	child, ok := old.(*value.Map)
	if !ok {
		return nil, errors.New("there is no sub-loop that it could change")
	}
	for _, k := range changes.Keys() {
		v, _ := changes.Get(k)
		switch k {
		case "memory":
			to, _ := child.Get(k)
			memory, ok := to.(*value.Map)
			change, ok2 := v.(*value.Map)
			if !ok || !ok2 {
				return nil, fmt.Errorf("%s: %w", k, wrong("an object", v))
			}
			if err := Apply(memory, change); err != nil {
				return nil, fmt.Errorf("%s: %w", k, err)
			}
		case "log_add":
			if err := addLog(child, v); err != nil {
				return nil, fmt.Errorf("%s: %w", k, err)
			}
		default:
			child.Set(k, v)
		}
	}
	return child, nil
}

// keepChild is what Remember does about the sub-loop: old is ours, and no one else has it.
func keepChild(old, now *fsm.Child) *fsm.Child {
	if now == nil {
		return nil
	}
	if old == nil {
		old = &fsm.Child{Memory: &fsm.Snapshot{}}
	}
	memory := old.Memory
	*old = *now
	old.Memory, old.Log = memory, now.Log[:len(now.Log):len(now.Log)]
	Remember(memory, now.Memory)
	return old
}
