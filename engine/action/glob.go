package action

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"loops/fsm/glob"
)

// mostMatches is how many paths a pattern may match, which is as many as a list has items.
const mostMatches = 1_000_000

// Glob returns the paths that match a pattern, each once, as [fsm.Files] says.
func (f Files) Glob(ctx context.Context, dir, pattern string) ([]string, error) {
	patterns, err := glob.Alternatives(pattern)
	if err != nil {
		return nil, err
	}
	g := globber{ctx: ctx, root: cmp.Or(f.path(dir), "."), found: map[string]bool{}}
	if _, err := os.Stat(g.root); err != nil {
		return nil, f.missing(err)
	}
	for _, p := range patterns {
		base, parts := "", strings.Split(p, "/")
		if strings.HasPrefix(p, "/") {
			base, parts = "/", parts[1:]
		}
		if err := g.walk(base, parts); err != nil {
			return nil, err
		}
	}
	if f.There != nil { // a folder that was moved meanwhile looks empty
		if err := f.There(); err != nil {
			return nil, err
		}
	}
	names := slices.Sorted(maps.Keys(g.found))
	for _, name := range names {
		if !utf8.ValidString(name) {
			return nil, fmt.Errorf("the name %q is not UTF-8, so it cannot be an item; rename it", name)
		}
	}
	return names, nil
}

// A globber collects the paths that match patterns. Paths are joined and never cleaned: the system resolves ..
// behind a link.
type globber struct {
	ctx   context.Context
	root  string
	found map[string]bool
}

// at returns where a path is that a pattern means.
func (g *globber) at(name string) string {
	switch {
	case name == "":
		return g.root
	case name[0] == '/':
		return name
	}
	return g.root + "/" + name
}

func (g *globber) add(name string) error {
	if g.found[name] = true; len(g.found) > mostMatches {
		return fmt.Errorf("more than %d paths match; divide the work among several runs", mostMatches)
	}
	return nil
}

// walk finds what matches parts below base, which is empty or ends with a slash.
func (g *globber) walk(base string, parts []string) error {
	part, rest := parts[0], parts[1:]
	last := len(rest) == 0
	switch {
	case part == "" && !last: // a second slash
		return g.walk(base, rest)
	case part == "": // a pattern that ends with a slash means folders, and links to them
		st, err := os.Stat(g.at(base))
		if err != nil || !st.IsDir() || base == "" {
			return tolerable(err)
		}
		return g.add(base)
	case part == "**" && !last && rest[0] == "**":
		return g.walk(base, rest)
	case part == "**":
		if last {
			rest = []string{""} // base itself
		}
		if err := g.walk(base, rest); err != nil {
			return err
		}
		return g.below(base, parts)
	}
	match, text, err := glob.Part(part)
	if err != nil {
		return err
	}
	if match == nil && !last {
		return g.walk(base+text+"/", rest)
	}
	if match == nil {
		if _, err := os.Lstat(g.at(base + text)); err != nil {
			return tolerable(err)
		}
		return g.add(base + text)
	}
	entries, err := g.read(base)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := entry.Name()
		switch {
		case strings.HasPrefix(name, ".") && !strings.HasPrefix(text, ".") || !match.MatchString(name):
		case last:
			err = g.add(base + name)
		case entry.IsDir() || entry.Type()&fs.ModeSymlink != 0:
			err = g.walk(base+name+"/", rest)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// below continues with ** in every folder below base that is neither hidden nor a link.
func (g *globber) below(base string, parts []string) error {
	entries, err := g.read(base)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := base + entry.Name()
		switch {
		case strings.HasPrefix(entry.Name(), "."):
			continue
		case len(parts) == 1:
			err = g.add(name)
		case entry.IsDir():
			err = g.walk(name+"/", parts[1:])
		}
		if err == nil && entry.IsDir() {
			err = g.below(name+"/", parts)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// read lists a folder. A path that does not exist or is no folder is empty.
func (g *globber) read(base string) ([]fs.DirEntry, error) {
	if err := g.ctx.Err(); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(g.at(base))
	return entries, tolerable(err)
}

// tolerable returns nil for errors that mean that no such path exists.
func tolerable(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP) {
		return nil
	}
	return err
}
