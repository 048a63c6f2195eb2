package project

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"loops/internal/humanize"
)

// FindFragments returns the file with fragments that a name means: a path, or a name below .loops or in the catalog. A
// [*LoopNotFoundError] has what may have been meant.
func FindFragments(p *Project, lib *Library, name string) (string, error) {
	path, err := lib.Find(name)
	if bare := strings.TrimSuffix(name, ".yaml"); err != nil && bare != name {
		if found, other := lib.Find(bare); other == nil {
			return found, nil
		}
	}
	if missing, ok := errors.AsType[*LoopNotFoundError](err); ok {
		return "", &LoopNotFoundError{Name: name, Tried: missing.Tried, Near: nearLibraries(p, name, missing.Near)}
	}
	return path, err
}

// Library is the text of the error for a library that was looked for.
func (e *LoopNotFoundError) Library() string {
	text := fmt.Sprintf("there is no library %q (looked for %s)", e.Name, strings.Join(e.Tried, ", "))
	if len(e.Near) > 0 {
		text += fmt.Sprintf("; did you mean %s?", strings.Join(e.Near, " or "))
	}
	return text
}

// nearLibraries returns which library may have been meant by a name, or else which of the loops, that are like it.
func nearLibraries(p *Project, name string, loops []string) []string {
	var bases, names []string
	for _, dir := range []string{p.Loops, p.Catalog} {
		found, _ := filepath.Glob(filepath.Join(dir, "lib", "*.yaml"))
		for _, path := range found {
			base := strings.TrimSuffix(filepath.Base(path), ".yaml")
			bases, names = append(bases, base), append(names, "lib/"+base)
		}
	}
	word := strings.TrimPrefix(strings.TrimSuffix(name, ".yaml"), "lib/")
	if slices.Contains(bases, word) {
		return []string{"lib/" + word}
	}
	if near := cmp.Or(humanize.Nearest(word, bases),
		strings.TrimPrefix(humanize.Nearest(name, names), "lib/")); near != "" {
		return []string{"lib/" + near}
	}
	return loops
}
