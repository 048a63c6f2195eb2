package persistence

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

func putChild(e *encoder, s *fsm.Snapshot) bool {
	c := s.Child
	if c == nil {
		return false
	}
	e.open('{')
	e.key("name")
	e.value(c.Name)
	e.key("file")
	e.value(c.File)
	e.key("sha256")
	e.value(c.SHA256)
	e.entry("timeout_ns", func() bool { return c.Timeout != 0 && e.value(int64(c.Timeout)) })
	e.entry("branch", func() bool { return c.Branch != "" && e.value(c.Branch) })
	e.entry("worktree", func() bool { return c.Worktree != "" && e.value(c.Worktree) })
	e.entry("log", func() bool { return len(c.Log) > 0 && e.log(c.Log) })
	e.key("memory")
	appendMemory(e, c.Memory)
	return e.close('}')
}

// appendMemory writes the machine's memory alone, without what a store knows.
func appendMemory(e *encoder, s *fsm.Snapshot) {
	e.open('{')
	for i := range layout {
		if f := &layout[i]; f.put != nil {
			e.field(f, s)
		}
	}
	e.close('}')
}

// takeChild reads a sub-loop. One without a memory is none: it starts over.
func takeChild(r *record, v any) error {
	m, ok := v.(*value.Map)
	if !ok {
		return wrong("an object", v)
	}
	memory, _ := m.Get("memory")
	if memory == nil {
		return nil
	}
	flat, ok := memory.(*value.Map)
	if !ok {
		return fmt.Errorf("memory: %w", wrong("an object", memory))
	}
	if r.depth == fsm.MaxDepth {
		return fmt.Errorf("sub-loops are nested deeper than %d", fsm.MaxDepth)
	}
	inner := &record{depth: r.depth + 1}
	c := &fsm.Child{Memory: &inner.Snapshot}
	r.Child = c
	err := takeParts(m, map[string]func(any) error{
		"name":       func(v any) error { return takeText(&c.Name, v) },
		"file":       func(v any) error { return takeText(&c.File, v) },
		"sha256":     func(v any) error { return takeText(&c.SHA256, v) },
		"timeout_ns": func(v any) error { return takeInt(&c.Timeout, v) },
		"branch":     func(v any) error { return takeText(&c.Branch, v) },
		"worktree":   func(v any) error { return takeText(&c.Worktree, v) },
		"log":        func(v any) error { return takeLog(&c.Log, v) },
	})
	if inside := inner.takeAll(flat, required[:len(required)-1]); err == nil && inside != nil {
		err = fmt.Errorf("memory: %w", inside)
	}
	return err
}

func patchChild(e *encoder, now, before *fsm.Snapshot) {
	a, b := now.Child, before.Child
	switch {
	case a == nil:
		e.value(nil)
		return
	case b == nil || !sameVisit(a, b):
		return
	}
	e.open('{')
	if a.Timeout != b.Timeout {
		e.key("timeout_ns")
		e.value(int64(a.Timeout))
	}
	if a.Branch != b.Branch {
		e.key("branch")
		e.value(a.Branch)
	}
	if a.Worktree != b.Worktree {
		e.key("worktree")
		e.value(a.Worktree)
	}
	if len(a.Log) > len(b.Log) {
		e.key("log")
		patchTexts(e, a.Log, b.Log)
	}
	mark := len(e.buf)
	e.key("memory")
	start := len(e.buf)
	appendPatch(e, a.Memory, b.Memory)
	if string(e.buf[start:]) == "{}" {
		e.buf = e.buf[:mark]
	}
	e.close('}')
}

// sameVisit says whether one went on as the other. Where that cannot be told the patch is right all the same.
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
			if err := applyPatch(memory, change); err != nil {
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

// keepChild is what remember does about the sub-loop: old is ours, and nobody else has it.
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
	remember(memory, now.Memory)
	return old
}
