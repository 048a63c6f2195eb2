package cli

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/internal/app"
	"loops/internal/simulate"
	"loops/internal/terminal"
)

type validateOptions struct {
	names  []string
	strict bool
	all    bool
	format string
	json   bool
}

// The formats of validate.
var formats = []string{"text", "json", "sarif", "github"}

func newValidateCommand(a *program) *cobra.Command {
	var o validateOptions
	cmd := &cobra.Command{
		Use:     "validate [NAME|PATH|FOLDER...]",
		Aliases: []string{"val"},
		Short:   "Check loop files for mistakes",
		Long: `validate reads loop files and prints every mistake with its place, what was expected and the line of the file.
Nothing is
run. Without an argument it checks every loop of the project. It always reports mistakes in .loops/config.yaml and
.loops/prices.yaml, because they keep every loop from starting. With a FOLDER it checks every loop below it and skips
other YAML files, such as libraries of fragments. A whole disk, or a folder with more than 200,000 files, is refused.

Warnings do not make a loop invalid, unless --strict is given. --all adds style rules.
"loops help rule NAME" explains the rule a message names.

--format json prints an array with an object a loop, sarif what code scanning services read (SARIF 2.1.0), and github
workflow commands, which show as notes in a pull request.` + exitHelpOf(
			exitMeaning{Code: exitOK, Text: "no loop has an error; there may be warnings"},
			exitMeaning{Code: exitFailed, Text: "the answer could not be written out"},
			exitMeaning{Code: exitUsage, Text: "bad command line"},
			exitMeaning{
				Code: exitInvalid,
				Text: "a loop has errors (with --strict: or warnings), its file cannot be read, or config.yaml or " +
					"prices.yaml has mistakes",
			},
			exitMeaning{Code: exitNotFound, Text: "no such loop, file or folder, or no loop in it"}),
		Example: `  loops validate
  loops validate fix drafts/new.yaml
  loops validate --strict --format github .loops
  loops validate fix --json`,
		Args: arguments(0, -1, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.names = args
			if o.json {
				if cmd.Flags().Changed("format") && o.format != "json" {
					return usageError{
						"--json and --format " + o.format + " exclude each other",
						"loops validate --help",
					}
				}
				o.format = "json"
			}
			if !slices.Contains(formats, o.format) {
				return usageError{
					fmt.Sprintf("--format %q: expected text, json, sarif or github", o.format),
					"loops validate --help",
				}
			}
			return runValidate(a, o)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.strict, "strict", false, "warnings count as errors")
	flags.BoolVar(&o.all, "all", false, "report also style rules (see loops help rules)")
	flags.StringVar(&o.format, "format", "text", "`FORMAT` is text, json, sarif or github")
	flags.BoolVarP(&o.json, "json", "j", false, "the same as --format json")
	return cmd
}

// code is the exit code of the worst that was found.
func findingsCode(r app.Findings) int {
	var code int
	for _, c := range slices.Concat(r.Project, r.Files) {
		if c.Failure != nil {
			worse, _ := explain(c.Failure)
			code = max(code, worse)
		} else if !c.Valid(r.Strict) {
			code = max(code, exitOfKind(engine.Invalid))
		}
	}
	return code
}

func runValidate(a *program, o validateOptions) error {
	// a whole catalog of loops fits, and a fifth of the time to check it would go into collecting
	a.collectFrom(64<<20, 100)
	p, err := a.project()
	if err != nil {
		return err
	}
	q := a.checks()
	q.Words, q.Strict, q.All = o.names, o.strict, o.all
	r, err := app.Check(p, q)
	if err != nil {
		return err
	}
	if err := r.Write(a.page(), p, app.FindingsOutput{
		Format: o.format, Root: a.sourceRoot(p), Version: buildVersion(),
		Render: func(problems []fsm.Problem) string { return a.render(p, problems) },
	}); err != nil {
		return err
	}
	if code := findingsCode(r); !succeeded(code) {
		return passOn(code)
	}
	if o.format == "text" && len(o.names) == 1 && len(r.Files) == 1 && r.Files[0].Loop != nil {
		return foretell(a, p, r.Files[0].Loop)
	}
	return nil
}

// foretell prints how the runs of the one loop that was asked about end, and what they use at most.
func foretell(a *program, p *project.Project, l *fsm.Loop) error {
	lib, err := p.Library()
	if err != nil {
		return err
	}
	for _, line := range simulate.Prove(l, lib.Subloops(project.Overrides{}, nil)).Summary() {
		if line != "" {
			terminal.SayLine(a.out, "  "+line)
		}
	}
	return nil
}

// checks is how this command line checks loops.
func (a *program) checks() app.CheckRequest {
	return app.CheckRequest{Options: a.engineOptions(), Explain: explained}
}

// sourceRoot returns the directory that paths in reports for services are relative to: a service's checkout,
// else the project's.
func (a *program) sourceRoot(p *project.Project) string {
	if dir, _ := a.getenv("GITHUB_WORKSPACE"); filepath.IsAbs(dir) {
		return filepath.Clean(dir)
	}
	return p.Dir
}

// explained is why a file was not checked, and whether it is not there.
func explained(err error) (text string, missing bool) {
	_, text = explain(err)
	return text, isOfKind(err, engine.NotFound)
}
