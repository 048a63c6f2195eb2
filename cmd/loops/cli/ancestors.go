package cli

import (
	"strings"

	"loops/engine/project"
	"loops/persistence"
)

// envAncestors names the runs whose actions a process is part of, oldest first, with commas: each by the mark of where it
// is recorded, and its id. Earlier versions wrote the id alone.
const envAncestors = "LOOPS_ANCESTORS"

// inside returns what the environment says of the runs around this process, "" if there are none. A run in the background
// is part of none: it goes on when the action that started it has ended.
func (a *app) inside() string {
	if a.detached != nil {
		return ""
	}
	list, _ := a.getenv(envAncestors)
	return list
}

// ancestors returns the runs whose actions this process is part of, and whose scopes a run of the project shares for that.
// A run that is recorded elsewhere is none of them: its id may be that of a run here which is a stranger.
func (a *app) ancestors(p *project.Project) []persistence.ID {
	list := a.inside()
	if list == "" {
		return nil
	}
	mark := p.RecordsMark()
	var ids []persistence.ID
	for entry := range strings.SplitSeq(list, ",") {
		id, here := strings.CutPrefix(entry, mark)
		if here || !strings.Contains(entry, "/") { // the program may have been replaced while the outer run goes on
			ids = append(ids, persistence.ID(id))
		}
	}
	return ids
}

// actionEnv returns the environment that actions start from, of a run if they are part of one, as envAncestors names it.
func (a *app) actionEnv(run ...string) []string {
	env := make([]string, 0, len(a.Env)+2)
	for _, kv := range a.Env {
		name, _, _ := strings.Cut(kv, "=")
		if name != envAncestors && name != envRunID && (name != project.EnvStore || a.store == "") {
			env = append(env, kv)
		}
	}
	if a.store != "" {
		env = append(env, project.EnvStore+"="+a.store) // what an action runs is recorded where this run is
	}
	if around := a.inside(); around != "" {
		run = append([]string{around}, run...)
	}
	if len(run) == 0 {
		return env
	}
	return append(env, envAncestors+"="+strings.Join(run, ","))
}
