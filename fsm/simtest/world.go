package simtest

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"slices"
	"strconv"
	"sync"
	"time"

	"loops/fsm"
	"loops/persistence/snapshot"
)

// A World is all that a run meets, in the virtual time of a bubble: what acts, what remembers, and a user who
// disturbs. What an action comes to depends on its place in the run and on how many of its results are on
// record, and on nothing else.
type World struct {
	seed     uint64
	loop     *fsm.Loop
	allSteps int // its max_steps: that of loop may be lower
	lib      shelf
	plan     []Disturbance

	// how often the run was stepped, and when that was last looked at
	stepped   int
	steppedAt time.Time

	mu      sync.Mutex
	begun   time.Time
	events  []fsm.Event
	whole   []byte   // the newest memory, now and then
	lines   [][]byte // of the memory: the first one whole, patches after it
	enc     *snapshot.Encoder
	batches int
	safe    mark
	boots   int            // how often the power was cut
	steps   int            // batches, and results
	results map[string]int // on record, by place
	marks   map[string]bool
	started map[string]int // how often an item was, by place
	// the same before something was handed over or put back: it may be the item, or what is beside it
	undone  map[string]int
	exact   bool            // what is on record of that is neither too high nor lost
	flying  map[string]int  // actions in flight, by the list or state that they belong to
	lists   map[string]bool // that are or were at work, by mark
	most    map[string]int  // items at work at once, by the mark of their list
	asked   map[string]bool
	awaited map[string]bool   // waits for events that are on record now
	watched map[string]bool   // those of them for which the event is sent again and again
	over    bool              // the run has ended for good
	ended   bool              // it has ended, as the record has it
	acted   map[string]bool   // whether the state that a branch is in has a result
	state   map[string]string // where a branch is
	step    map[string]int64  // of the state that a branch is in
	flushed map[string]bool   // whether a branch is in a state that acts one last time
	limited bool              // nothing raises a limit
	unheard map[string]bool   // states that a guard judged without a result
	elapsed time.Duration     // on record
	faults  []string
	cut     int // prompts and judges that a stop ended

	life    *life
	hold    chan struct{}
	heldAt  time.Time
	changed chan struct{}
	raises  []fsm.Raise
	inbox   []fsm.Signal
	scarce  map[string]bool              // places whose action could not be started once
	refused map[string]time.Time         // hosts that refuse, and until when
	files   map[string]map[string]string // that actions change, by folder and path
	repo    *repository
	blocked map[string]*fsm.Suspension
	tried   map[string]time.Time      // when a run last asked an agent that others found blocked
	out     map[string]map[string]int // agents that are not asked, by memory
	first   string                    // the files with which the run began, as a tree; "" = they were not kept yet
	saidNo  string                    // the first state of the run, if its verdict was no
	failed  map[string]bool           // checks that failed before the first prompt, by branch and state

	facts    map[string][]fsm.Lesson // by memory
	known    map[string]string       // facts on record, by memory and id
	uses     map[string]fsm.LessonUse
	recalled int // how often the run has read its memory

	spawned uint64 // number of the handoff for which an agent was started last

	awake bool            // no user ends a wait
	taken map[uint64]bool // numbers of signals that waits took, on record

	breach bool // files are to be put back, as the record has it
	atEnd  atEnd
}

// A life is one process of the run.
type life struct {
	dead     bool      // nothing is recorded any more
	brokenAt time.Time // the store reported an error then; zero = it did not
	asked    bool      // to end: it is resumed
	cancel   context.CancelCauseFunc
	drain    chan struct{}
	wake     chan struct{}
}

