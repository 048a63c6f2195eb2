package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"loops/internal/humanize"
)

// limits reads how many runs may be carried at once, by name, over what lower files say.
func (d *decoder) limits(n *yaml.Node, c *Config) {
	d.pairs(n, "limits", func(key, value *yaml.Node) {
		most, err := strconv.Atoi(value.Value)
		if err != nil || most < 1 {
			d.say(value, "%s in limits must be a whole number from 1, found %s", humanize.Quote(key.Value),
				humanize.Quote(value.Value))
			return
		}
		if c.Limits == nil {
			c.Limits = make(map[string]int)
		}
		c.Limits[key.Value] = most
	})
}

func limitsText(limits map[string]int) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		all = append(all, fmt.Sprintf("%s: %d", name, limits[name]))
	}
	return strings.Join(all, ", ")
}
