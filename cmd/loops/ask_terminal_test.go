package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"loops/internal/testenv"

	"github.com/creack/pty"
)

const asking = `name: ship
description: asks before it ships
initial: approve
states:
  approve:
    ask: {question: "Ship it?", choices: [approve, reject], fields: {reason: text, percent: integer}, show: "a\nb", who: [release-team]}
    on_approve: ship
    on_reject: done
  ship:
    action: echo "shipped ${captured.approve.percent:default=all}, ${captured.approve.reason:default=unsaid}"
    next: done
  done: {terminal: true}
`

// A typist is a user at a terminal in which the program runs.
type typist struct {
	t    *testing.T
	bin  string
	dir  string
	tty  *os.File
	cmd  *exec.Cmd
	done chan struct{}

	mu  sync.Mutex
	all strings.Builder // that the terminal showed
}

// newTypist starts the program on a terminal.
func newTypist(t *testing.T, args ...string) *typist {
	t.Helper()
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, ".loops"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, ".loops", "ship.yaml"), []byte(asking), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, ".loops", "two.yaml"),
		[]byte(strings.ReplaceAll(twoQuestionsLoop, `?"`, `?", confirm: [approve]`)), 0o644))
	return typistIn(t, dir, args...)
}

// typistIn starts the program on a terminal, in a folder.
func typistIn(t *testing.T, dir string, args ...string) *typist {
	t.Helper()
	x := &typist{t: t, bin: binary(t), dir: dir, done: make(chan struct{})}
	x.cmd = exec.Command(x.bin, args...)
	if args[0] == "sh" {
		x.cmd = exec.Command(args[0], args[1:]...)
	}
	x.cmd.Dir, x.cmd.Env = x.dir, append(cleanEnv(x.bin, x.dir), "TERM=xterm", "USER=ada")
	var err error
	x.tty, err = pty.StartWithSize(x.cmd, &pty.Winsize{Rows: 30, Cols: 100})
	must(t, err)
	go func() {
		defer close(x.done)
		buf := make([]byte, 4096)
		for {
			n, err := x.tty.Read(buf)
			x.mu.Lock()
			x.all.Write(buf[:n])
			x.mu.Unlock()
			if err != nil { // the other side is closed
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = x.cmd.Process.Kill()
		_ = x.cmd.Wait()
		_ = x.tty.Close()
	})
	return x
}

func (x *typist) shown() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return strings.ReplaceAll(x.all.String(), "\r", "")
}

// until waits until the terminal has shown a text so often.
func (x *typist) until(text string, times int) {
	x.t.Helper()
	if !testenv.Within(testenv.Patience, func() bool { return strings.Count(x.shown(), text) >= times }) {
		x.t.Fatalf("the terminal did not show %q %d times:\n%s", text, times, x.shown())
	}
}

func (x *typist) types(text string) {
	x.t.Helper()
	_, err := x.tty.WriteString(text)
	must(x.t, err)
}

// ends waits for the end of the program.
func (x *typist) ends() string {
	x.t.Helper()
	select {
	case <-x.done:
	case <-time.After(testenv.Patience):
		x.t.Fatalf("the program did not end:\n%s", x.shown())
	}
	return x.shown()
}

