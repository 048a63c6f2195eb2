package archtest

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// isCommand is the name of a function that does or makes a command: it reads flags and prints.
var isCommand = regexp.MustCompile(`^(run[A-Z]\w*|new[A-Z]\w*Command|execute)$`)

// TestMCPRunsNoCommand: a tool of the MCP server calls what a command calls, and returns the object that the
// command prints. It runs no command, so that nothing has to be taken from what one prints. The server itself
// is begun by the command mcp.
func TestMCPRunsNoCommand(t *testing.T) {
	t.Parallel()
	calls, face := map[string][]string{}, []string{}
	eachGoFile(t, func(name string, _ *token.FileSet, f *ast.File) {
		if strings.HasSuffix(name, "_test.go") || !strings.HasSuffix(path.Dir(name), "cmd/loops/cli") {
			return
		}
		for _, d := range f.Decls {
			do, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			calls[do.Name.Name] = append(calls[do.Name.Name], called(do)...)
			if strings.HasPrefix(path.Base(name), "mcpserve") && do.Name.Name != "newMCPCommand" {
				face = append(face, do.Name.Name)
			}
		}
	})
	for _, begin := range []string{"runMCP", "session"} {
		if !slices.Contains(face, begin) {
			t.Fatalf("mcpserve*.go of cmd/loops/cli has no function %s: where is the server?", begin)
		}
	}
	for _, way := range waysToCommands(calls, face) {
		t.Errorf("the MCP server runs a command: %s", way)
	}
}

// waysToCommands returns how a face comes to commands by the functions that each function calls.
func waysToCommands(calls map[string][]string, face []string) (ways []string) {
	from := map[string]string{}
	for _, f := range face {
		from[f] = f
	}
	for next := slices.Clone(face); len(next) > 0; next = next[1:] {
		for _, to := range calls[next[0]] {
			if _, ours := calls[to]; !ours || from[to] != "" {
				continue
			}
			from[to] = from[next[0]] + " > " + to
			if isCommand.MatchString(to) {
				ways = append(ways, from[to])
			} else {
				next = append(next, to)
			}
		}
	}
	return ways
}

// called returns the names of what a function calls, and of the commands that it names.
func called(do *ast.FuncDecl) (names []string) {
	ast.Inspect(do, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			switch f := n.Fun.(type) {
			case *ast.Ident:
				names = append(names, f.Name)
			case *ast.SelectorExpr:
				names = append(names, f.Sel.Name)
			}
		case *ast.Ident:
			if isCommand.MatchString(n.Name) {
				names = append(names, n.Name)
			}
		}
		return true
	})
	return names
}

// TestWaysToCommands makes sure that TestMCPRunsNoCommand can fail.
func TestWaysToCommands(t *testing.T) {
	t.Parallel()
	calls := map[string][]string{
		"list": {"ask", "fmt"}, "ask": {"runList", "list"}, "runList": {"runStatus"},
		"runStatus": nil, "stop": {"service"}, "service": nil,
	}
	got := waysToCommands(calls, []string{"list", "stop"})
	if want := []string{"list > ask > runList"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
