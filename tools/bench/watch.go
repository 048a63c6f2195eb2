package main

import (
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"github.com/creack/pty"
)

const (
	watchedRuns = 20
	watchedTime = 10 * time.Second
)

// A run that takes about two steps a second and says something in each, for longer than it is watched.
const watchedLoop = `name: NAME
initial: a
max_steps: 100000
max_edge_revisits: 100000
scope: [NAME]
states:
  a: {action: "echo one; sleep 0.25; echo two; sleep 0.25", next: b}
  b: {action: "sleep 0.5; echo three", next: a}
  end: {terminal: true}
`

// watchShare is how much of one core loops watch takes on a terminal while many runs are running, in percent.
func (b *bench) watchShare(store string) (percent float64, err error) {
	flags, err := b.store(store)
	if err != nil {
		return 0, err
	}
	var loops []string
	for i := range watchedRuns {
		loops = append(loops, strings.ReplaceAll(watchedLoop, "NAME", fmt.Sprintf("watched%02d", i)))
	}
	project, err := b.project(loops...)
	if err != nil {
		return 0, err
	}
	defer func() {
		if _, problem := b.program(project, append([]string{"stop", "--all"}, flags...)...); err == nil {
			err = problem
		}
	}()
	for _, text := range loops {
		if _, err := b.program(project, append([]string{"run", "-b", loopName(text)}, flags...)...); err != nil {
			return 0, err
		}
	}
	cmd := b.command(project, append([]string{"watch"}, flags...)...)
	cmd.Stderr = nil
	cmd.Env = append(cmd.Env, "TERM=xterm-256color", "LC_ALL=C.UTF-8")
	begin := time.Now()
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 120})
	if err != nil {
		return 0, err
	}
	defer tty.Close()
	limit := time.AfterFunc(3*watchedTime, func() { _ = cmd.Process.Kill() })
	defer limit.Stop()
	quit := time.AfterFunc(watchedTime, func() { _, _ = io.WriteString(tty, "q") })
	defer quit.Stop()
	shown, _ := io.Copy(io.Discard, tty) // ends with an error on Linux when the program does
	wall := time.Since(begin)
	if err := watchEnded(cmd, shown); err != nil {
		return 0, err
	}
	used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return 100 * used.Seconds() / wall.Seconds(), nil
}

// watchEnded is the error of a watch that did not draw, or did not end as it should.
func watchEnded(cmd *exec.Cmd, shown int64) error {
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("loops watch: %w", err)
	}
	if shown < 10_000 {
		return fmt.Errorf("loops watch wrote %d bytes in %s: it shows nothing", shown, watchedTime)
	}
	return nil
}
