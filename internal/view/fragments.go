package view

import (
	"io"
	"strings"

	"loops/fsm/loopfile"
	"loops/internal/api"
	"loops/internal/humanize"
	"loops/internal/terminal"
)

// WriteFragments writes a table of the fragments of a library.
func WriteFragments(out io.Writer, list []loopfile.LibraryFragment) {
	rows := [][]string{{"FRAGMENT", "DOES", "PARAMETERS", "DESCRIPTION"}}
	for _, f := range list {
		rows = append(rows,
			[]string{
				f.Name, f.Does, strings.Join(parameterNames(f), ", "),
				humanize.FirstLine(strings.TrimSpace(f.Description)),
			})
	}
	terminal.WriteTable(out, rows)
}

// Fragments returns the fragments of a library.
func Fragments(list []loopfile.LibraryFragment) []api.Fragment { return each(list, fragment) }

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

func fragment(f loopfile.LibraryFragment) api.Fragment {
	o := api.Fragment{Name: f.Name, Does: api.Text(f.Does), Description: api.Text(strings.TrimSpace(f.Description))}
	for _, p := range f.Parameters {
		o.Parameters = append(o.Parameters, api.Pair[api.FragmentParameter]{
			Key: p.Name, Value: api.FragmentParameter{
				Type: p.Type, Required: p.Required, Default: p.Default,
				Description: api.Text(p.Description),
			},
		})
	}
	return o
}
