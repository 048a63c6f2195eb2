package main_test

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"loops/internal/testenv"
	"loops/persistence/sqlstore"
)

// TestHostile shows what others wrote by every command there is and by each of its views, in pipes and on a
// terminal: nothing of it acts on the terminal, has a colour but in lines of output, or looks like a line of
// this program. With -torture it does so on SQLite and PostgreSQL too.
func TestHostile(t *testing.T) {
	t.Parallel()
	stores := []string{"dir"}
	if *torture {
		stores = append(stores, "sqlite", "postgres")
	}
	for _, store := range stores {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			location := store
			switch store {
			case "sqlite":
				path := filepath.Join(t.TempDir(), "runs.db")
				s, err := sqlstore.Open(context.Background(), "sqlite:"+path)
				must(t, err)
				must(t, s.Close())
				location = "sqlite:" + path
			case "postgres":
				location = startPostgres(t).URL("hostile")
			}
			p := newHostileProject(t, location)
			modes := []bool{false}
			if *torture {
				modes = append(modes, true)
			} else {
				p.terminal = true
				p.loops("run", "all")
				p.loops("status")
				p.loops("logs", "all"+hostileShort)
			}
			for _, p.terminal = range modes {
				p.ended()
				p.goingOn()
				p.definitions()
				p.tools()
				p.removals()
			}
			for _, command := range p.commands() {
				if !p.seen[command] {
					t.Errorf("%s is not among the commands that were tried with hostile text", command)
				}
			}
		})
	}
}

// id runs a command that prints JSON and returns the id of its run.
func (p *hostileProject) id(args ...string) string {
	p.t.Helper()
	out := p.loops(args...)
	m := regexp.MustCompile(`"instance_id": ("(?:[^"\\]|\\.)*")`).FindStringSubmatch(out)
	if m == nil {
		p.t.Fatalf("%q names no run: %q", args, out)
	}
	var id string
	must(p.t, json.Unmarshal([]byte(m[1]), &id))
	return id
}

