package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"loops/engine/project"
	"loops/internal/app"
)

// byName puts the command run before the name of a loop that is where a command is expected, as in scripts for
// little-loops: loops fix is loops run fix. It must be exactly the name of a loop, which no command has: a mistyped
// command runs nothing.
func (a *program) byName(root *cobra.Command, args []string) []string {
	from := 0
	if completing(args) {
		from = 1 // the command line that is to be completed
	}
	place, dir := argvFirstWord(args[from:])
	if i := from + place; place >= 0 && (from == 0 || i < len(args)-1) && !isCommand(root, args[i]) &&
		a.isLoop(dir, args[i]) {
		return slices.Insert(slices.Clone(args), i, "run")
	}
	return args
}

// isCommand reports whether a word is the name of a command, or another name of one.
func isCommand(root *cobra.Command, word string) bool {
	return word == "help" || slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool {
		return c.Name() == word || c.HasAlias(word)
	})
}

// isLoop reports whether a loop of the project in a directory, or of its catalog, has exactly this name; false where
// that is not known.
func (a *program) isLoop(dir, name string) bool {
	p, err := project.Open(dir, project.Options{Cwd: a.Dir, Env: a.Env})
	return err == nil && p.Loader().Named(name) != ""
}

// loopsByName offers the loops that [program.byName] runs, once a letter is typed: before that, commands are
// what is looked for.
func (a *program) loopsByName(root *cobra.Command) completeOffer {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 || word == "" {
			return nil, completeNoFiles
		}
		found, _ := completeFound(completeNoFiles, app.NewCompletion(a.project, a.engineOptions()).Loops)(cmd, args,
			word)
		return slices.DeleteFunc(found, func(w cobra.Completion) bool {
			name, _, _ := strings.Cut(w, "\t")
			return isCommand(root, name)
		}), completeNoFiles
	}
}

// noSuchName refuses words after "loops" that are neither a command nor a loop.
func (a *program) noSuchName(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	near := helpNear(cmd, args[0])
	if p, err := a.project(); err == nil {
		for _, name := range p.Loader().Near(args[0], p.Cwd) {
			near = append(near, a.command("run", name))
		}
	}
	return usageError{helpNoCommand(args[0], near), "loops --help"}
}
