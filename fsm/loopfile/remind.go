package loopfile

import (
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"loops/fsm"
)

// reminders reads how an open question is reminded of, and to whom it is escalated.
func (d *decoder) reminders(a *fsm.Ask, b *block) {
	a.Remind = b.duration("remind")
	f, ok := b.fields["escalate"]
	if !ok || isNull(f.node) {
		return
	}
	path := join(b.path, "escalate")
	names, in := f.node, path
	switch f.node.Kind {
	case yaml.MappingNode:
		e := d.block(f.node, InEscalate, path)
		e.unknown()
		a.Escalate = fsm.Escalation{After: e.duration("after"), To: e.texts("to")}
		to, given := e.fields["to"]
		if !given {
			d.errorf(d.pos(f.key), path, "missing-key", "escalate lacks to: names of targets of notify in the settings")
			return
		}
		if names, in = to.node, join(path, "to"); to.val == nil { // that is reported
			return
		}
		if after, said := e.fields["after"]; said && after.val == nil {
			return
		}
	case yaml.SequenceNode:
		a.Escalate.To, _ = d.texts(f.node, path, &Key{Name: "escalate"}).([]string)
	default:
		d.errorf(d.pos(f.node), path, "wrong-type", "escalate must be a list of targets such as [team], or {after: "+
			"8h, to: [team]}, found %s", describe(f.node))
		return
	}
	if len(a.Escalate.To) == 0 && len(names.Content) == 0 {
		d.errorf(d.pos(names), in, "range", "escalate names no target; expected names of targets of notify in the "+
			"settings, such as [team]")
	}
	for i, name := range a.Escalate.To {
		if strings.TrimSpace(name) == "" {
			d.errorf(d.pos(names), in+"["+strconv.Itoa(i)+"]", "bad-value", "the name of a target is empty")
		}
	}
	if a.Escalate.After == 0 {
		if a.Escalate.After = a.Remind; a.Remind == 0 && !b.has("remind") {
			d.errorf(d.pos(f.key), path, "missing-key", "escalate does not say when: add remind, or write escalate: "+
				"{after: 8h, to: %s}", "["+strings.Join(a.Escalate.To, ", ")+"]")
		}
	}
}
