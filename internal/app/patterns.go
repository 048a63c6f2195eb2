package app

import (
	"embed"
	"io"
	"strings"
	"text/tabwriter"

	"loops/internal/api"
	"loops/internal/terminal"
)

// patternFiles are the loops that new starts from. Each has the name of its file and runs unchanged.
//
//go:embed patterns/*.yaml
var patternFiles embed.FS

// Tour is the pattern that shows a newcomer around; it changes nothing outside of the folder of its run.
const Tour = "tour"

// StarterNames are the patterns in the order in which a newcomer should meet them.
var StarterNames = []string{Tour, "fix-until-clean", "drive-a-metric", "keep-constraints", "sequence", "queue", "agent", "agent-with-judge"}

// PatternText returns the text of a pattern as a loop of that name.
func PatternText(from, name string) (string, bool) {
	data, err := patternFiles.ReadFile("patterns/" + from + ".yaml")
	if err != nil {
		return "", false
	}
	text := strings.Replace(string(data), "\nname: "+from+"\n", "\nname: "+scalar(name)+"\n", 1)
	for _, command := range []string{"loops run ", "loops resume "} {
		text = strings.ReplaceAll(text, command+from, command+name)
	}
	header := "# yaml-language-server: $schema=" + strings.Repeat("../", strings.Count(name, "/")) + schemaFile + "\n#\n"
	return header + text, true
}

// FirstCommand returns the first command line in the comments of a pattern.
func FirstCommand(text string) string {
	_, after, _ := strings.Cut(text, "\n#   ")
	line, _, _ := strings.Cut(after, "\n")
	return line
}

// scalar writes a name so that YAML reads it as text: 12, 1e3, null and yes would be something else.
func scalar(name string) string {
	word := strings.ToLower(name)
	switch word {
	case "null", "true", "false", "yes", "no", "on", "off", "y", "n":
		return `"` + name + `"`
	}
	if c := name[0]; c >= '0' && c <= '9' {
		return `"` + name + `"`
	}
	return name
}

// AboutStarter returns the description of a pattern.
func AboutStarter(name string) string {
	text, _ := PatternText(name, name)
	_, after, _ := strings.Cut(text, "\ndescription: ")
	about, _, _ := strings.Cut(after, "\n")
	return about
}

// ListStarters writes a line for each pattern.
func ListStarters(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	for _, name := range StarterNames {
		terminal.Say(w, "%s\t%s\n", name, AboutStarter(name))
	}
	return w.Flush()
}

// StarterObjects returns the patterns for a program.
func StarterObjects() []any {
	return terminal.List(StarterNames, func(name string) any { return api.Pattern{Pattern: name, About: AboutStarter(name)} })
}
