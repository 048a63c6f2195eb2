package simulate

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"loops/engine"
	"loops/engine/action"
	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/loopfile"
	"loops/internal/api"
	"loops/internal/humanize"
	"loops/internal/report"
	"loops/internal/terminal"
)

// Suites says which files of tests are run, and what is written about them.
type Suites struct {
	Words  []string // loops, files of tests and folders; none = all of the project
	Record string   // instead: a run that becomes a case; "" = none
	JUnit  string   // file for a report; "" = none
	JSON   bool
}

// SuiteOf returns the file of tests beside a loop file.
func SuiteOf(loopFile string) string {
	bare := strings.TrimSuffix(strings.TrimSuffix(loopFile, ".yaml"), ".fsm")
	return bare + loopfile.SuiteSuffix
}

// HasSuite reports whether a word names a file of tests, a folder, or a loop with a file of tests beside it.
func (d *Desk) HasSuite(word string) bool {
	files, err := d.suitesOf(word)
	return err == nil && len(files) > 0
}

// suitesOf returns the files of tests that a word means; none where it means a loop without one.
func (d *Desk) suitesOf(word string) ([]string, error) {
	path := word
	if !filepath.IsAbs(path) {
		path = filepath.Join(d.Project.Cwd, path)
	}
	info, err := os.Stat(path)
	if err == nil && info.Mode().IsRegular() && loopfile.IsSuite(path) {
		return []string{path}, nil
	}
	lib, failed := d.Project.Library()
	if failed != nil {
		return nil, failed
	}
	found, missing := lib.Find(word)
	if missing != nil && err == nil && info.IsDir() {
		return loopfile.Suites(path)
	}
	if missing != nil {
		return nil, missing
	}
	if _, err := os.Stat(SuiteOf(found)); err != nil {
		return nil, nil //nolint:nilerr // there is none
	}
	return []string{SuiteOf(found)}, nil
}

// files returns the files of tests that are run.
func (d *Desk) suiteFiles(words []string) (files []string, err error) {
	p := d.Project
	if len(words) == 0 {
		files, err = loopfile.Suites(p.Loops)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, p.CannotOpen(err)
		}
		if len(files) == 0 {
			return nil, engine.Refuse(engine.NotFound,
				"there is no file of tests in %s; one is called NAME%s, beside the loop NAME", p.Short(p.Loops),
				loopfile.SuiteSuffix)
		}
		return files, nil
	}
	for _, word := range words {
		found, err := d.suitesOf(word)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, engine.Refuse(engine.NotFound,
				"%s has no file of tests; one is called NAME%s, beside the loop NAME", humanize.Quote(word),
				loopfile.SuiteSuffix)
		}
		files = append(files, found...)
	}
	return files, nil
}

// A suiteRun runs files of tests.
type suiteRun struct {
	d       *Desk
	o       *Suites
	records *project.Records // nil = they are not opened yet
	told    api.TestedSuites
	failed  error // of the first file that is no good
}

