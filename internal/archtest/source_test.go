package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// kindsFile is the one file that spells the kinds of event: a name with a typing error is then found by the compiler.
const kindsFile = "fsm/events.go"

// homonyms are kinds whose word means something else, too: a key of a loop file, an end of a run, a command of
// git. They are looked for only where an expression stands for the kind of something.
var homonyms = []string{
	"action_output", "budget_exceeded", "checkpoint", "cycle_detected", "evaluate", "host_budget_exceeded",
	"host_pressure",
	"host_pressure_abort", "infra_retry", "note", "route", "stall_detected", "warning", "worktree",
}

// TestEventKinds wants the constants of kindsFile in every file that is not a test.
func TestEventKinds(t *testing.T) {
	t.Parallel()
	kinds := eventKinds(t)
	for _, h := range homonyms {
		if kinds[h] == "" {
			t.Errorf("homonyms names %q, which is no kind of event", h)
		}
	}
	eachGoFile(t, func(name string, fset *token.FileSet, f *ast.File) {
		if strings.HasSuffix(name, "_test.go") || name == kindsFile {
			return
		}
		for _, problem := range spelledKinds(fset, f, kinds) {
			t.Error(problem)
		}
	})
}

// A goFile is a parsed file of the module.
type goFile struct {
	name string // with slashes
	src  string
	fset *token.FileSet
	file *ast.File
}

// goFiles returns the Go files of the module, tests too, which are parsed once for all tests. No test may change one.
var goFiles = sync.OnceValues(func() (files []goFile, err error) {
	err = fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." &&
			(strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "bin"):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(name) != ".go":
			return nil
		}
		fset := token.NewFileSet()
		src, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution|parser.ParseComments)
		if err == nil {
			files = append(files, goFile{name, string(src), fset, f})
		}
		return err
	})
	return files, err
})

func sources(t *testing.T) []goFile {
	t.Helper()
	files, err := goFiles()
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// eachGoFile hands over the Go files of the module, tests too, with slashes in their names.
func eachGoFile(t *testing.T, look func(name string, fset *token.FileSet, f *ast.File)) {
	t.Helper()
	for _, f := range sources(t) {
		look(f.name, f.fset, f.file)
	}
}

// eventKinds returns the name of the constant for each kind.
func eventKinds(t *testing.T) map[string]string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), kindsFile, read(t, kindsFile), parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]string{}
	ast.Inspect(f, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && len(v.Values) == 1 {
			text, _ := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			kinds[text] = v.Names[0].Name
		}
		return true
	})
	if len(kinds) == 0 {
		t.Fatalf("%s holds no kinds", kindsFile)
	}
	return kinds
}

// spelledKinds reports the literals in a file that are kinds of event.
func spelledKinds(fset *token.FileSet, f *ast.File, kinds map[string]string) (problems []string) {
	places := kindPlaces(f)
	ast.Inspect(f, func(n ast.Node) bool {
		l, ok := n.(*ast.BasicLit)
		if !ok || l.Kind != token.STRING {
			return true
		}
		text, _ := strconv.Unquote(l.Value)
		if name := kinds[text]; name != "" && (places[l] || !slices.Contains(homonyms, text)) {
			problems = append(problems, fmt.Sprintf("%s: %s is a kind of event: write fsm.%s", fset.Position(l.Pos()),
				l.Value, name))
		}
		return true
	})
	return problems
}

// kindPlaces finds the literals that stand where the kind of something does: beside x.Kind or kind in a comparison or a
// switch, as field Kind of a struct, as first argument of emit and event, and between constants of kinds.
func kindPlaces(f *ast.File) map[*ast.BasicLit]bool {
	places := map[*ast.BasicLit]bool{}
	mark := func(list ...ast.Expr) {
		for _, e := range list {
			if l, ok := e.(*ast.BasicLit); ok {
				places[l] = true
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SwitchStmt:
			if n.Tag != nil && lastName(n.Tag) == "kind" {
				for _, s := range n.Body.List {
					mark(s.(*ast.CaseClause).List...)
				}
			}
		case *ast.BinaryExpr:
			if lastName(n.X) == "kind" {
				mark(n.Y)
			}
		case *ast.KeyValueExpr:
			if lastName(n.Key) == "kind" {
				mark(n.Value)
			}
		case *ast.CallExpr:
			if name := lastName(n.Fun); (name == "emit" || name == "event") && len(n.Args) > 0 {
				mark(n.Args[0])
			}
		case *ast.CompositeLit:
			list := slices.Clone(n.Elts)
			for i, e := range list {
				if kv, ok := e.(*ast.KeyValueExpr); ok {
					list[i] = kv.Key
				}
			}
			if slices.ContainsFunc(list, func(e ast.Expr) bool {
				return strings.HasPrefix(lastName(e), "event") && lastName(e) != "event"
			}) {
				mark(list...)
			}
		}
		return true
	})
	return places
}

