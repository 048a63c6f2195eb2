// Package notify reports to people and programs how the runs of a project end: by a command of theirs, a message of
// the desktop or a webhook, as the settings say.
//
// A [Notifier] is an observer of an engine, so it never delays a run or changes how one ends, and every program
// that carries runs notifies in the same way. A [Sender] delivers: it never delays its caller, and a message
// that cannot be delivered is a result, no failure.
//
// A [Publisher] delivers the events themselves to the outlets of the setting events, each at least once; a [Courier]
// delivers those that dead processes did not.
//
// [FindAlarms] looks at the runs from outside: at those that make no progress, whose process died, or that ask
// a user without success, and at schedules that did not fire. An [AlarmWatch] records what it finds, reports it
// once, and again when it is over.
//
// A [SignedLink] in a notification answers one question of a run with one choice.
package notify
