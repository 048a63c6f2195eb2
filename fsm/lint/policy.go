package lint

import (
	"errors"
	"slices"
	"strings"

	"loops/fsm/expr"
	"loops/fsm/pyregexp"
	"loops/internal/humanize"
)

var scoreFile = pyregexp.Lazy(`rubric-dim-([A-Za-z0-9_-]+)\.txt`)

// policyRules look at the table of rules in context.policy_rules.
func (c *checker) policyRules() {
	v, _ := c.l.Context.Get("policy_rules")
	table, ok := v.(string)
	if !ok || strings.TrimSpace(table) == "" || isTemplate(table) {
		return
	}
	at := func(offset int) spot { return spot{offset, []string{"context", "policy_rules"}} }
	rules, err := expr.ParseRules(table)
	var mistakes expr.RuleErrors
	if errors.As(err, &mistakes) {
		for i, m := range mistakes {
			if i == maxHits {
				break
			}
			c.warnf("policy-syntax", at(m.Offset), "line %d of this table cannot be read: %s", m.Line, m.Message)
		}
		return
	}
	scored, names := c.dimensions()
	all := 0
	said := map[string]bool{}
	for _, r := range rules {
		if all > 0 {
			c.warnf("policy-syntax", at(r.Offset), "no score ever comes to this rule, because the rule * in line %d "+
				"takes them all; move that one to the end", all)
			break
		}
		if r.CatchAll() {
			all = r.Line
		}
		for _, p := range r.Predicates {
			if p.Dimension == "aggregate" || scored[p.Dimension] || said[p.Dimension] || len(said) == maxHits {
				continue
			}
			said[p.Dimension] = true
			holds := "never holds"
			if p.Operator == "!=" {
				holds = "always holds"
			}
			c.warnf("policy-dimensions", at(p.Offset), "nothing scores %s, so this condition %s%s; add the name to "+
				"context.rubric_dimensions, or write rubric-dim-%s.txt in an action",
				humanize.Quote(p.Dimension), holds, c.didYouMean(p.Dimension, names), humanize.Clip(p.Dimension))
		}
	}
}

// dimensions are the names that scores are written for.
func (c *checker) dimensions() (map[string]bool, []string) {
	scored := map[string]bool{}
	if v, _ := c.l.Context.Get("rubric_dimensions"); v != nil {
		if list, ok := v.(string); ok {
			for _, d := range strings.Split(list, "|") {
				scored[strings.ReplaceAll(strings.ToLower(strings.TrimSpace(d)), " ", "-")] = true
			}
		}
	}
	for _, s := range c.states {
		if !isShell(s) || !strings.Contains(s.Action, "rubric-dim-") {
			continue
		}
		for _, m := range scoreFile().FindAllStringSubmatch(s.Action, -1) {
			scored[m[1]] = true
		}
	}
	delete(scored, "")
	names := make([]string, 0, len(scored))
	for d := range scored {
		names = append(names, d)
	}
	slices.Sort(names)
	return scored, names
}
