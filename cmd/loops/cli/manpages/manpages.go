// Package manpages makes the manual pages of a program from its commands: what their help says, in the parts that manual pages have.
package manpages

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"loops/cmd/loops/cli/complete"
	"loops/internal/manual"
)

// Of returns the page of every command of a program that users type, in section 1. source names the program and its version.
func Of(root *cobra.Command, source string) (pages []manual.Page) {
	root.InitDefaultHelpCmd()
	complete.Visit(root, func(cmd *cobra.Command) {
		if cmd == root || cmd.IsAvailableCommand() || cmd.Name() == "help" {
			pages = append(pages, page(root, cmd, source))
		}
	})
	return pages
}

// page returns the page of one command: what its help says, in the parts that manual pages have.
func page(root, cmd *cobra.Command, source string) manual.Page {
	cmd.InitDefaultHelpFlag()
	text, codes, _ := strings.Cut(cmd.Long, "\n\nExit codes:")
	made := manual.Page{
		Name: Name(cmd), Section: 1, Source: source, Title: "loops", Short: cmd.Short,
		Synopsis: []string{cmd.UseLine()}, Parts: []manual.Part{{Heading: "DESCRIPTION", Text: text}},
	}
	add := func(heading, text string, list []manual.Item) {
		if text != "" || len(list) > 0 {
			made.Parts = append(made.Parts, manual.Part{Heading: heading, Text: text, List: list})
		}
	}
	var below []manual.Item
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			below = append(below, manual.Item{Term: c.Name(), Text: c.Short + "."})
			made.See = append(made.See, manual.Reference{Name: Name(c), Section: 1})
		}
	}
	if len(below) > 0 && cmd != root {
		made.Synopsis = append(made.Synopsis, cmd.CommandPath()+" COMMAND")
	}
	add("COMMANDS", "", below)
	add("OPTIONS", "", options(cmd.NonInheritedFlags()))
	add("OPTIONS OF ALL COMMANDS", "", options(cmd.InheritedFlags()))
	add("EXIT STATUS", codes, nil)
	if cmd == root {
		for _, topic := range root.Commands() {
			switch {
			case !topic.IsAdditionalHelpTopicCommand():
			case topic.Name() == "exit-codes":
				add("EXIT STATUS", topic.Long, nil)
			case topic.Name() == "environment":
				add("ENVIRONMENT", topic.Long, nil)
			}
		}
		add("FILES", "", files)
	} else {
		add("ENVIRONMENT", "The variables that loops reads are in loops(1).", nil)
		made.See = append([]manual.Reference{{Name: Name(cmd.Parent()), Section: 1}}, made.See...)
	}
	add("EXAMPLES", cmd.Example, nil)
	return made
}

// Name returns the name of the page of a command.
func Name(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// files are the files that people meet.
var files = []manual.Item{
	{Term: ".loops/NAME.yaml", Text: "A loop."},
	{Term: ".loops/config.yaml", Text: "Settings of the project: agent hosts, where runs are recorded, retention, notifications."},
	{Term: ".loops/prices.yaml", Text: "Prices over those of the built-in table."},
	{Term: ".loops/runs/RUN/", Text: "The folder of a run: what its actions leave, and the definition it began with."},
	{Term: ".loops/.running/, .loops/.history/", Text: "What is recorded of runs, where that is in files."},
	{Term: ".loops/logs/RUN.log", Text: "What a run in the background printed. Full ones are moved to RUN.log.1 and so on."},
}

// options returns flags as a list, in the order of their names.
func options(flags *pflag.FlagSet) (list []manual.Item) {
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		term := "--" + f.Name
		if f.Shorthand != "" {
			term = "-" + f.Shorthand + ", " + term
		}
		if value != "" {
			term += " " + value
		}
		switch {
		case f.DefValue == "" || f.DefValue == "false" || f.DefValue == "0" || f.DefValue == "[]" || strings.Contains(usage, "default"):
		default:
			usage += " (default: " + f.DefValue + ")"
		}
		list = append(list, manual.Item{Term: term, Text: strings.ToUpper(usage[:1]) + usage[1:] + "."})
	})
	return list
}
