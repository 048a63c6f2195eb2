package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loops/internal/testenv"
)

// TestCommands starts nothing: it looks at how hosts would be started. A case is testdata/argv/NAME.json with a Host or
// a Spec and a Request, and NAME.golden with what came out.
func TestCommands(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/argv/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	for _, file := range files {
		base := strings.TrimSuffix(file, ".json")
		t.Run(filepath.Base(base), func(t *testing.T) {
			var c struct {
				Host    string
				Spec    *Spec
				Request Request
				Repeat  int // how often the prompt is there
			}
			decode(t, read(t, file), &c)
			h := Find(c.Host)
			if c.Spec != nil {
				var err error
				if h, err = New(*c.Spec); err != nil {
					testenv.Golden(t, base+".golden", "error "+strings.ReplaceAll(err.Error(), "; ", "\nerror ")+"\n")
					return
				}
			}
			if c.Repeat > 0 {
				c.Request.Text = strings.Repeat(c.Request.Text, c.Repeat)
			}
			c.Request.Scratch = t.TempDir()
			testenv.Golden(t, base+".golden", commandText(t, h, c.Request))
		})
	}
}

func commandText(t *testing.T, h *CLI, r Request) string {
	t.Helper()
	command := h.Command
	if h == gemini { // as root, whichever user runs the test
		command = func(r Request) (Command, error) { return geminiCommand(r, true) }
	}
	cmd, err := command(r)
	if err != nil {
		return "error " + err.Error() + "\n"
	}
	var b strings.Builder
	for _, a := range cmd.Args {
		fmt.Fprintf(&b, "arg %.200q\n", a)
	}
	if cmd.Stdin != "" {
		fmt.Fprintf(&b, "stdin %d %.60q\n", len(cmd.Stdin), cmd.Stdin)
	}
	for _, e := range cmd.Env {
		// It depends on who runs the test: see TestClaudeAsRoot.
		if e != "IS_SANDBOX=1" {
			fmt.Fprintf(&b, "env %s\n", e)
		}
	}
	if cmd.Ignored != nil {
		fmt.Fprintf(&b, "ignored %s\n", strings.Join(cmd.Ignored, " "))
	}
	files, err := os.ReadDir(r.Scratch)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		fmt.Fprintf(&b, "file %s\n%s", f.Name(), ended(read(t, filepath.Join(r.Scratch, f.Name()))))
	}
	return strings.ReplaceAll(b.String(), r.Scratch, "SCRATCH")
}

func TestClaudeAsRoot(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ root, skip, want bool }{
		{true, true, true},
		{true, false, false},
		{false, true, false},
	} {
		cmd, err := claudeCommand(Request{Text: "x", Skip: c.skip}, c.root)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(strings.Join(cmd.Env, "\n"), "IS_SANDBOX=1"); got != c.want {
			t.Errorf("root %t, skip %t: it is told of a sandbox: %t", c.root, c.skip, got)
		}
	}
}
