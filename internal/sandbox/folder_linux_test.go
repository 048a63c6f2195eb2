//go:build amd64 || arm64

package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"loops/fsm/confine"
)

// Of a project in a folder of a repository, an action may change the folder and what git keeps, and not the rest of
// the repository, which neither a guard nor an undo looks at.
func TestProjectInAFolder(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	project := filepath.Join(top, "packages", "one")
	for _, dir := range []string{project, filepath.Join(top, ".git")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, preset := range []string{confine.Workspace, confine.Strict} {
		r := Resolve([]*confine.Policy{{Preset: preset}}, Place{Dir: project, Env: []string{"HOME=/none"}})
		may := func(path string) bool {
			return slices.ContainsFunc(r.Write, func(w string) bool { return w != "/tmp" && within(path, w) })
		}
		for path, want := range map[string]bool{
			filepath.Join(project, "a.go"):                true,
			filepath.Join(top, ".git", "objects", "ab"):   true,
			filepath.Join(top, "a.go"):                    false,
			filepath.Join(top, "packages", "two", "a.go"): false,
		} {
			if got := may(path); got != want {
				t.Errorf("%s: %s may be changed: %v, want %v", preset, path, got, want)
			}
		}
	}
}
