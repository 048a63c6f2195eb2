package fsm_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
)

// What a run decides follows from what the driver tells it, and from nothing else: only driver.go has
// goroutines, channels, locks, timers and a clock.
func TestOnlyTheDriverHasAClock(t *testing.T) {
	t.Parallel()
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	clock := map[string]bool{
		"Now": true, "Since": true, "Until": true, "Sleep": true, "After": true,
		"AfterFunc": true, "NewTimer": true, "NewTicker": true, "Tick": true,
	}
	found, set := map[string]bool{}, token.NewFileSet()
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(set, f.Name(), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			what := ""
			switch n := n.(type) {
			case *ast.GoStmt:
				what = "a go statement"
			case *ast.SelectStmt:
				what = "a select statement"
			case *ast.SendStmt:
				what = "a send"
			case *ast.UnaryExpr:
				if n.Op == token.ARROW {
					what = "a receive"
				}
			case *ast.ImportSpec:
				if n.Path.Value == `"sync"` || n.Path.Value == `"sync/atomic"` {
					what = "an import of " + n.Path.Value
				}
			case *ast.SelectorExpr:
				of, _ := n.X.(*ast.Ident)
				if of != nil && (of.Name == "time" && clock[n.Sel.Name] || of.Name == "context" &&
					strings.HasPrefix(n.Sel.Name, "With")) {
					what = of.Name + "." + n.Sel.Name
				}
			}
			if what == "" {
				return true
			}
			if found[what] = true; f.Name() != "driver.go" {
				t.Errorf("%s: %s: that is for driver.go", set.Position(n.Pos()), what)
			}
			return true
		})
	}
	for _, what := range []string{
		"a go statement", "a select statement", "a send", "a receive", "time.Now",
		"time.NewTimer", "context.WithTimeout",
	} {
		if !found[what] {
			t.Errorf("%s is found nowhere: the test looks for it wrongly", what)
		}
	}
}
