package engine

import (
	"context"
	"slices"
	"strings"

	"loops/engine/action"
	"loops/persistence"
)

// A successor is the agent that a run starts to be resumed by it (on_handoff: spawn), if it does.
type successor struct{ agent *action.Detached }

// spawn fits fsm.Config.Spawn. The agent gets the command that resumes the run, in the folder of the project, and what
// the handoff said.
func (s *successor) spawn(e *Engine, j *job, r *action.Runner, id persistence.ID) func(context.Context, string,
	string, string) (int, error) {
	return func(_ context.Context, host, permissions, continuation string) (int, error) {
		prompt := "Continue loop execution. Run: " + e.command(Do(OpResume, string(id)))
		if continuation != "" {
			prompt += "\n\n" + continuation
		}
		agent, err := r.Detach(action.Detachment{
			Host: host, Permissions: permissions, Prompt: prompt, Dir: j.project.Main().Dir,
			// It may outlive the runs around this one, so it has no part in their scopes.
			Env: slices.DeleteFunc(e.actionEnv(), func(kv string) bool {
				return strings.HasPrefix(kv, EnvAncestors+"=")
			}),
		})
		if err != nil {
			return 0, err
		}
		s.agent = agent
		return agent.PID, nil
	}
}

// settle lets the agent begin, once the run can be resumed. Where that is not sure it never does.
func (s *successor) settle(recorded bool) {
	switch {
	case s.agent == nil:
	case recorded:
		s.agent.Release()
	default:
		s.agent.Cancel()
	}
}
