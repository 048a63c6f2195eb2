package arch_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// ownFiles are the packages in which files of records are opened, with the files in which something else is: what a user
// named, or what the system or git keeps. All else goes through disk.Open, which follows no link and
// never waits for another process.
var ownFiles = map[string][]string{
	"persistence/dirstore": {},
	"persistence": {
		"work.go", // O_EXCL, with the mode of what an action left
	},
	"persistence/sqlstore": {
		"sqlite.go",           // the database is where the user says
		"checkpoints_open.go", // syncs its folder
	},
}

var opens = regexp.MustCompile(`\bos\.(Open|OpenFile|Create|ReadFile|WriteFile)\(`)

// TestRecordFiles: records are opened in one place.
func TestRecordFiles(t *testing.T) {
	t.Parallel()
	for dir, others := range ownFiles {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
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
	if !opens.MatchString("f, err := os.OpenFile(path, os.O_RDWR, 0)") || opens.MatchString("disk.Open(path, os.O_RDWR)") {
		t.Error("the pattern finds nothing")
	}
}
