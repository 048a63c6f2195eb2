// Command mutants takes rules out of the machine, one at a time, and reports which test notices.
//
//	mutants [-only TEXT] [-from N] [-to N] LIST    run in the root of the repository; LIST says how it is written
//
// All rules are in one build: each function that lacks a rule stands beside the whole one, and an environment
// variable says which of them is called. The tree is not changed (go test -overlay).
//
// It prints a table in Markdown. A rule is noticed when a test fails, and fails again alone. Tests that the time
// limit cuts off are run again, alone and for longer; a test that does not end then is reported apart. The exit
// code is 1 where a rule is missed by all tests, and 2 where the list is wrong.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A mutant is a rule, and the lines without it.
type mutant struct {
	group, rule, file string
	old, new          []string
}

// packages are those whose tests may notice, in the order in which they are asked.
var packages = []string{"./fsm", "./fsm/simtest"}

// The time limits of a test binary: of the first run, and of one test that was cut off by that.
var (
	firstLimit = flag.Duration("limit", 90*time.Second, "the time limit of all tests of a package")
	aloneLimit = flag.Duration("alone", 5*time.Minute, "that of one test, alone, which the first limit cut off")
)

func main() {
	only := flag.String("only", "", "the rules whose group, text or file contains this")
	from := flag.Int("from", 1, "the first rule, by its place in the list")
	to := flag.Int("to", 1<<30, "the last rule, by its place in the list")
	flag.Parse()
	n, err := run(flag.Arg(0), func(i int, m *mutant) bool {
		return i >= *from && i <= *to && strings.Contains(m.group+m.rule+m.file, *only)
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(2)
	}
	fmt.Printf("\n%d rules: a test fails without %d of them, a test does not end without %d, and %d are missed.\n",
		n.noticed+n.endless+n.missed, n.noticed, n.endless, n.missed)
	if n.missed > 0 {
		os.Exit(1)
	}
}

// A count has how many rules were noticed by a test that failed or did not end, or by none.
type count struct{ noticed, endless, missed int }

func run(list string, wanted func(int, *mutant) bool) (n count, err error) {
	text, err := os.ReadFile(list)
	if err != nil {
		return n, err
	}
	all, err := parse(string(text))
	if err != nil {
		return n, err
	}
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return n, err
	}
	defer os.RemoveAll(dir)
	overlay, err := overlay(dir, all)
	if err != nil {
		return n, err
	}
	var suites []*suite
	for _, p := range packages {
		s := &suite{dir: p, binary: filepath.Join(dir, strings.ReplaceAll(p[2:], "/", "-")+".test")}
		build := exec.Command("go", "test", "-c", "-o", s.binary, "-overlay", overlay, "-vet=off", p)
		out, err := build.CombinedOutput()
		if err != nil {
			return n, fmt.Errorf("%w\n%s", err, out)
		}
		if r := s.run(0, ".", "", *firstLimit); !r.passed {
			return n, fmt.Errorf("%s fails with all rules:\n%s", p, r.out)
		}
		suites = append(suites, s)
	}
	fmt.Println("| # | group | rule | noticed by |\n|---|---|---|---|")
	for i, m := range all {
		if !wanted(i+1, m) {
			continue
		}
		by, endless := noticed(suites, i+1)
		switch {
		case by != "":
			n.noticed++
		case endless != "":
			n.endless++
			by = "*does not end:* " + endless
		default:
			n.missed++
			by = "**nothing**"
		}
		fmt.Printf("| %d | %s | %s | %s |\n", i+1, m.group, m.rule, by)
	}
	return n, nil
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

// noticed names the tests that fail without a rule, up to three. endless names those that do not end, where none
// fails. The traces are asked first, because they take no time and notice most.
func noticed(suites []*suite, rule int) (by, endless string) {
	var cut []string
	for _, s := range suites {
		var skip, late []string // that failed once, and that were cut off
		for _, tests := range []string{"^TestTraces$", ".", ".", "."} {
			r := s.run(rule, tests, pattern(append(skip, late...)), *firstLimit)
			if again := s.again(rule, r.failed); len(again) > 0 {
				return name(s.dir, again), ""
			}
			skip, late = append(skip, r.failed...), append(late, r.cut...)
			if tests == "." && r.passed {
				break
			}
		}
		for _, test := range late { // other tests may have taken the time
			r := s.run(rule, pattern([]string{test}), "", *aloneLimit)
			if len(r.failed) > 0 {
				return name(s.dir, r.failed), ""
			}
			if len(r.cut) > 0 {
				cut = append(cut, test)
			}
		}
	}
	if len(cut) > 0 {
		return "", name("", cut)
	}
	return "", ""
}

// again returns which tests that failed fail again alone, in one of three runs: on a busy machine a test may have
// failed by its own fault, and where a process ended, only one of those that were at work ended it.
func (s *suite) again(rule int, tests []string) (failed []string) {
	for _, test := range tests {
		for range 3 {
			if r := s.run(rule, pattern([]string{test}), "", *firstLimit); len(r.failed) > 0 {
				failed = append(failed, test)
				break
			}
		}
	}
	return failed
}

// pattern matches exactly these tests; "" = there are none.
func pattern(tests []string) string {
	if len(tests) == 0 {
		return ""
	}
	return "^(" + strings.Join(tests, "|") + ")$"
}

// name lists tests, up to three.
func name(dir string, tests []string) string {
	slices.Sort(tests)
	tests = slices.Compact(tests)
	more := ""
	if n := len(tests) - 3; n > 0 {
		tests, more = tests[:3], fmt.Sprintf(" and %d more", n)
	}
	text := strings.Join(tests, ", ") + more
	if dir != "" {
		text = strings.TrimPrefix(dir, "./") + ": " + text
	}
	return text
}

// A suite is the built tests of a package.
type suite struct{ dir, binary string }

// A report is what a run of tests printed, which of them failed, and which were cut off by the time limit.
type report struct {
	passed      bool
	failed, cut []string
	out         string
}

var (
	failure  = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)
	timedOut = regexp.MustCompile(`(?m)^panic: test timed out|^fatal error: .*out of memory|^runtime: out of memory`)
	running  = regexp.MustCompile(`(?m)^\s+(Test\w+)[^\n]* \([^\n]*s\)$`)
	progress = regexp.MustCompile(`(?m)^(=== RUN |=== CONT|=== PAUSE|--- \w+:)\s+(\w+)(?: \(.*)?$`)
)

