package app

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loops/engine/project"
)

// Many loops are checked at once, and what is wrong with a library they share is reported once.
func TestCheckAll(t *testing.T) {
	t.Parallel()
	files := map[string]string{".loops/lib/parts.yaml": "fragments:\n  one: {action: 'echo ${messages:sehll}', " +
		"on_error: failed}\n"}
	const n = 40
	for i := range n {
		files[fmt.Sprintf(".loops/loop%d.yaml", i)] = fmt.Sprintf(`name: loop%d
description: a test
import: [lib/parts.yaml]
initial: a
states:
  a: {fragment: one, on_yes: b, on_no: b}
  b: {loop: loop%d, on_yes: done, on_no: failed, on_error: failed}
  done: {terminal: true}
  failed: {terminal: true}
`, i, (i+7)%n)
	}
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p, err := project.Open("", project.Options{Cwd: dir, Env: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	lib, err := p.Library()
	if err != nil {
		t.Fatal(err)
	}
	checkedFiles, others, err := chosenFiles(lib, nil)
	if err != nil || len(checkedFiles) != n || len(others) != 0 {
		t.Fatalf("%d files, %v, %v", len(checkedFiles), others, err)
	}
	for _, c := range checkedFiles {
		if c.Failure != nil || len(c.Problems) == 0 {
			t.Fatalf("%s: %v, %d problems", c.name, c.Failure, len(c.Problems))
		}
	}
	own := len(checkedFiles[0].Problems)
	if r := newFindings(checkedFiles, nil, nil, false, nil); len(r.problems) < own || len(r.problems) >= n*own {
		t.Errorf("%d problems of %d loops with %d each", len(r.problems), n, own)
	}
}

// TestValidateOfAWholeDisk_35_2_22: loops validate / read every folder of the machine.
func TestValidateOfAWholeDisk_35_2_22(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range 4 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.txt", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, err := project.Open("", project.Options{Cwd: dir, Env: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		root, want string
		most       int
	}{
		{"/", "/ is a whole disk; name the folder that the loops are in, such as .loops", 1},
		{dir, "more than 4 files and folders are below .; name the folder that the loops are in, such as .loops", 4},
		{dir, "", 5},
	} {
		if _, _, err := folderFiles(p, c.root, c.most); c.want == "" && err != nil || c.want != "" &&
			(err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s, %d at most: %v, want %s", c.root, c.most, err, c.want)
		}
	}
}
