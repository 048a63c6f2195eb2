package cli

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// noEffect are the flags of little-loops that change only what it shows, by command, and what to do instead
// here. They are accepted, so that its scripts run.
var noEffect = []struct {
	commands           []string
	name, short, value string // value = "" of a flag without one
	instead            string
}{
	{shown, "diagram-edge-labels", "", "TEXT", graphs},
	{shown, "diagram-state-detail", "", "TEXT", graphs},
	{shown, "diagram-scope", "", "TEXT", graphs},
	{[]string{"attach"}, "no-clear", "", "", "without --clear, nothing is cleared"},
	{[]string{"list"}, "grid", "", "", "loops list is a table; loops list --json is for programs"},
	{[]string{"run"}, "items", "", "N", "it limits a comparison that only little-loops makes (run --baseline)"},
	{
		[]string{"run", "resume"},
		"no-prompt-size-guard", "", "",
		"enabled: false of prompt_size_guard in the loop file turns the warning off",
	},
	{
		[]string{"run"},
		"prompt-size-warn-chars", "", "N",
		"warn_chars of prompt_size_guard in the loop file is that number",
	},
}

var shown = []string{"run", "resume", "attach", "show"}

// queueTimeout means nothing without --queue, to little-loops too.
const queueTimeout = "queue-timeout"

const graphs = "there is one kind of diagram; loops graph has other formats and widths"

// closest are the flags of little-loops that no command here has, and what comes closest.
var closest = map[string]string{
	"run --baseline":               "run the loop twice, with two models or agents, and compare: loops diff RUN RUN",
	"run --baseline-skill":         "run the loop twice, with two models or agents, and compare: loops diff RUN RUN",
	"run --cross-host":             "run the loop once with each agent (--host), and compare: loops diff RUN RUN",
	"run --program-md":             "give the loop its values with --context KEY=VALUE",
	"run --host-guard-budget-mb":   "set max_cumulative_subproc_mb of host_guard in the loop file",
	"run --handoff-threshold":      "set the variable that it sets: LL_HANDOFF_THRESHOLD=N loops run NAME",
	"run --context-limit":          "set the variable that it sets: LL_CONTEXT_LIMIT=N loops run NAME",
	"run --instance-id":            "loops chooses the id of a run; run --background --json prints it",
	"run --foreground-internal":    "to run in the background: loops run --background NAME",
	"remove --force":               "end the process yourself; queue remove ends only one that it recognises: kill PID",
	"resume --handoff-threshold":   "set the variable that it sets: LL_HANDOFF_THRESHOLD=N loops resume NAME",
	"resume --context-limit":       "set the variable that it sets: LL_CONTEXT_LIMIT=N loops resume NAME",
	"resume --foreground-internal": "to continue in the background: loops resume --background NAME",
}

// insteadOf returns what comes closest to a flag of little-loops that a command lacks; "" where little-loops
// has no such flag.
func insteadOf(cmd *cobra.Command, flag string) string { return closest[cmd.Name()+" --"+flag] }

// flagLittleLoops adds the flags that noEffect lists, hidden, to the commands below root. note is called for
// each that is given.
func flagLittleLoops(root *cobra.Command, note func(string)) {
	for _, cmd := range root.Commands() {
		added := map[string]string{} // by flag, what to do instead
		for _, f := range noEffect {
			if !slices.Contains(f.commands, cmd.Name()) {
				continue
			}
			if f.value == "" {
				cmd.Flags().BoolP(f.name, f.short, false, "accepted for scripts of little-loops; has no effect")
			} else {
				cmd.Flags().StringP(f.name, f.short, "",
					"accepted (`"+f.value+"`) for scripts of little-loops; has no effect")
			}
			cmd.Flags().Lookup(f.name).Hidden = true
			added[f.name] = f.instead
		}
		run := cmd.RunE
		if cmd.Flags().Lookup(queueTimeout) != nil {
			added[queueTimeout] = "it says how long --queue waits; add --queue, without which a run does not wait"
		}
		if run == nil || len(added) == 0 {
			continue
		}
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if quiet, err := cmd.Flags().GetBool("quiet"); err != nil || !quiet {
				cmd.Flags().Visit(func(f *pflag.Flag) {
					queues, _ := cmd.Flags().GetBool("queue")
					if instead := added[f.Name]; instead != "" && !(f.Name == queueTimeout && queues) {
						note("--" + f.Name + " changes nothing: " + instead)
					}
				})
			}
			return run(cmd, args)
		}
	}
}

// flagInstanceID adds the flag of little-loops for the id of a run, beside the name of its loop, hidden.
func flagInstanceID(flags *pflag.FlagSet, to *string) {
	flags.StringVar(to, "instance-id", "", "the `RUN` to continue, instead of the newest of the loop")
	flags.Lookup("instance-id").Hidden = true
}

// flagLong adds the short form of --long of little-loops, hidden.
func flagLong(flags *pflag.FlagSet) {
	flags.VarPF(short{flags.Lookup("verbose")}, "l", "l", "the same as --verbose").NoOptDefVal = "true"
	flags.Lookup("l").Hidden = true
}

// flagBuiltin adds the flag that means the catalog alone, hidden: it is that of little-loops.
func flagBuiltin(flags *pflag.FlagSet, to *bool, usage string) {
	flags.BoolVar(to, "builtin", false, usage)
	flags.Lookup("builtin").Hidden = true
}

// flagWhole adds the flag -v of a view that shortens texts, with other names of little-loops for it.
func flagWhole(flags *pflag.FlagSet, to *bool, usage string, others ...string) {
	flags.BoolVarP(to, "verbose", "v", false, usage)
	for _, name := range others {
		flagAlias(flags, name, "verbose")
	}
}

// diagramModes are the values of --show-diagrams that little-loops knows. All mean the same here.
var diagramModes = []string{
	"detailed", "summary", "clean", "local", "slim", "oneline", "layered", "neighborhood",
	"inline", "window",
}

const showDiagrams = "show-diagrams"

// flagDiagrams adds the flags that draw the loop while a run is shown, hidden: they are those of little-loops.
// loops watch has more.
func flagDiagrams(flags *pflag.FlagSet, mode *string, clears *bool) {
	flags.StringVar(mode, showDiagrams, "", "draw the loop at each state; `TEXT` is a mode, for scripts "+
		"of little-loops")
	flags.Lookup(showDiagrams).NoOptDefVal = diagramModes[0]
	flags.Lookup(showDiagrams).Hidden = true
	if clears != nil {
		flags.BoolVar(clears, "clear", false, "clear the terminal at each state")
		flags.Lookup("clear").Hidden = true
	}
}

// flagJoinModes returns the arguments with the mode of --show-diagrams behind "=", as this program reads it,
// where it is an argument of its own, as little-loops reads it.
func flagJoinModes(args []string) []string {
	for i, arg := range args {
		if arg == "--" {
			break
		}
		if arg == "--"+showDiagrams && i+1 < len(args) && slices.Contains(diagramModes, args[i+1]) {
			joined := append(slices.Clone(args[:i]), arg+"="+args[i+1])
			return append(joined, args[i+2:]...)
		}
	}
	return args
}
