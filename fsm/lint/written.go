package lint

import (
	"strings"

	"loops/fsm"
	"loops/fsm/pyregexp"
	"loops/internal/humanize"
)

var (
	// mustache finds what other languages write for a template.
	mustache = pyregexp.Lazy(`(?:^|[^${])\{\{\s*((?:context|captured|prev|param|result|messages)\.[\w.-]+)\s*\}\}`)
	// braceless finds a template without its braces.
	braceless = pyregexp.Lazy(`(?:^|[^$\\])\$((?:context|captured|prev|param)(?:\.[A-Za-z_][\w-]*)+)`)
	// unfinished finds the beginning of a template.
	unfinished = pyregexp.Lazy(`(?:^|[^$\\])\$\{((?:context|captured|prev|param|result|messages|env)\.[\w.-]*)[^}]*$`)
)

// writtenRules warn of what looks like a template in an action and stays as it is.
func (c *checker) writtenRules(s *fsm.State) {
	shell := isShell(s)
	if !shell && !isPrompt(s) {
		return
	}
	a := s.Action
	say := func(at int, found, name, why string) {
		name = strings.TrimRight(name, ".-")
		c.warnf("not-a-template", spot{at, []string{"states", s.Name, "action"}}, "%s is no template%s; write ${%s}",
			humanize.Clip(found), why, humanize.Clip(name))
	}
	// Both patterns begin with any character, so they are slow where nothing is to be found.
	if !strings.Contains(a, "{{") && !strings.Contains(a, "$c") && !strings.Contains(a, "$p") &&
		strings.LastIndex(a, "${") < strings.LastIndexByte(a, '}') {
		return
	}
	for _, m := range mustache().FindAllStringSubmatchIndex(a, maxHits) {
		at := m[0] + strings.Index(a[m[0]:m[1]], "{{")
		say(at, a[at:m[1]], a[m[2]:m[3]], "")
	}
	for _, m := range braceless().FindAllStringSubmatchIndex(a, maxHits) {
		namespace, _, _ := strings.Cut(a[m[2]:m[3]], ".")
		if shell && ownVariable(a, namespace) {
			continue
		}
		say(m[2]-1, a[m[2]-1:m[3]], a[m[2]:m[3]], " without its braces")
	}
	if open := strings.LastIndexByte(a, '}') + 1; strings.Contains(a[open:], "${") {
		if m := unfinished().FindStringSubmatchIndex(a[open:]); m != nil {
			at := open + m[2] - 2
			say(at, a[at:open+m[3]], a[open+m[2]:open+m[3]], " without its }")
		}
	}
}

// ownVariable reports whether a script has a variable of this name itself, in bash or in jq.
func ownVariable(script, name string) bool {
	for _, s := range []string{
		name + "=", "read " + name, "read -r " + name, "for " + name + " ", "--arg " + name,
		"--argjson " + name, "--slurpfile " + name, "--rawfile " + name, "as $" + name, "local " + name,
	} {
		if strings.Contains(script, s) {
			return true
		}
	}
	return false
}

// quoteRule warns of a quotation that is open at the end of a script.
func (c *checker) quoteRule(s *fsm.State) {
	if !isShell(s) || !strings.ContainsAny(s.Action, `"'`) {
		return
	}
	scanned := scanAll(s.Action, references(s.Action))
	at := scanned.openQuote()
	if at < 0 {
		return
	}
	for _, m := range scanned.marks {
		if m.ref != nil && m.command && m.ref.Suffix != "shell" {
			return // foreign code, which may close it
		}
	}
	c.warnf("open-quote", spot{at, []string{"states", s.Name, "action"}},
		"this quotation mark is never closed, so bash refuses the script; close it, or look for one too many before "+
			"it (an apostrophe outside of quotes is written \\')")
}
