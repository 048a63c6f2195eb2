package fsm

import (
	"context"
	"iter"
)

// A World is what a run acts through, and what it learns from.
type World struct {
	Runner Runner
	Files  Files
	// Library finds sub-loops; nil means that there are none.
	Library Library
	Watcher Watcher // looks at URLs and other runs for states that wait; nil = it cannot be done
	Inbox   Inbox   // holds the signals that were sent to the run; nil = none can be
	Circuit Circuit // shares rate limits among runs; nil = there is none
	Quotas  Quotas  // what agents reported of the limits of their accounts; nil = that is not known
	Purse   Purse   // limits what this run and others spend together; nil = nothing does
	// Prepare, if not nil, is called once, after it is durable that the run began or was resumed, and before
	// anything else is done: it makes what the actions need. What it returns is recorded, unless it has no
	// kind. Its error ends Run as a failed Record does, unless ctx has ended. It has to be repeatable: it is
	// called again when the run is resumed.
	Prepare func(ctx context.Context) (Event, error)
	// keeps what actions did to files where a later owner of the run finds it; nil = nothing does
	Keep   Keep
	Agents Agents // that prompts may go to; nil = they are not known beforehand
	Trees  Trees  // looks at files for guards; nil = guards do nothing, and neither do checks
	// Start, if not nil, is called once after Prepare. It is given the tree of the files with which the run began, ""
	// where it is not on record, and returns it: it keeps that where states have checks. Its error is as that
	// of Prepare.
	Start func(ctx context.Context, known string) (tree string, err error)
	// Laid, if not nil, calls do while the files of a folder that a check names are those with which the run
	// began, and puts the others back before it returns. Where the process dies meanwhile, Prepare puts them back.
	Laid func(ctx context.Context, dir string, with *CheckRun, do func(ctx context.Context)) error
	// Lessons are the memories of loops; nil = they are empty, and nothing is written
	Lessons Lessons
	Facts   Facts // returns what is recorded of the files that the run works on; nil = nothing is
	// reports whether the folder is gone that actions run in, "" = that of the run; nil = it never is
	Gone func(dir string) bool
	// Receipt, if not nil, returns the receipt of a run that completes, before its end is recorded: nil = there
	// is none. pending are events that were not recorded yet.
	Receipt func(ctx context.Context, spent Spent, pending []Event) *Receipt
	// Merge, if not nil, makes the merge that a run asks for when it completes, before its end is recorded, and
	// returns the result of it and, unless it was made, why. It has to be repeatable: a run whose process died
	// meanwhile calls it again when it is resumed.
	Merge func(ctx context.Context) (how, why string)
	// Spawn starts an agent that is asked to resume the run, and returns the pid of its process: it is how a
	// loop with on_handoff: spawn hands over. host is the agent host that the loop names, "" = none;
	// permissions are those of the loop; continuation is the text of the handoff. The agent does not begin
	// before the run was released. Nil: none can be started.
	Spawn func(ctx context.Context, host, permissions, continuation string) (pid int, err error)
	// MemoryUsed returns how much of the machine's memory is in use, in percent, for host_guard. Nil, or false:
	// unknown.
	MemoryUsed func() (float64, bool)
	// Getenv looks up ${env.*}; nil means that nothing is set.
	Getenv func(name string) (string, bool)
	// Secret returns what stands for ${secret.NAME} in texts and on the record; the Runner puts the secret in its
	// place. Nil: a placeholder does for every name.
	Secret func(name string) (string, bool)
	// Random returns a number from 0 up to 1, by which retries are spread; nil means math/rand.
	Random func() float64
	// Verdict, if not nil, is asked before an evaluator looks at its evidence, and before a state waits, begins a
	// list, its branches or its sub-loop: cfg.Type then is wait, for_each, parallel or loop. Where it reports
	// true, its verdict is final.
	Verdict func(l *Loop, st *State, cfg *Evaluate, ev Evidence) (Verdict, bool)
	MadeUp  bool // outputs are made up: a template that cannot read one gets a text in its place
}

// A Journal is where a run is recorded, and who is told of it.
type Journal struct {
	Recorder Recorder
	// History yields the events that were recorded of the run after the one with a number, in order: those of
	// all segments, and those that Record has taken. Nil: a resumed run begins a list of items again.
	History func(ctx context.Context, after uint64) iter.Seq2[Event, error]
	// EndsEvery is how many items of a list end before the memory takes them in: what a resumed run reads of
	// its history is no longer than that. 0 means 250.
	EndsEvery int
	// Boot names the start of the operating system that this process runs on. Where it is set and Recorder is a
	// [Syncer], an item of a list begins while the result of the one before it becomes durable. "" = unknown.
	Boot string
	// Observe, if not nil, is called with every event after it was recorded, in order, never concurrently.
	Observe func(Event)
	// Why, if not nil, explains why the run itself ends so, for its record. pending are events that Observe has not
	// received.
	Why func(o Outcome, pending []Event) (reason string, failedItems int)
	// Verify checks the invariants of the memory before each Record; a broken one stops the run with an error.
	Verify bool
}

// A Control is how users and the process that carries a run steer it.
type Control struct {
	// Held returns nil while the run may continue, else a channel that is closed when it may again. It is asked
	// before each state is entered, and in waits after all that happens. Nil: the run is never held.
	Held   func() <-chan struct{}
	HeldBy func() string   // names the user who holds the run, "" where that is not known; nil: it never is
	Wake   <-chan struct{} // ends the wait the run is in, if it is in one; nil: nothing does
	// Drain is closed when the run is to end, as one that a user stops, where nothing of it is at work: no item
	// of a list begins any more, no branch and no state, and what runs ends by itself. Nil: it never is.
	Drain <-chan struct{}
	// Changed returns a channel that is closed when Held may return something else, or a signal came. Nil: a
	// wait looks once a minute.
	Changed func() <-chan struct{}
	// Raise returns the first Raise that was asked for after number after, its number and who asked; false if
	// there is none. It is called before limits are looked at, and a run that is resumed is given none again.
	// Nil: the limits stay as they are.
	Raise func(after uint64) (n uint64, by Raise, who string, ok bool)
	// Park has the run released where a state waits (see [EndParked]) instead of carrying it until that is
	// over. What came already is not waited for.
	Park  bool
	Again ItemsAgain // items of the list, and branches, that a resumed run is in that are done again
}