// NewWorld returns a world without a run. It is used inside one bubble.
func NewWorld(seed uint64, loop *fsm.Loop, lib shelf, plan []Disturbance) *World {
	all := loop.MaxSteps
	if len(plan) > 0 && plan[0].What == Cap {
		if most := plan[0].After; most < loop.MaxSteps && loop.OnMaxSteps == "" {
			loop = withSteps(loop, most)
		}
		plan = plan[1:]
	}
	w := &World{
		limited: all == loop.MaxSteps && !slices.ContainsFunc(plan, func(d Disturbance) bool {
			return d.What == Extend
		}),
		awake: !slices.ContainsFunc(plan, func(d Disturbance) bool { return d.What == Wake }),
		exact: !slices.ContainsFunc(plan, func(d Disturbance) bool {
			return d.What == PowerCut || d.What == CrashKept || d.What == Broken
		}),
		seed: seed, loop: loop, allSteps: all, lib: lib, plan: slices.Clone(plan), enc: snapshot.NewEncoder(nil),
		results: map[string]int{}, marks: map[string]bool{}, started: map[string]int{}, undone: map[string]int{},
		flying: map[string]int{}, lists: map[string]bool{}, most: map[string]int{}, asked: map[string]bool{},
		awaited: map[string]bool{}, watched: map[string]bool{}, changed: make(chan struct{}),
		scarce: map[string]bool{}, refused: map[string]time.Time{}, files: map[string]map[string]string{},
		repo:    newRepository(),
		blocked: map[string]*fsm.Suspension{}, tried: map[string]time.Time{}, out: map[string]map[string]int{},
		failed: map[string]bool{},
		facts:  map[string][]fsm.Lesson{}, known: map[string]string{}, uses: map[string]fsm.LessonUse{},
		taken: map[uint64]bool{}, acted: map[string]bool{}, state: map[string]string{}, unheard: map[string]bool{},
		flushed: map[string]bool{}, step: map[string]int64{},
	}
	w.atEnd.merges = w.hash("merge")%2 == 0
	return w
}

// withSteps returns the loop with another cap on its steps.
func withSteps(l *fsm.Loop, most int) *fsm.Loop {
	capped := *l
	capped.MaxSteps = most
	return &capped
}

var errDied = errors.New("the process died")

// mostLives is how often a run may be resumed.
const mostLives = 400

// Run runs the loop to its end, over as many processes as it takes.
func (w *World) Run() *Trace {
	w.begun = time.Now()
	hung := time.AfterFunc(10_000*time.Hour, func() {
		w.mu.Lock()
		w.fault("the run hangs")
		w.mu.Unlock()
		w.life.cancel(errDied)
	})
	defer hung.Stop()
	for n := 1; ; n++ {
		out, err, resumable := w.live(n)
		if err == nil && !resumable || len(w.faults) > 0 || n > mostLives {
			return w.trace(out, n)
		}
		time.Sleep(time.Duration(w.hash("between", n) % 100_000_000_000))
	}
}

func (w *World) live(n int) (out fsm.Outcome, err error, resumable bool) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	l := &life{cancel: cancel, drain: make(chan struct{}), wake: make(chan struct{}, 1)}
	w.mu.Lock()
	w.life = l
	w.mu.Unlock()
	var x *fsm.Executor
	if len(w.lines) == 0 {
		x = fsm.Start(w.config(n), w.loop.Context.Clone(), time.Now())
	} else {
		mem, err := w.memory()
		if err != nil {
			w.fault("what is on record cannot be read: " + err.Error())
			return out, err, false
		}
		if o := mem.Outcome; o != nil && !w.resumes(*o) {
			return *o, nil, false // the process died when all was on record
		}
		x = fsm.Resume(w.config(n), mem)
	}
	out, err = x.Run(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil && !l.dead {
		w.fault("the run broke: " + err.Error())
	}
	if n := len(w.flying); n > 0 {
		w.fault(fmt.Sprintf("the run ended, and %d actions are in flight", n))
	}
	l.dead = true
	return out, err, err != nil || w.resumes(out)
}

// resumes reports whether a run that ended so is resumed: a user, or a lack of something, ended it, or a cap
// that is raised then.
func (w *World) resumes(o fsm.Outcome) bool {
	switch o.TerminatedBy {
	case fsm.EndInterrupted, fsm.EndUserStopped, fsm.EndHandoff, fsm.EndParked, fsm.EndSuspended:
		return true
	case fsm.EndMaxSteps:
		if o.Steps < w.allSteps {
			w.atEnd.done = ""
			w.loop = withSteps(w.loop, min(o.Steps+3, w.allSteps))
			return true
		}
	}
	return false
}

