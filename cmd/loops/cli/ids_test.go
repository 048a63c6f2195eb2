package cli

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	_ "modernc.org/sqlite" // the driver
)

// idCommands are all commands with RUN in their usage, each with a command line.
var idCommands = map[string]string{
	"answer":           "answer RUN yes",
	"attach":           "attach RUN",
	"cost":             "cost RUN --json",
	"diff":             "diff RUN RUN",
	"replay":           "replay RUN --json",
	"events":           "events RUN --json",
	"explain":          "explain RUN --json",
	"export":           "export RUN -o out.tar.zst --force",
	"extend":           "extend RUN steps=1",
	"fork":             "fork RUN --at 1 --dry-run",
	"graph":            "graph RUN --format mermaid",
	"history":          "history fix RUN --json",
	"logs":             "logs RUN",
	"pause":            "pause RUN",
	"promote-baseline": "promote-baseline RUN",
	"receipt":          "receipt RUN --json",
	"verify":           "verify RUN --json",
	"report":           "report RUN --format markdown -o -",
	"resume":           "resume RUN",
	"retry-now":        "retry-now RUN",
	"retry":            "retry RUN --dry-run",
	"rm":               "rm RUN", // last: the run is gone then
	"scrub":            "scrub RUN",
	"show":             "show RUN --json",
	"signal":           "signal RUN news",
	"status":           "status RUN --json",
	"stop":             "stop RUN",
	"undo":             "undo RUN",
	"unpause":          "unpause RUN",
	"watch":            "watch RUN --once",
}

// TestOneIDEverywhere: each command means the same run by its id, by a beginning of it that no other has, by
// the name that little-loops archives it under, and by last: it prints the same and ends with the same code.
func TestOneIDEverywhere(t *testing.T) {
	takes := map[string]bool{}
	completeVisit(newRootCommand(&program{}, ""), func(c *cobra.Command) {
		for _, place := range completePlacesOf(c) {
			if slices.Contains(strings.Split(strings.TrimSuffix(place, "..."), "|"), "RUN") {
				takes[strings.TrimPrefix(c.CommandPath(), "loops ")] = true
			}
		}
	})
	for name := range takes {
		if idCommands[name] == "" {
			t.Errorf("loops %s takes a run, and idCommands does not have it", name)
		}
	}
	for name := range idCommands {
		if !takes[name] {
			t.Errorf("loops %s takes no run", name)
		}
	}
	for _, store := range []string{"dir", "sqlite:.loops/runs.db"} {
		t.Run(store, func(t *testing.T) {
			dir := t.TempDir()
			for _, name := range []string{"fix", "other"} {
				text := fmt.Sprintf("name: %s\ndescription: one step\ninitial: a\nstates:\n"+
					"  a: {action: echo did, next: done}\n  done: {terminal: true}\n", name)
				if err := os.MkdirAll(filepath.Join(dir, ".loops"), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, ".loops", name+".yaml"), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			command := func(args ...string) (int, string) {
				var out, errs bytes.Buffer
				code := Main(args,
					IO{
						In: strings.NewReader(""), Out: &out, Err: &errs, Dir: dir,
						Env: []string{"LOOPS_STORE=" + store, "PATH=" + os.Getenv("PATH"), "HOME=" + dir},
					})
				return code, out.String() + errs.String()
			}
			idOf := func(of string) string {
				_, id := command("status", of, "--json", "--jq", ".instance_id")
				return strings.TrimSpace(id)
			}
			ran := func(loop string) string {
				if code, said := command("run", loop, "-q"); code != 0 {
					t.Fatalf("run %s: %d %s", loop, code, said)
				}
				return idOf(loop)
			}
			alone, older := ran("other"), ran("fix")
			newer := ran("fix") // last is this one, and not all of its loop
			if last := idOf("last"); last != newer || newer == older {
				t.Fatalf("the last run is %s, and was to be %s after %s", last, newer, older)
			}
			for _, name := range slices.Sorted(maps.Keys(idCommands)) {
				same := func(id, form string) {
					t.Helper()
					ask := func(run string) (int, string) {
						code, said := command(strings.Fields(strings.ReplaceAll(idCommands[name], "RUN", run))...)
						return code, steady(said, form, id)
					}
					code, want := ask(id)
					if got, said := ask(form); got != code || said != want {
						t.Errorf("loops %s by %s ends with %d and says\n%s\nby the id %s with %d and\n%s",
							idCommands[name], form, got, said, id, code, want)
					}
				}
				if name == "rm" {
					continue
				}
				same(newer, "last")
				same(newer, archiveName(t, newer))
				if name != "history" { // its loop is fix
					same(alone, alone[:len(alone)-3])
				}
			}
			if code, said := command("rm", archiveName(t, older)); code != 0 {
				t.Errorf("rm by the name in the archive: %d %s", code, said)
			}
			if code, said := command("rm", "last"); code != 0 {
				t.Errorf("rm last: %d %s", code, said)
			}
			for _, id := range []string{older, newer} {
				if code, said := command("status", id); code != 4 {
					t.Errorf("after rm run %s is there: %s", id, said)
				}
			}
			if got := idOf("last"); got != alone {
				t.Errorf("the last run is %s, want %s", got, alone)
			}
		})
	}
}

// archiveName is the name that little-loops archives a run under.
func archiveName(t *testing.T, id string) string {
	t.Helper()
	m := regexp.MustCompile(`^(.+)-(\d{4})(\d\d)(\d\d)T(\d{6})$`).FindStringSubmatch(id)
	if m == nil {
		t.Fatalf("a run has the id %q", id)
	}
	return m[2] + "-" + m[3] + "-" + m[4] + "T" + m[5] + "-" + m[1]
}

// steady is a text without what differs from one call to the next. Where it repeats what was written for the
// run it has the id.
func steady(text, form, id string) string {
	text = regexp.MustCompile(`\b`+regexp.QuoteMeta(form)+`\b`).ReplaceAllString(text, id)
	return regexp.MustCompile(`\d+(\.\d+)?(ms|s)\b ago|\bjust now\b|\d\d:\d\d:\d\d`).ReplaceAllString(text, "TIME")
}
