package app

import (
	"strings"

	"loops/engine/action"
	"loops/fsm"
	"loops/internal/api"
	"loops/internal/humanize"
)

// actionTypes looks at the action types that the settings add: whether a program of each is there. It starts none.
func (x *Examination) actionTypes() {
	p := x.Project
	types := p.ActionTypes()
	r := &action.Runner{Dir: p.Dir, Env: p.Env}
	for _, t := range x.Config.ActionTypes {
		by, ok := types[t.Name]
		if !ok {
			continue
		}
		f := Finding{
			"types", FindingOK, typeText(t.Name, by), "",
			api.FoundType{Name: t.Name, Host: api.Text(by.Host), Program: by.Program},
		}
		if by.Host == "" {
			if _, err := r.FindProgram(by.Program[0]); err != nil {
				f.Level, f.Text = FindingProblem, f.Text+", which was not found"
				f.Todo = "install it, or correct " + p.SettingPlace(x.Config, "action_types."+t.Name)
			}
		}
		x.add(f)
	}
}

func typeText(name string, by fsm.Extension) string {
	if by.Host != "" {
		return humanize.Quote(name) + " is a prompt for the host " + by.Host
	}
	return humanize.Quote(name) + " is given to " + humanize.Quote(strings.Join(by.Program, " "))
}
