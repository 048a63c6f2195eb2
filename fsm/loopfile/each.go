package loopfile

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"loops/fsm"
	"loops/fsm/pyregexp"
)

// itemKeys are the keys of a state that mean something beside for_each only.
var itemKeys = []string{"as", "key", "parallel", "on_item_failure", "item_retries"}

// notItemNames are names that ${item.*} has already.
var notItemNames = []string{"index", "count", "key"}

var itemName = pyregexp.Lazy(`^[A-Za-z_][A-Za-z0-9_]*$`)

// each reads for_each and the keys beside it; nil means that it is not there, or is no list.
func (d *decoder) each(b *block) *fsm.Each {
	if !b.has("for_each") {
		return nil
	}
	n, path := b.fields["for_each"].node, join(b.path, "for_each")
	x := &fsm.Each{
		As: b.text("as"), Key: b.text("key"), Parallel: d.atOnce(b), Retries: b.int("item_retries"),
		Continue: b.text("on_item_failure") == "continue",
	}
	d.itemName(b, x)
	switch {
	case isNull(n): // that is reported
		return nil
	case n.Kind == yaml.MappingNode:
		in := d.block(n, InForEach, path)
		in.unknown()
		if x.Command = in.text("command"); strings.TrimSpace(x.Command) == "" {
			d.errorf(d.pos(n), path, "missing-key", "for_each does not say where its items come from; expected "+
				"{command: SCRIPT}, a list, or a pattern such as \"in/*.txt\"")
			return nil
		}
	case n.Kind == yaml.SequenceNode:
		d.lossy(n, path)
		x.List, _ = d.value(n, path).([]any)
		if len(n.Content) == 0 {
			d.errorf(d.pos(n), path, "range", "for_each is an empty list, so nothing is ever done; expected items, "+
				"a pattern such as \"in/*.txt\", or {command: SCRIPT}")
			return nil
		}
	case n.ShortTag() != "!!str":
		d.errorf(d.pos(n), path, "wrong-type", "for_each must be a pattern of paths, a list, a text with ${...} or "+
			"{command: SCRIPT}, found %s", describe(n))
		return nil
	default:
		d.eachText(x, n, path)
	}
	return x
}

// inTemplate finds the templates of a text: what is around them may make it a pattern of paths.
var inTemplate = pyregexp.Lazy(`\$\{[^}]*\}`)

// eachText reads a for_each that is a text.
func (d *decoder) eachText(x *fsm.Each, n *yaml.Node, path string) {
	switch text := n.Value; {
	case strings.TrimSpace(text) == "":
		d.errorf(d.pos(n), path, "range", "for_each is empty; expected a pattern such as \"in/*.txt\", a list, or "+
			"{command: SCRIPT}")
	case strings.Contains(text, "${") &&
		!(strings.ContainsAny(inTemplate().ReplaceAllString(text, ""), "*?[") && !strings.Contains(text, "\n")):
		x.Text = text
	case strings.Contains(text, "\n"):
		d.errorf(d.pos(n), path, "bad-value", "for_each is a text of several lines; expected one pattern, a list of "+
			"items, or {command: SCRIPT} for what a script prints")
	case strings.Contains(text, "$(") || strings.Contains(text, "`"):
		d.errorf(d.pos(n), path, "bad-value", "for_each is a pattern of paths, in which no command runs; write "+
			"{command: SCRIPT}")
	case !strings.ContainsAny(text, "*?[{"):
		d.errorf(d.pos(n), path, "bad-value", "for_each %s is no pattern: it has none of * ? [ {; write [%s] for a "+
			"list of one, or {command: ...} for what a script prints", quote(text), clip(text))
	default:
		x.Glob = text
	}
}

func (d *decoder) itemName(b *block, x *fsm.Each) {
	switch {
	case !b.has("as") || b.fields["as"].val == nil:
		x.As = fsm.DefaultItem
	case !itemName().MatchString(x.As):
		d.errorf(b.pos("as"), join(b.path, "as"), "bad-value",
			"as is %s; expected a name of letters, digits and _, such as file", quote(x.As))
	case slices.Contains(notItemNames, x.As):
		d.errorf(b.pos("as"), join(b.path, "as"), "conflict", "${item.%s} is taken; choose another name for the item",
			x.As)
	}
}

// notBesideItems are keys that a state with for_each cannot have, and why.
var notBesideItems = []struct{ key, why string }{
	{"retry", "an item is tried again by item_retries"},
	{"max_retries", "an item is tried again by item_retries"},
	{"throttle", "the list says how often it acts"},
	{"append_to_messages", "what items leave is in the capture of the state"},
	{"on_interrupted", "a run that is interrupted does the items that lack an end when it is resumed"},
	{"retryable_exit_codes", "an item that failed is tried again by item_retries, whatever its exit code is"},
}

// checkEach reports keys that a state that works on a list cannot have, and those that only such a state can.
func (d *decoder) checkEach(s *stateDecl) {
	b := s.b
	if s.open {
		return
	}
	report := func(key, rule, format string, args ...any) {
		d.errorf(b.keyPos(key), join(b.path, key), rule, format, args...)
	}
	if !b.has("for_each") {
		for _, key := range itemKeys {
			if n := b.fields["parallel"].node; key == "parallel" && b.has(key) && !isNull(n) &&
				n.ShortTag() != "!!int" {
				if !b.hasBranches() {
					report(key, "wrong-type", "parallel must be a mapping of branches, such as {lint: {action: make "+
						"lint}, test: {loop: test-suite}}, found %s", describe(n))
				}
				continue
			}
			if b.has(key) {
				report(key, "missing-key", "%s needs for_each, which says what the items are", key)
			}
		}
		return
	}
	if isNull(b.fields["for_each"].node) {
		return
	}
	for _, not := range notBesideItems {
		if b.has(not.key) {
			report(not.key, "conflict", "%s has no place beside for_each: %s", not.key, not.why)
		}
	}
	does := s.Loop != "" || s.Await != nil || s.Call != nil || b.has("loop") || b.has("wait") || b.has("ask") ||
		b.has("call")
	switch {
	case s.Terminal:
		report("for_each", "conflict", "the run ends in a terminal state, so nothing is done for a list there")
	case !does && strings.TrimSpace(s.Action) == "" && !b.hasBranches():
		report("for_each", "missing-key", "for_each does nothing with its items; give it an action, which finds the "+
			"item in $LOOPS_ITEM, or a loop, a call, a wait or an ask")
	case s.ActionType == "contract":
		report("action_type", "conflict", "for_each works with what is done for an item, and a contract is looked "+
			"at; leave action_type out for a script")
	}
	if s.Evaluate != nil && s.Evaluate.Type != "exit_code" && !does && fsm.KindOf(s.State) == fsm.KindShell {
		report("evaluate", "conflict", "an item that is a script is judged by its exit code; leave evaluate out, or "+
			"use {type: exit_code, yes: [...], no: [...]}; give the item a loop for other verdicts")
	}
	if s.Once && s.Loop != "" {
		report("idempotent", "conflict", "the states of its loop say what must not be repeated; leave idempotent out")
	}
	if s.Evaluate != nil && s.Loop != "" {
		report("evaluate", "conflict", "an item comes to what its loop comes to, so nothing is evaluated; "+
			"leave evaluate out")
	}
	leads := s.Next != "" || s.Route != nil
	if !leads && s.On["no"] == "" && s.On["error"] == "" {
		report("for_each", "no-transition", "the state does not say where to go when items fail; add on_no%s",
			d.whyNotOtherwise())
	}
}
