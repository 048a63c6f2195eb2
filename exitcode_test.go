package arch_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// helpTables are the functions of the command line that write exit codes into the help of a command.
var helpTables = map[string]bool{"exitCodes": true, "runExitCodes": true, "exitMeanings": true, "exitMeaning": true}

// TestOneFileKnowsExitCodes holds that exitcode.go of the command line is where errors and outcomes become exit codes: all
// other files name them in help only.
func TestOneFileKnowsExitCodes(t *testing.T) {
	const dir = "cmd/loops/cli"
	parse := func(name string) (*token.FileSet, *ast.File) {
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		return files, f
	}
	_, f := parse(filepath.Join(dir, "exitcode.go"))
	codes := exitConstants(f)
	if len(codes) < 10 {
		t.Fatalf("exitcode.go has the codes %v: where are the others?", codes)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || filepath.Base(name) == "exitcode.go" {
			continue
		}
		files, f := parse(name)
		for _, at := range exitDecisions(f, codes) {
			t.Errorf("%s decides on an exit code: return an error of a kind, which exitcode.go maps", files.Position(at))
		}
	}
}

// exitConstants are the constants of a file that begin with exit, and the type of an error that carries one of them.
func exitConstants(f *ast.File) map[string]bool {
	codes := map[string]bool{"exitError": true}
	for _, d := range f.Decls {
		if d, ok := d.(*ast.GenDecl); ok && d.Tok == token.CONST {
			for _, s := range d.Specs {
				for _, n := range s.(*ast.ValueSpec).Names {
					if strings.HasPrefix(n.Name, "exit") {
						codes[n.Name] = true
					}
				}
			}
		}
	}
	return codes
}

// exitDecisions returns where a file refers to codes outside of help.
func exitDecisions(f *ast.File, codes map[string]bool) (at []token.Pos) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if id, ok := n.Fun.(*ast.Ident); ok && helpTables[id.Name] {
				return false
			}
		case *ast.CompositeLit:
			if id, ok := n.Type.(*ast.Ident); ok && helpTables[id.Name] {
				return false
			}
		case *ast.Ident:
			if codes[n.Name] {
				at = append(at, n.Pos())
			}
		}
		return true
	})
	return at
}

// TestExitDecisions makes sure that TestOneFileKnowsExitCodes can fail.
func TestExitDecisions(t *testing.T) {
	const src = `package x
const exitOK, exitFailed = 0, 1
var help = exitCodes(exitOK) + exitMeanings(exitMeaning{exitFailed, "it failed"})
func f(code int) error {
	if code == exitFailed { // 1
		return exitError{code} // 2
	}
	return nil
}`
	f, err := parser.ParseFile(token.NewFileSet(), "x.go", src, 0)
	if err != nil {
		t.Fatal(err)
	}
	codes := exitConstants(f)
	if len(codes) != 3 {
		t.Errorf("codes %v", codes)
	}
	for i, d := range f.Decls { // but the constants themselves
		if i > 0 {
			if got, want := len(exitDecisions(&ast.File{Name: f.Name, Decls: []ast.Decl{d}}, codes)), 2*(i-1); got != want {
				t.Errorf("declaration %d has %d places, want %d", i, got, want)
			}
		}
	}
}
