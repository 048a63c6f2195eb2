package app

import (
	"slices"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm/loopfile"
)

// CatalogOnly returns the loops of the catalog whose names mean no loop of the project.
func CatalogOnly(l *project.Library, entries []loopfile.Entry) ([]loopfile.Entry, error) {
	if l.Project.Catalog == "" {
		return nil, nil
	}
	more, err := l.Files.List(l.Project.Catalog)
	if err != nil {
		return nil, engine.Refuse(engine.Usage, "%s=%s: %v", project.EnvCatalog, l.Project.Short(l.Project.Catalog),
			project.Cause(err))
	}
	own := make(map[string]bool, len(entries))
	for _, e := range entries {
		own[e.Name] = true
	}
	return slices.DeleteFunc(more, func(e loopfile.Entry) bool { return own[e.Name] }), nil
}
