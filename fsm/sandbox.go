package fsm

import "loops/fsm/confine"

// sandbox returns what limits the actions of a state: its own policy, that of its loop, and those of all around them.
func (e *Executor) sandbox(st *State) []*confine.Policy {
	layers := append(confine.Layers(e.around...), e.cfg.Loop.Sandbox)
	if st != nil {
		layers = append(layers, st.Sandbox)
	}
	return confine.Layers(layers...)
}

// sandboxBelow returns what limits a sub-loop or branch that a state runs. The state that the loop is in may be
// another: that which has the branches.
func (e *Executor) sandboxBelow(st *State) []*confine.Policy {
	layers := e.sandbox(e.cfg.Loop.States[e.mem.Current])
	return confine.Layers(append(layers, st.Sandbox)...)
}
