package fsm

import (
	"context"
	"iter"
	"slices"
	"time"
)

// A Machine is a run between two things that happen: its tasks, what each waits for, and what they have begun. It is
// a value without a goroutine, lock, channel, timer or clock. The same inputs in the same order lead the same way.
//
// A step takes what happened ([Input]), ends what is out of time, and lets each task continue until it waits. The
// driver (driver.go) then records, starts, ends, and waits, in this order:
//
//	out := m.Step(time.Now(), in) // advance until the world is needed
//	d.record()                    // out.Batch is durable
//	in = d.next(out, changed)     // start out.Start, end what has to end, and wait for what happens first
//
// The package comment has the whole contract.
type Machine struct {
	life   *life     // of the run
	tasks  []*task   // that have not ended, in the order in which they began
	begun  []*Effect // in this step
	crews  int       // of branches and items that are at work, one inside another
	out    Batch     // what is to be recorded before anything that was begun is started
	steps  int       // that it made
	drains bool      // nothing more is to begin
	news   int       // counts the changes that were reported (Config.Changed)
	now    time.Time // of the step that it makes
	seq    uint64    // number of the last event that was recorded
	safe   uint64    // number of the last event that is durable
	flows  bool      // something was written that is to become durable while tasks continue
	syncs  bool      // that is being done
	broken error     // the first failed record; nothing is done after it
	driver *driver   // reads the history, records lines of output, and makes durable what was written
	ended  Outcome   // of the run, once no task is left
}

// Load makes the machine of a run that [Start], [Resume] or [Fork] prepared: they differ in what it remembers, and in
// nothing else.
func Load(x *Executor) *Machine {
	var m *Machine
	m = load(x, func() { m.ended, _ = x.loop() }) // the error is broken
	return m
}

// load makes the machine of a run that runs as run.
func load(x *Executor, run func()) *Machine {
	m := &Machine{life: &life{}}
	x.life = m.life
	m.begin(x, run)
	return m
}

// An Input is what happened since the last step.
type Input struct {
	Done  []*Effect // that ended
	Stop  error     // the run is to end; nil = it is not
	Drain bool      // nothing more is to begin
	News  bool      // Config.Changed reported something
	Wake  bool      // a user ends a wait
}

// An Output is what a step leads to. It is lent until the next step.
type Output struct {
	Batch *Batch        // is recorded before anything of Start is started
	Start []*Effect     // are started after that
	Wake  time.Duration // until the next step at the latest, where Timed is set
	Timed bool
	Ended bool // no task is left
}

// Step takes what happened, and has the run continue until it needs the world again.
func (m *Machine) Step(now time.Time, in Input) (out Output) {
	m.now, m.begun = now, m.begun[:0]
	m.steps++
	m.drains = m.drains || in.Drain
	if in.News {
		m.news++
	}
	if in.Wake {
		m.awaken()
	}
	if in.Stop != nil {
		m.life.end(in.Stop)
	}
	for _, x := range in.Done {
		if x.done = true; x.then != nil {
			x.then()
		}
	}
	m.expire()
	m.advance()
	out = Output{Batch: &m.out, Start: m.begun, Ended: len(m.tasks) == 0}
	out.Wake, out.Timed = m.next()
	return out
}

// A task is a loop with its sub-loops: the run itself, a branch, or an item with a memory of its own. Tasks take
// turns. A task has the machine to itself until it gives way, which it does where it waits ([Executor.rest]), has the
// world do something ([Executor.do]) or wants what it emitted to be on record ([Executor.settle]), and nowhere else;
// so what a run remembers needs no lock.
type task struct {
	x     *Executor           // that it runs
	over  func() bool         // it continues once this reports true; nil = it can continue
	left  limitOfTime         // it is asked again then at the latest; nil = there is no such time
	wakes time.Time           // since when it is in a wait that a user may end; zero = it is in none
	woken bool                // a user ends that wait
	turn  func() (none, bool) // lets it continue until it gives way. It reports false where the task has ended
	give  func(none) bool     // gives way
}

type none = struct{}

// A limitOfTime returns in how long a time is up. It reports false where nothing is limited.
type limitOfTime func() (time.Duration, bool)

// An Effect is something that the world does while the machine rests.
type Effect struct {
	do   func(context.Context) // it must not use what the run remembers
	life *life                 // it is to end with it
	then func()                // takes the result, on the side of the machine; nil = there is nothing to take
	done bool
	took time.Duration
}

// begin adds a task that runs x.
func (m *Machine) begin(x *Executor, run func()) {
	t := &task{x: x}
	x.machine, x.task = m, t
	t.turn, _ = iter.Pull(func(give func(none) bool) {
		t.give = give
		run()
	})
	m.tasks = append(m.tasks, t)
}

// advance lets tasks continue until each of them waits for something that has not come.
func (m *Machine) advance() {
	for moved := true; moved; {
		moved = false
		for i := 0; i < len(m.tasks); i++ {
			t := m.tasks[i]
			if t.over != nil && !t.over() {
				continue
			}
			t.over, t.left, moved = nil, nil, true
			if _, goes := t.turn(); !goes {
				m.tasks = slices.Delete(m.tasks, i, i+1)
				i--
			}
		}
	}
}

