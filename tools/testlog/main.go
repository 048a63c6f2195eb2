// Command testlog reads logs of go test -v and prints what a reader of thousands of lines wants of them.
//
//	testlog failures FILE...       what the failed tests printed, and all that no test printed; of a package
//
// whose process ended before its tests, what those had printed
//
//	testlog skips FILE...          each reason for which tests were skipped, with their names
//	testlog slowest [-n N] FILE... the N slowest packages, tests, and tests inside tests; default: 10
//	testlog count FILE...          how many tests passed, failed and were skipped
//
// A name of a file that is - stands for standard input. The exit code is 2 if a file cannot be read or the
// command line is wrong.
package main

import (
	"bufio"
	"cmp"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "testlog:", err)
		os.Exit(2)
	}
}

func run(args []string, stdin io.Reader, out io.Writer) error {
	if len(args) == 0 {
		return fmt.Errorf("which view? failures, skips, slowest or count")
	}
	flags := flag.NewFlagSet("testlog "+args[0], flag.ContinueOnError)
	most := flags.Int("n", 10, "how many of each kind slowest prints")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	views := map[string]func(*testLog, io.Writer){
		"failures": (*testLog).failures,
		"skips":    (*testLog).skips,
		"slowest":  func(l *testLog, w io.Writer) { l.slowest(w, *most) },
		"count":    (*testLog).count,
	}
	view := views[args[0]]
	if view == nil {
		return fmt.Errorf("no view %q: failures, skips, slowest or count", args[0])
	}
	l := &testLog{}
	for _, path := range flags.Args() {
		if err := l.readFile(path, stdin); err != nil {
			return err
		}
	}
	w := bufio.NewWriter(out)
	view(l, w)
	return w.Flush()
}

// A testLog is what logs hold, in their order.
type testLog struct {
	packages []entry
	tests    []entry
	stray    []string // lines that belong to no test
}

// An entry is one test or one package that ended.
type entry struct {
	name    string // of a package its import path
	result  string // PASS, FAIL or SKIP
	seconds float64
	lines   []string // what it printed
	at      int      // how many lines belonged to no test before it
}

var (
	begun  = regexp.MustCompile(`^=== (?:RUN|CONT|NAME) +(\S*)`)
	paused = regexp.MustCompile(`^=== PAUSE `)
	ended  = regexp.MustCompile(`^ *--- (PASS|FAIL|SKIP): (\S+) \(([\d.]+)s\)$`)
	// A package that was not tested again has no time: "(cached)".
	packageEnded = regexp.MustCompile(`^(ok|FAIL)\s+(\S+)\s+(?:([\d.]+)s|\(cached\)|\[(?:build|setup) failed\])`)
	silent       = regexp.MustCompile(`^(?:PASS|FAIL|\?\s.*|coverage: .*)$`)
	place        = regexp.MustCompile(`^ *[^ ]+\.go:\d+: (?:SKIPPED: )?`)
)

func (l *testLog) readFile(path string, stdin io.Reader) error {
	if path == "-" {
		return l.read(stdin)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return l.read(f)
}

func (l *testLog) read(r io.Reader) error {
	printed := map[string][]string{} // by test, of the package that is being read
	running := map[string]bool{}     // its tests that have not ended
	test, seed := "", ""             // seed: of the order of its tests
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		if line == "" && err == io.EOF {
			return nil
		}
		if err != nil && err != io.EOF {
			return err
		}
		line = strings.TrimSuffix(line, "\n")
		if m := begun.FindStringSubmatch(line); m != nil {
			if test = m[1]; test != "" {
				running[test] = true
			}
		} else if m := ended.FindStringSubmatch(line); m != nil {
			delete(running, m[2])
			if m[2] == test {
				test = ""
			}
			l.tests = append(l.tests, entry{
				name: m[2], result: m[1], seconds: seconds(m[3]), lines: printed[m[2]],
				at: len(l.stray),
			})
		} else if m := packageEnded.FindStringSubmatch(line); m != nil {
			e := entry{name: m[2], result: "PASS", seconds: seconds(m[3]), at: len(l.stray)}
			if m[1] == "FAIL" {
				e.result = "FAIL"
				l.unfinished(running, printed)
				if seed != "" {
					l.stray = append(l.stray, seed)
				}
				l.stray = append(l.stray, line)
			}
			seed = ""
			l.packages = append(l.packages, e)
			clear(printed)
			clear(running)
			test = ""
		} else if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			test = ""
			l.stray = append(l.stray, line)
		} else if strings.HasPrefix(line, "-test.shuffle ") {
			seed = line
		} else if silent.MatchString(line) || paused.MatchString(line) {
			continue
		} else if test != "" {
			printed[test] = append(printed[test], line)
		} else {
			l.stray = append(l.stray, line)
		}
	}
}

// unfinished adds the tests that had not ended when their package failed, and what they printed: what ends a
// test's process, such as a signal, is in no other line.
func (l *testLog) unfinished(running map[string]bool, printed map[string][]string) {
	for _, name := range slices.Sorted(maps.Keys(running)) {
		l.stray = append(l.stray, "--- NOT ENDED: "+name)
		l.stray = append(l.stray, printed[name]...)
	}
}

func seconds(text string) float64 {
	n, _ := strconv.ParseFloat(text, 64) // "" = cached
	return n
}

func (l *testLog) failures(w io.Writer) {
	next := 0
	for _, t := range l.tests {
		if t.result != "FAIL" {
			continue
		}
		for ; next < t.at; next++ {
			fmt.Fprintln(w, l.stray[next])
		}
		fmt.Fprintf(w, "--- FAIL: %s (%.2fs)\n", t.name, t.seconds)
		for _, line := range t.lines {
			fmt.Fprintln(w, line)
		}
	}
	for _, line := range l.stray[next:] {
		fmt.Fprintln(w, line)
	}
}

func (l *testLog) skips(w io.Writer) {
	names := map[string][]string{}
	var reasons []string
	for _, t := range l.tests {
		if t.result != "SKIP" {
			continue
		}
		why := "it does not say why"
		for _, line := range t.lines {
			if at := place.FindStringIndex(line); at != nil {
				why = line[at[1]:]
			}
		}
		if names[why] == nil {
			reasons = append(reasons, why)
		}
		names[why] = append(names[why], t.name)
	}
	for _, why := range reasons {
		fmt.Fprintf(w, "%s: %s\n", why, strings.Join(names[why], " "))
	}
}

func (l *testLog) slowest(w io.Writer, most int) {
	inside := func(e entry) bool { return strings.Contains(e.name, "/") }
	top := slices.DeleteFunc(slices.Clone(l.tests), inside)
	below := slices.DeleteFunc(slices.Clone(l.tests), func(e entry) bool { return !inside(e) })
	for _, kind := range []struct {
		title   string
		entries []entry
	}{{"packages", slices.Clone(l.packages)}, {"tests", top}, {"tests inside tests", below}} {
		if len(kind.entries) == 0 {
			continue
		}
		slices.SortStableFunc(kind.entries, func(a, b entry) int { return cmp.Compare(b.seconds, a.seconds) })
		fmt.Fprintf(w, "slowest %s:\n", kind.title)
		for _, e := range kind.entries[:min(most, len(kind.entries))] {
			fmt.Fprintf(w, "%8.1f s  %s\n", e.seconds, e.name)
		}
	}
}

func (l *testLog) count(w io.Writer) {
	n := map[string]int{}
	for _, t := range l.tests {
		n[t.result]++
	}
	fmt.Fprintf(w, "%d passed, %d failed, %d skipped\n", n["PASS"], n["FAIL"], n["SKIP"])
}
