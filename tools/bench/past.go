package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"loops/fsm"
	"loops/persistence"
	"loops/persistence/dirstore"
)

// inArchive runs a command in a project with many archived runs and returns its time. What the listing before
// remembered of them is there, as it is unless a run ended since.
func (b *bench) inArchive(runs int, args ...string) (float64, error) {
	project, err := b.archive(runs)
	if err != nil {
		return 0, err
	}
	return b.program(project, args...)
}

// afterRun is inArchive as it is when a run ended since the listing before: all names are read again.
func (b *bench) afterRun(runs int, args ...string) (float64, error) {
	project, err := b.archive(runs)
	if err != nil {
		return 0, err
	}
	if _, err := b.program(project, "run", "one"); err != nil {
		return 0, err
	}
	time.Sleep(settles)
	return b.program(project, args...)
}

// settles is longer than a listing waits until it believes the time stamp of a folder.
const settles = 500 * time.Millisecond

// archive makes the project with that many archived runs, the first time.
func (b *bench) archive(runs int) (string, error) {
	if project, ok := b.archives[runs]; ok {
		return project, nil
	}
	project, err := b.fillArchive(oneLoop, runs, os.Link)
	if err != nil {
		return "", err
	}
	if b.archives == nil {
		b.archives = map[int]string{}
	}
	b.archives[runs] = project
	time.Sleep(settles)
	_, err = b.program(project, "history", "one")
	return project, err
}

// A run of two captures of 50 KB, as those of agents are.
const capturesLoop = `name: one
initial: a
states:
  a: {action: yes some text that fills a line of output | head -c 50000, capture: first, next: b}
  b: {action: yes some text that fills a line of output | head -c 50000, capture: second, next: end}
  end: {terminal: true}
`

const largeRuns = 1000

// besideLarge is inArchive of runs that have much in their state, each with files of its own. What the first
// listing remembers of them is there.
func (b *bench) besideLarge(args ...string) (float64, error) {
	if b.large == "" {
		project, err := b.fillArchive(capturesLoop, largeRuns, copyFile)
		if err != nil {
			return 0, err
		}
		syscall.Sync() // or the disk is still busy with the copies
		if _, err := b.program(project, "history", "one", "--limit", fmt.Sprint(largeRuns)); err != nil {
			return 0, err
		}
		b.large = project
	}
	return b.program(b.large, args...)
}

// fillArchive makes one real run of a loop named one, and copies what it left, a second earlier each time.
func (b *bench) fillArchive(loop string, runs int, place func(from, to string) error) (string, error) {
	project, err := b.project(loop, shellLoop, decisionLoop, linesLoop, bigOutputLoop, bigCaptureLoop)
	if err != nil {
		return "", err
	}
	if _, err := b.program(project, "run", "one"); err != nil {
		return "", err
	}
	history := filepath.Join(project, ".loops", ".history")
	folders, err := os.ReadDir(history)
	if err != nil {
		return "", err
	}
	folders = slices.DeleteFunc(folders, func(f os.DirEntry) bool { return strings.HasPrefix(f.Name(), ".") })
	if len(folders) != 1 {
		return "", fmt.Errorf("one run left %d folders in %s", len(folders), history)
	}
	from := folders[0].Name()
	const layout = "2006-01-02T150405"
	at, err := time.Parse(layout, strings.TrimSuffix(from, "-one"))
	if err != nil {
		return "", err
	}
	for i := 1; i < runs; i++ {
		name := at.Add(-time.Duration(i)*time.Second).Format(layout) + "-one"
		how := place
		if i%30_000 == 0 {
			how = copyFile // a file can have 65,000 names
		}
		if err := sameFolder(filepath.Join(history, from), filepath.Join(history, name), how); err != nil {
			return "", err
		}
		if i%30_000 == 0 {
			from = name
		}
	}
	return project, nil
}

// sameFolder makes a second folder with the same files, so that they are as the program wrote them.
func sameFolder(from, to string, place func(from, to string) error) error {
	files, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	if err := os.Mkdir(to, 0o755); err != nil {
		return err
	}
	for _, f := range files {
		if err := place(filepath.Join(from, f.Name()), filepath.Join(to, f.Name())); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o644)
}

const deadRuns = 1000

// A run whose action records when it began.
const beginLoop = "name: begin\ninitial: a\nstates:\n  a: {action: 'date +%s%N > began', next: end}\n" +
	"  end: {terminal: true}\n"