// put adds to what is to be recorded.
func (m *Machine) put(b *Batch) {
	m.out.Events = append(m.out.Events, b.Events...)
	if b.Snapshot != nil {
		m.out.Snapshot = b.Snapshot
	}
	m.out.Checkpoint = m.out.Checkpoint || b.Checkpoint
	m.out.Written = m.out.Written || b.Written
}

// recorded notes that a batch was.
func (m *Machine) recorded(b *Batch) {
	if n := len(b.Events); n > 0 {
		m.seq = b.Events[n-1].Seq
	}
	if b.Checkpoint {
		m.safe, m.flows = m.seq, false
	} else {
		m.flows = m.flows || b.Written
	}
}

// flush returns the effect that makes durable what was written, while tasks continue; nil = there is none. One at a
// time does so: the next one takes all that was written meanwhile.
func (m *Machine) flush() *Effect {
	if !m.flows || m.syncs || m.broken != nil {
		return nil
	}
	var err error
	upTo := m.seq
	m.flows, m.syncs = false, true
	return &Effect{
		do:   func(ctx context.Context) { err = m.driver.sync(ctx) },
		life: m.life,
		then: func() {
			if m.syncs = false; err != nil && m.broken == nil {
				m.broken = err
			}
			m.safe = max(m.safe, upTo)
		},
	}
}

// settle gives way until what is to be recorded so far is. It reports whether that worked.
func (e *Executor) settle() bool {
	m, seen := e.machine, e.machine.steps
	if m.broken != nil || m.out.Snapshot == nil && len(m.out.Events) == 0 {
		return m.broken == nil
	}
	e.rest(func() bool { return m.steps != seen }, func() (time.Duration, bool) { return 0, true })
	return m.broken == nil
}

// mostAtOnce is how many events a task has recorded at once, where it needs nothing else of the world.
const mostAtOnce = 200

// settleMany is settle where there is much to be recorded, so that a step has a bound, and a stop is seen.
func (e *Executor) settleMany() {
	if len(e.machine.out.Events) >= mostAtOnce {
		e.settle()
	}
}

// numbered is the number that the last event has which is recorded, or is about to be; of a run whose files are
// kept, that or a lower one.
func (m *Machine) numbered() uint64 { return m.seq + uint64(len(m.out.Events)) }

// ready reports whether a task can continue.
func (m *Machine) ready() bool {
	return slices.ContainsFunc(m.tasks, func(t *task) bool { return t.over == nil || t.over() })
}

// expire ends the tasks whose time is up, whatever they do.
func (m *Machine) expire() {
	for _, t := range m.tasks {
		if left, limited := t.x.deadlineLeft(); limited && left <= 0 {
			t.x.deadline.late = true
			t.x.life.end(t.x.deadline.why)
		}
	}
}

// next returns in how long the machine has to advance, whatever happens until then. It reports false where it need not.
func (m *Machine) next() (first time.Duration, limited bool) {
	for _, t := range m.tasks {
		for _, limit := range []limitOfTime{t.left, t.x.deadlineLeft} {
			if limit == nil {
				continue
			}
			if left, has := limit(); has && (!limited || left < first) {
				first, limited = left, true
			}
		}
	}
	return first, limited
}

// rest gives way until over reports true. It is asked whenever something happened, and when the time of left is
// up. What the task has emitted is recorded before, where others continue meanwhile.
func (e *Executor) rest(over func() bool, left limitOfTime) {
	t := e.task
	if m := e.machine; len(e.batch.Events) > 0 && (m.crews > 0 || m.out.Snapshot != nil) {
		e.record(false)
	}
	t.over, t.left = over, left
	t.give(none{})
}

// do has f done by the world, and gives way until it is.
func (e *Executor) do(f func(context.Context)) {
	x := e.start(f)
	e.rest(func() bool { return x.done }, nil)
}

// start has f done by the world.
func (e *Executor) start(f func(context.Context)) *Effect {
	x := &Effect{do: f, life: e.life}
	e.machine.begun = append(e.machine.begun, x)
	return x
}

// awaken ends one of the waits that a user may end: the one that has lasted longest.
func (m *Machine) awaken() {
	var first *task
	for _, t := range m.tasks {
		if !t.wakes.IsZero() && (first == nil || t.wakes.Before(first.wakes)) {
			first = t
		}
	}
	if first != nil {
		first.woken = true
	}
}

// waits reports whether a task is in a wait that a user may end.
func (m *Machine) waits() bool {
	return slices.ContainsFunc(m.tasks, func(t *task) bool { return !t.wakes.IsZero() })
}

// mayWake has a user end a wait of the task that began at that time, until over is called.
func (t *task) mayWake(since time.Time) (over func()) {
	t.wakes, t.woken = since, false
	return func() { t.wakes, t.woken = time.Time{}, false }
}

// A life is how long a part of the run may continue: the run itself, a branch or an item.
type life struct {
	above *life
	cause error // by which it was ended; nil = it was not
}

// end ends it, unless it has ended.
func (l *life) end(cause error) {
	if l.ended() == nil {
		l.cause = cause
	}
}

// ended returns why it ended, nil if it continues.
func (l *life) ended() error {
	for ; l != nil; l = l.above {
		if l.cause != nil {
			return l.cause
		}
	}
	return nil
}
