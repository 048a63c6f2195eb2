package main_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"loops/internal/testenv"
)

const outsideText = "of another\n"

// specials are what can be in place of a file or folder of records, made at a path.
var specials = []struct {
	name string
	make func(path, outside string) error
}{
	{"pipe", func(path, _ string) error { return syscall.Mkfifo(path, 0o600) }},
	{"link to a file", func(path, outside string) error { return os.Symlink(outside, path) }},
	{"link to a pipe", func(path, outside string) error { return os.Symlink(outside+".pipe", path) }},
	{"link to nothing", func(path, outside string) error { return os.Symlink(outside+".new", path) }},
	{"link to itself", func(path, _ string) error { return os.Symlink(filepath.Base(path), path) }},
	{"device", func(path, _ string) error { return os.Symlink("/dev/zero", path) }},
	{"folder", func(path, _ string) error { return os.Mkdir(path, 0o700) }},
	{"socket", func(path, _ string) error {
		fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		short := filepath.Join(os.TempDir(), fmt.Sprintf("loops-socket-%d", os.Getpid())) // a socket needs a short path
		return errors.Join(syscall.Bind(fd, &syscall.SockaddrUnix{Name: short}), syscall.Close(fd),
			os.Rename(short, path))
	}},
	{"huge file", func(path, _ string) error {
		return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 2<<30))
	}},
}

// recordPlaces are the files and folders of records, below .loops; ID, ENDED and DIR stand for the run whose
// process was killed, the one that has ended, and the folder of that in the archive.
var recordPlaces = []string{
	".running", ".history", "runs", "logs", ".queue", "tmp", ".running/.acquire.lock", ".running/.newest",
	".running/ID.events.jsonl", ".running/ID.state.json", ".running/ID.state.json.tmp", ".running/ID.pid",
	".running/ID.lock", ".running/ID.torn", ".running/ID.damaged", ".running/ID.commands.jsonl",
	".running/ID.events", ".history/DIR", ".history/DIR/events.jsonl", ".history/DIR/state.json",
	".history/DIR/definition.loop", ".queue/.lock",
	".queue/00000000-0000-4000-8000-000000000000.json", "logs/ID.log", "runs/ID", "runs/ID/definition.loop",
	"runs/ID/blobs", "runs/ID/output", "runs/ID/.paused", "runs/ENDED", "runs/ENDED/output/000001-say.out",
	"tmp/rate-limit-circuit.json", ".retention", ".gitignore", ".schema", "config.yaml", "prices.yaml", "say.yaml",
	"nest.yaml",
}

var specialCommands = []string{
	"run say", "resume nest", "status nest", "history say", "logs say", "events nest --json", "explain nest", "list",
	"sweep", "fork say --at 1", "export say -o x.tar.zst --force",
	"stop nest", "pause nest", "unpause nest", "queue list", "run -b say", "run say --queue --queue-timeout 1s",
	"prune --older-than 1s --dry-run", "doctor", "cost", "stats say", "show say", "validate", "resume nest --rerun",
	"rm ID",
}

