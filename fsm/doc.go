// Package fsm defines what a loop means: it holds the definition of a state machine and runs it, one state at a
// time, until it is done. It never sees a disk, a process or a clock of its own: it acts through a [Runner],
// remembers through a [Recorder] and reads the few files an evaluator needs through [Files].
//
// [Start], [Resume] and [Fork] make an [Executor]; its Run runs the loop to its [Outcome]. Inside, a machine
// (machine.go) is told what happened and says what to record and to start, and a driver (driver.go) has the
// goroutines, the timers and the clock. The order of a step is: take what happened, end what is out of time,
// let each task continue until it waits, record, start, end, wait. Package loops/fsm/loopfile reads loop files,
// and package loops/persistence has recorders that keep runs.
//
// The names of states, verdicts, events and ends are those of the loop language that little-loops and this
// program share. A rule with a number, such as D13, is a decision that docs/decisions.md explains.
package fsm
