package archtest

import (
	"go/ast"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// ownFiles are the packages in which files of records are opened, with the files in which something else is:
// what a user named, or what the system or git keeps. All else goes through disk.Open, which follows no link
// and never waits for another process.
var ownFiles = map[string][]string{
	"persistence/dirstore": {},
	"persistence":          {},
	"persistence/sqlstore": {"checkpoints_open.go"}, // syncs its folder
}

var opens = regexp.MustCompile(`\bos\.(Open|OpenFile|Create|ReadFile|WriteFile)\(`)

// TestRecordFiles: records are opened in one place.
func TestRecordFiles(t *testing.T) {
	t.Parallel()
	for dir, others := range ownFiles {
		files, err := fs.Glob(root, path.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatal(dir, err)
		}
		for _, file := range files {
			name := filepath.Base(file)
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			opened := opens.FindString(read(t, file))
			if known := slices.Contains(others, name); opened != "" && !known {
				t.Errorf("%s has %s…): files of records are opened with disk.Open or disk.Read", file, opened)
			}
		}
	}
	if !opens.MatchString("f, err := os.OpenFile(path, os.O_RDWR, 0)") ||
		opens.MatchString("disk.Open(path, os.O_RDWR)") {
		t.Error("the pattern finds nothing")
	}
}

// makers are the trees in which files and folders of a project are made, and others what is not in one.
var (
	makers = []string{"persistence/", "engine/", "internal/app/", "internal/process/runlog"}
	others = []string{
		"persistence/checkpoint/", "persistence/storetest/", "persistence/archive/write.go",
		"internal/app/doctor", "internal/app/install.go", "internal/app/rules.go",
	}
)

var makes = regexp.MustCompile(
	`\bos\.(Mkdir|MkdirAll|MkdirTemp|CreateTemp|WriteFile|Create)\(|\bos\.OpenFile\([^\n]*O_CREATE`)

// TestMadeFiles: files of a project are made in one place, which gives those of root to the owner of the folder.
func TestMadeFiles(t *testing.T) {
	t.Parallel()
	eachGoFile(t, func(name string, _ *token.FileSet, _ *ast.File) {
		begins := func(tree string) bool { return strings.HasPrefix(name, tree) }
		if strings.HasSuffix(name, "_test.go") || !slices.ContainsFunc(makers, begins) ||
			slices.ContainsFunc(others, begins) {
			return
		}
		if made := makes.FindString(read(t, name)); made != "" {
			t.Errorf("%s: %s: make files and folders of a project with internal/disk, so that those of root belong "+
				"to the owner of the folder", name, made)
		}
	})
}
