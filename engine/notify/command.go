package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"loops/internal/process"
)

// grace is how long a program that was asked to end has before it is killed.
const grace = time.Second

// Variables of commands besides those of the event.
const (
	envMark = "LOOPS_NOTIFY_MARK" // by which what a command started is known
	// how many commands of notifications led to this one: each started a run that notified the next
	envDepth = "LOOPS_NOTIFY_DEPTH"
)

// mostDepth is how many commands may lead to one another, so that one that starts a run does not continue for ever.
const mostDepth = 8

// call runs a script of a person with more variables in its environment and text on its standard input.
func (s *Sender) call(script string, more []string, stdin []byte, limit time.Duration) error {
	before, _ := s.Getenv(envDepth)
	depth, _ := strconv.Atoi(before) // none = 0
	if depth >= mostDepth {
		return fmt.Errorf("commands of notifications start runs that start commands again, %d times by now", depth)
	}
	env := append(s.Env[:len(s.Env):len(s.Env)], more...)
	return s.start(limit, append(env, envDepth+"="+strconv.Itoa(depth+1)), stdin, "bash", "-c", script)
}

// start runs a program in a process group of its own, and ends all that it started when the time is up. What
// the program left in the background when it ended by itself stays.
func (s *Sender) start(limit time.Duration, env []string, stdin []byte, program string, args ...string) error {
	ctx, cancel := context.WithTimeoutCause(s.ctx, limit, fmt.Errorf("it took longer than %s and was ended", limit))
	defer cancel()
	var said tail
	mark := newID()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stderr = s.Dir, append(env[:len(env):len(env)], envMark+"="+mark),
		bytes.NewReader(stdin), &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = grace // for a child in the background that keeps standard error open
	cmd.Cancel = func() error {
		group, err := process.Group(cmd.Process.Pid)
		marked, e := process.Marked(envMark, mark) // what left the group
		_, ended := process.End(context.Background(), append(group, marked...), grace)
		return errors.Join(err, e, ended)
	}
	err := process.StartChild(cmd)
	if err == nil {
		err = process.WaitChild(cmd)
	}
	switch {
	case ctx.Err() != nil && err != nil:
		return context.Cause(ctx)
	// it ended well, or did not care for the JSON
	case errors.Is(err, exec.ErrWaitDelay), errors.Is(err, syscall.EPIPE):
		return nil
	case err != nil:
		if line := said.line(); line != "" {
			return fmt.Errorf("%w: %s", err, line)
		}
	}
	return err
}

// env is the event as variables of the environment.
func (e Event) env() []string {
	env := []string{
		"LOOPS_NOTIFY_EVENT=" + e.Kind, "LOOPS_NOTIFY_TEXT=" + e.Text, "LOOPS_NOTIFY_DELIVERY=" + e.Delivery,
		"LOOPS_NOTIFY_RUN=" + e.Run, "LOOPS_NOTIFY_LOOP=" + e.Loop, "LOOPS_NOTIFY_STATUS=" + e.Status,
		"LOOPS_NOTIFY_STATE=" + e.State,
		"LOOPS_NOTIFY_STEPS=" + strconv.Itoa(e.Steps),
		"LOOPS_NOTIFY_SECONDS=" + strconv.FormatFloat(e.Seconds, 'f', -1, 64),
		"LOOPS_NOTIFY_ERROR=" + e.Error, "LOOPS_NOTIFY_RESUME=" + e.Resume, "LOOPS_NOTIFY_QUESTION=" + e.Question,
		"LOOPS_NOTIFY_PROJECT=" + e.Project,
		"LOOPS_NOTIFY_REMINDER=" + strconv.Itoa(e.Reminder), "LOOPS_NOTIFY_LINKS=" + e.links(),
	}
	code := ""
	if e.ExitCode != nil {
		code = strconv.Itoa(*e.ExitCode)
	}
	test := ""
	if e.Test {
		test = "1"
	}
	return append(env, "LOOPS_NOTIFY_EXIT_CODE="+code, "LOOPS_NOTIFY_TEST="+test)
}

// links are the links of the event, a line each: the choice, a blank and the address.
func (e Event) links() string {
	lines := make([]string, len(e.Links))
	for i, l := range e.Links {
		lines[i] = l.Choice + " " + l.URL
	}
	return strings.Join(lines, "\n")
}

// A tail keeps the end of what is written to it.
type tail struct{ b []byte }

const tailSize = 1 << 10

func (t *tail) Write(b []byte) (int, error) {
	n := len(b)
	if n > tailSize {
		b = b[n-tailSize:]
	}
	t.b = append(t.b, b...)
	if extra := len(t.b) - tailSize; extra > 0 {
		t.b = append(t.b[:0], t.b[extra:]...)
	}
	return n, nil
}

// line is the last line, as a person may read it.
func (t *tail) line() string {
	text := strings.TrimSpace(string(t.b))
	text = text[strings.LastIndexByte(text, '\n')+1:]
	return printable(text)
}

// printable takes control characters out of a text.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}
