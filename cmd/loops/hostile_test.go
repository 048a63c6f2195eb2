package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/creack/pty"
)

// What hostile texts hold: a title, the clipboard, a device string, cleared screens, a colour that is never
// ours, C1, and lines that look like those of this program or like commands of a service.
const (
	hostileShort = "\x1b]0;T\a\x1b[2J\x1b[35mM\u009b2J\u202e\rCR\nLoop completed: forged"
	hostile      = "\x1b]52;c;eA==\x1b\\\x1bPq\x1b\\\u009d0;T\u009c\u0085\b\x7f\u2066\u2028" + hostileShort +
		"\nloops: forged\n::error::forged\n##[error]forged"
	hostileBytes = "\x1b[32mgood\x1b[0m\n\x1b[38;5;99mleaks\n" +
		"\x9b2J\x9d0;T\x9c caf\xe9 \x1b]0;T\a\x1b[2J\rCR\x00\b\u202e\u2028\u009b2J\x1b[>4;2m\x1b[?25l\n"
)

// hostileOutput is one line of output, which may have its colour, as what it says in a sentence of this program
// may not.
var hostileOutput = strings.NewReplacer("\n", " ", "\r", " ", "[35m", "[95m").Replace(hostile)

// theirRun is the run that writeTheirRecord writes.
const theirRun = "theirs-20260101T000000"

// A hostileProject is a project in which all that others write is hostile.
type hostileProject struct {
	t        *testing.T
	bin, dir string
	env      []string
	terminal bool // commands run on one; else in pipes
	seen     map[string]bool
}

func newHostileProject(t *testing.T, store string) *hostileProject {
	dir := t.TempDir()
	p := &hostileProject{t: t, bin: binary(t), dir: dir, seen: map[string]bool{}}
	for _, kv := range cleanEnv(p.bin, dir) {
		if !strings.HasPrefix(kv, "NO_COLOR=") && !strings.HasPrefix(kv, "TERM=") {
			p.env = append(p.env, kv)
		}
	}
	p.env = append(p.env, "TERM=xterm", "LOOPS_STORE="+store, "LOOPS_CATALOG=shelf", "GITHUB_ACTIONS=")
	q := strconv.Quote
	for name, text := range map[string]string{
		"src/out": hostileBytes, "src/verdict": hostileOutput, "src/fatal": "FATAL_ERROR: " + hostileOutput,
		"src/handoff": "CONTEXT_HANDOFF: " + hostileOutput,
		"src/script":  hostile, "src/rules": "a:>=1 -> " + hostile,
		".loops/all.yaml": "name: " + q("all"+hostileShort) + "\nscope: [free]\ndescription: " + q(hostile) +
			"\ninitial: " + q("begin"+hostile) +
			"\ncontext: {" + q("k"+hostile) + ": " + q(hostile) + ", v: " + q(hostile) +
			"}\nparameters: {p: {type: string, default: " + q(hostile) + ", description: " + q(hostile) +
			"}}\nstates:\n" +
			"  " + q("begin"+hostile) + ":\n    action: " +
			q("# "+hostile+"\ncat src/out; cat src/out >&2; cat src/verdict") +
			"\n    capture: c\n    append_to_messages: " + q(hostile+"${captured.c.output}") +
			"\n    evaluate: {type: classify}\n    route: {_: sub}\n" +
			"  sub: {loop: " + q("child\x1b[2J") + ", on_yes: " + q("end"+hostile) + ", on_no: " + q("end"+hostile) +
			", on_error: " + q("end"+hostile) + "}\n" +
			"  " + q("end"+hostile) + ":\n    action: cat src/fatal; exit 1\n    on_yes: done\n    on_no: done\n" +
			"    on_error: done\n  done: {terminal: true}\n",
		".loops/child\x1b[2J.yaml": "name: " + q("child"+hostileShort) + "\ninitial: " + q("inner"+hostile) +
			"\nstates:\n  " + q("inner"+hostile) +
			": {action: cat src/out; exit 3, on_yes: done, on_no: done, on_error: done}\n  done: {terminal: true}\n",
		".loops/hand.yaml": "name: " + q("hand"+hostileShort) +
			"\nscope: [free]\ninitial: a\nstates:\n  a: {action: cat src/handoff, on_yes: done, on_no: done}\n" +
			"  done: {terminal: true}\n",
		".loops/live.yaml": "name: " + q("live"+hostileShort) + "\ninitial: " + q("work"+hostile) + "\nscope: [" +
			q("src"+hostileShort) + "]\nstates:\n  " + q("work"+hostile) +
			": {action: cat src/out; sleep 60, on_yes: done, on_no: done, on_error: done}\n  done: {terminal: true}\n",
		".loops/broken\x1b[2J\u202e.yaml": "name: x\ninitial: " + q(hostile) + "\nstates:\n  a: {action: \u202e" +
			"x, on_yes: " + q(hostile) + ", " + q("kex"+hostile) + ": 1}\n",
		"shelf/copy\x1b[2J.yaml": "name: copy\ninitial: a\nstates:\n  a: {terminal: true}\n",
		"src/library.yaml": "fragments:\n  " + q("say"+hostile) + ": {description: " + q(hostile) +
			", action: " + q(hostile) + ", evaluate: {type: exit_code}, parameters: {" + q("w"+hostile) +
			": {type: string, description: " + q(hostile) + "}}}\n",
		".loops/timed.yaml": "name: " + q("timed"+hostileShort) +
			"\nschedule: {cron: \"0 3 * * *\"}\ninitial: a\nstates:\n  a: {terminal: true}\n",
		".loops/mistimed.yaml": "name: mistimed\nschedule: {cron: " + q(hostile) + ", timezone: " +
			q(hostile) + "}\ninitial: a\nstates:\n  a: {terminal: true}\n",
		".loops/config.yaml": "notify: [{command: " + q("cat src/out >&2; exit 1 # "+hostile) + "}]\n",
	} {
		path := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(text), 0o644))
	}
	if store == "dir" {
		p.writeTheirRecord()
	}
	return p
}

