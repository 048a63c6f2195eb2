package expr

import (
	"strings"

	"loops/fsm/value"
)

// A Rule is one line of a table that decides which state comes next, given scores:
//
//	security:<65 -> escalate
//	clarity:>=85 & completeness:>=85 -> done
//	# a comment
//	* -> repair
//
// The first rule whose predicates all hold wins.
type Rule struct {
	Predicates []Predicate // all must hold; none: it always holds, written *
	Target     string
	Line       int // from 1
	Offset     int // of the first byte that is no white space, in the text of the table
}

// A Predicate compares the score of a dimension with a value.
type Predicate struct {
	Dimension string
	Operator  string // one of >= <= == != < >
	Value     string // a number for the operators that order
	Offset    int    // of Dimension, in the text of the table
}

// CatchAll reports whether the rule holds whatever the scores are.
func (r Rule) CatchAll() bool { return len(r.Predicates) == 0 }

func (r Rule) String() string {
	if r.CatchAll() {
		return "* -> " + r.Target
	}
	predicates := make([]string, len(r.Predicates))
	for i, p := range r.Predicates {
		predicates[i] = p.String()
	}
	return strings.Join(predicates, " & ") + " -> " + r.Target
}

func (p Predicate) String() string { return p.Dimension + ":" + p.Operator + p.Value }

// FirstRule returns the first rule that holds for the scores, by dimension. Scores are values of the loop language.
func FirstRule(rules []Rule, scores map[string]any) (Rule, bool) {
	for _, r := range rules {
		if r.Holds(scores) {
			return r, true
		}
	}
	return Rule{}, false
}

// Holds reports whether all predicates of the rule hold.
func (r Rule) Holds(scores map[string]any) bool {
	for _, p := range r.Predicates {
		if !p.Holds(scores[p.Dimension]) {
			return false
		}
	}
	return true
}

// Holds reports whether the comparison holds for a score; nil is a missing one, for which only != holds. The ordering
// operators want numbers, as [value.ParseFloat] reads them, on both sides. == and != compare numbers if both sides are
// numbers, else the texts they print as. NaN equals nothing.
func (p Predicate) Holds(score any) bool {
	if score == nil {
		return p.Operator == "!="
	}
	s, numeric := toFloat(score)
	v, ok := value.ParseFloat(p.Value)
	numeric = numeric && ok
	switch p.Operator {
	case ">=":
		return numeric && s >= v
	case "<=":
		return numeric && s <= v
	case "<":
		return numeric && s < v
	case ">":
		return numeric && s > v
	}
	equal := value.Text(score) == p.Value
	if numeric {
		equal = s == v
	}
	return equal == (p.Operator == "==")
}

func toFloat(v any) (float64, bool) {
	switch v := v.(type) {
	case string:
		return value.ParseFloat(v)
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	case []any, *value.Map:
		return 0, false
	}
	return value.ParseFloat(value.Text(v))
}
