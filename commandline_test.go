package arch_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// wordless are the packages that say what a user can do next in no face's words: see engine.Remedy and engine.Setting.
var wordless = []string{"loops/engine", "loops/engine/notifier", "loops/internal/lookup"}

// ofCommandLine is what only a command line has: a flag, or a command of this program.
var ofCommandLine = regexp.MustCompile(`(^|[ (])--[a-z]|\bloops (run|resume|fork|stop|pause|unpause|retry-now|status|list|history|show|sweep|queue|rm|prune|validate)\b`)

func TestEngineKnowsNoCommandLine(t *testing.T) {
	seen := 0
	for _, p := range packages(t) {
		if !slices.Contains(wordless, p.ImportPath) {
			continue
		}
		seen++
		for _, name := range p.GoFiles {
			files := token.NewFileSet()
			f, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING && !strings.Contains(text.Value, ": git ") && ofCommandLine.MatchString(text.Value[1:]) {
					t.Errorf("%s: %s has words of a command line: make it a Remedy or a Setting of engine, which each face writes in its own words", files.Position(text.Pos()), p.ImportPath)
				}
				return true
			})
		}
	}
	if seen != len(wordless) {
		t.Errorf("%d of the packages are there, want %d: %v", seen, len(wordless), wordless)
	}
}
