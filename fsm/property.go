package fsm

import "strconv"

// A Property is what must hold of every run of a loop. A run does not look at it: loops prove does.
type Property struct {
	Kind    string // one of the constants below
	State   string
	Without string // of PropertyNever: the state that has to be entered before; "" = State is never entered
	Times   int    // of PropertyAtMost
}

// What a [Property] can say.
const (
	PropertyNever  = "never"             // State is never entered, or not before Without was
	PropertyAlways = "always_before_end" // no run ends in a state or by a limit of the loop before State was entered
	PropertyAtMost = "at_most"           // State is entered so many times at most
)

// String returns the property in words.
func (p Property) String() string {
	switch {
	case p.Kind == PropertyAlways:
		return "always enter " + p.State + " before the end"
	case p.Kind == PropertyAtMost && p.Times == 1:
		return "enter " + p.State + " at most once"
	case p.Kind == PropertyAtMost:
		return "enter " + p.State + " at most " + strconv.Itoa(p.Times) + " times"
	case p.Without == "":
		return "never enter " + p.State
	}
	return "never enter " + p.State + " without " + p.Without
}
