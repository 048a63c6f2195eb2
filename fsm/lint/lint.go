// Package lint gives advice about a loop that could run: states that no run reaches, texts that will not
// expand, verdicts that no route takes, foreign text pasted into a shell. It also has the registry of every
// rule that this package and package loopfile report.
package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"loops/fsm"
	"loops/internal/humanize"
)

const (
	maxProblems = 500 // of each severity that are reported
	maxHits     = 20  // of one kind in one text
)

// Check reports what is wrong, or looks wrong, with a loop. Problems come sorted by position, of each severity
// up to 500 and then how many more there are. Rules whose flag is set in [fsm.Loop.SuppressFlags] are left out.
//
// It does no I/O, does not change the loop and takes time in proportion to its size. Positions are those of
// [fsm.Loop.Place]; without it, those of states. A loop that was built by hand may lack what a loader makes
// sure of: Check says nothing then about what it cannot work out.
func Check(l *fsm.Loop) []fsm.Problem { return newChecker(l).check() }

// CheckMisrouted is [Check] for a loop some of whose targets are no states: it reports nothing that depends on
// which state follows which.
func CheckMisrouted(l *fsm.Loop) []fsm.Problem {
	c := newChecker(l)
	c.g.open = true
	for i := range c.g.dynamic {
		c.g.dynamic[i] = true
	}
	return c.check()
}

func (c *checker) check() []fsm.Problem {
	c.texts = allTexts(c.states)
	c.loopRules()
	c.contextRules()
	c.varRules()
	c.progressRules()
	c.policyRules()
	c.literalRules()
	c.graphRules()
	c.failureAsSuccess()
	c.waitsWithoutScope()
	p := c.newPastes()
	for _, s := range c.states {
		c.stateRules(s)
		c.scriptRules(s)
		c.writtenRules(s)
		c.quoteRule(s)
		told := c.exitRule(s)
		c.ignoredFailure(s)
		c.partialOtherwise(s, told)
		c.evaluatorRules(s)
		c.textRules(p, s)
	}
	c.captureRules()
	c.expressionRules()
	c.reportGathered()
	return c.sorted()
}

// CheckTexts is the part of [Check] that looks at one text at a time: templates and scripts. It also works for
// a loop that has other mistakes, so that its author sees all of them at once.
func CheckTexts(l *fsm.Loop) []fsm.Problem {
	c := newChecker(l)
	c.texts = allTexts(c.states)
	p := c.newPastes()
	for _, s := range c.states {
		c.textRules(p, s)
	}
	c.reportGathered()
	return c.sorted()
}

// A checker collects the problems of one loop.
type checker struct {
	l        *fsm.Loop
	states   []*fsm.State // in file order
	texts    [][]text     // of each of them
	g        *graph
	gathered map[string]*gathered
	order    []*gathered
	hints    int // how many suggestions were looked for
	problems []fsm.Problem
	count    map[fsm.Severity]int // of problems, kept or not
}

func newChecker(l *fsm.Loop) *checker {
	c := &checker{l: l, gathered: map[string]*gathered{}, count: map[fsm.Severity]int{}}
	seen := make(map[string]bool, len(l.States))
	for _, name := range l.Order {
		if s := l.States[name]; s != nil && !seen[name] {
			seen[name] = true
			c.states = append(c.states, s)
		}
	}
	if len(seen) < len(l.States) { // built by hand
		var rest []string
		for name, s := range l.States {
			if !seen[name] && s != nil {
				rest = append(rest, name)
			}
		}
		slices.Sort(rest)
		for _, name := range rest {
			c.states = append(c.states, l.States[name])
		}
	}
	c.g = newGraph(l, c.states)
	return c
}

// A spot is a place of the merged definition: a key, or a byte of a value.
type spot struct {
	offset int // fsm.KeyPlace or from 0
	path   []string
}

func valueAt(path ...string) spot            { return spot{0, path} }
func key(path ...string) spot                { return spot{fsm.KeyPlace, path} }
func ofState(s *fsm.State, k ...string) spot { return key(append([]string{"states", s.Name}, k...)...) }

