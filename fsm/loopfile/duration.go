package loopfile

import (
	"regexp"
	"strconv"
	"sync"

	"gopkg.in/yaml.v3"
)

// units are those of times, in seconds.
var units = map[string]float64{"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}

// unitsPattern is what a time with units looks like, also in the schema.
const unitsPattern = `^([0-9]+(\.[0-9]+)?(ms|s|m|h|d))+$`

var (
	timeText = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(unitsPattern) })
	timePart = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`([0-9.]+)(ms|s|m|h|d)`) })
)

// inUnits reads a time that is written with its units: 100ms, 30s, 1h30m. It returns seconds.
func inUnits(n *yaml.Node) (seconds float64, ok bool) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" || !timeText().MatchString(n.Value) {
		return 0, false
	}
	for _, part := range timePart().FindAllStringSubmatch(n.Value, -1) {
		f, err := strconv.ParseFloat(part[1], 64)
		if err != nil {
			return 0, false
		}
		seconds += f * units[part[2]]
	}
	return seconds, true
}
