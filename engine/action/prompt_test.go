package action

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"loops/fsm"
	"loops/internal/agent"
)

// fakeStream reads lines of one word and the rest: "say TEXT", "delta TEXT", "final TEXT", "answer JSON",
// "fail CLASS REASON", "model NAME", "used TOKENS [USD]" so far, "done".
type fakeStream struct {
	o    agent.Outcome
	exit *agent.Exit // where End puts its argument
	used agent.Usage
	cost *float64
}

func (s *fakeStream) Used() (agent.Usage, *float64, string) { return s.used, s.cost, s.o.Model }

func (s *fakeStream) Line(line []byte) (text string, known bool) {
	word, rest, _ := strings.Cut(string(line), " ")
	switch word {
	case "say":
		return rest + "\n", true
	case "delta":
		return rest, true
	case "final":
		s.o.Text = rest
	case "answer":
		s.o.Answer = []byte(rest)
	case "model":
		s.o.Model = rest
	case "used":
		n, usd, priced := strings.Cut(rest, " ")
		s.used.Output, _ = strconv.ParseInt(n, 10, 64)
		if v, err := strconv.ParseFloat(usd, 64); priced && err == nil {
			s.cost = &v
		}
		s.o.Coverage, s.o.Usage = agent.Partial, s.used
	case "after":
		n, _ := strconv.Atoi(rest)
		s.o.Failure.After = time.Duration(n) * time.Second
	case "fail":
		class, reason, _ := strings.Cut(rest, " ")
		s.o.Failure = &agent.Failure{Class: agent.Class(class), Reason: reason}
	case "done":
		s.o.Complete, s.o.Coverage, s.o.Usage = true, agent.Complete, agent.Usage{Input: 7}
	default:
		return "", false
	}
	return "", true
}

func (s *fakeStream) Done() bool { return s.o.Complete }

func (s *fakeStream) End(e agent.Exit) agent.Outcome {
	if s.exit != nil {
		*s.exit = e
	}
	if !s.o.Complete && s.o.Failure == nil {
		s.o.Failure = &agent.Failure{Class: agent.Truncated, Reason: "it ended without a last word"}
	}
	return s.o
}

// fakeHost is a host whose program is that bash script; it gets "-" as its argument and the prompt by stdin.
func fakeHost(t testing.TB, name, script string) *agent.CLI {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte("#!/bin/bash\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return &agent.CLI{
		Name: name, Program: path, Stop: syscall.SIGINT,
		Command: func(r agent.Request) (agent.Command, error) {
			return agent.Command{
				Args: []string{"-"}, Stdin: r.Text,
				Env: []string{"FAKE=new", "SCRATCH=" + r.Scratch, "MODEL=" + r.Model},
			}, nil
		},
		Stream: func(agent.Request) agent.Stream { return &fakeStream{} },
	}
}

func ask(text string) fsm.Action {
	return fsm.Action{Kind: fsm.KindPrompt, Text: text, State: "a", Step: 1, Attempt: 1, Host: "fake"}
}

// prompted runs a prompt on a host with that script.
func prompted(t testing.TB, script string, change func(*Runner, *fsm.Action)) (fsm.Result, *Runner) {
	t.Helper()
	r := newRunner(t)
	r.Hosts = []*agent.CLI{fakeHost(t, "fake", script)}
	a := ask("the prompt")
	if change != nil {
		change(r, &a)
	}
	return do(t, r, a), r
}