// pos finds a spot in the file, or the nearest thing that has a place.
func (c *checker) pos(at spot) fsm.Pos {
	if c.l.Place != nil {
		if p := c.l.Place(at.offset, at.path...); p.Line > 0 {
			return p
		}
	}
	p := c.l.Pos
	if len(at.path) > 1 && at.path[0] == "states" {
		if s := c.l.States[at.path[1]]; s != nil {
			p = s.Pos
			switch {
			case len(at.path) == 2:
			case at.path[2] == "evaluate" && s.Evaluate != nil && s.Evaluate.Pos.Line > 0:
				p = s.Evaluate.Pos
			case at.path[2] == "route" && s.Route != nil && s.Route.Pos.Line > 0:
				p = s.Route.Pos
			}
		}
	}
	if p.File == "" {
		p.File = c.l.File
	}
	return p
}

// seen says where something else is, for a problem at pos.
func (c *checker) seen(at spot, from spot) string {
	p := c.pos(at)
	switch {
	case p.Line == 0:
		return ""
	case p.File == c.pos(from).File:
		return fmt.Sprintf(" (line %d, column %d)", p.Line, p.Col)
	}
	return " (" + p.String() + ")"
}

func (c *checker) errorf(rule string, at spot, format string, args ...any) {
	c.report(fsm.SeverityError, rule, at, format, args...)
}

func (c *checker) warnf(rule string, at spot, format string, args ...any) {
	c.report(fsm.SeverityWarning, rule, at, format, args...)
}

func (c *checker) report(sev fsm.Severity, rule string, at spot, format string, args ...any) {
	if c.off(rule) {
		return
	}
	if c.count[sev]++; c.count[sev] > maxProblems {
		return
	}
	parts := make([]string, len(at.path))
	for i, p := range at.path {
		parts[i] = humanize.Clip(p)
	}
	if len(parts) > 2 && parts[0] == "states" && parts[2] == "fragment_bindings" {
		parts[2] = "with" // as the author wrote it
	}
	c.problems = append(c.problems, fsm.Problem{
		Pos: c.pos(at), Severity: sev, Rule: rule, Path: strings.Join(parts, "."),
		Message: fmt.Sprintf(format, args...),
	})
}

// nearest is that of package humanize. Each suggestion looks at every word, so a large loop full of mistakes
// gets a limited number of them.
func (c *checker) nearest(word string, words []string) string {
	const work = 200_000
	if c.hints > work {
		return ""
	}
	c.hints += len(words) + 1
	return humanize.Nearest(word, words)
}

// didYouMean is a clause with the nearest word, or "".
func (c *checker) didYouMean(word string, words []string) string {
	if s := c.nearest(word, words); s != "" {
		return "; did you mean " + humanize.Quote(s) + "?"
	}
	return ""
}

// off reports whether the loop silences a rule.
func (c *checker) off(rule string) bool {
	if len(c.l.SuppressFlags) == 0 {
		return false
	}
	r, _ := Lookup(rule)
	return c.l.SuppressFlags[r.Flag]
}

func (c *checker) sorted() []fsm.Problem {
	for _, sev := range []fsm.Severity{fsm.SeverityError, fsm.SeverityWarning} {
		if more := c.count[sev] - maxProblems; more > 0 {
			last := fsm.Pos{File: c.l.File}
			for _, p := range c.problems {
				if last.Line < p.Pos.Line && p.Pos.File == last.File {
					last = p.Pos
				}
			}
			c.problems = append(c.problems,
				fsm.Problem{
					Pos: last, Severity: sev, Rule: "too-many",
					Message: fmt.Sprintf("%d more like these are not shown (%ss)", more, sev),
				})
		}
	}
	slices.SortStableFunc(c.problems, func(a, b fsm.Problem) int {
		return cmp.Or(cmp.Compare(a.Pos.File, b.Pos.File), cmp.Compare(a.Pos.Line, b.Pos.Line),
			cmp.Compare(a.Pos.Col, b.Pos.Col), cmp.Compare(a.Rule, b.Rule))
	})
	return c.problems
}
