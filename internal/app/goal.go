package app

import (
	_ "embed"
	"errors"
	"slices"
	"strconv"
	"strings"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/glob"
	"loops/fsm/loopfile"
	"loops/fsm/value"
	"loops/internal/humanize"
)

//go:embed goal.yaml
var goalText string

// A Goal is what an agent is to reach: a check that passes.
type Goal struct {
	Text    string
	Check   string
	Host    string // "" = the agent of the project
	Budget  project.Budget
	Protect []string // patterns of files that stay as they are
}

// compiled reads patterns of files to protect. The error is a refusal.
func compiled(texts []string) (patterns []glob.Pattern, err error) {
	for _, text := range texts {
		p, err := glob.Compile(text)
		if err != nil {
			return nil, engine.Misuse("goal", "a pattern of files to protect, %s: %v", humanize.Quote(text), err)
		}
		patterns = append(patterns, p)
	}
	return patterns, nil
}

// Unprotected returns the patterns of files to protect that match no file.
func (g *Goal) Unprotected(p *project.Project) []string {
	patterns, err := compiled(g.Protect)
	if err != nil {
		return nil
	}
	return unmatched(p.WorkDir(), patterns)
}

// TestFiles returns the patterns of files that are protected where nothing else is said.
func TestFiles() []string { return loopfile.TestFiles() }

// goalBudget is what a goal may use where nothing is said. Not every agent says what it costs: then the tokens count.
var goalBudget = fsm.Budget{CostUSD: 5, Tokens: 2_000_000, Prompts: 20, AllowUnknown: true}

// WriteGoal writes the loop of a goal, and returns its name and file. The error is a refusal.
func WriteGoal(p *project.Project, g Goal) (name, path string, err error) {
	if strings.TrimSpace(g.Text) == "" {
		return "", "", engine.Misuse("goal", "the goal is empty: say what is to hold, such as \"npm test passes\"")
	}
	if _, err := compiled(g.Protect); err != nil {
		return "", "", err
	}
	base := "goal-" + goalSlug(g.Text)
	name = base
	for n := 2; ; n++ {
		if _, err := p.Resolve(name); err != nil {
			break
		}
		name = base + "-" + strconv.Itoa(n)
	}
	files, err := writeLoop(p, "", name, g.text(name, p.InGit()))
	mistakes, wrong := errors.AsType[*MistakesError](err)
	if wrong && g.Host != "" && mistakes.has("unknown-host") {
		return "", "", engine.Misuse("goal", "%s: %s", engine.Setting{Name: engine.SetHost, Value: humanize.Quote(g.Host)}, mistakes.text())
	}
	if wrong {
		return "", "", engine.Refuse(engine.Invalid, "nothing was written: %s", mistakes.Error())
	}
	if err != nil {
		return "", "", err
	}
	return name, files[0], nil
}

// text returns the loop of a goal. Only a repository of git can keep snapshots.
func (g *Goal) text(name string, repository bool) string {
	protect := g.Protect
	if len(protect) == 0 {
		protect = loopfile.TestFiles()
	}
	budget := g.Budget.Applied(goalBudget)
	host, snapshots := "", ""
	if repository {
		snapshots = "snapshots: git # \"loops undo " + name + "\" puts the files back as they were\n"
	}
	if g.Host != "" {
		host = "    host: " + quoted(g.Host) + "\n"
	}
	steps := 60
	if budget.Prompts > 0 {
		steps = 2*budget.Prompts + 3 // a check before each prompt and after the last one
	}
	text := goalText
	if budget == (fsm.Budget{AllowUnknown: true}) {
		text = strings.Replace(text, "budget: @BUDGET@\non_budget: out_of_budget\n", "", 1)
		out := strings.Index(text, "  out_of_budget:")
		text = text[:out] + text[strings.Index(text, "  done: {"):]
	}
	// what is replaced is not looked at again
	return "# yaml-language-server: $schema=" + schemaFile + "\n#\n" + strings.NewReplacer(
		"@NAME@", scalar(name), "@ABOUT@", quoted("An agent works until a check passes: "+humanize.FirstLine(g.Text)), "@GOAL@", quoted(g.Text),
		"@CHECK@", quoted(g.Check), "@STEPS@", strconv.Itoa(steps), "@PROTECT@", listOf(protect), "@FILES@", strings.Join(protect, " "), "@HOST@", host, "@SNAPSHOTS@", snapshots,
		"@BUDGET@", budgetText(budget),
	).Replace(text)
}

// quoted writes a text so that YAML reads it as that: JSON is YAML.
func quoted(s string) string { return string(value.AppendJSON(nil, s)) }

func listOf(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = quoted(w)
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// budgetText writes a budget as a mapping on one line.
func budgetText(b fsm.Budget) string {
	var parts []string
	add := func(key string, v float64) {
		if v > 0 {
			parts = append(parts, key+": "+strconv.FormatFloat(v, 'f', -1, 64))
		}
	}
	add("cost_usd", b.CostUSD)
	add("tokens", float64(b.Tokens))
	add("wall", b.Wall.Seconds())
	add("steps", float64(b.Steps))
	add("prompts", float64(b.Prompts))
	return "{" + strings.Join(append(parts, "allow_unknown_cost: true"), ", ") + "}"
}

// goalSlug makes a part of a name of a text: its words in small letters.
func goalSlug(text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r < '0' || r > '9' && r < 'a' || r > 'z' })
	const most = 40
	for len(words) > 1 && len(strings.Join(words, "-")) > most {
		words = slices.Delete(words, len(words)-1, len(words))
	}
	name := strings.Join(words, "-")
	if name == "" {
		return "1"
	}
	return name[:min(len(name), most)]
}
