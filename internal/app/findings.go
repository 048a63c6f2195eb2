package app

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"loops/engine"
	"loops/engine/project"
	"loops/engine/trigger"
	"loops/fsm"
	"loops/internal/api"
	"loops/internal/humanize"
	"loops/internal/report"
	"loops/internal/terminal"
	"loops/internal/view"
)

// A CheckedFile is what validate found out about one loop.
type CheckedFile struct {
	name     string // as it was asked for
	file     string // "" where none was found
	Loop     *fsm.Loop
	Problems []fsm.Problem
	Failure  error // why there is nothing to check
	inLib    bool  // it was come across in a folder of libraries
}

// Valid reports whether a file was checked and has no errors; strict, whether it has no warnings either.
func (c CheckedFile) Valid(strict bool) bool {
	return c.Failure == nil && project.CountErrors(c.Problems) == 0 && (!strict || len(c.Problems) == 0)
}

// Findings are what validate found out about all of them.
type Findings struct {
	Files   []CheckedFile
	Project []CheckedFile // files of the project that no loop starts with
	// of all files, sorted, each once: what is in a library is found by every loop that imports it
	problems []fsm.Problem
	others   []string // files that were passed over, as they define no loop
	Strict   bool
	// why a file was not checked, for a user, and whether it is missing
	explain func(err error) (text string, missing bool)
}

// newFindings sums up what was found out about files, and about those around them; explain returns why one was
// not checked, and whether it is missing.
func newFindings(files, around []CheckedFile, others []string, strict bool,
	explain func(error) (string, bool),
) Findings {
	r := Findings{Files: files, Project: around, others: others, Strict: strict, explain: explain}
	seen := map[fsm.Problem]bool{}
	for _, c := range slices.Concat(around, files) {
		for _, pr := range c.Problems {
			if !seen[pr] {
				seen[pr] = true
				r.problems = append(r.problems, pr)
			}
		}
	}
	slices.SortStableFunc(r.problems, project.ByPlace)
	return r
}

// forServices is what was found as a report on the files below root; what could not be checked comes first.
func (r Findings) forServices(root, version string) report.Problems {
	out := report.Problems{Root: root, Rules: view.RuleList(), Help: view.RuleText, Version: version, Complete: true}
	for _, c := range r.Files {
		if c.Failure != nil {
			out.Complete = false
			out.List = append(out.List, r.failureProblem(c))
		}
	}
	out.List = append(out.List, r.problems...)
	return out
}

// writeText prints what was found for people. What is wrong goes to standard error.
func (r Findings) writeText(page *view.Page, p *project.Project, render func([]fsm.Problem) string) {
	for _, c := range r.Files {
		if c.Failure != nil {
			text, _ := r.explain(c.Failure)
			terminal.SayLines(page.Err, terminal.Block("loops: "+text))
		}
	}
	switch len(r.others) {
	case 0:
	case 1:
		terminal.Say(page.Err, "loops: passed over, as it defines no loop: %s\n", r.others[0])
	default:
		terminal.Say(page.Err, "loops: passed over, as they define no loop: %s\n", humanize.List(r.others))
	}
	fmt.Fprint(page.Err, render(r.problems))
	if _, is := terminal.Terminal(page.Err); is && len(r.problems) > 0 {
		terminal.Say(page.Err, "What a rule means: loops help rule %s\n", r.problems[0].Rule)
	}
	var w io.Writer = page.Out
	if !r.Valid() {
		w = page.Err
	}
	if line := r.summary(page, p); line != "" {
		terminal.SayLine(w, line)
	}
}

// summary is the last line for people; "" where all was said.
func (r Findings) summary(page *view.Page, p *project.Project) string {
	errors := project.CountErrors(r.problems)
	found := humanize.Count(errors, "error") + ", " + humanize.Count(len(r.problems)-errors, "warning")
	if r.Strict && len(r.problems) > errors {
		found += string(
			page.Text(engine.Text{Format: " (with %s, warnings count)", Args: []any{engine.Setting{Name: "strict"}}}))
	}
	if len(r.Files) != 1 {
		unchecked := 0
		for _, c := range r.Files {
			if c.Failure != nil {
				unchecked++
			}
		}
		if unchecked > 0 {
			found += fmt.Sprintf("; %d could not be checked", unchecked)
		}
		return humanize.Count(len(r.Files), "loop") + ": " + found
	}
	c := r.Files[0]
	switch {
	case c.Failure != nil:
		return ""
	case len(r.Project) > 0:
		return humanize.Count(len(r.Files), "loop") + ": " + found
	case !c.Valid(r.Strict):
		return p.Short(c.file) + ": " + found
	}
	line := fmt.Sprintf("%s is valid: %s, starts in %s, at most %s", p.Short(c.file),
		humanize.Count(len(c.Loop.States), "state"), c.Loop.Initial, humanize.Count(c.Loop.MaxSteps, "step"))
	if len(r.problems) > 0 {
		line += "; " + humanize.Count(len(r.problems), "warning")
	}
	return line
}

func (r Findings) checked(p *project.Project, c CheckedFile) api.Checked {
	problems := c.Problems
	if c.Failure != nil {
		problems = []fsm.Problem{r.failureProblem(c)}
	}
	o := api.Checked{Loop: c.name, File: c.file, Valid: c.Valid(r.Strict)}
	for _, pr := range problems {
		o.Violations = append(o.Violations, view.Problem(p, pr))
	}
	return o
}

// failureProblem says what kept a file from being checked, as a problem of it.
func (r Findings) failureProblem(c CheckedFile) fsm.Problem {
	text, missing := r.explain(c.Failure)
	rule := view.RuleUnreadable
	if missing {
		rule = view.RuleNotFound
	}
	return fsm.Problem{Pos: fsm.Pos{File: c.file}, Severity: fsm.SeverityError, Rule: rule, Message: text}
}

// An FindingsOutput says how findings are written.
type FindingsOutput struct {
	Format  string                              // text, json, sarif or github
	Root    string                              // of files in reports for services
	Version string                              // of loops
	Render  func(problems []fsm.Problem) string // writes problems with their source lines
}

// Valid reports whether no file has mistakes, and all were checked.
func (r Findings) Valid() bool {
	for _, c := range slices.Concat(r.Project, r.Files) {
		if !c.Valid(r.Strict) {
			return false
		}
	}
	return true
}

// Objects returns what was found about each file for a program.
func (r Findings) Objects(p *project.Project) (all []api.Checked) {
	for _, c := range slices.Concat(r.Files, r.Project) {
		all = append(all, r.checked(p, c))
	}
	return all
}

// Write writes what was found. What is wrong goes beside the answer, in text.
func (r Findings) Write(page *view.Page, p *project.Project, o FindingsOutput) error {
	switch o.Format {
	case "json":
		return terminal.WriteJSON(page.Out, r.Objects(p))
	case "sarif":
		return terminal.WriteJSON(page.Out, r.forServices(o.Root, o.Version).SARIF())
	case "github":
		return r.forServices(o.Root, o.Version).GitHub(page.Out)
	}
	r.writeText(page, p, o.Render)
	if slices.ContainsFunc(r.Files, func(c CheckedFile) bool { return c.Loop != nil && c.Loop.Schedule != nil }) {
		now := time.Now()
		all, _, err := trigger.ListSchedules(context.Background(), p, now)
		if notice := trigger.Notice(all, now, page.Command("schedule", "install")); err == nil && notice != "" {
			terminal.SayLine(page.Err, "warning: "+notice)
		}
	}
	return nil
}
