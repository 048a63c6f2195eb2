package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// differing are the flags that do not look the same on all commands that have them, and why they still mean one
// thing, or must mean two.
var differing = map[string]string{
	"all":         "nothing is left out; its short form is that of little-loops",
	"at":          "the step of a fork, the time of a run that is submitted: commands that have nothing in common",
	"check":       "goal: what has to pass; sign and upgrade: change nothing, and say whether all is as it should be",
	"definition":  "what a run continues with; resume takes only what was recorded",
	"force":       "a file or a record goes that would stay: with a short form where scripts of little-loops have it",
	"from":        "where something begins: a state, a pattern, a folder",
	"label":       "one of several, or all of several",
	"output":      "where to write: a file, or a folder for many",
	"permissions": "of agents",
	"queue":       "run waits in that of the project; submit and worker name one of the database",
}

// TestFlagsMeanOneThing: a flag has one short form, one kind of value and one name of it on all commands, and a
// short form is of one flag.
func TestFlagsMeanOneThing(t *testing.T) {
	looks, shorts := map[string]map[string][]string{}, map[string]map[string]bool{}
	completeVisit(newRootCommand(&program{}, ""), func(c *cobra.Command) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			value, _ := pflag.UnquoteUsage(f)
			look := fmt.Sprintf("%q %s %q", f.Shorthand, f.Value.Type(), value)
			if looks[f.Name] == nil {
				looks[f.Name] = map[string][]string{}
			}
			looks[f.Name][look] = append(looks[f.Name][look], c.CommandPath())
			if f.Shorthand != "" {
				if shorts[f.Shorthand] == nil {
					shorts[f.Shorthand] = map[string]bool{}
				}
				shorts[f.Shorthand][f.Name] = true
			}
		})
	})
	for _, name := range slices.Sorted(maps.Keys(looks)) {
		_, known := differing[name]
		switch several := len(looks[name]) > 1; {
		case several && !known:
			t.Errorf("--%s is not the same everywhere: %v", name, looks[name])
		case !several && known:
			t.Errorf("--%s is the same everywhere: remove it from differing", name)
		}
	}
	for name := range differing {
		if looks[name] == nil {
			t.Errorf("no command has --%s", name)
		}
	}
	for _, short := range slices.Sorted(maps.Keys(shorts)) {
		all := slices.Sorted(maps.Keys(shorts[short]))
		// -n counts rows; run and its like take it for little-loops, and do not show it.
		if all = slices.DeleteFunc(all, func(name string) bool { return name == "n" }); len(all) > 1 &&
			twice[short] != strings.Join(all, " ") {
			t.Errorf("-%s is short for %v", short, all)
		}
	}
}

// twice are short forms of two flags: rm -f as everywhere, and logs -f as tail has it.
var twice = map[string]string{"f": "follow force"}
