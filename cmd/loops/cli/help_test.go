package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Every command says what it is for, shows an example and lists its exit codes.
func TestHelpIsComplete(t *testing.T) {
	seen := 0
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		for _, c := range cmd.Commands() {
			check(c)
		}
		if cmd.IsAdditionalHelpTopicCommand() || !cmd.HasParent() {
			return
		}
		seen++
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: short description %q", cmd.CommandPath(), cmd.Short)
		}
		if cmd.Example == "" {
			t.Errorf("%s has no example", cmd.CommandPath())
		}
		if !strings.Contains(cmd.Long, "Exit codes:") {
			t.Errorf("%s does not list its exit codes", cmd.CommandPath())
		}
		for line := range strings.SplitSeq(cmd.Long, "\n") {
			if len(line) > 125 {
				t.Errorf("%s: the help has a line of %d characters: %s", cmd.CommandPath(), len(line), line)
			}
		}
	}
	check(newRootCommand(&app{}, ""))
	if seen < 12 {
		t.Errorf("only %d commands", seen)
	}
}

func TestHelpOfEveryCommandWorks(t *testing.T) {
	for _, name := range []string{"run", "resume", "mcp", "doctor", "list", "history", "events", "logs", "explain", "diff", "stats", "status", "stop", "sweep", "validate", "show", "new", "policy", "schema", "stage", "store", "version", "completion", "help"} {
		var out, errs bytes.Buffer
		if code := Main([]string{name, "--help"}, IO{Out: &out, Err: &errs, Dir: t.TempDir()}); code != 0 || errs.Len() > 0 || !strings.Contains(out.String(), "Usage:") {
			t.Errorf("%s --help: %d %s", name, code, errs.String())
		}
	}
}