// lastName is the name of an identifier or of what is selected, in small letters, "" of other expressions.
func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return strings.ToLower(e.Name)
	case *ast.SelectorExpr:
		return strings.ToLower(e.Sel.Name)
	}
	return ""
}

// TestSpelledKinds makes sure that TestEventKinds can fail.
func TestSpelledKinds(t *testing.T) {
	t.Parallel()
	const src = `package x
func f(e fsm.Event, kind string) {
	switch e.Kind {
	case fsm.EventRoute, "note":
	}
	_ = kind == "route" || e.Kind != "loop_start"
	_ = fsm.Event{Kind: "worktree"}
	_ = map[string]bool{fsm.EventRoute: true, "evaluate": true}
	emit("warning", "route")
	has("state_enter", "evaluate")
	key := "route"
}`
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "x.go", src, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`x.go:4:23: "note" is a kind of event: write fsm.EventNote`,
		`x.go:6:14: "route" is a kind of event: write fsm.EventRoute`,
		`x.go:6:35: "loop_start" is a kind of event: write fsm.EventLoopStart`,
		`x.go:7:22: "worktree" is a kind of event: write fsm.EventWorktree`,
		`x.go:8:44: "evaluate" is a kind of event: write fsm.EventEvaluate`,
		`x.go:9:7: "warning" is a kind of event: write fsm.EventWarning`,
		`x.go:10:6: "state_enter" is a kind of event: write fsm.EventStateEnter`,
	}
	if got := spelledKinds(fset, f, eventKinds(t)); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestOneUpdateFlag: -update rewrites every file that holds what tests expect, by way of one package, so that
// "make golden" misses none.
func TestOneUpdateFlag(t *testing.T) {
	t.Parallel()
	const home = "internal/testenv/golden.go"
	found := 0
	eachGoFile(t, func(name string, fset *token.FileSet, f *ast.File) {
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if s, ok := call.Fun.(*ast.SelectorExpr); !ok || lastName(s.X) != "flag" {
				return true
			}
			for _, a := range call.Args {
				l, ok := a.(*ast.BasicLit)
				switch {
				case !ok || l.Value != `"update"`:
				case name == home:
					found++
				default:
					t.Errorf("%s: a flag -update of its own: compare with internal/testenv instead",
						fset.Position(l.Pos()))
				}
			}
			return true
		})
	})
	if found != 1 {
		t.Errorf("%s declares the flag %d times, and not once", home, found)
	}
}

// TestSkips wants every test that is skipped to say what it needs by package testenv, which does not skip where
// CI is set.
func TestSkips(t *testing.T) {
	t.Parallel()
	eachGoFile(t, func(name string, fset *token.FileSet, f *ast.File) {
		if strings.HasPrefix(name, "internal/testenv/") {
			return
		}
		for _, at := range skips(f) {
			t.Errorf("%s skips a test: let internal/testenv do that", fset.Position(at))
		}
	})
	f, err := parser.ParseFile(token.NewFileSet(), "a_test.go",
		"package a\nfunc f() { t.Skip(1); b.Skipf(2); x.y.SkipNow(); s.Skip = true; testenv.Skip(t, 3) }",
		parser.SkipObjectResolution)
	if err != nil || len(skips(f)) != 3 {
		t.Errorf("%d skips are found, %v", len(skips(f)), err)
	}
}

