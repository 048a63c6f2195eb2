package main_test

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"loops/internal/testenv"
)

const talkative = `name: talk
description: says something while it works
initial: work
states:
  work:
    action: |
      for i in 1 2 3 4 5; do echo "part $i of the work"; sleep 0.15; done
    on_yes: check
    on_no: failed
  check: {action: "echo told you; echo wrong >&2; exit 4", on_yes: done, on_no: failed, on_error: failed}
  done: {terminal: true}
  failed: {terminal: true}
`

// onTerminal runs the program on a terminal of that size until it ends, and returns all it wrote. after, if not
// nil, is called when the terminal has shown text.
func onTerminal(t *testing.T, rows, cols uint16, env []string, text string, after func(tty *os.File, p *os.Process),
	args ...string,
) string {
	t.Helper()
	bin := binary(t)
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, ".loops"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".loops", "talk.yaml"), []byte(talkative), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bin, args...)
	cmd.Dir = dir
	for _, kv := range cleanEnv(bin, dir) {
		if !strings.HasPrefix(kv, "NO_COLOR=") && !strings.HasPrefix(kv, "TERM=") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(cmd.Env, env...)
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: rows, Cols: cols})
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	limit := time.AfterFunc(testenv.Patience, func() { _ = cmd.Process.Kill() })
	defer limit.Stop()
	var all []byte
	buf := make([]byte, 4096)
	for {
		n, err := tty.Read(buf)
		all = append(all, buf[:n]...)
		if after != nil && strings.Contains(string(all), text) {
			after(tty, cmd.Process)
			after = nil
		}
		if err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, syscall.EIO) { // how Linux says that the other side is closed
				break
			}
			t.Fatal(err)
		}
	}
	_ = cmd.Wait() // a failure is part of what is shown
	return string(all)
}

// screen plays output as a terminal would and returns the lines that it shows in the end.
func screen(t *testing.T, out string) []string {
	t.Helper()
	var lines []string
	line, col := []rune{}, 0
	rest := []rune(out)
	for i := 0; i < len(rest); i++ {
		switch r := rest[i]; r {
		case '\r':
			col = 0
		case '\n':
			lines = append(lines, strings.TrimRight(string(line), " "))
			line, col = []rune{}, 0
		case 0x1b:
			end := i + 1 + slices.IndexFunc(rest[i+1:], func(r rune) bool { return r >= 'A' && r <= 'z' && r != '[' })
			switch seq := string(rest[i : end+1]); {
			case seq == "\x1b[K":
				line = line[:min(col, len(line))]
			case !strings.HasSuffix(seq, "m"):
				t.Fatalf("unexpected sequence %q", seq)
			}
			i = end
		default:
			for len(line) <= col {
				line = append(line, ' ')
			}
			line[col] = r
			col++
		}
	}
	return append(lines, string(line))
}

var (
	runIDs    = regexp.MustCompile(`\d{8}T\d{6}`)
	durations = regexp.MustCompile(`\b\d+(\.\d+)?m?s\b`)
)

func TestTerminalProgress(t *testing.T) {
	t.Parallel()
	out := onTerminal(t, 30, 100, []string{"TERM=xterm", "NO_COLOR=1"}, "", nil, "run", "talk")
	shown := runIDs.ReplaceAllString(strings.Join(screen(t, out), "\n"), "<STAMP>")
	shown = durations.ReplaceAllString(shown, "<DUR>")
	want := `Running loop: talk
Max steps: 50
  loop: .loops/talk.yaml
  run: talk-<STAMP>
  run_dir: .loops/runs/talk-<STAMP>/

[1/50] work (<DUR>) -> for i in 1 2 3 4 5; do echo "part $i of the work"; sleep 0.15; done
       part 3 of the work
       part 4 of the work
       part 5 of the work
       (<DUR>)
       yes -> check
[2/50] check (<DUR>) -> echo told you; echo wrong >&2; exit 4
       told you
       (<DUR>) exit: 4
       error -> failed
The last action said:
       wrong

Loop failed: failed (2 steps, <DUR>)
Reason: state check said error (exit 4: "wrong")
Explain with: loops explain talk-<STAMP>
Again from there: loops retry talk-<STAMP>
`
	if shown != want {
		t.Errorf("the terminal shows\n%s\nwant\n%s", shown, want)
	}
	live := durations.ReplaceAllString(out, "<DUR>")
	for _, part := range []string{
		"\r[1/50] work > for i in 1 2 3 4 5;", "(<DUR>) part 3 of the work\x1b[K",
		"\r\x1b[K",
	} {
		if !strings.Contains(live, part) {
			t.Errorf("the live line never held %q in %q", part, live)
		}
	}
	if strings.Contains(out, "m") && regexp.MustCompile("\x1b\\[[0-9;]*m").MatchString(out) {
		t.Error("colours in spite of NO_COLOR")
	}
	if n := strings.Count(out, "\r[1/50]"); n > 15 {
		t.Errorf("the line was drawn %d times in less than a second", n)
	}
}

