package cli

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"loops/engine/action"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/config"
	"loops/internal/doctor"
	"loops/internal/phrase"
)

func addAgentFlags(f *project.Agents, flags *pflag.FlagSet) {
	flags.StringVar(&f.Host, "host", "", "agent `HOST` of prompts and judges that name none (default: $"+project.EnvHost+", $"+project.EnvReferenceHost+", the config, or the first that is installed)")
	flags.StringVar(&f.Model, "model", "", "`MODEL` of prompts that name none (default: the config's, or the host's own)")
	flags.StringVar(&f.Permissions, "permissions", "", "what agents may do, whatever the loop says: `skip` (all, without asking) or host (what their own settings allow)")
	flags.BoolVar(&f.NoLLM, "no-llm", false, "ask no judge: what a language model would decide is the verdict error")
}

func checkAgents(f *project.Agents, cmd *cobra.Command) error {
	see := cmd.CommandPath() + " --help"
	flags := cmd.Flags()
	for _, one := range []struct{ name, value string }{{"host", f.Host}, {"model", f.Model}} {
		if flags.Changed(one.name) && strings.TrimSpace(one.value) == "" {
			return usageError{"--" + one.name + " is empty: leave it out to have what is the default", see}
		}
	}
	if p := f.Permissions; flags.Changed("permissions") && p != fsm.PermissionsSkip && p != project.PermissionsHost {
		return usageError{fmt.Sprintf("--permissions %q: expected %s or %s", p, fsm.PermissionsSkip, project.PermissionsHost), see}
	}
	return nil
}

// agents tells a runner which agents to use.
func agents(p *project.Project, r *action.Runner, f project.Agents, c *config.Config) {
	r.Hosts = c.Hosts
	r.Host, r.Model, r.Permissions = f.Host, f.Model, f.Permissions
	if r.Host == "" {
		_, r.Host = project.HostVariable(p.Env)
	}
	r.Host, r.Model = cmp.Or(r.Host, c.Host), cmp.Or(r.Model, c.Model)
	if r.Permissions == "" && c.Permissions == project.PermissionsHost { // the other word leaves it to the loop
		r.Permissions = project.PermissionsHost
	}
}

// checkHosts refuses a run for which somebody chose a host that nobody knows, and warns of hosts that its loop, or one
// that it runs, will miss. given are the flags of this command line, and over those with what is recorded of the run.
func (a *app) checkHosts(p *project.Project, l *fsm.Loop, given string, over project.Overrides, conf *config.Config, view viewFlags, see string) error {
	r := &action.Runner{Dir: p.Dir, Env: a.actionEnv()}
	agents(p, r, over.Agents, conf)
	used := a.agentsOf(p, l, over)
	_, _, err := r.FindHost("")
	if unknown, is := errors.AsType[*action.UnknownHostError](err); is {
		var known []string
		for _, h := range unknown.Known {
			known = append(append(known, h.Name), h.Aliases...)
		}
		text := fmt.Sprintf("there is no agent host of this name%s; known are %s", phrase.DidYouMean(unknown.Name, known), doctor.Names(unknown.Known))
		variable, _ := project.HostVariable(p.Env)
		switch {
		case given != "":
			return usageError{"--host " + phrase.Quote(unknown.Name) + ": " + text, see}
		case !used.hosts[""]: // whoever set the variable, or ran a loop that was another then, is not kept from it
		case over.Agents.Host != "":
			return failure(exitInvalid, "the run was started with --host %s: %s; choose one with --host", phrase.Quote(unknown.Name), text)
		case variable == "":
			return failure(exitInvalid, "%s: host %s: %s", p.SettingPlace(conf, "run.host"), phrase.Quote(unknown.Name), text)
		default:
			return failure(exitInvalid, "%s=%s: %s; set or unset it, or choose one with --host", variable, quote(unknown.Name), text)
		}
	}
	if view.quiet {
		return nil
	}
	said := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(used.hosts)) {
		if _, _, err := r.FindHost(name); err != nil && !said[err.Error()] {
			said[err.Error()] = true
			say(a.Err, "loops: warning: %v; prompts and judges that need it will fail\n", err)
		}
	}
	return nil
}