// TestSleeps: at most ten lines of the tests sleep for a time. The others wait for what happens, or have the
// clock of testing/synctest pass.
func TestSleeps(t *testing.T) {
	t.Parallel()
	const most = 10
	var found []string
	eachGoFile(t, func(name string, fset *token.FileSet, f *ast.File) {
		if !strings.HasSuffix(name, "_test.go") {
			return
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "Sleep" && lastName(s.X) == "time" {
				found = append(found, fset.Position(s.Pos()).String())
			}
			return true
		})
	})
	if len(found) == 0 || len(found) > most {
		t.Errorf("%d lines of tests sleep, of at most %d: wait for an event, a file, a line or an exit with "+
			"testenv.Wait\n%s", len(found), most, strings.Join(found, "\n"))
	}
}

// TestTortured: make torture runs every test that does more with -torture.
func TestTortured(t *testing.T) {
	t.Parallel()
	makefile, err := fs.ReadFile(root, "Makefile")
	if err != nil {
		t.Fatal(err)
	}
	var patterns []*regexp.Regexp
	for _, m := range regexp.MustCompile(`(?m)(?:-run ['"]?|^TORTURES := )([^'" \n]+)`).FindAllSubmatch(makefile, -1) {
		patterns = append(patterns,
			regexp.MustCompile(strings.Split(strings.ReplaceAll(string(m[1]), "$$", "$"), "/")[0]))
	}
	found := 0
	eachGoFile(t, func(name string, fset *token.FileSet, f *ast.File) {
		for _, d := range f.Decls {
			test, ok := d.(*ast.FuncDecl)
			if !ok || !strings.HasPrefix(test.Name.Name, "Test") || test.Name.Name == "TestMain" {
				continue
			}
			more := false
			ast.Inspect(test.Body, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.StarExpr:
					more = more || lastName(n.X) == "torture"
				case *ast.CallExpr:
					s, ok := n.Fun.(*ast.SelectorExpr)
					more = more || ok && s.Sel.Name == "Some" && lastName(s.X) == "testenv"
				}
				return true
			})
			if !more {
				continue
			}
			found++
			if !slices.ContainsFunc(patterns, func(p *regexp.Regexp) bool { return p.MatchString(test.Name.Name) }) {
				t.Errorf("%s: %s does more with -torture, and make torture does not run it",
					fset.Position(test.Pos()), test.Name.Name)
			}
		}
	})
	if found < 10 {
		t.Errorf("%d tests do more with -torture", found)
	}
}

// skips returns where a file calls the methods of tests that skip them.
func skips(f *ast.File) (found []token.Pos) {
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		method, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || !slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, method.Sel.Name) {
			return true
		}
		if from, ok := method.X.(*ast.Ident); !ok || from.Name != "testenv" {
			found = append(found, call.Pos())
		}
		return true
	})
	return found
}

// lineTakers are the functions that write each text among their arguments as one line. An error that is an
// argument itself is joined to one line; its text would show line ends as \n.
var lineTakers = []string{"Say", "say", "refuse", "Refuse", "misuse", "Misuse", "textf", "failure", "failureOf"}

// TestErrorsAreArguments wants an error, and not its text, where a message has it as one of its values.
func TestErrorsAreArguments(t *testing.T) {
	t.Parallel()
	eachGoFile(t, func(name string, fset *token.FileSet, f *ast.File) {
		if strings.HasSuffix(name, "_test.go") {
			return
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 || !slices.Contains(lineTakers, calledName(call)) {
				return true
			}
			if to, ok := call.Args[0].(*ast.Ident); ok && to.Name == "w" { // an answer over HTTP, which has lines
				return true
			}
			for _, arg := range call.Args {
				if inner, ok := arg.(*ast.CallExpr); ok && calledName(inner) == "Error" && len(inner.Args) == 0 {
					t.Errorf("%s: %s gets the text of an error; hand it the error", fset.Position(arg.Pos()),
						calledName(call))
				}
			}
			return true
		})
	})
}

// calledName returns the name of the function or method that a call calls, without its package; "" = it has none.
func calledName(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

// TestObjectsHaveTypes: what faces show is a type of internal/api, not an object that is written by hand.
func TestObjectsHaveTypes(t *testing.T) {
	t.Parallel()
	eachGoFile(t, func(name string, fset *token.FileSet, f *ast.File) {
		if strings.HasSuffix(name, "_test.go") || !strings.HasPrefix(name, "internal/") &&
			!strings.HasPrefix(name, "cmd/") {
			return
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "NewMap" {
				t.Errorf("%s: value.NewMap: use a type of internal/api", fset.Position(n.Pos()))
			}
			return true
		})
	})
}
