package cli

import (
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/config"
	"loops/persistence"
)

// overrides are the flags of run and resume that change a definition for one run. They are recorded with the
// run, so that a resume keeps them. 0, or a delay that is not set, is "as the loop says".
type overrides struct {
	maxSteps, maxIterations int
	delay                   float64 // seconds
	delaySet                bool
	durability              string // "" = what the store does anyway
	agents                  agentFlags
	budget                  budgetFlag
	timeout                 time.Duration // of the loop, where resume raised it; no flag sets it

	config *config.Config // what holds where neither these nor the loop say anything; nil = nothing
}

// maxDelay keeps a delay within what a timer can hold.
const maxDelay = 365 * 24 * 3600

func (o *overrides) addFlags(flags *pflag.FlagSet) {
	flags.IntVarP(&o.maxSteps, "max-steps", "n", 0, "cap on state entries, instead of the loop's `N`")
	flags.IntVar(&o.maxIterations, "max-iterations", 0, "cap on full passes of a maintain loop, instead of the loop's `N`")
	flags.Float64Var(&o.delay, "delay", 0, "pause between states in `SECONDS`, instead of the loop's backoff")
	flags.StringVar(&o.durability, "durability", "", "what the loss of power may cost: `LEVEL` is strict (50 ms of decisions, never a result; the default), grouped (fewer syncs; also that an action was started) or none (all)")
	flags.Var(&o.budget, "budget", "what the run may use, instead of the loop's limits: "+budgetForms)
	o.agents.addFlags(flags)
}

func (o *overrides) check(cmd *cobra.Command) error {
	see := cmd.CommandPath() + " --help"
	flags := cmd.Flags()
	if flags.Changed("max-steps") && o.maxSteps < 1 {
		return usageError{fmt.Sprintf("--max-steps %d: expected a number from 1", o.maxSteps), see}
	}
	if flags.Changed("max-iterations") && o.maxIterations < 1 {
		return usageError{fmt.Sprintf("--max-iterations %d: expected a number from 1", o.maxIterations), see}
	}
	if flags.Changed("durability") {
		if _, err := persistence.ParseDurability(o.durability); err != nil {
			return usageError{fmt.Sprintf("--durability %q: expected strict, grouped or none", o.durability), see}
		}
	}
	o.delaySet = flags.Changed("delay")
	if o.delaySet && (math.IsNaN(o.delay) || o.delay < 0 || o.delay > maxDelay) {
		return usageError{fmt.Sprintf("--delay %v: expected seconds from 0 to %d", o.delay, maxDelay), see}
	}
	return o.agents.check(cmd)
}

// apply returns the loop with the overrides in it, and what to record of them (nil if there are none).
func (o overrides) apply(l *fsm.Loop) (*fsm.Loop, *value.Map) {
	changed, recorded := o.configured(l), value.NewMap()
	if o.maxSteps > 0 {
		changed.MaxSteps = o.maxSteps
		recorded.Set("max_steps", int64(o.maxSteps))
	}
	if o.maxIterations > 0 {
		changed.MaxIterations = o.maxIterations
		recorded.Set("max_iterations", int64(o.maxIterations))
	}
	if o.delaySet {
		changed.Backoff = o.pause()
		recorded.Set("delay", o.delay)
	}
	if o.durability != "" {
		recorded.Set("durability", o.durability)
	}
	if o.timeout > 0 {
		changed.Timeout = o.timeout
		recorded.Set("timeout_s", o.timeout.Seconds())
	}
	changed.Budget = o.budget.apply(changed.Budget)
	o.budget.record(recorded)
	o.agents.record(recorded)
	o.agents.apply(&changed)
	if recorded.Len() == 0 {
		recorded = nil
	}
	return &changed, recorded
}

// pause is the delay, where it is set.
func (o overrides) pause() time.Duration { return time.Duration(o.delay * float64(time.Second)) }

// over returns these overrides where they are set, and the recorded ones elsewhere.
func (o overrides) over(recorded *value.Map) overrides {
	if v := number(recorded, "max_steps"); o.maxSteps == 0 && v >= 1 {
		o.maxSteps = int(v)
	}
	if v := number(recorded, "max_iterations"); o.maxIterations == 0 && v >= 1 {
		o.maxIterations = int(v)
	}
	if v, _ := recorded.Get("durability"); o.durability == "" {
		if name, _ := v.(string); name != "" {
			o.durability = name
		}
	}
	if v := number(recorded, "timeout_s"); o.timeout == 0 && v > 0 && v < math.MaxInt32 {
		o.timeout = time.Duration(v * float64(time.Second))
	}
	o.agents.fill(recorded)
	o.budget.fill(recorded)
	if _, ok := recorded.Get("delay"); ok && !o.delaySet {
		if v := number(recorded, "delay"); v >= 0 && v <= maxDelay {
			o.delay, o.delaySet = v, true
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

func (v *viewFlags) addFlags(flags *pflag.FlagSet) {
	flags.BoolVarP(&v.quiet, "quiet", "q", false, "print errors only, and how a run failed")
	flags.BoolVarP(&v.verbose, "verbose", "v", false, "print whole actions, all output and details of verdicts")
	flags.BoolVar(&v.json, "json", false, "print events as JSON, one a line")
}
