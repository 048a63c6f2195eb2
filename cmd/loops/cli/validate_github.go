package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"loops/fsm"
)

// writeGitHub writes what was found as workflow commands, which show as notes in the changed files of a pull request.
// Files are relative to root, the directory of the checkout.
func writeGitHub(w io.Writer, root string, r report) {
	for _, c := range r.files {
		if c.failure != nil {
			writeGitHubProblem(w, root, failureProblem(c))
		}
	}
	for _, pr := range r.problems {
		writeGitHubProblem(w, root, pr)
	}
}

func writeGitHubProblem(w io.Writer, root string, pr fsm.Problem) {
	var properties []string
	property := func(key, value string) { properties = append(properties, key+"="+escapeProperty(value)) }
	if pr.Pos.File != "" {
		property("file", inside(root, pr.Pos.File))
	}
	if pr.Pos.Line > 0 {
		property("line", fmt.Sprint(pr.Pos.Line))
		property("col", fmt.Sprint(max(1, pr.Pos.Col)))
	}
	property("title", pr.Rule)
	fmt.Fprintf(w, "::%s %s::%s\n", pr.Severity, strings.Join(properties, ","), escapeData(pr.Message))
}

// inside returns a file relative to root, or as it is where it is elsewhere.
func inside(root, file string) string {
	if rel, err := filepath.Rel(root, file); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return file
}

// The escapes of the runner that reads workflow commands: % first, so that nothing is escaped twice.
var (
	dataEscapes     = [][2]string{{"%", "%25"}, {"\r", "%0D"}, {"\n", "%0A"}}
	propertyEscapes = append(dataEscapes[:len(dataEscapes):len(dataEscapes)], [][2]string{{":", "%3A"}, {",", "%2C"}}...)
)

func escapeData(s string) string     { return replaceAll(s, dataEscapes) }
func escapeProperty(s string) string { return replaceAll(s, propertyEscapes) }

func replaceAll(s string, by [][2]string) string {
	for _, r := range by {
		s = strings.ReplaceAll(s, r[0], r[1])
	}
	return s
}
