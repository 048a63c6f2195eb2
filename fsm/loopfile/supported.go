package loopfile

import (
	"cmp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"loops/fsm"
)

// A notice collects the keys of one file that change nothing here.
type notice struct {
	at   fsm.Pos // of the first
	keys []string
}

// notSupported notes that a key is in use which is bound to another tool.
func (d *decoder) notSupported(key *Key, at *yaml.Node) {
	if key.In == InState && (key.Name == "type" || key.Name == "learning") {
		return // learn says more about them
	}
	text := key.full()
	if key.Instead != "" {
		text += " (" + key.Instead + ")"
	}
	d.notify(at, text)
}

func (d *decoder) notify(at *yaml.Node, text string) {
	src, pos := d.source(at), d.pos(at)
	n := d.notices[src]
	if n == nil {
		n = &notice{at: pos}
		d.notices[src] = n
		d.noticed = append(d.noticed, n)
	}
	if pos.Line < n.at.Line {
		n.at = pos
	}
	if !slices.Contains(n.keys, text) {
		n.keys = append(n.keys, text)
	}
}

// tellNotSupported says it once for each file.
func (d *decoder) tellNotSupported() {
	for _, n := range d.noticed {
		d.warnf(n.at, "", "not-supported", "not supported: %s", strings.Join(n.keys, ", "))
	}
}

// learn reads a learning state. It would prove claims about other programs by tests, which needs a tool that is not
// part of this one. So nothing is proven, and the verdict is the one the author gave a route for that.
func (d *decoder) learn(s *stateDecl) {
	if !s.b.has("learning") {
		d.notify(s.b.fields["type"].key, "type (without learning the state is an ordinary one)")
		return
	}
	verdicts, why := []string{"blocked", "no", "error"}, "nothing is proven"
	targets := s.targets()
	if targets == "" {
		verdicts, why = []string{"yes"}, "it has no targets, so there is nothing to prove"
	}
	verdict := ""
	for _, v := range verdicts {
		taken := s.On[v] != ""
		if s.Route != nil {
			_, taken = s.Route.Table.Get(v)
			taken = taken || s.Route.Default != ""
		}
		if taken {
			verdict = v
			break
		}
	}
	if verdict == "" && verdicts[0] == "yes" {
		verdict = "yes" // which leads nowhere, as it would where there was something to prove
	}
	if verdict == "" {
		d.errorf(s.Pos, s.path, "no-transition", "the learning state %s lacks on_blocked or on_no; nothing is "+
			"proven here, so it would never take on_yes", quote(s.Name))
		return
	}
	ev := fsm.DefaultEvaluate("classify")
	ev.Pos, ev.Source, ev.HasSource = s.b.keyPos("learning"), verdict, true
	if len(references(targets)) > 0 {
		ev.Type, ev.Source, ev.Unproven = fsm.EvaluateLearning, targets, verdict
		verdict += ", or yes where its targets come to nothing"
	} else {
		verdict = "always " + verdict
	}
	d.notify(s.b.fields["learning"].key, "learning ("+why+": the verdict of the state "+quote(s.Name)+" is "+verdict+
		")")
	s.Action, s.Evaluate = "", &ev
}

// targets are what a learning state is to prove, as a list with commas: "" if it names none, with templates where those
// are all that it names.
func (s *stateDecl) targets() string {
	const some = "targets"
	learning := s.b.fields["learning"].node
	if learning == nil || learning.Kind != yaml.MappingNode {
		return some
	}
	text := func(v *yaml.Node) string { return strings.Trim(v.Value, ", \t\n") }
	list, csv := "", ""
	for i := 0; i+1 < len(learning.Content); i += 2 {
		v := deref(learning.Content[i+1])
		switch learning.Content[i].Value {
		case "targets":
			switch {
			case len(v.Content) > 0:
				return some
			case v.Kind == yaml.ScalarNode && !isNull(v): // instead of a list, as targets_csv has it
				list = text(v)
			}
		case "targets_csv":
			if !isNull(v) {
				csv = text(v)
			}
		}
	}
	return cmp.Or(csv, list)
}
