package engine

import (
	"strings"

	"loops/engine/project"
	"loops/persistence"
)

// EnvAncestors names the runs whose actions a process is part of, oldest first, with commas: each by the mark
// of where it is recorded, and its id. Earlier versions wrote the id alone.
const EnvAncestors = "LOOPS_ANCESTORS"

// inside returns what the environment says of the runs around this process, "" if there are none. A run in the
// background is part of none: it continues when the action that started it has ended.
func (e *Engine) inside() string { return Inside(e.o) }

// Inside returns what the environment of a program says of the runs around it, "" if there are none.
func Inside(o Options) string {
	if o.Detached {
		return ""
	}
	list, _ := project.LookEnv(o.Env, EnvAncestors)
	return list
}

// ancestors returns the runs whose actions this process is part of, and whose scopes a run of the project
// shares for that. A run that is recorded elsewhere is not one of them: its id may be that of a run here which
// is a stranger.
func (e *Engine) ancestors(p *project.Project) []persistence.ID {
	mark := p.RecordsMark()
	var ids []persistence.ID
	for _, entry := range e.around() {
		id, here := strings.CutPrefix(entry, mark)
		if here || !strings.Contains(entry, "/") { // the program may have been replaced while the outer run continues
			ids = append(ids, persistence.ID(id))
		}
	}
	return ids
}

// around returns the runs whose actions this process is part of, wherever they are recorded.
func (e *Engine) around() []string {
	if list := e.inside(); list != "" {
		return strings.Split(list, ",")
	}
	return nil
}

// actionEnv returns the environment that actions start from, of a run if they are part of one, as EnvAncestors
// names it.
func (e *Engine) actionEnv(run ...string) []string { return ActionEnv(e.p, e.o, run...) }

// ActionEnv returns the environment that actions start from: that of the program, without what says of which
// run it is part itself. run names the run that they are part of, as Mark says.
func ActionEnv(p *project.Project, o Options, run ...string) []string {
	env := make([]string, 0, len(o.Env)+2)
	for _, kv := range o.Env {
		name, _, _ := strings.Cut(kv, "=")
		if name != EnvAncestors && name != EnvRunID && (name != project.EnvStore || p.Store == "") {
			env = append(env, kv)
		}
	}
	if p.Store != "" {
		env = append(env, project.EnvStore+"="+p.Store) // what an action runs is recorded where this run is
	}
	if around := Inside(o); around != "" {
		run = append([]string{around}, run...)
	}
	if len(run) == 0 {
		return env
	}
	return append(env, EnvAncestors+"="+strings.Join(run, ","))
}
