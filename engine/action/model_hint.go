package action

import (
	"fmt"

	"loops/fsm"
	"loops/internal/agent"
)

// HintedModel returns the model that a prompt names, or the one that a host has for what its model_hint asks
// for: that of the settings, else that of the host. A hint that neither has is an error, so that no other model
// than the one that was meant is asked.
func (r *Runner) HintedModel(h *agent.CLI, model string) (string, error) {
	hint, ok := fsm.ModelHint(model)
	if !ok {
		return model, nil
	}
	for _, name := range append([]string{h.Name}, h.Aliases...) {
		if set, ok := r.ModelHints[name][hint]; ok {
			model = set
			if model == "" {
				return "", fmt.Errorf("the settings turn off model_hint: %s for the agent host %s; name a model "+
					"with model, or in model_hints", hint, h.Name)
			}
			return model, nil
		}
	}
	if model = h.Hints[hint]; model == "" {
		return "", fmt.Errorf("no model of the agent host %s is known for model_hint: %s; name it in the settings: "+
			"model_hints: {%s: {%s: MODEL}}", h.Name, hint, h.Name, hint)
	}
	return model, nil
}