// ended looks at runs that have ended.
func (p *hostileProject) ended() {
	t := p.t
	all := p.id("run", "all", "--json", "--context", "v="+hostile)
	out := p.loops("run", "all", "--no-lock")
	for _, want := range []string{"\x1b[32mgood\x1b[0m\n", "\x1b[38;5;99mleaks\x1b[0m\n", `\x1b]0;T\a`} {
		if !p.terminal && !strings.Contains(out, want) { // a terminal shows the last lines of output only
			t.Errorf("run prints no %q:\n%s", want, out)
		}
	}
	p.loops("run", "all", "--color", "always", "-v")
	p.loops("run", "all", "--quiet")
	p.loops("run", "all", "--format", "github", "--color", "always")
	p.loops("run", "all", "--format", "junit")
	p.loops("run", "all", "--dry-run")
	p.loops("run", "all", "--dry-run", "--json")
	hand := p.id("run", "hand", "--json")
	p.loops("run", "hand")
	p.loops("run", "broken\x1b[2J\u202e")
	p.loops("run", hostile)
	p.loops("run", "all", "--context", hostile, "--"+hostile)
	p.loops("resume", hand)
	p.loops("resume", hand, "--json")
	p.loops("retry", all, "--dry-run")
	p.loops("fork", all, "--at", "2", "--dry-run")
	p.loops("fork", all, "--at", "2", "--set", "v="+hostile)
	runs := []string{all, hand}
	if _, err := os.Stat(filepath.Join(p.dir, ".loops", ".running", theirRun+".state.json")); err == nil {
		runs = append(runs, theirRun)
	}
	for _, id := range runs {
		for _, args := range [][]string{
			{"status"},
			{"status", "--json"},
			{"explain"},
			{"explain", "--json"},
			{"explain", "1"},
			{"explain", "2.1"},
			{"events"},
			{"events", "-v"},
			{"events", "--json"},
			{"runs"},
			{"runs", "--failed", "--json"},
			{"history"},
			{"history", "-v"},
			{"history", "--json"},
			{"history", "-e", "action_output"},
			{"logs"},
			{"logs", "--stderr"},
			{"logs", "--bare"},
			{"attach"},
			{"attach", "--all", "-v"},
			{"attach", "--all", "--json"},
			{"stats"},
			{"stats", "--json"},
			{"forecast"},
			{"forecast", "--json"},
			{"cost"},
			{"cost", "--json"},
			{"graph"},
			{"graph", "--format", "mermaid"},
			{"graph", "--format", "dot"},
			{"graph", "--format", "svg"},
			{"graph", "--format", "html"},
			{"graph", "--by", "time", "--color", "always"},
			{"report"},
			{"report", "--format", "junit"},
			{"report", "--format", "markdown"},
			{"stop"},
			{"pause"},
			{"unpause"},
			{"retry-now"},
			{"undo", "--list"},
			{"receipt"},
			{"receipt", "--json"},
			{"verify"},
			{"scrub", "--dry-run"},
			{"scrub", "--json"},
			{"undo", "--to", hostile},
			{"signal", hostile, "--data", `"x"`},
			{"answer", hostile},
			{"resume", "--from", hostile},
			{"resume", "--extend", hostile},
			{"fork", "--at", hostile},
			{"rm", "--dry-run"},
			{"list", "--json"},
			{"watch", "--once"},
		} {
			args = append([]string{args[0], id}, args[1:]...)
			if args[0] == "attach" && id == theirRun { // no process can ask its owner
				p.interrupted(args...)
				continue
			}
			p.loops(args...)
		}
	}
	p.verbatim(all)
	for _, args := range [][]string{
		{"list"},
		{"list", "--running"},
		{"list", "--running", "--json"},
		{"list", "--failed-since", "1d"},
		{"list", "--waiting"},
		{"status"},
		{"status", "--json"},
		{"history", "all" + hostileShort},
		{"history", "all"},
		{"history", "all" + hostileShort, "--group-by", "outcome"},
		{"history", "all", "--cost"},
		{"stats", "all" + hostileShort},
		{"cost"},
		{"cost", "--since", "1d"},
		{"diff", all, hand},
		{"diff", all, hand, "--json"},
		{"diff", all, all},
		{"sweep", "--dry-run"},
		{"queue", "list"},
		{"queue", "list", "--json"},
		{"queue"},
		{"queue", "remove", hostile},
		{"unblock", hostile},
		{"blame", hostile + ":1"},
		{"blame", "x:" + hostile},
		{"queue", "remove", "aaaa"},
		{"watch", "--once"},
		{"watch", "--once", "--json"},
		{"prune", "--keep-last", "0", "--dry-run"},
		{"prune"},
		{"export", all, "-o", "run\x1b[2J\n.tar.zst", "--force"},
		{"import", "run\x1b[2J\n.tar.zst"},
		{"import", hostile},
		{"store", "copy", "dir", "sqlite:copy\x1b[2J.db"},
		{"store", "copy", hostile, "dir"},
		{"store"},
	} {
		p.loops(args...)
	}
}

// verbatim shows what is printed as it is.
func (p *hostileProject) verbatim(id string) {
	cmd := exec.Command(p.bin, "logs", id, "--raw")
	cmd.Dir, cmd.Env = p.dir, p.env
	out, err := cmd.Output()
	must(p.t, err)
	if want := "\x1b[32mgood\x1b[0m\n\x1b[38;5;99mleaks\n"; !strings.Contains(string(out), want) ||
		!strings.Contains(string(out), "\x1b]0;T\a\x1b[2J\nCR\x00\b") {
		p.t.Errorf("logs --raw prints %q", out)
	}
	found := false
	for line := range strings.Lines(p.loops("events", id, "--json")) {
		var e map[string]any
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			p.t.Errorf("%v: %q", err, line)
		}
		found = found || e["event"] == "state_enter" && e["state"] == "begin"+hostile
	}
	if !found {
		p.t.Error("events --json does not name the state")
	}
}

