package cli

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Actions are answered by the .mcp.json of their directory, and where that has none by that of the project.
func TestToolCall(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const one, two, broken = `{"mcpServers": {"one": {"command": "x"}}}`, `{"mcpServers": {"two": {"command": "x"}}}`,
		`{`
	for _, c := range []struct {
		name         string
		dir, project string // what their files hold; "" is no file
		tool         string
		inProject    bool // whose file is used
		known        bool
	}{
		{"of the directory", one, two, "one/t", false, true},
		{"not of the project", one, two, "two/t", false, false},
		{"of the project", "", two, "two/t", true, true},
		{"of nobody", "", two, "three/t", true, false},
		{"no file", "", "", "one/t", true, false},
		{"a broken file", broken, one, "one/t", false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, project := t.TempDir(), t.TempDir()
			for d, text := range map[string]string{dir: c.dir, project: c.project} {
				if text == "" {
					continue
				}
				if err := os.WriteFile(filepath.Join(d, mcpConfig), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			used := dir
			if c.inProject {
				used = project
			}
			argv, known := toolCall(project)(dir, c.tool)
			if want := []string{self, mcpCall, "--timeout=0", "--config=" + filepath.Join(used, mcpConfig)}; known !=
				c.known || !slices.Equal(argv, want) {
				t.Errorf("%q, known %v; want %q, %v", argv, known, want, c.known)
			}
		})
	}
}
