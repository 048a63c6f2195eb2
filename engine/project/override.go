package project

import (
	"math"
	"slices"
	"time"

	"loops/fsm"
	"loops/fsm/confine"
	"loops/fsm/value"
	"loops/internal/config"
)

// Overrides are what changes a definition for one run. They are recorded with the
// run, so that a resume keeps them. 0, or a delay that is not set, is "as the loop says".
type Overrides struct {
	MaxSteps      int     `json:"max_steps,omitempty"`
	MaxIterations int     `json:"max_iterations,omitempty"`
	Delay         float64 `json:"delay,omitempty"` // seconds
	DelaySet      bool    `json:"delay_set,omitempty"`
	Durability    string  `json:"durability,omitempty"` // "" = what the store does anyway
	Agents        Agents  `json:"agents"`
	Park          bool    `json:"park,omitempty"`    // release the run where it waits
	Sandbox       string  `json:"sandbox,omitempty"` // instead of the loop's own; "" = as the loop says
	// git or off, instead of what the loop says; "" = as the loop says
	Snapshots string `json:"snapshots,omitempty"`
	// memory is not watched: host_guard is off, whatever the loop says
	NoHostGuard bool          `json:"no_host_guard,omitempty"`
	Budget      Budget        `json:"budget"`
	Timeout     time.Duration `json:"timeout,omitempty"` // of the loop, where resume raised it; no flag sets it

	Config *config.Config `json:"-"` // what holds where neither these nor the loop say anything; nil = nothing
}

// MaxDelay keeps a delay within what a timer can hold.
const MaxDelay = 365 * 24 * 3600

// Apply returns the loop with the overrides in it, and what to record of them (nil if there are none).
func (o Overrides) Apply(l *fsm.Loop) (*fsm.Loop, *value.Map) {
	changed, recorded := o.configured(l), value.NewMap()
	if o.MaxSteps > 0 {
		changed.MaxSteps = o.MaxSteps
		recorded.Set("max_steps", int64(o.MaxSteps))
	}
	if o.MaxIterations > 0 {
		changed.MaxIterations = o.MaxIterations
		recorded.Set("max_iterations", int64(o.MaxIterations))
	}
	if o.DelaySet {
		changed.Backoff = o.pause()
		recorded.Set("delay", o.Delay)
	}
	if o.Durability != "" {
		recorded.Set("durability", o.Durability)
	}
	if o.Timeout > 0 {
		changed.Timeout = o.Timeout
		recorded.Set("timeout_s", o.Timeout.Seconds())
	}
	if o.NoHostGuard {
		changed.HostGuard.Enabled, changed.HostGuard.BudgetMB = false, 0
		recorded.Set("no_host_guard", true)
	}
	if policy, err := confine.Parse(o.Sandbox); err == nil {
		changed.Sandbox = policy
		recorded.Set("sandbox", o.Sandbox)
	}
	if o.Snapshots != "" {
		s := fsm.FileSnapshots{}
		if l.Snapshots != nil {
			s = *l.Snapshots
		}
		s.Keep, changed.Snapshots = o.Snapshots, &s
		recorded.Set("snapshots", o.Snapshots)
	}
	changed.Budget = o.Budget.apply(changed.Budget)
	o.Budget.record(recorded)
	o.Agents.record(recorded)
	o.Agents.apply(&changed)
	if recorded.Len() == 0 {
		recorded = nil
	}
	return &changed, recorded
}

// pause is the delay, where it is set.
func (o Overrides) pause() time.Duration { return time.Duration(o.Delay * float64(time.Second)) }

// Over returns these overrides where they are set, and the recorded ones elsewhere.
func (o Overrides) Over(recorded *value.Map) Overrides {
	if v := number(recorded, "max_steps"); o.MaxSteps == 0 && v >= 1 {
		o.MaxSteps = int(v)
	}
	if v := number(recorded, "max_iterations"); o.MaxIterations == 0 && v >= 1 {
		o.MaxIterations = int(v)
	}
	if v, _ := recorded.Get("durability"); o.Durability == "" {
		if name, _ := v.(string); name != "" {
			o.Durability = name
		}
	}
	if v := number(recorded, "timeout_s"); o.Timeout == 0 && v > 0 && v < math.MaxInt32 {
		o.Timeout = time.Duration(v * float64(time.Second))
	}
	if v, _ := recorded.Get("no_host_guard"); v == true {
		o.NoHostGuard = true
	}
	if v, _ := recorded.Get("sandbox"); o.Sandbox == "" {
		o.Sandbox, _ = v.(string)
	}
	if v, _ := recorded.Get("snapshots"); o.Snapshots == "" {
		if word, _ := v.(string); slices.Contains(SnapshotWords, word) {
			o.Snapshots = word
		}
	}
	o.Agents.fill(recorded)
	o.Budget.fill(recorded)
	if _, ok := recorded.Get("delay"); ok && !o.DelaySet {
		if v := number(recorded, "delay"); v >= 0 && v <= MaxDelay {
			o.Delay, o.DelaySet = v, true
		}
	}
	return o
}

// number returns a number of a map, whatever type it was read as; 0 if there is none.
func number(m *value.Map, key string) float64 {
	switch v, _ := m.Get(key); v := v.(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	}
	return 0
}

// CheckSandbox returns what is wrong with the word for a sandbox.
func CheckSandbox(word string) error {
	_, err := confine.Parse(word)
	return err
}

// SnapshotWords are the words for where the files of a run are kept.
var SnapshotWords = []string{fsm.SnapshotsGit, fsm.SnapshotsOff}

// SandboxPresets returns the words for sandboxes.
func SandboxPresets() []string { return confine.Presets }
