package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// asRecorded are the functions that ask the store for runs and do not show them as they are now, and why.
var asRecorded = map[string]string{
	"Records.Anywhere":  "gives what holds a scope, and whether an end is on record",
	"Records.Elsewhere": "asks only whose run it is",
	"Database.Runs":     "is the store",
	"Records.Runs":      "is the store",
	"Finder.Near":       "takes only names",
	"planReconcile":     "finds out what is recorded and not true",
	"planUnowned":       "finds out what is recorded and not true",
	"asItWas":           "compares with what was recorded",
	"CopyRuns":          "copies what is recorded, and compares it",
	"RecordedRun":       "exports what is recorded",
	"Server.linkedIn":   "takes the loop and the start of a run, which do not change",
	"Finder.Each":       "hands on what is recorded to those who pass it through EachCurrent",
	"Database.Each":     "hands on what is recorded",
	"Records.Each":      "hands on what is recorded",
	"Records.complete":  "reads a run again that was listed",
	"Finder.Chosen":     "hands on what is recorded to those who pass it through Current",
	"Server.spending":   "adds up what is recorded",
	"Notifier.dead":     "tells of a run that was just interrupted",
	"FinishTrees":       "asks whether its process lives",
	"importRun":         "asks whether it is there",
	"forgetDead":        "asks whether it is there",
	"inProject.Started": "asks whether it is there",
	"inProject.Newest":  "takes only its start, which does not change",
}

// A status that is recorded is that of a dead run, too: what is shown is the one that [project.Current] gives.
// So a function that asks the store for runs passes them through it, or says above why not.
func TestRunsAreShownAsTheyAre(t *testing.T) {
	var files []string
	for _, dir := range []string{
		".", "../../../engine", "../../../engine/*", "../../../internal/*",
		"../../../persistence/archive",
	} {
		found, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	calls, unused := 0, maps.Clone(asRecorded)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			asks, seen := false, false
			ast.Inspect(f, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				switch fun := call.Fun.(type) {
				case *ast.SelectorExpr:
					asks = asks || fun.Sel.Name == "Runs" && len(call.Args) == 2
					if fun.Sel.Name == "Each" && len(call.Args) == 2 {
						first, _ := call.Args[0].(*ast.Ident)
						asks = asks || first != nil && first.Name == "ctx"
					}
					seen = seen || fun.Sel.Name == "Current" || fun.Sel.Name == "EachCurrent"
				case *ast.Ident:
					seen = seen || fun.Name == "Current"
				}
				return true
			})
			if !asks {
				continue
			}
			calls++
			_, known := asRecorded[nameOf(f)]
			delete(unused, nameOf(f))
			if !seen && !known {
				t.Errorf("%s: %s asks for runs, and does not pass them through Current", name, nameOf(f))
			}
		}
	}
	if calls < 20 || len(unused) > 0 {
		t.Errorf("%d functions ask for runs; not among them: %v", calls, slices.Sorted(maps.Keys(unused)))
	}
}

func nameOf(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	typ := f.Recv.List[0].Type
	if p, ok := typ.(*ast.StarExpr); ok {
		typ = p.X
	}
	return typ.(*ast.Ident).Name + "." + f.Name.Name
}
