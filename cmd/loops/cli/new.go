package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/engine/action"
	"loops/engine/project"
	"loops/fsm/loopfile"
	"loops/internal/phrase"
	"loops/internal/ui"
)

type newOptions struct {
	name, from   string
	list, stdout bool
}

func newNewCommand(a *app) *cobra.Command {
	var o newOptions
	cmd := &cobra.Command{
		Use:   "new NAME --from PATTERN",
		Short: "Write a new loop to start from",
		Long: `new writes .loops/NAME.yaml from a pattern: a short loop with comments that say what to change. It runs as it stands;
agent and agent-with-judge want an agent CLI (loops doctor) and a git repository. A file that is there is never overwritten.

The first line of the file tells an editor with a YAML language server where the schema is, so that it completes and
checks keys. new writes the schema to .loops/.schema, and anew where it has changed. In a git repository without a
.loops/.gitignore it writes one that names what loops records, and not the loops.` + exitMeanings(
			exitMeaning{exitOK, "the loop was written"}, exitMeaning{exitFailed, "there is such a loop, or it cannot be written"},
			exitMeaning{exitUsage, "bad command line, such as an unknown pattern or a name that makes no file name"}),
		Example: `  loops new --list
  loops new tidy --from fix-until-clean
  loops new fix-tests --from agent
  loops new team/deploy --from sequence --stdout`,
		Args: arguments(0, 1, ""),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.name = args[0]
			}
			return runNew(a, o, len(args) > 0)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.from, "from", "", "the `PATTERN` to start from")
	flags.BoolVar(&o.list, "list", false, "list the patterns, and write nothing")
	flags.BoolVar(&o.stdout, "stdout", false, "print the loop, and write nothing")
	return cmd
}

func runNew(a *app, o newOptions, named bool) error {
	switch {
	case o.list:
		return listPatterns(a.out)
	case !named:
		return usageError{"missing argument: NAME of the new loop", "loops new --help"}
	case o.from == "":
		return usageError{"missing flag: --from PATTERN (" + strings.Join(patternNames, ", ") + ")", "loops new --list"}
	}
	if why := badName(o.name); why != "" {
		return usageError{fmt.Sprintf("%s cannot be the name of a loop: %s", phrase.Quote(o.name), why), "loops new --help"}
	}
	text, ok := pattern(o.from, o.name)
	if !ok {
		return usageError{fmt.Sprintf("there is no pattern %s%s", phrase.Quote(o.from), phrase.DidYouMean(o.from, patternNames)), "loops new --list"}
	}
	if o.stdout {
		_, err := a.out.Write([]byte(text))
		return err
	}
	p, err := a.project()
	if err != nil {
		return err
	}
	path, err := writeNew(p, o.name, text)
	if err != nil {
		return err
	}
	ui.Say(a.out, "Wrote %s. To run it:\n  %s\nAfter every change, to be shown all mistakes:\n  %s\n",
		p.Short(path), a.prefixed(firstCommand(text)), a.command("validate", o.name))
	return nil
}

// maxName is the length of the longest name that new accepts, in bytes; runs have file names made of it.
const maxName = 100

// badName says why a name is not fit for a new loop, "" if it is. Loops with other names can be run; these are
// the ones that need no quotes anywhere.
func badName(name string) string {
	const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."
	if len(name) > maxName {
		return fmt.Sprintf("it is longer than %d characters", maxName)
	}
	if bare := strings.TrimSuffix(strings.TrimSuffix(name, ".yaml"), ".yml"); bare != name {
		return "give the name without the end of the file name: " + bare
	}
	for part := range strings.SplitSeq(name, "/") {
		switch {
		case part == "":
			return "a part between slashes is empty"
		case strings.ContainsFunc(part, func(r rune) bool { return !strings.ContainsRune(allowed, r) }):
			return "expected letters, digits, - _ . and slashes between folders"
		case part[0] == '.' || part[0] == '-':
			return "no part may begin with " + part[:1]
		}
	}
	return ""
}

// writeNew writes the file of a new loop, and the schema its first line names.
func writeNew(p *project.Project, name, text string) (string, error) {
	refuse := func(err error) error {
		return failure(engine.Failed, "the loop cannot be written: %v", err)
	}
	path := filepath.Join(p.Loops, filepath.FromSlash(name)+".yaml")
	tidyBeside(filepath.Dir(path)) // also where this one is refused, because the one that was killed gave the loop its name
	if there, err := p.Resolve(name); err == nil {
		return "", failure(engine.Failed, "there is a loop %s: %s; nothing was written", name, p.Short(there))
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", refuse(err)
	}
	if err := refreshSchema(p); err != nil {
		return "", refuse(err)
	}
	if err := p.IgnoreRecords(); err != nil {
		return "", refuse(err)
	}
	f, err := createBeside(path) // half a loop is worse than none
	if err != nil {
		return "", refuse(err)
	}
	defer os.Remove(f.Name()) //nolint:errcheck // it has its name
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err == nil {
		err = linkNew(f.Name(), path)
	}
	if errors.Is(err, fs.ErrExist) {
		return "", failure(engine.Failed, "%s is there already; nothing was written", p.Short(path))
	}
	if err != nil {
		return "", refuse(err)
	}
	return path, nil
}

// schemaFile is where new keeps the schema, below the project's .loops.
const schemaFile = ".schema/loop.schema.json"

// refreshSchema writes the schema that this program knows, unless that is what is there.
func refreshSchema(p *project.Project) error {
	path, want := filepath.Join(p.Loops, filepath.FromSlash(schemaFile)), loopfile.Schema()
	if have, err := (action.Files{}).ReadFile(path); err == nil && string(have) == string(want) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	// An editor may be reading it: it is replaced in one go.
	temp, err := createBeside(path)
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name()) // is gone if all went well
	_, err = temp.Write(want)
	if err = errors.Join(err, temp.Chmod(0o644), temp.Close()); err != nil {
		return err
	}
	return os.Rename(temp.Name(), path)
}
