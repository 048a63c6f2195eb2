package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"testing"
)

// startsItself are the functions that may look for this program's own file, to start it again.
var startsItself = map[string]string{
	"loops/internal/worker.Spawn": "the process of a run: it gets the name of one command, and reads what it is to " +
		"do from a pipe",
	"loops/cmd/loops/cli.toolCall": "one call of a tool of an MCP server, of which the process must not be the one " +
		"that carries the run",
	"loops/internal/app.UnitJobOf": "the service manager of the system starts a server, or what fires schedules, " +
		"as a user does",
}

// A run in the background was a command line in a pipe: whatever was not a flag could not be asked for, and
// what another version meant by a flag was not known. A run is asked for by an engine.Request.
func TestNoCommandLineOfOurOwnIsBuilt(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, p := range packages(t) {
		for _, name := range p.GoFiles {
			files := token.NewFileSet()
			f, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range f.Decls {
				do, ok := d.(*ast.FuncDecl)
				if !ok || !callsExecutable(do) {
					continue
				}
				name := p.ImportPath + "." + do.Name.Name
				seen[name] = true
				if startsItself[name] == "" {
					t.Errorf("%s: %s looks for this program's file: have a run carried by worker.Handover.Spawn, or "+
						"say here why not", files.Position(do.Pos()), name)
				}
				if name == "loops/internal/worker.Spawn" {
					onlyOneWord(t, files, do)
				}
			}
		}
	}
	for name := range startsItself {
		if !seen[name] {
			t.Errorf("%s does not look for this program's file any more: take it out of startsItself", name)
		}
	}
}

func callsExecutable(do *ast.FuncDecl) (found bool) {
	ast.Inspect(do, func(n ast.Node) bool {
		found = found || isSelector(n, "os", "Executable")
		return true
	})
	return found
}

func isSelector(n ast.Node, pkg, name string) bool {
	s, ok := n.(*ast.SelectorExpr)
	if !ok || s.Sel.Name != name {
		return false
	}
	x, ok := s.X.(*ast.Ident)
	return ok && x.Name == pkg
}

// onlyOneWord wants a function to start this program with one constant word only.
func onlyOneWord(t *testing.T, files *token.FileSet, do *ast.FuncDecl) {
	t.Helper()
	starts := 0
	ast.Inspect(do, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || !isSelector(call.Fun, "exec", "Command") {
			return true
		}
		starts++
		word, ok := call.Args[len(call.Args)-1].(*ast.Ident)
		if len(call.Args) != 2 || !ok || word.Name != "BackgroundCommand" {
			t.Errorf("%s: this program is started with more than %s", files.Position(call.Pos()),
				strconv.Quote("background-run"))
		}
		return true
	})
	if starts != 1 {
		t.Errorf("%s starts %d processes, want 1", do.Name.Name, starts)
	}
}