func (w *World) config(n int) fsm.Config {
	l := w.life
	merge := w.merge
	if !w.atEnd.merges {
		merge = nil
	}
	return fsm.Config{
		Loop: w.loop,
		Dir:  folder,
		Run:  fsm.RunName{ID: "run", Attempt: n},
		World: fsm.World{
			Library: w.lib,
			Runner:  runner{w},
			Files:   files{w},
			Random:  func() float64 { return 0.5 },
			Circuit: w,
			Purse:   w,
			Quotas:  quotas{w},
			Watcher: watcher{w},
			Inbox:   w,
			Trees:   trees{w},
			Start:   w.startTree,
			Lessons: lessons{w},
			Facts:   w.looked,
			Receipt: w.receipt,
			Merge:   merge,

			MemoryUsed: w.memoryUsed,
			Spawn:      w.spawn,
		},
		Journal: fsm.Journal{
			Recorder:  recorder{w, l},
			Verify:    true,
			History:   w.history,
			EndsEvery: 3 + int(w.hash("every")%2)*20,
			Boot:      w.boot(),
		},
		Control: fsm.Control{
			Park:  w.hash("park", n)%3 == 0,
			Drain: l.drain,
			Wake:  l.wake,
			Held: func() <-chan struct{} {
				w.mu.Lock()
				defer w.mu.Unlock()
				return w.hold
			},
			Changed: func() <-chan struct{} {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.countStep()
				return w.changed
			},
			Raise: func(after uint64) (uint64, fsm.Raise, string, bool) {
				w.mu.Lock()
				defer w.mu.Unlock()
				if after >= uint64(len(w.raises)) {
					return 0, fsm.Raise{}, "", false
				}
				return after + 1, w.raises[after], "ada", true
			},
		},
	}
}

// mostAtOneTime is how often a run may be stepped before time passes.
const mostAtOneTime = 100_000

// countStep ends a run that is stepped for ever while nothing happens.
func (w *World) countStep() {
	if w.stepped++; w.stepped < mostAtOneTime {
		return
	}
	if now := time.Now(); now.Equal(w.steppedAt) {
		w.fault("the run spins")
		w.life.cancel(errDied)
	} else {
		w.steppedAt, w.stepped = now, 0
	}
}

// boot names the system since the power was cut last. "" = it has no name, in some worlds.
func (w *World) boot() string {
	if w.hash("boot")%4 == 0 {
		return ""
	}
	return strconv.Itoa(w.boots + 1)
}

func (w *World) hash(parts ...any) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, w.seed, parts)
	x := h.Sum64() // the last bytes of the text hardly change its high bits
	x ^= x >> 31
	x *= 0x9e3779b97f4a7c15
	return x ^ x>>29
}

// fault notes what must not be. The caller holds the lock, or is alone.
func (w *World) fault(text string) {
	if len(w.faults) < 5 {
		w.faults = append(w.faults, fmt.Sprintf("at %s: %s", time.Since(w.begun), text))
	}
}

// memory is what a process that begins finds on record.
func (w *World) memory() (*fsm.Snapshot, error) {
	var d snapshot.Decoder
	if err := d.Whole(w.lines[0]); err != nil {
		return nil, err
	}
	for _, line := range w.lines[1:] {
		if err := d.Patch(line); err != nil {
			return nil, err
		}
	}
	m, err := d.Snapshot(nil)
	if err != nil {
		return nil, err
	}
	w.enc = snapshot.NewEncoder(nil)
	whole, err := w.enc.Whole(m)
	if w.whole != nil && string(whole) != string(w.whole) {
		w.fault(fmt.Sprintf("the patches came to another memory:\n%s\n%s", whole, w.whole))
	}
	w.lines = [][]byte{slices.Clone(whole)}
	w.safe = mark{len(w.events), len(w.lines)}
	return m, err
}

func (w *World) history(_ context.Context, after uint64) iter.Seq2[fsm.Event, error] {
	w.mu.Lock()
	all := w.events
	w.mu.Unlock()
	return func(yield func(fsm.Event, error) bool) {
		for _, ev := range all[min(int(after), len(all)):] { //nolint:gosec // there are never so many
			if !yield(ev, nil) {
				return
			}
		}
	}
}
