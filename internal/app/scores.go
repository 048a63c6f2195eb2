package app

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"loops/engine/project"
	"loops/fsm/expr"
	"loops/fsm/value"
	"loops/internal/humanize"
)

const (
	aggregate = "aggregate"
	prefix    = "rubric-dim-" // with the name of the dimension and .txt behind it
)

// ReadScores reads the score files of a run, no matter which program wrote them.
func ReadScores(dir string) (map[string]any, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, project.Cause(err)
	}
	scores := map[string]any{}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".txt")
		if !ok {
			continue
		}
		if name == "rubric-"+aggregate {
			name = aggregate
		} else if name, ok = strings.CutPrefix(name, prefix); !ok || name == "" {
			continue
		}
		path := filepath.Join(dir, e.Name())
		if info, err := os.Stat(path); err != nil {
			return nil, err
		} else if !info.Mode().IsRegular() {
			return nil, fmt.Errorf("%s is not a file", e.Name())
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		scores[name] = strings.TrimSpace(strings.ToValidUTF8(string(data), "\ufffd"))
	}
	return scores, nil
}

// MissingScores says what the rules ask for and the scores do not have. It also returns the names the rules use, in
// their order.
func MissingScores(rules []expr.Rule, scores map[string]any) (notes, names []string) {
	lines := map[string][]string{} // by name
	for _, r := range rules {
		for _, n := range ScoreDimensions(r) {
			if lines[n] == nil {
				names = append(names, n)
			}
			lines[n] = append(lines[n], fmt.Sprint(r.Line))
		}
	}
	for _, n := range names {
		if scores[n] != nil {
			continue
		}
		where := "line "
		if len(lines[n]) > 1 {
			where = "lines "
		}
		note := fmt.Sprintf("there is no score for %q (%s%s): only != holds for it", n, where,
			strings.Join(lines[n], ", "))
		for _, other := range slices.Sorted(maps.Keys(scores)) {
			if slug(other) == slug(n) {
				note += fmt.Sprintf("; did you mean %q?", other)
				break
			}
		}
		notes = append(notes, note)
	}
	for _, r := range rules {
		for _, p := range r.Predicates {
			text, _ := scores[p.Dimension].(string)
			if _, number := value.ParseFloat(text); number || scores[p.Dimension] == nil || p.Operator == "==" ||
				p.Operator == "!=" {
				continue
			}
			notes = append(notes,
				fmt.Sprintf("the score of %q is %q, which is no number, so %s (line %d) does not hold", p.Dimension,
					humanize.Cut(text, 60), p, r.Line))
		}
	}
	return notes, names
}

// slug is a name as files have it.
func slug(name string) string { return strings.Join(strings.Fields(strings.ToLower(name)), "-") }

// ScoreDimensions are the names a rule uses, each once.
func ScoreDimensions(r expr.Rule) []string {
	var names []string
	for _, p := range r.Predicates {
		if !slices.Contains(names, p.Dimension) {
			names = append(names, p.Dimension)
		}
	}
	return names
}

// ScoreList shows the scores of names, " (a=1, b=2)", or "" if there are none.
func ScoreList(names []string, scores map[string]any) string {
	var list []string
	for _, n := range names {
		if s, ok := scores[n]; ok {
			list = append(list, n+"="+humanize.Cut(humanize.PlainLine(value.Text(s)), 40))
		}
	}
	if len(list) == 0 {
		return ""
	}
	return " (" + strings.Join(list, ", ") + ")"
}
