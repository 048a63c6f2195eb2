package fsm

import "fmt"

// verify checks what must hold of every snapshot that is recorded. Config.Verify turns it on.
func (m *Snapshot) verify() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("invariant broken in state %q, step %d: %s", m.Current, m.Step, fmt.Sprintf(format, args...))
	}
	switch m.Phase {
	case PhasePending, PhaseActing, PhaseActed:
	default:
		return bad("unknown phase %q", m.Phase)
	}
	switch {
	case m.Current == "":
		return bad("no current state")
	case m.Phase == PhaseActed && m.Result == nil:
		return bad("an action was done and its result is gone")
	case m.Phase != PhaseActed && m.Result != nil:
		return bad("phase %s has a result of an action", m.Phase)
	case m.Phase != PhasePending && m.Step == 0:
		return bad("entered without a step")
	case m.Phase == PhaseActed && m.Attempt == 0:
		return bad("an action was done without being started")
	case m.Phase == PhasePending && (m.Asking || len(m.Answers) > 0):
		return bad("a judge was asked in a state that was not entered")
	case m.Phase == PhasePending && m.Decided != nil:
		return bad("where it leads is decided in a state that was not entered")
	case m.Wait != nil && m.Wait.retries() && m.Phase != PhaseActed:
		return bad("it waits to act again without having acted")
	case m.Passes > m.Step:
		return bad("%d passes in %d steps", m.Passes, m.Step)
	}
	for edge, n := range m.Edges.All() {
		if n <= 0 {
			return bad("edge %s was taken %d times", edge, n)
		}
	}
	return nil
}
