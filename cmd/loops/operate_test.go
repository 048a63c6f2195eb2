package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"loops/internal/testenv"
)

// docs/operate.md, docs/tutorial.md, README.md and the README of the examples are executed from top to bottom,
// each in a project of its own. What they have:
//
//	a block below a line `FILE`:         the file, written as it is there
//	a block ```console                   lines "$ COMMAND", each with what it prints; a line … stands for any others
//	<!-- wait until: COMMAND -->         the page continues when the command succeeds
//	<!-- quietly: COMMAND -->            a command that the page does not show
//	<!-- in another terminal -->         the command below continues beside the others; it is compared when the
//
// page ends
//
//	<!-- wait until it says: TEXT -->    that command has printed this
//
// Ids of runs, times, sizes and the like differ each time; they are compared by their form, and -update keeps those of
// the page. The runs of a loop are those of the page in the order in which they began.
const (
	operatePage  = "../../docs/operate.md"
	examplesPage = "../../" + examples + "/README.md"
)

// A terminal is one command of the page.
type terminal struct {
	line    int // of the page
	command string
	want    []string
	at      int // where want begins in the page's lines
	beside  bool
	cmd     *exec.Cmd
	out     string // file of what it prints
	ended   chan struct{}
}

// A stage is the project in which a page is played.
type stage struct {
	t      *testing.T
	dir    string
	env    []string
	path   string
	page   []string            // its lines
	paged  map[string][]string // ids that the page names, by loop, the oldest first
	real   map[string][]string // ids of the runs there were, by loop, in the same order
	beside []*terminal
	edits  map[*terminal][]string // what is printed instead
}

var (
	runID      = regexp.MustCompile(`\b([a-z][a-z-]*)-(\d{8}T\d{6})\b`)
	asideLine  = regexp.MustCompile(`^<!-- (?:(wait until|wait until it says|quietly): (.*)|in another terminal) -->$`)
	fenceLine  = regexp.MustCompile("^```([a-z]+)$")
	omission   = "…"
	pageVaries = []struct {
		pattern *regexp.Regexp
		by      string
	}{
		{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d{6}`), "<RUN>"},
		{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(\+00:00|Z)?`), "<TIME>"},
		{regexp.MustCompile(`(\d{4}-\d\d-\d\d )?\b\d\d:\d\d(:\d\d)?\b( [A-Z]{3,5}\b| [-+]\d{2,4}\b)?`), "<TIME>"},
		{regexp.MustCompile(`\d{4}-\d\d-\d\d`), "<DAY>"},
		{regexp.MustCompile(`\bpid \d+( on [\w.-]+)?`), "pid <PID>"},
		{regexp.MustCompile(`\b[\d.]+ (B|KiB|MiB|GiB)\b`), "<SIZE>"},
		{regexp.MustCompile(`\bjust now\b|\b(\d+(\.\d+)?(ms|s|m|h))+ ago\b`), "<AGO>"},
		{regexp.MustCompile(`\b(\d+(\.\d+)?(ms|[smh]))+\b`), "<SPAN>"},
		{regexp.MustCompile(`\b(in|for|after|silent) \d+ seconds?\b`), "$1 <SPAN>"},
		{regexp.MustCompile(`\bevents? \d+([-–,] ?\d+)*|\b\d+ events\b`), "<EVENTS>"},
		{regexp.MustCompile(`\[\d+(, \d+)*\]`), "[<EVENTS>]"},
		{regexp.MustCompile(`\b[0-9a-f]{7,64}\b`), "<HASH>"},
		{regexp.MustCompile(`\btime="[\d.]+"`), "time=<SPAN>"},
		{regexp.MustCompile(` \d{3,7}$`), " <PID>"},
		{regexp.MustCompile(` {2,}`), "  "},
	}
)

func form(line string) string {
	for _, v := range pageVaries {
		line = v.pattern.ReplaceAllString(line, v.by)
	}
	return strings.TrimRight(line, " ")
}

