package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// helpTables are the functions and types of package exitcode that write exit codes into the help of a command.
var helpTables = map[string]bool{"Help": true, "RunHelp": true, "HelpOf": true, "Meaning": true}

// TestOneFileKnowsExitCodes holds that exitcode.go of the command line is where errors become exit codes: all other files
// name them in help only.
func TestOneFileKnowsExitCodes(t *testing.T) {
	t.Parallel()
	const dir = "cmd/loops/cli"
	parse := func(name string) (*token.FileSet, *ast.File) {
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		return files, f
	}
	_, f := parse(filepath.Join(dir, "exitcode", "exitcode.go"))
	codes := exitConstants(f)
	if len(codes) < 10 {
		t.Fatalf("package exitcode has the codes %v: where are the others?", codes)
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

// exitConstants are the exported constants of a file, and the type of an error that carries one of them.
func exitConstants(f *ast.File) map[string]bool {
	codes := map[string]bool{"exitError": true}
	for _, d := range f.Decls {
		if d, ok := d.(*ast.GenDecl); ok && d.Tok == token.CONST {
			for _, s := range d.Specs {
				for _, n := range s.(*ast.ValueSpec).Names {
					if n.IsExported() {
						codes["exitcode."+n.Name] = true
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
			if name, ok := strings.CutPrefix(selected(n.Fun), "exitcode."); ok && helpTables[name] {
				return false
			}
		case *ast.CompositeLit:
			if name, ok := strings.CutPrefix(selected(n.Type), "exitcode."); ok && helpTables[name] {
				return false
			}
		case *ast.SelectorExpr:
			if codes[selected(n)] {
				at = append(at, n.Pos())
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

// selected returns an expression as "package.Name", "" if it is another.
func selected(e ast.Expr) string {
	if s, ok := e.(*ast.SelectorExpr); ok {
		if p, ok := s.X.(*ast.Ident); ok {
			return p.Name + "." + s.Sel.Name
		}
	}
	return ""
}

// TestExitDecisions makes sure that TestOneFileKnowsExitCodes can fail.
func TestExitDecisions(t *testing.T) {
	t.Parallel()
	const table = `package exitcode
const OK, Failed = 0, 1`
	const src = `package x
var help = exitcode.Help(exitcode.OK) + exitcode.HelpOf(exitcode.Meaning{exitcode.Failed, "it failed"})
func f(code int) error {
	if code == exitcode.Failed { // 1
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
