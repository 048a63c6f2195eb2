package loopfile

import (
	"loops/fsm"
	"loops/fsm/value"
)

func ceilingModel(c *fsm.CostCeiling) *value.Map {
	if c == nil {
		return nil
	}
	m := value.NewMap()
	if c.Most != nil {
		m.Set("cost_ceiling_per_state", number64(*c.Most))
	}
	if c.Warn != nil {
		m.Set("cost_warn_at", number64(*c.Warn))
	}
	return m
}

// model writes a model, or what a model is to be good at instead.
func (w objectOf) model(model string) {
	if hint, ok := fsm.ModelHint(model); ok {
		w.text("model_hint", hint, "")
		return
	}
	w.text("model", model, "")
}