func TestPrompt(t *testing.T) {
	for _, c := range []struct {
		name, script   string
		stdout, stderr string
		exit           int
		reply          fsm.Reply
	}{
		{
			name: "answers", script: `say() { echo "say $*"; }; read -r p; say "got $p"; echo "model m"; echo done`,
			stdout: "got the prompt", reply: fsm.Reply{Complete: true, Model: "m"},
		},
		{
			name: "exit code counts", script: "echo say x; echo done; exit 3",
			stdout: "x", exit: 3, reply: fsm.Reply{Complete: true},
		},
		{
			name:   "error inside an exit 0",
			script: "echo say x; echo fail auth the key is refused; echo done; echo note >&2",
			stdout: "x", stderr: "note\n[result] the key is refused", exit: 1,
			reply: fsm.Reply{Complete: true, Failure: fsm.FailAuth, Reason: "the key is refused"},
		},
		{
			name: "cut off, said on stderr", script: "echo say x; echo no such session >&2; exit 1",
			stdout: "x", stderr: "no such session\n", exit: 1,
			reply: fsm.Reply{Failure: fsm.FailTruncated, Reason: "it ended without a last word"},
		},
		{
			name: "cut off in silence", script: "echo say x",
			stdout: "x", stderr: "[result] it ended without a last word", exit: 1,
			reply: fsm.Reply{Failure: fsm.FailTruncated, Reason: "it ended without a last word"},
		},
		{
			name: "deltas", script: `printf 'delta a\ndelta b\nsay c\ndelta d\ndone\n'`,
			stdout: "abc\nd", reply: fsm.Reply{Complete: true},
		},
		{
			name: "no end of the last line", script: `printf 'say a\r\ndone'`,
			stdout: "a", reply: fsm.Reply{Complete: true},
		},
		{
			name:   "garbage",
			script: `printf '\000\377\376{"type":\nsay a\303\n\n\n'; head -c 100000 /dev/zero; printf '\ndone\n'`,
			stdout: "a\uFFFD", reply: fsm.Reply{Complete: true},
		},
		{
			name:   "environment",
			script: `echo "say $FAKE $LOOPS_STATE ${LOOPS_ACTION##*/} $(ls "$SCRATCH" | wc -l) $1"; echo done`,
			stdout: "new a 1 0 -", reply: fsm.Reply{Complete: true},
		},
		{
			name: "stdin is not read", script: `exec <&-; echo done`,
			reply: fsm.Reply{Complete: true},
		},
		{
			name: "stdout is closed early", script: `echo say x; echo done; exec >&-; ` + awaitSeen + `exit 4`,
			stdout: "x", exit: 4, reply: fsm.Reply{Complete: true},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			res, r := prompted(t, c.script, func(r *Runner, _ *fsm.Action) {
				r.Env = append(os.Environ(), "FAKE=old")
				show(t, r, func(j *job) bool { return j.streams[0].fd < 0 })
			})
			if res.Stdout != c.stdout || res.Stderr != c.stderr || res.ExitCode != c.exit {
				t.Errorf("got %q, %q, exit %d; want %q, %q, exit %d", res.Stdout, res.Stderr, res.ExitCode, c.stdout,
					c.stderr, c.exit)
			}
			g := res.Reply
			if g == nil {
				t.Fatal("no reply")
			}
			if g.Host != "fake" || g.Complete != c.reply.Complete || g.Model != c.reply.Model ||
				g.Failure != c.reply.Failure || g.Reason != c.reply.Reason {
				t.Errorf("got %+v, want %+v", *g, c.reply)
			}
			if left, _ := filepath.Glob(filepath.Join(r.RunDir, ".*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestNoHost(t *testing.T) {
	t.Parallel()
	for _, kind := range []fsm.Kind{fsm.KindPrompt, fsm.KindJudge} {
		r := newRunner(t)
		r.Env = []string{"PATH=" + t.TempDir()}
		a := ask("x")
		a.Kind, a.Host = kind, ""
		res := do(t, r, a)
		if res.ExitCode != 1 || res.Reply == nil || res.Reply.Failure != fsm.FailMissing ||
			!strings.HasPrefix(res.Stderr, "Action failed: no agent host was found in PATH") {
			t.Errorf("%s: %+v", kind, res)
		}
		a.Host = "nobody"
		res = do(t, r, a)
		if res.ExitCode != 1 || res.Reply.Failure != fsm.FailMissing ||
			!strings.HasPrefix(res.Stderr, `Action failed: there is no agent host "nobody": known are `) {
			t.Errorf("%s: %+v", kind, res)
		}
	}
}

// asked has a host that ignores SIGINT get TERM at once.
func asked(r *Runner, ignores bool) {
	before := r.turn
	r.turn = func(j *job) {
		if before != nil {
			before(j)
		}
		if ignores && j.ending.on && !j.ending.termed {
			j.ending.termAt = j.now
			j.ending.next = j.now
		}
	}
}

func TestPromptStopped(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, script, stdout string
		grace                time.Duration
	}{
		{
			"answers SIGINT", `sleep 600 & trap 'echo say bye; exit 0' INT; echo say hi;` + reached + `wait`, "hi\nbye",
			later,
		},
		{"SIGINT ignored", `sleep 600 & trap '' INT; trap 'echo say bye; exit 0' TERM; echo say hi;` + reached +
			`wait`, "hi\nbye", later},
		{"both ignored", `trap '' INT TERM; echo say hi;` + reached + `sleep 600`, "hi", short},
		{
			"tools in sessions of their own",
			`trap 'exit 0' INT; setsid sleep 600 & setsid bash -c "trap '' TERM; sleep 600" & echo say hi;` +
				reached + `wait`, "hi", short,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			res, r := prompted(t, c.script, func(r *Runner, a *fsm.Action) {
				a.Timeout, r.Grace = later, c.grace
				expire(t, r)
				asked(r, c.name == "SIGINT ignored")
			})
			if res.Stdout != c.stdout || res.ExitCode != 124 || res.TimeoutKind != "wall" || res.Stderr == "" {
				t.Errorf("%+v", res)
			}
			if g := res.Reply; g == nil || g.Failure != fsm.FailTimeout || g.Reason != "ended after 1ms" {
				t.Errorf("%+v", g)
			}
			if left := r.alive(t, 1); len(left) > 0 {
				t.Errorf("%v are alive", left)
			}
		})
		t.Run(c.name+", stop", func(t *testing.T) {
			t.Parallel()
			r := newRunner(t)
			r.Hosts, r.Grace = []*agent.CLI{fakeHost(t, "fake", c.script)}, c.grace
			asked(r, c.name == "SIGINT ignored")
			ctx, stop := context.WithCancel(context.Background())
			defer stop()
			if _, err := r.Run(ctx, ask("x"), func(string) { stop() }); err != nil {
				t.Error(err)
			}
			if left := r.alive(t, 1); len(left) > 0 {
				t.Errorf("%v are alive", left)
			}
		})
	}
}