// beginBesideDead is the time until the first action of a run starts in a project where that many runs died.
// They are made once and copied each time.
func (b *bench) beginBesideDead() (float64, error) {
	if err := b.leaveDead(); err != nil {
		return 0, err
	}
	if err := freshCopy(b.deadRuns); err != nil {
		return 0, err
	}
	if err := os.WriteFile(filepath.Join(b.deadRuns, ".loops", "begin.yaml"), []byte(beginLoop), 0o644); err != nil {
		return 0, err
	}
	start := time.Now()
	if _, err := b.program(b.deadRuns, "run", "begin", "--quiet"); err != nil {
		return 0, err
	}
	text, err := os.ReadFile(filepath.Join(b.deadRuns, "began"))
	if err != nil {
		return 0, err
	}
	began, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return time.Unix(0, began).Sub(start).Seconds(), err
}

// listBesideDead is the time of a list in that project.
func (b *bench) listBesideDead() (float64, error) {
	if err := b.leaveDead(); err != nil {
		return 0, err
	}
	return b.inCopy(b.deadRuns, "list", "--running")
}

// leaveDead makes the project with dead runs, the first time.
func (b *bench) leaveDead() error {
	if b.deadRuns != "" {
		return nil
	}
	project, err := b.project(oneLoop)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if out, err := exec.Command(self, "-dead", project).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	b.deadRuns = project
	return nil
}

// dieHere leaves dead runs in a project: this process owns them, and is about to end.
func dieHere(project string) error {
	d, err := dirstore.Open(filepath.Join(project, ".loops"))
	if err != nil {
		return err
	}
	d.Durability = persistence.None
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	at := time.Now().Add(-time.Hour)
	for i := range deadRuns {
		j, err := d.Create(context.Background(), persistence.Spec{
			Loop: "one", StartedAt: at.Add(time.Duration(i) * time.Second), Definition: []byte(oneLoop),
			Owner: persistence.Owner{Host: host, PID: os.Getpid()},
		})
		if err != nil {
			return err
		}
		for step := range 3 {
			if err := j.Record(context.Background(), &fsm.Batch{Checkpoint: true, Snapshot: &fsm.Snapshot{
				Loop: "one", Phase: fsm.PhaseActing, Current: "a", Step: step + 1, StartedAt: at,
			}}); err != nil {
				return err
			}
		}
	}
	return nil
}

// A run that prints a hundred times 1 MB, of which all is recorded, and then ends its own runner, the first time.
const growLoop = `name: grow
initial: a
max_steps: 200
max_edge_revisits: 200
states:
  a:
    action: |
      yes some text that fills a line of output, and more of it | head -c 1000000
      echo >> count
      test $(wc -l < count) -lt 100
    on_yes: a
    on_no: b
    on_error: b
  b: {action: "true", next: c}
  c: {action: 'test -e resumed || { touch resumed; kill -9 $PPID; sleep 5; }', next: end}
  end: {terminal: true}
`

// resume is what it takes to continue with a run that died beside a long journal, above a bare spawn.
func (b *bench) resume() (float64, error) {
	if b.grown == "" {
		project, err := b.project(growLoop)
		if err != nil {
			return 0, err
		}
		var exit *exec.ExitError
		if _, err := b.program(project, "run", "grow", "--quiet"); !errors.As(err, &exit) ||
			!exit.Sys().(syscall.WaitStatus).Signaled() {
			return 0, fmt.Errorf("the run that was to die: %w", err)
		}
		b.grown = project
	}
	spawn, err1 := b.spawns("true", 10)
	took, err2 := b.inCopy(b.grown, "resume", "grow", "--quiet")
	return took - spawn.Seconds(), errors.Join(err1, err2)
}

// inCopy runs a command in a fresh copy of a project and returns its time.
func (b *bench) inCopy(project string, args ...string) (float64, error) {
	if err := freshCopy(project); err != nil {
		return 0, err
	}
	return b.program(project, args...)
}

// freshCopy puts a copy of a project, all of which is on the disk, in the place where the project was made: one
// that is elsewhere has moved, and what its runs remember is looked through for that.
func freshCopy(project string) error {
	kept := project + ".kept"
	if _, err := os.Stat(kept); errors.Is(err, os.ErrNotExist) {
		if err := os.Rename(project, kept); err != nil {
			return err
		}
	}
	if err := errors.Join(os.RemoveAll(project), os.CopyFS(project, os.DirFS(kept))); err != nil {
		return err
	}
	syscall.Sync() // or the disk is still busy with the copy
	return nil
}
