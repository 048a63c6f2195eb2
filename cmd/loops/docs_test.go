package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"loops/internal/testenv"
)

// An example is one YAML block of a page, with what is around it.
type example struct {
	line  int    // of the page
	file  string // named above the block; "" is .loops/NAME.yaml
	text  string
	wants []string // the lines behind the block that begin with an arrow, without it
}

var (
	fileLine    = regexp.MustCompile("^`([^` ]+[./][^` ]+)`:$")
	nameLine    = regexp.MustCompile(`(?m)^name: ([a-z-]+)$`)
	warningLine = regexp.MustCompile(`(?m)^.*: warning: .*\[([a-z-]+)\]$`)
	wantLine    = regexp.MustCompile("^(?:`loops (run [^`]+)`: )?`([^`]+)`, exit code ([0-9]+)(?:; prints `([^`]+)`)?$")
)

// pageBlocks returns the YAML blocks of a page, in order.
func pageBlocks(t *testing.T, page string) []example {
	t.Helper()
	var list []example
	above := ""
	var open *example
	for i, line := range strings.Split(readText(t, page), "\n") {
		switch {
		case open != nil && line == "```":
			list = append(list, *open)
			open, above = nil, "```"
		case open != nil:
			open.text += line + "\n"
		case strings.HasPrefix(line, "```yaml"):
			if line != "```yaml" {
				t.Errorf("%s:%d: %s", page, i+1, line)
			}
			open = &example{line: i + 1}
			if m := fileLine.FindStringSubmatch(above); m != nil {
				open.file = m[1]
			}
		case line == "":
		default:
			if want, ok := strings.CutPrefix(line, "→ "); ok && above == "```" && len(list) > 0 {
				list[len(list)-1].wants = append(list[len(list)-1].wants, want)
				continue
			}
			above = line
		}
	}
	return list
}

func TestLanguagePages(t *testing.T) {
	pages, err := filepath.Glob("../../docs/language/*.md")
	must(t, err)
	runPages(t, 25, pages...)
}

func TestAgentsPage(t *testing.T) { runPages(t, 3, "../../docs/agents.md") }

// runPages runs every YAML block of pages, of which there are so many at least. A block with a file name above it is
// written to that file for the next block that says how its run ends.
func runPages(t *testing.T, least int, pages ...string) {
	t.Helper()
	files := map[string]string{}
	n := 0
	for _, page := range pages {
		for _, e := range pageBlocks(t, page) {
			name := nameLine.FindStringSubmatch(e.text)
			switch {
			case e.file != "":
			case name == nil:
				t.Errorf("%s:%d: a block that is no loop needs the name of its file above it", page, e.line)
				continue
			default:
				e.file = ".loops/" + name[1] + ".yaml"
			}
			files[e.file] = e.text
			if e.wants == nil {
				continue
			}
			n++
			all := files
			files = map[string]string{}
			t.Run(fmt.Sprintf("%s line %d %s", filepath.Base(page), e.line, filepath.Base(e.file)), func(t *testing.T) {
				t.Parallel()
				for _, want := range e.wants {
					e.run(t, all, want)
				}
			})
		}
	}
	if len(files) > 0 {
		t.Errorf("%v: files that no loop uses: %v", pages, files)
	}
	if n < least {
		t.Errorf("%v: only %d examples", pages, n)
	}
}

// run does what the line behind a block says, in a project of its own that is a git repository.
func (e example) run(t *testing.T, files map[string]string, want string) {
	bin, dir := binary(t), t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(text), 0o644))
	}
	call := func(program string, args ...string) (string, int) {
		ctx, cancel := context.WithTimeout(t.Context(), testenv.Patience)
		defer cancel()
		cmd := exec.CommandContext(ctx, program, args...)
		var out, errs bytes.Buffer
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &errs
		cmd.Env = append(cleanEnv(bin, dir), "PATH="+filepath.Dir(bin)+string(os.PathListSeparator)+os.Getenv("PATH"))
		_ = cmd.Run() // how it ended is read from ProcessState
		if errs.Len() > 0 {
			t.Logf("%s %s:\n%s", filepath.Base(program), strings.Join(args, " "), errs.String())
		}
		return out.String(), int(exitCode(cmd.ProcessState))
	}
	for _, args := range [][]string{{"init", "-q"}, {"commit", "-q", "--allow-empty", "-m", "first"}} {
		if _, code := call("git", args...); code != 0 {
			t.Fatalf("git %v exits with %d", args, code)
		}
	}

	out, errs, code := answer(t, dir, cleanEnv(bin, dir), "validate", e.file)
	out += errs
	for _, m := range warningLine.FindAllStringSubmatch(out, -1) {
		if !strings.Contains(m[0], "[matches-nothing]") { // a page has no files
			t.Errorf("line %d: %s", e.line, m[0])
		}
	}
	if strings.HasPrefix(want, "checked only: ") {
		if code != 0 {
			t.Errorf("line %d: validate exits with %d", e.line, code)
		}
		return
	}
	m := wantLine.FindStringSubmatch(want)
	if m == nil {
		t.Fatalf("line %d: what is expected of %q?", e.line, want)
	}
	args := []string{"run", e.file}
	if m[1] != "" {
		args = words(m[1])
	}
	out, code = call(bin, append(args, "--json")...)
	final, printed := outcome(t, out)
	if final != m[2] || strconv.Itoa(code) != m[3] {
		t.Errorf("line %d: ends in %s with exit code %d, and the page says: %s", e.line, final, code, want)
	}
	if !strings.Contains(printed, m[4]) {
		t.Errorf("line %d: prints\n%s\nand not %s", e.line, printed, m[4])
	}
}

// words splits a command line as a shell would, as far as the page needs it.
func words(line string) []string {
	var list []string
	for _, m := range regexp.MustCompile(`"([^"]*)"|\S+`).FindAllStringSubmatch(line, -1) {
		if strings.HasPrefix(m[0], `"`) {
			list = append(list, m[1])
		} else {
			list = append(list, m[0])
		}
	}
	return list
}

// outcome reads the events of a run: its final state, and all that its actions printed.
func outcome(t *testing.T, events string) (final, printed string) {
	t.Helper()
	for line := range strings.Lines(events) {
		var ev struct {
			Event, Line string
			Final       string `json:"final_state"`
			Depth       int
		}
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		switch ev.Event {
		case "action_output":
			printed += ev.Line + "\n"
		case "loop_complete":
			if ev.Depth == 0 {
				final = ev.Final
			}
		}
	}
	return final, printed
}
