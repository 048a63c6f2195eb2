package cli

import (
	"strings"

	"loops/engine"
	"loops/internal/humanize"
	"loops/persistence"
)

// oneLine is an error on one line.
func oneLine(err error) string { return humanize.OneLine(err) }

// command returns a command line for a person, with -C if this one had it.
func (a *program) command(words ...string) string {
	line := "loops "
	if a.dir != "" {
		line += "-C " + quote(a.dir) + " "
	}
	if a.store != "" {
		line += "--store " + quote(persistence.Redacted(a.store)) + " "
	}
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = w // the first is a command, with its flags
		if i > 0 {
			quoted[i] = quote(w)
		}
		if i > 0 && strings.HasPrefix(w, "-") {
			quoted[0] = words[0] + " --" // or the name of a run would be taken for flags
		}
	}
	return line + strings.Join(quoted, " ")
}

// helpOn is the command line that prints the help of an operation.
func (a *program) helpOn(op engine.Operation) string { return "loops " + string(op) + " --help" }

// flagOf is the flag that a setting of the engine is on a command line, as a sentence has it.
func flagOf(s engine.Setting) string {
	name, between := "--"+strings.ReplaceAll(s.Name, "_", "-"), " "
	switch s.Name {
	case engine.SetDir:
		return "-C " + quote(s.Value)
	case engine.SetWorktree, engine.SetWorktreeEnd:
		between = "="
	}
	if s.Value == "" {
		return name
	}
	return name + between + s.Value
}

// commandFlag is that flag inside a command that a user can copy.
func commandFlag(s engine.Setting) string {
	switch s.Name {
	case engine.SetDefinition:
		return "--definition=" + s.Value
	case engine.SetQuestion:
		return "--question " + quote(s.Value)
	}
	return flagOf(s)
}

// quote quotes a word for a shell where it needs it.
func quote(s string) string { return humanize.ShellWord(s) }
