package loopfile

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"loops/fsm"
)

// awaitKinds are the keys of wait that say what is waited for.
var awaitKinds = []string{
	fsm.AwaitFor, fsm.AwaitAt, fsm.AwaitUntil, fsm.AwaitFile, fsm.AwaitURL, fsm.AwaitRun,
	fsm.AwaitEvent,
}

// How often a wait looks where it does not say so.
const (
	cheapLook = time.Second
	dearLook  = 5 * time.Second
	mostLook  = 5 * time.Minute
)

// runEnds are the values of wait.status where a run is waited for.
var runEnds = []string{fsm.RunCompleted, fsm.RunFailed, fsm.RunEnded}

// await reads the wait key of a state; nil means that it is not there, or is not a wait.
func (d *decoder) await(of *block) *fsm.Await {
	if !of.has("wait") {
		return nil
	}
	if n := of.fields["wait"].node; n.Kind != yaml.MappingNode {
		if !isNull(n) { // that is reported
			d.errorf(d.pos(n), join(of.path, "wait"), "wrong-type",
				"wait must be a mapping such as {for: 2h} or {file: ready.txt}, found %s%s", describe(n), awaitHint(n))
		}
		return nil
	}
	b := of.sub("wait")
	a := &fsm.Await{
		For: b.duration("for"), At: b.text("at"), Until: b.text("until"), File: b.text("file"), URL: b.text("url"),
		Run: b.text("run"), Event: b.text("event"),
		Status: b.text("status"), Every: b.duration("every"), Most: b.duration("max"), Backoff: b.number("backoff"),
	}
	kind, ok := d.awaitKind(of, b)
	if !ok {
		return nil
	}
	d.awaitText(b, kind)
	d.awaitStatus(a, b, kind)
	d.awaitLooks(a, b, kind)
	return a
}

// awaitHint is how what was written instead of a mapping may have been meant.
func awaitHint(n *yaml.Node) string {
	if n.Kind != yaml.ScalarNode {
		return ""
	}
	_, seconds := number(n)
	_, units := inUnits(n)
	switch {
	case seconds || units:
		return "; write {for: " + clip(n.Value) + "}"
	case strings.HasPrefix(n.Value, "http://") || strings.HasPrefix(n.Value, "https://"):
		return "; write {url: " + clip(n.Value) + "}"
	}
	return ""
}

// awaitKind returns what is waited for, and whether that is clear.
func (d *decoder) awaitKind(of, b *block) (string, bool) {
	var named []string
	for _, e := range b.order {
		if slices.Contains(awaitKinds, e.name) && b.has(e.name) {
			named = append(named, e.name)
		}
	}
	switch len(named) {
	case 0:
		d.errorf(of.pos("wait"), b.path, "missing-key", "wait does not say what for; expected one of %s",
			enumerate(awaitKinds))
		return "", false
	case 1:
		return named[0], b.fields[named[0]].val != nil
	}
	d.errorf(b.keyPos(named[1]), join(b.path, named[1]), "conflict",
		"wait is for one thing, and this one has %s; use a state for each", enumerate(named))
	return "", false
}

// awaitText checks the text that says what is waited for, where known before a run.
func (d *decoder) awaitText(b *block, kind string) {
	f := b.fields[kind]
	text, isText := f.val.(string)
	if !isText {
		return
	}
	path := join(b.path, kind)
	fixed := !strings.Contains(text, "${")
	switch {
	case strings.TrimSpace(text) == "":
		d.errorf(d.pos(f.node), path, "range", "%s is empty", kind)
	case kind == fsm.AwaitAt && fixed:
		if _, err := fsm.NextTime(text, time.Now()); err != nil {
			d.errorf(d.pos(f.node), path, "bad-value", "%v", err)
		}
	case kind == fsm.AwaitURL && fixed && !strings.HasPrefix(text, "http://") && !strings.HasPrefix(text, "https://"):
		d.errorf(d.pos(f.node), path, "bad-value",
			"url is %s; expected an address that begins with http:// or https://", quote(text))
	case kind == fsm.AwaitEvent && fixed && strings.ContainsAny(text, "\r\n"):
		d.errorf(d.pos(f.node), path, "bad-value", "event is the name of a signal, and this one has several lines; "+
			"expected a name such as deploy-finished")
	case kind == fsm.AwaitRun && strings.TrimSpace(text) == "${run.id}":
		d.errorf(d.pos(f.node), path, "conflict", "the run would wait for its own end, which never comes")
	}
}

// awaitStatus reads what a URL is to answer, or how a run is to end.
func (d *decoder) awaitStatus(a *fsm.Await, b *block, kind string) {
	f, given := b.fields["status"]
	path := join(b.path, "status")
	switch {
	case given && kind != fsm.AwaitURL && kind != fsm.AwaitRun:
		d.errorf(d.pos(f.key), path, "conflict", "status says what a url is to answer or how a run is to end; this "+
			"wait is for %s", awaitNoun(kind))
	case kind == fsm.AwaitRun && !given:
		a.Status = fsm.RunCompleted
	case kind == fsm.AwaitRun && f.val != nil:
		d.allowed(&Key{Name: "status", In: InWait, Values: runEnds}, f.node, a.Status, path)
	case kind == fsm.AwaitURL && given && f.val != nil:
		if n, err := strconv.Atoi(a.Status); err != nil || n < 100 || n > 599 {
			d.errorf(d.pos(f.node), path, "range", "status must be a number from 100 to 599, found %s", clip(a.Status))
		}
	}
}

