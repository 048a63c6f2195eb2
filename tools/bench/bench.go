package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"loops/internal/testenv"
)

// A bench runs the program in fresh project folders below dir.
type bench struct {
	bin, dir string
	rounds   int
	projects int
	long     bool // measure in full length

	large      string         // the project with archived runs that have much in their state, once it was made
	archives   map[int]string // projects with that many archived runs, once they were made
	catalogDir string         // the project with many loops, once it was made
	deadRuns   string         // the project with many dead runs, likewise
	grown      string         // the project with a run that died beside a long journal, likewise
	database   string         // the project with many archived runs in SQLite, likewise
	longRunDir string         // the project with a run of many steps, likewise
	pastDir    string         // the project with a run of manySteps, likewise
	idle       string         // a Go program that does nothing, likewise
	longList   longList       // the project with a run that was killed at the end of a long list, likewise
	postgres   *testenv.PostgresServer
}

// spawns runs bash -c script n times the plain way, with pipes that are read and a process group of its own, and
// returns the time of one.
func (b *bench) spawns(script string, n int) (time.Duration, error) {
	return spawnsOf(n, "bash", "-c", script)
}

// spawnsOf is the same of any program.
func spawnsOf(n int, program string, args ...string) (time.Duration, error) {
	begin := time.Now()
	for range n {
		if err := spawn(program, args...); err != nil {
			return 0, err
		}
	}
	return time.Since(begin) / time.Duration(n), nil
}

func spawn(program string, args ...string) error {
	cmd := exec.Command(program, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdout, err1 := cmd.StdoutPipe()
	stderr, err2 := cmd.StderrPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		return err
	}
	var wg sync.WaitGroup
	var readErrs [2]error
	for i, r := range []io.Reader{stdout, stderr} {
		wg.Go(func() { _, readErrs[i] = io.Copy(io.Discard, r) })
	}
	wg.Wait()
	return errors.Join(append(readErrs[:], cmd.Wait())...)
}

// loop runs a loop file in a project of its own and returns the seconds it took. The step cap counts as a good end.
func (b *bench) loop(text string, args ...string) (float64, error) {
	project, err := b.project(text)
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(project)
	return b.program(project, append([]string{"run", loopName(text)}, args...)...)
}

// program runs the program once and returns the seconds it took.
func (b *bench) program(project string, args ...string) (float64, error) {
	cmd := b.command(project, args...)
	begin := time.Now()
	err := cmd.Run()
	return since(begin), ended(cmd, err)
}

func (b *bench) command(project string, args ...string) *exec.Cmd {
	cmd := exec.Command(b.bin, args...)
	cmd.Dir, cmd.Stderr = project, new(bytes.Buffer)
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "LOOPS_") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	return cmd
}

// ended is the error of a command that ran: none at the step cap.
func ended(cmd *exec.Cmd, err error) error {
	var exit *exec.ExitError
	if err == nil || errors.As(err, &exit) && exit.ExitCode() == 5 {
		return nil
	}
	return fmt.Errorf("loops %s: %w: %s", strings.Join(cmd.Args[1:], " "), err, cmd.Stderr)
}

func (b *bench) project(loops ...string) (string, error) {
	b.projects++
	project := filepath.Join(b.dir, fmt.Sprint("p", b.projects))
	if err := os.MkdirAll(filepath.Join(project, ".loops"), 0o755); err != nil {
		return "", err
	}
	for _, text := range loops {
		if err := os.WriteFile(filepath.Join(project, ".loops", loopName(text)+".yaml"), []byte(text), 0o644); err !=
			nil {
			return "", err
		}
	}
	return project, nil
}

func loopName(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return strings.TrimPrefix(line, "name: ")
}