func TestTerminalColours(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		env  string
		args []string
		want bool
	}{
		{"TERM=xterm", []string{"run", "talk"}, true},
		{"TERM=dumb", []string{"run", "talk"}, false},
		{"TERM=xterm", []string{"run", "talk", "--color=never"}, false},
	} {
		out := onTerminal(t, 30, 100, []string{c.env}, "", nil, c.args...)
		if got := strings.Contains(out, "\x1b[31mLoop failed"); got != c.want {
			t.Errorf("%s loops %s: colours %v, want %v", c.env, strings.Join(c.args, " "), got, c.want)
		}
		if c.env == "TERM=dumb" && strings.Contains(out, "\x1b") {
			t.Errorf("escape sequences on a dumb terminal: %q", out)
		}
	}
}

// On a narrow terminal the live line never wraps.
func TestTerminalNarrow(t *testing.T) {
	t.Parallel()
	out := onTerminal(t, 10, 24, []string{"TERM=xterm", "NO_COLOR=1"}, "", nil, "run", "talk")
	drawn := regexp.MustCompile("\r([^\r\n\x1b]+)\x1b\\[K").FindAllStringSubmatch(out, -1)
	if len(drawn) == 0 {
		t.Fatalf("no live line in %q", out)
	}
	for _, d := range drawn {
		if n := len([]rune(d[1])); n > 23 {
			t.Errorf("%q takes %d of 24 columns", d[1], n)
		}
	}
}

// Ctrl-C on the terminal stops the run, which can be resumed.
func TestTerminalCtrlC(t *testing.T) {
	t.Parallel()
	out := onTerminal(t, 30, 100, []string{"TERM=xterm", "NO_COLOR=1"}, "part 2", func(tty *os.File, _ *os.Process) {
		if _, err := tty.Write([]byte{3}); err != nil {
			t.Error(err)
		}
	}, "run", "talk")
	shown := durations.ReplaceAllString(runIDs.ReplaceAllString(strings.Join(screen(t, out), "\n"), "<STAMP>"), "<DUR>")
	for _, part := range []string{
		"Received SIGINT: ending the action, then the run.",
		"\nLoop interrupted by SIGINT: work (1 step, <DUR>)\nReason: stopped by SIGINT in state work\n" +
			"Resume with: loops resume talk-<STAMP>\n",
	} {
		if !strings.Contains(shown, part) {
			t.Errorf("%q is not in\n%s", part, shown)
		}
	}
}

// TestTerminalRuleHint wants the way to the page of a rule once, behind all problems, and only on a terminal.
func TestTerminalRuleHint(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "broken.yaml")
	must(t, os.WriteFile(file,
		[]byte("name: broken\ndescription: a test\ninitial: nowhere\n"+
			"states: {a: {next: gone}, d: {terminal: true}}\n"), 0o644))
	out := onTerminal(t, 30, 100, []string{"TERM=xterm", "NO_COLOR=1"}, "", nil, "validate", file)
	lines := screen(t, out)
	if n := strings.Count(out, "loops help rule"); n != 1 {
		t.Errorf("the hint is there %d times:\n%s", n, out)
	}
	want := "What a rule means: loops help rule unknown-state"
	if i := slices.Index(lines, want); i < 0 || !strings.HasSuffix(lines[i+1], "2 errors, 0 warnings") {
		t.Errorf("no line %q before the summary:\n%s", want, out)
	}
	cmd := exec.Command(binary(t), "validate", file)
	cmd.Dir, cmd.Env = t.TempDir(), cleanEnv(binary(t), t.TempDir())
	piped, _ := cmd.CombinedOutput() // exits with 3
	if strings.Contains(string(piped), "loops help rule") || !strings.Contains(string(piped), "2 errors") {
		t.Errorf("in a pipe:\n%s", piped)
	}
}