// Something is in place of a record: a pipe, a link out of the project, a device, a file without end. No command waits
// for it, writes through it or dies of it, and what fails says why. `make torture` tries every command on each of them;
// otherwise one command meets every fifth.
func TestSpecialFiles(t *testing.T) {
	t.Parallel()
	template, id, ended := specialProject(t)
	archive := filepath.Base(globOne(t, filepath.Join(template, ".loops", ".history", "2*")))
	n := 0
	for i, place := range recordPlaces {
		for j, special := range specials {
			commands := specialCommands
			if !*torture {
				if (i+j)%5 != 0 {
					continue
				}
				commands = specialCommands[(7*i+5*j)%len(specialCommands):][:1]
			}
			dir := filepath.Join(t.TempDir(), "p")
			must(t, exec.Command("cp", "-a", template, dir).Run())
			outside := filepath.Join(filepath.Dir(dir), "outside")
			must(t, errors.Join(os.WriteFile(outside, []byte(outsideText), 0o600),
				syscall.Mkfifo(outside+".pipe", 0o600)))
			path := filepath.Join(dir, ".loops",
				strings.NewReplacer("ID", id, "ENDED", ended, "DIR", archive).Replace(place))
			must(t, os.MkdirAll(filepath.Dir(path), 0o700))
			must(t, os.RemoveAll(path))
			must(t, special.make(path, outside))
			for _, command := range commands {
				n++
				what := fmt.Sprintf("%s in place of %s: loops %s", special.name, place, command)
				runBounded(t, what, dir, strings.Fields(strings.ReplaceAll(command, "ID", ended)))
				if b, err := os.ReadFile(outside); err != nil || string(b) != outsideText {
					t.Fatalf("%s: what the link leads to is %q, %v", what, b, err)
				}
				if _, err := os.Lstat(outside + ".new"); err == nil && !strings.HasPrefix(command, "run -b") {
					t.Fatalf("%s: what the link leads to was made", what)
				}
			}
			testenv.RemoveSoon(t, dir)
		}
	}
	for _, special := range specials { // that a user names
		dir := filepath.Join(t.TempDir(), "p")
		must(t, exec.Command("cp", "-a", template, dir).Run())
		outside := filepath.Join(filepath.Dir(dir), "outside")
		must(t, errors.Join(os.WriteFile(outside, []byte(outsideText), 0o600), syscall.Mkfifo(outside+".pipe", 0o600)))
		must(t, special.make(filepath.Join(dir, "x"), outside))
		for _, command := range []string{"import x", "list --store sqlite:x", "run say --store sqlite:x", "run ./x"} {
			n++
			runBounded(t, special.name+": loops "+command, dir, strings.Fields(command))
		}
	}
	t.Logf("%d commands", n)
}

// specialProject is a project with a run that was killed and one that has ended.
func specialProject(t *testing.T) (dir, id, ended string) {
	dir = filepath.Join(t.TempDir(), "template")
	must(t, os.MkdirAll(filepath.Join(dir, ".loops"), 0o700))
	must(t, os.WriteFile(filepath.Join(dir, ".loops", "say.yaml"),
		[]byte("name: say\ndescription: t\ninitial: say\nstates:\n  say: {action: 'seq 20000', capture: all, next: "+
			"done}\n  done: {terminal: true}\n"), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, ".loops", "nest.yaml"),
		[]byte("name: nest\ndescription: t\ninitial: first\nstates:\n  first: {action: 'seq 20000', capture: all, "+
			"next: die}\n  die: {action: 'test -e again || { touch again; kill -KILL $PPID; sleep 60; }', next: "+
			"done}\n  done: {terminal: true}\n"), 0o600))
	for _, loop := range []string{"say", "nest"} {
		runBounded(t, "template", dir, []string{"run", loop})
	}
	live := filepath.Base(globOne(t, filepath.Join(dir, ".loops", ".running", "nest-*.state.json")))
	return dir, strings.TrimSuffix(live, ".state.json"),
		filepath.Base(globOne(t, filepath.Join(dir, ".loops", "runs", "say-*")))
}

func globOne(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) != 1 {
		t.Fatal(pattern, found, err)
	}
	return found[0]
}

// runBounded runs a command that must end by itself, with words if it fails, and in bounded memory.
func runBounded(t *testing.T, what, dir string, args []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testenv.Patience)
	defer cancel()
	bin := binary(t)
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Dir, cmd.Env = dir, cleanEnv(bin, filepath.Dir(dir))
	cmd.WaitDelay = 5 * time.Second
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if what == "template" {
		return
	}
	state := cmd.ProcessState
	switch {
	case ctx.Err() != nil:
		t.Fatalf("%s does not end:\n%s%s", what, out.String(), errs.String())
	case state == nil:
		t.Fatalf("%s: %v", what, err)
	case state.ExitCode() < 0 || strings.Contains(errs.String(), "goroutine "):
		t.Errorf("%s: %v\n%s", what, err, errs.String())
	case state.ExitCode() > 0 && strings.TrimSpace(out.String()+errs.String()) == "":
		t.Errorf("%s: exit code %d without a word", what, state.ExitCode())
	}
	if use, ok := state.SysUsage().(*syscall.Rusage); ok && runtime.GOOS == "linux" && use.Maxrss > 1<<20 {
		t.Errorf("%s takes %d MiB", what, use.Maxrss>>10)
	}
}