// awaitLooks reads how often is looked.
func (d *decoder) awaitLooks(a *fsm.Await, b *block, kind string) {
	if kind == fsm.AwaitFor || kind == fsm.AwaitAt || kind == fsm.AwaitEvent {
		a.Backoff = 0
		for _, key := range []string{"every", "backoff", "max"} {
			if b.has(key) {
				d.errorf(b.keyPos(key), join(b.path, key), "conflict",
					"%s says how often is looked, and a wait for %s does not look", key, awaitNoun(kind))
			}
		}
		return
	}
	if !b.has("every") {
		a.Every = dearLook
		if kind == fsm.AwaitFile || kind == fsm.AwaitRun {
			a.Every = cheapLook
		}
	}
	switch {
	case !b.has("max"):
		a.Most = max(mostLook, a.Every)
	case b.fields["max"].val == nil || a.Every == 0:
	case !b.has("backoff"):
		d.errorf(b.keyPos("max"), join(b.path, "max"), "missing-key",
			"max is the longest time between two looks, which only grows with backoff; add backoff: 2, or for a "+
				"limit on the whole wait give the state a timeout")
	case a.Most < a.Every:
		d.errorf(b.pos("max"), join(b.path, "max"), "range",
			"max is %s, less than the first time between two looks; expected at least what every says",
			clip(b.fields["max"].node.Value))
	}
}

func awaitNoun(kind string) string {
	if kind == fsm.AwaitFor || kind == fsm.AwaitAt {
		return "a time"
	}
	return map[string]string{
		fsm.AwaitUntil: "a script", fsm.AwaitFile: "a file", fsm.AwaitURL: "a url",
		fsm.AwaitRun: "a run", fsm.AwaitEvent: "an event",
	}[kind]
}

// notInWaits are keys that have no effect in a state that waits, and why.
var notInWaits = []struct{ key, why string }{
	{"evaluate", "it gives its verdict itself"},
	{"idle_timeout", "it has no output that could be missed; use timeout"},
	{"throttle", "it does not act"},
	{"on_interrupted", "a run that is interrupted in a wait waits the rest when it is resumed"},
	{"idempotent", "a run that is interrupted in a wait waits the rest when it is resumed"},
}

// checkAwait reports keys that a state that waits cannot have, and waits that lead nowhere.
func (d *decoder) checkAwait(s *stateDecl) {
	b := s.b
	key, does := "wait", "waits"
	if s.Await != nil && s.Await.Ask != nil || b.has("ask") {
		key, does = "ask", "asks"
	}
	if s.open || s.Await == nil && !b.has(key) || b.has(key) && isNull(b.fields[key].node) {
		return
	}
	report := func(key, rule, format string, args ...any) {
		d.errorf(b.keyPos(key), join(b.path, key), rule, format, args...)
	}
	switch {
	case b.has("wait") && b.has("ask"):
		report("ask", "conflict", "a state waits or asks; this one has both: give each a state of its own, or the "+
			"question a timeout")
	case s.Loop != "":
		report(key, "conflict", "a state %s or runs a loop; this one has both: give %s a state of its own", does, key)
	case s.Action != "":
		report(key, "conflict", "a state %s or acts; this one has %s and action: give %s a state of its own", does,
			key, key)
	case s.Terminal:
		report(key, "conflict", "the run ends in a terminal state, so it %s nothing there", does)
	}
	for _, not := range notInWaits {
		if b.has(not.key) {
			report(not.key, "conflict", "%s has no place in a state that %s: %s", not.key, does, not.why)
		}
	}
	if s.Await == nil {
		return
	}
	leads := s.Next != "" || s.Route != nil
	timed := s.Timeout > 0
	switch {
	case s.Each != nil || s.branch: // one whose time is up comes to no
	case timed && !leads && s.On["timeout"] == "" && s.On["no"] == "" && s.On["error"] == "":
		report("timeout", "no-transition", "the state does not say where to go when its time is up; add on_timeout%s",
			d.whyNotOtherwise())
	case !timed && b.given("on_timeout") && !b.has("timeout"):
		report("on_timeout", "missing-key", "on_timeout needs timeout, which says how long to wait; without it the "+
			"wait does not end before it came")
	case timed && s.Await.For > 0 && s.Timeout <= s.Await.For:
		report("timeout", "range", "timeout is %s and the wait takes longer, so it always times out",
			clip(b.fields["timeout"].node.Value))
	}
	if s.Await.Ask != nil {
		return
	}
	if !timed && b.given("on_no") && s.Await.Run == "" && s.On["no"] != d.aside {
		d.warnf(b.keyPos("on_no"), join(b.path, "on_no"), "ignored",
			"on_no is never followed: a wait for %s without a timeout says yes or does not end",
			awaitNoun(s.Await.Kind()))
	}
	if s.Await.Run != "" && !leads && s.On["no"] == "" && s.On["error"] == "" && s.Await.Status != fsm.RunEnded {
		report("wait", "no-transition", "the state does not say where to go when the run ends otherwise; add on_no, "+
			"or wait for status: ended%s", d.whyNotOtherwise())
	}
}
