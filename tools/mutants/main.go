// Command mutants takes rules out of the machine, one at a time, and reports which test notices.
//
//	mutants [-only TEXT] [-part N/OF] LIST    run in the root of the repository; LIST says how it is written
//
// The tree is not changed: the compiler gets the changed file in place of the real one (go test -overlay). It
// prints a table in Markdown. The exit code is 1 where a rule is missed by no test, and 2 where the list is
// wrong.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A mutant is a rule, and the lines without it.
type mutant struct {
	group, rule, file string
	old, new          []string
}

// packages are those whose tests may notice, in the order in which they are asked.
var packages = []string{"./fsm", "./fsm/simtest"}

func main() {
	only := flag.String("only", "", "the rules whose group, text or file contains this")
	part := flag.String("part", "1/1", "each OFth rule, from the Nth on, for several processes")
	flag.Parse()
	survived, err := run(flag.Arg(0), *only, *part)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(2)
	case survived > 0:
		fmt.Printf("\n%d rules are missed by no test.\n", survived)
		os.Exit(1)
	}
}

func run(list, only, part string) (survived int, err error) {
	var first, of int
	if _, err := fmt.Sscanf(part, "%d/%d", &first, &of); err != nil || first < 1 || first > of {
		return 0, fmt.Errorf("-part %s: want N/OF", part)
	}
	text, err := os.ReadFile(list)
	if err != nil {
		return 0, err
	}
	all, err := parse(string(text))
	if err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	fmt.Println("| group | rule | noticed by |\n|---|---|---|")
	for i, m := range all {
		if i%of != first-1 || !strings.Contains(m.group+m.rule+m.file, only) {
			continue
		}
		overlay, err := m.overlay(dir)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", m.rule, err)
		}
		by, err := noticed(overlay)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", m.rule, err)
		}
		if by == "" {
			by = "**nothing**"
			survived++
		}
		fmt.Printf("| %s | %s | %s |\n", m.group, m.rule, by)
	}
	return survived, nil
}

// parse reads the list. "# GROUP" begins a group. A rule is a line with its text, one with a file, lines that
// begin with "<" and are in that file once in this order, and lines that begin with ">" and take their place.
func parse(text string) (all []*mutant, err error) {
	group := ""
	var m *mutant
	for n, line := range strings.Split(text, "\n") {
		switch {
		case line == "" || strings.HasPrefix(line, "//"):
			m = nil
		case strings.HasPrefix(line, "# "):
			group, m = line[2:], nil
		case m == nil:
			m = &mutant{group: group, rule: line}
			all = append(all, m)
		case m.file == "":
			m.file = line
		case line[0] == '<':
			m.old = append(m.old, line[1:])
		case line[0] == '>':
			m.new = append(m.new, line[1:])
		default:
			return nil, fmt.Errorf("line %d begins with neither < nor >", n+1)
		}
	}
	return all, nil
}

// overlay writes the changed file, and what the compiler needs to take it.
func (m *mutant) overlay(dir string) (path string, err error) {
	text, err := os.ReadFile(m.file)
	if err != nil {
		return "", err
	}
	join := func(lines []string) string {
		if len(lines) == 0 {
			return "\n"
		}
		return "\n" + strings.Join(lines, "\n") + "\n"
	}
	if n := strings.Count(string(text), join(m.old)); n != 1 || len(m.old) == 0 {
		return "", fmt.Errorf("its lines are in %s %d times", m.file, n)
	}
	changed := filepath.Join(dir, "changed.go")
	if err := os.WriteFile(changed, []byte(strings.Replace(string(text), join(m.old), join(m.new), 1)), 0o600); err !=
		nil {
		return "", err
	}
	file, err := filepath.Abs(m.file)
	if err != nil {
		return "", err
	}
	b, err := json.Marshal(map[string]any{"Replace": map[string]string{file: changed}})
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, b, 0o600)
}

var failed = regexp.MustCompile(`(?m)^--- FAIL: (\S+)|^\s+(Test\w+)[^\n]* \(\d+m?\d*s\)$|^panic: (?:test )?(timed out)`)

// noticed names the tests that fail, up to three; "" = none does. The traces are asked first, because they take
// no time and notice most.
func noticed(overlay string) (string, error) {
	for _, p := range packages {
		binary := filepath.Join(filepath.Dir(overlay), "mutant.test")
		// without optimizing: most of the time goes into compiling
		out, err := exec.Command("go", "test", "-c", "-o", binary, "-overlay", overlay, "-vet=off",
			"-gcflags=loops/...=-N -l", p).CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("%w\n%s", err, out)
		}
		for _, tests := range []string{"^TestTraces$", "."} {
			cmd := exec.Command(binary, "-test.timeout=90s", "-test.run="+tests)
			cmd.Dir = p
			out, err := cmd.CombinedOutput()
			if err == nil {
				continue
			}
			if _, ended := errors.AsType[*exec.ExitError](err); !ended {
				return "", err
			}
			return strings.TrimPrefix(p, "./") + ": " + failures(string(out)), nil
		}
	}
	return "", nil
}

// failures names the tests that failed in an output, up to three.
func failures(out string) string {
	var names []string
	for _, m := range failed.FindAllStringSubmatch(out, -1) {
		if name := m[1] + m[2] + m[3]; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 { // the process of the tests ended: the stack names the test
		names = regexp.MustCompile(`\bTest[A-Z]\w+`).FindAllString(out, 1)
	}
	if more := len(names) - 3; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:3], ", "), more)
	}
	return strings.Join(names, ", ")
}
