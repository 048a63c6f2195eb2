package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mayPrint are the packages that may write to standard output and standard error by themselves, with what lies
// below them. A program (package main) may as well. All others write to what they are handed.
var mayPrint = []string{"loops/cmd/loops/cli", "loops/internal/mcpserver"}

func TestOnlyFacesPrint(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		if slices.ContainsFunc(mayPrint, func(m string) bool { return within(p.ImportPath, m) }) {
			continue
		}
		for _, name := range p.GoFiles {
			files := token.NewFileSet()
			f, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			if f.Name.Name == "main" {
				break
			}
			for _, at := range prints(f) {
				t.Errorf("%s: %s writes to standard output or standard error; write to what it is handed",
					files.Position(at), p.ImportPath)
			}
		}
	}
}

// ofStreams are the names that write to the standard streams of the process, or are them; those with * stand
// for all that begin so. A logger of log or slog that nothing else was set for writes to standard error.
var ofStreams = map[string][]string{
	"os":       {"Stdout", "Stderr"},
	"fmt":      {"Print*"},
	"syscall":  {"Stdout", "Stderr"},
	"log":      {"Print*", "Fatal*", "Panic*", "Output", "Default", "Writer"},
	"log/slog": {"Debug*", "Info*", "Warn*", "Error*", "Log", "LogAttrs", "Default"},
}

// prints returns where a file refers to the standard streams of the process.
func prints(f *ast.File) (at []token.Pos) {
	imported := importNames(f)
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			if ok && slices.ContainsFunc(ofStreams[imported[x.Name]], func(name string) bool {
				begin, all := strings.CutSuffix(name, "*")
				return n.Sel.Name == name || all && strings.HasPrefix(n.Sel.Name, begin)
			}) {
				at = append(at, n.Pos())
			}
		case *ast.CallExpr:
			if id, ok := n.Fun.(*ast.Ident); ok && (id.Name == "print" || id.Name == "println") && id.Obj == nil {
				at = append(at, n.Pos())
			}
		}
		return true
	})
	return at
}

// TestPrints makes sure that TestOnlyFacesPrint can fail.
func TestPrints(t *testing.T) {
	t.Parallel()
	const src = `package x
import ("fmt"; "io"; "log"; "log/slog"; "os"; system "os")
func f(w io.Writer, print func(string)) {
	print("fine")
	fmt.Fprintln(w, "fine", os.Stdin)
	fmt.Println("1")
	fmt.Fprint(os.Stderr, "2")
	println("3")
	w = os.Stdout // 4
	w = system.Stderr // 5
	log.Printf("6")
	slog.Info("7")
	slog.New(h).Info("fine")
	log.New(w, "", 0).Print("fine")
}`
	f, err := parser.ParseFile(token.NewFileSet(), "x.go", src, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(prints(f)); got != 7 {
		t.Errorf("%d places, want 7", got)
	}
}
