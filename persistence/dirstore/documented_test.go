package dirstore

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// docs/files.md was behind the program: twelve keys of state.json were not in it.
func TestEveryKeyIsDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/files.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(page), "\n## state.json\n")
	section, _, _ := strings.Cut(rest, "\n## ")
	if !ok {
		t.Fatal("docs/files.md has no section state.json")
	}
	named := map[string]bool{}
	for _, m := range regexp.MustCompile("`([a-z_0-9]+)`").FindAllStringSubmatch(section, -1) {
		named[m[1]] = true
	}
	keys := []string{}
	for _, slot := range layout {
		keys = append(keys, slot.key)
		for _, k := range slot.behind {
			keys = append(keys, k.key)
		}
	}
	for _, key := range append(keys, "check") {
		if !named[key] {
			t.Errorf("docs/files.md does not name the key %s of state.json", key)
		}
	}
}
