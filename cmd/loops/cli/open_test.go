package cli

import (
	"testing"

	"loops/engine/project"
)

// openIn opens the project of a folder, of which nothing is said but by its files.
func openIn(t *testing.T, dir string) *project.Project {
	t.Helper()
	p, err := project.Open(dir, project.Options{Cwd: dir, Env: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}
