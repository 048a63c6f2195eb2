// Package dryrun tries a loop out before it is run: [Simulate] walks its states with made-up results, [Visit] does what
// one state does, and [Render] shows what a state would do. The walking is done by [fsm.Executor]; what is of this package
// is what is around it: a Runner that starts nothing, a Recorder that forgets, and where made-up results come from.
package dryrun
