package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// helpTables are the functions and types of the command line that write exit codes into the help of a command.
var helpTables = map[string]bool{"exitHelp": true, "exitRunHelp": true, "exitHelpOf": true, "exitMeaning": true}

// TestOneFileKnowsExitCodes holds that exitcode.go and exitcode_table.go of the command line are where errors
// become exit codes: all other files name them in help only.
func TestOneFileKnowsExitCodes(t *testing.T) {
	t.Parallel()
	const dir = "cmd/loops/cli"
	parse := func(name string) (*token.FileSet, *ast.File) {
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, name, read(t, name), 0)
		if err != nil {
			t.Fatal(err)
		}
		return files, f
	}
	_, f := parse(path.Join(dir, "exitcode_table.go"))
	codes := exitConstants(f)
	if len(codes) < 10 {
		t.Fatalf("exitcode_table.go has the codes %v: where are the others?", codes)
	}
	names, err := fs.Glob(root, path.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(filepath.Base(name), "exitcode") {
			continue
		}
		files, f := parse(name)
		for _, at := range exitDecisions(f, codes) {
			t.Errorf("%s decides on an exit code: return an error of a kind, which exitcode.go maps",
				files.Position(at))
		}
	}
}

// exitConstants are the constants of a file that are exit codes, and the type of an error that carries one of them.
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
			if f, ok := n.Fun.(*ast.Ident); ok && helpTables[f.Name] {
				return false
			}
		case *ast.CompositeLit:
			if t, ok := n.Type.(*ast.Ident); ok && helpTables[t.Name] {
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
	t.Parallel()
	const table = `package cli
const exitOK, exitFailed, other = 0, 1, 2`
	const src = `package x
var help = exitHelp(exitOK) + exitHelpOf(exitMeaning{exitFailed, "it failed"})
func f(code int) error {
	if code == exitFailed { // 1
		return exitError{code} // 2
	}
	return nil
}`
	parse := func(src string) *ast.File {
		f, err := parser.ParseFile(token.NewFileSet(), "x.go", src, 0)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	codes := exitConstants(parse(table))
	if len(codes) != 3 {
		t.Errorf("codes %v", codes)
	}
	f := parse(src)
	for i, d := range f.Decls {
		if got, want := len(exitDecisions(&ast.File{Name: f.Name, Decls: []ast.Decl{d}}, codes)), 2*i; got != want {
			t.Errorf("declaration %d has %d places, want %d", i, got, want)
		}
	}
}
