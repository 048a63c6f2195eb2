package fsm

// A Velocity limits what one prompt may use within a minute. Zero means no limit.
type Velocity struct {
	CostUSD float64
	Tokens  int64
}

// TimeoutVelocity is the [Result.TimeoutKind] of a prompt that was ended because of its [Velocity].
const TimeoutVelocity = "velocity"

// velocity returns the lowest limits that hold here: of the current state, of its loop, and of those it runs inside.
func (e *Executor) velocity() (v Velocity) {
	lower := func(w *Velocity) {
		if w == nil {
			return
		}
		if w.CostUSD > 0 && (v.CostUSD == 0 || w.CostUSD < v.CostUSD) {
			v.CostUSD = w.CostUSD
		}
		if w.Tokens > 0 && (v.Tokens == 0 || w.Tokens < v.Tokens) {
			v.Tokens = w.Tokens
		}
	}
	for x := e; x != nil; x = x.parent {
		if st := x.cfg.Loop.States[x.mem.Current]; st != nil {
			lower(st.Velocity)
		}
		lower(x.cfg.Loop.Velocity)
	}
	return v
}
