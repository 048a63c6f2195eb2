package app

import (
	"context"
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"loops/engine"
	"loops/internal/humanize"
	"loops/internal/terminal"
)

// A FoundCheck is a command that a file of a project declares as its tests.
type FoundCheck struct {
	Command string
	File    string   // that declares it
	Protect []string // patterns of the files, besides tests, that decide what the command does
}

// Files that decide what a tool does as a check: what the check runs, and which tests there are.
var (
	makeFiles = []string{"{GNUmakefile,makefile,Makefile}", "**/*.mk"}
	nodeFiles = []string{
		"**/package.json", "**/{.npmrc,.yarnrc,.yarnrc.yml,bunfig.toml}",
		"**/{jest,vitest,vite,playwright,cypress,karma}.config.*", "**/.mocharc.*",
	}
	goFiles     = []string{"**/go.mod", "**/go.work"} // a go.mod in a folder takes the folder out of ./...
	pythonFiles = []string{"**/{pyproject.toml,setup.cfg}"}
	cargoFiles  = []string{"**/Cargo.toml", "**/.cargo"}
)

// toolFiles are these files by the program that a command starts.
var toolFiles = map[string][]string{
	"make": makeFiles, "gmake": makeFiles, "go": goFiles, "cargo": cargoFiles,
	"npm": nodeFiles, "npx": nodeFiles, "pnpm": nodeFiles, "yarn": nodeFiles, "bun": nodeFiles, "bunx": nodeFiles,
	"python": pythonFiles, "python3": pythonFiles, "pytest": pythonFiles, "tox": pythonFiles, "uv": pythonFiles,
	"poetry": pythonFiles,
}

// interpreters run the file that is their first argument.
var interpreters = []string{"sh", "bash", "dash", "zsh", "ksh", "python", "python3", "node", "ruby", "perl", "php"}

var (
	makefileNames = []string{"GNUmakefile", "makefile", "Makefile"} // the order in which make looks
	noTest        = "no test specified"                             // what npm init writes
)

// FindChecks returns the commands that the files of a folder of a project declare as tests: a script of
// package.json, a target of a Makefile, and those of go.mod, pyproject.toml and Cargo.toml. "" is the folder of
// the project.
func FindChecks(root, folder string) (found []FoundCheck) {
	dir := filepath.Join(root, folder)
	add := func(command, file string) {
		c := NewCheck(root, folder, command)
		c.File = path.Join(folder, file)
		found = append(found, c)
	}
	read := func(name string) (string, bool) {
		data, err := os.ReadFile(filepath.Join(dir, name))
		return string(data), err == nil
	}
	if text, ok := read("package.json"); ok {
		var file struct{ Scripts map[string]string }
		if err := json.Unmarshal([]byte(text), &file); err == nil && file.Scripts["test"] != "" &&
			!strings.Contains(file.Scripts["test"], noTest) {
			command := "npm test"
			for _, by := range [][2]string{
				{"pnpm-lock.yaml", "pnpm test"},
				{"yarn.lock", "yarn test"},
				{"bun.lock", "bun run test"},
				{"bun.lockb", "bun run test"},
			} {
				if _, there := read(by[0]); there {
					command = by[1]
				}
			}
			add(command, "package.json")
		}
	}
	for _, name := range makefileNames {
		if text, ok := read(name); ok {
			if _, there := makeRule(text, "test"); there {
				add("make test", name)
			}
			break
		}
	}
	if _, ok := read("go.mod"); ok {
		add("go vet ./... && go test ./...", "go.mod")
	}
	if text, ok := read("pyproject.toml"); ok && strings.Contains(text, "pytest") {
		add("python3 -m pytest", "pyproject.toml")
	}
	if _, ok := read("Cargo.toml"); ok {
		add("cargo test", "Cargo.toml")
	}
	return found
}

// NewCheck returns a command as the check of a folder of a project, with the files that decide what it does.
func NewCheck(root, folder, command string) FoundCheck {
	c := FoundCheck{Command: command, Protect: deciding(root, folder, command)}
	if folder != "" {
		c.Command = "cd " + humanize.ShellWord(folder) + " && " + command
	}
	return c
}

// union returns the patterns of both lists, each once.
func union(list, more []string) []string {
	for _, p := range more {
		if !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	return list
}

// deciding returns patterns of the files of a project that decide what a command of a shell does as a check in
// a folder; see [decider].
func deciding(root, folder, command string) []string {
	d := decider{root: root, seen: map[string]bool{}}
	d.tests, _ = compiled(TestFiles())
	d.read(command, []string{folder})
	return d.patterns
}

// literal returns the pattern that matches one path.
func literal(name string) string {
	var b strings.Builder
	for _, c := range name {
		if strings.ContainsRune(`*?[]{}\`, c) {
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// ChooseCheck returns the check of a project; the user chooses one of several. The error is a refusal where
// there is none, or no user can choose.
func ChooseCheck(ctx context.Context, ask *terminal.YesNo, found []FoundCheck) (FoundCheck, error) {
	lines, commands := make([]string, len(found)), make([]string, len(found))
	for i, c := range found {
		lines[i], commands[i] = strconv.Itoa(i+1)+"  "+c.Command+" ("+c.File+")", "'"+c.Command+"' ("+c.File+")"
	}
	switch {
	case len(found) == 0:
		return FoundCheck{},
			engine.Misuse("goal", "nothing here declares tests (package.json, Makefile, go.mod, pyproject.toml, "+
				"Cargo.toml): say which check has to pass")
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
	return FoundCheck{}, engine.Misuse("goal", "several files declare tests; say which check has to pass: %s",
		strings.Join(commands, ", "))
}
