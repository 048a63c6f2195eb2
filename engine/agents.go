package engine

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"loops/engine/action"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/agent"
	"loops/internal/config"
	"loops/internal/humanize"
)

// ConfigureAgents sets which agents a runner uses.
func ConfigureAgents(p *project.Project, r *action.Runner, f project.Agents, c *config.Config) {
	r.Hosts, r.ModelHints = c.Hosts, c.ModelHints
	r.Host, r.Model, r.Effort, r.Permissions = f.Host, f.Model, f.Effort, f.Permissions
	if r.Host == "" {
		_, r.Host = project.HostVariable(p.Env)
	}
	r.Host, r.Model = cmp.Or(r.Host, c.Host), cmp.Or(r.Model, c.Model)
	if r.Permissions == "" && c.Permissions == project.PermissionsHost { // the other word leaves it to the loop
		r.Permissions = project.PermissionsHost
	}
}

// checkHosts refuses a run for which a user chose an unknown host, and warns of hosts that its loop, or one
// that it runs, will miss. given are the flags of this command line, and over those with what is recorded of the run.
func (e *Engine) checkHosts(p *project.Project, l *fsm.Loop, given string, over project.Overrides,
	conf *config.Config, warn func(Text), see Operation,
) error {
	r := &action.Runner{Dir: p.Dir, Env: e.actionEnv()}
	ConfigureAgents(p, r, over.Agents, conf)
	used := e.agentsOf(p, l, over)
	var err error
	if r.Host != "" { // only a name can be unknown; without one each host there is would be looked for
		_, _, err = r.FindHost("")
	}
	if unknown, is := errors.AsType[*action.UnknownHostError](err); is {
		var known []string
		for _, h := range unknown.Known {
			known = append(append(known, h.Name), h.Aliases...)
		}
		text := fmt.Sprintf("there is no agent host of this name%s; known are %s",
			humanize.DidYouMean(unknown.Name, known), hostNames(unknown.Known))
		variable, _ := project.HostVariable(p.Env)
		switch {
		case given != "":
			return misuse(see, "%s: %s", Setting{SetHost, humanize.Quote(unknown.Name)}, text)
		case !used.hosts[""]: // not used: neither the variable nor a choice for an earlier loop is an obstacle
		case over.Agents.Host != "":
			return refuse(Invalid, "the run was started with %s: %s; choose one with %s",
				Setting{SetHost, humanize.Quote(unknown.Name)}, text, Setting{Name: SetHost})
		case variable == "":
			return refuse(Invalid, "%s: host %s: %s", p.SettingPlace(conf, "run.host"), humanize.Quote(unknown.Name),
				text)
		default:
			return refuse(Invalid, "%s=%s: %s; set or unset it, or choose one with %s", variable,
				humanize.ShellWord(unknown.Name), text, Setting{Name: SetHost})
		}
	}
	said := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(used.hosts)) {
		if _, _, err := r.FindHost(name); err != nil && !said[err.Error()] {
			said[err.Error()] = true
			warn(textf("warning: %v; prompts and judges that need it will fail", err))
		}
	}
	return nil
}

// agentLine says which agents a loop and the loops it runs will use, and what these may do unasked; the zero Text where
// there are none. A sub-loop whose name is known only when it runs is not looked at.
func (e *Engine) agentLine(p *project.Project, l *fsm.Loop, r *action.Runner) Text {
	u := e.agentsOf(p, l, project.Overrides{})
	if len(u.hosts) == 0 {
		return Text{}
	}
	var found, missing []string
	for _, name := range slices.Sorted(maps.Keys(u.hosts)) {
		h, _, err := r.FindHost(name)
		switch {
		case err != nil:
			missing = append(missing, cmp.Or(name, r.Host))
		case !slices.Contains(found, h.Name):
			found = append(found, h.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(u.spare)) {
		if h, _, err := r.FindHost(name); err == nil && !slices.Contains(found, h.Name) {
			found = append(found, h.Name)
		}
	}
	gone := ""
	if len(missing) > 0 {
		if missing = slices.DeleteFunc(missing, func(name string) bool { return name == "" }); len(missing) > 0 {
			gone = " (" + humanize.List(slices.Compact(missing)) + ")"
		}
		if len(found) == 0 {
			return textf("none was found%s, so prompts and judges will fail", gone)
		}
		gone = "; not found" + gone
	}
	line, may := strings.Join(found, "; "), textf(", with the permissions of its own settings")
	switch {
	case !u.acts:
		may = textf(", which only judges")
	case r.Permissions == fsm.PermissionsSkip, r.Permissions == "" && u.skips:
		may = textf(", using tools without asking (%s leaves that to the agent's own settings)",
			Setting{SetPermissions, project.PermissionsHost})
	}
	return textf("%s%s%s", line, may, gone)
}

// agentsOf looks through a loop and the loops it runs, with these overrides, for the agents they use.
func (e *Engine) agentsOf(p *project.Project, l *fsm.Loop, over project.Overrides) *agentUse {
	u := &agentUse{files: map[string]bool{}, hosts: map[string]bool{}, spare: map[string]bool{}}
	if lib, err := p.Library(); err == nil {
		u.loops = lib.Subloops(over, nil)
		u.loop(l)
	}
	return u
}

// An agentUse collects what agents a loop uses.
type agentUse struct {
	loops project.Subloops
	files map[string]bool // of loops that were looked at
	hosts map[string]bool // as they are named; "" where none is
	spare map[string]bool // that take over from these
	acts  bool            // some do more than judge
	skips bool            // some of these use tools without asking, as far as the loops say
}

func (u *agentUse) loop(l *fsm.Loop) {
	if u.files[l.File] {
		return
	}
	u.files[l.File] = true
	for _, name := range l.Order {
		s := l.States[name]
		if s.Loop != "" {
			if strings.Contains(s.Loop, "${") {
				continue
			}
			if child, err := u.loops.Loop(s.Loop, l); err == nil {
				u.loop(child)
			}
			continue
		}
		if fsm.Prompts(s) {
			u.acts, u.hosts[l.PromptHost(s)] = true, true
			u.others(l.PromptHosts(s))
			u.skips = u.skips || cmp.Or(s.Permissions, l.Permissions, fsm.PermissionsSkip) == fsm.PermissionsSkip
		}
		if ev := s.Evaluate; ev != nil && l.LLM.Enabled &&
			slices.Contains([]string{"llm_structured", "comparator", "contract"}, ev.Type) {
			u.hosts[cmp.Or(ev.Host, s.Host, l.LLM.Host)] = true
			u.others(l.JudgeHosts(s, ev))
		}
	}
}

// others notes the agents of a list that take over from the first.
func (u *agentUse) others(list []fsm.AgentChoice) {
	for _, c := range list[min(1, len(list)):] {
		u.spare[c.Host] = true
	}
}

func hostNames(hosts []*agent.CLI) string {
	list := make([]string, len(hosts))
	for i, h := range hosts {
		list[i] = h.Name
	}
	return strings.Join(list, ", ")
}
