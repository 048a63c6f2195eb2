package cli

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"loops/internal/app"
	"loops/internal/humanize"
)

// A loopFilter are the flags that choose among the loops that list shows.
type loopFilter struct {
	app.LoopFilter
	visibility         string
	internal, examples bool
}

const allTiers = "all"

func (f *loopFilter) addFlags(flags *pflag.FlagSet) {
	flags.StringVarP(&f.Category, "category", "c", "", "list loops of this `CATEGORY`")
	flags.StringArrayVar(&f.Labels, "label", nil, "list loops with this `LABEL`, or one of several (repeatable); "+
		"upper and lower case are the same")
	flags.StringVar(&f.visibility, "visibility", "",
		"list loops that can run and are of this `TIER`: public, internal or example; all is every loop")
	flags.BoolVarP(&f.All, "all", "a", false, "list internal loops too")
	flags.BoolVar(&f.internal, "internal", false,
		"list internal loops, as --visibility internal does, or those besides")
	flagBuiltin(flags, &f.Builtin, "list loops of the catalog alone")
	flags.BoolVar(&f.examples, "examples", false, "list examples, as --visibility example does, or those besides")
}

// check reads the flags, and refuses them where runs are listed.
func (f *loopFilter) check(cmd *cobra.Command, runs bool) error {
	for _, name := range []string{"category", "label", "visibility", "internal", "examples", "all", "builtin"} {
		if runs && cmd.Flags().Changed(name) {
			return usageError{"--" + name + " chooses among loops, and what else is given lists runs", seeList}
		}
	}
	if f.visibility != "" && f.visibility != allTiers {
		if !slices.Contains(app.Tiers, f.visibility) {
			return usageError{fmt.Sprintf("--visibility %s: expected public, internal, example or all%s",
				humanize.Quote(f.visibility),
				humanize.DidYouMean(f.visibility, append(slices.Clone(app.Tiers), allTiers))), seeList}
		}
		f.Tiers = append(f.Tiers, f.visibility)
	}
	if f.internal {
		f.Tiers = append(f.Tiers, "internal")
	}
	if f.examples {
		f.Tiers = append(f.Tiers, "example")
	}
	if f.visibility == allTiers || f.All {
		f.Tiers, f.All = nil, true
	}
	return nil
}
