package main_test

import (
	"regexp"
	"strings"
	"testing"

	"loops/internal/app"
)

// The example shepherd is the pattern pull-request by another name: TestScript/pull_request runs that.
func TestExampleIsPattern(t *testing.T) {
	t.Parallel()
	c := struct{ name, pattern string }{name: "shepherd", pattern: "pull-request"}
	text, _ := app.PatternText(c.pattern, c.name)
	files := app.PatternParts(c.pattern, c.name)
	if files[c.name] = text; len(files) != 5 {
		t.Errorf("%d files", len(files))
	}
	commands := regexp.MustCompile(`loops run (` + c.name + `(?:/\w+)?) `)
	for name, text := range files {
		_, text, _ = strings.Cut(text, "\n#\n") // the schema
		want := commands.ReplaceAllString(text, "loops run "+examples+"/$1.yaml ")
		if got := readText(t, "../../"+examples+"/"+name+".yaml"); got != want {
			t.Errorf("%s.yaml is not what the pattern makes:\n%s\nwant\n%s", name, got, want)
		}
	}
}
