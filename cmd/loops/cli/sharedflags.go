package cli

import "github.com/spf13/pflag"

// flagAlias makes another name of a flag mean it too: one that little-loops or an earlier version has. Help
// shows the flag alone.
func flagAlias(flags *pflag.FlagSet, other, name string) {
	before := flags.GetNormalizeFunc()
	flags.SetNormalizeFunc(func(f *pflag.FlagSet, given string) pflag.NormalizedName {
		if given == other {
			given = name
		}
		return before(f, given)
	})
}

// flagMaxSteps adds the flag for the cap on steps. Its short form -n works, as that of little-loops does, and
// is not shown: elsewhere -n counts rows.
func flagMaxSteps(flags *pflag.FlagSet, to *int) {
	flags.IntVar(to, "max-steps", 0, "cap on all state entries of the run, instead of the loop's `N`")
	flags.VarP(short{flags.Lookup("max-steps")}, "n", "n", "the same as --max-steps `N`")
	_ = flags.MarkHidden("n") // it is there
}

// A short is the value of another flag, which counts as given where this one is.
type short struct{ of *pflag.Flag }

func (s short) String() string { return s.of.Value.String() }
func (s short) Type() string   { return s.of.Value.Type() }

func (s short) Set(text string) error {
	s.of.Changed = true
	return s.of.Value.Set(text)
}

// flagContext adds the flag for values of the context.
func flagContext(flags *pflag.FlagSet, to *[]string) {
	flags.StringArrayVar(to, "context", nil, "set a context value, `KEY=VALUE` (repeatable); --set is the same")
	flagAlias(flags, "set", "context")
}

// flagLimit adds the flag for how many rows are shown.
func flagLimit(flags *pflag.FlagSet, to *int, unset int, usage string) {
	flags.IntVarP(to, "limit", "n", unset, usage)
	flags.Lookup("limit").DefValue = "0" // a number below 0 is no default to show
	flagAlias(flags, "tail", "limit")
}

// flagQuiet adds the flag of commands that may take long.
func flagQuiet(flags *pflag.FlagSet, to *bool) {
	flags.BoolVarP(to, "quiet", "q", false, "show no progress")
}
