package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"loops/internal/testenv"
)

// TestCommandsPage keeps docs/commands.md: what each command does, with its usage and examples.
func TestCommandsPage(t *testing.T) {
	testenv.Golden(t, "../../../docs/commands.md", commandsPage(newRootCommand(&program{}, "")))
}

// commandsPage returns the page of all commands that users type, by the groups of the help.
func commandsPage(root *cobra.Command) string {
	var b, topics strings.Builder
	b.WriteString(
		`<!-- Generated from the help of the commands: go test ./cmd/loops/cli -run TestCommandsPage -update. -->

# Commands

` + "`loops COMMAND --help` prints the flags and exit codes of a command. `loops help TOPIC` prints a topic. Commands that answer a question" + `
have ` + "`--json` for programs ([json.md](json.md)), with `--jq` and `--template` to pick from it." + `

`)
	for _, g := range root.Groups() {
		fmt.Fprintf(&b, "* [%s](#%s): ", g.Title, anchor(g.Title))
		var names []string
		for _, c := range root.Commands() {
			if c.IsAvailableCommand() && c.GroupID == g.ID {
				names = append(names, fmt.Sprintf("[%s](#%s)", c.Name(), anchor(c.CommandPath())))
			}
		}
		b.WriteString(strings.Join(names, ", ") + "\n")
	}
	b.WriteString("* [Topics](#topics)\n")
	for _, g := range root.Groups() {
		fmt.Fprintf(&b, "\n## %s\n", g.Title)
		for _, c := range root.Commands() {
			if c.IsAvailableCommand() && c.GroupID == g.ID {
				section(&b, c)
			}
		}
	}
	for _, c := range root.Commands() {
		if c.IsAdditionalHelpTopicCommand() {
			fmt.Fprintf(&topics, "| `loops help %s` | %s |\n", c.Name(), c.Short)
		}
	}
	b.WriteString("\n## Topics\n\n| command | what it prints |\n|---|---|\n" + topics.String())
	b.WriteString("| `loops help language CHAPTER` | A chapter of [language.md](language.md), in $PAGER on " +
		"a terminal |\n")
	b.WriteString("| `loops help key NAME` | What a key of a loop file means |\n")
	b.WriteString("| `loops help rule NAME` | A rule of validate, with a failing and a passing example |\n")
	return b.String()
}

// section writes what a command does, and its commands below it.
func section(b *strings.Builder, cmd *cobra.Command) {
	fmt.Fprintf(b, "\n### %s\n\n%s.\n", cmd.CommandPath(), cmd.Short)
	if len(cmd.Aliases) > 0 {
		fmt.Fprintf(b, "Also: `%s`.\n", strings.Join(cmd.Aliases, "`, `"))
	}
	if !cmd.HasAvailableSubCommands() {
		fmt.Fprintf(b, "\n    %s\n", cmd.UseLine())
	}
	if example := strings.Trim(cmd.Example, "\n"); example != "" {
		b.WriteString("\nFor example:\n\n")
		for line := range strings.Lines(example + "\n") {
			b.WriteString(strings.TrimRight("  "+line, " \n") + "\n")
		}
	}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			section(b, c)
		}
	}
}

// anchor returns the address of a heading in Markdown.
func anchor(heading string) string { return strings.ReplaceAll(strings.ToLower(heading), " ", "-") }
