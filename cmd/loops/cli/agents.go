package cli

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"loops/engine/action"
	"loops/fsm"
	"loops/fsm/value"
	"loops/internal/config"
	"loops/internal/phrase"
)

// Environment variables that say which agent host does the prompts of loops that name none, unless --host does.
const (
	envHost          = "LOOPS_HOST"
	envReferenceHost = "LL_HOST_CLI" // the reference tool's
)

// permissionsHost leaves what an agent may do to the agent's own settings; compare [fsm.PermissionsSkip].
const permissionsHost = "host"

// agentFlags are the flags of run and resume about agents. They hold in sub-loops too.
type agentFlags struct {
	host        string // "" = the environment's, or the first there is
	model       string // "" = the host's own
	permissions string // "" = as the loop says
	noLLM       bool   // no judge is asked: llm.enabled: false, whatever the loop says
}

func (f *agentFlags) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&f.host, "host", "", "agent `HOST` of prompts and judges that name none (default: $"+envHost+", $"+envReferenceHost+", the config, or the first that is installed)")
	flags.StringVar(&f.model, "model", "", "`MODEL` of prompts that name none (default: the config's, or the host's own)")
	flags.StringVar(&f.permissions, "permissions", "", "what agents may do, whatever the loop says: `skip` (all, without asking) or host (what their own settings allow)")
	flags.BoolVar(&f.noLLM, "no-llm", false, "ask no judge: what a language model would decide is the verdict error")
}

func (f *agentFlags) check(cmd *cobra.Command) error {
	see := cmd.CommandPath() + " --help"
	flags := cmd.Flags()
	for _, one := range []struct{ name, value string }{{"host", f.host}, {"model", f.model}} {
		if flags.Changed(one.name) && strings.TrimSpace(one.value) == "" {
			return usageError{"--" + one.name + " is empty: leave it out to have what is the default", see}
		}
	}
	if p := f.permissions; flags.Changed("permissions") && p != fsm.PermissionsSkip && p != permissionsHost {
		return usageError{fmt.Sprintf("--permissions %q: expected %s or %s", p, fsm.PermissionsSkip, permissionsHost), see}
	}
	return nil
}

// fields are the flags by their names in the record of a run.
func (f *agentFlags) fields() []struct {
	key   string
	value *string
} {
	return []struct {
		key   string
		value *string
	}{{"host", &f.host}, {"model", &f.model}, {"permissions", &f.permissions}}
}

// record notes the flags that are set.
func (f *agentFlags) record(options *value.Map) {
	for _, one := range f.fields() {
		if *one.value != "" {
			options.Set(one.key, *one.value)
		}
	}
	if f.noLLM {
		options.Set("no_llm", true)
	}
}

// fill takes the recorded flags where they are not set.
func (f *agentFlags) fill(recorded *value.Map) {
	for _, one := range f.fields() {
		v, _ := recorded.Get(one.key)
		if text, _ := v.(string); *one.value == "" {
			*one.value = text
		}
	}
	if v, _ := recorded.Get("no_llm"); v == true {
		f.noLLM = true
	}
}

// apply brings the flags into a loop.
func (f *agentFlags) apply(l *fsm.Loop) {
	if f.noLLM {
		l.LLM.Enabled = false
	}
}

// agents tells a runner which agents to use.
func (a *app) agents(r *action.Runner, f agentFlags, c *config.Config) {
	r.Hosts = c.Hosts
	r.Host, r.Model, r.Permissions = f.host, f.model, f.permissions
	if r.Host == "" {
		_, r.Host = a.hostVariable()
	}
	r.Host, r.Model = cmp.Or(r.Host, c.Host), cmp.Or(r.Model, c.Model)
	if r.Permissions == "" && c.Permissions == permissionsHost { // the other word leaves it to the loop
		r.Permissions = permissionsHost
	}
}

// hostVariable returns the environment variable that chooses a host, and which; "" if none does.
func (a *app) hostVariable() (variable, host string) {
	for _, name := range []string{envHost, envReferenceHost} {
		if host, _ := a.getenv(name); host != "" {
			return name, host
		}
	}
	return "", ""
}

// checkHosts refuses a run for which somebody chose a host that nobody knows, and warns of hosts that its loop, or one
// that it runs, will miss. given are the flags of this command line, and over those with what is recorded of the run.
func (a *app) checkHosts(p project, l *fsm.Loop, given string, over overrides, conf *config.Config, view viewFlags, see string) error {
	r := &action.Runner{Dir: p.Dir, Env: a.actionEnv()}
	a.agents(r, over.agents, conf)
	used := a.agentsOf(p, l, over)
	_, _, err := r.FindHost("")
	if unknown, is := errors.AsType[*action.UnknownHostError](err); is {
		var known []string
		for _, h := range unknown.Known {
			known = append(append(known, h.Name), h.Aliases...)
		}
		text := fmt.Sprintf("there is no agent host of this name%s; known are %s", phrase.DidYouMean(unknown.Name, known), names(unknown.Known))
		variable, _ := a.hostVariable()
		switch {
		case given != "":
			return usageError{"--host " + phrase.Quote(unknown.Name) + ": " + text, see}
		case !used.hosts[""]: // whoever set the variable, or ran a loop that was another then, is not kept from it
		case over.agents.host != "":
			return failure(exitInvalid, "the run was started with --host %s: %s; choose one with --host", phrase.Quote(unknown.Name), text)
		case variable == "":
			return failure(exitInvalid, "%s: host %s: %s", p.settingPlace(conf, "run.host"), phrase.Quote(unknown.Name), text)
		default:
			return failure(exitInvalid, "%s=%s: %s; set or unset it, or choose one with --host", variable, quote(unknown.Name), text)
		}
	}
	if view.quiet {
		return nil
	}
	said := map[string]bool{}
	for _, name := range sortedKeys(used.hosts) {
		if _, _, err := r.FindHost(name); err != nil && !said[err.Error()] {
			said[err.Error()] = true
			say(a.Err, "loops: warning: %v; prompts and judges that need it will fail\n", err)
		}
	}
	return nil
}
