package project

import (
	"slices"

	"loops/fsm"
	"loops/fsm/loopfile"
	"loops/internal/agent"
	"loops/internal/config"
)

// ActionTypes returns the action types that the settings add to those of the language, nil if there are none. What is
// wrong with the settings is reported by callers that need them.
func (p *Project) ActionTypes() loopfile.Types {
	if p.known == nil { // it only says where paths of a definition are
		return nil
	}
	c, _ := p.Declared()
	if len(c.ActionTypes) == 0 {
		return nil
	}
	types := loopfile.Types{}
	for _, t := range c.ActionTypes {
		if !t.List && isHost(c, t.By[0]) {
			types[t.Name] = fsm.Extension{Host: t.By[0]}
		} else {
			types[t.Name] = fsm.Extension{Program: t.By}
		}
	}
	return types
}

// isHost reports whether a host has this name.
func isHost(c *config.Config, name string) bool {
	return slices.ContainsFunc(slices.Concat(c.Hosts, agent.Hosts()), func(h *agent.CLI) bool {
		return h.Name == name || slices.Contains(h.Aliases, name)
	})
}
