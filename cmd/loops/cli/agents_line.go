package cli

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"loops/engine/action"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/phrase"
)

// agentLine says which agents a loop and the loops it runs will use, and what these may do unasked; "" where there are
// none. A sub-loop whose name is known only when it runs is not looked at.
func (a *app) agentLine(p *project.Project, l *fsm.Loop, r *action.Runner) string {
	u := a.agentsOf(p, l, project.Overrides{})
	if len(u.hosts) == 0 {
		return ""
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
	gone := ""
	if len(missing) > 0 {
		if missing = slices.DeleteFunc(missing, func(name string) bool { return name == "" }); len(missing) > 0 {
			gone = " (" + phrase.List(slices.Compact(missing)) + ")"
		}
		if len(found) == 0 {
			return "none was found" + gone + ", so prompts and judges will fail"
		}
		gone = "; not found" + gone
	}
	line := strings.Join(found, "; ")
	switch {
	case !u.acts:
		line += ", which only judges"
	case r.Permissions == fsm.PermissionsSkip, r.Permissions == "" && u.skips:
		line += ", using tools without asking (--permissions " + project.PermissionsHost + " leaves that to the agent's own settings)"
	default:
		line += ", with the permissions of its own settings"
	}
	return line + gone
}

// agentsOf looks through a loop and the loops it runs, with these overrides, for the agents they use.
func (a *app) agentsOf(p *project.Project, l *fsm.Loop, over project.Overrides) *agentUse {
	u := &agentUse{files: map[string]bool{}, hosts: map[string]bool{}}
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
			u.acts, u.hosts[cmp.Or(s.Host, l.LLM.Host)] = true, true
			u.skips = u.skips || cmp.Or(s.Permissions, l.Permissions, fsm.PermissionsSkip) == fsm.PermissionsSkip
		}
		if ev := s.Evaluate; ev != nil && l.LLM.Enabled && slices.Contains([]string{"llm_structured", "comparator", "contract"}, ev.Type) {
			u.hosts[cmp.Or(ev.Host, s.Host, l.LLM.Host)] = true
		}
	}
}
