package expr

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"loops/fsm/value"
)

// A RuleError is one mistake in a table.
type RuleError struct {
	Line    int // from 1
	Offset  int // of what is wrong, in bytes of the text
	Message string
}

func (e RuleError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Message) }

// RuleErrors are all the mistakes in a table, in their order; at least one.
type RuleErrors []RuleError

func (e RuleErrors) Error() string {
	lines := make([]string, len(e))
	for i, s := range e {
		lines[i] = s.Error()
	}
	return strings.Join(lines, "\n")
}

// comparisons in the order in which they are tried.
var comparisons = []string{">=", "<=", "==", "!=", "<", ">"}

const operatorList = ">= <= == != < >"

// ParseRules reads a table: a rule a line, as in
//
//	NAME:OP VALUE & NAME:OP VALUE -> TARGET
//	* -> TARGET
//
// Blank lines and those that begin with # are left out; a # elsewhere is no comment. The error is a
// [RuleErrors] with every mistake, and then there are no rules. A text without rules is no mistake.
func ParseRules(text string) ([]Rule, error) {
	p := ruleParser{}
	offset := 0
	for line := range strings.Lines(text) {
		p.line++
		if s := (span{line, offset}).trim(); s.text != "" && s.text[0] != '#' {
			p.rule(s)
		}
		offset += len(line)
	}
	if len(p.errs) > 0 {
		return nil, p.errs
	}
	return p.rules, nil
}

type ruleParser struct {
	line  int
	rules []Rule
	errs  RuleErrors
}

// A span is a part of the text of the table and where it begins there.
type span struct {
	text   string
	offset int
}

// cut returns what is before the first sep, and after it.
func (s span) cut(sep string) (before, after span, found bool) {
	b, a, found := strings.Cut(s.text, sep)
	if !found {
		return s, span{"", s.offset + len(s.text)}, false
	}
	return span{b, s.offset}, span{a, s.offset + len(b) + len(sep)}, true
}

func (s span) trim() span {
	left := strings.TrimLeftFunc(s.text, unicode.IsSpace)
	return span{strings.TrimRightFunc(left, unicode.IsSpace), s.offset + len(s.text) - len(left)}
}

func (p *ruleParser) fail(at span, format string, args ...any) {
	p.errs = append(p.errs, RuleError{p.line, at.offset, fmt.Sprintf(format, args...)})
}

func (p *ruleParser) rule(s span) {
	left, target, found := s.cut("->")
	if !found {
		p.fail(s, "there is no -> in %q; a rule reads NAME:OP VALUE -> TARGET, or * -> TARGET", short(s.text))
		return
	}
	r := Rule{Line: p.line, Offset: s.offset}
	before := len(p.errs)
	if left = left.trim(); left.text != "*" {
		r.Predicates = p.predicates(left)
	}
	switch target = target.trim(); {
	case target.text == "":
		p.fail(target, "the target after -> is missing")
	case !isStateName(target.text):
		p.fail(target, "the target %q is not one name of letters, digits, _ and -", short(target.text))
	}
	r.Target = target.text
	if len(p.errs) == before {
		p.rules = append(p.rules, r)
	}
}

// predicates reads the left side of a rule.
func (p *ruleParser) predicates(left span) []Predicate {
	var list []Predicate
	empty := true
	for rest, more := left, true; more; {
		var part span
		part, rest, more = rest.cut("&")
		if part = part.trim(); part.text == "" {
			continue
		}
		empty = false
		if predicate, ok := p.predicate(part); ok {
			list = append(list, predicate)
		}
	}
	if empty {
		p.fail(left, "there is no condition before ->; write * for a rule that always holds")
	}
	return list
}

func (p *ruleParser) predicate(s span) (Predicate, bool) {
	name, rest, found := s.cut(":")
	if !found {
		p.fail(s, "the condition %q has no colon; it reads NAME:OP VALUE, as in clarity:>=80", short(s.text))
		return Predicate{}, false
	}
	name, rest = name.trim(), rest.trim()
	if !isDimension(name.text) {
		p.fail(name, "the name %q is not made of letters, digits, _, - and blanks, a letter, digit or _ first",
			short(name.text))
		return Predicate{}, false
	}
	for _, op := range comparisons {
		if !strings.HasPrefix(rest.text, op) {
			continue
		}
		val := span{rest.text[len(op):], rest.offset + len(op)}.trim()
		if val.text == "" {
			p.fail(val, "%s:%s has no value to compare with", name.text, op)
			return Predicate{}, false
		}
		if _, ok := value.ParseFloat(val.text); !ok && op != "==" && op != "!=" {
			p.fail(val, "%s needs a number, and %q is not a number; texts can be compared with == and !=", op,
				short(val.text))
			return Predicate{}, false
		}
		return Predicate{name.text, op, val.text, name.offset}, true
	}
	p.fail(rest, "the condition %q has no operator after the colon; there are %s", short(s.text), operatorList)
	return Predicate{}, false
}

// isStateName reports whether s is a word character with word characters and hyphens after it.
func isStateName(s string) bool {
	for i, r := range s {
		if !isWord(r) && (r != '-' || i == 0) {
			return false
		}
	}
	return s != ""
}

// isDimension is isName with blanks allowed after the first character.
func isDimension(s string) bool {
	for i, r := range s {
		if !isWord(r) && (r != '-' && !unicode.IsSpace(r) || i == 0) {
			return false
		}
	}
	return s != ""
}

// isWord is \w as Python has it.
func isWord(r rune) bool {
	return r == '_' || r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsNumber(r))
}

// short cuts a text to what fits in a message.
func short(s string) string {
	n := 0
	for i := range s {
		if n++; n > 60 {
			return s[:i] + "..."
		}
	}
	return s
}
