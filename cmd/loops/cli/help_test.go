package cli

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// Every command says what it is for, shows usage and examples before prose, and lists its exit codes, on a page
// that is not wide.
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
		if lines := strings.Count(helpProse(cmd), "\n"); lines > 25 {
			t.Errorf("%s: the help has %d lines of prose; move what is rarely needed to a topic", cmd.CommandPath(),
				lines)
		}
		page := helpPage(cmd)
		for line := range strings.Lines(page) {
			if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > helpWidth {
				t.Errorf("%s: the help has a line longer than %d characters: %s", cmd.CommandPath(), helpWidth, line)
			}
		}
		usage, examples, flags := strings.Index(page, "\nUsage:\n"), strings.Index(page, "\nExamples:\n"),
			strings.Index(page, "\nFlags")
		if usage < 0 || examples < usage || flags < examples {
			t.Errorf("%s: usage, examples and flags stand in another order:\n%s", cmd.CommandPath(), page)
		}
	}
	root := newRootCommand(&program{}, "")
	check(root)
	for _, c := range root.Commands() {
		if c.GroupID == "" && c.IsAvailableCommand() {
			t.Errorf("%s is in no group of the help", c.CommandPath())
		}
	}
	if seen < 12 {
		t.Errorf("only %d commands", seen)
	}
}

func TestHelpOfEveryCommandWorks(t *testing.T) {
	for _, name := range []string{
		"run", "resume", "mcp", "doctor", "list", "history", "events", "logs", "explain",
		"diff", "stats", "status", "stop", "sweep", "validate", "show", "new", "policy", "schema", "stage", "store",
		"version", "completion", "help",
	} {
		var out, errs bytes.Buffer
		if code := Main([]string{name, "--help"}, IO{Out: &out, Err: &errs, Dir: t.TempDir()}); code != 0 ||
			errs.Len() > 0 || !strings.Contains(out.String(), "Usage:") {
			t.Errorf("%s --help: %d %s", name, code, errs.String())
		}
	}
}

// What loops prints alone fits on a small terminal.
func TestOverviewIsShort(t *testing.T) {
	var out bytes.Buffer
	if code := Main(nil, IO{Out: &out, Err: &out, Dir: t.TempDir()}); code != 0 {
		t.Fatalf("loops: %d %s", code, out.String())
	}
	if n := strings.Count(out.String(), "\n"); n > 24 {
		t.Errorf("loops prints %d lines", n)
	}
}

// The words that other programs have lead to commands there are.
func TestMeaningsAreCommands(t *testing.T) {
	root := newRootCommand(&program{}, "")
	for word, meant := range helpMeanings {
		if isCommand(root, word) {
			t.Errorf("%s is a command itself", word)
		}
		cmd, rest, err := root.Find(strings.Fields(meant))
		if err != nil || cmd == root {
			t.Errorf("%s: there is no command %s", word, meant)
			continue
		}
		for _, flag := range rest {
			name := strings.TrimLeft(flag, "-")
			if cmd.Flags().Lookup(name) == nil && (len(name) != 1 || cmd.Flags().ShorthandLookup(name) == nil) {
				t.Errorf("%s: loops %s has no flag %s", word, meant, flag)
			}
		}
	}
}

// helpProse returns the text of a command between its examples and its flags.
func helpProse(cmd *cobra.Command) string {
	prose, _, _ := strings.Cut(cmd.Long, exitCodes)
	return helpWrap(prose)
}
