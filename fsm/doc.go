// Package fsm says what a loop means: it holds the definition of a state machine and runs it, one state at a
// time, until it is done. It never sees a disk, a process or a clock of its own: it acts through a [Runner],
// remembers through a [Recorder] and reads the few files an evaluator needs through [Files].
//
// The names of states, verdicts, events and ends are those of the loop language that little-loops and this
// program share; docs/files.md and ARCHITECTURE.md say where the rules come from.
package fsm
