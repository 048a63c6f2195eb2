package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"loops/fsm/loopfile"
	"loops/internal/phrase"
	"loops/internal/ui"
)

// A loopFilter chooses among the loops that list shows. All that is set must hold.
type loopFilter struct {
	category           string
	labels             []string
	visibility         string
	internal, examples bool
	all                bool // internal loops too

	tiers []string // that are asked for; none = all but internal, unless all is set
}

// tiers are the values of visibility, with which a loop says for whom it is.
var tiers = []string{"public", "internal", "example"}

const allTiers = "all"

func (f *loopFilter) addFlags(flags *pflag.FlagSet) {
	flags.StringVarP(&f.category, "category", "c", "", "list loops of this `CATEGORY`")
	flags.StringArrayVar(&f.labels, "label", nil, "list loops with this `LABEL`, or one of several (repeatable); upper and lower case are the same")
	flags.StringVar(&f.visibility, "visibility", "", "list loops that can run and are of this `TIER`: public, internal or example; all is every loop")
	flags.BoolVarP(&f.all, "all", "a", false, "list internal loops too")
	flags.BoolVar(&f.internal, "internal", false, "list internal loops, as --visibility internal does, or those besides")
	flags.BoolVar(&f.examples, "examples", false, "list examples, as --visibility example does, or those besides")
}

// check reads the flags, and refuses them where runs are listed.
func (f *loopFilter) check(cmd *cobra.Command, runs bool) error {
	for _, name := range []string{"category", "label", "visibility", "internal", "examples", "all"} {
		if runs && cmd.Flags().Changed(name) {
			return usageError{"--" + name + " chooses among loops, and what else is given lists runs", seeList}
		}
	}
	if f.visibility != "" && f.visibility != allTiers {
		if !slices.Contains(tiers, f.visibility) {
			return usageError{fmt.Sprintf("--visibility %s: expected public, internal, example or all", phrase.Quote(f.visibility)), seeList}
		}
		f.tiers = append(f.tiers, f.visibility)
	}
	if f.internal {
		f.tiers = append(f.tiers, "internal")
	}
	if f.examples {
		f.tiers = append(f.tiers, "example")
	}
	if f.visibility == allTiers || f.all {
		f.tiers, f.all = nil, true
	}
	return nil
}

// chooses reports whether anything is asked for.
func (f *loopFilter) chooses() bool { return f.category != "" || len(f.labels) > 0 || len(f.tiers) > 0 }

// choose returns the loops that are asked for. It says on standard error what is left out unasked: loops that cannot run,
// which are of no tier, and internal ones.
func (f *loopFilter) choose(a *app, entries []loopfile.Entry) (chosen []loopfile.Entry) {
	var broken []string
	hidden := 0
	for _, e := range entries {
		switch {
		case f.category != "" && e.Category != f.category, len(f.labels) > 0 && !slices.ContainsFunc(e.Labels, f.asksFor):
		case len(f.tiers) > 0 && e.Problem != "":
			broken = append(broken, e.Name)
		case len(f.tiers) == 0 && !f.all && e.Problem == "" && tierOf(e) == "internal":
			hidden++
		case len(f.tiers) == 0 || slices.Contains(f.tiers, tierOf(e)):
			chosen = append(chosen, e)
		}
	}
	if len(broken) > 0 {
		ui.Say(a.Err, "loops: left out, because they cannot run: %s; see: %s\n", strings.Join(broken, ", "), a.command("validate --all"))
	}
	if hidden > 0 {
		ui.Say(a.Err, "loops: left out: %s; see: %s\n", phrase.Count(hidden, "internal loop"), a.command("list --all"))
	}
	return chosen
}

func (f *loopFilter) asksFor(label string) bool {
	return slices.ContainsFunc(f.labels, func(wanted string) bool { return strings.EqualFold(wanted, label) })
}

// tierOf is the tier of a loop. One that names none there is counts as public.
func tierOf(e loopfile.Entry) string {
	if slices.Contains(tiers, e.Visibility) {
		return e.Visibility
	}
	return tiers[0]
}
