package loopfile

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// An Entry is one loop definition of a directory.
type Entry struct {
	Name       string   `json:"name"` // what [Resolve] takes: the path below the directory without .yaml
	Path       string   `json:"path"`
	Title      string   `json:"title"` // first line of the description
	Category   string   `json:"category,omitempty"`
	Labels     []string `json:"labels,omitempty"`
	Visibility string   `json:"visibility"`
	Problem    string   `json:"problem,omitempty"` // why it cannot run, as far as its top level shows
}

// Folders at the top of a loops directory that hold no definitions; those that begin with a dot hold none
// anywhere.
var notDefinitions = map[string]bool{"runs": true, "tmp": true, "lib": true, "baselines": true}

const maxFolders = 16 // inside each other

// List returns the loop definitions below loopsDir, sorted by name. It reads only the top level of each file
// and does not check the rest, so a file without a Problem may still not load. Files that define no loop, such
// as libraries of fragments, are left out. Links to folders are not followed. The error is that of reading
// loopsDir itself; it is an fs.ErrNotExist if there is no such directory.
func List(loopsDir string) ([]Entry, error) {
	var out []Entry
	if err := walk(loopsDir, "", 0, &out); err != nil {
		return nil, err
	}
	slices.SortFunc(out, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

func walk(root, rel string, depth int, out *[]Entry) error {
	items, err := os.ReadDir(filepath.Join(root, rel))
	if err != nil {
		return err
	}
	for _, item := range items {
		name := item.Name()
		at := filepath.Join(rel, name)
		if item.IsDir() {
			if strings.HasPrefix(name, ".") || depth == 0 && notDefinitions[name] || depth >= maxFolders {
				continue
			}
			// A folder that cannot be read hides its loops, not the others.
			_ = walk(root, at, depth+1, out)
			continue
		}
		base, ok := strings.CutSuffix(at, ".yaml")
		if !ok || strings.HasPrefix(name, ".") {
			continue
		}
		e := Entry{Name: filepath.ToSlash(base), Path: filepath.Join(root, at), Visibility: "public"}
		if describeFile(&e) {
			*out = append(*out, e)
		}
	}
	return nil
}

// IsLoop reports whether a file is meant to be a loop, as [List] does: one that cannot be read or parsed is, for somebody
// has to be told. A library of fragments is not.
func IsLoop(path string) bool { return describeFile(&Entry{Path: path}) }

// describeFile fills in what the file says about itself. It reports whether the file is meant to be a loop.
func describeFile(e *Entry) bool {
	data, err := read(e.Path)
	if err != nil {
		e.Problem = cause(e.Path, err)
		return true
	}
	h := scanHeader(data)
	if h == nil {
		h, e.Problem = parseHeader(e.Path, data)
		if h == nil {
			return true
		}
	}
	if !h.has("states") && !h.has("flow") && !h.has("initial") && !h.has("from") {
		return false
	}
	e.Title, _, _ = strings.Cut(strings.TrimSpace(h.text["description"]), "\n")
	e.Title = printable(strings.TrimSpace(e.Title))
	e.Category, e.Labels = h.text["category"], h.labels
	if v := h.text["visibility"]; v != "" {
		e.Visibility = v
	}
	if e.Problem == "" && !h.has("from") {
		var missing []string
		for _, k := range []string{"name", "initial"} {
			if !h.has(k) {
				missing = append(missing, k)
			}
		}
		if !h.has("states") && !h.has("flow") {
			missing = append(missing, "states")
		}
		if missing != nil {
			e.Problem = "lacks " + and(missing)
		}
	}
	return true
}

// cause is the reason of an error without the path, which a listing shows anyway.
func cause(path string, err error) string {
	if pe, ok := err.(*os.PathError); ok {
		return "cannot be read: " + pe.Err.Error()
	}
	return strings.TrimPrefix(strings.TrimPrefix(err.Error(), path+" "), "is ")
}
