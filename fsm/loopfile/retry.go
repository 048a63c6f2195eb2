package loopfile

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"loops/fsm"
)

// retryPattern is what the waits of a retry look like as a text: one time, or the first and the longest.
const retryPattern = `^[0-9]+(\.[0-9]+)?$|^([0-9]+(\.[0-9]+)?(ms|s|m|h|d))+(\.\.([0-9]+(\.[0-9]+)?(ms|s|m|h|d))+)?$`

// What is retried, and how long the waits are, where a retry does not say so.
var retriedOn = []string{fsm.RetryError, fsm.RetryTimeout}

const (
	firstRetryWait = time.Second
	mostRetryWait  = time.Minute
)

// retry reads the retry key of a state; nil means that it is not there.
func (d *decoder) retry(of *block) *fsm.Retry {
	if !of.has("retry") {
		return nil
	}
	if n := of.fields["retry"].node; n.Kind == yaml.ScalarNode && !isNull(n) {
		hint := ""
		if _, err := strconv.Atoi(n.Value); err == nil {
			hint = "; write {times: " + n.Value + "}"
		}
		d.errorf(d.pos(n), join(of.path, "retry"), "wrong-type",
			"retry must be a mapping such as {times: 5, backoff: 2s..1m}, found %s%s", describe(n), hint)
		return nil
	}
	b := of.sub("retry")
	if of.fields["retry"].node.Kind == yaml.MappingNode && !b.has("times") {
		d.errorf(of.pos("retry"), join(of.path, "retry"), "missing-key",
			"retry needs times: how often the action is tried again after the first try")
	}
	r := &fsm.Retry{Times: b.int("times"), First: firstRetryWait, Most: mostRetryWait, On: retriedOn}
	if f, ok := b.fields["backoff"]; ok {
		d.backoff(r, f.node, join(b.path, "backoff"))
	}
	if f, ok := b.fields["on"]; ok {
		if r.On = b.texts("on"); len(r.On) == 0 && f.val != nil {
			d.errorf(d.pos(f.node), join(b.path, "on"), "range",
				"on is empty; expected what is tried again, such as [error, timeout]")
		}
		for i, what := range r.On {
			if i < len(f.node.Content) {
				d.allowed(&Key{
					Name: "on", In: InRetry,
					Values: []string{fsm.RetryError, fsm.RetryTimeout, fsm.RetryNo},
				}, deref(f.node.Content[i]), what,
					join(b.path, "on")+"["+strconv.Itoa(i)+"]")
			}
		}
	}
	return r
}

// backoff reads the waits of a retry: 2s, a number of seconds, or 2s..1m.
func (d *decoder) backoff(r *fsm.Retry, n *yaml.Node, path string) {
	if v, ok := number(n); ok && v >= 0 && v <= maxSeconds {
		r.First, r.Most = seconds(v), seconds(v)
		return
	}
	first, most, isRange := strings.Cut(n.Value, "..")
	from, okFrom := timeIn(first)
	to, okTo := timeIn(most)
	if n.Kind != yaml.ScalarNode || !okFrom || isRange && !okTo {
		d.errorf(d.pos(n), path, "wrong-type", "backoff must be a time such as 10s, or the first and the longest "+
			"wait such as 2s..1m, found %s", describe(n))
		return
	}
	if !isRange {
		to = from
	}
	if from > to {
		d.errorf(d.pos(n), path, "range", "backoff begins with %s, which is longer than %s; the longest "+
			"wait comes last", first, most)
		return
	}
	if from == 0 && to > 0 {
		d.errorf(d.pos(n), path, "range", "backoff begins with no wait at all, which never grows when it is "+
			"doubled; expected a first wait such as 1s")
		return
	}
	r.First, r.Most = from, to
}

// timeIn reads a time with units.
func timeIn(text string) (time.Duration, bool) {
	v, ok := inUnits(&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text})
	return seconds(min(v, maxSeconds)), ok
}

// checkRetry reports a retry where it has no action to try again.
func (d *decoder) checkRetry(s *stateDecl) {
	b := s.b
	if !b.has("retry") || s.open {
		return
	}
	report := func(format string, args ...any) {
		d.errorf(b.keyPos("retry"), join(b.path, "retry"), "conflict", format, args...)
	}
	switch {
	case s.Loop != "":
		report("retry tries an action again, and this state runs the loop %s; give retry to the states of that "+
			"loop, or use max_retries here", quote(s.Loop))
	case s.Terminal:
		report("retry has nothing to try again: the action of a terminal state does not run")
	case s.Action == "":
		report("retry has nothing to try again: this state has no action")
	case s.ActionType == "contract" && s.Next == "":
		report("retry has nothing to try again: the action of a contract does not run")
	case s.Next != "" && s.Retry != nil && len(s.Retry.On) > 0 && !slices.Contains(s.Retry.On, fsm.RetryError) &&
		!slices.Contains(s.Retry.On, fsm.RetryTimeout):
		report("retry waits for the verdict no, and a state with next is not judged; expected on: [error, timeout]")
	}
}
