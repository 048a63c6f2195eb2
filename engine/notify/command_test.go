package notify

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"loops/internal/config"
	"loops/internal/process"
)

// TestCommand: real scripts.
func TestCommand(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		out    string // of the file out, which scripts may write
		err    string // "" = delivered
	}{
		"environment": {
			`echo "$LOOPS_NOTIFY_EVENT $LOOPS_NOTIFY_RUN $LOOPS_NOTIFY_LOOP $LOOPS_NOTIFY_EXIT_CODE $MINE" >out`,
			"failed fix-1 fix 1 mine\n", "",
		},
		"text is no code": {
			`echo "$LOOPS_NOTIFY_TEXT" >out`, "$(touch x) `touch x`; \"touch x\n",
			"",
		},
		"standard input": {`grep -o '"event":"[a-z]*"' >out`, "\"event\":\"failed\"\n", ""},
		"a line of input": {
			`set -e; read -r line; echo "${line:0:10}" >out`, "{\"event\":\"\n",
			"",
		},
		"input is not read": {`exec <&-; echo ok >out`, "ok\n", ""},
		"fails": {
			`echo one >&2; printf 'two\033[1m\n' >&2; exit 3`, "",
			"exit status 3: two [1m",
		},
		"is killed": {`kill -KILL $$`, "", "signal: killed"},
		"prints much": {
			`head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2; echo ok >out`, "ok\n", "",
		},
		"takes too long": {`sleep 1000`, "", "it took longer than 200ms and was ended"},
		"ignores TERM": {
			`trap '' TERM; sleep 1000 & echo $! >pid; wait; wait`, "",
			"it took longer than 200ms and was ended",
		},
		"has a child in a session of its own": {
			`setsid sh -c 'trap "" TERM; echo $$ >pid; sleep 1000; sleep 1000' & wait`, "",
			"it took longer than 200ms and was ended",
		},
		"leaves something": {`(sleep 2; echo >&2) & echo ok >out`, "ok\n", ""},
		"is not a bash script": {
			`if`, "",
			"exit status 2: bash: -c: line 2: syntax error: unexpected end of file",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			limit := 10 * time.Minute
			if strings.Contains(c.err, "200ms") {
				limit = 200 * time.Millisecond
			}
			s := NewSender([]config.Notify{{Command: c.script, Timeout: limit}})
			s.Dir, s.Env = dir, append(os.Environ(), "MINE=mine", "LC_ALL=C")
			one := 1
			s.Tell(Event{
				Kind: "failed", Loop: "fix", Run: "fix-1", ExitCode: &one,
				Text: "$(touch x) `touch x`; \"touch x", Error: strings.Repeat("ü\x00", 200_000),
			})
			got := ""
			for _, r := range s.Close(t.Context()) {
				if r.Err != nil {
					got += r.Err.Error()
				}
			}
			if got != c.err &&
				!(name == "is not a bash script" && strings.HasPrefix(got, "exit status 2: bash: -c: line")) {
				t.Errorf("got %q, want %q", got, c.err)
			}
			if b, _ := os.ReadFile(filepath.Join(dir, "out")); string(b) != c.out {
				t.Errorf("out: %q, want %q", b, c.out)
			}
			if _, err := os.Stat(filepath.Join(dir, "x")); err == nil {
				t.Error("a text was run as code")
			}
			if b, err := os.ReadFile(filepath.Join(dir, "pid")); err == nil {
				pid, _ := strconv.Atoi(strings.TrimSpace(string(b)))
				if alive, _ := (process.Identity{PID: pid}).Alive(); alive || pid == 0 {
					t.Errorf("process %d of the command still runs", pid)
				}
			}
		})
	}
}

// TestCommandStartsRun: a command that starts a run, which notifies the same command, comes to an end.
func TestCommandStartsRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	said := []string{"", "commands of notifications start runs that start commands again, 8 times by now"}
	for depth, want := range map[string]string{"": said[0], "7": said[0], "8": said[1]} {
		s := NewSender([]config.Notify{{Command: `echo "$LOOPS_NOTIFY_DEPTH" >>depths`}})
		s.Dir, s.Env, s.Getenv = dir, os.Environ(), func(name string) (string, bool) {
			return depth, name == "LOOPS_NOTIFY_DEPTH"
		}
		s.Tell(Event{Kind: "failed"})
		got := ""
		for _, r := range s.Close(t.Context()) {
			if r.Err != nil {
				got = r.Err.Error()
			}
		}
		if got != want {
			t.Errorf("after %q: %q, want %q", depth, got, want)
		}
	}
	b, err := os.ReadFile(filepath.Join(dir, "depths"))
	lines := strings.Fields(string(b))
	slices.Sort(lines)
	if strings.Join(lines, " ") != "1 8" {
		t.Errorf("depths %q, %v", lines, err)
	}
}

