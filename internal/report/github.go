package report

import (
	"fmt"
	"io"
	"strings"

	"loops/fsm"
)

// GitHub writes the problems as workflow commands, which show as notes in the changed files of a pull request.
// Files are relative to the root.
func (p Problems) GitHub(w io.Writer) error {
	for _, pr := range p.List {
		if _, err := io.WriteString(w, Annotation(p.Root, pr)); err != nil {
			return err
		}
	}
	return nil
}

// Annotation is the workflow command, with its line end, for one problem in a file below root.
func Annotation(root string, pr fsm.Problem) string {
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
	return fmt.Sprintf("::%s %s::%s\n", pr.Severity, strings.Join(properties, ","), EscapeData(pr.Message))
}

// The escapes of the runner that reads workflow commands: % first, so that nothing is escaped twice.
var (
	dataEscapes     = [][2]string{{"%", "%25"}, {"\r", "%0D"}, {"\n", "%0A"}}
	propertyEscapes = append(dataEscapes[:len(dataEscapes):len(dataEscapes)],
		[][2]string{{":", "%3A"}, {",", "%2C"}}...)
)

// EscapeData is a text as the message of a workflow command.
func EscapeData(s string) string { return replaceAll(s, dataEscapes) }

func escapeProperty(s string) string { return replaceAll(s, propertyEscapes) }

func replaceAll(s string, by [][2]string) string {
	for _, r := range by {
		s = strings.ReplaceAll(s, r[0], r[1])
	}
	return s
}
