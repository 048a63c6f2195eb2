package cli

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"loops/internal/config"
	"loops/persistence"
)

// queueTimeout is how long run --queue waits where neither the command line nor the project says.
const queueTimeout = 24 * time.Hour

// lockFlags are the flags of run and resume about the scope that a run locks.
type lockFlags struct {
	queue   bool
	timeout string // as it was given
	none    bool

	limit time.Duration // read by check; negative = not given
}

func (o *lockFlags) addFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&o.queue, "queue", false, "wait while other runs have locked the same files, in the order of those who wait")
	flags.StringVar(&o.timeout, "queue-timeout", "", "wait for at most `TIME`, such as 90s, 30m or 2d; 0 = try once (default: as the project says, or 24h)")
	flags.BoolVar(&o.none, "no-lock", false, "lock no files, and do not ask whether others did")
}

func (o *lockFlags) check(cmd *cobra.Command) error {
	see := cmd.CommandPath() + " --help"
	o.limit = -1
	switch given := cmd.Flags().Changed("queue-timeout"); {
	case o.none && o.queue:
		return usageError{"--queue and --no-lock exclude each other", see}
	case given && !o.queue:
		return usageError{"--queue-timeout needs --queue", see}
	case given:
		var ok bool
		if o.limit, ok = parseWait(o.timeout); !ok {
			return usageError{fmt.Sprintf("--queue-timeout %q: expected a time such as 90s, 30m, 1h30m or 2d", o.timeout), see}
		}
	}
	return nil
}

// parseWait reads a time to wait; a bare number is seconds, as the reference tool has it.
func parseWait(s string) (time.Duration, bool) {
	if n, err := strconv.ParseUint(s, 10, 31); err == nil {
		return time.Duration(n) * time.Second, true
	}
	if d, err := parseAge(s); err == nil {
		return d, true
	}
	d, err := time.ParseDuration(s)
	return d, err == nil && d >= 0
}

// apply takes the locks out of what a run is about to take, if it is to have none.
func (o lockFlags) apply(spec *persistence.Spec) {
	if o.none {
		spec.Scope, spec.Singleton = nil, false
	}
}

// waits says for how long to wait; 0 is not at all.
func (o lockFlags) waits(conf *config.Config) time.Duration {
	switch {
	case !o.queue:
		return 0
	case o.limit >= 0:
		return o.limit
	case conf != nil:
		return cmp.Or(conf.QueueTimeout, queueTimeout)
	}
	return queueTimeout
}

// again returns this command line with other flags about locks, for a person to copy.
func (a *app) again(flag string) string {
	words := []string{"loops"}
	skip := false
	args := shownArguments(a.args)
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