// TestDesktop: a program called notify-send gets the text as arguments.
func TestDesktop(t *testing.T) {
	// Not parallel: the test changes the environment.
	dir := t.TempDir()
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	script := "#!/bin/sh\nprintf '%s\\n' \"$@\" >" + filepath.Join(dir, "out") + "\n"
	if err := os.WriteFile(filepath.Join(dir, "notify-send"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("notify-send", filepath.Join(dir, "osascript")); err != nil {
		t.Fatal(err)
	}
	s := NewSender([]config.Notify{{Desktop: true}})
	s.Dir, s.Env = dir, os.Environ()
	s.Tell(Event{Kind: "failed", Loop: "-x", Text: "<b>$(id)</b> & \"more\"\x1b[1m"})
	if r := s.Close(t.Context()); len(r) != 1 || r[0].Err != nil {
		t.Fatal(r)
	}
	got, err := os.ReadFile(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(got), "\n--\nloops: -x failed\n") &&
		!strings.HasPrefix(string(got), "-e\non run argv\n") {
		t.Errorf("got %s", got)
	}
	e := Event{Kind: "failed", Loop: "-x", Text: "<b>$(id)</b> & \"more\"\x1b[1m"}
	for system, want := range map[string]string{
		"linux": "notify-send|--app-name=loops|--urgency=critical|--|loops: -x failed|&lt;b&gt;$(id)&lt;/b&gt; " +
			"&amp; \"more\" [1m",
		"darwin": "osascript|-e|on run argv|-e|display notification (item 2 of argv) with title (item 1 of " +
			"argv)|-e|end run|--|loops: -x failed|<b>$(id)</b> & \"more\" [1m",
	} {
		program, args := desktop(system, e)
		if got := program + "|" + strings.Join(args, "|"); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", system, got, want)
		}
	}
}

func TestDesktopAbsent(t *testing.T) {
	// Not parallel: the test changes the environment.
	t.Setenv("PATH", t.TempDir())
	s := NewSender([]config.Notify{{Desktop: true}})
	s.Tell(Event{Kind: "failed"})
	if r := s.Close(t.Context()); len(r) != 1 || !errors.Is(r[0].Err, ErrAbsent) {
		t.Error(r)
	}
}

// TestWants: who asked for what.
func TestWants(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		target config.Notify
		want   string // kinds of the loop fix-ui
	}{
		{config.Notify{}, "completed unmerged failed timed_out capped stalled budget limited interrupted suspended " +
			"awaiting alarm all_clear"},
		{config.Notify{On: []string{"started", "waiting"}}, "started waiting"},
		{config.Notify{On: []string{"failed"}, Loops: []string{"x", "fix-*"}}, "failed"},
		{config.Notify{Loops: []string{"fix"}}, ""},
		{config.Notify{On: []string{"failed"}, Loops: []string{"["}}, ""},
	} {
		var got []string
		for _, kind := range config.NotifyNames() {
			if Wants(c.target, kind, "fix-ui") {
				got = append(got, kind)
			}
		}
		if !slices.Equal(got, strings.Fields(c.want)) {
			t.Errorf("%+v: %v, want %s", c.target, got, c.want)
		}
	}
}

func TestLabel(t *testing.T) {
	t.Parallel()
	for want, target := range map[string]config.Notify{
		"desktop":                   {Desktop: true},
		"webhook hooks.example.com": {URL: "https://user:secret@hooks.example.com/T000/secret?x=secret"},
		"webhook":                   {URL: "http://[secret"},
		"command mail me":           {Command: "mail me\n"},
		"command one…":              {Command: "one\ntwo"},
		"command " + strings.Repeat("ü", 40) + "…": {Command: strings.Repeat("ü", 41)},
	} {
		if got := Label(target); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