// RunSuites runs files of tests, and shows the result of their cases. It returns how many failed. Nothing is
// started, and nothing recorded. The error is that of a file that is no good, after all others were run.
func (d *Desk) RunSuites(ctx context.Context, o *Suites) (failed int, err error) {
	if o.Record != "" {
		return 0, d.recordCase(ctx, o.Record, o.JSON)
	}
	files, err := d.suiteFiles(o.Words)
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	r := &suiteRun{d: d, o: o, told: api.TestedSuites{Files: []api.TestedSuite{}}}
	defer func() {
		if r.records != nil {
			_ = r.records.Close()
		}
	}()
	err = d.Guard(ctx, func(ctx context.Context) error {
		for _, file := range files {
			if err := r.file(ctx, file); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	if err := r.finish(time.Since(begin)); err != nil {
		return 0, err
	}
	return r.told.Failed, r.failed
}

// bad shows what keeps the cases of a file from being run.
func (r *suiteRun) bad(err error) {
	if invalid, ok := errors.AsType[*project.InvalidError](r.d.Shown(err)); ok { // its mistakes are shown
		err = engine.Refuse(engine.Invalid, "%s", invalid)
	}
	if r.failed == nil {
		r.failed = err
	}
}

// file runs the cases of one file.
func (r *suiteRun) file(ctx context.Context, file string) error {
	p := r.d.Project
	s, problems, err := loopfile.LoadSuite(file)
	if err != nil {
		r.bad(project.Unreadable(p, file, err))
		return nil
	}
	if s == nil {
		r.bad(&project.InvalidError{Project: p, Path: p.Short(file), Problems: problems})
		return nil
	}
	l, lib, err := r.d.suiteLoop(s)
	if err != nil {
		r.bad(err)
		return nil
	}
	known := namesOf(l, lib)
	for _, c := range s.Cases {
		problems = append(problems, checkCase(c, known)...)
	}
	if project.CountErrors(problems) > 0 {
		slices.SortStableFunc(problems, project.ByPlace)
		r.bad(&project.InvalidError{Project: p, Path: p.Short(file), Problems: problems})
		return nil
	}
	told := api.TestedSuite{File: file, Loop: l.Name, LoopFile: l.File, Cases: []api.TestedCase{}}
	for _, c := range s.Cases {
		run, err := r.recordOf(ctx, c.From)
		if err != nil {
			r.bad(err)
			return nil
		}
		res, err := rehearseCase(ctx, p, c, l, lib, run)
		if err != nil {
			return err
		}
		r.show(file, res)
		r.told.Cases++
		if len(res.Differences) > 0 {
			r.told.Failed++
		}
		told.Cases = append(told.Cases, api.TestedCase{
			Name: c.Name, Line: c.Pos.Line, Passed: len(res.Differences) == 0, Steps: res.Steps,
			Duration: res.Took.Milliseconds(), Path: nonNil(res.Path), Differences: nonNil(res.Differences),
		})
	}
	r.told.Files = append(r.told.Files, told)
	return nil
}

func nonNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// suiteLoop returns the loop that a file of tests is about.
func (d *Desk) suiteLoop(s *loopfile.Suite) (*fsm.Loop, fsm.Library, error) {
	p := d.Project
	lib, err := p.Library()
	if err != nil {
		return nil, nil, err
	}
	invalid := func(text string) error {
		at := s.Loop.Pos
		return &project.InvalidError{
			Project: p, Path: p.Short(s.File),
			Problems: []fsm.Problem{{
				Pos: at, Severity: fsm.SeverityError, Rule: "unknown-loop", Path: "loop",
				Message: text,
			}},
		}
	}
	file := ""
	bare := strings.TrimSuffix(s.File, loopfile.SuiteSuffix)
	switch name := s.Loop.Text; {
	case name == "":
		for _, path := range []string{bare + ".fsm.yaml", bare + ".yaml"} {
			if _, err := os.Stat(path); err == nil && file == "" {
				file = path
			}
		}
		if file == "" {
			return nil, nil, invalid("there is no loop " + p.Short(bare+".yaml") +
				"; the key loop can name another one")
		}
	case strings.ContainsRune(name, '/') || strings.HasSuffix(name, ".yaml"):
		file = name
		if !filepath.IsAbs(file) {
			file = filepath.Join(filepath.Dir(s.File), filepath.FromSlash(name))
		}
		if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() || loopfile.IsSuite(file) {
			return nil, nil, invalid("there is no loop file " + humanize.Quote(name))
		}
	default:
		if file, err = lib.Find(name); err != nil {
			return nil, nil, invalid(err.Error())
		}
	}
	f, err := lib.Read(file)
	if err != nil {
		return nil, nil, err
	}
	return f.Loop, &readOnce{
		lib:   lib.Subloops(project.Overrides{}, nil),
		loops: map[[2]string]func() (*fsm.Loop, error){},
	}, nil
}

// recordOf reads the run that a case takes answers from; nil = it takes none.
func (r *suiteRun) recordOf(ctx context.Context, from loopfile.Word) (*recordedAnswers, error) {
	if from.Text == "" {
		return nil, nil
	}
	p := r.d.Project
	if r.records == nil {
		records, err := p.Records(ctx, false)
		if err != nil {
			return nil, err
		}
		r.records = records
	}
	run, err := r.records.Finder().One(ctx, from.Text)
	if err != nil {
		return nil, &project.InvalidError{
			Project: p, Path: p.Short(from.Pos.File),
			Problems: []fsm.Problem{{
				Pos: from.Pos, Severity: fsm.SeverityError, Rule: "unknown-run", Path: from.Path,
				Message: err.Error(),
			}},
		}
	}
	return readRecord(ctx, r.records, run)
}

// show prints the result of a case.
func (r *suiteRun) show(file string, res caseResult) {
	if r.o.JSON {
		return
	}
	w, paint := r.d.Out, r.d.Paint
	name := r.d.Project.Short(file)
	took := humanize.Count(res.Steps, "step")
	if len(res.Differences) == 0 {
		terminal.SayLine(w, paint.Green("ok  ")+"  "+name+": "+res.Case.Name+" ("+took+")")
		return
	}
	terminal.SayLine(w, paint.Red("FAIL")+"  "+name+": "+res.Case.Name+" ("+took+")")
	for _, line := range res.Differences {
		terminal.SayLine(w, "      "+line)
	}
}

// finish prints the sum, and writes the report.
func (r *suiteRun) finish(took time.Duration) error {
	if r.o.JUnit != "" {
		if err := r.junit(took); err != nil {
			return err
		}
	}
	if r.o.JSON {
		return terminal.WriteJSON(r.d.Out, r.told)
	}
	if r.told.Cases == 0 && r.failed != nil {
		return nil
	}
	text := humanize.Count(r.told.Cases, "case") + ": "
	if r.told.Failed == 0 {
		text += "all passed"
	} else {
		text += humanize.Count(r.told.Failed, "case") + " failed"
	}
	terminal.SayLine(r.d.Out, text)
	return nil
}

// junit writes the report.
func (r *suiteRun) junit(took time.Duration) error {
	var cases []report.Case
	for _, f := range r.told.Files {
		for _, c := range f.Cases {
			cases = append(cases, report.Case{
				Class: r.d.Project.Short(f.File), Name: c.Name, Took: time.Duration(c.Duration) * time.Millisecond,
				Failure: strings.Join(c.Differences, "\n"), Said: "path: " + strings.Join(c.Path, ", "),
			})
		}
	}
	var text strings.Builder
	if err := report.Cases(&text, "loops test", cases, took); err != nil {
		return err
	}
	path := r.o.JUnit
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.d.Project.Cwd, path)
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil { //nolint:gosec // a report is for others to read
		return engine.Refuse(engine.Failed, "the report cannot be written: %v", err)
	}
	return nil
}

// caseFiles are the files of a case. What evaluators write outside of its folder is dropped.
type caseFiles struct {
	action.Files
	dir string
}

func (f caseFiles) inside(name string) bool {
	return filepath.IsLocal(name) || filepath.IsAbs(name) &&
		strings.HasPrefix(filepath.Clean(name), f.dir+string(filepath.Separator))
}

// WriteFile implements [fsm.Files].
func (f caseFiles) WriteFile(name string, data []byte) error {
	if !f.inside(name) {
		return nil
	}
	return f.Files.WriteFile(name, data)
}

// Write implements [fsm.Files].
func (f caseFiles) Write(name string, content func(io.Writer) error) error {
	if !f.inside(name) {
		return content(io.Discard)
	}
	return f.Files.Write(name, content)
}
