package cli

import (
	"fmt"
	"strings"
	"time"

	"loops/engine"
	"loops/internal/app"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// lockFlags are the flags of run and resume about the scope that a run locks.
type lockFlags struct {
	queue   bool
	timeout string // as it was given
	none    bool

	limit time.Duration // read by check; negative = not given
}

func (o *lockFlags) addFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&o.queue, "queue", false, "wait while other runs have locked the same files, first come first")
	flags.StringVar(&o.timeout, "queue-timeout", "", "wait for at most `TIME`, such as 90s, 30m or 2d; 0 = try once "+
		"(default: as the project says, or 24h)")
	flags.BoolVar(&o.none, "no-lock", false, "lock no files, and ignore the locks of other runs")
}

func (o *lockFlags) check(cmd *cobra.Command) error {
	see := cmd.CommandPath() + " --help"
	o.limit = -1
	switch given := cmd.Flags().Changed("queue-timeout"); {
	case o.none && o.queue:
		return usageError{"--queue and --no-lock exclude each other", see}
	case given:
		var ok bool
		if o.limit, ok = app.ParseWait(o.timeout); !ok {
			return usageError{fmt.Sprintf("--queue-timeout %q: expected a time such as 90s, 30m, 1h30m or 2d",
				o.timeout), see}
		}
	}
	return nil
}

// lock is what the flags ask for.
func (o lockFlags) lock() engine.Lock {
	return engine.Lock{None: o.none, Queue: o.queue, Limit: o.limit}
}

// has reports whether the command has a flag, as far as that is known.
func (a *program) has(flag string) bool { return a.flags == nil || a.flags.Lookup(flag) != nil }

// begunAs says which command line has the run begun that this command wrote the loop of.
func (a *program) begunAs(words ...string) {
	for _, where := range [][2]string{{"--store", a.store}, {"-C", a.dir}} {
		if where[1] != "" {
			words = append(where[:], words...)
		}
	}
	a.args, a.instead = words, true
}

// named returns the flag that a setting is, as a sentence has it: where this command lacks it, with the command
// that has it.
func (a *program) named(s engine.Setting) string {
	if a.instead && s.Name != engine.SetDir && !a.has(strings.ReplaceAll(s.Name, "_", "-")) {
		return a.again(flagOf(s))
	}
	return flagOf(s)
}

// again returns this command line with other flags about locks, for a person to copy.
func (a *program) again(flag string) string {
	words := []string{"loops"}
	skip := false
	args := argvShown(a.args)
	for i, arg := range args {
		name, _, has := strings.Cut(arg, "=")
		switch {
		case skip:
			skip = false
			continue
		case arg == "--":
			words = append(words, flag)
			for _, rest := range args[i:] {
				words = append(words, quote(rest))
			}
			return strings.Join(words, " ")
		case name == "--queue", name == "--no-lock":
			continue
		case name == "--queue-timeout":
			skip = !has
			continue
		}
		words = append(words, quote(arg))
	}
	return strings.Join(append(words, flag), " ")
}