func TestOperatePage(t *testing.T) {
	t.Parallel()
	newStage(t, operatePage).play(30)
}

func TestTutorialPage(t *testing.T) {
	t.Parallel()
	newStage(t, "../../docs/tutorial.md").play(15)
}

func TestGoalPage(t *testing.T) {
	t.Parallel()
	newStage(t, "../../docs/goal.md").play(4)
}

func TestReplayPage(t *testing.T) {
	t.Parallel()
	newStage(t, "../../docs/replay.md").play(5)
}

func TestSuspendedPage(t *testing.T) {
	t.Parallel()
	newStage(t, "../../docs/suspended.md").play(5)
}

func TestFailoverPage(t *testing.T) {
	t.Parallel()
	newStage(t, "../../docs/failover.md").play(4)
}

func TestSpendPage(t *testing.T) {
	t.Parallel()
	newStage(t, "../../docs/spend.md").play(4)
}

func TestMemoryPage(t *testing.T) {
	t.Parallel()
	newStage(t, "../../docs/memory.md").play(4)
}

func TestPullRequestPage(t *testing.T) {
	t.Parallel()
	newStage(t, "../../docs/pull-request.md").play(2)
}

func TestProvePage(t *testing.T) {
	t.Parallel()
	newStage(t, "../../docs/prove.md").play(5)
}

// What the README of the examples shows of a run that is killed and resumed was behind the program.
func TestExamplesPage(t *testing.T) {
	t.Parallel()
	s := newStage(t, examplesPage)
	must(t, os.CopyFS(filepath.Join(s.dir, examples), os.DirFS("../../"+examples)))
	must(t, os.Mkdir(filepath.Join(s.dir, ".loops"), 0o755))
	tools := filepath.Join(filepath.Dir(s.dir), "tools")
	must(t, os.Mkdir(tools, 0o755))
	must(t, os.WriteFile(filepath.Join(tools, "sleep"), []byte(sleepUntilKilled), 0o755))
	s.env = append(s.env, "PATH="+tools+string(os.PathListSeparator)+filepath.Dir(binary(t))+
		string(os.PathListSeparator)+os.Getenv("PATH"))
	s.play(6)
}

// sleepUntilKilled stands for sleep in the page's loop: the fourth call, in whose action the page kills the
// run, lasts until then. With the real one a slow machine would be further than the page.
const sleepUntilKilled = `#!/bin/bash
echo >> ../slept
[ "$(grep -c "" ../slept)" != 4 ] || exec /bin/sleep 300
exec /bin/sleep 0.1
`

func newStage(t *testing.T, page string) *stage {
	bin, dir := binary(t), filepath.Join(t.TempDir(), "shop")
	must(t, os.Mkdir(dir, 0o755))
	s := &stage{
		t: t, dir: dir, path: page, page: strings.Split(readText(t, page), "\n"),
		paged: map[string][]string{}, real: map[string][]string{}, edits: map[*terminal][]string{},
	}
	s.env = append(cleanEnv(bin, filepath.Dir(dir)), "PATH="+filepath.Dir(bin)+string(os.PathListSeparator)+
		os.Getenv("PATH"), "XDG_CONFIG_HOME="+filepath.Join(filepath.Dir(dir), ".config"), "TERM=dumb")
	s.env = slices.DeleteFunc(s.env, func(kv string) bool { return strings.HasPrefix(kv, "NO_COLOR=") })
	for _, m := range runID.FindAllStringSubmatch(strings.Join(s.page, "\n"), -1) {
		if !slices.Contains(s.paged[m[1]], m[0]) {
			s.paged[m[1]] = append(s.paged[m[1]], m[0])
		}
	}
	for _, ids := range s.paged {
		sort.Strings(ids)
	}
	return s
}

