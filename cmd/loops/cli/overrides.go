package cli

import (
	"fmt"
	"math"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"loops/engine/project"
	"loops/persistence"
)

func addOverrides(o *project.Overrides, flags *pflag.FlagSet) {
	flagMaxSteps(flags, &o.MaxSteps)
	flags.IntVar(&o.MaxIterations, "max-iterations", 0,
		"cap on full passes of a maintain loop, instead of the loop's `N`")
	flags.Float64Var(&o.Delay, "delay", 0, "pause between states in `SECONDS`, instead of the loop's backoff")
	flags.StringVar(&o.Durability, "durability", "", "what a power failure may cost: `LEVEL` is strict (50 ms of "+
		"decisions, never a result; the default), grouped (fewer syncs; also that an action was started) or none (all)")
	flags.Var(&o.Budget, "budget", "what the run may use, instead of the loop's limits: "+project.BudgetForms)
	flags.BoolVar(&o.Park, "park", false, "exit with 10 where the run would wait (wait, ask); resume continues it")
	flags.BoolVar(&o.NoHostGuard, "no-host-guard", false, "turn host_guard off: do not watch memory")
	flags.StringVar(&o.Sandbox, "sandbox", "", "what actions may touch, instead of what the loop says: `PRESET` is "+
		"off, offline, workspace or strict")
	flags.StringVar(&o.Snapshots, "snapshots", "", "whether files are kept before and after each action, for loops "+
		"undo: `WHERE` is git or off")
	addAgentFlags(&o.Agents, flags)
}

func checkOverrides(o *project.Overrides, cmd *cobra.Command) error {
	see := cmd.CommandPath() + " --help"
	flags := cmd.Flags()
	if flags.Changed("max-steps") && o.MaxSteps < 1 {
		return usageError{fmt.Sprintf("--max-steps %d: expected a number from 1", o.MaxSteps), see}
	}
	if flags.Changed("max-iterations") && o.MaxIterations < 1 {
		return usageError{fmt.Sprintf("--max-iterations %d: expected a number from 1", o.MaxIterations), see}
	}
	if flags.Changed("durability") {
		if _, err := persistence.ParseDurability(o.Durability); err != nil {
			return usageError{fmt.Sprintf("--durability %q: expected strict, grouped or none", o.Durability), see}
		}
	}
	if flags.Changed("sandbox") {
		if err := project.CheckSandbox(o.Sandbox); err != nil {
			return usageError{"--sandbox: " + err.Error(), see}
		}
	}
	if flags.Changed("snapshots") && !slices.Contains(project.SnapshotWords, o.Snapshots) {
		return usageError{fmt.Sprintf("--snapshots %q: expected git or off", o.Snapshots), see}
	}
	o.DelaySet = flags.Changed("delay")
	if o.DelaySet && (math.IsNaN(o.Delay) || o.Delay < 0 || o.Delay > project.MaxDelay) {
		return usageError{fmt.Sprintf("--delay %v: expected seconds from 0 to %d", o.Delay, project.MaxDelay), see}
	}
	return checkAgents(&o.Agents, cmd)
}
