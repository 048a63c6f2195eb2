package archtest

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
var wordless = []string{"loops/engine", "loops/engine/notify", "loops/internal/app"}

// ofCommandLines are the files that are about command lines: they complete one, write one into the file of a
// service manager or into the comments of a new loop, say what to type (doctor), give rights to who types one,
// or have that of another program.
var ofCommandLines = map[string]bool{
	"completion.go": true, "desktop.go": true, "grants.go": true, "install.go": true,
	"patterns.go": true,
}

// ofCommandLine is what only a command line has: a flag, or a command of this program.
var ofCommandLine = regexp.MustCompile(`(^|[ (])--[a-z]|\bloops (run|resume|fork|stop|pause|unpause|retry-now|status|list|history|show|sweep|queue|rm|prune|validate|new|cost|events|explain|extend|signal|logs)\b`)

func TestEngineKnowsNoCommandLine(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, p := range packages(t) {
		if !slices.Contains(wordless, p.ImportPath) {
			continue
		}
		seen++
		for _, name := range p.GoFiles {
			if ofCommandLines[name] || strings.HasPrefix(name, "doctor") {
				continue
			}
			files := token.NewFileSet()
			f, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if text, ok := n.(*ast.BasicLit); ok && hasCommand(text) {
					t.Errorf("%s: %s has words of a command line: make it a Remedy or a Setting of engine, which "+
						"each face writes in its own words", files.Position(text.Pos()), p.ImportPath)
				}
				return true
			})
		}
	}
	if seen != len(wordless) {
		t.Errorf("%d of the packages are there, want %d: %v", seen, len(wordless), wordless)
	}
}

// hasCommand reports whether a literal is a text with words of a command line of this program.
func hasCommand(text *ast.BasicLit) bool {
	return text.Kind == token.STRING && !strings.Contains(text.Value, ": git ") &&
		ofCommandLine.MatchString(text.Value[1:])
}

// mayNameCommands are the packages that write for a command line, such as what validate prints: what they
// refuse may name its commands.
var mayNameCommands = []string{
	"loops/cmd/loops", "loops/internal/live", "loops/internal/terminal",
	"loops/internal/view", "loops/internal/watch",
}

// TestRefusalsNameNoCommand: what a package below the faces refuses can be said by each face in its own words.
func TestRefusalsNameNoCommand(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, p := range packages(t) {
		if slices.ContainsFunc(mayNameCommands, func(m string) bool { return within(p.ImportPath, m) }) {
			continue
		}
		for _, name := range p.GoFiles {
			files := token.NewFileSet()
			f, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			calls, at := refusalsWithCommands(f)
			seen += calls
			for _, pos := range at {
				t.Errorf("%s: %s refuses something with words of a command line: give engine.Refuse a "+
					"Remedy or a Setting", files.Position(pos), p.ImportPath)
			}
		}
	}
	if seen < 20 {
		t.Errorf("%d refusals in all packages: where are the others?", seen)
	}
}

// refusalsWithCommands counts the refusals that a file makes, and returns the texts in them that have words of
// a command line.
func refusalsWithCommands(f *ast.File) (calls int, at []token.Pos) {
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || !isSelector(call.Fun, "engine", "Refuse") && !isSelector(call.Fun, "engine", "Misuse") {
			return true
		}
		calls++
		for _, arg := range call.Args {
			if text, ok := arg.(*ast.BasicLit); ok && hasCommand(text) {
				at = append(at, text.Pos())
			}
		}
		return true
	})
	return calls, at
}

// TestRefusalsWithCommands makes sure that TestRefusalsNameNoCommand can fail.
func TestRefusalsWithCommands(t *testing.T) {
	t.Parallel()
	const src = `package x
var a = engine.Refuse(engine.NotFound, "nobody waits; see: %s", engine.Do("queue list", ""))
var b = engine.Refuse(engine.NotFound, "nobody waits; see: loops queue list")
var c = engine.Misuse("list", "%s excludes --all", "x")
var d = other("see: loops queue list")`
	f, err := parser.ParseFile(token.NewFileSet(), "x.go", src, 0)
	if err != nil {
		t.Fatal(err)
	}
	if calls, at := refusalsWithCommands(f); calls != 3 || len(at) != 2 {
		t.Errorf("%d refusals, %d with commands; want 3 and 2", calls, len(at))
	}
}
