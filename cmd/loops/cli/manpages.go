package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manOf returns the page of every command of a program that users type, in section 1. source names the program
// and its version.
func manOf(root *cobra.Command, source string) (pages []roffPage) {
	root.InitDefaultHelpCmd()
	completeVisit(root, func(cmd *cobra.Command) {
		if cmd == root || cmd.IsAvailableCommand() || cmd.Name() == "help" {
			pages = append(pages, manPage(root, cmd, source))
		}
	})
	return pages
}

// manPage returns the page of one command: what its help says, in the parts that manual pages have.
func manPage(root, cmd *cobra.Command, source string) roffPage {
	cmd.InitDefaultHelpFlag()
	text, codes, _ := strings.Cut(cmd.Long, "\n\nExit codes:")
	made := roffPage{
		Name: manName(cmd), Section: 1, Source: source, Title: "loops", Short: cmd.Short,
		Synopsis: []string{cmd.UseLine()}, Parts: []roffPart{{Heading: "DESCRIPTION", Text: text}},
	}
	addPart := func(heading, text string, list []roffItem) {
		if text != "" || len(list) > 0 {
			made.Parts = append(made.Parts, roffPart{Heading: heading, Text: text, List: list})
		}
	}
	var below []roffItem
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			below = append(below, roffItem{Term: c.Name(), Text: c.Short + "."})
			made.See = append(made.See, roffReference{Name: manName(c), Section: 1})
		}
	}
	if len(below) > 0 && cmd != root {
		made.Synopsis = append(made.Synopsis, cmd.CommandPath()+" COMMAND")
	}
	addPart("COMMANDS", "", below)
	addPart("OPTIONS", "", options(cmd.NonInheritedFlags()))
	addPart("OPTIONS OF ALL COMMANDS", "", options(cmd.InheritedFlags()))
	addPart("EXIT STATUS", codes, nil)
	if cmd == root {
		for _, topic := range root.Commands() {
			switch {
			case !topic.IsAdditionalHelpTopicCommand():
			case topic.Name() == "exit-codes":
				addPart("EXIT STATUS", topic.Long, nil)
			case topic.Name() == "environment":
				addPart("ENVIRONMENT", topic.Long, nil)
			}
		}
		addPart("FILES", "", files)
	} else {
		addPart("ENVIRONMENT", "The variables that loops reads are in loops(1).", nil)
		made.See = append([]roffReference{{Name: manName(cmd.Parent()), Section: 1}}, made.See...)
	}
	addPart("EXAMPLES", cmd.Example, nil)
	return made
}

// manName returns the name of the page of a command.
func manName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// files are the files that people meet.
var files = []roffItem{
	{Term: ".loops/NAME.yaml", Text: "A loop."},
	{Term: ".loops/config.yaml", Text: "Settings of the project: agent hosts, where runs are recorded, retention, " +
		"notifications."},
	{Term: ".loops/prices.yaml", Text: "Prices over those of the built-in table."},
	{Term: ".loops/runs/RUN/", Text: "The folder of a run: what its actions leave, and the definition it began with."},
	{Term: ".loops/.running/, .loops/.history/", Text: "What is recorded of runs, where that is in files."},
	{
		Term: ".loops/logs/RUN.log",
		Text: "What a run in the background printed. Full ones are moved to RUN.log.1 and so on.",
	},
}

// options returns flags as a list, in the order of their names.
func options(flags *pflag.FlagSet) (list []roffItem) {
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
		case f.DefValue == "" || f.DefValue == "false" || f.DefValue == "0" || f.DefValue == "[]" ||
			strings.Contains(usage, "default"):
		default:
			usage += " (default: " + f.DefValue + ")"
		}
		list = append(list, roffItem{Term: term, Text: strings.ToUpper(usage[:1]) + usage[1:] + "."})
	})
	return list
}
