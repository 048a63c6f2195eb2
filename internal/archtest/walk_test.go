package archtest

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"strings"
	"testing"
)

var citedFunction = regexp.MustCompile("`([a-z]+\\.(?:[A-Za-z]+\\.)?[A-Za-z]+)`")

// TestWalk: the functions that the walks from run to the disk and from there to status name exist, with their
// packages and receivers.
func TestWalk(t *testing.T) {
	t.Parallel()
	there := map[string]bool{}
	eachGoFile(t, func(name string, _ *token.FileSet, f *ast.File) {
		pkg := path.Base(path.Dir(name))
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				there[pkg+"."+receiver(d)+d.Name.Name] = true
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if s, ok := s.(*ast.TypeSpec); ok {
						there[pkg+"."+s.Name.Name] = true
					}
				}
			}
		}
	})
	for _, title := range []string{"From `run` to the disk", "From disk to `status`"} {
		_, walk, _ := strings.Cut(read(t, "ARCHITECTURE.md"), "\n## "+title+"\n")
		walk, _, _ = strings.Cut(walk, "\n## ")
		named := citedFunction.FindAllStringSubmatch(walk, -1)
		if len(named) < 10 || there["dirstore.Store.nothere"] {
			t.Errorf("the walk %s names %d functions", title, len(named))
		}
		for _, m := range named {
			if !there[m[1]] && m[1] != "state.json" {
				t.Errorf("ARCHITECTURE.md names %s, which does not exist", m[1])
			}
		}
	}
}

// receiver is the type of a method with a dot behind it, "" of a function.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	of := d.Recv.List[0].Type
	if p, ok := of.(*ast.StarExpr); ok {
		of = p.X
	}
	if id, ok := of.(*ast.Ident); ok {
		return id.Name + "."
	}
	return ""
}