// writeTheirRecord writes a run as another tool could, with hostile text in whatever field there is.
func (p *hostileProject) writeTheirRecord() {
	now := time.Now().UTC().Format("2006-01-02T15:04:05.000000+00:00")
	running := filepath.Join(p.dir, ".loops", ".running")
	must(p.t, os.MkdirAll(running, 0o755))
	var events bytes.Buffer
	for _, kind := range []string{
		"loop_start", "state_enter", "action_start", "action_output", "action_complete", "action_error",
		"action_killed", "evaluate", "route", "note", "warning", "messages_append",
		"retry_exhausted", "rate_limit_waiting", "rate_limit_exhausted", "budget_exceeded", "budget_warning",
		"cost_ceiling_warn", "cost_ceiling_unknown", "cost_ceiling_exceeded", "workdir_vanished", "limit_raised",
		"prompt_size_warn", "handoff_detected", "worktree", "kind" + hostile, "loop_complete",
	} {
		e := map[string]any{
			"event": kind, "ts": now, "iteration": 1,
			"usage": map[string]any{"model": hostile, "input_tokens": 5}, "k" + hostile: hostile,
			"votes": []any{map[string]any{"verdict": hostile, "confidence": hostile, "reason": hostile}},
		}
		for _, key := range []string{
			"loop", "state", "action", "line", "exit_code", "duration_ms", "output_preview", "stderr_preview", "type",
			"verdict", "reason", "error", "evidence", "from", "to", "message", "note", "until", "tier",
			"budget_of", "limit", "spent", "budget", "next", "final_state", "terminated_by", "host", "model", "path",
			"branch", "signal", "retries", "cost_usd", "cost_warn_at", "cost_ceiling_per_state",
		} {
			e[key] = hostile + "\x00"
		}
		for _, key := range []string{"line", "output_preview", "stderr_preview"} {
			e[key] = hostileOutput + "\x00"
		}
		b, err := json.Marshal(e)
		must(p.t, err)
		events.Write(append(b, '\n'))
	}
	state := map[string]any{
		"loop_name": "theirs" + hostile, "current_state": hostile, "iteration": 3,
		"captured":    map[string]any{hostile: map[string]any{"output": hostile}},
		"prev_result": map[string]any{"output": hostile},
		"last_result": map[string]any{
			"verdict": hostile,
			"details": map[string]any{"reason": hostile, hostile: hostile},
		}, "started_at": now, "updated_at": now,
		"status": "interrupted", "continuation_prompt": hostile,
		"messages": []string{hostile}, "context": map[string]any{hostile: hostile}, "active_sub_loop": hostile,
		"reconciled_why": hostile, "accumulated_ms": 10,
		"retry_counts": map[string]int{hostile: 2},
		"owner":        map[string]any{"host": hostile, "boot": hostile, "pid": 4, "start": 5},
	}
	b, err := json.Marshal(state)
	must(p.t, err)
	must(p.t, os.WriteFile(filepath.Join(running, theirRun+".state.json"), b, 0o644))
	must(p.t, os.WriteFile(filepath.Join(running, theirRun+".events.jsonl"), events.Bytes(), 0o644))
	waiter := exec.Command("sleep", "600")
	must(p.t, waiter.Start())
	p.t.Cleanup(func() { _ = waiter.Process.Kill(); _ = waiter.Wait() })
	queue := filepath.Join(p.dir, ".loops", ".queue")
	must(p.t, os.MkdirAll(queue, 0o755))
	entry, err := json.Marshal(map[string]any{
		"id": hostile, "loopName": hostile, "enqueuedAt": now,
		"context": map[string]any{
			"waitingFor": hostile, "scope": []string{filepath.Join(p.dir, "held"+hostile)},
			"pid": waiter.Process.Pid,
		},
	})
	must(p.t, err)
	must(p.t, os.WriteFile(filepath.Join(queue, "aaaa1111.json"), entry, 0o644))
}