// run runs tests without one rule; 0 = with all of them.
func (s *suite) run(rule int, tests, skip string, limit time.Duration) (r report) {
	args := []string{"-test.v", "-test.failfast", "-test.timeout=" + limit.String(), "-test.run=" + tests}
	if skip != "" {
		args = append(args, "-test.skip="+skip)
	}
	cmd := exec.Command(s.binary, args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", variable, rule))
	out, err := cmd.CombinedOutput()
	if err == nil {
		return report{passed: true}
	}
	if _, ended := errors.AsType[*exec.ExitError](err); !ended {
		return report{out: err.Error()}
	}
	r.out = string(out)
	for _, m := range failure.FindAllStringSubmatch(r.out, -1) {
		r.failed = append(r.failed, m[1])
	}
	if len(r.failed) > 0 {
		return r
	}
	if !timedOut.MatchString(r.out) { // the process of the tests ended
		r.failed = atWork(r.out)
		return r
	}
	for _, m := range running.FindAllStringSubmatch(r.out, -1) {
		if top, _, _ := strings.Cut(m[1], "/"); !slices.Contains(r.cut, top) {
			r.cut = append(r.cut, top)
		}
	}
	if len(r.cut) == 0 {
		r.cut = atWork(r.out)
	}
	return r
}

// atWork returns the tests that had begun and not ended when an output ended.
func atWork(out string) (tests []string) {
	for _, m := range progress.FindAllStringSubmatch(out, -1) {
		switch what, test := m[1], m[2]; what {
		case "=== RUN ", "=== CONT":
			tests = append(tests, test)
		default:
			tests = slices.DeleteFunc(tests, func(t string) bool { return t == test })
		}
	}
	slices.Sort(tests)
	return slices.Compact(tests)
}
