package fsm

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"loops/fsm/value"
)

// What the machine remembers of a list whose items are more than a shell script, each a prompt, a loop, a wait
// or a question: those that have begun and not ended are among the branches of the memory, each under the name
// of its item and try. A resumed run continues inside them. What ended is reported as for any other item.

// inside reports whether each item of the state has a memory of its own.
func (x *Each) inside(st *State) bool {
	return st.Loop != "" || st.Await != nil || KindOf(st) != KindShell
}

// itemSign begins the name of an item among the branches: #12, and #12.2 where it is tried for the second time.
const itemSign = "#"

// itemName names a try of an item, both from 1 on.
func itemName(item, try int) string {
	name := itemSign + strconv.Itoa(item)
	if try > 1 {
		name += "." + strconv.Itoa(try)
	}
	return name
}

// ItemOf returns the item that has a name among the branches, from 1 on; 0 = it is no item's.
func ItemOf(name string) int {
	item, _ := itemTry(name)
	return item
}

func itemTry(name string) (item, try int) {
	text, is := strings.CutPrefix(name, itemSign)
	if !is {
		return 0, 0
	}
	number, again, tried := strings.Cut(text, ".")
	item, err := strconv.Atoi(number)
	if err != nil || item < 1 {
		return 0, 0
	}
	if try = 1; tried {
		if try, err = strconv.Atoi(again); err != nil || try < 2 {
			return 0, 0
		}
	}
	return item, try
}

// An itemPlace is an item that an executor works on.
type itemPlace struct {
	round *round
	item  int // from 0 on
}

// place is the item that an action sees, nil if there is none: a loop that an item runs is given what it needs by with.
func (e *Executor) place() *itemPlace {
	if !e.inline {
		return nil
	}
	return e.item
}

// workInside is work for items with a memory of their own.
func (r *round) workInside() {
	e := r.e
	defer r.crew.assemble()()
	r.first, r.begun = r.atWork(), map[int]bool{}
	for {
		r.fill()
		if len(r.crew.live) == 0 {
			return
		}
		c := r.crew
		e.rest(func() bool { return len(c.results) > 0 || c.freed }, nil)
		c.freed = false
		if done := c.ended(); done != nil {
			r.left(done)
		}
	}
}

// fill begins or continues items for as long as it may.
func (r *round) fill() {
	c := r.crew
	for c.busy < c.most && c.wanting == 0 && !c.hands && r.mayBegin() && r.e.mem.PendingRequest == "" &&
		r.e.affordable() == nil {
		i := r.nextInside()
		if r.ends[i].over() || r.begun[i] {
			continue
		}
		r.begun[i] = true
		if err := r.enter(i, r.memoryOf(i)); err != nil {
			r.tell(itemResult{item: i, err: err}, "error")
			r.saveInside()
		}
		r.e.settleMany()
	}
}

// atWork returns the items that acted, and did not wait, when the process before this one ended. They continue
// first: what another item does meanwhile their guards would take for theirs.
func (r *round) atWork() (items []int) {
	for _, b := range r.e.mem.Branches {
		if i := ItemOf(b.Name) - 1; i >= 0 && i < len(r.ends) && b.Child != nil && b.Child.Memory.acts() {
			items = append(items, i)
		}
	}
	return items
}

// acts reports whether a loop, or one inside it, is in a state and does not wait there.
func (m *Snapshot) acts() bool {
	if m.Awaiting != nil {
		return false
	}
	for _, c := range m.Inside() {
		if c.Memory.acts() {
			return true
		}
	}
	return m.Step > 0 && m.Child == nil && m.Branches == nil
}

// nextInside returns the item that begins or continues next.
func (r *round) nextInside() (i int) {
	if len(r.first) > 0 {
		i, r.first = r.first[0], r.first[1:]
		return i
	}
	r.next++
	return r.next - 1
}

// memoryOf returns what the machine remembers of an item that has begun; nil = nothing.
func (r *round) memoryOf(i int) *BranchMemory {
	for _, b := range r.e.mem.Branches {
		if ItemOf(b.Name) == i+1 {
			return b
		}
	}
	return nil
}

