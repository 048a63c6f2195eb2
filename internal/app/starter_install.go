package app

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"loops/engine"
	"loops/engine/project"
	"loops/fsm"
	"loops/fsm/loopfile"
)

// A CopiedExample is a loop of the catalog that was copied into a project.
type CopiedExample struct{ From, To string }

// An IncompleteError says that a copy would miss what is beside the original. Nothing was written.
type IncompleteError struct {
	Original string
	Problems []fsm.Problem // of the copy
}

func (e *IncompleteError) Error() string {
	return fmt.Sprintf("a copy would miss the files beside %s; install those first, then this one; "+
		"nothing was written", e.Original)
}

// InCatalog returns the file of the loop of the catalog that has exactly this name, whether or not the project
// has one of that name.
func InCatalog(p *project.Project, name string) (string, error) {
	if _, err := p.Library(); err != nil { // a catalog that is not there
		return "", err
	}
	if p.Catalog == "" {
		return "", engine.Refuse(engine.Usage,
			"there is no catalog: set %s, or catalog in .loops/config.yaml; see: %s", project.EnvCatalog,
			engine.Do("help environment", ""))
	}
	catalog := &loopfile.Loader{Loops: p.Catalog}
	if file := catalog.Named(name); file != "" {
		return file, nil
	}
	near := ""
	// a file that is no loop
	names := slices.DeleteFunc(catalog.Near(name, p.Catalog), func(n string) bool { return n == name })
	if base := strings.TrimSuffix(name, ".yaml"); base != name && catalog.Named(base) != "" {
		names = []string{base}
	}
	if len(names) > 0 {
		near = "; did you mean " + strings.Join(names, " or ") + "?"
	}
	return "", engine.Refuse(engine.NotFound, "there is no loop %q in the catalog %s%s", name, p.Short(p.Catalog), near)
}

// InstallExample copies the file of a loop of the catalog to the same place below the project's .loops.
func InstallExample(p *project.Project, name string) (CopiedExample, error) {
	from, err := InCatalog(p, name)
	if err != nil {
		return CopiedExample{}, err
	}
	if there := (&loopfile.Loader{Loops: p.Loops}).Named(name); there != "" {
		return CopiedExample{}, engine.Refuse(engine.Failed, "there is a loop %s: %s; nothing was written", name,
			p.Short(there))
	}
	below, err := filepath.Rel(p.Catalog, from)
	if err != nil {
		return CopiedExample{}, err
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return CopiedExample{}, project.Unreadable(p, from, err)
	}
	c := CopiedExample{from, filepath.Join(p.Loops, below)}
	if err := write(p, c.To, string(text)); err != nil {
		return CopiedExample{}, err
	}
	return c, c.check(p)
}

// check removes a copy that is not valid where its original is: it misses what is beside that one.
func (c CopiedExample) check(p *project.Project) error {
	original, err := project.NewLibrary(p).Load(c.From)
	if err != nil || original.Loop == nil {
		return nil //nolint:nilerr // a copy is not better, and is there to be edited
	}
	copied, err := project.NewLibrary(p).Load(c.To)
	if err == nil && copied.Loop != nil {
		return nil
	}
	if gone := os.Remove(c.To); err == nil {
		err = gone
	}
	if err != nil {
		return project.Unreadable(p, c.To, err)
	}
	lacks := &IncompleteError{Original: p.Short(c.From), Problems: copied.All()}
	return &engine.Refusal{Kind: engine.Invalid, Text: engine.Text{Format: "%s", Args: []any{lacks}}, Err: lacks}
}
