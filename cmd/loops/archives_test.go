package main_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"loops/internal/testenv"
)

// looks are the commands that only look at runs, for a loop with this name.
func looks(name string) [][]string {
	return [][]string{
		{"status"},
		{"list", "--running"},
		{"status", name},
		{"history", name},
		{"history", name, "last"},
		{"explain", name},
		{"graph", name},
		{"logs", name},
		{"events", name},
		{"stats", name},
		{"diff", name, name},
		{"report", name, "-o", "page.html"},
	}
}

// spoilt are ways to damage the files of a run. None of them is an archive as little-loops left it.
var spoilt = []struct {
	name  string
	spoil func(path string, b []byte) []byte
}{
	{"whole", nil},
	{"torn", func(_ string, b []byte) []byte { return b[:2*len(b)/3] }},
	{"no-json", func(path string, b []byte) []byte {
		if strings.HasSuffix(path, "state.json") {
			return []byte("{not json")
		}
		return b
	}},
	{"no-events", func(path string, b []byte) []byte {
		if strings.HasSuffix(path, "events.jsonl") {
			return []byte("\x00\x00\n{\n")
		}
		return b
	}},
}

var (
	loopName = regexp.MustCompile(`"loop_name": "([^"]+)"`)
	blanks   = regexp.MustCompile(` {2,}`) // a column is as wide as what is in it today
	sinceNow = regexp.MustCompile(`\b\d+d\d\dh\b|\b\d+h\d\dm(\d\ds)?( ago)?`)
)

// Every archive that little-loops left is shown by every command that looks at runs, whole and damaged: what
// can be shown is, damage is named, nothing falls over, and nothing is changed. `make torture` damages each in
// every way; otherwise one of them is chosen for each.
func TestArchivesOfTheReference(t *testing.T) {
	t.Parallel()
	type tree struct {
		in     *testenv.Case
		folder string
	}
	var trees []tree
	for _, c := range testenv.Cases(t, conformance+"/dirs/*.txtar") {
		for _, folder := range c.Folders() {
			trees = append(trees, tree{c, folder})
		}
	}
	if len(trees) < 20 {
		t.Fatalf("only %d archives", len(trees))
	}
	for i, from := range trees {
		name := from.in.Name + "." + from.folder
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			hows := spoilt
			if !*torture && !testenv.Update() {
				hows = hows[:1:1]
				hows = append(hows, spoilt[1+i%(len(spoilt)-1)])
			}
			for _, how := range hows {
				work := t.TempDir()
				from.in.Unpack(t, from.folder, work, "", "")
				names := map[string]bool{}
				before := map[string]string{}
				must(t, filepath.WalkDir(filepath.Join(work, ".loops"),
					func(path string, e os.DirEntry, err error) error {
						if err != nil || !e.Type().IsRegular() {
							return err
						}
						b, err := os.ReadFile(path)
						if err != nil {
							return err
						}
						if m := loopName.FindSubmatch(b); m != nil && strings.HasSuffix(path, "state.json") {
							names[string(m[1])] = true
						}
						if how.spoil != nil &&
							(strings.HasSuffix(path, "state.json") || strings.HasSuffix(path, "events.jsonl")) {
							b = how.spoil(path, b)
						}
						before[path] = string(b)
						return os.WriteFile(path, b, 0o644)
					}))
				for _, name := range sortedNames(names) {
					for _, args := range looks(name) {
						fmt.Fprintf(&out, "== %s: loops %s\n", how.name, strings.Join(args, " "))
						text, code := look(work, args)
						fmt.Fprintf(&out, "%s[%d]\n", text, code)
						if strings.Contains(text, "goroutine ") || strings.Contains(text, "panic") {
							t.Errorf("%s: loops %s falls over: %s", how.name, strings.Join(args, " "), text)
						}
					}
				}
				for path, was := range before {
					if b, err := os.ReadFile(path); err != nil || string(b) != was {
						t.Errorf("%s: looking changed %s: %v", how.name, path, err)
					}
				}
			}
			file := filepath.Join("testdata", "archives", name+".out")
			if len(hows) == len(spoilt) {
				testenv.Golden(t, file, out.String())
				return
			}
			var want strings.Builder
			for part := range strings.SplitSeq(readText(t, file), "== ") {
				if how, _, _ := strings.Cut(part, ":"); part != "" && (how == hows[0].name || how == hows[1].name) {
					want.WriteString("== " + part)
				}
			}
			if d := testenv.Difference(out.String(), want.String()); d != "" {
				t.Errorf("%s has other lines; if the change is meant, rewrite it with -update\n%s", file, d)
			}
		})
	}
}

func sortedNames(m map[string]bool) (names []string) {
	for n := range m {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// shownLines is how many lines of an answer are kept, but for those of status.
const shownLines = 5

// look runs a command and returns what it says, with what differs from day to day replaced.
func look(dir string, args []string) (text string, code int) {
	var out bytes.Buffer
	code = view(&out, &out, dir, append(os.Environ(), "NO_COLOR=1", "TZ=UTC", "LC_ALL=C.UTF-8", "LOOPS_STORE=dir"),
		args)
	text = strings.ReplaceAll(out.String(), dir, "<WORK>")
	text = blanks.ReplaceAllString(sinceNow.ReplaceAllString(text, "<AGO>"), "  ")
	if lines := strings.SplitAfter(text, "\n"); args[0] != "status" && len(lines) > shownLines {
		text = fmt.Sprintf("%s(%d lines)\n", strings.Join(lines[:shownLines], ""), len(lines)-1)
	}
	return text, code
}
