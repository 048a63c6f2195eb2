package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// exitCodes begins the part of a command's long description that is at the end of its page.
const exitCodes = "\n\nExit codes:"

// helpPage returns the help page of a command or of a topic.
func helpPage(cmd *cobra.Command) string {
	if cmd.IsAdditionalHelpTopicCommand() {
		return helpWrap(cmd.Long)
	}
	prose, codes, _ := strings.Cut(cmd.Long, exitCodes)
	var b strings.Builder
	if cmd.HasParent() { // a program begins its prose with it
		b.WriteString(helpWrap(cmd.Short+".") + "\n")
	}
	part := func(title, text string) {
		if text = strings.TrimRight(text, "\n "); text != "" {
			fmt.Fprintf(&b, "%s:\n%s\n\n", title, text)
		}
	}
	part("Usage", usage(cmd))
	if len(cmd.Aliases) > 0 {
		b.WriteString("Aliases: " + strings.Join(cmd.Aliases, ", ") + "\n\n")
	}
	part("Examples", helpWrap(cmd.Example))
	if prose != "" {
		b.WriteString(helpWrap(prose) + "\n")
	}
	groups(&b, cmd)
	if cmd.HasParent() {
		part("Flags", flags(cmd.LocalFlags()))
		part("Flags of all commands", flags(cmd.InheritedFlags()))
	} else {
		part("Flags of all commands", flags(cmd.LocalFlags()))
	}
	part("Exit codes", helpWrap(strings.TrimPrefix(codes, "\n")))
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// helpPrint prints the page of a command or a topic.
func helpPrint(cmd *cobra.Command) {
	_, _ = io.WriteString(cmd.OutOrStdout(), helpPage(cmd)) // a sink, whose Close returns a failure
}

func usage(cmd *cobra.Command) string {
	switch path := cmd.CommandPath(); {
	// an example has it alone
	case cmd.HasAvailableSubCommands() && slices.Contains(strings.Split(cmd.Example, "\n"), "  "+path):
		return "  " + path + " [COMMAND] [flags]"
	case cmd.HasAvailableSubCommands():
		return "  " + path + " COMMAND"
	}
	return "  " + cmd.UseLine()
}

func flags(set *pflag.FlagSet) string { return set.FlagUsagesWrapped(helpWidth) }

// groups writes the commands below a command, by the groups they are in, and its topics.
func groups(b *strings.Builder, cmd *cobra.Command) {
	wide := 0
	for _, c := range cmd.Commands() {
		wide = max(wide, utf8.RuneCountInString(c.Name()))
	}
	list := func(title string, of func(*cobra.Command) bool) {
		rows := ""
		for _, c := range cmd.Commands() {
			if of(c) {
				rows += helpWrap(fmt.Sprintf("  %-*s  %s", wide, c.Name(), c.Short))
			}
		}
		if rows != "" {
			fmt.Fprintf(b, "%s:\n%s\n", title, rows)
		}
	}
	for _, g := range cmd.Groups() {
		list(g.Title, func(c *cobra.Command) bool { return c.IsAvailableCommand() && c.GroupID == g.ID })
	}
	list("Commands", func(c *cobra.Command) bool { return c.IsAvailableCommand() && c.GroupID == "" })
	list("Topics, with loops help TOPIC", (*cobra.Command).IsAdditionalHelpTopicCommand)
}

// helpOverview returns what a program prints without a command: what it does, examples, and its commands by
// group, a line each.
func helpOverview(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString(helpWrap(firstSentence(root.Long)))
	b.WriteString("\n" + strings.TrimRight(root.Example, "\n") + "\n\n")
	wide := 0
	for _, g := range root.Groups() {
		wide = max(wide, utf8.RuneCountInString(g.Title))
	}
	row := func(title string, of func(*cobra.Command) bool) {
		var names []string
		for _, c := range root.Commands() {
			if of(c) {
				names = append(names, c.Name())
			}
		}
		if len(names) > 0 {
			fill(&b, fmt.Sprintf("%-*s  ", wide, title), strings.Repeat(" ", wide+2),
				[]string{strings.Join(names, ", ")})
		}
	}
	for _, g := range root.Groups() {
		row(g.Title, func(c *cobra.Command) bool { return c.IsAvailableCommand() && c.GroupID == g.ID })
	}
	row("Topics", (*cobra.Command).IsAdditionalHelpTopicCommand)
	fmt.Fprintf(&b, "\n%s COMMAND --help and %[1]s help TOPIC say more; %[1]s --help says what each command does.\n",
		root.Name())
	return b.String()
}

// firstSentence returns text up to its first full stop before white space.
func firstSentence(text string) string {
	for i, r := range text {
		if r == '.' && (i+1 == len(text) || unicode.IsSpace(rune(text[i+1]))) {
			return text[:i+1]
		}
	}
	return text
}
