// Package simulate tries a loop out before it is run; nothing is recorded. [Simulate] walks its states with
// made-up results, [VisitState] does what one state does, and [Render] shows what a state would do. The walking
// is done by [fsm.Executor]; what is of this package is what is around it: a Runner that starts nothing, a
// Recorder that forgets, and where made-up results come from. A [Desk] does these for a loop of a project, as
// its user has it, and words the result of them for people and programs.
package simulate
