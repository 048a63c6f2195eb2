package view

import (
	"io"
	"strings"

	"loops/fsm/loopfile"
	"loops/fsm/value"
	"loops/internal/humanize"
	"loops/internal/terminal"
)

// WriteFragments writes a table of the fragments of a library.
func WriteFragments(out io.Writer, list []loopfile.LibraryFragment) {
	rows := [][]string{{"FRAGMENT", "DOES", "PARAMETERS", "DESCRIPTION"}}
	for _, f := range list {
		rows = append(rows, []string{f.Name, f.Does, strings.Join(parameterNames(f), ", "), humanize.FirstLine(strings.TrimSpace(f.Description))})
	}
	terminal.WriteTable(out, rows)
}

// FragmentObjects are the fragments of a library as JSON.
func FragmentObjects(list []loopfile.LibraryFragment) []any {
	return terminal.List(list, fragmentObject)
}

// parameterNames are the parameters of a fragment, with a star behind those that are required.
func parameterNames(f loopfile.LibraryFragment) (names []string) {
	for _, p := range f.Parameters {
		name := p.Name
		if p.Required {
			name += "*"
		}
		names = append(names, name)
	}
	return names
}

func fragmentObject(f loopfile.LibraryFragment) any {
	parameters := value.NewMap()
	for _, p := range f.Parameters {
		parameters.Set(p.Name, value.NewMap("type", p.Type, "required", p.Required, "default", p.Default, "description", terminal.OrNull(p.Description)))
	}
	return value.NewMap("name", f.Name, "does", terminal.OrNull(f.Does), "description", terminal.OrNull(strings.TrimSpace(f.Description)), "parameters", parameters)
}
