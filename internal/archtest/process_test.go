package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// ofProcess are the functions that change what belongs to the whole process. Only a program may call them: a Go
// program that embeds the engine has signal handlers, a working directory and an environment of its own.
var ofProcess = map[string][]string{
	"os":                    {"Chdir", "Setenv", "Unsetenv", "Clearenv", "Exit"},
	"os/signal":             {"Notify", "NotifyContext", "Ignore", "Reset"},
	"syscall":               {"Chdir", "Fchdir", "Umask", "Setrlimit", "Setenv", "Unsetenv", "Clearenv", "Exit"},
	"golang.org/x/sys/unix": {"Chdir", "Fchdir", "Umask", "Setrlimit", "Setenv", "Unsetenv", "Clearenv", "Exit"},
	"runtime/debug": {
		"SetGCPercent", "SetMemoryLimit", "SetMaxThreads", "SetMaxStack", "SetTraceback",
		"SetPanicOnFault", "SetCrashOutput",
	},
	"log":                       {"Fatal", "Fatalf", "Fatalln", "SetOutput", "SetFlags", "SetPrefix"},
	"log/slog":                  {"SetDefault"},
	"loops/internal/process":    {"AdoptOrphans"},
	"loops/internal/sandbox":    {"Enter"},
	"golang.org/x/sys/unix.PR_": {"PR_SET_CHILD_SUBREAPER"},
}

// setsOwn are the files beside those of programs that may do so: they have the functions that cmd/loops calls.
var setsOwn = []string{"loops/internal/process/orphans_linux.go", "loops/internal/sandbox/enter_linux.go"}

func TestOnlyProgramsChangeTheProcess(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		if within(p.ImportPath, "loops/cmd/loops") {
			continue
		}
		for _, name := range p.GoFiles {
			if slices.Contains(setsOwn, p.ImportPath+"/"+name) {
				continue
			}
			files := token.NewFileSet()
			f, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			if f.Name.Name == "main" {
				break
			}
			for _, at := range changesProcess(f) {
				t.Errorf("%s: %s changes the process that it is part of; let cmd/loops do that, and hand over "+
					"what is needed", files.Position(at), p.ImportPath)
			}
		}
	}
}

// importNames returns the packages that a file imports, by the names that they have in it.
func importNames(f *ast.File) map[string]string {
	imported := map[string]string{}
	for _, i := range f.Imports {
		from, _ := strconv.Unquote(i.Path.Value)
		name := path.Base(from)
		if i.Name != nil {
			name = i.Name.Name
		}
		imported[name] = from
	}
	return imported
}

// changesProcess returns where a file refers to what is ofProcess, or sets GOMAXPROCS.
func changesProcess(f *ast.File) (at []token.Pos) {
	imported := importNames(f)
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			if !ok {
				break
			}
			from := imported[x.Name]
			if strings.HasPrefix(n.Sel.Name, "PR_") {
				from += ".PR_"
			}
			if slices.Contains(ofProcess[from], n.Sel.Name) {
				at = append(at, n.Pos())
			}
		case *ast.CallExpr:
			s, ok := n.Fun.(*ast.SelectorExpr)
			if !ok || s.Sel.Name != "GOMAXPROCS" || len(n.Args) != 1 {
				break
			}
			if asked, ok := n.Args[0].(*ast.BasicLit); !ok || asked.Value != "0" {
				at = append(at, n.Pos())
			}
		}
		return true
	})
	return at
}

// TestChangesProcess makes sure that TestOnlyProgramsChangeTheProcess can fail.
func TestChangesProcess(t *testing.T) {
	t.Parallel()
	const src = `package x
import ("os"; sig "os/signal"; "golang.org/x/sys/unix"; "runtime"; "runtime/debug")
func f(signal other) {
	os.Getenv("fine")
	signal.Notify("fine")
	runtime.GOMAXPROCS(0)
	sig.Stop(c)
	sig.Notify(c) // 1
	defer os.Exit(2)
	unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 3)
	runtime.GOMAXPROCS(4)
	set := debug.SetGCPercent // 5
}`
	f, err := parser.ParseFile(token.NewFileSet(), "x.go", src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(changesProcess(f)); got != 5 {
		t.Errorf("%d places, want 5", got)
	}
}
