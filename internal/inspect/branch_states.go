package inspect

import (
	"fmt"
	"strings"

	"loops/fsm"
)

// A BranchState is how far a branch of the state has come that a run is in.
type BranchState struct {
	Name    string
	At      string // the states that it is in, of a loop; "" = it has an action, or has ended
	Verdict string // "" = it is not over
	Waits   bool   // for time, an event or a person
	Begun   bool
}

// Branches returns the branches of the state that the run is in, in a sub-loop too: those that began, and
// behind them those that are known to come.
func (v *Status) Branches() []BranchState {
	m := v.Memory
	for m != nil && len(m.Branches) == 0 && m.Child != nil {
		m = m.Child.Memory
	}
	if m == nil || len(m.Branches) == 0 {
		return nil
	}
	var out []BranchState
	began := make(map[string]bool)
	for _, b := range m.Branches {
		began[b.Name] = true
		s := BranchState{Name: b.Name, Begun: true}
		if b.End != nil {
			s.Verdict = Text(ValueOf(b.End, "verdict"))
		} else if b.Child != nil {
			s.Verdict = b.Child.Decided(b.Name, m)
			s.At, s.Waits = at(b.Child, m, b.Name), b.Child.Memory.Waiting() != nil
		}
		out = append(out, s)
	}
	if l := v.Loops[m]; l != nil {
		if st := l.States[m.Current]; st != nil && st.Branches != nil {
			for _, b := range st.Branches.List {
				if !began[b.Name] {
					out = append(out, BranchState{Name: b.Name})
				}
			}
		}
	}
	return out
}

// at names the states that a branch or an item is in. That of one with an action says nothing.
func at(c *fsm.Child, around *fsm.Snapshot, branch string) string {
	if c.Inline(branch, around) {
		return ""
	}
	var names []string
	for m := c.Memory; m != nil; m = single(m) {
		names = append(names, m.Current)
	}
	return strings.Join(names, " > ")
}

// BranchesText is the branches in a line: lint yes, test in check, docs running, site not begun.
func (v *Status) BranchesText() string {
	var words []string
	for _, b := range v.Branches() {
		name := b.Name
		if n := fsm.ItemOf(name); n > 0 {
			name = fmt.Sprintf("item %d", n)
		}
		switch {
		case b.Verdict != "":
			words = append(words, name+" "+b.Verdict)
		case !b.Begun:
			words = append(words, name+" not begun")
		case b.At != "":
			words = append(words, name+" in "+b.At)
		case b.Waits:
			words = append(words, name+" waits")
		case v.Alive:
			words = append(words, name+" running")
		default:
			words = append(words, name+" cut short")
		}
	}
	return strings.Join(words, ", ")
}
