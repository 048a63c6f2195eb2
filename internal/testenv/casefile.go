package testenv

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// noNewline ends the header of a file that does not end in a newline: "-- NAME (no newline at end) --".
const noNewline = " (no newline at end)"

// A CaseFile is one file of a case, by its slash-separated path.
type CaseFile struct {
	Name string
	Data []byte
}

// A Case is a txtar archive; its comment says what the case is about.
type Case struct {
	Name    string // of the archive, without its folder and extension
	Comment string
	Files   []CaseFile
}

// Cases reads all archives that match the pattern. There must be some.
func Cases(t testing.TB, pattern string) []*Case {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) == 0 {
		t.Fatalf("no case matches %s", pattern)
	}
	var cases []*Case
	for _, path := range paths {
		c, err := ReadCase(path)
		if err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	return cases
}

// ReadCase reads one archive.
func ReadCase(path string) (*Case, error) {
	ar, err := txtar.ParseFile(path)
	if err != nil {
		return nil, err
	}
	c := &Case{Name: strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)), Comment: string(ar.Comment)}
	for _, f := range ar.Files {
		name, cut := strings.CutSuffix(f.Name, noNewline)
		if cut {
			f.Data = bytes.TrimSuffix(f.Data, []byte("\n"))
		}
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			return nil, fmt.Errorf("%s: the file %q is outside the case", path, name)
		}
		c.Files = append(c.Files, CaseFile{Name: name, Data: f.Data})
	}
	return c, nil
}

// Text returns the content of a file, "" if the case has none with this name.
func (c *Case) Text(name string) string {
	for _, f := range c.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

// Folders returns the first elements of the paths of all files that lie in a folder, each once, in their order.
func (c *Case) Folders() []string {
	var names []string
	for _, f := range c.Files {
		if dir, _, ok := strings.Cut(f.Name, "/"); ok && (len(names) == 0 || names[len(names)-1] != dir) {
			names = append(names, dir)
		}
	}
	return names
}

// Unpack writes the files of a folder of the case to dir, with the old text replaced by the new one in each, unless
// old is empty.
func (c *Case) Unpack(t testing.TB, folder, dir, old, replacement string) {
	t.Helper()
	for _, f := range c.Files {
		rel, ok := strings.CutPrefix(f.Name, folder+"/")
		if !ok {
			continue
		}
		data := f.Data
		if old != "" {
			data = bytes.ReplaceAll(data, []byte(old), []byte(replacement))
		}
		path := filepath.Join(dir, filepath.FromSlash(rel))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
