package cli

import (
	"cmp"

	"github.com/spf13/cobra"

	"loops/fsm"
)

// What the files of a project and of a person say holds where the command line and the environment say nothing, and, for
// what a loop can say of itself, where the loop does not. Here it is brought in.

// configuredStore returns where the files say that runs are recorded, and in which line; "" where they do not. A mistake
// that may be about it is an error: runs would be looked for in the wrong place.
func (a *app) configuredStore(p project) (location, from string, err error) {
	c, wrong := a.declared(p)
	if about := wrong.About("store"); len(about) > 0 {
		return "", "", failure(exitInvalid, "%s", p.mistakes(", so where runs are recorded is not known; mend that, or say it with --store", about))
	}
	if c.Store == "" {
		return "", "", nil
	}
	return c.Store, p.settingPlace(c, "store") + ": store", nil
}

// configuredColor is what the files say about colours; "" where they do not, or the command line does.
func (a *app) configuredColor() string {
	if a.colorGiven {
		return ""
	}
	p, err := a.project()
	if err != nil {
		return "" // whoever needs the project says so
	}
	c, _ := a.declared(p)
	return c.Color
}

// fillView takes what the files say of what a run prints where the command line does not.
func (a *app) fillView(cmd *cobra.Command, v *viewFlags) {
	if cmd.Flags().Changed("quiet") || cmd.Flags().Changed("verbose") {
		return
	}
	p, err := a.project()
	if err != nil {
		return
	}
	c, _ := a.declared(p)
	v.quiet, v.verbose = c.Output == "quiet", c.Output == "verbose"
}

// warnConfig tells of files that were left out.
func (a *app) warnConfig(p project, quiet bool) {
	c, _ := a.declared(p)
	for _, w := range c.Warnings {
		if !quiet {
			w.File = p.short(w.File)
			say(a.Err, "loops: warning: %s\n", w)
		}
	}
}

// configured returns a loop with what the files say about what it does not say itself.
func (o overrides) configured(l *fsm.Loop) fsm.Loop {
	changed := *l
	if o.config == nil {
		return changed
	}
	if changed.Backoff == 0 {
		changed.Backoff = o.config.Delay
	}
	limits := o.config.Budget
	var own fsm.Budget
	if l.Budget != nil {
		own = *l.Budget
	}
	b := fsm.Budget{
		CostUSD: cmp.Or(own.CostUSD, limits.Cost), Tokens: cmp.Or(own.Tokens, limits.Tokens), Wall: cmp.Or(own.Wall, limits.Wall),
		Steps: cmp.Or(own.Steps, limits.Steps), Prompts: cmp.Or(own.Prompts, limits.Prompts), AllowUnknown: own.AllowUnknown,
	}
	if b != own {
		changed.Budget = &b
	}
	return changed
}

// level is how durably a run is recorded: as the flag says, which is recorded with the run, else as the files do; "" = as the
// store does anyway.
func (o overrides) level() string {
	if o.config == nil {
		return o.durability
	}
	return cmp.Or(o.durability, o.config.Durability)
}

// budgetCostKey is the setting that limits what runs may cost.
const budgetCostKey = "run.budget.cost"
