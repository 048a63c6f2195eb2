package lint

import (
	"fmt"
	"slices"
	"strings"

	"loops/fsm"
	"loops/fsm/expr"
	"loops/fsm/pyregexp"
	"loops/internal/humanize"
)

// properties are the names each namespace of templates has; nil for those that are open.
var properties = map[string][]string{
	"context": nil, "captured": nil, "param": nil, "env": nil, "secret": nil, "item": nil, "event": nil,
	"prev":     {"output", "exit_code", "state", "timeout_kind", "guarded"},
	"result":   {"verdict", "details"},
	"state":    {"name", "iteration", "visits"},
	"loop":     {"name", "started_at", "elapsed_ms", "elapsed"},
	"run":      {"id", "attempt", "scheduled_at"},
	"messages": {"output", "summary", "last(N)"},
	"memory":   {},
}

var namespaces = expr.Namespaces()

// textRules look at the templates of a state.
func (c *checker) textRules(p *pastes, s *fsm.State) {
	for _, t := range c.texts[c.g.index[s.Name]] {
		hits := map[string]int{}
		for _, r := range t.refs {
			c.reference(s, t, r, hits)
		}
	}
	c.shellRules(p, s)
}

// reference checks one template as far as that can be done without the rest of the loop.
func (c *checker) reference(s *fsm.State, t text, r expr.Reference, hits map[string]int) {
	inner := r.Text[2 : len(r.Text)-1]
	say := func(rule, format string, args ...any) {
		if hits[rule]++; hits[rule] > maxHits {
			return
		}
		report := c.warnf
		if rule == "bash-default" && t.action {
			report = c.errorf
		}
		report(rule, spot{r.Offset, t.path}, format, args...)
	}
	if r.Program != "" && slices.Contains(namespaces, r.Namespace) {
		if c.jqProgram(t, r) {
			return
		}
		inner = strings.TrimRight(inner[:strings.IndexByte(inner, '|')], " \t\n")
	}
	if before, after, found := strings.Cut(inner, ":-"); found && !strings.Contains(before, ":default=") {
		instead := fmt.Sprintf("$${%s} for bash, or ${%s:default=%s} for a template", humanize.Clip(inner),
			humanize.Clip(before), humanize.Clip(after))
		if strings.Contains(before, ".") { // no variable of bash
			instead = fmt.Sprintf("${%s:default=%s}", humanize.Clip(before), humanize.Clip(after))
		} else if !strings.Contains(before, ":") {
			instead = fmt.Sprintf("$${%s} for bash, or ${context.%s:default=%s} for a template", humanize.Clip(inner),
				humanize.Clip(before), humanize.Clip(after))
		}
		say("bash-default", "${%s} is taken for a template, which has no :- form; write %s", humanize.Clip(inner),
			instead)
		return
	}
	name, _, _ := strings.Cut(strings.TrimSuffix(inner, "?"), ":")
	if isTorn(r) {
		say("not-a-template", "%s has no } of its own, so it ends at the next one; write ${%s.%s}",
			humanize.Clip(r.Text), r.Namespace, humanize.Clip(pathStart().FindString(r.Path)))
		return
	}
	whole := r.Namespace == "messages" || r.Namespace == "memory"
	if !strings.Contains(inner, ".") && !whole && !plainName().MatchString(name) {
		say("no-namespace", "${%s} is not a template; for bash write $${%s}", humanize.Clip(inner),
			humanize.Clip(inner))
		return
	}
	if !strings.Contains(inner, ".") && !whole {
		say("no-namespace", "${%s} is not a template; for bash write $${%s}; a template is ${env.%s} or ${context.%s}",
			humanize.Clip(inner), humanize.Clip(inner), humanize.Clip(name), humanize.Clip(name))
		return
	}
	if c.filters(r, inner, say) {
		return
	}
	known, ok := properties[r.Namespace]
	switch {
	case !ok:
		what := ""
		if hits["unknown-namespace"] < maxHits {
			what = expr.UnknownReference(r.Text, r.Namespace)
		}
		say("unknown-namespace", "%s (templates know %s)", what, humanize.List(namespaces))
	case r.Namespace == "param":
		c.param(s, r, say)
	case r.Namespace == "secret":
		c.secret(s, t, r, say)
	case r.Namespace == "memory":
		if c.l.Lessons == nil && !guarded(r) {
			say("unknown-property", "%s has no value: this loop has no memory; write memory: {} on its top level",
				humanize.Clip(r.Text))
		} else if r.Path != "" {
			say("unknown-property", "%s has no value: memory is one text; write ${memory}", humanize.Clip(r.Text))
		}
	case known != nil:
		c.property(s, t, r, known, say)
	}
}

