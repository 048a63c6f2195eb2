package loopfile

import (
	"math"
	"regexp"
	"strconv"
	"sync"

	"gopkg.in/yaml.v3"

	"loops/fsm"
	"loops/fsm/value"
)

// velocity reads what a prompt may use within a minute; nil = that is not given.
func (d *decoder) velocity(of *block) *fsm.Velocity {
	if !of.has("velocity") {
		return nil
	}
	b := of.sub("velocity")
	v := &fsm.Velocity{CostUSD: b.number("cost_per_minute")}
	if f, ok := b.fields["tokens_per_minute"]; ok {
		n, valid := amount(f.node)
		if v.Tokens = n; !valid {
			d.errorf(d.pos(f.node), join(b.path, "tokens_per_minute"), "bad-value",
				"tokens_per_minute must be a whole number above 0, such as 200000, 200k or 1.5M, found %s",
				describe(f.node))
		}
	}
	if !b.has("cost_per_minute") && !b.has("tokens_per_minute") && len(b.other) == 0 {
		d.errorf(of.pos("velocity"), join(of.path, "velocity"), "missing-key",
			"velocity sets no limit; expected cost_per_minute or tokens_per_minute")
	}
	return v
}

// amountPattern is what a number with a unit looks like, also in the schema.
const amountPattern = `^[0-9]+(\.[0-9]+)?[kKmM]$`

var amountText = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(amountPattern) })

// amount reads a whole number above 0: 200000, 200k or 1.5M.
func amount(n *yaml.Node) (int64, bool) {
	v, ok := number(n)
	if s := n.Value; n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" && amountText().MatchString(s) {
		f, err := strconv.ParseFloat(s[:len(s)-1], 64)
		if ok = err == nil; s[len(s)-1]|0x20 == 'k' {
			v = f * 1e3
		} else {
			v = f * 1e6
		}
	}
	v = math.Round(v*1e3) / 1e3 // 1.1M is not quite a whole number
	if !ok || v <= 0 || v != math.Trunc(v) || v > 1<<53 {
		return 0, false
	}
	return int64(v), true
}

func velocityModel(v *fsm.Velocity) *value.Map {
	if v == nil {
		return nil
	}
	w := objectOf{value.NewMap()}
	w.value("cost_per_minute", number64(v.CostUSD), v.CostUSD != 0)
	w.value("tokens_per_minute", v.Tokens, v.Tokens != 0)
	return w.m
}
