package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"loops/engine"
	"loops/engine/project"
	"loops/internal/humanize"
	"loops/internal/manual"
)

func newManCommand(a *app) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "man -o DIR",
		Short: "Write the manual pages",
		Long: `man writes a manual page for every command into a folder, which is made if need be: loops.1, loops-run.1 and so on. They
say what --help says. The same program writes the same bytes.

For man to find them they belong into a folder man1 of its path; "man -l FILE" shows one from anywhere.` + exitMeanings(
			exitMeaning{exitOK, "they are written"}, exitMeaning{exitFailed, "a page could not be written"}, exitMeaning{exitUsage, "bad command line"}),
		Example: `  loops man -o ~/.local/share/man/man1
  loops man -o /tmp/pages && man -l /tmp/pages/loops-run.1`,
		Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dir == "" {
				return usageError{"missing flag: -o DIR, the folder of the pages", "loops man --help"}
			}
			return runMan(a, cmd.Root(), dir)
		},
	}
	cmd.Flags().StringVarP(&dir, "output", "o", "", "write to `DIR`")
	return cmd
}

func runMan(a *app, root *cobra.Command, dir string) error {
	p, err := a.project()
	if err != nil {
		return err
	}
	path := dir
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.Cwd, path)
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return failure(engine.Failed, "the folder %s cannot be made: %v", dir, project.Cause(err))
	}
	pages := manPages(root)
	for _, page := range pages {
		var b bytes.Buffer
		name := fmt.Sprintf("%s.%d", page.Name, page.Section)
		err := page.Write(&b)
		if err == nil {
			err = os.WriteFile(filepath.Join(path, name), b.Bytes(), 0o644)
		}
		if err != nil {
			return failure(engine.Failed, "%s cannot be written to %s: %v", name, dir, project.Cause(err))
		}
	}
	fmt.Fprintf(a.out, "Wrote %s to %s.\n", humanize.Count(len(pages), "page"), dir)
	return nil
}

// manPages returns the page of every command that people type.
func manPages(root *cobra.Command) (pages []manual.Page) {
	root.InitDefaultHelpCmd()
	visitCommands(root, func(cmd *cobra.Command) {
		if cmd == root || cmd.IsAvailableCommand() || cmd.Name() == "help" {
			pages = append(pages, manPage(root, cmd))
		}
	})
	return pages
}

// manPage returns the page of one command: what its help says, in the parts that manual pages have.
func manPage(root, cmd *cobra.Command) manual.Page {
	cmd.InitDefaultHelpFlag()
	text, codes, _ := strings.Cut(cmd.Long, "\n\nExit codes:")
	page := manual.Page{
		Name: manName(cmd), Section: 1, Source: "loops " + buildVersion(), Title: "loops", Short: cmd.Short,
		Synopsis: []string{cmd.UseLine()}, Parts: []manual.Part{{Heading: "DESCRIPTION", Text: text}},
	}
	add := func(heading, text string, list []manual.Item) {
		if text != "" || len(list) > 0 {
			page.Parts = append(page.Parts, manual.Part{Heading: heading, Text: text, List: list})
		}
	}
	var below []manual.Item
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			below = append(below, manual.Item{Term: c.Name(), Text: c.Short + "."})
			page.See = append(page.See, manual.Reference{Name: manName(c), Section: 1})
		}
	}
	if len(below) > 0 && cmd != root {
		page.Synopsis = append(page.Synopsis, cmd.CommandPath()+" COMMAND")
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
		add("FILES", "", manFiles)
	} else {
		add("ENVIRONMENT", "The variables that loops reads are in loops(1).", nil)
		page.See = append([]manual.Reference{{Name: manName(cmd.Parent()), Section: 1}}, page.See...)
	}
	add("EXAMPLES", cmd.Example, nil)
	return page
}

func manName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manFiles are the files that people meet.
var manFiles = []manual.Item{
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
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if value != "" {
			name += " " + value
		}
		switch {
		case f.DefValue == "" || f.DefValue == "false" || f.DefValue == "0" || f.DefValue == "[]" || strings.Contains(usage, "default"):
		default:
			usage += " (default: " + f.DefValue + ")"
		}
		list = append(list, manual.Item{Term: name, Text: strings.ToUpper(usage[:1]) + usage[1:] + "."})
	})
	return list
}
