package loopfile

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"loops/fsm"
	"loops/fsm/value"
)

// quota reads how much of the accounts of agents is used; nil = that is not given.
func (d *decoder) quota(of *block) *fsm.Quota {
	if !of.has("quota") {
		return nil
	}
	b := of.sub("quota")
	q := &fsm.Quota{Spare: b.bool("spare")}
	if f, ok := b.fields["reserve"]; ok {
		n, valid := share(f.node)
		if q.Reserve = n; !valid {
			d.errorf(d.pos(f.node), join(b.path, "reserve"), "bad-value",
				"reserve must be a share from 0%% to below 100%%, such as 30%% or 0.3, found %s", describe(f.node))
		}
	}
	if !b.has("reserve") && !b.has("spare") && len(b.other) == 0 {
		d.errorf(of.pos("quota"), join(of.path, "quota"), "missing-key",
			"quota sets no limit; expected reserve or spare")
	}
	return q
}

// sharePattern is what a share with a percent sign looks like, also in the schema.
const sharePattern = `^[0-9]{1,2}(\.[0-9]+)?%$`

var shareText = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(sharePattern) })

// share reads a number from 0 to below 1: 30% or 0.3.
func share(n *yaml.Node) (float64, bool) {
	v, ok := number(n)
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" && shareText().MatchString(n.Value) {
		f, err := strconv.ParseFloat(strings.TrimSuffix(n.Value, "%"), 64)
		v, ok = f/100, err == nil
	}
	return v, ok && v >= 0 && v < 1
}

func quotaModel(q *fsm.Quota) *value.Map {
	if q == nil {
		return nil
	}
	w := objectOf{value.NewMap()}
	w.value("reserve", number64(q.Reserve), q.Reserve != 0)
	w.value("spare", q.Spare, q.Spare)
	return w.m
}
