package fsm

import (
	"fmt"
	"iter"
	"slices"
	"strings"
)

// A ListMemory is a list of a run that is forked, and what the run remembered when it began that list.
type ListMemory struct {
	*ListRecord
	Memory *Snapshot // changed by [RetryItems]
}

// A ListTreeError means that a list was worked on in a work tree of a branch or a sub-loop: what its items
// changed is there.
type ListTreeError struct{ Path string }

func (e *ListTreeError) Error() string { return "the items worked in the work tree " + e.Path }

// RetryItems returns the memory of a fork that repeats the items of some lists that did not end with yes. All
// lists are of one step of the run: one list, or lists of branches beside each other; see [ListTrack.Failed].
// The fork continues where each list began. Other branches that ended with yes stay, as last has them; the rest
// begin again. Items that must not be repeated and were cut short stay interrupted, unless rerun is set.
// RetryItems fails if a memory does not have its list, and with a *ListTreeError.
func RetryItems(lists []ListMemory, last *Snapshot, rerun bool) (*Snapshot, error) {
	r := retryItems{rerun: rerun}
	for _, l := range lists {
		r.parts = append(r.parts, retryPart{l.ListRecord, l.Memory, l.Branch})
	}
	m, err := r.memory(last)
	if err != nil {
		return nil, err
	}
	m.Flushing, m.StepsCapped, m.PassCapped, m.CappedAt, m.Continuation = false, false, false, "", ""
	return m, nil
}

// A retryPart is a list with the memory of the run, or of a loop around the list.
type retryPart struct {
	list   *ListRecord
	memory *Snapshot
	path   string // of the branches from that loop to the list
}

// retryItems makes the memory of one loop, and of those inside it.
type retryItems struct {
	parts []retryPart // in the order in which the lists began
	rerun bool
}

func (r retryItems) memory(last *Snapshot) (*Snapshot, error) {
	newest := r.parts[len(r.parts)-1]
	l, m := newest.list, newest.memory
	m.Answers, m.Asking, m.AskingMost, m.Result, m.Wait, m.Awaiting, m.Raised, m.Decided, m.Ending, m.Outcome = nil,
		false, 0, nil, nil, nil, nil, nil, nil, nil
	m.PendingRequest, m.PendingPayload = "", ""
	switch items := m.Items; {
	case m.Child != nil:
		if m.Child.Worktree != "" {
			return nil, &ListTreeError{m.Child.Worktree}
		}
		inner := retryItems{rerun: r.rerun}
		for _, p := range r.parts {
			if p.memory.Child == nil {
				return nil, notRecorded(p.list)
			}
			inner.parts = append(inner.parts, retryPart{p.list, p.memory.Child.Memory, p.path})
		}
		memory, err := inner.memory(last.innerOf())
		if err == nil {
			m.Child.Memory = memory
		}
		return m, err
	case newest.path != "":
		var err error
		m.Attempt = 0
		m.Branches, err = r.branches(last)
		return m, err
	case items == nil || items.State != m.Current || items.Step != m.Step || items.State != l.State ||
		items.Count != l.Count:
		return nil, notRecorded(l)
	}
	items := *m.Items
	items.Since, items.Through, items.Ends, items.Starts = 0, 0, encodeEnds(m.Step, l.kept(r.rerun)), nil
	m.Items, m.Branches, m.Attempt = &items, nil, 0
	return m, nil
}

// innerOf returns the memory of the sub-loop that a loop runs; nil = it runs none.
func (m *Snapshot) innerOf() *Snapshot {
	if m == nil || m.Child == nil {
		return nil
	}
	return m.Child.Memory
}

func notRecorded(l *ListRecord) error {
	return fmt.Errorf("what the run remembered when it began the list of state %s is not on record", l.State)
}

// branches returns the branches that a fork has begun, each with the newest that is known of it.
func (r retryItems) branches(last *Snapshot) (kept []*BranchMemory, err error) {
	var names []string
	found, inner := map[string]*BranchMemory{}, map[string]*retryItems{}
	for _, p := range append(slices.Clip(r.parts), retryPart{memory: last}) {
		if p.memory == nil {
			continue
		}
		for _, b := range p.memory.Branches {
			if found[b.Name] == nil {
				names = append(names, b.Name)
			}
			if inner[b.Name] == nil {
				found[b.Name] = b
			}
		}
		if p.list == nil {
			continue
		}
		name, rest, _ := strings.Cut(p.path, "/")
		b := p.memory.branch(name)
		switch {
		case b == nil || b.Child == nil:
			return nil, notRecorded(p.list)
		case b.Child.Worktree != "":
			return nil, &ListTreeError{b.Child.Worktree}
		case inner[name] == nil:
			inner[name] = &retryItems{rerun: r.rerun}
		}
		found[name] = b
		inner[name].parts = append(inner[name].parts, retryPart{p.list, b.Child.Memory, rest})
	}
	for _, name := range names {
		b := found[name]
		if in := inner[name]; in != nil {
			if b.Child.Memory, err = in.memory(nil); err != nil {
				return nil, err
			}
			kept = append(kept, b)
		} else if b.End != nil && b.End.Value("verdict") == "yes" {
			kept = append(kept, b)
		}
	}
	return kept, nil
}

// kept returns the ends of items that a fork takes over. An item without an end may have begun: it is no other
// than one that was cut short.
func (l *ListRecord) kept(rerun bool) []itemEnd {
	ends := make([]itemEnd, len(l.ends))
	for i, end := range l.ends {
		if takenOver(end, rerun) || end == itemBegun && !rerun {
			ends[i] = end
		}
	}
	return ends
}

// TakeOver has a fork record results of another run's items, before it records what it remembers itself. The
// events are those that [ListRecord.Takes] returns, each of which is durable before the memory is that says so.
func (e *Executor) TakeOver(events iter.Seq2[Event, error]) { e.taken = events }

// takenAtOnce is how many results are recorded at once, of takenBytes at most and one more.
const takenAtOnce, takenBytes = 1000, 1 << 20

// takeOver records results of another run's items.
func (e *Executor) takeOver() bool {
	if e.taken == nil {
		return true
	}
	size := 0
	for ev, err := range e.taken {
		if err != nil {
			e.machine.broken = &HistoryError{err}
			return false
		}
		ev.Time = e.now()
		e.batch.Events = append(e.batch.Events, ev)
		if text, ok := ev.Get("output").(string); ok {
			size += len(text)
		}
		if len(e.batch.Events) >= takenAtOnce || size >= takenBytes {
			if size = 0; !e.save(false) || !e.settle() {
				return false
			}
		}
	}
	e.taken = nil
	return true
}
