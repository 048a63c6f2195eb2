package api

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestRequestsAreRead compares the keys of requests with those that the server reads: a key that is accepted
// and ignored is a fault.
func TestRequestsAreRead(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../web/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	var code strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(file, "_test.go") {
			code.Write(text)
		}
	}
	for _, o := range Requests {
		s, err := o.Schema()
		if err != nil {
			t.Fatal(err)
		}
		for key, of := range s.Properties {
			if of.Type == "object" { // its values are read by a prefix
				continue
			}
			if !slices.ContainsFunc([]string{"f", "given"}, func(v string) bool {
				return strings.Contains(code.String(), v+`["`+key+`"]`)
			}) {
				t.Errorf("%s of %s is read nowhere", key, o.Command)
			}
		}
	}
}
