package snapshot

import (
	"errors"
	"fmt"
	"slices"

	"loops/fsm"
	"loops/fsm/value"
)

// The branches of a state are the list branches: each has its name and, once it has ended, end, which holds
// what it left, and before that sub_loop, as a sub-loop has it.
//
// In a patch, branches holds the entries that changed, by name: end is whole, and sub_loop is a patch of it.
// One that is null is not in the list any more: it was of an item that ended. branches_all is the list of
// another visit, whole.

func putBranches(e *Writer, s *fsm.Snapshot) bool {
	if len(s.Branches) == 0 {
		return false
	}
	e.Open('[')
	for _, b := range s.Branches {
		e.item()
		e.Open('{')
		e.Key("name")
		e.Value(b.Name)
		e.putBranch(b)
		e.Close('}')
	}
	return e.Close(']')
}

func (e *Writer) putBranch(b *fsm.BranchMemory) {
	if b.End != nil {
		e.Key("end")
		e.record(b.End)
	}
	e.Entry("sub_loop", func() bool { return putChild(e, &fsm.Snapshot{Child: b.Child}) })
}

func takeBranches(r *memory, v any) error {
	list, ok := v.([]any)
	if !ok {
		return wrong("a list", v)
	}
	for i, v := range list {
		b, inner := &fsm.BranchMemory{}, &memory{depth: r.depth}
		err := TakeParts(v, map[string]func(any) error{
			"name":     func(v any) error { return TakeText(&b.Name, v) },
			"end":      func(v any) error { return TakeMap(&b.End, v) },
			"sub_loop": func(v any) error { return takeChild(inner, v) },
		})
		if err != nil {
			return fmt.Errorf("branch %d: %w", i+1, err)
		}
		if b.Child = inner.Child; b.Child != nil || b.End != nil {
			r.Branches = append(r.Branches, b)
		}
	}
	return nil
}

// patchBranches writes the branches that changed, or nothing if they are those of another visit.
func patchBranches(e *Writer, now, before *fsm.Snapshot) {
	a, b := now.Branches, before.Branches
	if len(a) == 0 || len(b) == 0 || !follows(a, b) {
		return
	}
	e.Open('{')
	i := 0
	for _, old := range b {
		if i == len(a) || a[i].Name != old.Name {
			e.Key(old.Name)
			e.Value(nil)
			continue
		}
		e.branchChange(a[i], old)
		i++
	}
	for _, x := range a[i:] {
		e.branchChange(x, &fsm.BranchMemory{})
	}
	e.Close('}')
}

// follows reports whether a is b without some of its entries, and with others after them.
func follows(a, b []*fsm.BranchMemory) bool {
	old := make(map[string]int, len(b))
	for i, x := range b {
		old[x.Name] = i
	}
	at, fresh := -1, false
	for _, x := range a {
		i, known := old[x.Name]
		if !known {
			fresh = true
			continue
		}
		if fresh || i <= at || b[i].End != nil && x.End == nil {
			return false
		}
		at = i
	}
	return at >= 0
}

func (e *Writer) branchChange(now, before *fsm.BranchMemory) {
	mark := len(e.Buf)
	e.Key(now.Name)
	start := len(e.Buf)
	e.patchBranch(now, before)
	if string(e.Buf[start:]) == "{}" {
		e.Buf = e.Buf[:mark]
	}
}

func (e *Writer) patchBranch(now, before *fsm.BranchMemory) {
	e.Open('{')
	defer e.Close('}')
	if now.End != nil {
		if !sameValue(now.End, before.End) {
			e.Key("end")
			e.record(now.End)
		}
		return
	}
	if before.Child != nil && sameVisit(now.Child, before.Child) {
		mark := len(e.Buf)
		e.Key("sub_loop")
		start := len(e.Buf)
		patchChild(e, &fsm.Snapshot{Child: now.Child}, &fsm.Snapshot{Child: before.Child})
		if string(e.Buf[start:]) == "{}" {
			e.Buf = e.Buf[:mark]
		}
		return
	}
	e.Key("sub_loop_all")
	putChild(e, &fsm.Snapshot{Child: now.Child})
}

func applyBranches(old, patch any) (any, error) {
	changes, ok := patch.(*value.Map)
	if !ok {
		return nil, wrong("an object", patch)
	}
	list, ok := old.([]any)
	if !ok {
		return nil, errors.New("there are no branches that it could change")
	}
	for _, name := range changes.Keys() {
		if changes.Value(name) == nil {
			list = slices.DeleteFunc(list, func(v any) bool {
				m, ok := v.(*value.Map)
				return ok && m.Value("name") == name
			})
			continue
		}
		change, ok := changes.Value(name).(*value.Map)
		if !ok {
			return nil, fmt.Errorf("%s: %w", name, wrong("an object", changes.Value(name)))
		}
		var to *value.Map
		for _, v := range list {
			if m, ok := v.(*value.Map); ok && m.Value("name") == name {
				to = m
			}
		}
		if to == nil {
			to = value.NewMap("name", name)
			list = append(list, to)
		}
		if err := applyBranch(to, change); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return list, nil
}

func applyBranch(to, change *value.Map) error {
	for _, k := range change.Keys() {
		v, _ := change.Get(k)
		switch k {
		case "end":
			to.Set(k, v)
			to.Delete("sub_loop")
		case "sub_loop_all":
			to.Set("sub_loop", v)
		case "sub_loop":
			now, err := applyChild(to.Value(k), v)
			if err != nil {
				return err
			}
			to.Set(k, now)
		default:
			to.Set(k, v)
		}
	}
	return nil
}

// keepBranches is what Remember does about the branches: old is ours, and no one else has it.
func keepBranches(old, now []*fsm.BranchMemory) []*fsm.BranchMemory {
	if len(now) == 0 {
		return nil
	}
	kept := make([]*fsm.BranchMemory, len(now))
	for i, b := range now {
		var was *fsm.Child
		if at := slices.IndexFunc(old, func(o *fsm.BranchMemory) bool { return o.Name == b.Name }); at >= 0 {
			was, old = old[at].Child, old[at+1:]
		}
		kept[i] = &fsm.BranchMemory{Name: b.Name, End: b.End, Child: keepChild(was, b.Child)}
	}
	return kept
}
