package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

const archived = 10_000

// A bench runs the program in fresh project folders below dir.
type bench struct {
	bin, dir string
	rounds   int
	projects int

	archive    string // the project with many archived runs, once it was made
	catalogDir string // the project with many loops, once it was made
}

type result struct {
	seconds float64
	rss     float64 // peak of the program, MB
}

// spawns runs bash -c script n times the plain way, with pipes that are read and a process group of its own, and
// returns the time of one.
func (b *bench) spawns(script string, n int) (time.Duration, error) {
	begin := time.Now()
	for range n {
		if err := spawn(script); err != nil {
			return 0, err
		}
	}
	return time.Since(begin) / time.Duration(n), nil
}

func spawn(script string) error {
	cmd := exec.Command("bash", "-c", script)
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

// loop runs a loop file in a project of its own. The step cap counts as a good end.
func (b *bench) loop(text string, args ...string) (result, error) {
	project, err := b.project(text)
	if err != nil {
		return result{}, err
	}
	defer os.RemoveAll(project)
	return b.program(project, append([]string{"run", loopName(text)}, args...)...)
}

// program runs the program once.
func (b *bench) program(project string, args ...string) (result, error) {
	cmd := exec.Command(b.bin, args...)
	var stderr bytes.Buffer
	cmd.Dir, cmd.Stderr = project, &stderr
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "LOOPS_") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	begin := time.Now()
	err := cmd.Run()
	r := result{seconds: since(begin)}
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 5 {
		err = nil
	}
	if err != nil {
		return r, fmt.Errorf("loops %s: %w: %s", strings.Join(args, " "), err, stderr.String())
	}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		r.rss = float64(usage.Maxrss) / 1e3 // Linux counts in KB
	}
	return r, nil
}

func (b *bench) project(loops ...string) (string, error) {
	b.projects++
	project := filepath.Join(b.dir, fmt.Sprint("p", b.projects))
	if err := os.MkdirAll(filepath.Join(project, ".loops"), 0o755); err != nil {
		return "", err
	}
	for _, text := range loops {
		if err := os.WriteFile(filepath.Join(project, ".loops", loopName(text)+".yaml"), []byte(text), 0o644); err != nil {
			return "", err
		}
	}
	return project, nil
}

func loopName(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return strings.TrimPrefix(line, "name: ")
}

// inArchive runs a command in a project with many archived runs and returns its time.
func (b *bench) inArchive(args ...string) (float64, error) {
	if b.archive == "" {
		if err := b.fillArchive(); err != nil {
			return 0, err
		}
	}
	r, err := b.program(b.archive, args...)
	return r.seconds, err
}

// fillArchive makes one real run and copies what it left, a second earlier each time.
func (b *bench) fillArchive() error {
	project, err := b.project(oneLoop, shellLoop, decisionLoop, linesLoop, bigOutputLoop, bigCaptureLoop)
	if err != nil {
		return err
	}
	if _, err := b.program(project, "run", "one"); err != nil {
		return err
	}
	history := filepath.Join(project, ".loops", ".history")
	folders, err := os.ReadDir(history)
	if err != nil {
		return err
	}
	folders = slices.DeleteFunc(folders, func(f os.DirEntry) bool { return strings.HasPrefix(f.Name(), ".") })
	if len(folders) != 1 {
		return fmt.Errorf("one run left %d folders in %s", len(folders), history)
	}
	name := folders[0].Name()
	const layout = "2006-01-02T150405"
	at, err := time.Parse(layout, strings.TrimSuffix(name, "-one"))
	if err != nil {
		return err
	}
	for i := 1; i < archived; i++ {
		earlier := at.Add(-time.Duration(i)*time.Second).Format(layout) + "-one"
		if err := linkFolder(filepath.Join(history, name), filepath.Join(history, earlier)); err != nil {
			return err
		}
	}
	b.archive = project
	return nil
}

// linkFolder makes a second folder with the same files, so that they are as the program wrote them.
func linkFolder(from, to string) error {
	files, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	if err := os.Mkdir(to, 0o755); err != nil {
		return err
	}
	for _, f := range files {
		if err := os.Link(filepath.Join(from, f.Name()), filepath.Join(to, f.Name())); err != nil {
			return err
		}
	}
	return nil
}
