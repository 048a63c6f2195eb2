package inspect

import (
	"strings"

	"loops/fsm"
)

// A BranchState is how far a branch of the state has come that a run stands in.
type BranchState struct {
	Name    string
	At      string // the states that it is in, of a loop; "" = it has an action, or has ended
	Verdict string // "" = it is not over
	Begun   bool
}

// Branches returns the branches of the state that the run stands in, in a sub-loop too: those that began, and behind them those that
// are known to come.
func (v *Vitals) Branches() []BranchState {
	depth, m := 0, v.Memory
	for m != nil && len(m.Branches) == 0 && m.Child != nil {
		depth, m = depth+1, m.Child.Memory
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
			s.At = at(b.Child.Memory, b.Name)
		}
		out = append(out, s)
	}
	if depth < len(v.Loops) && v.Loops[depth] != nil {
		if st := v.Loops[depth].States[m.Current]; st != nil && st.Branches != nil {
			for _, b := range st.Branches.List {
				if !began[b.Name] {
					out = append(out, BranchState{Name: b.Name})
				}
			}
		}
	}
	return out
}

// at names the states that a branch is in, of which the state of an action's branch, which is called as the branch is, tells nothing.
func at(m *fsm.Snapshot, branch string) string {
	if m.Current == branch && m.Child == nil {
		return ""
	}
	names := []string{m.Current}
	for c := m.Child; c != nil && c.Memory.Step > 0; c = c.Memory.Child {
		names = append(names, c.Memory.Current)
	}
	return strings.Join(names, " > ")
}

// BranchesText is the branches in a line: lint yes, test in check, docs running, site not begun.
func (v *Vitals) BranchesText() string {
	var words []string
	for _, b := range v.Branches() {
		switch {
		case b.Verdict != "":
			words = append(words, b.Name+" "+b.Verdict)
		case !b.Begun:
			words = append(words, b.Name+" not begun")
		case b.At != "":
			words = append(words, b.Name+" in "+b.At)
		case v.Alive:
			words = append(words, b.Name+" running")
		default:
			words = append(words, b.Name+" cut short")
		}
	}
	return strings.Join(words, ", ")
}
