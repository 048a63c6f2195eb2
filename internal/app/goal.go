package app

import (
	"context"
	_ "embed"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/glob"
	"loops/fsm/loopfile"
	"loops/fsm/value"
	"loops/internal/humanize"
	"loops/internal/terminal"
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

// TestFiles returns the patterns of files that are protected where nothing else is said.
func TestFiles() []string { return loopfile.TestFiles() }

// A FoundCheck is a command that a file of a project declares as its tests.
type FoundCheck struct {
	Command string
	File    string   // that declares it
	Protect []string // the file, where the command is a text in it
}

var (
	makeTest = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^test[ \t]*:([^=]|$)`) })
	noTest   = "no test specified" // what npm init writes
)

// FindChecks returns the commands that the files of a folder declare as tests: a script of package.json, a target of a
// Makefile, and those of go.mod, pyproject.toml and Cargo.toml.
func FindChecks(dir string) (found []FoundCheck) {
	read := func(name string) (string, bool) {
		data, err := os.ReadFile(filepath.Join(dir, name))
		return string(data), err == nil
	}
	if text, ok := read("package.json"); ok {
		var file struct{ Scripts map[string]string }
		if err := json.Unmarshal([]byte(text), &file); err == nil && file.Scripts["test"] != "" && !strings.Contains(file.Scripts["test"], noTest) {
			command := "npm test"
			for _, by := range [][2]string{{"pnpm-lock.yaml", "pnpm test"}, {"yarn.lock", "yarn test"}, {"bun.lock", "bun run test"}, {"bun.lockb", "bun run test"}} {
				if _, there := read(by[0]); there {
					command = by[1]
				}
			}
			found = append(found, FoundCheck{command, "package.json", []string{"package.json"}})
		}
	}
	for _, name := range []string{"GNUmakefile", "makefile", "Makefile"} { // the order in which make looks
		if text, ok := read(name); ok {
			if makeTest().MatchString(text) {
				found = append(found, FoundCheck{"make test", name, []string{name}})
			}
			break
		}
	}
	if _, ok := read("go.mod"); ok {
		found = append(found, FoundCheck{"go vet ./... && go test ./...", "go.mod", nil})
	}
	if text, ok := read("pyproject.toml"); ok && strings.Contains(text, "pytest") {
		found = append(found, FoundCheck{"python3 -m pytest", "pyproject.toml", nil})
	}
	if _, ok := read("Cargo.toml"); ok {
		found = append(found, FoundCheck{"cargo test", "Cargo.toml", nil})
	}
	return found
}

// goalBudget is what a goal may use where nothing is said. Not every agent says what it costs: then the tokens count.
var goalBudget = fsm.Budget{CostUSD: 5, Tokens: 2_000_000, Prompts: 20, AllowUnknown: true}

// WriteGoal writes the loop of a goal, and returns its name and file. The error is a refusal.
func WriteGoal(p *project.Project, g Goal) (name, path string, err error) {
	if strings.TrimSpace(g.Text) == "" {
		return "", "", engine.Misuse("goal", "the goal is empty: say what is to hold, such as \"npm test passes\"")
	}
	for _, pattern := range g.Protect {
		if _, err := glob.Compile(pattern); err != nil {
			return "", "", engine.Misuse("goal", "a pattern of files to protect, %s: %v", humanize.Quote(pattern), err)
		}
	}
	base := "goal-" + goalSlug(g.Text)
	name = base
	for n := 2; ; n++ {
		if _, err := p.Resolve(name); err != nil {
			break
		}
		name = base + "-" + strconv.Itoa(n)
	}
	files, err := WriteLoop(p, "", name, g.text(name, p.InGit()))
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

// ChooseCheck returns the check of a project; the user chooses one of several. The error is a refusal where there is none, or
// no user can choose.
func ChooseCheck(ctx context.Context, ask *terminal.YesNo, found []FoundCheck) (FoundCheck, error) {
	lines, commands := make([]string, len(found)), make([]string, len(found))
	for i, c := range found {
		lines[i], commands[i] = strconv.Itoa(i+1)+"  "+c.Command+" ("+c.File+")", "'"+c.Command+"' ("+c.File+")"
	}
	switch {
	case len(found) == 0:
		return FoundCheck{}, engine.Misuse("goal", "nothing here declares tests (package.json, Makefile, go.mod, pyproject.toml, Cargo.toml): say which check has to pass")
	case len(found) == 1:
		return found[0], nil
	}
	for range 3 {
		line, ok := ask.Line(ctx, "Which check has to pass?\n  "+strings.Join(lines, "\n  ")+"\nNumber: ")
		if !ok {
			break
		}
		if n, err := strconv.Atoi(strings.TrimSpace(line)); err == nil && n >= 1 && n <= len(found) {
			return found[n-1], nil
		}
	}
	return FoundCheck{}, engine.Misuse("goal", "several files declare tests; say which check has to pass: %s", strings.Join(commands, ", "))
}