// enter begins an item. The error is that it cannot begin.
func (r *round) enter(i int, m *BranchMemory) error {
	e := r.e
	if m == nil && r.ends[i] == itemBegun && r.st.Once {
		r.tell(itemResult{item: i, err: errCutShort}, ItemInterrupted)
		r.saveInside()
		return nil
	}
	m, loop, err := e.admit(r.st, itemName(i+1, 1), r.itemScope(i), m)
	if err != nil {
		return err
	}
	if !e.continues(r.st, m.Child.Memory.Outcome) { // the process died before it was taken in
		return r.follow(i, m, r.crew.endOf(m))
	}
	if m.Child.Memory.Attempt > 0 && !e.cfg.Again.Interrupted {
		name, err := m.Child.Memory.Unrepeatable(loop, e.cfg.Library)
		if err != nil {
			return err
		}
		if name != "" {
			r.dismiss(m)
			r.tell(itemResult{item: i, err: errCutShort}, ItemInterrupted)
			r.saveInside()
			return nil
		}
	}
	fields := []Field{{"item", int64(i + 1)}, {"key", shortKey(r.list.key(i))}}
	if r.ends[i] == itemBegun {
		fields = append(fields, Field{"resumed", true})
	}
	r.ends[i] = itemBegun
	e.emit(EventItemStart, fields...)
	return r.launch(i, m, loop)
}

var errCutShort = errors.New("it was cut short, and idempotent: false does not let it be done again")

func (r *round) launch(i int, m *BranchMemory, loop *Loop) error {
	e := r.e
	if !e.record(true) {
		return nil
	}
	switch err := e.workTree(r.st, m.Child); {
	case errors.Is(err, errHalted):
		return nil // the item is on record, and continues when the run does
	case err != nil:
		r.dismiss(m)
		return err
	}
	x := r.crew.launch(m, loop, r.st, i+1).x
	x.item = &itemPlace{r, i}
	r.running = len(r.crew.live)
	return nil
}

// dismiss forgets what the machine remembers of an item. A list that was recorded is not changed: another one
// takes its place.
func (r *round) dismiss(m *BranchMemory) {
	r.e.mem.Branches = slices.DeleteFunc(slices.Clone(r.e.mem.Branches), func(b *BranchMemory) bool {
		return b.Name == m.Name
	})
}

// left notes that an item does not run any more.
func (r *round) left(d *member) {
	i := d.x.item.item
	came := r.crew.came(d)
	r.running = len(r.crew.live)
	if err := r.follow(i, d.memory, came); err != nil {
		r.tell(itemResult{item: i, err: err}, "error")
		r.saveInside()
	}
}

// follow does what the end of an item leads to.
func (r *round) follow(i int, m *BranchMemory, came int) error {
	switch came {
	case memberFatal:
		r.crew.cancelAll(errBranch)
	case memberOver:
		return r.settleInside(i, m)
	}
	return nil
}

// settleInside notes how a try of an item ended, and begins the next one where there is one: an item at work
// has all its tries, also where nothing more is to begin.
func (r *round) settleInside(i int, m *BranchMemory) error {
	e, o := r.e, m.Child.Memory.Outcome
	if !e.detach(r.st, m.Child) {
		return nil // its outcome is on record
	}
	verdict := memberVerdict(r.st, o)
	_, try := itemTry(m.Name)
	r.dismiss(m)
	if verdict != "yes" && try <= r.st.Each.Retries {
		next, loop, err := e.admit(r.st, itemName(i+1, try+1), r.itemScope(i), nil)
		switch {
		case err != nil:
			return err
		case e.root().shortage != nil || e.affordable() != nil:
			e.record(true)
			return nil // the item is at work on record, and continues when the run does
		}
		return r.launch(i, next, loop)
	}
	out := itemResult{item: i, tries: try - 1, took: m.Child.Memory.Elapsed, left: memberRecord(r.st, m.Child.Memory)}
	if verdict != "yes" && o.Error != "" {
		out.left.Set("error", o.Error)
	}
	r.tell(out, verdict)
	r.saveInside()
	return nil
}

// saveInside makes the end of an item durable, with the memory that does not hold it any more.
func (r *round) saveInside() bool {
	if r.due() {
		r.remember()
	}
	return r.e.record(true)
}

// leftFields returns the fields of an event for what an item left.
func leftFields(left *value.Map) (fields []Field) {
	add := func(name string, v any) {
		if v != nil && v != "" {
			fields = append(fields, Field{name, v})
		}
	}
	if text, ok := left.Value("error").(string); ok {
		add("error", value.Truncate(text, 500))
	}
	if left.Value("choice") != nil { // of a question
		answer := value.NewMap()
		for _, k := range left.Keys() {
			if k != "output" && k != "exit_code" && k != "verdict" {
				answer.Set(k, left.Value(k))
			}
		}
		add("answer", answer)
	} else {
		add("exit_code", left.Value("exit_code"))
	}
	add("final_state", left.Value("final_state"))
	add("output", left.Value("output"))
	add("output_file", left.Value("file"))
	add("output_bytes", left.Value("bytes"))
	return fields
}