// loops runs a command line, looks at all it prints, and returns that.
func (p *hostileProject) loops(args ...string) string {
	p.t.Helper()
	p.seen[args[0]] = true
	if len(args) > 1 {
		p.seen[args[0]+" "+args[1]] = true
	}
	what := fmt.Sprintf("%.300q", args)
	if !p.terminal {
		out, errs, code := answer(p.t, p.dir, p.env, args...)
		if code < 0 {
			p.t.Errorf("%.150q does not end", args)
		}
		p.harmless(what, out)
		p.harmless(what+" on standard error", errs)
		return out + errs
	}
	ctx, cancel := context.WithTimeout(p.t.Context(), commandLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.bin, args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 30, Cols: 100})
	must(p.t, err)
	out, _ := io.ReadAll(tty) // on Linux, its end is an error
	_ = cmd.Wait()            // a failure is as good an output as another
	_ = tty.Close()
	if ctx.Err() != nil {
		p.t.Errorf("%.150q does not end", args)
	}
	text := strings.ReplaceAll(string(out), "\r\n", "\n")
	p.harmless(what+" on a terminal", text)
	return text
}

var colour = regexp.MustCompile("\x1b\\[([0-9;:]*)m")

// forged is how lines begin that only this program writes.
var forged = regexp.MustCompile(`(?m)^(Loop completed: forged|loops: forged|::error::forged|##\[error\]forged)`)

var (
	// sentence is a line of this program that contains a text of others.
	sentence = regexp.MustCompile(`->|Error:|To continue:|erdict|Why:`)
	// document is a command that prints a text of several lines as such.
	document = regexp.MustCompile(`"(junit|markdown|html|render|report|show)"`)
)

// harmless fails the test where something in out acts on a terminal, or looks like a line of this program.
func (p *hostileProject) harmless(what, out string) {
	p.t.Helper()
	bad := func(format string, args ...any) {
		p.t.Helper()
		p.t.Errorf("%s: %s", what, fmt.Sprintf(format, args...))
	}
	if !utf8.ValidString(out) {
		bad("it is no UTF-8: %.400q", out)
	}
	for line := range strings.SplitSeq(out, "\n") {
		if p.terminal { // of the live line
			line = strings.ReplaceAll(line, "\x1b[K", "")
			if i := strings.LastIndex(line, "\r"); i >= 0 && !strings.HasPrefix(line[i:], "\rCR") {
				line = line[i+1:]
			}
		}
		codes := colour.FindAllStringSubmatch(line, -1)
		for i, c := range codes {
			if c[1] == "35" || c[1] == "95" && sentence.MatchString(line) {
				bad("a text has its colour: %.300q", line)
			}
			if i == len(codes)-1 && strings.Trim(c[1], "0") != "" {
				bad("a colour leaks out of its line: %.300q", line)
			}
		}
		rest := colour.ReplaceAllString(line, "")
		if i := strings.IndexFunc(rest, acts); i >= 0 {
			bad("%q acts on a terminal: %.300q", rest[i:min(len(rest), i+4)], line)
		}
		if forged.MatchString(rest) && !document.MatchString(what) {
			bad("a forged line: %.300q", line)
		}
	}
}

func acts(r rune) bool {
	return r != '\t' && unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Bidi_Control, r)
}

var (
	helpLists = regexp.MustCompile(`(?m)^(?:Commands|Run|Look|Write|Keep|Set up|Plumbing):\n((?:  .*\n)+)`)
	helpRow   = regexp.MustCompile(`(?m)^  ([\w-]+) `)
)

// commands returns all commands, as the help of each names those below it.
func (p *hostileProject) commands() (names []string) {
	var visit func(above []string)
	visit = func(above []string) {
		var out bytes.Buffer
		if code := view(&out, io.Discard, p.dir, p.env, append(slices.Clone(above), "--help")); code != 0 {
			p.t.Fatalf("%q --help exits with %d", above, code)
		}
		for _, list := range helpLists.FindAllStringSubmatch(out.String(), -1) {
			for _, row := range helpRow.FindAllStringSubmatch(list[1], -1) {
				path := append(append([]string{}, above...), row[1])
				names = append(names, strings.Join(path, " "))
				visit(path)
			}
		}
	}
	visit(nil)
	if len(names) < 40 {
		p.t.Errorf("there are only %d commands: %q", len(names), names)
	}
	return names
}
