package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/spf13/cobra"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/lint"
	"loops/fsm/value"
	"loops/internal/phrase"
	"loops/internal/report"
	"loops/internal/ui"
	"loops/internal/ui/views"
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

func newValidateCommand(a *app) *cobra.Command {
	var o validateOptions
	cmd := &cobra.Command{
		Use:     "validate [NAME|PATH|FOLDER...]",
		Aliases: []string{"val"},
		Short:   "Check loop files for mistakes",
		Long: `validate reads loop files and prints every mistake with its place, what was expected and the line it stands in. Nothing is
run. Without an argument it checks every loop of the project. Mistakes in .loops/config.yaml and .loops/prices.yaml, which
keep every loop from starting, are always told. Of a FOLDER it checks every loop below it; other YAML files
there, such as libraries of fragments, are passed over.

Warnings do not make a loop invalid, unless --strict is given. --all adds advice that is a matter of habit.
"loops help rule NAME" explains the rule a message names.

--format json prints an array with an object a loop, sarif what code scanning services read (SARIF 2.1.0), and github
workflow commands, which show as notes in a pull request.` + exitMeanings(
			exitMeaning{exitOK, "no loop has an error; there may be warnings"},
			exitMeaning{exitFailed, "the answer could not be written out"},
			exitMeaning{exitUsage, "bad command line"},
			exitMeaning{exitInvalid, "a loop has errors (with --strict: or warnings), its file cannot be read, or config.yaml or prices.yaml has mistakes"},
			exitMeaning{exitNotFound, "no such loop, file or folder, or no loop in it"}),
		Example: `  loops validate
  loops validate fix drafts/new.yaml
  loops validate --strict --format github .loops
  loops validate fix --json`,
		Args: arguments(0, -1, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.names = args
			if o.json {
				if cmd.Flags().Changed("format") && o.format != "json" {
					return usageError{"--json and --format " + o.format + " exclude each other", "loops validate --help"}
				}
				o.format = "json"
			}
			if !slices.Contains(formats, o.format) {
				return usageError{fmt.Sprintf("--format %q: expected text, json, sarif or github", o.format), "loops validate --help"}
			}
			return runValidate(a, o)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.strict, "strict", false, "warnings count as errors")
	flags.BoolVar(&o.all, "all", false, "report also what is a matter of habit (see loops help rules)")
	flags.StringVar(&o.format, "format", "text", "`FORMAT` is text, json, sarif or github")
	flags.BoolVarP(&o.json, "json", "j", false, "the same as --format json")
	return cmd
}

// A checked is what validate found out about one loop.
type checked struct {
	name     string // as it was asked for
	file     string // "" where none was found
	loop     *fsm.Loop
	problems []fsm.Problem
	failure  error // why there is nothing to check
	inLib    bool  // it was come across in a folder of libraries
}

func (c checked) valid(strict bool) bool {
	return c.failure == nil && project.CountErrors(c.problems) == 0 && (!strict || len(c.problems) == 0)
}

// Findings are what validate found out about all of them.
type findings struct {
	files    []checked
	project  []checked     // files of the project that no loop starts with
	problems []fsm.Problem // of all files, sorted, each once: what stands in a library is found by every loop that imports it
	others   []string      // files that were passed over, as they define no loop
	strict   bool
}

func newFindings(files, around []checked, others []string, strict bool) findings {
	r := findings{files: files, project: around, others: others, strict: strict}
	seen := map[fsm.Problem]bool{}
	for _, c := range slices.Concat(around, files) {
		for _, pr := range c.problems {
			if !seen[pr] {
				seen[pr] = true
				r.problems = append(r.problems, pr)
			}
		}
	}
	slices.SortStableFunc(r.problems, project.ByPlace)
	return r
}

// code is the exit code of the worst that was found.
func (r findings) code() int {
	var code int
	for _, c := range slices.Concat(r.project, r.files) {
		if c.failure != nil {
			worse, _ := explain(c.failure)
			code = max(code, worse)
		} else if !c.valid(r.strict) {
			code = max(code, kindCode(engine.Invalid))
		}
	}
	return code
}

// collectOnce is for the commands of a server: the second would take what the first set for what is usual.
var collectOnce sync.Once

// collectLater lets the heap grow to some 64 MB before it is collected for the first time; from then on all is as
// usual. A whole catalog of loops fits, and a fifth of the time to check it would go into collecting.
func collectLater() {
	if os.Getenv("GOGC") != "" {
		return // somebody knows better
	}
	usual := debug.SetGCPercent(1600)
	first := new([64]byte) // gone with the first collection
	runtime.AddCleanup(first, func(percent int) { debug.SetGCPercent(percent) }, usual)
}

func runValidate(a *app, o validateOptions) error {
	collectOnce.Do(collectLater)
	p, err := a.project()
	if err != nil {
		return err
	}
	lib, err := p.Library()
	if err != nil {
		return err
	}
	files, others, err := checkAllLoops(lib, o.names)
	if err != nil {
		return err
	}
	if o.all {
		for i := range files {
			if f := &files[i]; f.loop != nil {
				f.problems = append(slices.Clip(f.problems), lint.Optional(f.loop)...)
				slices.SortStableFunc(f.problems, project.ByPlace)
			}
		}
	}
	a.adviseCosts(p, files)
	r := newFindings(files, a.checkProject(p), others, o.strict)
	if err := a.writeReport(p, r, o.format); err != nil {
		return err
	}
	if code := r.code(); !succeeded(code) {
		return passOn(code)
	}
	return nil
}

func (a *app) writeReport(p *project.Project, r findings, format string) error {
	switch format {
	case "json":
		return a.reply(ui.List(slices.Concat(r.files, r.project), func(c checked) any { return checkedObject(p, c, r.strict) }))
	case "sarif":
		return ui.WriteJSON(a.out, r.forServices(a.sourceRoot(p)).SARIF())
	case "github":
		return r.forServices(a.sourceRoot(p)).GitHub(a.out)
	}
	a.writeText(p, r)
	return nil
}

// forServices is what was found as a report on the files below root; what could not be checked comes first.
func (r findings) forServices(root string) report.Problems {
	out := report.Problems{Root: root, Rules: views.RuleList(), Help: views.RuleText, Version: buildVersion(), Complete: true}
	for _, c := range r.files {
		if c.failure != nil {
			out.Complete = false
			out.List = append(out.List, failureProblem(c))
		}
	}
	out.List = append(out.List, r.problems...)
	return out
}

// sourceRoot is the directory that files in reports for services are relative to: that of the checkout where a service
// says which it is, else the project's.
func (a *app) sourceRoot(p *project.Project) string {
	if dir, _ := a.getenv("GITHUB_WORKSPACE"); filepath.IsAbs(dir) {
		return filepath.Clean(dir)
	}
	return p.Dir
}

// writeText prints what was found for people. What is wrong goes to standard error.
func (a *app) writeText(p *project.Project, r findings) {
	for _, c := range r.files {
		if c.failure != nil {
			_, text := explain(c.failure)
			ui.SayLines(a.Err, ui.Block("loops: "+text))
		}
	}
	switch len(r.others) {
	case 0:
	case 1:
		ui.Say(a.Err, "loops: passed over, as it defines no loop: %s\n", r.others[0])
	default:
		ui.Say(a.Err, "loops: passed over, as they define no loop: %s\n", phrase.List(r.others))
	}
	fmt.Fprint(a.Err, a.render(p, r.problems))
	if _, is := ui.Terminal(a.Err); is && len(r.problems) > 0 {
		ui.Say(a.Err, "What a rule means: loops help rule %s\n", r.problems[0].Rule)
	}
	var w io.Writer = a.out
	if !succeeded(r.code()) {
		w = a.Err
	}
	if line := r.summary(p); line != "" {
		ui.SayLine(w, line)
	}
}

// summary is the last line for people; "" where all was said.
func (r findings) summary(p *project.Project) string {
	errors := project.CountErrors(r.problems)
	found := phrase.Count(errors, "error") + ", " + phrase.Count(len(r.problems)-errors, "warning")
	if r.strict && len(r.problems) > errors {
		found += " (with --strict, warnings count)"
	}
	if len(r.files) != 1 {
		unchecked := 0
		for _, c := range r.files {
			if c.failure != nil {
				unchecked++
			}
		}
		if unchecked > 0 {
			found += fmt.Sprintf("; %d could not be checked", unchecked)
		}
		return phrase.Count(len(r.files), "loop") + ": " + found
	}
	c := r.files[0]
	switch {
	case c.failure != nil:
		return ""
	case len(r.project) > 0:
		return phrase.Count(len(r.files), "loop") + ": " + found
	case !c.valid(r.strict):
		return p.Short(c.file) + ": " + found
	}
	line := fmt.Sprintf("%s is valid: %s, starts in %s, at most %s", p.Short(c.file), phrase.Count(len(c.loop.States), "state"), c.loop.Initial, phrase.Count(c.loop.MaxSteps, "step"))
	if len(r.problems) > 0 {
		line += "; " + phrase.Count(len(r.problems), "warning")
	}
	return line
}

func checkedObject(p *project.Project, c checked, strict bool) *value.Map {
	m := value.NewMap("loop", c.name)
	if c.file != "" {
		m.Set("file", c.file)
	}
	m.Set("valid", c.valid(strict))
	problems := c.problems
	if c.failure != nil {
		problems = []fsm.Problem{failureProblem(c)}
	}
	m.Set("violations", ui.List(problems, func(pr fsm.Problem) any { return views.ProblemObject(p, pr) }))
	return m
}

// failureProblem says what kept a file from being checked, as a problem of it.
func failureProblem(c checked) fsm.Problem {
	_, text := explain(c.failure)
	rule := views.RuleUnreadable
	if isOfKind(c.failure, engine.NotFound) {
		rule = views.RuleNotFound
	}
	return fsm.Problem{Pos: fsm.Pos{File: c.file}, Severity: fsm.SeverityError, Rule: rule, Message: text}
}
