package loopfile

import "loops/fsm"

// costCeiling reads the cost_ceiling key of a state; nil means that it is not there.
func (d *decoder) costCeiling(of *block) *fsm.CostCeiling {
	if !of.has("cost_ceiling") {
		return nil
	}
	b := of.sub("cost_ceiling")
	dollars := func(key string) *float64 {
		if !b.has(key) {
			return nil
		}
		v := b.number(key)
		return &v
	}
	c := &fsm.CostCeiling{Most: dollars("cost_ceiling_per_state"), Warn: dollars("cost_warn_at")}
	switch {
	case c.Most == nil && c.Warn == nil:
		d.errorf(of.pos("cost_ceiling"), join(of.path, "cost_ceiling"), "missing-key",
			"cost_ceiling sets no limit; expected cost_ceiling_per_state or cost_warn_at")
	case c.Most != nil && c.Warn != nil && *c.Warn > *c.Most:
		d.errorf(b.pos("cost_warn_at"), join(b.path, "cost_warn_at"), "range",
			"cost_warn_at (%v) must not be above cost_ceiling_per_state (%v)", *c.Warn, *c.Most)
	}
	return c
}

// model returns the model that a block names, or what its model_hint stands for.
func (d *decoder) model(b *block) string {
	if b.text("model_hint") == "" {
		return b.text("model")
	}
	if b.text("model") != "" {
		d.errorf(b.keyPos("model_hint"), join(b.path, "model_hint"), "conflict",
			"model names the model, and model_hint asks for one; remove one of the two")
	}
	return fsm.HintedModel(b.text("model_hint"))
}
