package main_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// hush is part of every secret here, also of those that are written in another form.
const hush = "Hu5h"

// told is part of the context of a run: it is in the memory of the run, and nowhere else.
const told = "w0rd"

var secretLoops = map[string]string{
	"quick": "name: quick\ndescription: a test\ninitial: say\nstates:\n  say: {action: 'echo done', next: done}\n" +
		"  done: {terminal: true}\n",
	"fails": "name: fails\ndescription: a test\ninitial: say\nstates:\n  say: {action: 'kill -KILL $PPID; sleep " +
		"60', next: done}\n  done: {terminal: true}\n",
	"slow": "name: slow\ndescription: a test\ninitial: wait\nstates:\n  wait: {action: 'exec sleep 60', next: " +
		"done}\n  done: {terminal: true}\n",
}

// A secretProject is a project whose store has a password in its address. Nothing contains it, but what a user typed.
type secretProject struct {
	t        *testing.T
	bin, dir string
	tmp      string
	env      []string
}

func newSecretProject(t *testing.T) *secretProject {
	p := &secretProject{t: t, bin: binary(t), dir: t.TempDir(), tmp: t.TempDir()}
	must(t, os.Mkdir(filepath.Join(p.dir, ".loops"), 0o755))
	for name, text := range secretLoops {
		must(t, os.WriteFile(filepath.Join(p.dir, ".loops", name+".yaml"), []byte(text), 0o644))
	}
	p.env = append(cleanEnv(p.bin, p.dir), "TMPDIR="+p.tmp)
	return p
}

// loops runs a command, and returns what it printed, which holds no secret.
func (p *secretProject) loops(env []string, args ...string) string {
	p.t.Helper()
	out, errs, _ := answer(p.t, p.dir, append(slices.Clone(p.env), env...), args...)
	out += errs
	if strings.Contains(out, hush) {
		p.t.Errorf("loops %s prints:\n%s", args[0], out)
	}
	return out
}

// look finds secrets in the arguments of processes and in files.
func (p *secretProject) look() {
	p.t.Helper()
	entries, err := os.ReadDir("/proc")
	must(p.t, err)
	seen := 0
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err != nil || pid == os.Getpid() {
			continue
		}
		cwd, _ := os.Readlink(filepath.Join("/proc", e.Name(), "cwd")) // some are another's, or have ended
		line, err := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if err != nil || !strings.HasPrefix(cwd, p.dir) {
			continue
		}
		seen++
		if bytes.Contains(line, []byte(hush)) || bytes.Contains(line, []byte(told)) {
			p.t.Errorf("for every user to see: %q", line)
		}
	}
	if seen == 0 {
		p.t.Error("the run in the background is not found")
	}
	p.files()
}

func (p *secretProject) files() {
	p.t.Helper()
	for _, root := range []string{p.dir, p.tmp} {
		must(p.t, filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			b, err := os.ReadFile(path)
			if bytes.Contains(b, []byte(hush)) {
				p.t.Errorf("%s holds a secret", path)
			}
			if filepath.Ext(path) == ".log" && bytes.Contains(b, []byte(told)) {
				p.t.Errorf("%s holds a value of the context:\n%s", path, b)
			}
			return err
		}))
	}
}

// A password in a log: run -b --store postgres://u:SECRET@… wrote its command line to the log of the run. Whatever is
// done with such a store, what a user typed is in no file and no output, and in the arguments of no other process.
// `make torture` gives each kind of password in each way; otherwise each kind is given in one.
func TestPasswordOfTheStore(t *testing.T) {
	t.Parallel()
	server := startPostgres(t)
	for name, url := range map[string]string{
		"user":      strings.Replace(server.URL("user"), "//loops@", "//loops:"+hush+"%2Fx@", 1),
		"parameter": server.URL("parameter") + "&password=" + hush,
	} {
		for _, way := range []string{"flag", "environment"} {
			if (name == "user") != (way == "flag") && !*torture {
				continue
			}
			t.Run(name+", "+way, func(t *testing.T) {
				p := newSecretProject(t)
				flag, env := []string{"--store", url}, []string(nil)
				if way == "environment" {
					flag, env = nil, []string{"LOOPS_STORE=" + url}
				}
				do := func(args ...string) string { return p.loops(env, append(args, flag...)...) }
				do("run", "quick")
				do("run", "quick", "--json")
				do("run", "fails")
				do("run", "-b", "slow", "--context", "token="+told)
				p.look()
				do("run", "slow")
				do("run", "slow", "--queue", "--queue-timeout", "10ms")
				do("run", "-b", "slow", "--queue", "--context=token="+told)
				p.look()
				for _, line := range []string{
					"status slow", "status slow --json", "list --running --json", "queue list", "history quick",
					"events quick --json", "logs slow", "explain quick",
					"doctor", "doctor --json", "config show", "config show --json", "config show --origin",
					"resume fails --json", "resume quick", "resume nothing", "pause nothing",
					"report quick", "stats quick", "fork quick --at 1", "export quick", "export quick --force -o .",
					"stop --all", "sweep", "rm quick",
				} {
					do(strings.Fields(line)...)
				}
				do("stop", "--all", "--force")
				p.loops(env, "store", "copy", url, "sqlite:copy.db")
				p.loops(env, "store", "copy", url, "dir:")
				p.loops(nil, "status", "slow", "--store", strings.Replace(url, "postgres:", "postgrs:", 1))
				p.loops(nil, "status", "slow", "--store", strings.Replace(url, "host=", "sslmode=never&host=", 1))
				p.loops(nil, "status", "slow", "--store", strings.Replace(url, "host=", "host=/nowhere", 1))
				p.loops(nil, "status", "slow", "--stor", url)
				p.loops(nil, "status", "slow", url)
				p.loops(nil, "store", "copy", url)
				p.files()
			})
		}
	}
}

// What an agent passes to a run is for the run, and not for every user of the machine.
func TestContextOfAnAgentsRun(t *testing.T) {
	t.Parallel()
	p := newSecretProject(t)
	a := agentIn(t, p.dir, p.env)
	const passed = "agents-" + hush // the tests beside this one have command lines of their own
	a.ask("run", map[string]any{"name": "slow", "context": map[string]any{"token": passed}})
	entries, err := os.ReadDir("/proc")
	must(t, err)
	for _, e := range entries {
		line, err := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if _, e := strconv.Atoi(e.Name()); e == nil && err == nil && bytes.Contains(line, []byte(passed)) {
			t.Errorf("for every user to see: %q", line)
		}
	}
	p.loops(nil, "stop", "--all")
}
