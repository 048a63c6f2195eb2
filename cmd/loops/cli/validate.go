package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"loops/fsm"
	"loops/fsm/loopfile"
)

func newValidateCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "validate NAME|PATH...",
		Short: "Check loop files for mistakes",
		Long: `validate reads loop files and prints every mistake with its place, what was expected and the line it stands in. Nothing is
run. Warnings do not make a loop invalid.` + exitCodes(exitOK, exitUsage, exitInvalid, exitNotFound),
		Example: `  loops validate fix
  loops validate .loops/*.yaml
  loops validate fix --json`,
		Args:              arguments(1, -1, "NAME or PATH of a loop"),
		ValidArgsFunction: a.completeLoops,
		RunE:              func(_ *cobra.Command, args []string) error { return runValidate(a, args, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array, one object a loop")
	return cmd
}

func runValidate(a *app, names []string, asJSON bool) error {
	p, err := a.project()
	if err != nil {
		return err
	}
	code := exitOK
	var results []*fsm.Map
	for _, name := range names {
		result, worst := a.validateOne(p, name, asJSON)
		results = append(results, result)
		code = max(code, worst)
	}
	if asJSON {
		if err := writeJSON(a.out, list(results, func(m *fsm.Map) any { return m })); err != nil {
			return err
		}
	}
	if code != exitOK {
		return exitError{code: code}
	}
	return nil
}

// validateOne checks one loop and returns its result for JSON, and the exit code it deserves. Without JSON it
// prints what it found.
func (a *app) validateOne(p project, name string, asJSON bool) (*fsm.Map, int) {
	refuse := func(err error) (*fsm.Map, int) {
		var exit exitError
		errors.As(err, &exit)
		if !asJSON {
			fmt.Fprintln(a.Err, "loops: "+exit.text)
		}
		problem := fsm.NewMap("severity", string(fsm.SeverityError), "rule", "unreadable", "path", "", "message", exit.text)
		return fsm.NewMap("loop", name, "valid", false, "violations", []any{problem}), exit.code
	}
	path, err := loopfile.Resolve(name, p.Loops, p.Cwd)
	if err != nil {
		return refuse(notFound(p, err))
	}
	l, problems, err := loopfile.Load(path)
	if err != nil {
		return refuse(unreadable(p, path, err))
	}
	valid := countErrors(problems) == 0
	code := exitOK
	if !valid {
		code = exitInvalid
	}
	if asJSON {
		result := fsm.NewMap("loop", name, "file", path, "valid", valid, "violations", list(problems, func(pr fsm.Problem) any {
			return problemObject(p, pr)
		}))
		return result, code
	}
	fmt.Fprint(a.Err, a.render(p, problems))
	if valid {
		fmt.Fprintf(a.out, "%s is valid: %s, starts in %s, at most %s\n", p.short(path), count(len(l.States), "state"), l.Initial, count(l.MaxSteps, "step"))
	} else {
		fmt.Fprintf(a.Err, "%s: %s\n", p.short(path), count(countErrors(problems), "error"))
	}
	return nil, code
}

func problemObject(p project, pr fsm.Problem) *fsm.Map {
	return fsm.NewMap(
		"severity", string(pr.Severity), "rule", pr.Rule, "path", pr.Path, "message", pr.Message,
		"file", p.short(pr.Pos.File), "line", int64(pr.Pos.Line), "col", int64(pr.Pos.Col),
	)
}
