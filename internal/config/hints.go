package config

import (
	"maps"
	"slices"

	"gopkg.in/yaml.v3"

	"loops/internal/agent"
	"loops/internal/humanize"
)

// modelHints reads model_hints. Those of a later file are laid over those of an earlier one.
func (d *decoder) modelHints(n *yaml.Node, c *Config) {
	d.pairs(n, "model_hints", func(name, models *yaml.Node) {
		d.pairs(models, name.Value+" in model_hints", func(hint, model *yaml.Node) {
			switch {
			case !slices.Contains(agent.ModelHints, hint.Value):
				d.say(hint, "%s is no model_hint%s; known are %s", humanize.Quote(hint.Value),
					humanize.DidYouMean(hint.Value, agent.ModelHints), humanize.List(agent.ModelHints))
			case model.Tag == "!!bool" && model.Value == "false":
				c.hint(name.Value, hint.Value, "")
			default:
				if text := d.text(model, hint.Value); text != "" {
					c.hint(name.Value, hint.Value, text)
				}
			}
		})
	})
}

// hint sets the model of a host for a model_hint; "" turns it off.
func (c *Config) hint(name, hint, model string) {
	all := maps.Clone(c.ModelHints)
	if all == nil {
		all = make(map[string]map[string]string)
	}
	of := maps.Clone(all[name])
	if of == nil {
		of = make(map[string]string)
	}
	of[hint], all[name] = model, of
	c.ModelHints = all
}

// referenceHints reads orchestration.model_hints of little-loops.
func (c *Config) referenceHints(v any, warn func(format string, args ...any)) {
	byHost, ok := v.(map[string]any)
	if v != nil && !ok {
		warn("orchestration.model_hints is not used: it is no object")
	}
	for name, models := range byHost {
		byHint, _ := models.(map[string]any)
		if name == "claude-code" {
			name = "claude" // as later files name it
		}
		for hint, model := range byHint {
			text, isText := model.(string)
			if !slices.Contains(agent.ModelHints, hint) || !(isText && text != "" || model == false) {
				warn("orchestration.model_hints.%s.%s is not used: it names no model", name, hint)
				continue
			}
			c.hint(name, hint, text)
		}
	}
}