// secret checks a reference to a secret.
func (c *checker) secret(s *fsm.State, t text, r expr.Reference, say sayer) {
	if !slices.Contains(c.l.Secrets, r.Path) {
		say("unknown-secret", "%s is not among the secrets of this loop%s; name it on the top level: secrets: [%s]",
			humanize.Clip(r.Text), c.didYouMean(r.Path, c.l.Secrets), humanize.Clip(r.Path))
	}
	if t.action && isPrompt(s) {
		say("secret-in-prompt", "the agent gets %s as ***(%s), and not the secret: what is in a prompt goes to the "+
			"provider of a model. Let it use the variable of the environment", humanize.Clip(r.Text),
			humanize.Clip(r.Path))
	}
}

type sayer func(rule, format string, args ...any)

var (
	plainName = pyregexp.Lazy(`^[A-Za-z_]\w*$`) // of a variable
	// of a template that continues with something else
	pathStart = pyregexp.Lazy(`^[\w-]+(\.[\w-]+)*`)
	filterEnd = pyregexp.Lazy(`:(shell|trim|json|lines|first|last)$`) // of a default text
)

var filterNames = []string{"trim", "lines", "first", "last", "json", "shell", "default="}

// filters checks what is after the path. It reports true if something is wrong with it.
func (c *checker) filters(r expr.Reference, inner string, say sayer) bool {
	before, fallback, hasDefault := strings.Cut(inner, ":default=")
	colon := strings.LastIndexByte(r.Path, ':')
	shell := slices.Index(r.Filters, "shell")
	switch {
	case hasDefault && (strings.HasSuffix(before, "?") || strings.HasSuffix(before, ":shell")):
		say("bad-filter", "%s fails: of :default=, ? and :shell only one can be used", humanize.Clip(r.Text))
	case hasDefault && strings.Contains(strings.ReplaceAll(fallback, "$${", ""), "${"):
		say("bad-filter", "%s ends at its first }, and a default text holds no template; give the key of the "+
			"context a value in context, or choose in bash: \"$${NAME:-$OTHER}\"", humanize.Clip(r.Text))
	case hasDefault && filterEnd().MatchString(fallback):
		at := strings.LastIndexByte(fallback, ':')
		instead := fmt.Sprintf("${%s%s:default=%s}", humanize.Clip(before), fallback[at:], humanize.Clip(fallback[:at]))
		if fallback[at:] == ":shell" {
			instead = "the variable of the environment with a default of bash, or make sure of a value and write ${" +
				humanize.Clip(before) + ":shell}"
			if kind := map[string]string{
				"context": "CONTEXT", "captured": "CAPTURED",
				"prev": "PREV",
			}[r.Namespace]; kind != "" {
				name, _, _ := strings.Cut(r.Path, ".")
				instead = "\"$${" + variable(kind, name) + ":-" + humanize.Clip(fallback[:at]) + "}\""
			}
		}
		say("bad-filter", "everything behind :default= is the default text, here %s, and nothing is quoted or "+
			"filtered; write %s", humanize.Quote(fallback), instead)
	case shell >= 0 && shell < len(r.Filters)-1:
		say("bad-filter", "%s fails: :shell quotes for bash, so it must be the last filter", humanize.Clip(r.Text))
	case colon >= 0 && r.Path[colon:] == ":shell" && r.Suffix == "nullable":
		say("bad-filter", "in %s the word shell is taken for a part of the name, so there is never a value; write "+
			"%s}, or name another filter too, as in :trim:shell?", humanize.Clip(r.Text),
			humanize.Clip(strings.TrimSuffix(r.Text, "?}")))
	case colon >= 0 && r.Namespace != "env":
		colon = strings.IndexByte(r.Path, ':')
		word := r.Path[colon+1:]
		for first, rest, more := strings.Cut(word, ":"); more && slices.Contains(filterNames, first); first, rest,
			more = strings.Cut(word, ":") {
			word = rest // the filters before it are right
		}
		say("bad-filter", "no template knows :%s%s (filters: :trim, :lines, :first, :last, :json, :shell); what "+
			"bash is to do, do with a variable of bash", humanize.Clip(word), c.didYouMean(word, filterNames))
	default:
		return false
	}
	return true
}

