package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"loops/engine/project"
	"loops/fsm"
)

func addAgentFlags(f *project.Agents, flags *pflag.FlagSet) {
	flags.StringVar(&f.Host, "host", "", "agent `HOST` of prompts and judges that name none (default: $"+
		project.EnvHost+", $"+project.EnvReferenceHost+", the config, or the first that is installed)")
	flags.StringVar(&f.Model, "model", "", "`MODEL` of prompts that name none (default: the config's, or "+
		"the host's own)")
	flags.StringVar(&f.JudgeModel, "llm-model", "", "`MODEL` of judges that name none, instead of the loop's llm.model")
	flags.StringVar(&f.Effort, "effort", "", "reasoning `EFFORT` of prompts and judges that name none: low, medium, "+
		"high, or what else their host knows")
	flags.StringVar(&f.Permissions, "permissions", "", "what agents may do, whatever the loop says: `skip` (all, "+
		"without asking) or host (what their own settings allow)")
	flags.BoolVar(&f.NoLLM, "no-llm", false, "ask no judge: its verdict is error")
}

func checkAgents(f *project.Agents, cmd *cobra.Command) error {
	see := cmd.CommandPath() + " --help"
	flags := cmd.Flags()
	for _, one := range []struct{ name, value string }{
		{"host", f.Host},
		{"model", f.Model},
		{"llm-model", f.JudgeModel},
		{"effort", f.Effort},
	} {
		if flags.Changed(one.name) && strings.TrimSpace(one.value) == "" {
			return usageError{"--" + one.name + " is empty: leave it out to have what is the default", see}
		}
	}
	return checkPermissions(f.Permissions, see)
}

// checkPermissions refuses unknown permissions; "" = not given.
func checkPermissions(p, see string) error {
	switch p {
	case "", fsm.PermissionsSkip, project.PermissionsHost:
		return nil
	}
	return usageError{fmt.Sprintf("--permissions %q: expected %s or %s", p, fsm.PermissionsSkip,
		project.PermissionsHost), see}
}