// play goes through the page, which has so many commands at least.
func (s *stage) play(least int) {
	s.t.Cleanup(func() { // what a page that failed left behind
		_ = s.shell("loops stop --all --grace 2s").Run() // there may be none
	})
	above, beside, n := "", false, 0
	for i := 0; i < len(s.page) && !s.t.Failed(); i++ {
		line := s.page[i]
		if m := asideLine.FindStringSubmatch(line); m != nil {
			switch m[1] {
			case "quietly":
				if out, err := s.shell(m[2]).CombinedOutput(); err != nil {
					s.t.Fatalf("%s:%d: %s: %v\n%s", s.path, i+1, m[2], err, out)
				}
			case "wait until":
				s.await(i+1, m[2])
			case "wait until it says":
				s.await(i+1, "grep -qF -e '"+m[2]+"' "+s.beside[len(s.beside)-1].out)
			default:
				beside = true
			}
			continue
		}
		m := fenceLine.FindStringSubmatch(line)
		if m == nil {
			if line != "" {
				above = line
			}
			continue
		}
		end := i + 1 + slices.Index(s.page[i+1:], "```")
		body := s.page[i+1 : end]
		if file := fileLine.FindStringSubmatch(above); file != nil {
			s.write(file[1], strings.Join(body, "\n")+"\n")
		} else if m[1] == "console" {
			for _, one := range commandsOf(body, i+1) {
				one.beside = beside
				s.run(one)
				n++
			}
		} else {
			s.t.Errorf("%s:%d: a block without the name of its file", s.path, i+1)
		}
		above, beside, i = "", false, end
	}
	for _, one := range s.beside {
		select {
		case <-one.ended:
		case <-time.After(testenv.Patience):
			s.t.Fatalf("%s:%d: %s does not end:\n%s", s.path, one.line, one.command, readText(s.t, one.out))
		}
		s.compare(one)
	}
	if n < least && !s.t.Failed() {
		s.t.Errorf("%s: only %d commands were run", s.path, n)
	}
	if len(s.edits) > 0 && testenv.Update() {
		s.rewrite(s.path)
	}
}

// commandsOf returns the commands of a block whose first line has this number, from 0.
func commandsOf(body []string, first int) (list []*terminal) {
	for i, line := range body {
		if command, is := strings.CutPrefix(line, "$ "); is {
			list = append(list, &terminal{
				line: first + i + 1, command: command, at: first + i + 1,
				ended: make(chan struct{}),
			})
		} else if len(list) > 0 {
			last := list[len(list)-1]
			last.want = append(last.want, line)
		}
	}
	return list
}

