package lint

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"loops/fsm"
)

// A Rule is something that can be reported about a loop file, by this package or by package loopfile.
type Rule struct {
	Name     string       // as in [unknown-state]
	Severity fsm.Severity // as a rule; a few are milder where the loop may be right
	Optional bool         // only [Optional] reports it
	Flag     string       // the top-level key that silences the rule when it is true; "" = none
	Summary  string       // one sentence
	Why      string       // paragraphs: what it means and what to do
	Bad      string       // a loop file that has it and nothing else; "" where text cannot show it
	Good     string       // the same loop without it
}

// Examples of several files are in one text: a line "-- NAME --" begins the next file, as in a txtar archive. The first
// file has no such line.

//go:embed rules/*.md
var files embed.FS

// The pages are read when first asked for: most runs of the program never do.
var readPages = sync.OnceValues(readRules)

// Rules returns every rule there is, by name.
func Rules() []Rule {
	registry, names := readPages()
	out := make([]Rule, len(names))
	for i, n := range names {
		out[i] = registry[n]
	}
	return out
}

// Lookup returns the rule of this name.
func Lookup(name string) (Rule, bool) {
	registry, _ := readPages()
	r, ok := registry[name]
	return r, ok
}

// readRules reads the embedded pages. A page that is not as it must be is a mistake of ours; the tests find it.
func readRules() (map[string]Rule, []string) {
	entries, err := files.ReadDir("rules")
	if err != nil {
		panic(err)
	}
	m := make(map[string]Rule, len(entries))
	var names []string
	for _, e := range entries {
		data, err := files.ReadFile("rules/" + e.Name())
		if err != nil {
			panic(err)
		}
		r, err := parseRule(string(data))
		if err != nil {
			panic(fmt.Errorf("rules/%s: %w", e.Name(), err))
		}
		m[r.Name] = r
		names = append(names, r.Name)
	}
	slices.Sort(names)
	return m, names
}

// parseRule reads a page: a heading with the name, a line with the severity and the flag, the summary, the paragraphs,
// and the examples, each a heading and a block.
func parseRule(page string) (Rule, error) {
	var r Rule
	text, examples, _ := strings.Cut(page, "\n## ")
	parts := strings.SplitN(strings.TrimSpace(text), "\n\n", 4)
	if len(parts) < 4 {
		return r, fmt.Errorf("expected a name, a severity, a summary and an explanation, found %d paragraphs",
			len(parts))
	}
	r.Name = strings.TrimPrefix(parts[0], "# ")
	severity, flag, _ := strings.Cut(strings.TrimSuffix(parts[1], "."), "; silenced by ")
	r.Flag = strings.TrimSuffix(strings.Trim(flag, "`"), ": true")
	severity, r.Optional = strings.CutSuffix(severity, ", on request only")
	switch severity {
	case "Error":
		r.Severity = fsm.SeverityError
	case "Warning":
		r.Severity = fsm.SeverityWarning
	default:
		return r, fmt.Errorf("%q is no severity", severity)
	}
	r.Summary, r.Why = unwrap(parts[2]), unwrap(parts[3])
	for _, example := range strings.Split(examples, "\n## ") {
		title, body, _ := strings.Cut(example, "\n")
		_, body, found := strings.Cut(body, "```yaml\n")
		body, _, closed := strings.Cut(body, "```\n")
		if !found || !closed {
			if examples == "" {
				continue
			}
			return r, fmt.Errorf("the example %q has no block", title)
		}
		switch title {
		case "Fails":
			r.Bad = body
		case "Passes":
			r.Good = body
		default:
			return r, fmt.Errorf("%q is neither Fails nor Passes", title)
		}
	}
	return r, nil
}

// unwrap joins the lines of each paragraph.
func unwrap(s string) string {
	paragraphs := strings.Split(s, "\n\n")
	for i, p := range paragraphs {
		if !strings.HasPrefix(p, "- ") {
			paragraphs[i] = strings.ReplaceAll(p, "\n", " ")
		}
	}
	return strings.Join(paragraphs, "\n\n")
}
