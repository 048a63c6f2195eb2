package view

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"loops/fsm"
	"loops/fsm/lint"
	"loops/internal/humanize"
	"loops/internal/terminal"
)

// The rules of validate itself, about files that are not read at all.
const (
	RuleNotFound   = "not-found"
	RuleUnreadable = "unreadable"
	ruleProject    = "project-file"
)

var ownRules = []lint.Rule{
	{
		Name: RuleNotFound, Severity: fsm.SeverityError, Summary: "There is no loop, file or folder of this name.",
		Why: "A name is looked for in .loops as NAME.fsm.yaml and NAME.yaml, then in the folder that the " +
			"environment variable LOOPS_CATALOG names. " +
			"What has a slash or ends in .yaml is first taken as a path from the working directory.",
	},
	{
		Name: ruleProject, Severity: fsm.SeverityError,
		Summary: "The project's config.yaml or prices.yaml has a mistake.",
		Why: "These files in .loops declare agents and prices for every loop. While one of them has a mistake no " +
			"loop of the project starts.",
	},
	{
		Name: RuleUnreadable, Severity: fsm.SeverityError, Summary: "The file cannot be read as a loop.",
		Why: "It is a folder, a pipe or a device, it is larger than 16 MiB, or this user may not read it. A link " +
			"that leads to itself or nowhere cannot be read either.",
	},
}

// RuleList returns every rule that validate can name, by name.
func RuleList() []lint.Rule {
	all := slices.Concat(lint.Rules(), ownRules)
	slices.SortFunc(all, func(a, b lint.Rule) int { return cmp.Compare(a.Name, b.Name) })
	return slices.CompactFunc(all, func(a, b lint.Rule) bool { return a.Name == b.Name })
}

// PrintRules writes a line for each rule.
func PrintRules(out io.Writer) {
	terminal.SayLine(out, "What loops validate looks for. An error keeps a loop from running, a warning does not.")
	terminal.SayLine(out, "loops help rule NAME says what one means, how to silence it, and shows an example.")
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	for _, r := range RuleList() {
		terminal.Say(w, "%s\t%s\t%s\n", r.Name, r.Severity, r.Summary)
	}
	w.Flush() //nolint:errcheck // a sink never fails
}

// RuleText says all there is to say about a rule.
func RuleText(r lint.Rule) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s)\n\n%s\n\n%s\n\n", r.Name, r.Severity, Fold(r.Summary, 100), Fold(r.Why, 100))
	if r.Optional {
		b.WriteString("It is a style rule, so only \"loops validate --all\" reports it.\n")
	} else if r.Flag != "" {
		fmt.Fprintf(&b, "To silence it, write this at the top level of the loop file:\n\n    %s: true\n", r.Flag)
	} else if !strings.Contains(r.Why, "_ok: true") { // a flag for a part of it
		b.WriteString("It cannot be silenced.\n")
	}
	for _, example := range [][2]string{{"This has it", r.Bad}, {"This does not", r.Good}} {
		if example[1] != "" {
			fmt.Fprintf(&b, "\n%s:\n\n%s", example[0], indented(example[1]))
		}
	}
	return b.String()
}

// Fold breaks the lines of paragraphs at so many characters. Paragraphs that begin with "- " or with blanks
// stay as they are.
func Fold(text string, width int) string {
	var out []string
	for paragraph := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(paragraph, "- ") || strings.HasPrefix(paragraph, " ") {
			out = append(out, paragraph)
			continue
		}
		line := ""
		for _, word := range strings.Fields(paragraph) {
			if line != "" && humanize.Width(line)+1+humanize.Width(word) > width {
				out = append(out, line)
				line = ""
			}
			if line != "" {
				line += " "
			}
			line += word
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// indented puts four blanks in front of every line that has text.
func indented(text string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		if line != "" {
			line = "    " + line
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}
