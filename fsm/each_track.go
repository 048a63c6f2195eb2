package fsm

import (
	"slices"
	"strings"
)

// A ListRecord is what the events of a run say of one list: how its items ended, and which events say so.
type ListRecord struct {
	State  string
	Depth  int    // of the loop that works on it
	Branch string // path of the branches that this loop is in; "" = it is in none
	Count  int    // of items
	Begun  uint64 // the event that the list began with; 0 = a fork took it over, and did not continue it yet
	Over   bool   // its verdict is on record

	side int // number of the parallel state around it, among those of the run
	ends []itemEnd
	seqs []uint64 // of the event with the result of each item; 0 = it has none
}

// Taken returns how many items a fork takes over: those that ended with yes, and those that were cut short and
// must not be repeated, unless rerun is set.
func (l *ListRecord) Taken(rerun bool) (n int) {
	for _, end := range l.ends {
		if takenOver(end, rerun) {
			n++
		}
	}
	return n
}

// Good returns how many items ended with yes.
func (l *ListRecord) Good() int { return l.Taken(true) }

func takenOver(end itemEnd, rerun bool) bool {
	return end == itemYes || end == itemInterrupted && !rerun
}

// From returns the number of the first event with a result that a fork takes over; 0 = there is none.
func (l *ListRecord) From(rerun bool) (first uint64) {
	for i, seq := range l.seqs {
		if takenOver(l.ends[i], rerun) && (first == 0 || seq < first) {
			first = seq
		}
	}
	return first
}

// Takes returns the result of an item that a fork takes over as an event of the fork. It reports false for any
// other event.
func (l *ListRecord) Takes(ev Event, rerun bool) (Event, bool) {
	if !endsItem(ev) {
		return ev, false
	}
	i, ok := itemIndex(ev, l.Count)
	if !ok || l.seqs[i] != ev.Seq || !takenOver(l.ends[i], rerun) {
		return ev, false
	}
	ev.Kind, ev.Seq = EventItemTaken, 0
	ev.Fields = slices.DeleteFunc(slices.Clone(ev.Fields), func(f Field) bool {
		return f.Key == "done" || f.Key == "failed" || f.Key == "running"
	})
	return ev, true
}

func (l *ListRecord) add(ev Event) {
	switch ev.Kind {
	case EventItemsStart:
		again := againOf(ev)
		for i, end := range l.ends {
			if again.takes(end) {
				l.ends[i], l.seqs[i] = itemOpen, 0
			}
		}
	case EventItemStart:
		if i, ok := itemIndex(ev, l.Count); ok && l.ends[i] == itemOpen {
			l.ends[i] = itemBegun
		}
	case EventItemEnd, EventItemTaken:
		if i, ok := itemIndex(ev, l.Count); ok && !l.ends[i].over() {
			verdict, _ := ev.Get("verdict").(string)
			l.ends[i], l.seqs[i] = endOf(verdict), ev.Seq
		}
	}
}

// A ListTrack finds the lists of the step that a run is in, from its events, those of sub-loops and branches
// included. Lists inside an item are left out: a fork does such an item again, or takes it over. The zero
// ListTrack is ready.
type ListTrack struct {
	lists []*ListRecord
	sides int
}

// Add takes the next event of the run.
func (t *ListTrack) Add(ev Event) {
	branch, _ := ev.Get("branch").(string)
	if strings.Contains("/"+branch, "/"+itemSign) {
		return
	}
	switch ev.Kind {
	case EventStateEnter:
		if ev.Depth == 0 && branch == "" && ev.Get("resumed") == nil {
			t.lists = nil
		}
	case EventBranchesStart:
		if ev.Get("resumed") == nil {
			t.sides++
		}
	case EventItemsStart:
		l := t.at(ev.Depth, branch)
		if l == nil || ev.Get("resumed") == nil {
			state, _ := ev.Get("state").(string)
			n, _ := ev.Get("items").(int64)
			l = t.begin(&ListRecord{State: state, Depth: ev.Depth, Branch: branch, Count: int(n)})
		}
		if l.Begun == 0 {
			l.Begun, l.side = ev.Seq, t.sides
			l.State, _ = ev.Get("state").(string)
		}
		l.add(ev)
	case EventItemTaken:
		l := t.at(ev.Depth, branch)
		if l == nil {
			n, _ := ev.Get("items").(int64)
			l = t.begin(&ListRecord{Depth: ev.Depth, Branch: branch, Count: int(n)})
		}
		l.add(ev)
	case EventItemStart, EventItemEnd:
		if l := t.at(ev.Depth, branch); l != nil {
			l.add(ev)
		}
	case EventEvaluate:
		if l := t.at(ev.Depth, branch); l != nil && ev.Get("type") == "for_each" {
			l.Over = true
		}
	}
}

func (t *ListTrack) begin(l *ListRecord) *ListRecord {
	l.ends, l.seqs = make([]itemEnd, l.Count), make([]uint64, l.Count)
	t.lists = append(t.lists, l)
	return l
}

// at returns the newest list of a loop, nil if there is none.
func (t *ListTrack) at(depth int, branch string) *ListRecord {
	for _, l := range slices.Backward(t.lists) {
		if l.Depth == depth && l.Branch == branch {
			return l
		}
	}
	return nil
}

// Failed returns the newest list of the step with an item that did not end with yes, and of branches beside it
// each one's newest, in the order in which they began; nil = there is none.
func (t *ListTrack) Failed() (lists []*ListRecord) {
	for _, l := range slices.Backward(t.lists) {
		if l.Begun == 0 || l.Good() == l.Count {
			continue
		}
		if len(lists) > 0 &&
			(l.Branch == "" || lists[0].Branch == "" || l.side != lists[0].side ||
				slices.ContainsFunc(lists, func(o *ListRecord) bool {
					return outermost(o.Branch) == outermost(l.Branch)
				})) {
			continue
		}
		lists = append(lists, l)
	}
	slices.Reverse(lists)
	return lists
}

// outermost returns the first branch of a path.
func outermost(path string) string {
	name, _, _ := strings.Cut(path, "/")
	return name
}

func itemIndex(ev Event, count int) (int, bool) {
	n, ok := ev.Get("item").(int64)
	return int(n) - 1, ok && n >= 1 && n <= int64(count)
}
