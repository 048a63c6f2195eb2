package inspect

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"loops/fsm"
)

// A lane is what runs one after the other inside a branch or an item. It reads as a run does, inside the visits
// around it.
type lane struct {
	Reader
	rested time.Duration // the pauses of the run up to its newest event
}

// takeInside takes an event of what is inside a branch or an item.
func (r *Reader) takeInside(e fsm.Event) {
	if r.Inside == nil {
		return
	}
	path := str(e, "branch")
	if e.Kind == fsm.EventBranchStart || e.Kind == fsm.EventBranchEnd { // it is of the state with the branch
		path = path[:max(0, strings.LastIndexByte(path, '/'))]
	}
	l := r.lanes[path]
	if l == nil {
		l = r.newLane(path, e.Depth)
	}
	if e.Kind == fsm.EventLoopStart && e.Depth == l.base {
		l.inline, _ = e.Get("inline").(bool)
	}
	if e.Kind == fsm.EventStateEnter && !l.goesOn(e) {
		r.closeLanes(path+"/", e.Depth)
	}
	l.n = r.n
	l.take(e, r.rested)
	r.n = l.n
}

// newLane begins the lane of a branch or an item that is entered at a depth.
func (r *Reader) newLane(path string, depth int) *lane {
	around, within, loops, name := r.stack, []string(nil), r.loops, path
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		name = path[i+1:]
		if outer := r.lanes[path[:i]]; outer != nil {
			around, within, loops = outer.stack, outer.within, outer.loops
		}
	}
	l := &lane{
		Reader: Reader{Done: r.Inside, Each: r.Each, Keep: r.Keep, base: depth, loops: slices.Clone(loops)},
		rested: r.rested,
	}
	l.stack = slices.Clone(around[:min(depth, len(around))])
	for len(l.stack) < depth {
		l.stack = append(l.stack, &Visit{Index: -1, Above: slices.Clone(l.stack)})
	}
	l.within = append(slices.Clone(within), make([]string, max(0, depth-len(within)))...)
	if depth > 0 {
		l.within[depth-1] = name
	}
	if r.lanes == nil {
		r.lanes = map[string]*lane{}
	}
	r.lanes[path] = l
	return l
}

// take takes the next event of the lane. rested is how long the run was paused so far.
func (l *lane) take(e fsm.Event, rested time.Duration) {
	if !e.Time.IsZero() && !l.last.IsZero() && rested > l.rested { // it was no time of the visits
		pause := min(rested-l.rested, max(0, e.Time.Sub(l.last)))
		for _, v := range l.stack[l.base:] {
			if v.over {
				break
			}
			v.Paused += pause
			v.End = v.End.Add(pause)
		}
		l.last = l.last.Add(pause)
	}
	l.rested = rested
	l.Add(e)
}

// endLane ends what ran inside a branch or an item that has ended.
func (r *Reader) endLane(e fsm.Event) {
	if len(r.lanes) == 0 {
		return
	}
	path := str(e, "branch")
	switch e.Kind {
	case fsm.EventItemEnd:
		path = strings.TrimPrefix(path+fmt.Sprintf("/#%d", whole(e, "item")), "/")
	case fsm.EventBranchEnd:
	default:
		return
	}
	r.closeLanes(path, 0)
}

// closeLanes ends the lanes with a path, those inside them, and further tries of an item; those alone that were
// entered below a depth. A path that ends in "/" stands for those inside it. "" is all.
func (r *Reader) closeLanes(path string, depth int) {
	if len(r.lanes) == 0 {
		return
	}
	var names []string
	for name, l := range r.lanes {
		rest, below := strings.CutPrefix(name, path)
		if !below || l.base <= depth && depth > 0 || path != "" && !strings.HasSuffix(path, "/") && rest != "" &&
			rest[0] != '/' && rest[0] != '.' {
			continue
		}
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range slices.Backward(names) { // those inside another one first
		r.lanes[name].close(r.lanes[name].base)
		delete(r.lanes, name)
	}
}
