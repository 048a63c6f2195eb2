package app

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/glob"
	"loops/fsm/loopfile"
	"loops/fsm/value"
	"loops/internal/disk"
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

	typed      bool   // Protect was given
	path, text string // of the file that was written
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

// Write chooses what was not said of a goal that is asked for in a folder, see [GoalPlace], and writes its
// loop. It returns the project of the loop and its name. The error is a refusal.
func (g *Goal) Write(ctx context.Context, ask *terminal.YesNo, p *project.Project, dir string) (_ *project.Project,
	name string, err error,
) {
	p, folder, err := GoalPlace(p, dir)
	if err != nil {
		return nil, "", err
	}
	if err = g.choose(ctx, ask, p, folder); err == nil {
		name, g.path, err = WriteGoal(p, *g)
	}
	if err != nil {
		return nil, "", err
	}
	text, err := disk.Read(g.path)
	if err != nil {
		return nil, "", engine.Refuse(engine.Failed, "%s cannot be read: %v", p.Short(g.path), err)
	}
	g.text = string(text)
	return p, name, nil
}

// Print shows the file that was written.
func (g *Goal) Print(out io.Writer, p *project.Project) {
	terminal.Say(out, "Wrote %s:\n\n", p.Short(g.path))
	for line := range strings.Lines(g.text) {
		terminal.SayLine(out, "  "+strings.TrimSuffix(line, "\n"))
	}
	terminal.SayLine(out, "")
}

// WarnUnprotected says which patterns of files to protect, if they were given, match no file.
func (g *Goal) WarnUnprotected(out io.Writer, p *project.Project) {
	if !g.typed {
		return
	}
	patterns, err := compiled(g.Protect)
	if err != nil {
		return
	}
	for _, pattern := range unmatched(p.WorkDir(), patterns) {
		terminal.Say(out, "warning: the pattern %s of files to protect matches no file of the project\n",
			humanize.Quote(pattern.String()))
	}
}

// Bounds of the list of files that are protected.
const (
	mostNamed   = 12
	mostEntered = 5000
)

// PrintProtected names the files that are protected now, besides those that there may be later.
func (g *Goal) PrintProtected(out io.Writer, p *project.Project) {
	patterns, err := compiled(g.Protect)
	if len(g.Protect) == 0 {
		patterns, err = compiled(TestFiles())
	}
	if err != nil {
		return
	}
	files, more := coveredFiles(p.WorkDir(), patterns, mostEntered)
	text := strings.Join(files[:min(len(files), mostNamed)], ", ")
	switch left := len(files) - mostNamed; {
	case len(files) == 0:
		text = "no file yet"
	case left > 0:
		text += fmt.Sprintf(" and %d more", left)
	case more:
		text += " and more"
	}
	terminal.Say(out, "\nProtected, with what comes to match the patterns: %s\n", text)
}

// GoalPlace returns the project of a goal that is asked for in a folder, and what of the project the check runs
// in; "" = its folder. dir is what was named; "" = where the user is. In a repository of git, the first loop of
// a project is written at the top: a guard and undo have to see all that an agent may change.
func GoalPlace(p *project.Project, dir string) (_ *project.Project, folder string, err error) {
	if p.Tree != "" {
		return p, "", nil
	}
	here := p.Cwd
	if dir != "" {
		if here = dir; !filepath.IsAbs(here) {
			here = filepath.Join(p.Cwd, here)
		}
	}
	if _, err := os.Stat(p.Loops); errors.Is(err, fs.ErrNotExist) {
		if top := p.GitRoot(); top != "" && top != p.Dir {
			if p, err = project.Open(top, project.Options{Cwd: p.Cwd, Env: p.Env, Store: p.Store}); err != nil {
				return nil, "", err
			}
		}
	}
	if folder, err = filepath.Rel(p.WorkDir(), here); err != nil || !filepath.IsLocal(folder) || folder == "." {
		return p, "", nil //nolint:nilerr // it is elsewhere
	}
	return p, filepath.ToSlash(folder), nil
}

// choose chooses the check of a goal and what is protected, where that was not said. The error is a refusal.
func (g *Goal) choose(ctx context.Context, ask *terminal.YesNo, p *project.Project, folder string) (err error) {
	g.typed = len(g.Protect) > 0
	found := NewCheck(p.WorkDir(), folder, g.Check)
	if g.Check == "" {
		if found, err = ChooseCheck(ctx, ask, FindChecks(p.WorkDir(), folder)); err != nil {
			return err
		}
	}
	g.Check = found.Command
	if !g.typed && found.Protect != nil {
		g.Protect = slices.Concat(found.Protect, TestFiles())
	}
	return nil
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
	files, err := writeLoop(p, "", name, g.loop(name, p.InGit()))
	mistakes, wrong := errors.AsType[*MistakesError](err)
	if wrong && g.Host != "" && mistakes.has("unknown-host") {
		return "", "", engine.Misuse("goal", "%s: %s",
			engine.Setting{Name: engine.SetHost, Value: humanize.Quote(g.Host)}, mistakes.text())
	}
	if wrong {
		return "", "", engine.Refuse(engine.Invalid, "nothing was written: %v", mistakes)
	}
	if err != nil {
		return "", "", err
	}
	return name, files[0], nil
}

// loop returns the loop of a goal. Only a repository of git can keep snapshots.
func (g *Goal) loop(name string, repository bool) string {
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
		"@NAME@", scalar(name), "@ABOUT@", quoted("An agent works until a check passes: "+humanize.FirstLine(g.Text)),
		"@GOAL@", quoted(g.Text),
		"@CHECK@", quoted(g.Check), "@STEPS@", strconv.Itoa(steps), "@PROTECT@", listOf(protect), "@FILES@",
		strings.Join(protect, " "), "@HOST@", host, "@SNAPSHOTS@", snapshots,
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
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return r < '0' || r > '9' && r < 'a' || r > 'z'
	})
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
