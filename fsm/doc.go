// Package fsm defines what a loop means: it holds the definition of a state machine and runs it, one state at a
// time, until it is done. It never sees a disk, a process or a clock of its own: it acts through a [Runner],
// remembers through a [Recorder] and reads the few files an evaluator needs through [Files].
//
// [Start], [Resume] and [Fork] make an [Executor]; its Run runs the loop to its [Outcome]. Inside, [Load] makes a
// [Machine] of it, and a driver (driver.go) steps that: the driver alone has goroutines, timers and the clock.
// Package loops/fsm/loopfile reads loop files, and package loops/persistence has recorders that keep runs.
//
// # The contract of a step
//
// The order of [Machine.Step] is: take what happened, end what is out of time, let each task continue until it
// waits. The driver then records Output.Batch, starts Output.Start, ends the effects of a branch or an item that has
// ended, and waits for what happens next, until Output.Wake at the latest.
//
//   - Nothing is started before the batch that begins it is durable. The items of a list begin beside the sync of
//     results before them; their own start was announced, and that is durable.
//   - After a record that fails nothing is started: what was begun counts as ended, and the run ends.
//   - An effect blocks no other one. All that ended meanwhile is one step, one batch and one sync.
//   - A resumed run is a loaded one: nothing but the recorded memory says what comes next.
//
// Between two steps a task rests (for a time, an answer, or the end of a pause), waits for an effect (an action, a
// judge, a look at files), or waits until what it emitted is on record. What an input does to it:
//
//	input          rests                        waits for an effect        waits for the record
//	Done           -                            continues with the result  -
//	Stop           ends, and can be resumed     its effect is ended        ends at its next wait
//	Drain          ends, if nothing is at work  has its effect end first   begins nothing more
//	News           asks its condition again     sees it at its next state  sees it at its next state
//	Wake           the longest rest is over     -                          -
//	its time       asks its condition again     its effect is ended        -
//	the next step  -                            -                          continues
//
// The names of states, verdicts, events and ends are those of the loop language that little-loops and this
// program share. A rule with a number, such as D13, is a decision that docs/decisions.md explains.
package fsm
