package engine

import "fmt"

// A Kind is what sort of thing keeps something from being done.
type Kind int

// The kinds.
const (
	Failed      Kind = iota // it was tried, and failed
	Usage                   // what was asked for contradicts itself, or lacks something
	Invalid                 // a loop or a setting has mistakes, or is not what the run began with
	NotFound                // there is no such loop, run, state or step, or nothing to do
	Conflict                // another run or process is in the way
	Capped                  // a cap on steps or passes is reached
	Exhausted               // a budget is used up
	Undecided               // a person has to decide first
	NotRecorded             // records cannot be read or written
	TakenOut                // it was taken out of the queue
	Scarce                  // the machine has no process, memory or descriptor for it now
	Untrusted               // its user has to see the loop first, which others wrote
)

// A Refusal is why something was not done, with what a user can do about it.
type Refusal struct {
	Kind Kind
	Text Text
	Err  error  // the cause; nil = it is all in Text
	See  Remedy // where to find more; without an operation there is nothing
}

func (e *Refusal) Error() string { return e.Text.String() }
func (e *Refusal) Unwrap() error { return e.Err }

// Remedies are the commands that a user can continue with, the most likely first.
func (e *Refusal) Remedies() []Remedy { return e.Text.remedies() }

// Refuse returns a refusal of a kind. The texts among args are of others: only a face knows how to show them.
func Refuse(kind Kind, format string, args ...any) error { return refuse(kind, format, args...) }

// Misuse returns the refusal of what contradicts itself or lacks something; the help on see has details; "" = nothing
// has.
func Misuse(see Operation, format string, args ...any) error { return misuse(see, format, args...) }

func misuse(see Operation, format string, args ...any) error {
	return &Refusal{Kind: Usage, Text: textf(format, args...), See: Remedy{Operation: see, Help: true}}
}

func refuse(kind Kind, format string, args ...any) error {
	return &Refusal{Kind: kind, Text: textf(format, args...)}
}

// unnamed refuses what names no run: it would be done to the newest one.
func unnamed(id string) error {
	if id == "" {
		return misuse("", "no run is named; give its id")
	}
	return nil
}

// because returns a refusal that wraps an error, with a text in front of it.
func because(kind Kind, err error, text string) error {
	return &Refusal{Kind: kind, Text: textf("%s: %s", text, fmt.Sprint(err)), Err: err}
}
