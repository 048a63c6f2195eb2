package app

import (
	"embed"
	"io"
	"path"
	"strings"
	"text/tabwriter"

	"loops/internal/api"
	"loops/internal/terminal"
)

// patternFiles are the loops that new starts from. Each has the name of its file and runs unchanged.
//
//go:embed patterns/*.yaml patterns/*/*.yaml
var patternFiles embed.FS

// Tour is the pattern that shows a newcomer around; it changes nothing outside of the folder of its run.
const Tour = "tour"

// StarterNames are the patterns in the order in which a newcomer should meet them.
var StarterNames = []string{
	Tour, "fix-until-clean", "drive-a-metric", "keep-constraints", "sequence", "queue",
	"agent", "agent-with-judge", "pull-request",
}

// PatternText returns the text of a pattern as a loop of that name.
func PatternText(from, name string) (string, bool) {
	data, err := patternFiles.ReadFile("patterns/" + from + ".yaml")
	if err != nil {
		return "", false
	}
	text := strings.Replace(string(data), "\nname: "+from+"\n", "\nname: "+scalar(name)+"\n", 1)
	text = renamedPattern(text, from, name)
	return schemaLine(name) + text, true
}

// schemaLine begins a loop of a name: editors find the schema by it.
func schemaLine(name string) string {
	return "# yaml-language-server: $schema=" + strings.Repeat("../", strings.Count(name, "/")) + schemaFile + "\n#\n"
}

// renamedPattern has the commands and sub-loops of a text name a loop with another name, beside which its parts are.
func renamedPattern(text, from, name string) string {
	for _, command := range []string{"loops run ", "loops resume ", "loops undo "} {
		text = strings.ReplaceAll(text, command+from, command+name)
	}
	return strings.ReplaceAll(text, "\n    loop: "+from+"/", "\n    loop: "+path.Base(name)+"/")
}

// PatternParts returns the loops that a pattern runs, as texts by their names, for a loop of that name.
func PatternParts(from, name string) map[string]string {
	files, err := patternFiles.ReadDir("patterns/" + from)
	if from == "" || err != nil {
		return nil // it has none
	}
	parts := map[string]string{}
	for _, f := range files {
		data, err := patternFiles.ReadFile("patterns/" + from + "/" + f.Name())
		if err == nil {
			part := name + "/" + strings.TrimSuffix(f.Name(), ".yaml")
			parts[part] = schemaLine(part) + renamedPattern(string(data), from, name)
		}
	}
	return parts
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
	return terminal.List(StarterNames, func(name string) any {
		return api.Pattern{Pattern: name, About: AboutStarter(name)}
	})
}
