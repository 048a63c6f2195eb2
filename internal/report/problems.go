package report

import (
	"net/url"
	"path/filepath"
	"strings"

	"loops/fsm"
	"loops/fsm/lint"
)

// Problems are what is wrong with loop files.
type Problems struct {
	Root     string // the directory that files are relative to: that of the checkout
	List     []fsm.Problem
	Rules    []lint.Rule                 // those that problems name
	Help     func(rule lint.Rule) string // all there is to say about a rule
	Complete bool                        // every file could be checked
	Version  string                      // of this program
}

// inside returns a file relative to root, or as it is where it is elsewhere.
func inside(root, file string) string {
	if rel, err := filepath.Rel(root, file); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return file
}

// relativePath keeps a path whose first part has a colon from being taken for a scheme.
func relativePath(path string) string {
	if first, _, _ := strings.Cut(path, "/"); strings.Contains(first, ":") {
		return "./" + path
	}
	return path
}

func fileURI(path string) string {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
}