// goingOn looks at a run while it is running, from its beginning to its end.
func (p *hostileProject) goingOn() {
	live := p.id("run", "live", "-b", "--json")
	for _, args := range [][]string{
		{"status"},
		{"status", live},
		{"list", "--running"},
		{"list", "--stuck", "0s"},
		{"run", "live"},
		{"run", "live", "--queue", "--queue-timeout", "100ms"},
		{"run", "live", "-b"},
		{"pause", live},
		{"status", live},
		{"unpause", live},
		{"pause", "--json", live},
		{"unpause", "--json", live},
		{"explain", live},
		{"logs", live},
		{"watch", "--once"},
		{"rm", live},
		{"export", live},
		{"fork", live, "--dry-run"},
		{"retry-now", live},
		{"signal", live, hostile},
		{"answer", live, hostile},
		{"answer"},
		{"extend", live, "steps=1"},
		{"extend", live, "steps=1", "--json"},
		{"extend", live, hostile},
		{"extend", hostile, "steps=1"},
		{"resume", live},
		{"attach", hostile},
	} {
		p.loops(args...)
	}
	p.interrupted("attach", live)
	p.interrupted("logs", live, "-f")
	p.interrupted("events", live, "-f")
	waiting := exec.CommandContext(p.t.Context(), p.bin, "run", "live", "--queue")
	waiting.Dir, waiting.Env = p.dir, p.env
	said, err := waiting.StderrPipe()
	must(p.t, err)
	must(p.t, waiting.Start())
	line, _ := bufio.NewReader(said).ReadString('\n') // that it waits
	p.harmless("run --queue", line)
	p.loops("queue", "list")
	p.loops("status")
	p.loops("stop", "--all")
	_ = waiting.Wait() // it was taken out of the queue
	p.loops("stop", live)
	p.loops("stop", hostile)
	p.loops("sweep")
	log, err := os.ReadFile(filepath.Join(p.dir, ".loops", "logs", live+".log"))
	must(p.t, err)
	p.harmless("the log of a run in the background", string(log))
}