// elsewhere runs another command in the project.
func (x *typist) elsewhere(args ...string) string {
	x.t.Helper()
	cmd := exec.Command(x.bin, args...)
	cmd.Dir, cmd.Env = x.dir, append(cleanEnv(x.bin, x.dir), "USER=bob")
	out, err := cmd.CombinedOutput()
	if err != nil {
		x.t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}

// A question is answered at the terminal that runs the loop: an invalid answer is reported, and the question asked
// again.
func TestAskAtTheTerminal(t *testing.T) {
	t.Parallel()
	x := newTypist(t, "run", "ship")
	x.until("answer> ", 1)
	for _, want := range []string{
		"? Ship it?", "| a\n", "| b\n", "asked: release-team",
		"1 approve   2 reject   (q: leave it open)",
	} {
		if !strings.Contains(x.shown(), want) {
			t.Errorf("the terminal does not show %q:\n%s", want, x.shown())
		}
	}
	x.types("maybe\n")
	x.until(`"maybe" is no choice`, 1)
	x.until("answer> ", 2)
	x.types("1\n")
	x.until("reason (text; nothing: not said)> ", 1)
	x.types("it is green\n")
	x.until("percent (integer; nothing: not said)> ", 1)
	x.types("half\n")
	x.until("must be of type integer", 1)
	x.until("percent (integer; nothing: not said)> ", 2)
	x.types("50\n")
	if out := x.ends(); !strings.Contains(out, "shipped 50, it is green") ||
		!strings.Contains(out, "answered: approve, by ada") {
		t.Errorf("the run ended so:\n%s", out)
	}
}

// q leaves a question open, which is then answered elsewhere; the run receives the answer.
func TestAskLeftOpen(t *testing.T) {
	t.Parallel()
	x := newTypist(t, "run", "ship")
	x.until("answer> ", 1)
	x.types("q\n")
	x.until("The question stays open. To answer it later: loops answer --question 1:1 ship-", 1)
	if out := x.elsewhere("answer"); !strings.Contains(out, "Ship it?") {
		t.Errorf("loops answer lists:\n%s", out)
	}
	x.elsewhere("answer", "ship", "approve", "--field", "percent=7")
	if out := x.ends(); !strings.Contains(out, "shipped 7, unsaid") || strings.Count(out, "answer> ") != 1 {
		t.Errorf("the run ended so:\n%s", out)
	}
}

// A run asks two things at once: q leaves the first one open, and the second one is asked. A choice that is to
// be confirmed is asked for again.
func TestAskTheSecondQuestion(t *testing.T) {
	t.Parallel()
	x := newTypist(t, "run", "two")
	x.until("answer> ", 1)
	x.types("q\n")
	x.until("The question stays open. To answer it later: loops answer --question 1/", 1)
	left := regexp.MustCompile(`later: loops answer --question (\S+)`).FindStringSubmatch(x.shown())[1]
	x.until("answer> ", 2)
	x.types("approve\n")
	x.until("approve, sure? (y/N)> ", 1)
	x.types("\n")
	x.until("answer> ", 3)
	x.types("1\n")
	x.until("approve, sure? (y/N)> ", 2)
	x.types("y\n")
	x.until("answered: approve, by ada", 1)
	x.elsewhere("answer", "two", "reject", "--question", left)
	if out := x.ends(); !strings.Contains(out, "Loop completed: done") {
		t.Errorf("the run ended so:\n%s", out)
	}
}

// At a terminal loops answer asks for a choice that is to be confirmed again; no leaves the question open.
func TestAnswerAsksAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ typed, want string }{
		{"n\n", "approve is a choice to be confirmed"},
		{"y\n", "Answered prod of two-"},
	} {
		x := newTypist(t, "sh", "-c",
			`"$1" run two --park -q; "$1" answer two approve --question $("$1" answer two | grep -o '1/prod/1:[12]')`,
			"sh", binary(t))
		x.until("Answer approve? [y/N] ", 1)
		x.types(c.typed)
		if out := x.ends(); !strings.Contains(out, c.want) {
			t.Errorf("%q: the terminal shows:\n%s", c.typed, out)
		}
	}
}

// A question that is answered elsewhere while it is asked here is asked no more.
func TestAskAnsweredElsewhere(t *testing.T) {
	t.Parallel()
	x := newTypist(t, "run", "ship")
	x.until("answer> ", 1)
	x.elsewhere("answer", "ship", "reject")
	if out := x.ends(); !strings.Contains(out, "answered: reject, by bob") ||
		!strings.Contains(out, "Loop completed: done") {
		t.Errorf("the run ended so:\n%s", out)
	}
}

// A run that is stopped at its question asks again when it is resumed; Ctrl-C is not an answer.
func TestAskAgainAfterResume(t *testing.T) {
	t.Parallel()
	x := newTypist(t, "run", "ship")
	x.until("answer> ", 1)
	x.types("\x03")
	x.until("Resume with: loops resume ship-", 1)
	x.ends()
	again := exec.Command(x.bin, "resume", "ship")
	again.Dir, again.Env = x.dir, x.cmd.Env
	tty, err := pty.StartWithSize(again, &pty.Winsize{Rows: 30, Cols: 100})
	must(t, err)
	defer tty.Close()
	y := &typist{t: t, tty: tty, cmd: again, done: make(chan struct{})}
	go func() {
		defer close(y.done)
		buf := make([]byte, 4096)
		for {
			n, err := tty.Read(buf)
			y.mu.Lock()
			y.all.Write(buf[:n])
			y.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	y.until("answer> ", 1)
	y.types("rej\n")
	y.until(`"rej" is no choice`, 1)
	y.until("answer> ", 2)
	y.types("reject\n")
	y.until("reason", 1)
	y.types("\n")
	y.until("percent", 1)
	y.types("\n")
	if out := y.ends(); !strings.Contains(out, "Loop completed: done") {
		t.Errorf("the run ended so:\n%s", out)
	}
	_ = again.Wait()
}
