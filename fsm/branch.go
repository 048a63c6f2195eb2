package fsm

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"loops/fsm/value"
)

// Branches are what a state does side by side before it joins the result of them.
type Branches struct {
	List     []*Branch // as they stand in the file
	Join     string    // see JoinAll
	Most     int       // branches at once; 0 = all
	Continue bool      // a branch that failed does not end the others
	Trees    string    // what becomes of the work tree of git that each has, see TreesStay; "" = they have none
}

// What becomes of the work trees of branches when they are joined.
const (
	TreesStay  = "none"       // they stay where something was changed
	TreesMerge = "ours-first" // what the branches that came to yes changed is merged, in order
)

// HasTrees reports whether each branch has a work tree of its own.
func (b *Branches) HasTrees() bool { return b != nil && b.Trees != "" }

// A Branch is one of them. Its state has an action or a loop, and leads nowhere: it ends with its verdict.
type Branch struct {
	Name  string
	State *State
}

// How branches are joined.
const (
	JoinAll     = "all"     // yes when every branch says yes
	JoinAny     = "any"     // the first yes wins: the others are stopped
	JoinSettled = "settled" // every branch ends by itself; the verdict is that of all
)

// BranchStopped is the verdict of a branch that was ended, or did not begin, because of how another one ended.
const BranchStopped = "stopped"

// MostBranches is how many branches a state can have.
const MostBranches = 64

// BranchVerdicts are the verdicts of a branch with an action, which also name the states it ends in.
var BranchVerdicts = []string{"yes", "no", "error"}

// String says what the state does side by side.
func (b *Branches) String() string {
	names := make([]string, len(b.List))
	for i, x := range b.List {
		names[i] = x.Name
	}
	text := "in parallel: " + strings.Join(names, ", ")
	if b.Most > 0 && b.Most < len(b.List) {
		text += fmt.Sprintf(", %d at once", b.Most)
	}
	if b.Join != JoinAll {
		text += ", join " + b.Join
	}
	return text
}

// Text says what the branch does.
func (b *Branch) Text() string {
	if b.State.Loop != "" {
		return "loop " + b.State.Loop
	}
	return b.State.Action
}

// Named returns the branch of that name, nil if there is none.
func (b *Branches) Named(name string) *Branch {
	if b == nil {
		return nil
	}
	for _, x := range b.List {
		if x.Name == name {
			return x
		}
	}
	return nil
}

// A BranchMemory is what the machine remembers of a branch that began.
type BranchMemory struct {
	Name  string
	Child *Child     // nil once the branch has ended
	End   *value.Map // what it left: verdict, output and more; nil before. It never changes after it was recorded.
}

// branch returns what the machine remembers of a branch, nil if it has not begun.
func (m *Snapshot) branch(name string) *BranchMemory {
	for _, b := range m.Branches {
		if b.Name == name {
			return b
		}
	}
	return nil
}

// Inside yields what the current state runs: its sub-loop, with "", or its branches that have not ended, with
// their names.
func (m *Snapshot) Inside() iter.Seq2[string, *Child] {
	return func(yield func(string, *Child) bool) {
		if m.Child != nil && !yield("", m.Child) {
			return
		}
		for _, b := range m.Branches {
			if b.Child != nil && !yield(b.Name, b.Child) {
				return
			}
		}
	}
}

// Inline reports whether a branch or an item of a loop with that memory has an action, and so runs no other loop.
func (c *Child) Inline(branch string, around *Snapshot) bool {
	return branch != "" && c.Name == branch && c.Memory.Loop == around.Loop
}

// Decided is the verdict of a branch or an item with an action that has ended and is not joined yet, as where
// the run was stopped in between; "" = it has none. What is decided is not done again.
func (c *Child) Decided(branch string, around *Snapshot) string {
	m := c.Memory
	if !c.Inline(branch, around) || m.Phase != PhasePending || m.Previous == "" ||
		!slices.Contains(BranchVerdicts, m.Current) {
		return ""
	}
	return m.Current
}

// Inner returns the loop that a run of this loop runs inside a state, in that branch or for that item or, where
// branch is "", as its sub-loop. It is nil for a branch or an item that has an action, or that the loop does
// not have any more.
func (l *Loop) Inner(state, branch string, c *Child, lib Library) (*Loop, error) {
	if branch == "" {
		return lib.Loop(c.Name, l)
	}
	if st := branchState(l.States[state], branch); st != nil && st.Loop != "" {
		return lib.Loop(c.Name, l)
	}
	return nil, nil
}

// Ran returns what a state runs inside, "" being its sub-loop: the name of the loop or, for a branch or an item
// with an action, the loop of one state that it is. Both are missing where the state has no such branch.
func (l *Loop) Ran(state, branch string) (name string, inline *Loop) {
	st := branchState(l.States[state], branch)
	switch {
	case st == nil:
		return "", nil
	case branch == "" || st.Loop != "":
		return st.Loop, nil
	}
	return "", inlineLoop(st, l)
}

// inlineLoop is the loop of one state that a branch with an action is, or an item with one: it ends in a state
// named by its verdict. What limits the loop around it as a whole is not in it.
func inlineLoop(state *State, around *Loop) *Loop {
	st := *state
	// as ever, no judge is asked the result of a prompt in a state that leads to next
	if st.Next != "" && st.Evaluate == nil {
		cfg := DefaultEvaluate("exit_code")
		st.Evaluate = &cfg
	}
	if st.Each != nil {
		st.CostCeiling = nil // it is of the state with the list
	}
	st.On, st.Capture, st.Next, st.Route, st.Each, st.OnRateLimitExhausted, st.OnSuspended = map[string]string{},
		st.Name, "", nil, nil, "", ""
	st.Remember = nil
	own := *around
	own.Lessons = nil // what it sees is that of the loop around it
	own.Initial, own.Order = st.Name, append([]string{st.Name}, BranchVerdicts...)
	own.States = map[string]*State{st.Name: &st}
	for _, verdict := range BranchVerdicts {
		st.On[verdict] = verdict
		own.States[verdict] = &State{Name: verdict, Terminal: true, Failure: verdict != "yes", On: map[string]string{}}
	}
	if st.Await != nil && st.Await.Ask != nil {
		for i, choice := range st.Await.Ask.Choices { // the first counts as yes, any other as no
			if st.On[choice] == "" {
				st.On[choice] = BranchVerdicts[min(i, 1)]
			}
		}
	}
	own.Timeout, own.MaxSteps, own.MaxIterations, own.Backoff, own.Maintain = 0, 50, 0, 0, false
	own.OnMaxSteps, own.OnMaxIterations, own.OnBudget, own.OnHandoff, own.Budget = "", "", "", "", nil
	own.Stall, own.Parameters, own.RequiredInputs = nil, nil, nil
	own.HostGuard.PressureState, own.HostGuard.BudgetMB, own.HostGuard.BudgetState, own.HostGuard.OnAbortRoute = "",
		0, "", ""
	if own.HostGuard.OnPressure == "route" {
		own.HostGuard.OnPressure = "cool_down"
	}
	return &own
}

// branchSign is in the mark of an action, between the mark of a state with branches and the number of the branch.
const branchSign = "+"

// OuterMarks returns the marks of the states around an action that run branches, outermost first, from its
// Outer. The processes of all branches of a state are known by its mark.
func OuterMarks(outer string) (marks []string) {
	for i := range len(outer) {
		if strings.HasPrefix(outer[i:], branchSign) {
			marks = append(marks, outer[:i])
		}
	}
	return marks
}