// property checks the namespaces whose names are fixed.
func (c *checker) property(s *fsm.State, t text, r expr.Reference, known []string, say sayer) {
	field, rest, deeper := strings.Cut(r.Path, ".")
	found := false
	for _, k := range known {
		found = found || k == field
	}
	switch {
	case r.Namespace == "prev" && r.Path == "json" && r.Program != "": // what jq reads of the output
		return
	case r.Namespace == "messages" &&
		(r.Path == "" || strings.HasPrefix(r.Path, "last(") && strings.HasSuffix(r.Path, ")")):
		return
	case !found:
		say("unknown-property", "%s has no value: %s has no %s%s (it has %s)", humanize.Clip(r.Text), r.Namespace,
			humanize.Quote(field), c.didYouMean(field, known), humanize.List(known))
	case deeper && field != "details":
		say("unknown-property", "${%s.%s} is one value; there is no %s inside it", r.Namespace, field,
			humanize.Quote(rest))
	case r.Namespace == "result" && !guarded(r) && !t.target:
		say("no-value-yet", "%s has a value only where the verdict of a state chooses the next one, so this fails; "+
			"write ${captured.NAME.verdict} for the verdict of a state that has capture", humanize.Clip(r.Text))
	case r.Namespace == "prev" && t.use == before && s.Name == c.l.Initial && !guarded(r):
		say("no-value-yet", "no state ran before the first one, so %s fails there; write ${prev.%s:default=}",
			humanize.Clip(r.Text), humanize.Clip(r.Path))
	}
}

// param checks a reference to a parameter of the fragment a state comes from.
func (c *checker) param(s *fsm.State, r expr.Reference, say sayer) {
	name, _, _ := strings.Cut(r.Path, ".")
	if guarded(r) {
		return
	}
	if s.Fragment == nil {
		say("unknown-parameter", "%s is a parameter of a fragment, and the state %s comes from none; an input of "+
			"the loop is ${context.%s}", humanize.Clip(r.Text), humanize.Quote(s.Name), humanize.Clip(name))
		return
	}
	var names []string
	for _, p := range s.Fragment.Parameters {
		if p.Name == name {
			return
		}
		names = append(names, p.Name)
	}
	if _, bound := s.Fragment.Bindings.Get(name); bound {
		return
	}
	for _, b := range s.Fragment.Bindings.Keys() {
		if !slices.Contains(names, b) {
			names = append(names, b)
		}
	}
	has := "it has none"
	if len(names) > 0 {
		has = "it has " + humanize.List(names)
	}
	say("unknown-parameter", "the fragment %s has no parameter %s%s (%s)", humanize.Quote(s.Fragment.Name),
		humanize.Quote(name), c.didYouMean(name, names), has)
}