// interrupted looks at a command that runs until Ctrl-C.
func (p *hostileProject) interrupted(args ...string) {
	p.seen[args[0]] = true
	cmd := exec.Command(p.bin, args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	running := testenv.StartProcess(p.t, cmd)
	testenv.Wait(p.t, "output of "+strings.Join(args, " "), func() bool {
		return running.Said() != "" || running.Ended()
	})
	if !running.Ended() {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended by now
	}
	p.harmless(strings.Join(args, " "), running.Output())
}

// definitions looks at loops, and at what is wrong with them.
func (p *hostileProject) definitions() {
	for _, args := range [][]string{
		{"validate"},
		{"validate", "--json"},
		{"validate", "--format", "github"},
		{"validate", "--format", "sarif"},
		{"validate", "broken\x1b[2J\u202e"},
		{"validate", "all", "--color", "always"},
		{"validate", hostile},
		{"show", "all"},
		{"show", "all", "--effective"},
		{"show", "all", "--json"},
		{"show", "child\x1b[2J"},
		{"show", "broken\x1b[2J\u202e", "--effective"},
		{"show", hostile},
		{"trust", "all", "--json"},
		{"trust", "all", "--dry-run"},
		{"trust", "--list"},
		{"trust", "--list", "--json"},
		{"trust", "--forget", "all"},
		{"memory", "show", "all"},
		{"memory", "show", "all", "--json"},
		{"memory", "show", hostile},
		{"memory", "diff", "all"},
		{"memory", "diff", "all", hostile},
		{"memory", "forget", "all", hostile},
		{"stats", "all", "--memory"},
		{"trust", hostile},
		{"trust", "--forget", hostile},
		{"render", "all", "begin" + hostile},
		{"render", "all", hostile},
		{"render", "all", "begin" + hostile, "--json"},
		{"prove", "all"},
		{"prove", "all", "--json"},
		{"prove", "all", "--counterexample", "1"},
		{"prove", hostile},
		{"simulate", "all"},
		{"simulate", "all", "-v"},
		{"simulate", "all", "--json"},
		{"simulate", "all", "--runs", "5"},
		{"simulate", "all", "--script", "src/script"},
		{"test", "all"},
		{"replay", "all"},
		{"replay", "all", "--json"},
		{"replay", "--all", "all"},
		{"test", "all", "--state", "begin" + hostile},
		{"test", "all", "--state", "begin" + hostile, "--json"},
		{"test", "all", "--state", "end" + hostile},
		{"test", "all", "--state", hostile},
		{"graph", "all"},
		{"graph", "all", "--color", "always"},
		{"graph", "all", "--format", "svg"},
		{"graph", "all", "--format", "html"},
		{"graph", "all", "--format", "dot"},
		{"graph", "all", "--format", "mermaid"},
		{"new", hostile, "--from", hostile},
		{"goal", hostile},
		{"goal", hostile, "--check", hostile, "--host", hostile, "--protect", "*"},
		{"new", "new", "--from", hostile},
		{"new", "--list"},
		{"install", "copy\x1b[2J"},
		{"install", "copy\x1b[2J"}, // which is there now
		{"install", hostile},
		{"fragments", "src/library"},
		{"fragments", "src/library.yaml"},
		{"fragments", "src/library.yaml", "--json"},
		{"fragments", "broken\x1b[2J\u202e"},
		{"fragments", hostile},
		{"schedule"},
		{"schedule", "fire"},
		{"schedule", "install"},
		{"schedule", "install", "--manager", hostile},
		{"serve", "install", "--", hostile},
		{"schedule", "next", "timed"},
		{"schedule", "next", "timed", "--json"},
		{"schedule", "next", "mistimed"},
		{"schedule", "next", "all"},
		{"schedule", "next", hostile},
		{"schedule", "list"},
		{"schedule", "list", "--json"},
		{"schedule", "pause", "timed"},
		{"schedule", "pause", hostile},
		{"schedule", "unpause", "timed"},
		{"schedule", "run-now", hostile},
		{"promote-baseline", "all"},
		{"promote-baseline", "all", "--json"},
		{"promote-baseline", hostile},
		{"schema"},
		{"policy", "--rules", "src/rules", "a=1"},
		{"policy", "--rules", "src/script"},
		{"policy", hostile},
	} {
		p.loops(args...)
	}
}

// tools looks at commands that are about neither loops nor runs.
func (p *hostileProject) tools() {
	if !p.terminal { // there it waits for messages
		p.loops("mcp")
	}
	p.loops("serve", "--listen", hostile)
	for _, args := range [][]string{
		{"serve", "passwd", "users\x1b[2J"},
		{"serve", "passwd", "users", hostile, "--remove"},
		{"serve", "token"},
		{"serve", "token", hostile},
		{"store", "roles", "--dry-run"},
		{"store", "roles", "--allow", hostile},
		{"submit", hostile},
		{"submit", "all", "--queue", hostile},
		{"worker", "--queue", hostile},
		{"workers"},
		{"workers", "--json"},
		{"workers", "drain", hostile},
		{"sign", "--check", "all"},
		{"sign", "--check", hostile},
		{"sign", "all", "--private-key", hostile},
	} {
		p.loops(args...)
	}
	for _, args := range [][]string{
		{"config", "show"},
		{"config", "show", "--origin"},
		{"config", "show", "--json"},
		{"config"},
		{"notify", "test"},
		{"notify", "test", "--json"},
		{"notify"},
		{"doctor"},
		{"doctor", "--json"},
		{"doctor", "--host", hostile},
		{"stage"},
		{"stage", "begin", "--dir", "st\x1b[2J"},
		{"stage", "save", "--dir", "st", hostile},
		{"stage", "load", "--dir", "st", hostile},
		{"stage", "done", "--dir", "st"},
		{"completion"},
		{"completion", "bash"},
		{"completion", "zsh"},
		{"completion", "fish"},
		{"completion", "powershell"},
		{"completion", hostile},
		{"man", "-o", "man\x1b[2J"},
		{"mcp-call", hostile},
		{"help", hostile},
		{"help", "run"},
		{"help", "rule", hostile},
		{"help", "rules"},
		{"help", "exit-codes"},
		{"help", "environment"},
		{"version"},
		{"version", "--json"},
		{"upgrade", "--check", "--from", hostile},
		{hostile},
		{"list", "-C", hostile},
		{"list", "--store", "sqlite:" + hostile},
		{"list", "--color", hostile},
		{"--" + hostile},
		{"__complete", "run", ""},
		{"__complete", "history", ""},
		{"__complete", "test", "all", "--state", ""},
		{"__complete", "resume", ""},
		{"background-run", hostile},
	} {
		p.loops(args...)
	}
}

// removals looks at commands after which less is there.
func (p *hostileProject) removals() {
	p.loops("rm", p.id("run", "hand", "--json"))
	p.loops("prune", "--keep-last", "1")
}