func (s *stage) write(name, text string) {
	path, mode := filepath.Join(s.dir, filepath.FromSlash(name)), os.FileMode(0o644)
	if strings.HasPrefix(text, "#!") {
		mode = 0o755
	}
	must(s.t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(s.t, os.WriteFile(path, []byte(text), mode))
}

func (s *stage) shell(command string) *exec.Cmd {
	// a person types the next command later than the kernel needs to end it
	if pid, kills := strings.CutPrefix(command, "kill -9 "); kills {
		command = "pid=" + pid + "; kill -9 $pid; while kill -0 $pid 2>/dev/null; do sleep 0.05; done"
	}
	cmd := exec.CommandContext(s.t.Context(), "bash", "-c", command)
	if s.t.Context().Err() != nil {
		cmd = exec.Command("bash", "-c", command) // while the test is cleaned up
	}
	cmd.Dir, cmd.Env = s.dir, s.env
	return cmd
}

func (s *stage) await(line int, condition string) {
	var out []byte
	if testenv.Within(testenv.Patience, func() bool {
		var err error
		out, err = s.shell(s.toReal(condition)).CombinedOutput()
		return err == nil
	}) {
		return
	}
	status, _ := s.shell("loops status; loops list --running").CombinedOutput() // for the message
	s.t.Fatalf("%s:%d: %s does not come true\n%s%s", s.path, line, condition, out, status)
}

// run runs a command, or starts one that continues beside the others.
func (s *stage) run(one *terminal) {
	s.learn()
	one.cmd = s.shell(s.toReal(one.command))
	one.out = filepath.Join(filepath.Dir(s.dir), fmt.Sprintf("printed-%d", one.line))
	out, err := os.Create(one.out)
	must(s.t, err)
	defer out.Close()
	one.cmd.Stdout, one.cmd.Stderr = out, out
	must(s.t, one.cmd.Start())
	if one.beside {
		s.beside = append(s.beside, one)
		go func() {
			_ = one.cmd.Wait() // what it prints is compared
			close(one.ended)
		}()
		return
	}
	limit := time.AfterFunc(testenv.Patience, func() { _ = one.cmd.Process.Kill() })
	_ = one.cmd.Wait() // what it prints is compared
	limit.Stop()
	s.compare(one)
}

// learn finds out which runs there are.
func (s *stage) learn() {
	entries, err := os.ReadDir(filepath.Join(s.dir, ".loops", "runs"))
	if err != nil {
		return // none yet
	}
	for _, e := range entries {
		m := runID.FindStringSubmatch(e.Name())
		if m != nil && m[0] == e.Name() && !slices.Contains(s.real[m[1]], m[0]) {
			s.real[m[1]] = append(s.real[m[1]], m[0])
		}
	}
}

func (s *stage) toReal(text string) string { return replaced(text, s.paged, s.real) }

func (s *stage) toPage(text string) string { return replaced(text, s.real, s.paged) }

func replaced(text string, from, to map[string][]string) string {
	return runID.ReplaceAllStringFunc(text, func(id string) string {
		loop := id[:len(id)-len("-20060102T150405")]
		if i := slices.Index(from[loop], id); i >= 0 && i < len(to[loop]) {
			return to[loop][i]
		}
		return id
	})
}

// compare holds what a command printed against the page.
func (s *stage) compare(one *terminal) {
	s.learn()
	text := strings.ReplaceAll(s.toPage(readText(s.t, one.out)), s.dir, "/home/me/shop")
	text = strings.ReplaceAll(text, filepath.Dir(s.dir), "/home/me")
	var got []string
	if text != "" {
		got = strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	}
	for i := range got {
		got[i] = strings.TrimRight(got[i], " ")
	}
	want := one.want
	for len(want) > 0 && want[len(want)-1] == "" {
		want = want[:len(want)-1]
	}
	if s.t.Logf("$ %s\n%s", one.command, strings.Join(got, "\n")); matches(got, want) {
		return
	}
	if !testenv.Update() || slices.Contains(want, omission) {
		s.t.Errorf("%s:%d: $ %s\nprints\n%s\n\nand the page says\n%s", s.path, one.line, one.command,
			strings.Join(got, "\n"), strings.Join(want, "\n"))
		return
	}
	s.edits[one] = remembered(got, want)
}

// matches reports whether lines are of the same form as those of the page.
func matches(got, want []string) bool {
	if len(want) == 0 {
		return len(got) == 0
	}
	if want[0] == omission {
		for i := range len(got) + 1 {
			if matches(got[i:], want[1:]) {
				return true
			}
		}
		return false
	}
	return len(got) > 0 && form(got[0]) == form(want[0]) && matches(got[1:], want[1:])
}

// remembered returns lines, those of the page where they have the same form.
func remembered(got, want []string) []string {
	lines := slices.Clone(got)
	from := 0
	for i, line := range lines {
		for j := from; j < len(want); j++ {
			if form(want[j]) == form(line) {
				lines[i], from = want[j], j+1
				break
			}
		}
	}
	return lines
}

// rewrite writes the page with what was printed.
func (s *stage) rewrite(path string) {
	var all []*terminal
	for one := range s.edits {
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b *terminal) int { return b.at - a.at })
	for _, one := range all {
		end := one.at + len(one.want)
		for end > one.at && s.page[end-1] == "" {
			end--
		}
		s.page = slices.Concat(s.page[:one.at], s.edits[one], s.page[end:])
	}
	must(s.t, os.WriteFile(path, []byte(strings.Join(s.page, "\n")), 0o644))
	fmt.Fprintf(os.Stderr, "%s: %d outputs were rewritten\n", path, len(all))
}
